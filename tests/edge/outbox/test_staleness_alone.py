"""Under a staleness without an error: which keys leave early, pane after pane, over slow ways.

::

    pane    |0 ----- 1.25 ----- … ----- 8.75 ----- 10|  disorder 1 s  |  flush  |  answer at 20
                     rounds of 1.25 s                                 close
"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from pane_kit import make_query

from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.algebra.rows.columns import Column, Partial
from headwater.edge.closing.closing import SourceClock
from headwater.edge.config import EdgeConfig
from headwater.edge.outbox.early_rounds import EarlyRounds
from headwater.edge.query_state import News, QueryState
from headwater.edge.report import PaneKeys

FIRST = 120
PANE_S, ROUND_S = 10.0, 1.25
KEYS_MIN = 100
ROW_BYTES = 100


def made() -> tuple[QueryState, EarlyRounds]:
    query = make_query(panes=1, slide=1, begin_pane=100)
    program = msgspec.structs.replace(
        query.program, keys=(Column("k", "string"),), partials=(Partial("n", "bigint", "sum"),)
    )
    query = msgspec.structs.replace(query, program=program, rounds=8)
    config = EdgeConfig(early_keys_min=KEYS_MIN)
    state = QueryState(query, ordinal=0, incarnation=7, config=config)
    state.change(News.NONE, first_pane=100, closed_through=FIRST)
    return state, EarlyRounds(state)


def hear(rounds: EarlyRounds, pane: int, chance: np.random.Generator, *, now_s: float) -> None:
    """Five hundred records of keys of all sizes."""
    keys, counts = np.unique(np.minimum(chance.zipf(1.3, 500), 3_000), return_counts=True)
    values = counts.astype(np.float64)
    batch = PaneKeys(pane, keys.astype(np.uint64), values[None, :], values, ROW_BYTES)
    rounds.hear(batch, now_s=now_s)


def cuts_of_panes(rate: float, *, panes: int) -> list[list[int]]:
    """By pane, how many keys left in each cut."""
    state, rounds = made()
    chance, found = np.random.default_rng(1), list[list[int]]()
    for pane in range(FIRST, FIRST + panes):
        counts = []
        for at in range(1, 9):
            now_s = pane * PANE_S + at * ROUND_S
            hear(rounds, pane, chance, now_s=now_s - 0.1)
            for cut in rounds.cuts(
                SourceClock(read_through_s=now_s),
                now_s=now_s,
                has_room=lambda query: True,
                capacity=lambda query: WayCapacity(rate),
            ):
                counts.append(len(cut.keys))
                state.book.cutting.pop(cut.pane)
        state.change(News.WORK, closed_through=pane + 1)
        rounds.close()
        found.append(counts)
    return found


@pytest.mark.parametrize("rate", [3_000.0, 8_000.0, 30_000.0])
def test_in_every_pane_keys_leave_early(rate: float) -> None:
    """What a pane has taught is the error that its flush left at the deadline. Taken before the
    flush it was so large that no key of the next pane came near it, and nothing left."""
    assert all(cuts_of_panes(rate, panes=6))


def test_rounds_are_joined_where_one_has_no_room_for_the_smallest_update() -> None:
    """A round carries 37 keys, three of them 112."""
    for counts in cuts_of_panes(3_000.0, panes=3):
        assert 2 <= len(counts) <= 3
        assert all(KEYS_MIN <= count <= 112 for count in counts)


def test_no_more_leaves_early_than_the_way_carries_in_the_pane() -> None:
    for rate in (2_000.0, 3_000.0, 8_000.0):
        for counts in cuts_of_panes(rate, panes=4):
            assert sum(counts) * ROW_BYTES <= rate * (PANE_S + 1.0)


@pytest.mark.parametrize(("travel_s", "left_s"), [(None, 9.0), (3.0, 6.0), (9.5, 0.0)])
def test_of_a_flush_there_is_room_for_what_arrives_before_the_answer(
    travel_s: float | None, left_s: float
) -> None:
    """It begins a second after the pane is over, and the answer comes nine seconds later."""
    state, rounds = made()
    assert (state.query.timing.disorder_s, state.settings.newest.deadline_s) == (1.0, 10.0)
    rounds.cuts(
        SourceClock(read_through_s=FIRST * PANE_S),
        now_s=FIRST * PANE_S,
        has_room=lambda query: True,
        capacity=lambda query: WayCapacity(3_000.0),
    )
    rounds.travel_s = travel_s
    room_bytes = rounds._flush_room_bytes(FIRST, rounds.plan_at(FIRST))
    assert room_bytes == pytest.approx(3_000.0 * left_s)


def test_an_update_that_could_not_be_through_by_the_close_does_not_begin() -> None:
    """In ten seconds and the disorder this way carries 55 keys."""
    assert not any(cuts_of_panes(500.0, panes=3))
