"""Links are cut in the middle of a run: sites send the largest groups alone, the root asks for what
it needs of the others, and the first rows of answers are exact, whoever fails in between."""

from __future__ import annotations

import msgspec
import pytest
from narrow_world import envelopes, scenario

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Largest, Tolerance, ToleratedColumn
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.root.said.envelope import Envelope
from headwater.sim.scenario import Scenario

COUNT = 2
"""Of nine groups, of which each has half as much as the one before."""


def largest(finally_: Finally) -> Scenario:
    made = scenario(finally_)
    plan = Degradation(
        (Operator(OperatorKind.TOP, (float(COUNT),), "n", text=f"top({COUNT}, n)"),),
        follows=finally_ is Finally.EXACT,
    )
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 1.0)
    query = msgspec.structs.replace(
        made.first_query,
        tolerance=Tolerance((column,), finally_, largest=Largest("n", COUNT)),
        degradation=plan,
    )
    return msgspec.structs.replace(made, first_query=query)


def exact_rows(found: list[Envelope]) -> dict[int, int]:
    """By window that lacked something, the most in any of its answers."""
    sure: dict[int, int] = {}
    for one in found:
        if one.withheld and one.withheld.first is not None:
            sure[one.window] = max(sure.get(one.window, 0), one.withheld.first.exact)
    return sure


@pytest.mark.parametrize("finally_", list(Finally))
def test_the_first_rows_are_exact_while_links_are_narrow(finally_: Finally) -> None:
    found = envelopes(largest(finally_))
    newest = {one.window: one for one in found}
    sure = exact_rows(found)
    assert sure, "the links were narrow"
    assert sum(count == COUNT for count in sure.values()) > len(sure) / 2
    said = {entry.operator for one in found for entry in one.degraded}
    assert said == {f"top({COUNT}, n)"}
    left = [window for window, one in newest.items() if one.withheld]
    assert bool(left) is (finally_ is Finally.BOUNDED)
    assert not newest[max(newest)].degraded, "the links have recovered"
