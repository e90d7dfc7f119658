"""What a site says it gives up over a stretch of panes, and what holds before and after it."""

from __future__ import annotations

import pytest

from headwater.algebra.words.degraded import Degraded, Why, degraded_at, with_degraded_over

LATER = (Degraded(2, 1, Why.QUEUE), Degraded(8, 2, Why.QUEUE), Degraded(20, 0, Why.RESTORED))


@pytest.mark.parametrize(("first", "last"), [(5, 7), (5, 6), (3, 9), (8, 12), (21, 25), (0, 1)])
def test_a_stretch_changes_nothing_beside_it(first: int, last: int) -> None:
    said = with_degraded_over(LATER, Degraded(first, 3, Why.BACKLOG), last=last)
    for pane in range(30):
        at, before = degraded_at(said, pane), degraded_at(LATER, pane)
        if first <= pane <= last:
            assert at == Degraded(first, 3, Why.BACKLOG), pane
        else:
            step = 0 if before is None else before.step
            assert (0 if at is None else at.step) == step, pane
    assert [one.pane for one in said] == sorted({one.pane for one in said}), "each once"
