"""Checkers that never fail prove nothing: machines that are broken on purpose must be caught.

Each mutant breaks one rule of the protocol in the real machines. It must be found within a few
seeds, and by the checker of a rule that it breaks.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec
import pytest

from headwater.algebra.budget import Budget
from headwater.algebra.coverage import OPEN, Coverage
from headwater.algebra.demand import Demand
from headwater.algebra.fidelity import Fidelity, measure
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.summary import Lane
from headwater.algebra.windows import sessions
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER
from headwater.edge import query_edge
from headwater.edge.closing.closing import SourceClock
from headwater.edge.outbox.outbox import Outbox
from headwater.edge.outbox.pane_book import PaneBook
from headwater.edge.outbox.sending import Sending
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import EdgeRecord
from headwater.edge.words.telling import Telling
from headwater.overlay.carry.ack_relay import AckRelay
from headwater.overlay.carry.summary_entry import SummaryEntry
from headwater.overlay.carry.time_space_list import TimeSpaceList
from headwater.overlay.commands.command_log import CommandLog
from headwater.overlay.wakefulness import Wakefulness
from headwater.plan.command import Count
from headwater.plan.notice import Notice
from headwater.plan.query import Query, QueryId
from headwater.root import eviction, pane_board
from headwater.root.eviction import Eviction
from headwater.root.outputs import Keep
from headwater.root.pane_board import PaneBoard
from headwater.root.root import Root
from headwater.root.said.reached import Reached
from headwater.root.scoreboard import Scoreboard, Verdict
from headwater.root.site_table import SiteTable
from headwater.root.windows import Window
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.outcome import Outcome
from headwater.sim.records.admits import growing
from headwater.sim.records.ledger_disk import LedgerDisk
from headwater.sim.records.state_book import StateBook
from headwater.sim.scenario import Scenario, draw_scenario
from headwater.sim.sweep import with_faults
from headwater.sim.tuning import Pace
from headwater.sim.world.disk import CubeDisk
from headwater.sim.world.keys import SimulatedSignatures
from headwater.sim.world.world import World

SEEDS_MAX = 60
"""Within so many seeds a mutant must be found; most are found by the first three."""
LIARS = 5
"""Worlds in which a member lies and all is well; every sweep (``make sim``) has many more."""
PART = 5
"""Seeds of one test where all must be good, so that a slow machine meets no time limit."""
SLOWED_TIMES = 600.0
"""As long as elsewhere: more than half a second for each message."""
Patch = pytest.MonkeyPatch


def failures(scenarios: Iterator[Scenario]) -> Iterator[Outcome]:
    for scenario in scenarios:
        outcome = World(scenario).run()
        if not outcome.is_good:
            yield outcome


def drawn() -> Iterator[Scenario]:
    return (draw_scenario(seed) for seed in range(1, SEEDS_MAX + 1))


def troubled(*kinds: Kind, every_s: float = 9.0, for_s: float = 3.0) -> Iterator[Scenario]:
    """Worlds in which every link or site meets faults of these kinds, one after the other."""
    for scenario in drawn():
        names = {site.ordinal: site.name for site in scenario.roster.sites}
        links = [(names[child], names[parent]) for child, parent in scenario.trees[0].parents]
        faults = []
        for number in range(int(120 / every_s)):
            kind = kinds[number % len(kinds)]
            struck = links[number % len(links)]
            at_s = 12.0 + number * every_s
            faults.append(Fault(kind, at_s, for_s, struck, value=float(number % 3)))
        yield with_faults(scenario, tuple(faults))


def finely_cut() -> Iterator[Scenario]:
    """A pane leaves in many updates, and links break while they are under way."""
    for scenario in troubled(Kind.RESET, every_s=2.0):
        yield msgspec.structs.replace(scenario, pace=Pace(update_records_max=1))


def lied_to() -> Iterator[Scenario]:
    """Nothing is wrong but one member, which lies three times a second."""
    for scenario in drawn():
        names = {site.ordinal: site.name for site in scenario.roster.sites}
        carriers = Counter(names[parent] for tree in scenario.trees for _, parent in tree.parents)
        del carriers[scenario.first_query.root]
        liar = max(carriers, key=lambda name: (carriers[name], name), default="s1")
        yield with_faults(scenario, (Fault(Kind.LIES, 15.0, 90.0, (liar,), value=0.3),))


def removed_behind_a_cut() -> Iterator[Scenario]:
    """A site is cut off while its query is removed, so it must learn of it afterwards."""
    for scenario in drawn():
        names = {site.ordinal: site.name for site in scenario.roster.sites}
        leaf = names[scenario.trees[0].parents[-1][0]]
        faults = (
            Fault(Kind.PARTITION, 20.0, 30.0, (leaf,)),
            Fault(Kind.REMOVE, 35.0, 0.0, (scenario.roster.home,)),
        )
        yield with_faults(scenario, faults)


def slowed() -> Iterator[Scenario]:
    """Half of the machines need so long for everything that more comes than they can hear."""
    for scenario in drawn():
        names = tuple(site.name for site in scenario.roster.sites[:5])
        fault = Fault(Kind.SLOW_MACHINE, 15.0, 60.0, names, SLOWED_TIMES)
        yield with_faults(scenario, (fault,))


def in_want_of_budgets() -> Iterator[Scenario]:
    """Nearly all is lost at once, again and again, and little may be tried in a second."""
    for scenario in troubled(Kind.PARTITION, Kind.POWER, every_s=12.0, for_s=9.0):
        limits = msgspec.structs.replace(
            scenario.limits,
            dials_per_s_max=0.5,
            dials_burst_max=2.0,
            hosts_sought_per_s_max=0.5,
            hosts_sought_burst_max=2.0,
        )
        yield msgspec.structs.replace(scenario, limits=limits)


def of_states(*kinds: Kind, for_s: float = 25.0) -> Iterator[Scenario]:
    """State queries at sites that stand still for several panes and then close them at once."""
    for scenario in troubled(*kinds, every_s=5.0, for_s=for_s):
        if scenario.first_query.holds_states:
            yield scenario


def of_the_past() -> Iterator[Scenario]:
    return (scenario for scenario in drawn() if scenario.first_query.wants_past)


def of_sessions() -> Iterator[Scenario]:
    return (one for one in drawn() if one.first_query.sessions is not msgspec.UNSET)


def of_growing_states() -> Iterator[Scenario]:
    """Every pane with two values is beyond the limit."""
    for scenario in drawn():
        query = scenario.first_query
        if not query.holds_states:
            query = msgspec.structs.replace(query, program=growing(query.program, rows_max=1))
            yield msgspec.structs.replace(scenario, first_query=query)


def of_demands() -> Iterator[Scenario]:
    """Nearly all has to be in, and below that nothing is shown."""
    demand = Demand(area=95_000, is_silent=True)
    for scenario in drawn():
        query = msgspec.structs.replace(scenario.first_query, demand=demand)
        yield msgspec.structs.replace(scenario, first_query=query)


def of_enough() -> Iterator[Scenario]:
    """Windows that overlap are final long before they have ended."""
    demand = Demand(area=40_000, is_final=True)
    for scenario in drawn():
        query = scenario.first_query
        if query.window.panes_per_window > 1 and not query.ends:
            query = msgspec.structs.replace(query, demand=demand)
            yield msgspec.structs.replace(scenario, first_query=query)


def root_calls_unwanted_what_a_window_wants(patch: Patch) -> None:
    patch.setattr(Eviction, "_is_wanting", lambda self, number: False)


def root_takes_back_that_a_pane_is_unwanted(patch: Patch) -> None:
    freeze = Eviction.freeze

    def anew(self: Eviction, window: Window, *, is_restored: bool) -> None:
        self.unwanted.panes.remove(-FOREVER, FOREVER)
        freeze(self, window, is_restored=is_restored)

    patch.setattr(Eviction, "freeze", anew)


def site_makes_what_is_unwanted(patch: Patch) -> None:
    put = QueryState.put

    def deaf(self: QueryState, record: EdgeRecord, news: News) -> None:
        put(self, record, news)
        self.unwanted = IntervalSet()

    patch.setattr(QueryState, "put", deaf)


def root_states_a_fuller_answer_than_it_has(patch: Patch) -> None:
    def measured(panes: Sequence[int], expected: int, **asked: int | None) -> Fidelity:
        return measure([expected for _ in panes], expected)

    patch.setattr(eviction, "measure", measured)


def root_shows_rows_below_the_demand(patch: Patch) -> None:
    of = Reached.of.__func__  # type: ignore[attr-defined]

    def loud(cls: type[Reached], *args: object, **more: object) -> Reached:
        made: Reached = of(cls, *args, **more)
        return msgspec.structs.replace(made, is_silent=False)

    patch.setattr(Reached, "of", classmethod(loud))


def root_counts_copies(patch: Patch) -> None:
    judge = Scoreboard.judge

    def accepting(self: Scoreboard, pane: int, coverage: Coverage) -> Verdict:
        verdict = judge(self, pane, coverage)
        refused = (Verdict.CONTAINED, Verdict.OVERLAPPING)
        return Verdict.ACCEPTED if verdict in refused and coverage.has_rows else verdict

    patch.setattr(Scoreboard, "judge", accepting)


def relay_merges_what_overlaps(patch: Patch) -> None:
    def merge(self: Coverage, other: Coverage) -> Coverage:
        return Coverage(
            whole=self.whole | other.whole,
            empty=self.empty | other.empty,
            tag=self.tag ^ other.tag,
            parts=self.parts + other.parts,
            groups=self.groups + other.groups,
        )

    patch.setattr(Coverage, "merge", merge)
    patch.setattr(SummaryEntry, "has_place_for", lambda self, coverage: True)


def site_repairs_in_the_open(patch: Patch) -> None:
    say = Sending._say

    def as_live(self: Sending, edge, pane, updates, lane):  # type: ignore[no-untyped-def]
        say(self, edge, pane, updates, Lane.LIVE if lane is Lane.SPARE else lane)

    patch.setattr(Sending, "_say", as_live)


def site_forgets_what_it_sent(patch: Patch) -> None:
    patch.setattr(CubeDisk, "mark_sent", lambda *_: None)
    patch.setattr(CubeDisk, "_make_pane", _without_marks(CubeDisk._make_pane))


def _without_marks(cut_pane: Callable[..., object]) -> Callable[..., object]:
    def cutting(self: object, cut: object, pane: int, panes: dict, now_s: float) -> object:  # type: ignore[type-arg]
        done = cut_pane(self, cut, pane, panes, now_s)
        if pane in panes:
            panes[pane].sent = ()
        return done

    return cutting


def site_closes_by_its_clock(patch: Patch) -> None:
    def closable(query: Query, clock: SourceClock, *, now_s: float | None) -> int:
        return -FOREVER if now_s is None else query.window.pane_at(round(now_s * 1e6))

    patch.setattr(query_edge, "closable_through", closable)


def site_does_not_wait_for_the_past(patch: Patch) -> None:
    patch.setattr(query_edge, "passed_through", lambda query, past: FOREVER)


def root_joins_sessions_over_longer_gaps(patch: Patch) -> None:
    found = sessions.find_sessions

    def joining(codes, first_us, last_us, *, gap_us):  # type: ignore[no-untyped-def]
        return found(codes, first_us, last_us, gap_us=gap_us + gap_us // 2)

    patch.setattr(sessions, "find_sessions", joining)


def site_sends_growing_states_beyond_their_limit(patch: Patch) -> None:
    patch.setattr(CubeDisk, "_is_over", lambda self, query, at: False)


def site_seals_at_the_close(patch: Patch) -> None:
    def sealable(
        query: Query, clock: SourceClock, *, lateness_s: float, now_s: float | None
    ) -> int:
        return -FOREVER if now_s is None else query.window.pane_at(round(now_s * 1e6))

    patch.setattr(query_edge, "sealable_through", sealable)


def site_is_deaf_to_requests(patch: Patch) -> None:
    patch.setattr(PaneBook, "ask", lambda *_: None)


def root_acknowledges_everything(patch: Patch) -> None:
    patch.setattr(PaneBoard, "first_held", lambda self: (1 << 2_560) - 1)


def root_loses_a_write(patch: Patch) -> None:
    """As a disk that says "written" before it is."""
    keep = LedgerDisk.keep

    def sometimes(self: LedgerDisk, effect: Keep) -> None:
        if effect.kept.number % 11:
            keep(self, effect)

    patch.setattr(LedgerDisk, "keep", sometimes)


def root_believes_closes(patch: Patch) -> None:
    """A site counts as covered when it has said how much there is, not when it is in."""
    patch.setattr(pane_board, "_is_complete", lambda key: key[1] != OPEN)


def site_takes_held_for_all_that_it_has(patch: Patch) -> None:
    """Also for a late update, of which the root may not have heard."""
    patch.setattr(Telling, "bit_means_held", lambda *_, **__: True)


def root_calls_answers_final_before_they_are_sealed(patch: Patch) -> None:
    patch.setattr(SiteTable, "sealed_through", property(lambda self: FOREVER))


def root_forgets_at_a_restart(patch: Patch) -> None:
    patch.setattr(Root, "restore", lambda self, kept, *, now_s: None)


def removals_are_not_learned(patch: Patch) -> None:
    adopt = CommandLog.adopt

    def adopting(self: CommandLog, count: Count) -> list[QueryId]:
        known = self.counts.get(count.installer)
        live = () if known is None else known.live
        named = tuple(sorted({*count.live, *live}))
        return adopt(self, msgspec.structs.replace(count, live=named, ended=()))

    patch.setattr(CommandLog, "adopt", adopting)


def _believing(what: str) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        patch.setattr(SimulatedSignatures, f"is_{what}_of", lambda *args, **more: True)

    mutate.__name__ = f"anybody_is_believed_for_a_{what}"
    return mutate


def relay_hands_on_heads_alone(patch: Patch) -> None:
    def alone(self: AckRelay, ack: Acknowledgement, *_: object, **__: object) -> Acknowledgement:
        return msgspec.structs.replace(ack, leaves=())

    patch.setattr(AckRelay, "_trimmed", alone)


def relay_does_not_split(patch: Patch) -> None:
    patch.setattr(TimeSpaceList, "_split_out", lambda *_: [])


def _cutting(patch: Patch, **said: bool) -> None:
    cut_state = CubeDisk._make_state

    def cutting(*args):  # type: ignore[no-untyped-def]
        return msgspec.structs.replace(cut_state(*args), **said)

    patch.setattr(CubeDisk, "_make_state", cutting)


def site_takes_all_states_for_the_same(patch: Patch) -> None:
    _cutting(patch, is_same=True)


def site_calls_every_state_whole(patch: Patch) -> None:
    _cutting(patch, is_whole=True)


def site_counts_records_of_later_panes(patch: Patch) -> None:
    state = StateBook.state

    def newest(self: StateBook, pane: int, *, first_pane: int) -> tuple[list[int], bool]:
        return state(self, FOREVER, first_pane=first_pane)

    patch.setattr(StateBook, "state", newest)


def late_peers_accuse_others(patch: Patch) -> None:
    """The former rule: only who slept for longer than its patience for others forgives them."""
    wake = Wakefulness.wake

    def waking(self: Wakefulness, *, now_s: float) -> float:
        late_s = wake(self, now_s=now_s)
        return late_s if late_s >= self._config.silent_floor_s else 0.0

    patch.setattr(Wakefulness, "wake", waking)


def nothing_has_a_budget(patch: Patch) -> None:
    patch.setattr(Budget, "allows", lambda self: True)
    patch.setattr(Budget, "allows_at_s", lambda self, *, share=1.0: self.at_s)
    patch.setattr(Outbox, "_send_repairs", _without_budget)


def _without_budget(self: Outbox, sending: Sending, *_: object, **__: object) -> list[Notice]:
    sending.send_repairs(self._config.spares_per_tick_max)
    return []


LIED = {"*"}
"""Whichever rule is the first that a lie breaks."""
MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], Iterator[Scenario]], set[str]]] = [
    (root_states_a_fuller_answer_than_it_has, drawn, {"stated fidelity is true"}),
    (
        root_calls_unwanted_what_a_window_wants,
        of_enough,
        {"the pane is wanted while any window wants it"},
    ),
    (root_takes_back_that_a_pane_is_unwanted, of_enough, {"unwanted is never taken back"}),
    (site_makes_what_is_unwanted, of_enough, {"nobody works for what is unwanted"}),
    (root_shows_rows_below_the_demand, of_demands, {"below is silent"}),
    (root_counts_copies, lambda: troubled(Kind.ECHO, for_s=20.0), {"no double counting"}),
    (
        relay_merges_what_overlaps,
        lambda: troubled(Kind.ECHO, for_s=20.0),
        {"no double counting", "true coverage"},
    ),
    (site_repairs_in_the_open, lambda: troubled(Kind.RESET, Kind.CUT), {"one copy, and spares"}),
    (site_forgets_what_it_sent, lambda: troubled(Kind.CRASH), {"one copy, and spares"}),
    (site_closes_by_its_clock, drawn, {"closing at a site"}),
    (site_does_not_wait_for_the_past, of_the_past, {"closing at a site"}),
    (root_joins_sessions_over_longer_gaps, of_sessions, {"sessions are those of the records"}),
    (
        site_sends_growing_states_beyond_their_limit,
        of_growing_states,
        {"a growing state has its limit"},
    ),
    (site_seals_at_the_close, drawn, {"too late is late"}),
    (site_is_deaf_to_requests, lambda: troubled(Kind.POWER), {"convergence"}),
    (relay_hands_on_heads_alone, lambda: troubled(Kind.POWER), {"convergence"}),
    (root_acknowledges_everything, drawn, {"nothing acked is missing"}),
    (root_loses_a_write, drawn, {"nothing acked is missing", "true coverage"}),
    (root_believes_closes, finely_cut, {"true coverage", "convergence"}),
    (site_takes_held_for_all_that_it_has, finely_cut, {"nothing acked is missing"}),
    (
        root_calls_answers_final_before_they_are_sealed,
        drawn,
        {"convergence", "final is final", "nothing acked is missing", "true coverage"},
    ),
    (
        root_forgets_at_a_restart,
        lambda: troubled(Kind.CRASH),
        {
            "revisions rise",
            "no double counting",
            "final is final",
            "nothing acked is missing",
            "no exception",
        },
    ),
    (relay_does_not_split, lambda: of_states(Kind.STALL), {"true coverage"}),
    (site_takes_all_states_for_the_same, lambda: of_states(Kind.STALL), {"true coverage"}),
    (
        site_calls_every_state_whole,
        lambda: of_states(Kind.LOG_LOSS, Kind.QUERY_FAILS, for_s=8.0),
        {"exact is exact"},
    ),
    (site_counts_records_of_later_panes, lambda: of_states(Kind.STALL), {"a state is the last n"}),
    (late_peers_accuse_others, slowed, {"trouble sheds"}),
    (nothing_has_a_budget, in_want_of_budgets, {"no storm"}),
    (removals_are_not_learned, removed_behind_a_cut, {"commands converge", "convergence"}),
    (_believing("state"), lied_to, LIED),
    (_believing("ack"), lied_to, LIED),
    (_believing("leaf"), lied_to, LIED),
    (_believing("count"), lied_to, LIED),
    (_believing("command"), lied_to, LIED),
    (_believing("plan"), lied_to, LIED),
]


@pytest.mark.parametrize("first", range(0, LIARS, PART))
def test_a_member_that_lies_is_no_trouble(first: int) -> None:
    assert next(failures(islice(lied_to(), first, first + PART)), None) is None


@pytest.mark.parametrize(
    ("mutate", "scenarios", "rules"), MUTANTS, ids=[mutant[0].__name__ for mutant in MUTANTS]
)
def test_a_broken_machine_is_caught(
    mutate: Callable[[Patch], None],
    scenarios: Callable[[], Iterator[Scenario]],
    rules: set[str],
    monkeypatch: Patch,
) -> None:
    mutate(monkeypatch)
    caught = next(failures(scenarios()), None)
    assert caught is not None, f"not found within {SEEDS_MAX} seeds"
    assert rules == LIED or caught.rule in rules, caught.failure
