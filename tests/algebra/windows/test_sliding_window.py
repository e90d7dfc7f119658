"""Windows that slide are what merging all their panes gives, however they were built.

::

    panes     0   1   2   3   4   5   6   7   8   9  10
    window 0 [a   b   ·   c   d   e   f   g]
    window 1     [b   ·   c   d   e   f   g   h]          − a  + h
"""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.equality import difference
from headwater.algebra.windows import sliding_window
from headwater.algebra.windows.partial_merges import covering, panes_of
from headwater.algebra.windows.running_window import RunningWindow
from headwater.algebra.windows.sliding_window import SlidingWindow, are_same, can_move, slides

SPEC = WindowSpec(8, 1)
BIGINT_MAX = (1 << 63) - 1


class Layout(msgspec.Struct, frozen=True):
    partials: tuple[Partial, ...]
    keys: tuple[Column, ...] = (Column("page", "string"),)


EXACT = Layout((Partial("n", "bigint", "sum"), Partial("total", "decimal(38,2)", "sum")))
MIXED = Layout(
    (
        Partial("n", "bigint", "sum"),
        Partial("least", "double", "min"),
        Partial("x", "double", "sum"),
    )
)


class Kept:
    """A place for tables, of which the first may be gone."""

    def __init__(self, count_max: int = 1_000) -> None:
        self.tables: dict[object, pa.Table] = {}
        self._count_max = count_max

    def get(self, name: object) -> pa.Table | None:
        return self.tables.get(name)

    def put(self, name: object, table: pa.Table) -> None:
        self.tables[name] = table
        while len(self.tables) > self._count_max:
            del self.tables[next(iter(self.tables))]

    def drop(self, name: object) -> None:
        self.tables.pop(name, None)


class Panes:
    """A source that counts what is read."""

    def __init__(self, layout: Layout, tables: dict[int, pa.Table]) -> None:
        self._merger = ArrowMerger(layout)
        self.tables = dict(tables)
        self.versions = dict.fromkeys(tables, 0)
        self.reads = 0

    def stamps(self, panes: range) -> dict[int, object]:
        return {pane: self.versions[pane] for pane in panes if pane in self.tables}

    def rows(self, pane: int) -> pa.Table:
        self.reads += 1
        return self.tables[pane]

    def revise(self, pane: int, rows: pa.Table) -> None:
        former = [self.tables[pane]] if pane in self.tables else []
        self.tables[pane] = self._merger.merge([*former, rows])
        self.versions[pane] = self.versions.get(pane, 0) + 1

    def all_at_once(self, window: int, spec: WindowSpec = SPEC) -> pa.Table:
        found = [self.tables[p] for p in spec.panes_of(window) if p in self.tables]
        return self._merger.groups(found).merged


def exact_rows(*rows: tuple[str | None, int | None, int | None]) -> pa.Table:
    schema = ArrowMerger(EXACT).schema
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    cents = [None if value is None else Decimal(value).scaleb(-2) for value in columns[2]]
    arrays = [columns[0], columns[1], cents]
    return pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(arrays, schema, strict=True)],
        schema=schema,
    )


def built(sliding: SlidingWindow, window: int, panes: Panes, spec: WindowSpec = SPEC) -> pa.Table:
    found = sliding.build(window, panes.stamps(spec.panes_of(window)), panes)
    assert not found.difference
    return found.groups.merged


def check(sliding: SlidingWindow, window: int, panes: Panes, spec: WindowSpec = SPEC) -> None:
    assert difference(built(sliding, window, panes, spec), panes.all_at_once(window, spec)) is None


PAGES = st.sampled_from(["/a", "/b", "/c", None])
NUMBERS = st.one_of(st.none(), st.integers(-5, 5), st.just(BIGINT_MAX // 2))
ROWS = st.dictionaries(PAGES, st.tuples(NUMBERS, NUMBERS), max_size=4).map(
    lambda found: exact_rows(*((page, n, cents) for page, (n, cents) in found.items()))
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ROWS, min_size=20, max_size=40),
    st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), ROWS)), max_size=30),
    st.sampled_from([WindowSpec(8, 1), WindowSpec(20, 2), WindowSpec(16, 8), WindowSpec(9, 7)]),
)
def test_a_window_is_the_merge_of_its_panes_wherever_it_moves_and_whatever_is_revised(
    tables: list[pa.Table], steps: list[tuple[int, pa.Table | None]], spec: WindowSpec
) -> None:
    """Nulls, groups that come and go, sums that leave a bigint and come back, gaps, late rows."""
    filled = {pane: rows for pane, rows in enumerate(tables) if rows.num_rows}
    panes, sliding = Panes(EXACT, filled), SlidingWindow("q", spec, EXACT, Kept(3))
    for window, late in [*((window, None) for window in range(6)), *steps]:
        if late is not None and late.num_rows:
            panes.revise(window, late)
        found = sliding.build(window, panes.stamps(spec.panes_of(window)), panes)
        wanted = ArrowMerger(EXACT).groups(
            [panes.tables[pane] for pane in spec.panes_of(window) if pane in panes.tables]
        )
        assert are_same(found.groups, wanted)
        assert found.groups.overflowing_count == wanted.overflowing_count
        assert not found.difference


def test_a_group_that_has_left_has_no_row_and_a_sum_of_nothing_is_null() -> None:
    tables = {n: exact_rows(("/a", 1, None)) for n in range(12)}
    tables[0] = exact_rows(("/a", 1, 7), ("/gone", 0, 0))
    panes, sliding = Panes(EXACT, tables), SlidingWindow("q", SPEC, EXACT, Kept())
    assert built(sliding, 0, panes).sort_by("page")["total"].to_pylist() == [
        Decimal("0.07"),
        Decimal("0.00"),
    ]
    rows = built(sliding, 1, panes)
    assert rows.to_pylist() == [{"page": "/a", "n": 8, "total": None}]


def test_a_pane_that_was_revised_after_it_was_merged_in_is_not_taken_out_as_it_is_now() -> None:
    panes = Panes(EXACT, {n: exact_rows(("/a", 1, 1)) for n in range(12)})
    sliding = SlidingWindow("q", SPEC, EXACT, Kept())
    check(sliding, 0, panes)
    check(sliding, 1, panes)
    panes.revise(1, exact_rows(("/a", 5, 5)))
    check(sliding, 2, panes)


def test_a_move_reads_what_comes_and_goes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliding_window, "COMPARED_EVERY", 10**9)
    spec = WindowSpec(360, 1)
    panes = Panes(EXACT, {n: exact_rows(("/a", n, n)) for n in range(400)})
    sliding = SlidingWindow("q", spec, EXACT, Kept())
    check(sliding, 0, panes, spec)
    check(sliding, 1, panes, spec)  # the first move is built both ways
    for window in range(2, 10):
        panes.reads = 0
        check(sliding, window, panes, spec)
        assert panes.reads == 2


@pytest.mark.parametrize("slide", [1, 4])
def test_combining_reads_a_pane_a_constant_number_of_times(slide: int) -> None:
    """Doubles are never taken back: 360 panes a window, but 3 to 4 reads a pane in all."""
    spec, schema = WindowSpec(360, slide), ArrowMerger(MIXED).schema
    tables = {
        n: pa.Table.from_pydict({"page": ["/a"], "n": [1], "least": [-n / 3], "x": [n / 7]}, schema)
        for n in range(1_400)
    }
    panes, sliding = Panes(MIXED, tables), SlidingWindow("q", spec, MIXED, Kept())
    windows = range(1_000 // slide)
    for window in windows:
        check(sliding, window, panes, spec)
    assert panes.reads <= 9 * slide * len(windows) + 360


def test_the_bits_of_doubles_do_not_depend_on_the_windows_built_before() -> None:
    spec, schema = WindowSpec(100, 1), ArrowMerger(MIXED).schema
    tables = {
        n: pa.Table.from_pydict({"page": ["/a"], "n": [1], "least": [0.1], "x": [0.1 * n]}, schema)
        for n in range(200)
    }
    panes = Panes(MIXED, tables)
    one_by_one = SlidingWindow("q", spec, MIXED, Kept(4))
    for window in range(60):
        last = built(one_by_one, window, panes, spec)
    after_a_restart = built(SlidingWindow("q", spec, MIXED, Kept()), 59, panes, spec)
    assert last.equals(after_a_restart)


def test_a_window_by_removal_that_differs_is_told_and_not_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panes = Panes(EXACT, {n: exact_rows(("/a", 1, 1)) for n in range(20)})
    sliding = SlidingWindow("q", SPEC, EXACT, Kept())
    check(sliding, 0, panes)
    wrong = ArrowMerger(EXACT).groups([exact_rows(("/a", 9, 9))])
    monkeypatch.setattr(RunningWindow, "moved", lambda self, stamps, source: wrong)
    found = sliding.build(1, panes.stamps(SPEC.panes_of(1)), panes)
    assert "window 1 by removal differs" in found.difference
    assert found.groups.merged["n"].to_pylist() == [8]


@pytest.mark.parametrize(
    ("spec", "layout", "does"),
    [
        (WindowSpec(8, 1), EXACT, True),
        (WindowSpec(8, 4), EXACT, False),  # half of it is new each time
        (WindowSpec(8, 1), MIXED, False),  # doubles are rounded, extremes are forgotten
        (WindowSpec(7, 1), EXACT, False),
    ],
)
def test_windows_move_where_that_is_exact_and_less_work(
    spec: WindowSpec, layout: Layout, does: bool
) -> None:
    assert can_move(spec, layout) is does


def test_a_window_of_one_pane_does_not_slide() -> None:
    assert not slides(WindowSpec(10, 10))


@given(st.integers(-500, 500), st.integers(1, 900))
def test_blocks_cover_a_window_once_and_are_few(start: int, count: int) -> None:
    blocks = list(covering(range(start, start + count)))
    covered = [pane for block in blocks for pane in panes_of(block)]
    assert covered == list(range(start, start + count))
    assert len(blocks) <= 14 + 2 * count.bit_length()
