"""JSON lines by Spark's own reader of them, in the JVM: columns, and lines that it can't read.

Spark parses JSON in two ways. ``from_json`` makes characters of the bytes of each line, by a reader
that is set up for it, and a text of each number, by a generator that is set up for it; that is the
way in which every line can be read, and counted (``json_fields``). Spark's reader of files parses
bytes, and numbers as numbers, in some seven tenths of the time. But it does not yield one row for
each line, whatever the lines are, so they are looked at first (``json_starts``); and it has
rules of its own for what fits a type. So it is asked only for what is the same by both:

- a string, and every value that is converted from its text, as text;
- whole numbers and booleans in their types, where a sample has them so and not in quotes. A value
  that is none makes the line one that it can't read: it stands in the column of corrupt records,
  and goes the way of all lines;
- a column of which no digit may be lost only as a whole number, which loses none.

No other number is asked for in its type: of bytes the reader takes up to 255, for a double
``1e400`` and ``NaN``, and a decimal it rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession

from headwater.plan.sources.column_names import json_path
from headwater.plan.sources.log_formats import all_options
from headwater.plan.sources.source import Source, SourceFormat
from headwater.reading.json_sample import are_texts, objects_of
from headwater.reading.json_starts import is_row_a_line
from headwater.reading.strict.strict_kinds import TEXT
from headwater.reading.strict.strict_lines import COLUMN
from headwater.spark.lines.fields import CORRUPT, LINE, literal, quoted
from headwater.spark.lines.formats import fields_of
from headwater.spark.lines.json_fields import PERMISSIVE, JsonFields
from headwater.spark.lines.lines import LOOK_BYTES, ONE_TASK_BYTES, SITE, Linked
from headwater.spark.lines.parse import Parser
from headwater.spark.site.standing_lines import StandingStatements
from headwater.spark.spark_message import SPARK_ERRORS
from headwater.spark.workers.made_fields import Made
from headwater.spark.workers.readings import GIVEN_BACK_MAX, sample_of
from headwater.sql.read.time_of import converted_time, time_inputs

OBJECT_LINES = "__object_lines"
"""The view of the batch's session."""
TYPED = ("bigint", "int", "smallint", "boolean")
STRING, WHOLE = "string", "bigint"
EXACT_SETTING = "spark.sql.json.enableExactStringParsing"
"""Of a value that is no string the reader would give the bytes as they stand, ``1e400`` and blanks
within objects, where ``from_json`` writes the value anew. Both are to be the same, so it shall."""


class Asked(msgspec.Struct, frozen=True):
    """One column, as the reader is asked for it."""

    name: str
    key: str
    """Of the value in the object that holds it."""
    read_as: str
    path: str = ""
    """To what is wanted, where it lies deeper."""
    is_typed: bool = False
    """As it is read it is the value; else its text is converted."""

    @property
    def kind(self) -> str:
        """What the view has of it."""
        return self.read_as if self.is_typed else TEXT

    @property
    def sql(self) -> str:
        value = quoted(self.key)
        if self.path:
            value = f"get_json_object({value}, {literal(self.path)})"
        elif self.read_as != STRING and not self.is_typed:
            value = f"CAST({value} AS STRING)"
        return f"if({CORRUPT} IS NULL, {value}, NULL)"


class StandingObjects:
    """For the batches of one source, one at a time: an ``Analyser`` over the view that it makes."""

    def __init__(self) -> None:
        self._kind: tuple[object, ...] | None = None
        """What the view depends on beside its files; None: there is none."""
        self._relation: Any = None
        self._statements: StandingStatements | None = None

    def parser(
        self, session: SparkSession, parser: Parser, found: Linked, *, byte_count: int
    ) -> Parser | None:
        """For the view ``OBJECT_LINES``, which is made; None: these lines are not for Spark's
        reader."""
        try:
            asked = asked_of(parser, found)
            if asked is None:
                return None
            self.make_view(
                session, asked, found.directory, is_one_task=byte_count <= ONE_TASK_BYTES
            )
        except (*SPARK_ERRORS, OSError):
            return None  # who reads lines says why
        kinds = tuple((one.name, one.kind) for one in asked)
        return msgspec.structs.replace(parser, made=Made(OBJECT_LINES, kinds))

    def make_view(
        self, session: SparkSession, asked: Sequence[Asked], directory: Path, *, is_one_task: bool
    ) -> None:
        kind = (session, asked, directory, is_one_task)
        if kind == self._kind:
            self._relation.refresh()
            return
        self._kind, self._statements = None, StandingStatements(session)
        session.conf.set(EXACT_SETTING, "false")
        types = {one.key: one.read_as for one in asked}
        schema = ", ".join(f"{quoted(key)} {type_}" for key, type_ in types.items())
        reader = session.read.schema(f"{schema}, {CORRUPT} STRING").options(**PERMISSIVE)
        objects = reader.json(str(directory))
        made = [f"{one.sql} AS {COLUMN}{number}" for number, one in enumerate(asked)]
        rows = objects.selectExpr(f"{CORRUPT} AS {LINE}", *made, SITE)
        (rows.coalesce(1) if is_one_task else rows).createOrReplaceTempView(OBJECT_LINES)
        self._relation = objects._jdf.queryExecution().analyzed()
        self._kind = kind

    def sql(self, sqlQuery: str) -> DataFrame:
        """A statement over the view, and over nothing else that changes. Raises
        ``SPARK_ERRORS``."""
        assert self._statements is not None, "a view has been made"
        return self._statements.sql(sqlQuery, is_kept=True)


def asked_of(parser: Parser, found: Linked) -> tuple[Asked, ...] | None:
    """For each column of the files that is used, in their order. None: the lines need what the
    reader can't do, or many of them do. Raises ``OSError``."""
    source = parser.source
    if source.format != SourceFormat.JSON or "comment" in all_options(source):
        return None
    if not found.files or not all(one.is_plain for one in found.files):
        return None
    files = {found.files[0].path, found.files[-1].path}
    lines = [line for file in files for block in sample_of(file) for line in block.splitlines()]
    sample = objects_of(lines)
    asked = columns_asked(source, parser.columns, sample)
    if asked is None or not _has_time(source, asked) or _given_back(asked, sample) > GIVEN_BACK_MAX:
        return None
    return asked if all(_is_row_a_line(one.path) for one in found.files) else None


def columns_asked(
    source: Source, used: Sequence[str], sample: Sequence[object]
) -> tuple[Asked, ...] | None:
    """None: two names are the same to Spark, or digits might be lost."""
    fields = fields_of(source, used)
    assert isinstance(fields, JsonFields), "it is asked of JSON"
    keys = [str(steps[0]) for _, steps in fields.paths]
    if len({key.lower() for key in (*keys, SITE, CORRUPT)}) < len({*keys}) + 2:
        return None
    types = {one.name: one.type for one in source.fields}
    exact = {name for name, _ in fields.exact}
    asked = []
    for (name, steps), key in zip(fields.paths, keys, strict=True):
        is_alone = keys.count(key) == 1 and len(steps) == 1
        type_ = types[name]
        if name in exact:
            if not is_alone:
                return None
            asked.append(Asked(name, key, WHOLE))
        elif is_alone and type_ in TYPED and name != converted_time(source):
            (is_text,) = are_texts(sample, [key], [type_])
            read_as = STRING if is_text else type_
            asked.append(Asked(name, key, read_as, is_typed=not is_text))
        else:
            asked.append(Asked(name, key, STRING, json_path(steps[1:]) if steps[1:] else ""))
    return tuple(asked)


def _has_time(source: Source, asked: Sequence[Asked]) -> bool:
    """Spark refuses to read nothing but the lines that can't be read; every statement asks for the
    time."""
    names = {one.name for one in asked}
    return source.time_column in names or bool(names.intersection(time_inputs(source)))


def _given_back(asked: Sequence[Asked], sample: Sequence[object]) -> float:
    """The share of lines that would be parsed once more."""
    typed = [(one.key, one.read_as == "boolean") for one in asked if one.read_as != STRING]
    taken = sum(
        isinstance(one, dict) and all(_is_taken(one.get(key), is_truth=is_) for key, is_ in typed)
        for one in sample
    )
    return 1 - taken / len(sample) if sample else 0.0


def _is_taken(value: object, *, is_truth: bool) -> bool:
    if value is None or isinstance(value, bool):
        return value is None or is_truth
    return isinstance(value, int) and not is_truth


def _is_row_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        return is_row_a_line(iter(lambda: file.read(LOOK_BYTES), b""))
