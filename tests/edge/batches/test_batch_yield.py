"""How much goes into a batch, by what came out of those before it; rows are counted batch by batch.

A world is a function from a batch's bytes to its rows. Like rows of real groups, they rise with the
bytes and never faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headwater.edge.batches.batch_yield import QUERIES_MAX, USUAL_BYTES_A_ROW, BatchYield

BYTES_MAX, ROWS_MAX = 64_000_000, 100_000

World = Callable[[int], int]


def distinct(groups: int, *, line_bytes: int) -> World:
    """Lines whose keys come in turn."""
    return lambda byte_count: min(groups, byte_count // line_bytes)


def allowed(learned: BatchYield, *queries: str) -> int:
    return learned.bytes_in_max(queries, bytes_max=BYTES_MAX, rows_max=ROWS_MAX)


def run(learned: BatchYield, worlds: dict[str, World], *, batches: int) -> list[tuple[int, int]]:
    """(bytes, rows) of batches that take all they may: there is always more to read."""
    found = []
    for _ in range(batches):
        bytes_in = allowed(learned, *worlds)
        rows = {query: world(bytes_in) for query, world in worlds.items()}
        for query, count in rows.items():
            learned.gave(query, bytes_in=bytes_in, rows_out=count, bytes_out=40 * count)
        found.append((bytes_in, sum(rows.values())))
    return found


def test_few_groups_limit_nothing() -> None:
    found = run(BatchYield(), {"q": distinct(10_000, line_bytes=60)}, batches=3)
    assert found == [(BYTES_MAX, 10_000)] * 3


def test_after_the_first_batch_no_more_rows_come_out_than_are_allowed() -> None:
    (_, first), *others = run(BatchYield(), {"q": distinct(10**9, line_bytes=64)}, batches=5)
    assert first == BYTES_MAX // 64, "nothing was known"
    assert {rows for _, rows in others} == {ROWS_MAX}


def test_the_rows_of_all_queries_count_together() -> None:
    worlds = {f"q{n}": distinct(10**9, line_bytes=100) for n in range(8)}
    found = run(BatchYield(), worlds, batches=4)
    assert all(0.99 * ROWS_MAX <= rows <= ROWS_MAX for _, rows in found[1:])
    one = run(BatchYield(), {"q0": worlds["q0"]}, batches=4)
    assert one[-1][0] == pytest.approx(8 * found[-1][0], rel=0.001)


def test_what_a_small_batch_taught_is_unlearned_by_larger_ones() -> None:
    """One line, one row; yet all lines together are of a hundred groups."""
    learned = BatchYield()
    learned.gave("q", bytes_in=10, rows_out=1, bytes_out=40)
    found = run(learned, {"q": distinct(100, line_bytes=10)}, batches=2)
    assert found[0][0] == 10 * ROWS_MAX
    assert found[1] == (BYTES_MAX, 100)


@given(st.integers(1, 10**7), st.integers(1, 5_000), st.integers(1, 10**6), st.integers(1, 30))
def test_batches_that_give_less_than_is_allowed_grow_and_never_give_more(
    groups: int, line_bytes: int, first_lines: int, batches: int
) -> None:
    world, first_bytes = distinct(groups, line_bytes=line_bytes), first_lines * line_bytes
    assume(world(first_bytes) <= ROWS_MAX)
    learned = BatchYield()
    learned.gave("q", bytes_in=first_bytes, rows_out=world(first_bytes), bytes_out=0)
    sizes = run(learned, {"q": world}, batches=batches)
    assert max(rows for _, rows in sizes) <= ROWS_MAX
    in_bytes = [size for size, _ in sizes]
    shrunk = max((before - after for before, after in pairwise(in_bytes)), default=0)
    assert shrunk < line_bytes, "nothing is wasted but what rounding is"


@given(st.integers(ROWS_MAX + 1, 10**7), st.integers(1, 500), st.integers(1, 30))
def test_batches_that_give_too_much_shrink_by_as_much(
    groups: int, line_bytes: int, batches: int
) -> None:
    """And none gives more than the one before it."""
    world = distinct(groups, line_bytes=line_bytes)
    sizes = run(BatchYield(), {"q": world}, batches=batches)
    for (before, too_many), (size, rows) in itertools.pairwise(sizes):
        assert rows <= max(too_many, ROWS_MAX)
        if too_many > ROWS_MAX:
            assert size <= before * ROWS_MAX / too_many + 1


def test_a_batch_is_as_large_as_it_may_be_after_a_few_others() -> None:
    """Each time by as many times as there might have been more rows."""
    world = distinct(60_000, line_bytes=50)
    for first_bytes in (1_000, 1_000_000, BYTES_MAX):
        learned = BatchYield()
        learned.gave("q", bytes_in=first_bytes, rows_out=world(first_bytes), bytes_out=0)
        assert run(learned, {"q": world}, batches=8)[-1][0] == BYTES_MAX


def test_a_query_that_is_new_is_expected_to_give_little_and_to_be_large() -> None:
    """The first says how much is read, the second that its rows go through files."""
    learned = BatchYield()
    assert allowed(learned, "new") == BYTES_MAX
    many = [f"new{n}" for n in range(50)]
    assert allowed(learned, *many) == pytest.approx(ROWS_MAX * USUAL_BYTES_A_ROW / 50, abs=1)
    assert learned.bytes_out("new", bytes_in=1_000) == 1_000


def test_queries_that_are_gone_are_forgotten() -> None:
    learned = BatchYield()
    for n in range(QUERIES_MAX + 1):
        learned.gave(f"q{n}", bytes_in=100, rows_out=0, bytes_out=300)
    assert learned.bytes_out("q0", bytes_in=100) == 100
    assert learned.bytes_out("q1", bytes_in=100) == 300
