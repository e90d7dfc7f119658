"""A link is cut in the middle of a run: sites give up what they may, answers say so, and all of it
is there in the end."""

from __future__ import annotations

import pytest
from narrow_world import envelopes, scenario

from headwater.algebra.remainders.tolerance import Finally


@pytest.mark.parametrize("finally_", list(Finally))
def test_answers_say_who_gives_up_what_while_a_link_is_narrow(finally_: Finally) -> None:
    found = envelopes(scenario(finally_))
    newest = {one.window: one for one in found}
    degraded = [one for one in found if one.degraded]
    assert degraded, "the links were narrow"
    assert all(one.withheld and not one.exact for one in degraded)
    said = {entry.operator for one in degraded for entry in one.degraded}
    assert said == {"threshold(n, 80 %)"}
    is_exact = finally_ is Finally.EXACT
    assert all(entry.follows is is_exact for one in degraded for entry in one.degraded)
    left = [window for window, one in newest.items() if one.degraded]
    assert bool(left) is not is_exact
    assert not newest[max(newest)].degraded, "the links have recovered"


def test_nothing_is_given_up_on_a_wide_link() -> None:
    assert not any(one.degraded for one in envelopes(scenario(Finally.BOUNDED), cut_s=None))
