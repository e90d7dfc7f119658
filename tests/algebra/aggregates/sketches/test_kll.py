"""Sketches of percentiles: however values are divided, the rank is within the bound."""

import numpy as np
import pyarrow as pa
import pytest

from headwater.algebra.aggregates.sketches.kll_cells import NOTHING, Kll, merged, read, write
from headwater.algebra.aggregates.sketches.merge_kll import KLLS, rank_error
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial

K = 200


def of(values: np.ndarray) -> Kll:
    return merged([Kll(1, (values[n : n + 1],), int(v), int(v)) for n, v in enumerate(values)], K)


def ranks(sketch: Kll, values: np.ndarray) -> np.ndarray:
    """The share of what the sketch has at or below each value."""
    kept = np.concatenate(sketch.levels)
    weights = np.concatenate([np.full(len(level), 1 << h) for h, level in enumerate(sketch.levels)])
    return np.array([weights[kept <= one].sum() for one in values]) / sketch.count


@pytest.mark.parametrize("parts", [1, 7, 60])
def test_ranks_are_within_the_bound_however_values_are_divided(parts: int) -> None:
    values = np.random.default_rng(parts).lognormal(5, 3, 9000).astype(np.int64)
    sketches = [of(part) for part in np.array_split(values, parts)]
    while len(sketches) > 1:
        sketches = [merged(sketches[n : n + 3], K) for n in range(0, len(sketches), 3)]
    (found,) = sketches
    assert found.count == len(values)
    assert (found.least, found.greatest) == (values.min(), values.max())
    asked = np.quantile(values, np.linspace(0.01, 0.99, 50), method="inverted_cdf")
    true = np.array([(values <= one).mean() for one in asked])
    assert np.abs(ranks(found, asked) - true).max() <= rank_error(K)


@pytest.mark.parametrize("count", [0, 1, 2, 199, 200, 201, 5000])
def test_a_sketch_is_read_as_it_was_written(count: int) -> None:
    sketch = of(np.arange(count)) if count else NOTHING
    cell = write(sketch, K)
    assert write(read(cell, K), K) == cell
    assert read(cell, K).count == count


def test_groups_merge_by_their_rule_and_nothing_is_nothing() -> None:
    class Layout:
        keys = (Column("k", "bigint"),)
        partials = (Partial("c", "binary", "kll_bigint_200"),)

    merger = ArrowMerger(Layout())
    cells = [write(of(np.arange(9)), K), None, write(of(np.arange(5)), K), None]
    rows = pa.table([[1, 1, 1, 2], cells], schema=merger.schema)
    found = merger.groups([rows]).merged.sort_by("k")["c"].to_pylist()
    assert [read(cell, K).count for cell in found] == [14, 0]


FULL = write(of(np.arange(5000)), K)


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (b"", "at least 8 bytes"),
        (FULL[:2] + b"\x07" + FULL[3:], "a KLL sketch"),
        (write(of(np.arange(9)), 400), "a sketch of size 200"),
        (FULL[:8], "a sketch of several values"),
        (FULL[:-8], "as many values as it says"),
        (FULL[:8] + b"\x01" + FULL[9:], "weights of all"),
        (FULL[:18] + b"\xff" + FULL[19:], "a count and levels"),
        (FULL[:20] + b"\xff\xff\xff\xff" + FULL[24:], "levels one after the other"),
        (FULL[:-8] + b"\xff" * 7 + b"\x7f", "values between the ends"),
        (FULL[:-16] + FULL[-8:] + FULL[-16:-8], "levels in order"),
    ],
)
def test_a_cell_that_is_unsound_is_refused(cell: bytes, wanted: str) -> None:
    take = KLLS[K].take
    assert take is not None
    with pytest.raises(ValueError, match=wanted):
        take([pa.chunked_array([pa.array([FULL, cell])])], [pa.binary()])
