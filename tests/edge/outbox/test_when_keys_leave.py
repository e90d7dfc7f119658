"""When keys of an open pane leave, by an edge's knowledge alone: no cube, no link."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from pane_kit import make_query

from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.share_table import Dealing
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.words.site_state import flush_level
from headwater.edge.closing.closing import SourceClock
from headwater.edge.config import EdgeConfig
from headwater.edge.outbox.early_plan import EarlyPlan
from headwater.edge.outbox.early_rounds import EarlyRounds
from headwater.edge.outputs import MakeEarly, UpdatesMade
from headwater.edge.query_state import News, QueryState
from headwater.edge.report import PaneKeys
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook

PANE = 120
START_S = 1_200.0
ROUND_S = 2.5
RATE = 500.0
"""Of a link, in bytes a second."""
ROW_BYTES = 100


def made(
    *, panes: int = 1, dealing: Dealing | None = None, **settings: int
) -> tuple[QueryState, EarlyRounds]:
    """One site alone, of which each value may be off by 30 in a window."""
    query = make_query(panes=panes, slide=1, begin_pane=100)
    program = msgspec.structs.replace(
        query.program, keys=(Column("k", "string"),), partials=(Partial("n", "bigint", "sum"),)
    )
    tolerance = Tolerance((ToleratedColumn("n", "n", ErrorForm.ABSOLUTE, 30.0),), sites=1)
    if dealing is not None:
        tolerance = msgspec.structs.replace(tolerance, dealing=dealing)
    query = msgspec.structs.replace(query, program=program, tolerance=tolerance, rounds=4)
    config = EdgeConfig(**{"early_keys_min": 1, **settings})
    state = QueryState(query, ordinal=0, incarnation=7, config=config)
    state.change(News.NONE, first_pane=100, closed_through=PANE)
    return state, EarlyRounds(state)


def hear(rounds: EarlyRounds, count: int, value: float, *, pane: int = PANE) -> None:
    keys = np.arange(1, count + 1, dtype=np.uint64)
    values, records = np.full((1, count), value), np.ones(count)
    rounds.hear(PaneKeys(pane, keys, values, records, ROW_BYTES), now_s=START_S + 1.0)


def cuts(rounds: EarlyRounds, after_s: float = ROUND_S) -> list[MakeEarly]:
    now_s = START_S + after_s
    return rounds.cuts(
        SourceClock(read_through_s=now_s),
        now_s=now_s,
        has_room=lambda query: True,
        capacity=lambda query: WayCapacity(RATE),
    )


def close(state: QueryState, rounds: EarlyRounds) -> None:
    state.change(News.WORK, closed_through=PANE + 1)
    rounds.close()


def test_what_is_above_the_bound_leaves_at_the_end_of_a_round() -> None:
    _, rounds = made()
    hear(rounds, 40, 50.0)
    (cut,) = cuts(rounds)
    assert cut.pane == PANE
    assert len(cut.keys) == RATE * ROUND_S // ROW_BYTES, "as much as the way carries in a round"


@pytest.mark.parametrize(
    "obstacle",
    [
        lambda state: state.book.cutting.setdefault(PANE),
        lambda state: state.book.making.setdefault(PANE, 0.0),
        lambda state: state.damage(PANE, PANE),
        lambda state: state.change(News.WORK, unwanted=((PANE, PANE),)),
        lambda state: state.change(News.WORK, past="archive"),
        lambda state: state.change(News.WORK, awaits_greeting=True),
        lambda state: state.change(News.WORK, catching_up=True),
    ],
    ids=[
        "an update of it is being cut",
        "its close is being made",
        "it can't be exact",
        "nobody wants it any more",
        "a reading of the past may still bring rows of it",
        "the root may know a former life",
        "the site catches up",
    ],
)
def test_nothing_leaves_early_where(obstacle: Callable[[QueryState], object]) -> None:
    state, rounds = made()
    hear(rounds, 40, 50.0)
    obstacle(state)
    assert cuts(rounds) == []


def test_nothing_leaves_early_of_a_pane_that_is_over_and_only_waits_for_its_close() -> None:
    _, rounds = made()
    hear(rounds, 40, 50.0)
    assert cuts(rounds, 10.5) == []


def test_a_batch_of_many_times_the_keys_that_are_followed_takes_no_more_memory() -> None:
    count = 400_000
    _, rounds = made(outbox_keys_max=4_000)
    keys, values = np.arange(count, dtype=np.uint64), np.full((1, count), 50.0)
    values[0, :40] = 5_000.0
    batch = PaneKeys(PANE, keys, values, np.ones(count), ROW_BYTES)
    tracemalloc.start()
    rounds.hear(batch, now_s=START_S + 1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6, "all of them followed one by one would take 120 bytes each"
    (cut,) = cuts(rounds)
    assert set(cut.keys) <= set(range(40)), "the largest are followed and leave as ever"


def test_what_the_flush_can_carry_in_half_a_second_does_not_leave_early() -> None:
    _, rounds = made()
    hear(rounds, 12, 50.0)
    (cut,) = cuts(rounds, 3 * ROUND_S)
    assert len(cut.keys) == 12 - RATE * 0.5 // ROW_BYTES - 1, "as many whole rows as are beyond"


def test_a_bound_of_a_window_is_shared_by_its_panes() -> None:
    _, rounds = made(panes=3)
    hear(rounds, 40, 12.0)
    assert cuts(rounds), "30 over 3 panes are 10"


@pytest.mark.parametrize(("first", "leaves"), [(PANE + 1, False), (PANE, True)])
def test_who_has_heard_of_no_table_has_no_share_of_the_panes_that_tables_name(
    first: int, leaves: bool
) -> None:
    _, rounds = made(dealing=Dealing(first, 5))
    hear(rounds, 40, 12.0)
    assert bool(cuts(rounds)) is leaves


def test_a_late_batch_of_a_closed_pane_says_nothing_of_how_long_flushes_are() -> None:
    state, rounds = made()
    hear(rounds, 40, 50.0)
    cuts(rounds)
    close(state, rounds)
    hear(rounds, 1, 50.0)
    rounds.close()
    assert rounds.next_moment_s(START_S + 10.0) < NEVER_DUE_S


def test_an_update_that_nobody_wants_any_more_is_not_sent() -> None:
    state, rounds = made()
    state.change(News.WORK, unwanted=((PANE, PANE),))
    done = UpdatesMade(state.id, PANE, 1, 1, is_early=True)
    assert rounds.take(done, now_s=START_S) == []
    assert state.book.updates_of(PANE) == 1
    assert not state.book.flights


@pytest.mark.parametrize(("count", "level"), [(40, flush_level(8.0)), (1, 0)])
def test_the_root_is_told_how_long_all_of_a_pane_would_take_though_most_of_it_stays(
    count: int, level: int
) -> None:
    """Else a site that has got a share would lose it by that; a short one needs none."""
    state, rounds = made()
    hear(rounds, count, 5.0)
    assert cuts(rounds) == [], "within the bound"
    close(state, rounds)
    assert rounds.flush_s == 0.0
    assert state.telling.flush_level == level


@pytest.mark.parametrize(("keys_min", "piece_bytes"), [(1, 750), (10, 1_000)])
def test_a_long_flush_leaves_in_pieces_of_what_the_way_carries_soon_or_of_the_smallest_update(
    keys_min: int, piece_bytes: int
) -> None:
    state, rounds = made(early_keys_min=keys_min)
    hear(rounds, 40, 50.0)
    cuts(rounds)
    close(state, rounds)
    assert rounds.flush_s > state.config.flush_piece_s
    assert rounds.piece_bytes == piece_bytes
    rounds.close()
    assert rounds.piece_bytes == 0, "nothing was closed just now"


def test_of_panes_that_are_closed_together_the_longest_flush_says_how_large_pieces_are() -> None:
    state, rounds = made()
    hear(rounds, 40, 50.0)
    hear(rounds, 1, 50.0, pane=PANE + 1)
    cuts(rounds)
    state.change(News.WORK, closed_through=PANE + 2)
    rounds.close()
    assert rounds.piece_bytes == 750


def test_keys_leave_by_what_relays_leave_to_sites_of_a_bound() -> None:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.02)
    query = msgspec.structs.replace(
        made()[0].query, tolerance=Tolerance((column,), Finally.EXACT, relays=0.25)
    )
    (measure,) = EarlyPlan.of(query, None, keys_max=100).measures(None)
    assert measure.bound.size == pytest.approx(0.015)


# Settings that change while the stream runs


def alter(state: QueryState, number: int, **settings: object) -> None:
    """From the next pane on that has not begun."""
    one = msgspec.structs.replace(Settings.of(state.query), **settings)
    state.alter(SettingsBook(changes=(Numbered(number, PANE, one),)))


def sized(state: QueryState, size: float) -> Tolerance:
    assert state.query.tolerates is not None
    (column,) = state.query.tolerates.columns
    return msgspec.structs.replace(
        state.query.tolerates, columns=(msgspec.structs.replace(column, size=size),)
    )


@pytest.mark.parametrize(("size", "value", "leaves"), [(1e6, 50.0, False), (1.0, 5.0, True)])
def test_an_altered_bound_says_which_keys_leave(size: float, value: float, leaves: bool) -> None:
    state, rounds = made()
    alter(state, 1, tolerance=sized(state, size))
    hear(rounds, 40, value)
    assert bool(cuts(rounds)) is leaves


def test_nothing_leaves_early_any_more_where_the_bound_is_taken_away() -> None:
    state, rounds = made()
    alter(state, 1, tolerance=None, rounds=1)
    hear(rounds, 40, 50.0)
    assert not rounds.is_used
    assert cuts(rounds) == []
    assert rounds.next_moment_s(START_S) == NEVER_DUE_S


def test_a_pane_that_has_begun_goes_on_by_its_bound_and_the_next_one_by_the_altered_one() -> None:
    state, rounds = made()
    hear(rounds, 40, 50.0)
    state.book.open.add(PANE, PANE)
    alter(state, 1, tolerance=None, rounds=1)
    assert state.settings.number_at(PANE + 1) == 1
    (cut,) = cuts(rounds)
    assert cut.pane == PANE
    hear(rounds, 40, 50.0, pane=PANE + 1)
    state.change(News.WORK, closed_through=PANE + 1)
    rounds.close()
    assert not rounds.is_used


def test_a_stream_without_a_bound_that_gets_one_has_rounds_from_the_altered_pane_on() -> None:
    _, before = made()
    plain = msgspec.structs.replace(
        before._state.query, tolerance=msgspec.UNSET, rounds=msgspec.UNSET
    )
    state = QueryState(plain, ordinal=0, incarnation=7, config=EdgeConfig(early_keys_min=1))
    state.change(News.NONE, first_pane=100, closed_through=PANE)
    rounds = EarlyRounds(state)
    hear(rounds, 40, 50.0)
    assert cuts(rounds) == []
    alter(state, 1, tolerance=before._state.query.tolerates, rounds=4)
    hear(rounds, 40, 50.0)
    (cut,) = cuts(rounds, 2 * ROUND_S)
    assert cut.pane == PANE
    close(state, rounds)
    assert rounds.next_moment_s(START_S + 10.0) == START_S + 10.0 + ROUND_S


def test_a_batch_that_was_measured_by_other_columns_than_its_pane_s_is_not_followed() -> None:
    """The cube measures a batch while other settings come."""
    _, rounds = made()
    keys, records = np.arange(40, dtype=np.uint64), np.ones(40)
    both = PaneKeys(PANE, keys, np.stack([np.zeros(40), records * 50]), records, ROW_BYTES)
    rounds.hear(both, now_s=START_S + 1.0)
    rounds.hear(msgspec.structs.replace(both, measures=("m", "x")), now_s=START_S + 1.0)
    assert cuts(rounds) == []
    rounds.hear(msgspec.structs.replace(both, measures=("m", "n")), now_s=START_S + 1.0)
    assert cuts(rounds), "of those measured by more columns its own count"
