"""How old live summaries are when they arrive, as acknowledgements tell the sites."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pane_kit import RootDesk, make_query, make_roster, whole

from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.summary import Lane
from headwater.overlay.message_rules import AGE_MAX_S
from headwater.plan.query import Query
from headwater.root.config import RootConfig
from headwater.root.said.arrival_ages import ARRIVALS_MAX, ARRIVALS_MIN, ArrivalAges

LIFE = 77


def a_query(*, rounds: int | msgspec.UnsetType = 4) -> Query:
    query = make_query()
    keys, partials = (Column("k", "bigint"),), (Partial("n", "bigint", "sum"),)
    program = msgspec.structs.replace(query.program, keys=keys, partials=partials)
    return msgspec.structs.replace(query, program=program, rounds=rounds)


def told(
    query: Query, lane: Lane = Lane.LIVE, *, slow_s: float = 9.0, every: int = 30
) -> float | None:
    desk = RootDesk(query, make_roster(3), now_s=0.0)
    for pane in range(1, 31):
        summary = whole(query, pane, pane % 3, [pane], of=LIFE)
        age_s = slow_s if pane % every == 7 else 0.5
        desk.receive(msgspec.structs.replace(summary, age_s=age_s, lane=lane), now_s=300.0)
    desk.work(now_s=320.0)
    return desk.acks[-1].travel_s


def test_an_acknowledgement_tells_how_old_all_but_a_few_live_summaries_were() -> None:
    assert told(a_query()) == 0.5


def test_nothing_is_told_of_backlog_nor_where_nothing_leaves_early() -> None:
    assert told(a_query(), Lane.BACKLOG) is None
    assert told(a_query(rounds=msgspec.UNSET)) is None


def test_who_forges_ages_sets_no_more_than_a_summary_may_be_carried_for() -> None:
    life_s = RootConfig().summary_life_s
    assert told(a_query(), slow_s=life_s / 2, every=10) == life_s / 2
    assert told(a_query(), slow_s=AGE_MAX_S, every=10) == life_s


@given(st.lists(st.floats(0.0, 1e6), max_size=250))
def test_of_the_newest_arrivals_all_but_one_in_twenty_were_not_older(ages: list[float]) -> None:
    book = ArrivalAges()
    for age_s in ages:
        book = book.with_(age_s)
    newest = ages[-ARRIVALS_MAX:]
    if len(newest) < ARRIVALS_MIN:
        assert book.usual_s is None
        return
    usual_s = book.usual_s
    assert usual_s is not None
    older = [age_s for age_s in newest if age_s > usual_s]
    assert len(older) * 20 <= len(newest)
    assert usual_s in newest


@pytest.mark.parametrize("count", [0, 1])
def test_of_few_nothing_is_known(count: int) -> None:
    assert ArrivalAges((1.0,) * count).usual_s is None
