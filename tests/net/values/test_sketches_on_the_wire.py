"""A binary state that is damaged on the wire is refused, and never handed on."""

import msgspec
import pyarrow as pa
import pytest
from fuzz import sketches

from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.taken_rows import taker
from headwater.algebra.rows.types import summary_schema
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.rows import RowsCodec


class Layout:
    keys = (Column("k", "bigint"),)
    partials = (Partial("cell", "binary", "hll_9"),)
    folding = msgspec.UNSET


SCHEMA = summary_schema(Layout())
CODEC = RowsCodec(lambda _: SCHEMA, taker_of=lambda _: taker(Layout()))


def sent(cell: bytes) -> bytes:
    return CODEC.encode("q", pa.table([[1], [cell]], schema=SCHEMA))


def test_a_sound_cell_arrives_in_the_form_that_it_is_kept_in() -> None:
    cell = sketches.good()[1]
    assert CODEC.decode("q", sent(cell))["cell"][0].as_py() == cell[:5] + b"\x08" + cell[6:28]


def test_a_damaged_cell_is_refused() -> None:
    with pytest.raises(Refused, match="column cell: cell 0: wanted") as refused:
        CODEC.decode("q", sent(sketches.good()[1][:-3]))
    assert refused.value.reason is Refusal.ROWS_INVALID


def test_every_form_of_a_cell_that_the_fuzzer_begins_with_is_taken() -> None:
    assert all(map(sketches.run, sketches.good()))
