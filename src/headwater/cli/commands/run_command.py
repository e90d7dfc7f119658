"""``run``: install the streams of a file, and leave alone those that run as they are written.

A stream that is installed anew under its name ends the former one. That is shown and asked for
first, as a difference of statements and with what becomes of the answers; who has no terminal to be
asked on says it beforehand, with ``--replace``.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headwater.agent.control import control_api as api
from headwater.agent.control.control_api import Compared, Installed
from headwater.cli.commands.operator_commands import (
    At,
    Federation,
    File,
    altered,
    ask,
    listing_of,
    print_altered,
    read_sql,
)
from headwater.cli.show.output import ListingOutput, OutputFormat, print_listing, say
from headwater.errors import ConfigurationError, HeadwaterError, QueryRefused

EXIT_DECLINED = 1
"""Whoever was asked said no."""
EXIT_REFUSED_HERE = 3
"""It is installed, and the agent that was asked does not do its part in it."""

Replace = Annotated[
    bool,
    typer.Option("--replace", help="Replace streams that run and have changed, without asking."),
]


def add_to(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    file: File,
    replace: Replace = False,
    federation: Federation = None,
    at: At = None,
    output: ListingOutput = None,
) -> None:
    """Install the streams of a file, all or none.

    Those that run already as they are written go on as they are. One of which only settings have
    changed goes on with them, and ALTER STREAM does that, too. Another that has changed is shown,
    and replaced if you say so: the former one ends, and its results stay. Exit code 3: it is
    installed, and the agent that was asked does not do its own part in it, with the reason.
    """
    from headwater.sql.alter import check_alterable
    from headwater.sql.alter_statement import split_alters

    text, alters = split_alters(read_sql(file))
    for one in alters:
        check_alterable(one.options)  # before anything of the file is installed
    if text or not alters:
        _run_streams(text, file, replace, federation, at, output)
    for one in alters:
        settings = ", ".join(f"{option.name} = {option.written}" for option in one.options)
        print_altered(altered(federation, at, one.name, settings), one.name, output)


def _run_streams(
    text: str,
    file: Path,
    replace: bool,
    federation: Path | None,
    at: str | None,
    output: OutputFormat | None,
) -> None:
    from headwater.agent.control.operator_client import only_streams, run_statements
    from headwater.cli.reach import command

    try:
        request = api.PrepareRequest(text)
        found = ask(federation, at, api.COMPARE, request, api.ComparedReply).streams
    except HeadwaterError as error:
        raise _with_all_faults(text, error) from error
    same = [one for one in found if one.state == api.Standing.SAME]
    changed = [one for one in found if one.state == api.Standing.CHANGED]
    for one in same:
        say(f"{one.stream} runs as it is written, as {_ids(one)}, and goes on")
    for one in changed:
        say(difference(one, str(file)))
    if changed and not replace:
        _ask_to_replace(changed, file)
    resettled = [one for one in found if one.state == api.Standing.ALTERED]
    for one in resettled:
        say(f"{one.stream} is altered in settings alone: {_ids(one)} goes on, and is not replaced")
        by_file = altered(federation, at, one.stream, one.settings, is_whole=True)
        print_altered(by_file, one.stream, output)
    installed: Sequence[Installed] = ()
    left = [one.stream for one in found if one not in (*same, *resettled)]
    if left:
        wanted = only_streams(text, left)
        reply = command(federation, at, lambda ask, sign: run_statements(ask, wanted, sign))
        installed = [_with_former(one, changed) for one in reply.installed]
    elif not resettled:
        say(f"nothing is changed: all of {file} runs already")
    goes_on = [
        msgspec.structs.replace(query, change=change)
        for change, those in (("unchanged", same), ("altered", resettled))
        for one in those
        for query in one.running
    ]
    seldom = frozenset(("part", "refused"))
    print_listing(listing_of(api.Installed, (*goes_on, *installed), seldom=seldom), output)
    refused = [query for query in installed if query.refused]
    for query in refused:
        say(
            f"{query.id} is installed, and the agent that took it refuses its part: {query.refused}"
        )
    if refused:
        say("streams, why and the answers tell of the others; end it with: headwater remove STREAM")
        raise typer.Exit(EXIT_REFUSED_HERE)


def _with_all_faults(text: str, refusal: HeadwaterError) -> HeadwaterError:
    """An agent names the first fault of a file; where it has more, all of them."""
    from headwater.sql.validate.validate import all_faults, validate

    if not any(one.message in str(refusal) for one in validate(text)):
        return refusal  # it is about something else than the statements
    faults = all_faults(text, QueryRefused(str(refusal)))
    return refusal if str(faults) == str(refusal) else faults


def difference(one: Compared, file: str) -> str:
    """What changes, and what becomes of the answers: of a stream that runs and has changed."""
    lines = [*_diff(one, file)] or ["(its statements can't be shown: you may not read this stream)"]
    lines += [
        f"{one.stream} has changed. If it is replaced:",
        f"  {_ids(one)} ends now; windows that it has not answered yet are not answered any more",
        f"  {one.stream} gets a new id, and begins {one.begins}",
    ]
    if one.results:
        places = ", ".join(one.results)
        lines.append(f"  its answers so far stay in {places}, under the former id, beside new ones")
    return "\n".join(lines)


def _diff(one: Compared, file: str) -> list[str]:
    if not one.former_text:
        return []
    former, now = one.former_text.splitlines(), one.text.splitlines()
    return list(difflib.unified_diff(former, now, _ids(one), file, n=2, lineterm=""))


def _ids(one: Compared) -> str:
    return ", ".join(query.id for query in one.running)


def _with_former(one: Installed, changed: Sequence[Compared]) -> Installed:
    """What it replaces, if it does: of a stream with several roots all parts are of its name."""
    for former in changed:
        if one.stream == former.stream or one.part.endswith(f" of {former.stream}"):
            return msgspec.structs.replace(one, change=f"replaces {_ids(former)}")
    return one


def _ask_to_replace(changed: Sequence[Compared], file: Path) -> None:
    """Ends the command unless somebody at a terminal says yes."""
    names = ", ".join(one.stream for one in changed)
    if str(file) == "-" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigurationError(
            f"{file}: {names}: runs already and has changed, and there is no terminal to ask on; "
            "nothing is changed. Replace with: headwater run --replace FILE"
        )
    if not typer.confirm(f"Replace {names}?", err=True):
        say("nothing is changed")
        raise typer.Exit(EXIT_DECLINED)
