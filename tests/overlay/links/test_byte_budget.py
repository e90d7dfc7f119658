"""The bucket of an agent or a link: in no stretch of time more than budget and burst."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.overlay.links.byte_budget import DEBT_S_MAX, PACKET_BYTES, ByteBudget, Traffic

RATES = st.sampled_from((1_000.0, 6_250.0, 25_000.0, 187_500.0, 1e8))
SHARE = 0.2


def budget_of(rate: float) -> ByteBudget:
    return ByteBudget(rate, control_share_max=SHARE)


@given(
    rate=RATES,
    asked=st.lists(
        st.tuples(
            st.sampled_from((Traffic.CONTROL, Traffic.LIVE, Traffic.BACKLOG)),
            st.floats(1, 5_000),
            st.floats(-3.0, 3.0),
        ),
        max_size=60,
    ),
)
def test_in_every_stretch_no_more_than_budget_and_burst(
    rate: float, asked: list[tuple[Traffic, float, float]]
) -> None:
    """``asked``: what, how much, and how much later by a clock that may also be set back. Only
    what it goes forward is time in which something may be sent."""
    budget = budget_of(rate)
    now_s, forward_s, spent = 100.0, 0.0, []
    for traffic, wanted, later_s in asked:
        now_s, forward_s = now_s + later_s, forward_s + max(0.0, later_s)
        if budget.room(traffic, now_s=now_s) >= wanted:
            budget.spend(traffic, wanted, now_s=now_s)
            spent.append((forward_s, wanted))
    for first, (begin_s, _) in enumerate(spent):
        total = 0.0
        for at_s, count in spent[first:]:
            total += count
            assert total <= rate * (at_s - begin_s) + budget.burst_bytes + 1.0


@given(rate=RATES, step_s=st.floats(-1e9, 1e9))
def test_a_clock_step_fills_it_to_its_burst_at_most(rate: float, step_s: float) -> None:
    budget = budget_of(rate)
    budget.spend(Traffic.LIVE, budget.burst_bytes, now_s=1_000.0)
    assert budget.room(Traffic.CONTROL, is_spare=True, now_s=1_000.0 + step_s) <= (
        budget.burst_bytes + 1e-6
    )


@given(rate=RATES, traffic=st.sampled_from((Traffic.CONTROL, Traffic.LIVE)), spare=st.booleans())
def test_when_it_is_ready_there_is_room(rate: float, traffic: Traffic, spare: bool) -> None:
    budget, early = budget_of(rate), budget_of(rate)
    for one in (budget, early):
        one.spend(Traffic.CONTROL, one.burst_bytes, now_s=10.0)
    wanted = min(PACKET_BYTES, budget.quantum_bytes)
    ready_s = budget.ready_s(traffic, wanted, is_spare=spare)
    assert ready_s > 10.0
    assert budget.room(traffic, is_spare=spare, now_s=ready_s) >= wanted - 1.0
    early_s = 10.0 + 0.9 * (ready_s - 10.0)
    assert early.room(traffic, is_spare=spare, now_s=early_s) < wanted


def test_heartbeats_have_room_always_and_others_wait_for_what_they_took() -> None:
    budget = budget_of(6_250.0)
    budget.spend(Traffic.LIVE, budget.room(Traffic.LIVE, now_s=0.0), now_s=0.0)
    for _ in range(20):
        assert budget.room(Traffic.BEAT, now_s=0.0) >= 300
        budget.spend(Traffic.BEAT, 300, now_s=0.0)
    assert budget.room(Traffic.LIVE, now_s=0.0) < 0
    assert budget.ready_s(Traffic.LIVE, 100) > 0.5


def test_live_leaves_some_room_for_the_next_heartbeat() -> None:
    budget = budget_of(25_000.0)
    budget.spend(Traffic.LIVE, budget.room(Traffic.LIVE, now_s=0.0), now_s=0.0)
    assert budget.room(Traffic.CONTROL, is_spare=True, now_s=0.0) >= 1_000


def test_control_has_its_share_and_what_nobody_else_wants() -> None:
    budget = budget_of(10_000.0)
    spent, now_s = 0.0, 0.0
    while now_s < 60.0:
        room = budget.room(Traffic.CONTROL, now_s=now_s)
        if room >= 500:
            budget.spend(Traffic.CONTROL, 500, now_s=now_s)
            spent += 500
        now_s += 0.01
    assert spent <= SHARE * 10_000 * 60 + 0.25 * 10_000 + 2_000
    assert budget.room(Traffic.CONTROL, is_spare=True, now_s=now_s) > 1_500


def test_control_that_had_an_idle_link_to_itself_has_its_share_again_when_others_come() -> None:
    budget = budget_of(10_000.0)
    now_s = 0.0
    for _ in range(3600):  # an hour in which acknowledgements take half of it, and nobody waits
        now_s += 1.0
        budget.spend(Traffic.CONTROL, 5_000, now_s=now_s)
    assert budget.ready_s(Traffic.CONTROL, 500) <= now_s + DEBT_S_MAX + 500 / 2_000


def test_what_strangers_cost_is_paid_off_within_some_seconds() -> None:
    budget = budget_of(1_000.0)
    for _ in range(1_000):
        budget.spend(Traffic.TRANSPORT, 3_000, now_s=5.0)
    assert budget.ready_s(Traffic.LIVE, 100) <= 5.0 + DEBT_S_MAX + 1.0
    assert budget.spent_bytes[Traffic.TRANSPORT] == 3_000_000


def test_what_is_used_is_known_over_some_seconds() -> None:
    budget = budget_of(10_000.0)
    for second in range(60):
        budget.spend(Traffic.LIVE, 5_000, now_s=float(second))
    assert budget.used_bytes_per_s(now_s=59.0) == pytest.approx(5_000, rel=0.1)
    assert budget.used_bytes_per_s(now_s=200.0) < 10
