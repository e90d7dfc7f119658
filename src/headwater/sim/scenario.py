"""A world from a seed: its sites and trees, its queries, its records, its troubles.

Times are short, so that a few virtual minutes show what days would: panes of some seconds, seals
after half a minute, cubes that forget after one. What matters is their order, which is kept:
disorder < deadline < summary life < lateness < retention.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.node.config import NodeConfig
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.plan.node_sets import is_asked
from headwater.plan.part import Part
from headwater.plan.query import Query, QueryId, TimeKind, Timing
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree
from headwater.sim.faults.faults import (
    Fault,
    Field,
    draw_alters,
    draw_faults,
    draw_liar,
    draw_questions,
    draw_slow_machines,
    draw_steps,
)
from headwater.sim.level_kinds import draw_backlog, draw_level_threshold, draw_levels
from headwater.sim.query_kinds import (
    PAST_S,
    draw_dealt,
    draw_degradation,
    draw_demand,
    draw_growing,
    draw_largest,
    draw_past,
    draw_rate,
    draw_rounds,
    draw_sequence,
    draw_sessions,
    draw_share,
    draw_states,
    draw_time,
    draw_tolerance,
    draw_waiting,
)
from headwater.sim.records.admits import admitting
from headwater.sim.tuning import (
    Limits,
    Pace,
    draw_ahead,
    draw_budgets,
    draw_digests,
    draw_limits,
    draw_link_budgets,
    draw_memory,
    draw_pace,
)
from headwater.sim.world.latencies import Matrix
from headwater.sim.world.log import Workload

START_S = 1_000_000.0
"""True time at the start of every run."""
SLIDE_S_MIN = 5
SITE_COUNT = 10
ORDINALS_APART = (1, 64, 128, 256)
"""From one site to the next. A leaf of an acknowledgement covers 256 ordinals: all sites of a
world, four, two, or one. Between them are those of sites that are gone."""
FAULT_S = 120.0
LIES_S = 20.0
"""How much longer a world has to become final where a member lies: the root asks sites for what it
spoilt, and each question takes an acknowledgement."""
FINITE_SHARE = 0.12
"""How many worlds have logs that are complete at the start."""
WRONG_DAY_SHARE = 0.25
"""How many worlds have clocks that are wrong by hours from the start."""
DAY_S = 86_400.0

TREE_COUNTS = (1, 1, 2, 4)


class Scenario(msgspec.Struct, frozen=True):
    """Everything that a run is a function of."""

    seed: int
    roster: Roster
    trees: tuple[Tree, ...]
    """The federation's."""
    offsets_s: tuple[float, ...]
    delays_s: Sequence[Sequence[float]] | Matrix
    """From site to site, by place in the roster."""
    workloads: tuple[Workload, ...]
    first_query: Query
    """Of a stream with several roots: its first part."""
    refusals: tuple[tuple[str, str], ...]
    """(site, name of a query) that the site's policy does not admit."""
    faults: tuple[Fault, ...]
    faults_until_s: float
    end_s: float
    is_finite: bool = False
    """The logs are complete at the start, and their queries end."""
    pace: Pace = Pace()
    limits: Limits = Limits()
    config: NodeConfig | None = None
    """The machines' configuration; None: made of pace and limits."""
    query_trees: tuple[Tree, ...] = ()
    """Of the first query; empty: the federation's, or drawn."""
    drifts_ppm: tuple[float, ...] = ()
    jitter: float = 0.25
    """Delays are longer by up to this share."""
    bytes_per_s: float | None = None
    """What links carry; None: there is no limit."""
    install_s: float = 2.0
    """When the first query is installed."""
    merges: bool = True
    """False: relays pass everything on unmerged."""
    further_parts: tuple[Query, ...] = ()
    """The other parts of the first query's stream, installed with it."""
    levels: tuple[Query, ...] = ()
    """Of the first query, installed with it."""
    budgets: dict[str, LinkBudgets] = {}
    """By site: what it may send."""


def draw_scenario(seed: int, *, site_count: int = SITE_COUNT, fault_s: float = FAULT_S) -> Scenario:
    """The world of this seed. ``fault_s``: how long the safety phase lasts."""
    random = Random(f"scenario {seed}")
    apart = Random(f"ordinals {seed}").choice(ORDINALS_APART)
    roster = _draw_roster(random, site_count, apart=apart)
    trees = draw_trees(random, roster, root=roster.site(roster.home).ordinal)
    query = draw_query(random, roster, number=1, installer=roster.home, begin_s=START_S + 5.0)
    is_finite = random.random() < FINITE_SHARE
    levels: tuple[Query, ...] = ()
    if not is_finite:
        query, levels = draw_levels(Random(f"levels {seed}"), query)
    if levels:
        query = draw_backlog(Random(f"backlog {seed}"), query, levels)
        threshold = Random(f"threshold of levels {seed}")
        query, levels = draw_level_threshold(threshold, query, levels)
    if is_finite:
        query = msgspec.structs.replace(query, begin_pane=None, ends=True)
    elif not levels:
        query = draw_states(Random(f"states {seed}"), query)
        query = draw_time(Random(f"time {seed}"), query)
        query = draw_sequence(Random(f"sequence {seed}"), query)
        query = draw_past(Random(f"past {seed}"), query, now_s=START_S)
        query = draw_sessions(Random(f"sessions {seed}"), query)
        query = draw_growing(Random(f"growing {seed}"), query)
        query = draw_tolerance(Random(f"tolerance {seed}"), query)
        asked = sum(site.has_data and is_asked(query, site) for site in roster.sites)
        query = draw_dealt(Random(f"shares {seed}"), query, sites=asked, now_s=START_S)
        query = draw_degradation(Random(f"degradation {seed}"), query)
        query = draw_largest(Random(f"largest {seed}"), query)
        query = draw_waiting(Random(f"waiting {seed}"), query)
        query = draw_demand(Random(f"fidelity {seed}"), query)
        query = draw_rounds(Random(f"rounds {seed}"), query)
    query = draw_share(Random(f"share {seed}"), query)
    pace = draw_pace(Random(f"updates {seed}"))
    faults_until_s = 10.0 + fault_s
    grace_s = grace_of(query.timing, pace)
    data = tuple(site.name for site in roster.sites if site.has_data)
    field = Field(
        sites=tuple(site.name for site in roster.sites),
        data_sites=data,
        root=query.root,
        links=_links(roster, trees),
        from_s=8.0,
        until_s=faults_until_s,
        long_s=pace.retention_s + 20.0,
    )
    lies = draw_liar(Random(f"liar {seed}"), field)
    return Scenario(
        seed=seed,
        roster=roster,
        trees=trees,
        offsets_s=_draw_wrong_days(
            Random(f"clocks {seed}"), tuple(_draw_offset(random) for _ in roster.sites)
        ),
        delays_s=_draw_delays(random, len(roster.sites)),
        workloads=tuple(
            _draw_workload(
                random,
                faults_until_s + grace_s,
                is_finite=is_finite,
                before_s=PAST_S[-1] if query.reads_past is True else 0.0,
            )
            for _ in roster.sites
        ),
        first_query=query,
        refusals=_draw_refusals(random, data),
        faults=in_order(
            *draw_faults(Random(f"faults {seed}"), field),
            *draw_slow_machines(Random(f"slow machines {seed}"), field),
            *lies,
            *draw_alters(Random(f"alters {seed}"), field),
            *draw_questions(Random(f"questions {seed}"), field),
            *draw_steps(Random(f"steps {seed}"), field, steps=_steps(query, len(levels))),
        ),
        faults_until_s=faults_until_s,
        end_s=faults_until_s + grace_s + (LIES_S if lies else 0.0),
        is_finite=is_finite,
        pace=pace,
        limits=_draw_limits(random, seed, is_finite=is_finite),
        bytes_per_s=draw_rate(Random(f"rates {seed}"), query),
        levels=levels,
        budgets=draw_link_budgets(Random(f"link budgets {seed}"), _links(roster, trees)),
    )


def in_order(*faults: Fault) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: fault.at_s))


def in_parts(scenario: Scenario, count: int) -> Scenario:
    """The same world, with the stream of its first query divided among so many roots. It asks for
    records, by timestamps: the last n of all groups are not the last n of each part's, and by age
    each part goes by the clock of its own root. It has no levels, which a stream in parts can't."""
    whole = msgspec.structs.replace(scenario.first_query, last_n=msgspec.UNSET, time=TimeKind.EVENT)
    random = Random(f"parts {scenario.seed}")
    others = [s.name for s in scenario.roster.sites if s.dialable and s.name != whole.root]
    roots = [whole.root, *random.sample(others, count - 1)]
    first_number = whole.id.counter
    parts = []
    for number, root in enumerate(roots, start=1):
        part = Part(whole.id.name, number, count)
        id_ = QueryId(part.query_name, whole.id.installer, first_number + number - 1)
        unit_last = first_number + count - 1
        parts.append(
            msgspec.structs.replace(whole, id=id_, root=root, part=part, unit_last=unit_last)
        )
    return msgspec.structs.replace(
        scenario, first_query=parts[0], further_parts=tuple(parts[1:]), levels=()
    )


def grace_of(timing: Timing, pace: Pace) -> float:
    """Within this time of the last fault every pane that ended by then must be settled.

    The pane must be sealed, its last update must be found lacking (its life and an
    acknowledgement), come again, and the answer be made and revised; links must be there again.
    """
    lateness_s = timing.lateness_s if timing.lateness_s is not None else pace.retention_s
    return lateness_s + 2 * (pace.summary_life_s + 2 * pace.ack_every_s) + 25.0


def draw_trees(random: Random, roster: Roster, *, root: int) -> tuple[Tree, ...]:
    """A tree set: one tree, or several that have nothing in common but the root."""
    return tuple(draw_tree(random, roster, root=root) for _ in range(random.choice(TREE_COUNTS)))


def draw_tree(random: Random, roster: Roster, *, root: int) -> Tree:
    """Any tree in which one end of every link can be dialled."""
    dialable = {site.ordinal: site.dialable for site in roster.sites}
    others = [site.ordinal for site in roster.sites if site.ordinal != root]
    random.shuffle(others)
    others.sort(key=lambda ordinal: not dialable[ordinal])
    fan_out = random.choice((1, 2, 3, 4, 9))
    children: dict[int, int] = {root: 0}
    parents = []
    for ordinal in others:
        free = [
            parent
            for parent, count in children.items()
            if count < fan_out and (dialable[parent] or dialable[ordinal])
        ] or [parent for parent in children if dialable[parent]]
        parent = random.choice(free)
        children[parent] += 1
        children[ordinal] = 0
        parents.append((ordinal, parent))
    return Tree(root, tuple(parents))


def draw_query(
    random: Random, roster: Roster, *, number: int, installer: str, begin_s: float
) -> Query:
    slide_s = random.choice((SLIDE_S_MIN, 10))
    window = WindowSpec(slide_s * random.choice((1, 1, 2, 3)) * MICROS, slide_s * MICROS)
    dialable = [site.name for site in roster.sites if site.dialable]
    data = [site.name for site in roster.sites if site.has_data]
    some = tuple(sorted(random.sample(data, max(1, len(data) * 2 // 3))))
    first_window = window.first_window_from(int(begin_s * MICROS))
    return Query(
        id=QueryId(f"q{number}", installer, number),
        window=window,
        program=admitting(random.choice((1, 3, 7))),
        root=random.choice((roster.home, random.choice(dialable))),
        sites=random.choice(((), (), some)),
        begin_pane=window.panes_of(first_window)[0],
        timing=Timing(
            deadline_s=random.choice((4.0, 8.0)),
            disorder_s=random.choice((1.0, 2.0)),
            lateness_s=random.choice((25.0, 35.0)),
            revise_every_s=random.choice((1.0, 3.0)),
            revise_for_s=random.choice((86_400.0, 86_400.0, 120.0)),
        ),
    )


def _steps(query: Query, levels: int) -> int:
    """That sites may go to: those of all operators, or of the levels alone."""
    return query.degrades.last_step if levels and query.degrades is not None else levels


def _draw_roster(random: Random, site_count: int, *, apart: int) -> Roster:
    sites = [
        Site(
            ordinal=place * apart,
            name=f"s{place}",
            dialable=place == 0 or random.random() < 0.85,
            has_data=place == 0 or random.random() < 0.85,
        )
        for place in range(site_count)
    ]
    return Roster(version=1, sites=tuple(sites), home="s0")


def _draw_offset(random: Random) -> float:
    """Most clocks are good, some are not."""
    if random.random() < 0.8:
        return random.uniform(-0.2, 0.2)
    return random.uniform(-6.0, 6.0)


def _draw_wrong_days(random: Random, offsets_s: tuple[float, ...]) -> tuple[float, ...]:
    """In some worlds the clocks of a site or two are wrong by up to a day, from the start on."""
    if random.random() >= WRONG_DAY_SHARE:
        return offsets_s
    wrong = random.sample(range(len(offsets_s)), random.choice((1, 1, 2)))
    return tuple(
        random.uniform(-DAY_S, DAY_S) if place in wrong else offset_s
        for place, offset_s in enumerate(offsets_s)
    )


def _draw_delays(random: Random, count: int) -> tuple[tuple[float, ...], ...]:
    return tuple(
        tuple(round(random.uniform(0.005, 0.15), 4) for _ in range(count)) for _ in range(count)
    )


def _draw_refusals(random: Random, sites: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Now and then a site does not admit a query."""
    if random.random() < 0.85:
        return ()
    return ((random.choice(sites), random.choice(("q1", "q2"))),)


def _draw_workload(
    random: Random, length_s: float, *, is_finite: bool, before_s: float
) -> Workload:
    """Steady, bursty or nearly idle: idle stretches make empty closes, long ones runs of them.
    ``before_s``: how long before the start a log that grows has begun."""
    end_s = START_S + (0.0 if is_finite else length_s)
    busy, at_s = [], START_S - (length_s / 2 if is_finite else before_s)
    if random.random() < 0.3:
        while at_s < end_s:
            until_s = at_s + random.uniform(5.0, 40.0)
            busy.append((at_s, min(until_s, end_s)))
            at_s = until_s + random.choice((10.0, 30.0, 90.0))
    else:
        busy.append((at_s, end_s))
    return Workload(
        records_per_s=random.choice((0.05, 0.3, 0.6, 1.0)),
        busy_s=tuple(busy),
        disorder_s=0.9,
        late_share=random.choice((0.0, 0.03, 0.1)),
        late_s=random.choice((6.0, 20.0, 60.0)),
    )


def _draw_limits(random: Random, seed: int, *, is_finite: bool) -> Limits:
    limits = draw_budgets(Random(f"budgets {seed}"), draw_limits(random))
    limits = draw_digests(Random(f"digests {seed}"), limits)
    limits = draw_memory(Random(f"memory {seed}"), limits)
    return limits if is_finite else draw_ahead(Random(f"ahead {seed}"), limits)


def _links(roster: Roster, trees: tuple[Tree, ...]) -> tuple[tuple[str, str], ...]:
    names = {site.ordinal: site.name for site in roster.sites}
    pairs = dict.fromkeys(pair for tree in trees for pair in tree.parents)
    return tuple((names[child], names[parent]) for child, parent in pairs)
