"""A world whose links are cut in the middle of a run, and the answers that come of it."""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Threshold, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.query import Timing
from headwater.plan.tree import Tree
from headwater.root.said.envelope import Envelope
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
