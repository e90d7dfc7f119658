"""``infer``: the CREATE SOURCE for some files; ``check-source``: what a source gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.algebra.panes import MICROS
from headwater.cli.commands.operator_commands import read_sql
from headwater.cli.ending import ends_in_order
from headwater.cli.show.output import (
    Listing,
    ListingOutput,
    OutputFormat,
    chosen,
    log_warnings_only,
    print_listing,
    print_objects,
    print_table,
    print_text,
    say,
)
from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from headwater.local.look.check_source import SiteGives
    from headwater.local.look.infer_check import Held
    from headwater.local.look.infer_files import Inferred
    from headwater.spark.jvm.session import RunningSpark

EXIT_REFUSED = 2
"""A source was written, and this version can't run it as it is."""
CELL_CHARACTERS_MAX = 40
"""Of a value in the records that are shown as a comment."""


def add_to(app: typer.Typer) -> None:
    app.command("infer")(infer)
    app.command("check-source")(check_source)


def infer(
    paths: Annotated[
        list[Path], typer.Argument(help="A file, several, a glob, or a folder of site folders.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Of the source; default: from the files' names.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Without Spark: show no parsed records.")
    ] = False,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="<sql|json>", help="How to print it.")
    ] = "sql",
) -> None:
    """Write the CREATE SOURCE for some files.

    It looks at the beginnings of a few of them, decides on format, columns, types and time, and
    says what it was not sure of. The first records are those that Spark reads with it.
    """
    from headwater.local.look.infer_files import infer_files

    log_warnings_only()
    if output not in ("sql", OutputFormat.JSON):
        raise ConfigurationError(f"-o {output}: this command prints sql or json")
    inferred = infer_files(paths, name=name)
    held = None if quick or inferred.refused else _held(inferred)
    if output == "sql":
        print_text(sql_text(inferred, held))
    else:
        print_objects([_as_object(inferred, held)])
    if inferred.refused:
        raise typer.Exit(EXIT_REFUSED)


def check_source(
    file: Annotated[
        Path, typer.Argument(help="SQL: CREATE SOURCE statements; others are ignored.")
    ],
    sites: Annotated[
        Path, typer.Option(help="Each folder in it is a site; paths in sources are relative to it.")
    ],
    output: ListingOutput = None,
) -> None:
    """Say what each site's files give for a source, before any query runs.

    Files, lines, malformed ones, the range of times, and how far records lie behind.
    """
    from headwater.local.look.check_source import check_folders, sources_of
    from headwater.local.trial.site_folders import site_folders

    log_warnings_only()
    text = read_sql(file)
    sources, folders = sources_of(text), site_folders(sites)
    with ends_in_order(), _spark() as spark:
        gives = [one for source in sources for one in check_folders(source, folders, spark)]
    _show(gives, output)


def sql_text(inferred: Inferred, held: Held | None) -> str:
    """A file of SQL: the statement, with what there is to say about it as comments."""
    parts = [*inferred.comments, f"{inferred.statement};"]
    if held is not None:
        lines, bad = held.found.lines, held.found.malformed
        are, what = "is" if bad == 1 else "are", _unit(inferred)
        parts.append(f"-- Of the {lines} {what} that were looked at, {bad} {are} malformed for it.")
        parts += [f"--   {kind.text()}" for kind in held.found.why[:REASONS_SHOWN]]
        parts += [f"-- Not read: {name}: {reason}" for name, reason in held.unread.items()]
        if held.records:
            parts += ["-- The first records, as Spark reads them:", *_record_lines(held.records)]
    return "\n".join(parts)


def _unit(inferred: Inferred) -> str:
    """What is counted: files that are read as a whole have records, and no lines."""
    guess = inferred.guess
    is_whole = guess.format in ("parquet", "orc", "avro") or ("array", "true") in guess.options
    return "records" if is_whole else "lines"


def _record_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    rows = [list(records[0]), *([_cell(value) for value in one.values()] for one in records)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "--   "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cell(value: Any) -> str:
    from headwater.shown_text import shown_line

    text = "NULL" if value is None else shown_line(str(value))
    cut = CELL_CHARACTERS_MAX
    return text if len(text) <= cut else text[: cut - 1] + "…"


def _as_object(inferred: Inferred, held: Held | None) -> dict[str, Any]:
    return {
        "source": inferred.name,
        "sql": f"{inferred.statement};",
        "question": f"{inferred.question};",
        "doubts": inferred.guess.doubts,
        "refused": inferred.refused,
        "guess": msgspec.to_builtins(inferred.guess),
        "files": len(inferred.files),
        "looked_at": inferred.looked_at,
        "empty": inferred.empty,
        "lines": None if held is None else held.found.lines,
        "malformed": None if held is None else held.found.malformed,
        "why": () if held is None else msgspec.to_builtins(held.found.why),
        "records": None if held is None else held.records,
        "unread": {} if held is None else held.unread,
    }


def _held(inferred: Inferred) -> Held:
    from headwater.local.look.infer_check import hold_against_parser

    with ends_in_order(), _spark() as spark:
        return hold_against_parser(inferred, spark)


@contextmanager
def _spark() -> Iterator[RunningSpark]:
    """One that ends with the command."""
    from headwater.cli.show.progress import ProgressLine
    from headwater.local.free_memory import heap_for_a_run
    from headwater.local.trial.results import Progress
    from headwater.spark.jvm.session import SparkConfig, start_session
    from headwater.store.owner_alone import owner_alone

    scratch = TemporaryDirectory(prefix="headwater-check-")
    with ProgressLine() as line, owner_alone(), scratch as directory:
        line.show(Progress("starting Spark"))
        log = f"{directory}/spark.log"
        spark = start_session(
            SparkConfig(memory=heap_for_a_run(), directory=directory, log=log, is_brief=True)
        )
        try:
            yield spark
        finally:
            spark.stop()


COLUMNS = (
    "source",
    "site",
    "files",
    "empty",
    "bytes",
    "lines",
    "malformed",
    "first",
    "last",
    "twice",
    "never",
    "behind",
    "behind_s",
    "behind_s_max",
    "disorder",
    "left_alone",
    "why",
)
SELDOM = frozenset(("empty", "twice", "never", "behind", "left_alone"))
"""Columns that a table has where any site has something there."""
REASONS_SHOWN = 5
"""Of why lines of a site are malformed; programs get all of them."""


def _show(gives: Sequence[SiteGives], output: OutputFormat | None) -> None:
    is_table = chosen(output) is OutputFormat.TABLE
    rows = [_row(one, is_table=is_table) for one in gives]
    listing = Listing(COLUMNS, rows, seldom=SELDOM)
    if is_table:
        print_table(Listing(COLUMNS[:-1], [row[:-1] for row in rows], seldom=listing.seldom))
    else:
        print_listing(listing, output)
    for line in words(gives):
        say(line)


def words(gives: Sequence[SiteGives]) -> list[str]:
    """What people should do about it."""
    from headwater.local.look.check_source import suggested_disorder
    from headwater.plan.sources.local_times import Guessed

    lines = []
    for name in dict.fromkeys(one.source for one in gives):
        of_source = [one for one in gives if one.source == name]
        empty = [one.site for one in of_source if not one.files]
        if empty:
            lines.append(f"{name}: no file matches at {', '.join(empty)}")
        empty = [one.site for one in of_source if one.files and one.empty == one.files]
        if empty:
            lines.append(f"{name}: all files are empty at {', '.join(empty)}")
        for one in of_source:
            if one.found.malformed:
                lines.append(f"{name}: at {one.site} {_of_lines(one)} are malformed")
                lines += [f"  {kind.text()}" for kind in one.found.why[:REASONS_SHOWN]]
        guessed = sum((one.found.guessed for one in of_source), start=Guessed())
        lines += [f"{name}: {line}" for line in guessed.lines()]
        behind = [one.found.behind_us for one in of_source if one.found.behind_us is not None]
        if behind:
            lines.append(
                f"{name}: with disorder = '{suggested_disorder(max(behind))}' all but one record "
                "in a thousand would have been on time at every site"
            )
    return lines


def _of_lines(one: SiteGives) -> str:
    return f"{one.found.malformed:,} of {one.found.lines:,} lines"


def _row(one: SiteGives, *, is_table: bool) -> tuple[Any, ...]:
    from headwater.cli.show.amounts import amount, utc

    found = one.found
    times = [None if us is None else utc(us) for us in (found.first_us, found.last_us)]
    behind = [None if us is None else us / MICROS for us in (found.behind_us, found.behind_us_max)]
    alone = [f"{path}: {reason}" for path, reason in one.left_alone.items()]
    size = amount(one.bytes) if is_table else one.bytes
    return (
        one.source,
        one.site,
        one.files,
        one.empty,
        size,
        found.lines,
        found.malformed,
        *times,
        found.guessed.twice,
        found.guessed.never,
        found.behind,
        *behind,
        one.disorder,
        alone,
        [msgspec.to_builtins(kind) for kind in found.why],
    )
