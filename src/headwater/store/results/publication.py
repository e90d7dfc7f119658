"""The shape of published answers: a header for each window and revision, and rows.

Headers carry the whole envelope as JSON, and beside it, as columns, what people ask for; rows carry
a short form of it (``published_files``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.row_pieces import RowPieces
from headwater.root.said.envelope import Envelope
from headwater.root.said.published_files import SHORT_FORM, own_name, scaled_name
from headwater.root.said.withheld import in_short

TIME = pa.timestamp("us", tz="UTC")
MISSING_NAMED_MAX = 100
"""Sites that the flat column names; the envelope has them all."""

BOUND = pa.struct(
    [
        pa.field("column", pa.string()),
        pa.field("asked", pa.string()),
        pa.field("reached", pa.float64()),
        pa.field("is_kept", pa.bool_()),
    ]
)
HEADER_SCHEMA = pa.schema(
    [
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("stream", pa.string(), nullable=False),
        pa.field("query", pa.string(), nullable=False),
        pa.field("window", pa.int64(), nullable=False),
        pa.field("window_start", TIME, nullable=False),
        pa.field("window_end", TIME, nullable=False),
        pa.field("revision", pa.int64(), nullable=False),
        pa.field("exact", pa.bool_(), nullable=False),
        pa.field("final", pa.bool_(), nullable=False),
        pa.field("expected", pa.int64(), nullable=False),
        pa.field("covered", pa.int64(), nullable=False),
        pa.field("missing_count", pa.int64(), nullable=False),
        pa.field("missing_sites", pa.list_(pa.string()), nullable=False),
        pa.field("damaged", pa.int64(), nullable=False),
        pa.field("staleness_s", pa.float64(), nullable=False),
        pa.field("answered_at", TIME, nullable=False),
        pa.field("trigger", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("left_out", pa.int64(), nullable=False),
        pa.field("left_out_groups", pa.list_(pa.string()), nullable=False),
        pa.field("bound", pa.list_(BOUND), nullable=False),
        pa.field("withheld_keys", pa.int64(), nullable=False),
        pa.field("uncertain", pa.list_(pa.string()), nullable=False),
        pa.field("envelope", pa.string(), nullable=False),
    ]
)
BOUNDS = SHORT_FORM[:2]
ROW_FIELDS = tuple(HEADER_SCHEMA.field(name) for name in SHORT_FORM)


class Published(msgspec.Struct, frozen=True):
    """One window's answer, to be published. ``rows`` is None when there are none."""

    envelope: Envelope
    rows: pa.Table | RowPieces | None = None

    def stamped(self) -> Envelope:
        """The envelope with the number of rows filled in."""
        count = self.rows.num_rows if self.rows is not None else 0
        return msgspec.structs.replace(self.envelope, rows=count)


def headers_table(seq: int, answers: Sequence[Published]) -> pa.Table:
    schema = HEADER_SCHEMA
    if answers:
        schema = pa.schema(_fitting(HEADER_SCHEMA, answers[0].envelope))
    return pa.Table.from_pylist(
        [_header(seq, answer.stamped()) for answer in answers], schema=schema
    )


def _fitting(fields: Iterable[pa.Field], envelope: Envelope) -> Iterator[pa.Field]:
    """Windows of numbers have numbers for bounds."""
    for field in fields:
        is_number = bool(envelope.counted) and field.name in BOUNDS
        yield field.with_type(pa.int64()) if is_number else field


def _header(seq: int, envelope: Envelope) -> dict[str, Any]:
    missing = list(dict.fromkeys(one.site for one in envelope.missing))
    return {
        "seq": seq,
        "stream": envelope.stream,
        "query": envelope.query,
        "window": envelope.window,
        **_short_form(envelope),
        "missing_count": envelope.missing_count,
        "missing_sites": missing[:MISSING_NAMED_MAX],
        "damaged": envelope.damaged,
        "staleness_s": envelope.staleness_s,
        "answered_at": round(envelope.answered_at_s * 1e6),
        "trigger": envelope.trigger.value,
        "rows": envelope.rows or 0,
        "left_out": envelope.left_out.count,
        "left_out_groups": [group.text() for group in envelope.left_out.named],
        **in_short(envelope.withheld),
        "envelope": msgspec.json.encode(envelope).decode(),
    }


def _short_form(envelope: Envelope) -> dict[str, Any]:
    values = {name: getattr(envelope, name) for name in SHORT_FORM[2:]}
    return {"window_start": envelope.start_us, "window_end": envelope.end_us, **values}


def row_pieces(answers: Sequence[Published]) -> Iterator[pa.Table]:
    """The rows of all windows under their short form, a piece of one window after the other."""
    for answer in answers:
        if answer.rows is not None:
            pieces = [answer.rows] if isinstance(answer.rows, pa.Table) else answer.rows
            for rows in pieces:
                yield _stamped(answer.envelope, rows)


def with_scaled(envelope: Envelope, rows: pa.Table) -> pa.Table:
    """Beside each column of a sample that is in proportion to what is in, what all records are
    estimated to have; NULL as long as nothing is in wholly."""
    reached = envelope.fidelity
    for name in reached.scaled:
        at = rows.schema.get_field_index(name)
        if at < 0 or not _is_number(rows.schema.field(at).type):
            continue
        if reached.scale:
            values = pc.multiply(rows.column(at).cast(pa.float64()), reached.scale)
        else:
            values = pa.nulls(rows.num_rows, pa.float64())
        own = scaled_name(name, [*rows.schema.names, *SHORT_FORM])
        rows = rows.add_column(at + 1, pa.field(own, pa.float64()), values)
    return rows


def _is_number(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


def _stamped(envelope: Envelope, rows: pa.Table) -> pa.Table:
    rows = with_scaled(envelope, rows)
    values = _short_form(envelope)
    fields, columns = [], []
    for field in _fitting(ROW_FIELDS, envelope):
        fields.append(field.with_name(own_name(field.name, rows.schema.names)))
        columns.append(pa.repeat(pa.scalar(values[field.name], field.type), rows.num_rows))
    schema = pa.schema([*fields, *rows.schema])
    return pa.Table.from_arrays([*columns, *rows.columns], schema=schema)


def envelope_of(header: str) -> Envelope:
    """The envelope in a header's ``envelope`` column."""
    return msgspec.json.decode(header, type=Envelope)
