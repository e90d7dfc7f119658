"""Counts of moments that nobody has."""

import pyarrow as pa
import pytest

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial


class Layout:
    keys = (Column("k", "bigint"),)
    partials = (
        Partial("n", "bigint", "variance"),
        Partial("mean", "double", "variance"),
        Partial("spread", "double", "variance"),
    )


@pytest.mark.parametrize("count", [(1 << 63) - 1, -(1 << 63)])
def test_counts_that_leave_their_type_together_merge_without_a_fault(count: int) -> None:
    """Warnings are errors here: the sum was turned into whatever the processor makes of it."""
    merger = ArrowMerger(Layout())
    rows = pa.table([[1], [count], [0.5], [float("nan")]], schema=merger.schema)
    (found,) = merger.groups([rows, rows]).merged.to_pylist()
    assert abs(found["n"]) == 1 << 62
