"""The order in which formats are tried, and the columns of each.

What is most telling comes first: an object is an object, an access log has its brackets and quotes.
Delimiters come after those, because a comma is nearly everywhere; a pattern around the only time in
a line is the last resort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headwater.infer.delimiter import Delimiter, find_delimiter, records_of
from headwater.infer.guess import ColumnGuess, NoGuess, SourceGuess, TimeGuess
from headwater.infer.guess_columns import Guessed, built
from headwater.infer.header import find_header
from headwater.infer.json_columns import (
    COLUMNS_MAX,
    are_objects,
    column_name,
    elements_of,
    is_array,
    members_of,
    path_text,
)
from headwater.infer.log_shapes import (
    SHORT_YEARS,
    STAMP,
    W3C_FIELDS,
    Shape,
    find_shape,
    find_started_shape,
    is_logfmt,
    is_old_syslog,
    over_lines,
    pairs_of,
    records_by,
    year_doubt,
)
from headwater.infer.sample import Sample, all_lines
from headwater.infer.time_column import TimeChoice
from headwater.infer.time_formats import format_us

_ANY_TIME = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?",
    r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}",
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d",
    r"\d\d[./-]\d\d[./-]\d{4} \d\d:\d\d:\d\d",
    r"\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d(?:\.\d{6})?",
    r"\d{8}-\d{1,2}:\d{1,2}:\d{1,2}",
    r"[A-Z][a-z]{2} \d{1,2} \d\d:\d\d:\d\d \d{4}",
    r"(?<!\d/)\d\d/\d\d/\d\d \d\d:\d\d:\d\d",
    r"(?<![\w.:-])1\d{9}(?![\w.:-])",
)
"""Looked for anywhere in a line that is nothing else."""
BY_HAND = (
    "write the source by hand: format = 'regex', a pattern with a group for each column, such as "
    "r'(?<ts>\\S+ \\S+) (?<message>.*)', and timestamp_format with how its time is written"
)
SHARE_MIN = 0.9
COMMENT = "#"
JOURNAL_TIME = "__REALTIME_TIMESTAMP="
"""Every record of ``journalctl -o export`` has it."""
LISTED = ("BOOLEAN", "BIGINT", "DOUBLE", "STRING")
"""Types of the elements of lists."""


def infer_source(samples: tuple[Sample, ...]) -> Guessed:
    """What reads these files, or why nothing does."""
    lines = all_lines(samples)
    if any(line.startswith(JOURNAL_TIME) for line in lines):
        return NoGuess(
            "this is an export of a journal, of which every column is known: write CREATE SOURCE "
            "journal WITH (format = 'journald', path = '*.export')"
        )
    if any(sample.is_binary for sample in samples):
        name = next(sample.path for sample in samples if sample.is_binary)
        return NoGuess(f"{name} is no text, and no format that is known here")
    if not lines:
        return NoGuess("there is no whole line in these files; wanted at least one record")
    for attempt in (_json, _w3c, _shaped, _syslog, _logfmt):
        found = attempt(samples, lines)
        if found is not None:
            return found
    table = _delimited(samples, lines)
    if isinstance(table, SourceGuess):
        return table
    return (
        _around_a_time(samples, lines)
        or table
        or NoGuess(
            "no format fits: the lines are no JSON objects, no log that is known here, no pairs "
            "name=value, no sign cuts them evenly, and no way of writing a time that is known here "
            f"stands in most of them; the first is {lines[0][:80]!r}; {BY_HAND}"
        )
    )


def _json(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    if is_array(lines[0]):
        return _json_array(samples)
    if not are_objects(lines):
        return None
    return _json_objects(lines, "lines", {})


def _json_array(samples: Sequence[Sample]) -> Guessed | None:
    """Files that are one array each."""
    others = [sample.path for sample in samples if sample.lines and not is_array(sample.lines[0])]
    found = [element for sample in samples for element in elements_of("\n".join(sample.lines))]
    if not found:
        return None
    for sample in samples:
        if len(sample.lines) > 1 and all(map(_is_whole_array, sample.lines[:2])):
            return NoGuess(
                f"{sample.path} has a JSON array in each line; wanted one object in each line, or "
                "one array in a file"
            )
    if not are_objects(found):
        return NoGuess(
            "a JSON array, and most of what is in it are no objects; the first is "
            f"{found[0][:80]!r}"
        )
    guess = _json_objects(found, "elements", {"array": "true"})
    if not others or isinstance(guess, NoGuess):
        return guess
    doubt = f"{len(others)} of {len(samples)} files are no JSON array; the first is {others[0]}"
    return msgspec.structs.replace(guess, doubts=(doubt, *guess.doubts))


def _is_whole_array(line: str) -> bool:
    return is_array(line) and line.rstrip().endswith("]")


def _json_objects(lines: Sequence[str], what: str, options: Mapping[str, str]) -> Guessed:
    members, broken = members_of(lines)
    kept = dict(list(members.items())[:COLUMNS_MAX])
    doubts = [f"{broken} of {len(lines)} {what} are no JSON objects"] if broken else []
    if len(members) > len(kept):
        doubts.append(
            f"{len(members) - len(kept)} members beyond the first {COLUMNS_MAX} are left out"
        )
    own = [place[0] for place in kept if len(place) == 1]
    paths: dict[str, str] = {}
    for place in kept:
        paths[column_name(place, [*own, *paths])] = path_text(place)
    texts = {
        name: [_text(value) for value in values]
        for name, values in zip(paths, kept.values(), strict=True)
    }
    types = dict(zip(paths, map(_json_type, kept.values()), strict=True))
    count = len(lines) - broken
    return built(
        "json", texts, options=options, doubts=doubts, types=types, paths=paths, record_count=count
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _json_type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT" if all(abs(value) < 1 << 63 for value in values) else "DECIMAL(38, 0)"
    if kinds and kinds <= {int, float}:
        return "DOUBLE"
    return _list_type(values) if kinds == {list} else "STRING"


def _list_type(values: Sequence[Any]) -> str:
    """Of lists whose elements are of one plain kind; others stay text."""
    elements = [one for value in values for one in value if one is not None]
    is_plain = not any(isinstance(one, list | dict) for one in elements)
    kind = _json_type(elements) if elements and is_plain else ""
    is_text = kind == "STRING" and not all(isinstance(one, str) for one in elements)
    return f"ARRAY<{kind}>" if kind in LISTED and not is_text else "STRING"


def _w3c(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    fields = [line for line in lines if line.startswith(W3C_FIELDS)]
    if not fields:
        return None
    names = fields[0].removeprefix(W3C_FIELDS).split()
    symbol = "\t" if any("\t" in line for line in lines if not line.startswith(COMMENT)) else " "
    rows = [line.split(symbol) for line in lines if not line.startswith(COMMENT)]
    columns = {
        name: [row[at] for row in rows if at < len(row) and row[at] != "-"]
        for at, name in enumerate(names)
    }
    doubts = []
    if any(line.split() != fields[0].split() for line in fields):
        doubts.append("not all files have the same #Fields; the first one's are taken")
    format_ = "cloudfront" if "x-edge-location" in names else "w3c"
    options = {"delimiter": symbol} if symbol == "\t" and format_ == "w3c" else {}
    return built(format_, columns, options=options, doubts=doubts, record_count=len(rows))


def _shaped(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    shape = find_shape(lines) or find_started_shape(lines)
    if shape is None:
        return None
    if shape.start and any(_goes_on(shape, line) for line in lines):
        return _over_lines(shape, samples, lines)
    found = [match for line in lines if (match := shape.match(line)) is not None]
    rest = len(lines) - len(found)
    doubts = (
        [f"taken for a {shape.name}, and {rest} of {len(lines)} lines are none"] if rest else []
    )
    return _patterned(shape, found, doubts, year=max(sample.year for sample in samples))


def _goes_on(shape: Shape, line: str) -> bool:
    return not shape.begins(line) and shape.match(line) is None


def _over_lines(shape: Shape, samples: Sequence[Sample], lines: Sequence[str]) -> Guessed:
    """A log in which lines go on with the record before them: a stack trace, say."""
    shape = over_lines(shape)
    records = [one for sample in samples for one in records_by(shape, sample.lines)]
    found = [match for one in records if (match := shape.match(one)) is not None]
    going_on = sum(not shape.begins(line) for line in lines)
    where = "in `trace`" if shape.format == "regex" else "in `message`"
    doubts = [
        f"taken for a {shape.name}; {going_on} of {len(lines)} lines begin otherwise, and are "
        f"taken to go on with the record before them, {where}: see record_start"
    ]
    if len(found) < len(records):
        doubts.append(f"{len(records) - len(found)} of {len(records)} records are none of it")
    year = max(sample.year for sample in samples)
    guess = _patterned(shape, found, doubts, year=year)
    if isinstance(guess, NoGuess):
        return guess
    return msgspec.structs.replace(guess, options=(*guess.options, ("record_start", shape.start)))


def _syslog(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    if not is_old_syslog(lines):
        return None
    columns = (
        ColumnGuess("ts", "TIMESTAMP"),
        ColumnGuess("host", "STRING"),
        ColumnGuess("app", "STRING"),
        ColumnGuess("pid", "STRING"),
        ColumnGuess("message", "STRING"),
    )
    year = max(sample.year for sample in samples)
    doubt = year_doubt(year)
    options = (("year", str(year)),)
    return SourceGuess("syslog", columns, TimeGuess(("ts",)), options, (doubt,), len(lines))


def _logfmt(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    if not is_logfmt(lines):
        return None
    columns: dict[str, list[str]] = {}
    for line in lines:
        for name, value in pairs_of(line).items():
            columns.setdefault(name, []).append(value)
    return built("logfmt", columns, record_count=len(lines))


def _delimited(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    has_comments = lines[0].startswith(COMMENT)
    plain = [line for line in lines if not (has_comments and line.startswith(COMMENT))]
    found = find_delimiter(plain)
    if found is None:
        return None
    files = [
        records_of(
            [line for line in sample.lines if not (has_comments and line.startswith(COMMENT))],
            found.symbol,
            is_quoted=found.is_quoted,
        )
        for sample in samples
    ]
    options = _delimiter_options(found)
    if has_comments:
        options["comment"] = COMMENT
    if found.breaks:
        options["multiline"] = "true"
    headers = [find_header(rows) for rows in files]
    doubts: list[str] = []
    if any(headers):
        options["header"] = "true"
        columns = _by_name(files, headers, doubts)
    else:
        doubts.append("no header was found: columns are numbered; give them names")
        columns = _by_place(files, found.width)
    rows = [row for rows in files for row in rows]
    odd = sum(len(row) != found.width for row in rows)
    if odd:
        doubts.append(
            f"{odd} of {len(rows)} lines have another number of values than {found.width}"
        )
    format_ = "tsv" if found.symbol == "\t" and not found.is_quoted else "csv"
    return built(format_, columns, options=options, doubts=doubts, has_nulls=True)


def _by_name(
    files: Sequence[Sequence[Sequence[str]]], headers: Sequence[tuple[str, ...]], doubts: list[str]
) -> dict[str, list[str]]:
    """The columns that all files have, each found by its own file's header."""
    named = [header for header in headers if header]
    columns: dict[str, list[str]] = {
        name: [] for name in named[0] if name and all(header.count(name) == 1 for header in named)
    }
    without = sum(not header and bool(rows) for header, rows in zip(headers, files, strict=True))
    if without:
        doubts.append(f"{without} of {len(files)} files have no header, and the others have one")
    others = {name for header in named for name in header} - columns.keys()
    twice = {name for name in others if any(header.count(name) > 1 for header in named)}
    for left_out, why in (
        (sorted(twice - {""}), "stands twice in a header"),
        (sorted(others - twice - {""}), "is not in every file"),
    ):
        if left_out:
            doubts.append(f"`{'`, `'.join(left_out)}` {why}: left out")
    if "" in others:
        doubts.append("a column without a name in the header is left out")
    for rows, header in zip(files, headers, strict=True):
        for row in rows[1:] if header else ():
            if len(row) == len(header) and tuple(row) != header:
                for name in columns:
                    columns[name].append(row[header.index(name)])
    return columns


def _by_place(files: Sequence[Sequence[Sequence[str]]], width: int) -> dict[str, list[str]]:
    rows = [row for of_file in files for row in of_file if len(row) == width]
    return {f"column_{at + 1}": [row[at] for row in rows] for at in range(width)}


def _delimiter_options(found: Delimiter) -> dict[str, str]:
    if found.symbol == "\t" and not found.is_quoted:
        return {}
    return {} if found.symbol == "," else {"delimiter": found.symbol}


def _around_a_time(samples: Sequence[Sample], lines: Sequence[str]) -> Guessed | None:
    """The text before the time, the time, and what follows."""
    for time in _ANY_TIME:
        pattern = rf"(?<before>.*?)(?<ts>{time})(?<rest>.*)"
        shape = Shape("line with a time in it", pattern)
        found = [match for line in lines if (match := shape.match(line)) is not None]
        if len(found) >= SHARE_MIN * len(lines):
            doubts = ["no known format: only the time is taken out; take the rest apart by hand"]
            return _patterned(shape, found, doubts)
    return None


def _patterned(
    shape: Shape, found: Sequence[Mapping[str, str | None]], doubts: Sequence[str], *, year: int = 0
) -> Guessed:
    columns: dict[str, list[str]] = {
        name: [value for match in found if (value := match[name])] for name in shape.columns
    }
    options = {"pattern": shape.pattern} if shape.format == "regex" else {}
    choice = _of_a_year(shape, columns, year) if shape.yearless else None
    guess = built(
        shape.format,
        columns,
        options=options,
        doubts=[*doubts, *([SHORT_YEARS] if shape.has_short_years else [])],
        record_count=len(found),
        choice=choice,
    )
    if shape.format == "regex" or isinstance(guess, NoGuess):
        return guess
    known = msgspec.structs.replace(guess.time, pattern="")
    return msgspec.structs.replace(guess, time=known)


def _of_a_year(shape: Shape, columns: Mapping[str, Sequence[str]], year: int) -> TimeChoice:
    """Of a log whose times say none: the year in which it was last written."""
    before = f"{year}{shape.yearless[4]}"
    times = [format_us(f"{before}{text}", shape.yearless) for text in columns[STAMP]]
    known = [us for us in times if us is not None]
    time = TimeGuess(
        (STAMP,),
        shape.yearless,
        first_us=min(known, default=None),
        last_us=max(known, default=None),
        before=before,
    )
    return TimeChoice(time, {}, (year_doubt(year),))
