"""Published answers as files, read with pyarrow alone: what the Spark source picks and compares.

The files are those of ``published_files``; rows lie window after window, in the order of the
headers. Headers appear after their rows and vanish before them, so whoever sees headers may read
rows; a file that is gone nevertheless was removed in between, and the error says so.

A revision replaces the whole answer of its window. As changes this is a difference of bags between
a revision and the one before it, and the one before it is found by looking back through the
headers; a change names it (``revises``). Where it is not the very one before, since that was
removed, or was made under another roster, all of the old rows are taken back and all of the new
ones added. Nothing is remembered from one call to the next: the same files give the same changes in
any process, today or after a restart.

This file is sent to Spark's workers as it is, and so is ``published_files``, the only one of
Headwater that it imports.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from headwater.root.said.published_files import SHORT_FORM, file_name, own_name, published

CHANGE, PUBLICATION, REVISES, FORM = "change", "publication", "revises", "form"
DELTA, REPLACEMENT = "delta", "replacement"
"""What a change takes back and adds: the rows that differ, or all old ones and all new ones."""
HEADERS_AT_ONCE = 256
"""Publications whose headers are read together when looking back for a former revision."""
TABLES_HELD_MAX = 8
"""Neighbouring windows lie in the same few files; a reader holds that many."""
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_map)


class ResultsUnreadable(Exception):
    """Spark shows the text; the object itself never leaves the worker that raised it."""


@dataclass(frozen=True)
class Answer:
    """Where one revision of one window lies."""

    publication: int
    position: int
    """Its row in the headers."""
    query: str
    window: int
    revision: int
    first_row: int
    row_count: int

    @property
    def key(self) -> tuple[str, int]:
        return (self.query, self.window)


@dataclass(frozen=True)
class Change:
    """A revision and the one that it replaces, if there is one."""

    answer: Answer
    former: Answer | None


def parts_of(results: Path, stream: str) -> list[str]:
    """The parts of a stream with several roots that are answered here, by their names."""
    if not results.is_dir():
        return []
    pattern = re.compile(rf"{re.escape(stream)}_part_\d+")
    return sorted(entry.name for entry in results.iterdir() if pattern.fullmatch(entry.name))


class StreamDirectory:
    """Reads one stream's publications while they are written, from any process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: dict[tuple[str, int], pa.Table] = {}

    def publications(self, *, after: int = 0, through: int | None = None) -> list[int]:
        """The numbers in (after, through], rising; none when there is no such directory."""
        if not self.path.is_dir():
            return []
        numbers = published(entry.name for entry in self.path.iterdir())
        return [n for n in numbers if n > after and (through is None or n <= through)]

    def schema(self, kind: str) -> pa.Schema | None:
        """The columns of ``headers`` or ``rows`` as newly published; None before the first."""
        for number in reversed(self.publications()):
            with contextlib.suppress(FileNotFoundError):
                return pq.read_schema(self._path(kind, number))
        return None

    def headers(self, number: int) -> pa.Table:
        return self._read("headers", number)

    def rows(self, number: int) -> pa.Table | None:
        """All rows of a publication; None when it has none."""
        expected = pc.sum(self._read("headers", number, columns=["rows"])["rows"]).as_py()
        if not expected:
            return None
        rows = self._read("rows", number)
        if rows.num_rows != expected:
            raise ResultsUnreadable(
                f"{self._path('rows', number)}: has {rows.num_rows} rows, its headers say "
                f"{expected}; the file is damaged or not ours"
            )
        return rows

    def answers(self, numbers: Sequence[int]) -> list[Answer]:
        """What these publications hold, in the order in which it was published."""
        if not numbers:
            return []
        paths = [str(self._path("headers", number)) for number in numbers]
        columns = ["seq", "query", "window", "revision", "rows"]
        try:
            table = ds.dataset(paths, format="parquet").to_table(columns=columns)
        except FileNotFoundError as error:
            raise self._removed(error) from None
        return sorted(_answers(table), key=lambda answer: answer.publication)

    def newest(self) -> list[Answer]:
        """The newest revision of each window, in the order of publication."""
        found: dict[tuple[str, int], Answer] = {}
        for answer in self.answers(self.publications()):
            former = found.get(answer.key)
            if former is None or former.revision < answer.revision:
                found[answer.key] = answer
        return sorted(found.values(), key=lambda answer: (answer.publication, answer.position))

    def changes(self, *, after: int, through: int, is_loss_fatal: bool) -> list[Change]:
        """The revisions published in (after, through], each with the one that it replaces.

        Whoever reads on from ``after`` > 0 has seen the revision before; if that is removed, its
        rows can't be taken back any more. From the beginning (``after`` is 0) only what is there
        counts.
        """
        answers = self.answers(self.publications(after=after, through=through))
        newest = self._former(answers, after=after)
        changes = []
        for answer in answers:
            former = newest.get(answer.key)
            expected = former.revision + 1 if former else 1
            if after and is_loss_fatal and answer.revision > expected:
                raise ResultsUnreadable(
                    f"{self.path}: revision {answer.revision - 1} of window {answer.window} of "
                    f"query {answer.query} was removed, so what revision {answer.revision} takes "
                    f"back is unknown; start anew without the checkpoint, or set failOnDataLoss to "
                    f"false to go on from what is there"
                )
            changes.append(Change(answer, former))
            newest[answer.key] = answer
        return changes

    def changed_rows(self, change: Change) -> Iterator[pa.Table]:
        """What a revision takes back, then what it adds; both say which revision did it."""
        old, new = self._rows_of(change.former), self._rows_of(change.answer)
        is_delta = self._is_delta(change)
        if old is not None and new is not None and is_delta:
            own = new.schema.names[len(SHORT_FORM) :]
            is_delta = own == old.schema.names[len(SHORT_FORM) :]
            if is_delta:
                gone, come = unmatched(old.select(own), new.select(own))
                old, new = old.filter(gone), new.filter(come)
        form = DELTA if is_delta else REPLACEMENT
        for kind, rows in (("delete", old), ("insert", new)):
            if rows is not None and rows.num_rows:
                yield self._stamped(rows, kind, form, change)

    def _is_delta(self, change: Change) -> bool:
        """Whether it changes the revision before it, of the same sites."""
        former, answer = change.former, change.answer
        if former is None or former.revision + 1 != answer.revision:
            return False
        return bool(self._roster_of(former) == self._roster_of(answer))

    def _roster_of(self, answer: Answer) -> Any:
        envelope = self._hold("headers", answer.publication)["envelope"][answer.position].as_py()
        return json.loads(envelope).get("roster_version")

    def answer_rows(self, answer: Answer) -> Iterator[pa.Table]:
        rows = self._rows_of(answer)
        if rows is not None:
            yield rows

    def _former(self, answers: Sequence[Answer], *, after: int) -> dict[tuple[str, int], Answer]:
        """The newest revision up to ``after`` of each window that these revise."""
        wanted = {answer.key for answer in answers if answer.revision > 1}
        found: dict[tuple[str, int], Answer] = {}
        earlier = self.publications(through=after) if wanted else []
        while earlier and len(found) < len(wanted):
            for answer in reversed(self.answers(earlier[-HEADERS_AT_ONCE:])):
                if answer.key in wanted:
                    found.setdefault(answer.key, answer)
            del earlier[-HEADERS_AT_ONCE:]
        return found

    def _rows_of(self, answer: Answer | None) -> pa.Table | None:
        if answer is None or not answer.row_count:
            return None
        rows = self._hold("rows", answer.publication)
        return rows.slice(answer.first_row, answer.row_count)

    def _stamped(self, rows: pa.Table, kind: str, form: str, change: Change) -> pa.Table:
        """Rows under the short form of the revision that made the change, and the change."""
        by, revises = change.answer, None if change.former is None else change.former.revision
        header = self._hold("headers", by.publication)
        for index, name in enumerate(SHORT_FORM):
            value = pa.repeat(header[name][by.position], rows.num_rows)
            rows = rows.set_column(index, rows.schema.field(index), value)
        values = kind, by.publication, revises, form
        for field, value in zip(change_fields(rows.schema), values, strict=True):
            repeated = pa.repeat(pa.scalar(value, field.type), rows.num_rows)
            rows = rows.append_column(field, repeated)
        return rows

    def _hold(self, kind: str, number: int) -> pa.Table:
        if (kind, number) not in self._held:
            if len(self._held) >= TABLES_HELD_MAX:
                del self._held[next(iter(self._held))]
            table = self.rows(number) if kind == "rows" else self.headers(number)
            self._held[kind, number] = table
        return self._held[kind, number]

    def _read(self, kind: str, number: int, *, columns: list[str] | None = None) -> pa.Table:
        try:
            return pq.ParquetFile(self._path(kind, number)).read(columns=columns)
        except FileNotFoundError as error:
            raise self._removed(error) from None

    def _removed(self, error: FileNotFoundError) -> ResultsUnreadable:
        return ResultsUnreadable(
            f"{self.path}: a publication was removed while it was read ({error}); read again"
        )

    def _path(self, kind: str, number: int) -> Path:
        return self.path / file_name(kind, number)


def change_fields(rows: pa.Schema) -> tuple[pa.Field, pa.Field, pa.Field, pa.Field]:
    """The columns that changes have beside those of rows."""
    return (
        pa.field(own_name(CHANGE, rows.names), pa.string()),
        pa.field(own_name(PUBLICATION, rows.names), pa.int64()),
        pa.field(own_name(REVISES, rows.names), pa.int64()),
        pa.field(own_name(FORM, rows.names), pa.string()),
    )


def unmatched(left: pa.Table, right: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Which rows of each have no equal in the other, where one row matches one row.

    >>> masks = unmatched(pa.table({"a": [1, 1, 2]}), pa.table({"a": [2, 1, 3]}))
    >>> [mask.to_pylist() for mask in masks]
    [[False, True, False], [False, False, True]]
    """
    codes = _row_codes(pa.concat_tables([left, right], promote_options="default"))
    mine, theirs = codes[: left.num_rows], codes[left.num_rows :]
    mine, theirs = _numbered(mine, len(codes)), _numbered(theirs, len(codes))
    return pc.invert(pc.is_in(mine, theirs)), pc.invert(pc.is_in(theirs, mine))


def _numbered(codes: pa.Array, count: int) -> pa.Array:
    """Tells equal rows apart as first, second and so on, by their order."""
    nth = pc.subtract(pc.rank(codes, tiebreaker="first"), pc.rank(codes, tiebreaker="min"))
    return pc.add(pc.multiply(codes, count), nth.cast(pa.int64()))


def _row_codes(table: pa.Table) -> pa.Array:
    """A number below the count of rows for each row, equal for equal rows."""
    codes = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
    for column in table.columns:
        # Both are below the count of rows, so their product fits.
        pairs = pc.add(pc.multiply(codes, table.num_rows), _codes(column.combine_chunks()))
        codes = _encoded(pairs)
    return codes


def _codes(values: pa.Array) -> pa.Array:
    """A number for each value, equal for equal values; nulls and NaNs equal themselves.

    Arrow numbers plain values. A struct is numbered as a row of its fields. A list is written as
    the bytes of its elements' numbers, which lie side by side already, and bytes are plain.
    """
    if pa.types.is_struct(values.type):
        columns = [values.is_null(), *values.flatten()]
        return _row_codes(pa.table(columns, names=[str(n) for n in range(len(columns))]))
    if any(is_kind(values.type) for is_kind in _LISTS):
        elements = _codes(values.values)
        ends = pc.multiply(values.offsets.cast(pa.int64()), elements.type.bit_width // 8)
        buffers = [None, ends.buffers()[1], elements.buffers()[1]]
        written = pa.Array.from_buffers(pa.large_binary(), len(values), buffers)
        return _encoded(pc.if_else(values.is_null(), None, written))
    return _encoded(values)


def _encoded(values: pa.Array) -> pa.Array:
    return values.dictionary_encode(null_encoding="encode").indices.cast(pa.int64())


def _answers(headers: pa.Table) -> Iterator[Answer]:
    """Headers tell where rows lie: each window's follow those of the window before."""
    next_of: dict[int, tuple[int, int]] = {}
    columns = (headers[name].to_pylist() for name in headers.schema.names)
    for number, query, window, revision, row_count in zip(*columns, strict=True):
        position, first_row = next_of.get(number, (0, 0))
        yield Answer(number, position, query, window, revision, first_row, row_count)
        next_of[number] = (position + 1, first_row + row_count)
