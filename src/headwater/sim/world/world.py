"""A whole federation in one run: made from a scenario, driven to its end, judged.

Two phases, after TigerBeetle's simulator: while faults come only safety is asked for; then all is
healed, and within a time of grace everything must be exact and final.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec

from headwater.algebra.incarnation import CHANCE_BITS, new_incarnation
from headwater.algebra.summary import Summary
from headwater.node.node import Node
from headwater.overlay.links.link_budgets import NO_BUDGETS
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import SummaryMessage
from headwater.overlay.outputs import CONTROL
from headwater.plan.duty import Duty
from headwater.plan.query import Query
from headwater.plan.roster import Site
from headwater.sim.check.check_bounds import BOUNDS_EVERY_S, ask_as_a_person_would, check_bounds
from headwater.sim.check.check_clock import CLOCKS_EVERY_S, ClockCheck
from headwater.sim.check.check_end import EndCheck
from headwater.sim.check.check_storm import StormCheck
from headwater.sim.check.check_time import TimeCheck
from headwater.sim.check.checkers import Checkers
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.check.truth import Truth
from headwater.sim.faults.faults import Kind
from headwater.sim.faults.liar import FLOOD, FLOOD_LIES, FLOOD_SHARE, Liar
from headwater.sim.faults.nemesis import Nemesis
from headwater.sim.faults.sending_budgets import SendingBudgets
from headwater.sim.outcome import Outcome, Violation
from headwater.sim.records.bag import Bag, BagMerger
from headwater.sim.records.births import Births
from headwater.sim.records.counted_bag import CountedBag, CountedBagMerger
from headwater.sim.scenario import START_S, Scenario
from headwater.sim.transcript import TAIL_LENGTH, Transcript
from headwater.sim.tuning import node_config
from headwater.sim.world.disk import CubeDisk, Disk
from headwater.sim.world.event_queue import Clock, EventQueue, RunawayRun
from headwater.sim.world.keys import OPERATOR, SimulatedKey, SimulatedSignatures
from headwater.sim.world.life import Surroundings
from headwater.sim.world.link_ends import LinkEnds
from headwater.sim.world.log import Log
from headwater.sim.world.network import Network
from headwater.sim.world.operators import Operators
from headwater.sim.world.site import SimulatedSite, SiteWatcher

EVENTS_PER_SITE_MAX = 500_000
"""A run that needs more has found a way to send for ever."""


class World:
    def __init__(
        self,
        scenario: Scenario,
        *,
        tail_length: int = TAIL_LENGTH,
        watch: Callable[[World], SiteWatcher] | None = None,
        is_light: bool = False,
        is_judged: bool = True,
    ) -> None:
        """``watch`` makes who looks on instead of the checkers. With ``is_light`` records are
        counted, not kept as sets, for large worlds; ``is_judged``: the end must be settled."""
        self._is_judged = is_judged and not is_light
        self.scenario = scenario
        self._is_light = is_light
        self._merger: BagMerger | CountedBagMerger = CountedBagMerger() if is_light else BagMerger()
        events_max = EVENTS_PER_SITE_MAX * len(scenario.roster.sites)
        self.queue = EventQueue(start_s=START_S, events_max=events_max)
        self.truth = Truth()
        if isinstance(self._merger, BagMerger):
            self.truth.dropped = self._merger.told_dropped
        self.transcript = Transcript(START_S, tail_length=tail_length)
        self._config = scenario.config or node_config(scenario.pace, scenario.limits)
        self.storm = StormCheck(self.queue, self._config)
        self.time = TimeCheck(scenario.pace, self._config)
        self.checkers = Checkers(
            self.queue, scenario.roster, self.truth, self.transcript, self.storm, self.time
        )
        self._logs: list[Log] = []
        self._clocks: dict[str, Clock] = {}
        self.births = Births(self._logs, self._clocks)
        self.watcher: SiteWatcher = self.checkers if watch is None else watch(self)
        self._places = {site.name: place for place, site in enumerate(scenario.roster.sites)}
        self.sites: dict[str, SimulatedSite] = self.checkers.sites
        self._clock_check = ClockCheck(self.queue, self.sites, self.transcript)
        self.ends = LinkEnds(self.queue, self.sites, self.transcript, merger=self._merger)
        self._budgets = SendingBudgets(scenario.budgets, self._shares_of)
        self.network = Network(
            self.queue,
            self.ends,
            random=Random(f"network {scenario.seed}"),
            delay_of=self._delay_s,
            jitter=scenario.jitter,
            bytes_per_s=scenario.bytes_per_s,
            budgets=self._budgets,
        )
        self._random = Random(f"world {scenario.seed}")
        names = (*self._places, OPERATOR)
        self._keys = {name: SimulatedKey() for name in names}
        self._operators = Operators(
            scenario,
            self.sites,
            self.checkers.queries,
            self.transcript,
            random=self._random,
            signatures=SimulatedSignatures(self._keys[OPERATOR], self._keys),
        )
        self.nemesis = Nemesis(self.queue, self.sites, self.network, self._operators, lie=self._lie)
        self._life_count = 0
        around = Surroundings(
            self.queue,
            self.network,
            self._merger,
            pace=scenario.pace,
            random=Random(f"spark {scenario.seed}"),
            is_finite=scenario.is_finite,
        )
        for place, site in enumerate(scenario.roster.sites):
            self._add_site(site, place, around)

    def _delay_s(self, sender: str, receiver: str) -> float:
        return float(self.scenario.delays_s[self._places[sender]][self._places[receiver]])

    def _shares_of(self, site: str) -> QueryShares | None:
        node = self.sites[site].node
        return None if node is None else node.peer.shares

    def _add_site(self, site: Site, place: int, around: Surroundings) -> None:
        scenario = self.scenario
        name = site.name
        drift_ppm = scenario.drifts_ppm[place] if scenario.drifts_ppm else 0.0
        clock = Clock(self.queue, offset_s=scenario.offsets_s[place], drift_ppm=drift_ppm)
        count = len(scenario.roster.sites)
        log = Log(
            scenario.workloads[place],
            clock,
            random=Random(f"log {scenario.seed} {name}"),
            slot=place,
            slot_count=count,
        )
        self._logs.append(log)
        self._clocks[name] = clock
        truth = self.truth.sites[site.ordinal] = SiteTruth(site.ordinal, log)
        self.sites[name] = SimulatedSite(
            name,
            clock=clock,
            log=log,
            truth=truth,
            around=around,
            watcher=self.watcher,
            has_data=site.has_data,
            make_disk=lambda: self._make_disk(site.ordinal, clock),
            make_node=lambda disk: self._make_node(name, clock, disk),
        )

    def _make_disk(self, ordinal: int, clock: Clock) -> Disk:
        """Its incarnation is a guess by the site's wall clock, as an agent's is."""
        self._life_count += 1
        chance = self._random.getrandbits(CHANCE_BITS)
        incarnation = new_incarnation(now_s=clock.wall_s(), chance=chance)
        cube = CubeDisk(
            ordinal,
            incarnation,
            self.truth,
            clock,
            records_max=self.scenario.pace.update_records_max,
            slot_count=len(self.scenario.roster.sites),
            births=self.births,
            records=CountedBag if self._is_light else Bag,
        )
        return Disk(incarnation, cube, number=self._life_count, born_s=clock.wall_s())

    def _lie(self, site: str, *, every_s: float, until_s: float) -> None:
        """From now on this site's other tongue is heard by those that it is linked with."""
        random = Random(f"lies {self.scenario.seed} {site}")
        liar = self.ends.liars[site] = Liar(
            site,
            SimulatedSignatures(self._keys[site], self._keys),
            sites={one.name: one.ordinal for one in self.scenario.roster.sites},
            installs=lambda: self.sites[site].disk.installs.values(),
            random=random,
            until_s=until_s,
        )

        def speak() -> None:
            is_flood = random.random() < FLOOD_SHARE
            if is_flood:
                self.transcript.count(f"a lie was told: {FLOOD}")
            for _ in range(FLOOD_LIES if is_flood else 1):
                self._tell_lie(liar, random)
            if self.queue.now_s + every_s < until_s:
                self.queue.after(every_s, speak)
            else:
                self.ends.liars.pop(site, None)

        self.queue.after(every_s, speak)

    def _tell_lie(self, liar: Liar, random: Random) -> None:
        told = liar.lie() if self.sites[liar.site].is_up else None
        near = [name for name in self._places if self.network.is_linked(liar.site, name)]
        if told is not None and near:
            what, message = told
            if isinstance(message, SummaryMessage) and message.summary.proof is None:
                self._forge(message.summary)
            self.transcript.count(f"a lie was told: {what}")
            self.ends.lies.append(message)
            self.network.send(liar.site, random.choice(near), message, CONTROL)

    def _forge(self, summary: Summary) -> None:
        """What has one site in it is refused without its proof, and needs no excuse."""
        if summary.coverage.sites.bit_count() > 1:
            self.truth.forge(summary)

    def _merger_at(self, name: str, query: Query) -> BagMerger | CountedBagMerger:
        if not self.scenario.merges and name != query.root:
            raise LookupError("this world does not merge on the way")
        return self._merger

    def _refusal(self, site: str, query: Query, duty: Duty) -> str | None:
        """Policies of sites about what they read; roots and relays here admit everything."""
        is_refused = duty is Duty.READ and (site, query.id.name) in self.scenario.refusals
        return "policy" if is_refused else None

    def _make_node(self, name: str, clock: Clock, disk: Disk) -> Node:
        node = Node(
            site=name,
            roster=self.scenario.roster,
            trees=self.scenario.trees,
            config=msgspec.structs.replace(
                self._config, budgets=self.scenario.budgets.get(name, NO_BUDGETS)
            ),
            merger_of=lambda query: self._merger_at(name, query),
            incarnation=disk.incarnation,
            root_incarnation=disk.root_incarnation,
            root_start=disk.start_count,
            born_s=disk.born_s,
            made_s=clock.now_s() if disk.start_count == 1 else None,
            admit=lambda query, duty, operator: self._refusal(name, query, duty),
            signatures=SimulatedSignatures(self._keys[name], self._keys),
        )
        node.restore(
            commands=disk.installs.values(),
            counts=disk.counts.values(),
            cube=disk.cube.restore(),
            ledgers=[ledger.restore() for ledger in disk.ledgers.values()],
            now_s=clock.now_s(),
        )
        return node

    # ---- the run

    def run(self) -> Outcome:
        rule, failure = "", ""
        try:
            self._run()
        except Violation as violation:
            rule, failure = violation.rule, str(violation)
        except (
            RunawayRun,
            AssertionError,
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
        ) as error:
            rule, failure = "no exception", f"{type(error).__name__}: {error} {_place(error)}"
        transcript = self.transcript
        for kind, count in self.nemesis.struck.items():
            transcript.counts[f"fault: {kind.value}"] += count
        return Outcome(
            seed=self.scenario.seed,
            faults=self.scenario.faults,
            virtual_s=self.queue.now_s - START_S,
            event_count=self.queue.event_count,
            trace=transcript.trace,
            counts=transcript.counts,
            rule=rule,
            failure=failure,
            failed_at_s=self.queue.now_s - START_S if rule else 0.0,
            transcript=transcript.lines() if rule else (),
        )

    def _run(self) -> None:
        scenario = self.scenario
        for site in self.sites.values():
            self.queue.at(START_S + self._random.random(), site.start)
        for query in (scenario.first_query, *scenario.further_parts, *scenario.levels):
            self.queue.at(START_S + scenario.install_s, self._operators.install, query)
        self.nemesis.enqueue(scenario.faults, start_s=START_S)
        self.checkers.healed_s = START_S + scenario.faults_until_s
        self.time.is_calm = self._is_calm()
        if not self._is_light:
            self._check_bounds()
            self._check_clocks()
        self.queue.run_until(START_S + scenario.end_s)
        if self._is_judged:
            self._judge()

    def _is_calm(self) -> bool:
        """Nothing is wrong but that some machines are slow, and none that answers."""
        scenario = self.scenario
        roots = {query.root for query in (scenario.first_query, *scenario.further_parts)}
        return not scenario.is_finite and all(
            fault.kind is Kind.SLOW_MACHINE and roots.isdisjoint(fault.sites)
            for fault in scenario.faults
        )

    def _check_bounds(self) -> None:
        for site in self.sites.values():
            if site.node is not None:
                check_bounds(site.node, self._config, self.checkers.queries)
                ask_as_a_person_would(site.node, self.checkers.queries)
        self.queue.after(BOUNDS_EVERY_S, self._check_bounds)

    def _check_clocks(self) -> None:
        self._clock_check.look(self.checkers.queries)
        self.queue.after(CLOCKS_EVERY_S, self._check_clocks)

    def _judge(self) -> None:
        end = EndCheck(self.checkers, self.sites, self.scenario)
        end.commands_agree()
        end.commands_are_operators(self._operators)
        end.questions_are_over()
        end.hosts_are_left()
        end.lies_have_liars(self.transcript)
        for install in self.sites["s0"].disk.installs.values():
            if install.query.asked is None:
                end.query_settled(install.query, until_s=START_S + self.scenario.faults_until_s)
        self.transcript.counts["a message was lost on a link"] += self.network.lost_count
        self.transcript.counts["a budget held something back"] += self.network.held_count
        self.transcript.counts["a query's budget held it back"] += self._budgets.held_queries
        self.transcript.counts["a message came twice"] += self.network.echo_count
        for site in self.sites.values():
            self.checkers.count_verdicts(site)


def _place(error: BaseException) -> str:
    """The innermost line of ours, for the report."""
    frame, place = error.__traceback__, ""
    while frame is not None:
        code = frame.tb_frame.f_code
        if "headwater" in code.co_filename:
            place = f"in {code.co_filename.rsplit('headwater/', 1)[-1]}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place
