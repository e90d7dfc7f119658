"""``try``: a query over the files of one directory, through the whole way, in one command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.ending import ends_in_order
from headwater.cli.operator_commands import read_sql
from headwater.cli.output import AnyOutput, OutputFormat, chosen, log_warnings_only, say
from headwater.errors import ConfigurationError, GroupFailed, SparkFailed

if TYPE_CHECKING:
    from headwater.agent.try_query import StreamResult
    from headwater.cli.answers import StreamAnswers


EXIT_DIFFERENT = 1
EXIT_INCOMPLETE = 3
"""There are answers, and records that should be in them are not."""
LEFT_OUT_WINDOWS_SHOWN = 5
"""Windows of a stream of which it is said which groups they lack."""
LEFT_ALONE_SHOWN = 5
"""Files of a stream that are named as not read."""


def add_to(app: typer.Typer) -> None:
    app.command("try")(try_files)


def try_files(
    file: Annotated[Path, typer.Argument(help="SQL: CREATE SOURCE and CREATE STREAM statements.")],
    sites: Annotated[
        Path, typer.Option(help="Each folder in it is a site; paths in sources are relative to it.")
    ],
    central: Annotated[
        bool, typer.Option("--central", help="Compute with one plain Spark over all files.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Do both, and say whether they are equal.")
    ] = False,
    output: AnyOutput = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the answers to this file, not to the output.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Spark's heap, 2g say. Default: half of what is free, up to 4g."),
    ] = None,
) -> None:
    """Run a query over your own files, to the end.

    All of it in one process: Spark at the sites, cubes, the tree, Spark at the root.
    """
    from headwater.agent.free_memory import checked_heap, heap_for_a_run
    from headwater.agent.try_query import check, joined
    from headwater.cli.answers import check_output, write_answers

    log_warnings_only()
    form = _form(output, out)
    if central and compare:
        raise ConfigurationError("try: --compare computes both; leave --central away")
    text = read_sql(file)
    check_output(check(text, sites), form, out)
    heap = heap_for_a_run() if memory is None else checked_heap(memory)
    with ends_in_order():
        results, found = _computed(text, sites, is_central=central, is_compared=compare, heap=heap)
    write_answers([_answers(parts) for parts in joined(results)], form, out)
    for result in results:
        if result.unparsed:
            lines = "1 line" if result.unparsed == 1 else f"{result.unparsed} lines"
            say(f"{result.query.id.name}: {lines} could not be parsed")
        for line in (*left_out_lines(result), *left_alone_lines(result)):
            say(line)
        for site, message in result.failed.items():
            say(f"{result.query.id.name}: records of {site} are missing, Spark refused: {message}")
    for stream, difference in found.items():
        say(f"{stream}: {difference or 'equal to one Spark over all files'}")
    if any(found.values()):
        raise typer.Exit(EXIT_DIFFERENT)
    if any(result.failed for result in results):
        raise typer.Exit(EXIT_INCOMPLETE)


def left_out_lines(result: StreamResult) -> list[str]:
    """What is said of groups without a row, window by window, up to a limit."""
    from headwater.cli.amounts import utc

    lines = []
    for window, left_out in sorted(result.left_out.items())[:LEFT_OUT_WINDOWS_SHOWN]:
        start_us = result.query.window.window_start_us(window)
        lines.append(f"{result.query.id.name}: window from {utc(start_us)}: {left_out.text()}")
    rest = len(result.left_out) - LEFT_OUT_WINDOWS_SHOWN
    if rest > 0:
        lines.append(f"{result.query.id.name}: groups were left out of {rest} windows more")
    return lines


def left_alone_lines(result: StreamResult) -> list[str]:
    """What is said of files that were not read, up to a limit."""
    name, alone = result.query.id.name, result.left_alone
    lines = [f"{name}: {path} was not read: {reason}" for path, reason in alone[:LEFT_ALONE_SHOWN]]
    rest = len(alone) - LEFT_ALONE_SHOWN
    return [*lines, f"{name}: {rest} files more were not read"] if rest > 0 else lines


def _form(output: OutputFormat | None, out: Path | None) -> OutputFormat:
    """A file's own ending decides where nothing else does."""
    if output is None and out is not None:
        known = {f".{form}": form for form in OutputFormat if form is not OutputFormat.TABLE}
        if out.suffix not in known:
            raise ConfigurationError(
                f"--out {out}: wanted -o json, csv, parquet or table, or a file ending of that kind"
            )
        return known[out.suffix]
    form = chosen(output)
    if form is OutputFormat.PARQUET and out is None and sys.stdout.isatty():
        raise ConfigurationError("-o parquet: give --out FILE; a terminal can't show it")
    return form


def _computed(
    text: str, sites: Path, *, is_central: bool, is_compared: bool, heap: str
) -> tuple[list[StreamResult], dict[str, str | None]]:
    """The answers, and where they differ from those of one Spark, if that was asked for."""
    from headwater.agent.try_query import Progress, differences, is_brief, try_central, try_query
    from headwater.cli.progress import ProgressLine
    from headwater.spark.session import SparkConfig, start_session
    from headwater.store.owner_alone import owner_alone

    scratch = TemporaryDirectory(prefix="headwater-try-")
    with ProgressLine() as line, owner_alone(), scratch as directory:
        line.show(Progress("starting Spark"))
        spark = start_session(
            SparkConfig(
                memory=heap, directory=directory, log=f"{directory}/spark.log",
                is_brief=is_brief(text, sites),
            )
        )  # fmt: skip
        try:
            if is_central:
                return try_central(text, sites, show=line.show, spark=spark), {}
            results = try_query(text, sites, show=line.show, spark=spark)
            if not is_compared:
                return results, {}
            try:
                reference = try_central(text, sites, show=line.show, spark=spark)
            except (GroupFailed, SparkFailed) as error:
                return results, {one.query.id.name: f"not compared: {error}" for one in results}
            return results, differences(results, reference)
        finally:
            spark.stop()


def _answers(parts: Sequence[StreamResult]) -> StreamAnswers:
    """One stream, window by window; within a window part by part."""
    import msgspec

    from headwater.cli.answers import StreamAnswers

    windows = sorted((one for part in parts for one in part.windows), key=lambda one: one.window)
    headers = [
        {"start_us": window.start_us, "end_us": window.end_us}
        if window.envelope is None
        else msgspec.to_builtins(window.envelope)
        for window in windows
    ]
    return StreamAnswers(parts[0].query.stream, headers, [one.rows for one in windows])
