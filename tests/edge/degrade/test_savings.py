"""What a step saves, as it is seen when the step comes in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pane_kit import FULL

from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.edge.degrade.degrading import Degrading
from headwater.edge.degrade.savings import LEFT_MIN, SEEN_MAX, Savings
from headwater.edge.outputs import UpdatesMade
from headwater.plan.altered.link_share import CLOSE_BYTES, EVEN
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind

PLAN = Degradation(
    (
        Operator(OperatorKind.COARSEN_KEY, (1.0,), "url", "left(url, 1)", "coarsen(url, …)"),
        Operator(OperatorKind.THRESHOLD, (0.5, 1.0), "hits", text="threshold(hits, 1 %)"),
    )
)


def degrading() -> Degrading:
    settings: Any = SimpleNamespace(degradation=PLAN)
    state: Any = SimpleNamespace(
        id=str(FULL.id),
        query=FULL,
        record=SimpleNamespace(degraded=(), lowest_unclosed=lambda: 5),
        settings=SimpleNamespace(at=lambda pane: settings, newest=SimpleNamespace(share=EVEN)),
        book=SimpleNamespace(fresh={}),
        change=lambda news, **fields: None,
    )
    return Degrading(state)


def period(one: Degrading, wire_bytes: int, way: float, *, now_s: float) -> None:
    made = UpdatesMade(str(FULL.id), 5, 1, 1, wire_bytes=wire_bytes)
    one.made(made, is_first=True)
    one.look(WayCapacity(way, "hub"), now_s=now_s)


def test_what_a_coarser_key_leaves_is_seen_when_a_site_goes_to_it() -> None:
    one = degrading()
    for n in range(2):
        period(one, 10_000 - CLOSE_BYTES, 600.0, now_s=10.0 * n)
    assert one.step == 1, "1,000 bytes a second did not fit twice"
    period(one, 2_500 - CLOSE_BYTES, 600.0, now_s=20.0)
    assert one.savings.left(PLAN, 1) == pytest.approx(
        (2_500 - CLOSE_BYTES) / (10_000 - CLOSE_BYTES)
    )


def test_a_threshold_is_not_learned_so_and_nothing_is_called_no_step() -> None:
    savings = Savings().saw_step(PLAN, 1, 1.7).saw_step(PLAN, 2, 0.2)
    assert savings.seen == {1: SEEN_MAX}
    assert savings.same() == set()
    assert Savings().saw_step(PLAN, 1, 0.0).seen == {1: LEFT_MIN}
