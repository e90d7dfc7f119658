"""Answers for people and for files: rows with the window they belong to.

Every row carries the short form of its envelope: the window's start and end, the revision,
how many of the expected sites are in, and whether it is exact and final. A query's own column of
such a name keeps it, and the envelope's gets an underscore in front.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from headwater.cli.show.output import (
    Listing,
    OutputFormat,
    json_text,
    print_objects,
    print_table,
    print_text,
    say,
)
from headwater.cli.show.plain_rows import plain_rows, plain_values
from headwater.errors import ConfigurationError

ROWS_SHOWN = 200
"""Rows of a stream that a terminal gets; beyond, it is said how many there are."""

_SHORT_FORM = (
    ("window_start", pa.timestamp("us", tz="UTC"), "start_us"),
    ("window_end", pa.timestamp("us", tz="UTC"), "end_us"),
    ("revision", pa.int64(), "revision"),
    ("exact", pa.bool_(), "exact"),
    ("final", pa.bool_(), "final"),
    ("expected", pa.int64(), "expected"),
    ("covered", pa.int64(), "covered"),
    ("sample", pa.float64(), "sample"),
)
"""As in published results, and the share of the input where only some of it was read."""


class StreamAnswers(msgspec.Struct, frozen=True):
    """The newest answer of each window of one stream, oldest window first."""

    name: str
    headers: Sequence[Mapping[str, Any]]
    """Envelopes as plain data; of a plain Spark's answer only the window's start and end."""
    tables: Sequence[pa.Table]

    @property
    def row_count(self) -> int:
        return sum(table.num_rows for table in self.tables)


def limited(stream: StreamAnswers, rows_a_window: int) -> StreamAnswers:
    """The first rows of each window: those that a query which orders them has put first."""
    tables = [table.slice(0, rows_a_window) for table in stream.tables]
    return msgspec.structs.replace(stream, tables=tables)


def with_short_form(stream: StreamAnswers) -> pa.Table:
    """All rows of a stream as one table, each with its window and the short form."""
    parts = [
        _prefixed(table, header)
        for header, table in zip(stream.headers, stream.tables, strict=True)
    ]
    return pa.concat_tables(parts) if parts else pa.table({})


def check_output(names: Sequence[str], form: OutputFormat, out: Path | None) -> None:
    """Refuses what ``write_answers`` could not do for streams of these names. Called before the
    work begins: a run of hours must not end with an answer that has no place to go."""
    if out is None:
        if len(names) > 1 and form not in (OutputFormat.TABLE, OutputFormat.JSON):
            raise ConfigurationError(
                f"-o {form}: {len(names)} streams ({', '.join(names)}) have different columns; "
                "give --out FILE (each stream gets a file of its own), or use -o json"
            )
        return
    for name in names:
        _check_file(_path_of(name, out, is_alone=len(names) == 1))


def _check_file(path: Path | None) -> None:
    assert path is not None, "with --out every stream has a file"
    try:
        why_not = _why_not_a_file(path)
        if not why_not:
            _touch(path)
    except OSError as error:
        why_not = f"can't be written: {error.strerror}; name a file elsewhere"
    if why_not:
        raise ConfigurationError(f"--out {path}: {why_not}")


def _why_not_a_file(path: Path) -> str:
    if path.is_dir():
        return "wanted a file, and that is a directory; name a file in it"
    if not path.parent.is_dir():
        return f"{path.parent} is not a directory; make it, or name a file elsewhere"
    return ""


def _touch(path: Path) -> None:
    """Open it for writing, and leave everything as it was. Pipes and devices are left alone: to
    open one may wait for its reader, and to close it tells that one that all is said."""
    is_there = path.exists()
    if is_there and not path.is_file():
        return
    with path.open("ab"):
        pass
    if not is_there:
        path.unlink()


def write_answers(streams: Sequence[StreamAnswers], form: OutputFormat, out: Path | None) -> None:
    """To the file, or to standard output. One stream, one file: several get names of their own."""
    check_output([stream.name for stream in streams], form, out)
    if out is None and form is OutputFormat.TABLE:
        for stream in streams:
            _print_stream(stream)
    elif out is None and form is OutputFormat.JSON:
        for stream in streams:
            _write_json(stream, None)
    else:
        for stream in streams:
            path = _path_of(stream.name, out, is_alone=len(streams) == 1)
            _write_file(stream, form, path)
            if path is not None:
                rows = "1 row" if stream.row_count == 1 else f"{stream.row_count:,} rows"
                say(f"{stream.name}: {rows} written to {path}")


def _write_file(stream: StreamAnswers, form: OutputFormat, path: Path | None) -> None:
    try:
        match form:
            case OutputFormat.JSON:
                _write_json(stream, path)
            case OutputFormat.TABLE:
                _print_stream(stream, path)
            case _:
                _write_arrow(with_short_form(stream), form, path)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: can't be written: {error.strerror}; name a file elsewhere with --out"
        ) from error


def _write_arrow(table: pa.Table, form: OutputFormat, path: Path | None) -> None:
    target = sys.stdout.buffer if path is None else str(path)
    if form is OutputFormat.CSV:
        import pyarrow.csv as arrow_csv

        if path is None and sys.stdout.isatty():
            seen = io.BytesIO()
            arrow_csv.write_csv(_flat(table), seen)
            print_text(seen.getvalue().decode())
            return
        arrow_csv.write_csv(_flat(table), target)
        return
    import pyarrow.parquet as parquet

    parquet.write_table(table, target, compression="zstd")


def _flat(table: pa.Table) -> pa.Table:
    """As CSV can have it: fields of structs are columns; lists, maps and bytes are as in JSON."""
    import pyarrow as pa

    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    for number, field in enumerate(table.schema):
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            values = plain_values(table.column(number))
            texts = [
                one if one is None or isinstance(one, str) else json_text(one) for one in values
            ]
            table = table.set_column(number, field.name, pa.array(texts, pa.string()))
    return table


def _write_json(stream: StreamAnswers, path: Path | None) -> None:
    rows = (
        {"stream": stream.name, **row}
        for batch in with_short_form(stream).to_batches(max_chunksize=10_000)
        for row in plain_rows(batch)
    )
    if path is None:
        print_objects(rows)
        return
    with path.open("w", encoding="utf-8") as file:
        print_objects(rows, file)


def _print_stream(stream: StreamAnswers, path: Path | None = None) -> None:
    marks = {_marks(header) for header in stream.headers}
    is_told_once = len(marks) == 1  # then it stands in the title, and takes no column
    cells = _cells(stream, row_count_max=ROWS_SHOWN if path is None else None)
    listing = Listing(
        ("window", *_own_columns(stream), *(() if is_told_once else ("answer",))),
        [row[:-1] if is_told_once else row for row in cells],
        title=f"{stream.name}: {marks.pop()}" if is_told_once else stream.name,
        none=f"{stream.name}: no rows",
        is_fitted=path is None,
    )
    if path is not None:
        with path.open("w", encoding="utf-8") as file:
            print_table(listing, file)
        return
    print_table(listing)
    if stream.row_count > ROWS_SHOWN:
        say(f"{stream.name}: {ROWS_SHOWN} of {stream.row_count} rows shown; see all with -o json")


def _own_columns(stream: StreamAnswers) -> tuple[str, ...]:
    return tuple(stream.tables[0].column_names) if stream.tables else ()


def _cells(stream: StreamAnswers, *, row_count_max: int | None) -> Iterator[tuple[Any, ...]]:
    rows = (
        (_span(header), *row.values(), _marks(header))
        for header, table in zip(stream.headers, stream.tables, strict=True)
        for row in plain_rows(table)
    )
    return islice(rows, row_count_max)


def _prefixed(table: pa.Table, header: Mapping[str, Any]) -> pa.Table:
    columns = {}
    for name, kind, field in _SHORT_FORM:
        if field in header:
            shown = f"_{name}" if name in table.column_names else name
            if header.get("counted") and field in ("start_us", "end_us"):
                kind = pa.int64()
            columns[shown] = pa.repeat(pa.scalar(header[field], type=kind), table.num_rows)
    return pa.table(columns | dict(zip(table.column_names, table.columns, strict=True)))


def _path_of(name: str, out: Path | None, *, is_alone: bool) -> Path | None:
    if out is None or is_alone:
        return out
    return out.with_name(f"{out.stem}-{name}{out.suffix}")


def _span(header: Mapping[str, Any]) -> str:
    if header.get("counted"):
        return f"{header['start_us']} – {header['end_us']}"
    start, end = (
        datetime.fromtimestamp(header[name] / 1e6, tz=UTC) for name in ("start_us", "end_us")
    )
    form = "%H:%M:%S" if start.date() == end.date() else "%Y-%m-%d %H:%M:%S"
    return f"{start:%Y-%m-%d %H:%M:%S} – {end:{form}}"


def _marks(header: Mapping[str, Any]) -> str:
    if "sample" in header:
        return f"of a sample, {header['sample']:g}"
    if "revision" not in header:
        return "one Spark"
    words = [word for word in ("exact", "final") if header[word]]
    if header.get("bounded", {}).get("exact_otherwise"):
        words.insert(0, "bounded")
    if header.get("withheld", {}).get("keys"):
        words.insert(0, "within its error")
    marks = " ".join(words) or f"{header['covered']} of {header['expected']} sites"
    count = header.get("left_out", {}).get("count", 0)
    return f"{marks}, {count} left out" if count else marks
