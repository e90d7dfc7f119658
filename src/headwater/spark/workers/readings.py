"""How workers take the lines of a batch: by the format of its source, and a look at some of them.

Workers can take delimited lines and JSON objects from plain files. Whatever needs more than they
can do is left to the JVM as a whole, and so are lines most of which they would give back: of that a
sample is looked at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from headwater.plan.sources.log_formats import DELIMITED, FIELDS_DIRECTIVE, all_options
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.sources.time_formats import formats_of
from headwater.reading.json_sample import are_texts, objects_of, unsure_share
from headwater.reading.strict.strict_columns import Layout, Strict, columns_of
from headwater.reading.strict.strict_json import StrictJson
from headwater.reading.strict.strict_kinds import ISO, TEXT, TYPES
from headwater.reading.strict.strict_lines import LINE, LINE_FEED
from headwater.spark.lines.delimited import DelimitedFields
from headwater.spark.lines.fields import HEAD
from headwater.spark.lines.formats import fields_of
from headwater.spark.lines.lines import SITE, Linked, LinkedFile
from headwater.spark.lines.parse import UTF8, Parser
from headwater.spark.workers.line_workers import LongLineError, Reading, Stretch, blocks_of
from headwater.sql.read.time_of import converted_time

SAMPLE_BYTES = 64 << 10
"""Of the first and of the last file of a batch."""
GIVEN_BACK_MAX = 0.1
"""Of the lines of a sample: beyond, parsing them twice costs more than it saves."""
UTC = "UTC"


def reading_of(parser: Parser, found: Linked, *, tasks: int) -> Reading | None:
    """None: these lines need what workers can't do, or most of them do."""
    if not found.files or not all(one.is_plain for one in found.files):
        return None
    by_format = _json if parser.source.format == SourceFormat.JSON else _delimited
    try:
        return by_format(parser, found, tasks=tasks)
    except (OSError, LongLineError):
        return None  # Spark says why, or reads it


def kinds_of(parser: Parser) -> tuple[tuple[str, str], ...]:
    """For each column of the files that is used: what a worker makes of its field."""
    used = [one for one in parser.source.fields if one.name in parser.columns]
    return tuple((one.name, _kind(parser.source, one.name, one.type)) for one in used)


def _kind(source: Source, name: str, type_: str) -> str:
    """A time that is another column is made of the text of that one."""
    options = all_options(source)
    if name == converted_time(source):
        return TEXT
    if type_ == "timestamp":
        first = formats_of(options.get("timestamp_format", ISO))[0]
        return first if first in TYPES and "year" not in options else TEXT
    return type_ if type_ in TYPES else TEXT


def _delimited(parser: Parser, found: Linked, *, tasks: int) -> Reading | None:
    layouts = _layouts(parser)
    if layouts is None:
        return None
    strict = strict_of(parser, separator=found.separator or "\n")
    if _given_back(found.files, strict, layouts) > GIVEN_BACK_MAX:
        return None
    head = HEAD if _fields(parser).needs_head() else ""
    return Reading(strict, layouts, _dealt(found.files, tasks), SITE, head)


def strict_of(parser: Parser, *, separator: str = "\n") -> Strict:
    options = all_options(parser.source)
    fields = _fields(parser)
    return Strict(
        fields.dialect.delimiter,
        tuple(kind for _, kind in kinds_of(parser)),
        null=fields.dialect.null,
        comment=options.get("comment", "").encode(),
        is_replaced=options.get("encoding", UTF8) != UTF8,
        is_utc=options.get("zone", UTC) == UTC,
        quote=b"" if parser.is_quote_free else fields.dialect.quote.encode(),
        escape=fields.dialect.escape.encode(),
        separator=separator.encode(),
    )


def _layouts(parser: Parser) -> tuple[Layout, ...] | None:
    """By the number of the header; None: lines are written in signs of several bytes, or below a
    header with which they can't be read."""
    if parser.source.format not in DELIMITED:
        return None
    fields = _fields(parser)
    symbols = [fields.dialect.delimiter.encode(), fields.dialect.quote.encode()]
    if fields.faults or len(symbols[0]) != 1 or len(symbols[1]) > 1 or symbols[0] in b"\r\n":
        return None
    at = [fields.names.index(name) for name, _ in kinds_of(parser)]
    headers = [one if not one.startswith(FIELDS_DIRECTIVE) else "" for one in fields.headers]
    return tuple(
        Layout(one.count, tuple(one.places[place] for place in at), header.encode())
        for one, header in zip(fields.layouts, headers or [""], strict=True)
    )


def _fields(parser: Parser) -> DelimitedFields:
    fields = fields_of(parser.source, parser.columns, headers=parser.headers)
    assert isinstance(fields, DelimitedFields), "it is asked of delimited lines"
    return fields


def _given_back(files: Sequence[LinkedFile], strict: Strict, layouts: Sequence[Layout]) -> float:
    """The share of lines that Spark would have to parse after all."""
    lines = given_back = 0
    for file in {files[0], files[-1]}:
        for block in sample_of(file.path, strict.separator):
            for batch in columns_of(block, strict, layouts[file.head]):
                lines += batch.num_rows
                given_back += batch.num_rows - batch.column(LINE).null_count
    return given_back / max(lines, 1)


def sample_of(path: Path, separator: bytes = LINE_FEED) -> Iterator[bytes]:
    end = min(SAMPLE_BYTES, path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        yield from blocks_of(file, 0, end, separator=separator)


def _json(parser: Parser, found: Linked, *, tasks: int) -> Reading | None:
    """Values that lie deeper in an object are the JVM's, and so is one for two columns."""
    options, kinds = all_options(parser.source), kinds_of(parser)
    paths = [parser.source.path_of(name) for name, _ in kinds]
    keys = tuple(str(path[0]) for path in paths)
    if any(len(path) > 1 for path in paths) or len(set(keys)) < len(keys) or "comment" in options:
        return None
    files = {found.files[0], found.files[-1]}
    blocks = (block for file in files for block in sample_of(file.path))
    sample = objects_of([line for block in blocks for line in block.splitlines()])
    of_kinds = tuple(kind for _, kind in kinds)
    strict = StrictJson(
        keys,
        of_kinds,
        tuple(are_texts(sample, keys, of_kinds)),
        is_replaced=options.get("encoding", UTF8) != UTF8,
        is_utc=options.get("zone", UTC) == UTC,
    )
    if unsure_share(sample, strict) > GIVEN_BACK_MAX:
        return None
    return Reading(strict, (), _dealt(found.files, tasks), SITE)


def _dealt(files: Sequence[LinkedFile], tasks: int) -> tuple[tuple[Stretch, ...], ...]:
    """As many bytes to each task, in order: large files in several stretches."""
    sizes = [one.path.stat().st_size for one in files]
    share = -(-sum(sizes) // tasks) or 1
    found: list[list[Stretch]] = [[]]
    left = share
    for file, size in zip(files, sizes, strict=True):
        start = 0
        while start < size:
            end = min(size, start + left)
            found[-1].append(Stretch(str(file.path), start, end, file.site, file.head))
            left -= end - start
            start = end
            if not left:
                found.append([])
                left = share
    return tuple(tuple(one) for one in found if one)
