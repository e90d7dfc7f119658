"""What operators ask a running federation: streams, sites, watch, why, alarms, remove, resume,
alter and budget."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from headwater.agent.control import control_api as api
from headwater.agent.view.watched_site import WatchedSite
from headwater.algebra.byte_rate import bytes_per_s_of
from headwater.cli.show.output import (
    Listing,
    ListingOutput,
    OutputFormat,
    TextOutput,
    chosen,
    print_listing,
    print_objects,
    print_table,
    print_text,
    say,
)
from headwater.errors import ConfigurationError
from headwater.shown_text import shown_line

Federation = Annotated[
    Path | None,
    typer.Option("--federation", "-f", help="Its directory; default: the one last brought up."),
]
At = Annotated[
    str | None, typer.Option("--at", help="The site to ask; default: the federation's home.")
]
File = Annotated[Path, typer.Argument(help="SQL: CREATE SOURCE and CREATE STREAM statements.")]
Stream = Annotated[str, typer.Argument(help="The name of the stream.")]
TROUBLES = frozenset(
    (
        "part",
        "trouble",
        "spark_deaths",
        "unread",
        "remarks",
        "alarms",
        "clocks",
        "settings",
        "sending",
        "carries",
        "backlog",
        "degraded",
        "unwanted",
        "former",
    )
)
"""Of a stream, what a table shows only where there is some."""


R = TypeVar("R")


def add_to(app: typer.Typer) -> None:
    for command in (streams, sites, watch, why, alarms, remove, resume, alter, budget):
        app.command(command.__name__)(command)


def ask(
    federation: Path | None,
    at: str | None,
    name: str,
    request: msgspec.Struct | None,
    reply: type[R],
) -> R:
    """What is needed to reach an agent is imported when one is reached."""
    from headwater.cli import reach

    return reach.ask(federation, at, name, request, reply)


def streams(
    former: Annotated[
        bool, typer.Option("--former", help="Those that were replaced or removed, instead.")
    ] = False,
    federation: Federation = None,
    at: At = None,
    output: ListingOutput = None,
) -> None:
    """List the streams, with what has been answered.

    With --former those that have ended and of which answers are left: how many windows, and where.
    """
    request = api.StreamsRequest(former=True) if former else None
    reply = ask(federation, at, api.STREAMS, request, api.StreamsReply)
    if former:
        _print_former(reply, output)
        return
    none = "no streams; install some with: headwater run FILE"
    listing = listing_of(api.StreamLine, reply.streams, none=none, seldom=TROUBLES)
    print_listing(listing, output)
    for text in reply.budgets:
        say(text)


def _print_former(reply: api.StreamsReply, output: OutputFormat | None) -> None:
    title = f"Ended, with answers at {reply.asked}"
    none = f"no answers of former streams at {reply.asked}"
    print_listing(listing_of(api.FormerLine, reply.former, title=title, none=none), output)
    if reply.elsewhere:
        say(f"other streams are answered at {', '.join(reply.elsewhere)}: ask there with --at")


def sites(federation: Federation = None, at: At = None, output: ListingOutput = None) -> None:
    """List the sites, as one agent sees them."""
    reply = ask(federation, at, api.SITES, None, api.SitesReply)
    title = f"As seen from {reply.asked}"
    print_listing(listing_of(api.SiteLine, reply.sites, title=title), output)


def watch(
    stream: Stream,
    federation: Federation = None,
    at: At = None,
    output: ListingOutput = None,
    only_new: Annotated[bool, typer.Option(help="Skip what is already answered.")] = False,
    count: Annotated[int | None, typer.Option(help="End after so many answers.")] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="What a revision takes back and adds; with -o json.")
    ] = False,
    all_sites: Annotated[
        bool, typer.Option("--sites", help="Tell how every site does, not only those with news.")
    ] = False,
) -> None:
    """Follow the answers of a stream as they come.

    With each answer it says of sites that give something up, send within a limit, have something
    waiting or are behind: their level, what they use and may, what the way carries, what waits, how
    far they are behind, by how much they may be off. An agent knows what it may send and what waits
    of itself alone: ask there with --at. Between answers it says what it waits for.
    """
    from headwater.cli.reach import listen
    from headwater.cli.show.changes import Revisions
    from headwater.cli.show.waiting_line import WaitingLine

    form = chosen(output)
    if changes and form is not OutputFormat.JSON:
        raise ConfigurationError(f"watch: --changes are JSON, got -o {form}; say -o json")
    revisions = Revisions()
    request = api.StreamRequest(stream, newest=not only_new, waits=True, sites=all_sites)
    shown = 0
    try:
        with WaitingLine(sys.stderr) as waiting:
            for event in listen(federation, at, api.WATCH, request, dict[str, Any]):
                if "header" not in event:
                    waiting.show(msgspec.convert(event, api.WaitEvent))
                    continue
                waiting.clear()
                answer = msgspec.convert(event, api.AnswerEvent)
                if changes:
                    print_objects([revisions.change(answer.header, answer.rows)])
                else:
                    show_answer(answer.header, answer.rows, form, answer.sites)
                shown += 1
                if shown == count:
                    return
    except KeyboardInterrupt:
        say("")


def why(
    stream: Stream,
    window: Annotated[
        str,
        typer.Argument(
            help="A time in it (09:10, 2026-05-04T12:00:00Z; UTC), its number, or newest: the last "
            "that should have an answer."
        ),
    ] = "newest",
    last: Annotated[
        bool, typer.Option("--last", help="The last window that has an answer.")
    ] = False,
    federation: Federation = None,
    at: At = None,
    output: TextOutput = None,
) -> None:
    """Say why a window is as it is.

    Which sites are in, which are missing, in which state, for which reason, what is awaited.
    """
    if last and window != api.NamedWindow.NEWEST:
        raise ConfigurationError(
            f"why: wanted a window ({window}) or --last, got both; leave one out"
        )
    request = api.WhyRequest(stream, api.NamedWindow.LAST if last else window)
    reply = ask(federation, at, api.WHY, request, api.WhyReply)
    if chosen(output) is OutputFormat.TABLE:
        print_text(reply.text)
    else:
        print_objects([reply.value])


def alarms(
    federation: Federation = None,
    at: Annotated[
        str | None,
        typer.Option("--at", "--site", help="The site to ask; default: the federation's home."),
    ] = None,
    output: ListingOutput = None,
) -> None:
    """List what an agent has found to be wrong: alarms about its streams, lies that it has met.

    Alarms about a stream are kept by the agent that answers it, those of removed ones among them.
    """
    reply = ask(federation, at, api.ALARMS, None, api.AlarmsReply)
    none = f"no alarms at {reply.asked}"
    title = f"As kept at {reply.asked}"
    print_listing(listing_of(api.AlarmLine, reply.alarms, title=title, none=none), output)
    if reply.elsewhere:
        say(f"other streams are answered at {', '.join(reply.elsewhere)}: ask there with --at")


def remove(
    stream: Stream,
    keeps_panes: Annotated[
        bool, typer.Option("--keep-panes", help="It ends; sites keep its panes, to be asked.")
    ] = False,
    federation: Federation = None,
    at: At = None,
    output: ListingOutput = None,
) -> None:
    """End a stream everywhere; written results stay.

    With --keep-panes its last window is answered, and headwater ask has its panes for as long as
    sites keep them. A second remove, without it, lets go of them.
    """
    from headwater.agent.control.operator_client import end_stream, remove_stream
    from headwater.cli.reach import command

    if keeps_panes:
        ended = command(federation, at, lambda ask, signature: end_stream(ask, stream, signature))
        if ended:
            print_listing(listing_of(api.Altered, ended), output)
            say(f"{stream} ends there; headwater ask has its panes until sites let go of them")
        else:
            say(f"nothing is changed: {stream} has ended, and its panes are kept")
        return
    reply = command(federation, at, lambda ask, signature: remove_stream(ask, stream, signature))
    print_listing(Listing(("removed",), [(reply.removed,)]), output)


def resume(
    stream: Stream, federation: Federation = None, at: At = None, output: ListingOutput = None
) -> None:
    """Begin a stream anew, as it was written: where sites have suspended it, they run it again."""
    from headwater.agent.control.operator_client import resume_stream
    from headwater.cli.reach import command

    reply = command(federation, at, lambda ask, signature: resume_stream(ask, stream, signature))
    print_listing(listing_of(api.Installed, reply.installed), output)


def alter(
    stream: Stream,
    settings: Annotated[
        str, typer.Argument(help="As in SET: error = '0.5 % of total', staleness = '5 s'.")
    ],
    federation: Federation = None,
    at: At = None,
    output: ListingOutput = None,
) -> None:
    """Change settings of a stream that runs, from a window on: error, finally, deadline, staleness,
    answer, revise_every, budget, weight, degrade, backlog_bytes, backlog_age.

    It goes on under its id; what is not named stays as it is. error = 'none' ends an error; budget
    and degrade have 'none', too.
    """
    print_altered(altered(federation, at, stream, settings), stream, output)


def altered(
    federation: Path | None, at: str | None, stream: str, settings: str, *, is_whole: bool = False
) -> tuple[api.Altered, ...]:
    from headwater.agent.control.operator_client import alter_stream
    from headwater.cli.reach import command

    return command(
        federation,
        at,
        lambda ask, sign: alter_stream(ask, stream, settings, sign, is_whole=is_whole),
    )


def print_altered(found: tuple[api.Altered, ...], stream: str, output: OutputFormat | None) -> None:
    if found:
        print_listing(listing_of(api.Altered, found), output)
        say(f"{stream} goes on: no window is lost, and a site that hears late goes by it later")
    else:
        say(f"nothing is changed: {stream} runs with these settings already")


def budget(
    place: Annotated[
        str, typer.Argument(help="A site, or SITE:NEIGHBOUR for what it sends to one neighbour.")
    ],
    rate: Annotated[
        list[str], typer.Argument(help="200 kbit/s; none: no limit; file: as its file says.")
    ],
    federation: Federation = None,
) -> None:
    """Change what a site may send, while it runs, over all its links or to one neighbour.

    It holds until another one is commanded, also after a restart, before what the site's file says.
    """
    from headwater.agent.control.operator_client import command_budget
    from headwater.cli.reach import command

    site, _, to = place.partition(":")
    if not site or place.count(":") > 1 or (":" in place and not to):
        raise ConfigurationError(f"budget: wanted SITE or SITE:NEIGHBOUR, got {place!r}")
    word = " ".join(rate).strip()
    bytes_per_s = None if word in ("none", "file") else _rate(word)
    reply = command(
        federation,
        site,
        lambda ask, sign: command_budget(ask, to, bytes_per_s, sign, by_file=word == "file"),
    )
    say(f"{site}: {reply.present}")
    for text in reply.commanded:
        say(text)


def _rate(text: str) -> float:
    try:
        return bytes_per_s_of(text)
    except ValueError as error:
        raise ConfigurationError(
            f"budget: wanted a rate, none (no limit) or file (as the site's file says): {error}"
        ) from error


def read_sql(file: Path) -> str:
    """The text of a file of statements; ``-`` is standard input."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{file}: can't be read: {error.strerror}; name a file of statements"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file}: wanted UTF-8 text: {error}") from error


def listing_of(
    kind: type[msgspec.Struct],
    values: tuple[Any, ...],
    *,
    title: str = "",
    none: str = "nothing to show",
    seldom: frozenset[str] = frozenset(),
) -> Listing:
    columns = tuple(field.name for field in msgspec.structs.fields(kind))
    rows = [msgspec.structs.astuple(value) for value in values]
    return Listing(columns, rows, title, none, seldom)


def show_answer(
    header: dict[str, Any],
    rows: tuple[dict[str, Any], ...],
    form: OutputFormat,
    sites: tuple[WatchedSite, ...] | None = None,
) -> None:
    """``sites``: how they do, beside it; None where nobody knows."""
    from headwater.cli.show.headline import headline

    if form is OutputFormat.JSON:
        beside = {} if sites is None else {"sites": msgspec.to_builtins(sites)}
        print_objects([{"header": header, "rows": rows, **beside}])
        return
    columns = tuple(rows[0]) if rows else ()
    listing = Listing(columns, [tuple(row.values()) for row in rows], none="no rows")
    if form is OutputFormat.TABLE:
        print_text(shown_line(headline(header)))
        for site in sites or ():
            print_text(shown_line(f"  {site.text()}"))
        print_table(listing)
    else:
        print_listing(listing, form)
