"""A link is cut in the middle of a run: sites give up what they may, answers say so, and all of it
is there in the end."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import (
    Finally,
    Largest,
    Threshold,
    Tolerance,
    ToleratedColumn,
)
from headwater.algebra.rows.columns import Partial
from headwater.algebra.top.steps import Rest
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.query import Timing
from headwater.plan.tree import Tree
from headwater.root.said import top_book
from headwater.root.said.envelope import Envelope
from headwater.sim.faults.faults import Field, draw_faults
from headwater.sim.scenario import START_S, Scenario, draw_scenario
from headwater.sim.world.log import Workload
from headwater.sim.world.world import World

SITES = 4
PLAIN_SEED = 2
"""A world whose query is one of groups, by timestamps."""
WIDE, NARROW = 6_000.0, 1_300.0
"""Bytes a second; records of 40 bytes come thirty a second, in panes of two seconds."""
CUT_S = (30.0, 75.0)


def scenario(finally_: Finally, *, end_s: float = 170.0) -> Scenario:
    drawn = draw_scenario(PLAIN_SEED, site_count=SITES)
    plan = Degradation(
        (Operator(OperatorKind.THRESHOLD, (0.25, 0.5, 1.0), "n", text="threshold(n, 80 %)"),),
        follows=finally_ is Finally.EXACT,
    )
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.8)
    query = msgspec.structs.replace(
        drawn.first_query,
        window=WindowSpec(2_000_000, 2_000_000),
        begin_pane=round(START_S / 2) + 5,
        program=msgspec.structs.replace(
            drawn.first_query.program, partials=(Partial("n", "bigint", "sum"),), keys=()
        ),
        timing=Timing(deadline_s=6.0, disorder_s=0.5, lateness_s=60.0),
        tolerance=Tolerance((column,), finally_, threshold=Threshold("n")),
        degradation=plan,
        sites=(),
        node_set=msgspec.UNSET,
        root=drawn.roster.home,
        waits=msgspec.UNSET,
        reads_past=msgspec.UNSET,
        share=msgspec.UNSET,
        demand=msgspec.UNSET,
        rounds=msgspec.UNSET,
    )
    root = drawn.roster.site(drawn.roster.home).ordinal
    others = [site.ordinal for site in drawn.roster.sites if site.ordinal != root]
    star = Tree(root, tuple((one, root) for one in others))
    busy = Workload(30.0, ((START_S + 5.0, START_S + 100.0),), 0.2, 0.0, 0.0, is_even=True)
    return msgspec.structs.replace(
        drawn,
        trees=(star,),
        query_trees=(star,),
        first_query=query,
        workloads=(busy,) * len(drawn.roster.sites),
        offsets_s=(0.0,) * len(drawn.roster.sites),
        faults=(),
        faults_until_s=100.0,
        end_s=end_s,
        refusals=(),
        bytes_per_s=WIDE,
        further_parts=(),
        is_finite=False,
        budgets={},
    )


def envelopes(made: Scenario, *, cut_s: tuple[float, float] | None = CUT_S) -> list[Envelope]:
    world, found = World(made), list[Envelope]()
    published = world.checkers.published

    def watch(site, answer, rows) -> None:
        published(site, answer, rows)
        found.extend(request.envelope for request in answer.requests)

    world.checkers.published = watch
    names, home = [site.name for site in made.roster.sites], made.roster.home

    def shape(rate: float) -> None:
        for name in names:
            if name != home:
                world.network.shape((name, home), bytes_per_s=rate, extra_delay_s=0.0)

    if cut_s is not None:
        world.queue.at(START_S + cut_s[0], shape, NARROW)
        world.queue.at(START_S + cut_s[1], shape, WIDE)
    outcome = world.run()
    assert outcome.is_good, outcome.failure
    return found


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


# The largest groups alone

COUNT = 2
"""Of nine groups, of which each has half as much as the one before."""


def largest(finally_: Finally, count: int = COUNT) -> Scenario:
    made = scenario(finally_)
    plan = Degradation(
        (Operator(OperatorKind.TOP, (float(count),), "n", text=f"top({count}, n)"),),
        follows=finally_ is Finally.EXACT,
    )
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 1.0)
    query = msgspec.structs.replace(
        made.first_query,
        tolerance=Tolerance((column,), finally_, largest=Largest("n", count)),
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


FOUND = (133, 135)
"""A site whose clock was ahead had closed a pane as empty, and keeps back of its late records; one
begins anew, without its disk, by a clock that is behind."""


@pytest.mark.parametrize("seed", [*range(6), *FOUND])
def test_no_row_is_called_exact_that_is_not_whoever_fails_between_two_steps(seed: int) -> None:
    """Sites, links and the root fail while it asks; the checkers hold each answer against what
    there was."""
    random = Random(f"largest {seed}")
    made = largest(random.choice(list(Finally)))
    names, home = tuple(site.name for site in made.roster.sites), made.roster.home
    field = Field(
        sites=names,
        data_sites=tuple(site.name for site in made.roster.sites if site.has_data),
        root=home,
        links=tuple((name, home) for name in names if name != home),
        from_s=CUT_S[0],
        until_s=95.0,
        long_s=700.0,
    )
    pace = msgspec.structs.replace(made.pace, retention_s=600.0)
    faults = draw_faults(random, field)
    made = msgspec.structs.replace(made, faults=faults, end_s=260.0, pace=pace)
    assert envelopes(made)


def test_a_root_that_takes_what_is_in_for_all_of_it_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(top_book, "_rest", lambda requests, sites, largest, asked: Rest(sites, 0.0))
    with pytest.raises(AssertionError, match="the first rows are exact"):
        envelopes(largest(Finally.BOUNDED, count=5))
