"""Each window is held to what it says: equal to one Spark, or off by no more than it states."""

from __future__ import annotations

import pyarrow as pa

from headwater.local.demo.demo_check import _first_difference
from headwater.root.said.withheld import NONE_STATED, StatedError, StatedErrors

STATED = StatedErrors((StatedError("misses", "5 % of total", 5.0, 0.05, 5.0, True),), 1)


def rows(**misses: int) -> pa.Table:
    return pa.table({"url": list(misses), "misses": pa.array(list(misses.values()), pa.int64())})


TRUTH = {1: rows(a=90, b=5), 2: rows(a=40)}


def test_a_window_may_lack_what_it_states_and_no_other_may() -> None:
    lacking = {1: rows(a=90), 2: rows(a=40)}
    assert _first_difference(lacking, TRUTH, {1: STATED, 2: NONE_STATED}) is None
    assert "1" in (_first_difference(lacking, TRUTH, {}) or "")
    found = _first_difference({1: rows(a=89), 2: rows(a=40)}, TRUTH, {1: STATED})
    assert found == "window 1: misses: all rows lack 6, where 5 is stated"
    assert "window 2" in (_first_difference({1: rows(a=90)}, TRUTH, {1: STATED}) or "")
