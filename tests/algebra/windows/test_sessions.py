"""Sessions are those that one pass over all records in order finds, however they are cut.

::

    gap 10    records  0  7     18 ─ more than 10 after 7 ─► a second session
    panes    |         0        |         1         |
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.windows.sessions import (
    SessionMerger,
    Sessions,
    key_codes,
    problem_with_times,
)
from headwater.algebra.windows.sliding_window import SlidingWindow

GAP, LONGEST = 10, 45


class Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...] = (Column("user", "string"),)
    partials: tuple[Partial, ...] = (
        Partial("n", "bigint", "sum"),
        Partial("first", "timestamp", "min"),
        Partial("last", "timestamp", "max"),
    )


LAYOUT = Layout()
SESSIONS = Sessions(GAP, LONGEST, "first", "last")
MERGER = SessionMerger(LAYOUT, SESSIONS)
WINDOW = SESSIONS.window()
Record = tuple[str | None, int]
Found = tuple[str | None, int, int, int]


def fragments(records: list[Record]) -> dict[int, pa.Table]:
    """By pane, as sites and relays make them."""
    rows: dict[int, list[pa.Table]] = {}
    for user, at in records:
        columns = [[user], [1], [at], [at]]
        one = pa.Table.from_arrays(
            [pa.array(c).cast(f.type) for c, f in zip(columns, MERGER.schema, strict=True)],
            schema=MERGER.schema,
        )
        rows.setdefault(WINDOW.pane_at(at), []).append(one)
    return {pane: ArrowMerger(LAYOUT).merge(tables) for pane, tables in rows.items()}


def in_one_pass(records: list[Record]) -> list[Found]:
    """(user, records, first, last) of each session."""
    found: list[Found] = []
    for user in {user for user, _ in records}:
        first = last = n = None
        for at in sorted(at for one, at in records if one == user):
            if last is None or at - last > GAP:
                if last is not None:
                    found.append((user, n, first, last))
                first, n = at, 0
            n, last = n + 1, at
        found.append((user, n, first, last))
    return found


def rows_of(table: pa.Table) -> list[Found]:
    at = [table.column(name).cast(pa.int64()).to_pylist() for name in ("first", "last")]
    return list(zip(table["user"].to_pylist(), table["n"].to_pylist(), *at, strict=True))


class Panes:
    def __init__(self, tables: dict[int, pa.Table]) -> None:
        self.tables = tables

    def stamps(self, panes: range) -> dict[int, int]:
        return {pane: id(self.tables[pane]) for pane in panes if pane in self.tables}

    def rows(self, pane: int) -> pa.Table:
        return self.tables[pane]


class Kept(dict[object, pa.Table]):
    def put(self, name: object, table: pa.Table) -> None:
        self[name] = table

    def drop(self, name: object) -> None:
        self.pop(name, None)


RECORDS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(-100, 300)), min_size=1, max_size=60
)


@settings(max_examples=80, deadline=None)
@given(RECORDS)
def test_every_session_is_answered_once_in_the_window_in_which_its_gap_ends(
    records: list[Record],
) -> None:
    tables = fragments(records)
    sliding = SlidingWindow("q", WINDOW, LAYOUT, Kept(), sessions=MERGER)
    answered: list[Found] = []
    too_long = 0
    for window in range(-40, 60):
        panes = Panes(tables)
        found = sliding.build(window, panes.stamps(WINDOW.panes_of(window)), panes).groups
        too_long += found.overflowing_count
        end_us = WINDOW.window_end_us(window)
        for row in rows_of(found.merged):
            assert end_us - GAP <= row[3] + GAP < end_us
            answered.append(row)
    wanted = in_one_pass(records)
    fitting = [one for one in wanted if one[3] - one[2] <= LONGEST]
    assert sorted(answered, key=str) == sorted(fitting, key=str)
    assert too_long == len(wanted) - len(fitting)


@settings(max_examples=50, deadline=None)
@given(RECORDS, st.integers(0, 2**32 - 1))
def test_fragments_may_be_merged_in_any_order_and_any_grouping(
    records: list[Record], seed: int
) -> None:
    tables = list(fragments(records).values())
    chance = np.random.default_rng(seed)
    while len(tables) > 1:
        chance.shuffle(tables)
        tables = [MERGER.merge(tables[:2]), *tables[2:]]
    assert sorted(rows_of(MERGER.merge(tables)), key=str) == sorted(in_one_pass(records), key=str)


def test_a_late_record_joins_two_sessions_and_one_window_loses_a_row() -> None:
    """0 and 15 are two sessions, answered in two windows; 8 comes late."""
    before, after = [("a", 0), ("a", 15)], [("a", 0), ("a", 15), ("a", 8)]

    def counts(records: list[Record]) -> dict[int, list[int]]:
        tables = list(fragments(records).values())
        ends = {end: MERGER.ended(tables, end_us=end).merged for end in (20, 30)}
        return {end: rows["n"].to_pylist() for end, rows in ends.items()}

    assert counts(before) == {20: [1], 30: [1]}
    assert counts(after) == {20: [], 30: [3]}


def test_a_session_that_is_too_long_is_left_out_and_named() -> None:
    found = MERGER.ended(list(fragments([("a", at) for at in range(0, 49, 4)]).values()), end_us=60)
    assert found.merged.num_rows == 0
    assert found.overflowing_count == 1
    assert found.overflowing["user"].to_pylist() == ["a"]
    assert "longer than session_max" in found.reason


def test_a_session_as_long_as_it_may_be_is_answered() -> None:
    records: list[Record] = [("a", at) for at in range(0, LONGEST + 1, 9)]
    found = MERGER.ended(list(fragments(records).values()), end_us=60)
    assert rows_of(found.merged) == [("a", 6, 0, LONGEST)]
    assert found.overflowing_count == 0


def test_no_rows_have_no_sessions() -> None:
    assert MERGER.ended([], end_us=0).merged.num_rows == 0
    assert MERGER.merge([]).num_rows == 0


@pytest.mark.parametrize(
    "values", [[0.0, -0.0], [float("nan"), -float("nan")], [None, None], [True, True], [b"x", b"x"]]
)
def test_keys_are_equal_where_spark_groups_them(values: list[object]) -> None:
    codes = key_codes([pa.chunked_array([pa.array(values)])], 2)
    assert codes[0] == codes[1]


def test_keys_of_several_columns_are_told_apart() -> None:
    columns = [pa.chunked_array([pa.array(c)]) for c in (["a", "a", "b"], [1, None, 1])]
    assert len(set(key_codes(columns, 3).tolist())) == 3


def fragment(first: int | None, last: int | None) -> pa.Table:
    columns = (pa.array(["u"]), *(pa.array([n], pa.int64()) for n in (1, first, last)))
    arrays = [one.cast(type_) for one, type_ in zip(columns, MERGER.schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=MERGER.schema)


@pytest.mark.parametrize(("first", "last"), [(50, 50), (50, 59), (53, 57)])
def test_fragments_of_a_pane_are_sound(first: int, last: int) -> None:
    assert problem_with_times(fragment(first, last), SESSIONS, 5) is None


@pytest.mark.parametrize(
    ("first", "last"), [(49, 55), (55, 60), (55, 54), (55, 1 << 62), (-(1 << 63), 55), (None, 55)]
)
def test_a_fragment_beyond_its_pane_is_none(first: int | None, last: int | None) -> None:
    """It would take the records that others have of its key into a session that is answered
    nowhere, and the answer would be called exact."""
    lie = fragment(first, last)
    assert "a fragment of a session" in str(problem_with_times(lie, SESSIONS, 5))


def test_rows_without_the_times_that_a_plan_names_are_no_fragments() -> None:
    other = Sessions(GAP, LONGEST, "first", "n")
    assert problem_with_times(fragment(55, 55), other, 5) == "no times of sessions"
    assert problem_with_times(None, SESSIONS, 5) is None
    assert problem_with_times(b"not decoded yet", SESSIONS, 5) is None
