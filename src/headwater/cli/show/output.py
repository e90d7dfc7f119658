"""Tables for people, JSON lines for programs, and files where they are asked for.

What a command found goes to standard output, what it has to say about its work to standard error,
so that a pipe never has to filter. On a terminal the default is a table, elsewhere one JSON object
a line.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.cli.show.fitted_widths import fitted
from headwater.cli.show.plain_rows import ENCODER
from headwater.errors import ConfigurationError
from headwater.shown_text import escaped_json, shown, shown_line, shown_within

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

CELL_CHARACTERS_MAX = 200
"""A cell longer than this is cut on a terminal; JSON and files have all of it."""
PLAIN_COLUMNS = 160
"""Width of a table that goes to no terminal, where ``COLUMNS`` says nothing."""
SENTENCE_CHARACTERS_MAX = 1_000
"""The same where cells are sentences, which say at their end what to do."""
SAID_IN_THE_END = ("input not read", "more input not read")
"""What ``try`` names with its reason where it says what was read."""


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def output_option(can: tuple[OutputFormat, ...]) -> Any:
    """The ``-o`` of a command that can print in these forms. Every command declares its own, and
    any other form is refused before the command begins: none is printed as something else."""

    def parsed(text: str) -> OutputFormat:
        if text in can:
            return OutputFormat(text)
        known = ", ".join(can[:-1]) + f" or {can[-1]}"
        hint = "; Parquet is written by: headwater try" if text == OutputFormat.PARQUET else ""
        raise ConfigurationError(f"-o {text}: this command prints {known}{hint}")

    return typer.Option(
        "-o",
        "--output",
        parser=parsed,
        metavar=f"<{'|'.join(can)}>",
        help="Default: a table on a terminal, JSON in a pipe.",
    )


AnyOutput = Annotated[OutputFormat | None, output_option(tuple(OutputFormat))]
ListingOutput = Annotated[
    OutputFormat | None, output_option((OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.CSV))
]
"""Of a command that answers with rows."""
TextOutput = Annotated[OutputFormat | None, output_option((OutputFormat.TABLE, OutputFormat.JSON))]
"""Of a command whose answer is a text for people; its columns would be nobody's."""


class Listing(msgspec.Struct, frozen=True):
    """Rows with named columns: what most commands answer with."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    none: str = "nothing to show"
    """What a person reads when there are no rows."""
    seldom: frozenset[str] = frozenset()
    """Columns that a table leaves out while nothing stands in them; programs always have them."""
    cell_characters_max: int = CELL_CHARACTERS_MAX
    is_fitted: bool = False
    """Values are cut, and columns go into tables below, so that no line wraps."""

    @classmethod
    def of(cls, *rows: dict[str, Any]) -> Listing:
        """Of rows that name their columns themselves, all the same; one at least."""
        return cls(tuple(rows[0]), [tuple(row.values()) for row in rows])


def chosen(wanted: OutputFormat | None, out: IO[str] | None = None) -> OutputFormat:
    """What was asked for; else a table on a terminal and JSON in a pipe."""
    if wanted is not None:
        return wanted
    return OutputFormat.TABLE if (out or sys.stdout).isatty() else OutputFormat.JSON


def say(text: str) -> None:
    """A line about the work itself."""
    print(shown(text), file=sys.stderr, flush=True)


def log_warnings_only(*, errors_only: bool = False) -> None:
    """For commands whose own words are for people: what agents note for operators is left out.
    ``errors_only``: warnings are, too, because they are part of the play."""
    import logging

    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.ERROR if errors_only else logging.WARNING
        ),
        processors=[
            _untold,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S"),
            _plain_text,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def _untold(logger: Any, name: str, event: MutableMapping[str, Any]) -> Any:
    """Without what the command itself says in the end."""
    import structlog

    if event["event"] in SAID_IN_THE_END:
        raise structlog.DropEvent
    return event


def _plain_text(logger: Any, name: str, event: MutableMapping[str, Any]) -> Any:
    return shown_within(dict(event))


def print_listing(
    listing: Listing, wanted: OutputFormat | None, out: IO[str] | None = None
) -> None:
    out = out or sys.stdout
    form = chosen(wanted, out)
    if form is OutputFormat.TABLE:
        print_table(listing, out)
    elif form is OutputFormat.CSV:
        writer = csv.writer(out, lineterminator="\n")
        is_seen = out.isatty()
        for row in (listing.columns, *listing.rows):
            writer.writerow([_seen(value) for value in row] if is_seen else row)
    else:
        assert form is OutputFormat.JSON, f"a listing as {form}: its command should refuse that"
        print_objects((dict(zip(listing.columns, row, strict=True)) for row in listing.rows), out)


def print_objects(objects: Iterable[Any], out: IO[str] | None = None) -> None:
    """One JSON object a line, each flushed: the reader of a pipe may be waiting for it."""
    out = out or sys.stdout
    for item in objects:
        out.write(json_text(item) + "\n")
        out.flush()


def json_text(value: Any) -> str:
    return escaped_json(ENCODER.encode(value).decode())


def print_table(listing: Listing, out: IO[str] | None = None) -> None:
    console = console_on(out or sys.stdout)
    if not listing.rows:
        console.print(shown(listing.none), markup=False, highlight=False)
        return
    columns = [
        (number, name)
        for number, name in enumerate(listing.columns)
        if name not in listing.seldom or any(row[number] for row in listing.rows)
    ]
    cells = [
        [_cell(row[number], listing.cell_characters_max) for number, _ in columns]
        for row in listing.rows
    ]
    heads = [
        _Head(shown_line(name), _are_numbers([row[number] for row in listing.rows]))
        for number, name in columns
    ]
    for table in _tables(listing, heads, cells, columns=console.width):
        console.print(table)


class _Head(msgspec.Struct, frozen=True):
    name: str
    is_number: bool


def _are_numbers(values: Sequence[Any]) -> bool:
    """Some are, and the others are nothing."""
    found = [value for value in values if value is not None]
    return bool(found) and all(isinstance(value, int | float | Decimal) for value in found)


def _tables(
    listing: Listing, heads: Sequence[_Head], cells: Sequence[Sequence[Text]], *, columns: int
) -> Iterator[Table]:
    from rich.cells import cell_len

    if not listing.is_fitted:
        yield _table(listing, heads, cells, [(number, None) for number in range(len(heads))])
        return
    widths = [
        max(cell_len(head.name), *(row[number].cell_len for row in cells))
        for number, head in enumerate(heads)
    ]
    is_text = [number > 0 and not head.is_number for number, head in enumerate(heads)]
    for chosen_columns in fitted(widths, is_text, columns=columns):
        yield _table(listing, heads, cells, chosen_columns)


def _table(
    listing: Listing,
    heads: Sequence[_Head],
    cells: Sequence[Sequence[Text]],
    chosen_columns: Sequence[tuple[int, int | None]],
) -> Table:
    """Of these columns, with these widths where they have one."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=shown_line(listing.title) or None, title_justify="left", header_style="bold"
    )
    for number, width in chosen_columns:
        head = heads[number]
        table.add_column(
            Text(head.name),
            justify="right" if head.is_number else "left",
            width=width,
            no_wrap=width is not None,
            overflow="fold" if width is None else "ellipsis",
        )
    for row in cells:
        table.add_row(*(row[number] for number, _ in chosen_columns))
    return table


def console_on(out: IO[str]) -> Console:
    """A rich console that draws on a terminal and writes plain text elsewhere, as wide as the
    terminal, as ``COLUMNS`` says, or as is good for a file."""
    from rich.console import Console

    told = os.environ.get("COLUMNS", "")
    plain = int(told) if told.isdecimal() and int(told) > 0 else PLAIN_COLUMNS
    return Console(file=out, width=None if out.isatty() else plain, highlight=False)


def print_text(text: str) -> None:
    """What was found, as a text for people."""
    print(shown(text))


def _seen(value: Any) -> Any:
    return shown_line(value) if isinstance(value, str) else value


def _number(value: float) -> str:
    """Six digits at least, and never fewer than stand before the point.

    >>> _number(1234.5678), _number(469_267_342.5), _number(0.1 + 0.2), _number(2e18)
    ('1,234.57', '469,267,342', '0.3', '2e+18')
    """
    if abs(value) >= 1e15:
        return repr(value)
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"


def _cell(value: Any, characters_max: int) -> Text:
    from rich.text import Text

    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif value is None:
        text = ""
    elif isinstance(value, float):
        text = _number(value)
    elif isinstance(value, datetime):
        text = value.isoformat(sep=" ").replace("+00:00", "Z")
    elif isinstance(value, list | tuple):
        text = ", ".join(str(item) for item in value)
    else:
        text = str(value)
    text = shown_line(text)
    cut = text if len(text) <= characters_max else text[: characters_max - 1] + "…"
    return Text(cut)
