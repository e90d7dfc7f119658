"""A whole federation in one run: made from a scenario, driven to its end, judged.

Two phases, after TigerBeetle's simulator: while faults come only safety is asked for; then all is
healed, and within a time of grace everything must be exact and final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import msgspec

from headwater.node.node import Node
from headwater.overlay.messages import AckMessage, Message, StatesMessage, SummaryMessage, aged
from headwater.plan.command import Install, Remove
from headwater.plan.query import Query, QueryId
from headwater.plan.roster import Site
from headwater.sim.bag import Bag, BagMerger
from headwater.sim.births import Births
from headwater.sim.check_bounds import BOUNDS_EVERY_S, ask_as_a_person_would, check_bounds
from headwater.sim.check_end import EndCheck
from headwater.sim.checkers import Checkers
from headwater.sim.disk import CubeDisk, Disk
from headwater.sim.event_queue import Clock, EventQueue, RunawayRun
from headwater.sim.faults import Nemesis
from headwater.sim.life import Surroundings
from headwater.sim.log import Log
from headwater.sim.network import Network
from headwater.sim.outcome import Outcome, Violation
from headwater.sim.scenario import (
    START_S,
    Scenario,
    draw_query,
    draw_states,
    draw_time,
    draw_trees,
)
from headwater.sim.site import SimulatedSite, SiteWatcher
from headwater.sim.tally import Tally, TallyMerger
from headwater.sim.transcript import TAIL_LENGTH, Transcript
from headwater.sim.truth import SiteTruth, Truth
from headwater.sim.tuning import node_config

EXTRA_QUERIES_MAX = 3
"""Queries that faults may install beside the first."""
NAME_TAKEN_SHARE = 0.2
"""How often a further query takes the name of the first."""
LOST_RECORDS = 3
"""Records that one loss of input takes."""
MESSAGE_BYTES = 120
"""About what a message takes beside its rows."""


EVENTS_PER_SITE_MAX = 500_000
"""A run that needs more has found a way to send for ever."""


class World:
    """Also what the network and the nemesis act upon (``Ends``, ``Struck``)."""

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
        self._merger: BagMerger | TallyMerger = TallyMerger() if is_light else BagMerger()
        events_max = EVENTS_PER_SITE_MAX * len(scenario.roster.sites)
        self.queue = EventQueue(start_s=START_S, events_max=events_max)
        self.truth = Truth()
        self.transcript = Transcript(START_S, tail_length=tail_length)
        self.checkers = Checkers(self.queue, scenario.roster, self.truth, self.transcript)
        self._logs: list[Log] = []
        self._clocks: dict[str, Clock] = {}
        self.births = Births(self._logs, self._clocks)
        self.watcher: SiteWatcher = self.checkers if watch is None else watch(self)
        self._places = {site.name: place for place, site in enumerate(scenario.roster.sites)}
        self.network = Network(
            self.queue,
            self,
            random=Random(f"network {scenario.seed}"),
            delay_of=self._delay_s,
            jitter=scenario.jitter,
        )
        self.nemesis = Nemesis(self.queue, self, self.network)
        self._random = Random(f"world {scenario.seed}")
        self._config = scenario.config or node_config(scenario.pace, scenario.limits)
        self._life_count = 0
        self.sites: dict[str, SimulatedSite] = self.checkers.sites
        around = Surroundings(
            self.queue,
            self.network,
            pace=scenario.pace,
            random=Random(f"spark {scenario.seed}"),
            is_finite=scenario.is_finite,
        )
        for place, site in enumerate(scenario.roster.sites):
            self._add_site(site, place, around)

    def _delay_s(self, sender: str, receiver: str) -> float:
        return float(self.scenario.delays_s[self._places[sender]][self._places[receiver]])

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
        """Incarnations rise with time, so that the newer of two can be told."""
        self._life_count += 1
        incarnation = self._life_count << 32 | self._random.getrandbits(32)
        cube = CubeDisk(
            ordinal,
            incarnation,
            self.truth,
            records_max=self.scenario.pace.update_records_max,
            slot_count=len(self.scenario.roster.sites),
            births=self.births,
            records=Tally if self._is_light else Bag,
        )
        return Disk(incarnation, cube, born_s=clock.now_s())

    def _merger_at(self, name: str, query: Query) -> BagMerger | TallyMerger:
        if not self.scenario.merges and name != query.root:
            raise LookupError("this world does not merge on the way")
        return self._merger

    def _refusal(self, site: str, query: Query) -> str | None:
        return "policy" if (site, query.id.name) in self.scenario.refusals else None

    def _make_node(self, name: str, clock: Clock, disk: Disk) -> Node:
        node = Node(
            site=name,
            roster=self.scenario.roster,
            trees=self.scenario.trees,
            config=self._config,
            merger_of=lambda query: self._merger_at(name, query),
            incarnation=disk.incarnation,
            born_s=disk.born_s,
            admit=lambda query: self._refusal(name, query),
        )
        node.restore(
            commands=disk.installs.values(),
            vector=disk.vector,
            cube=disk.cube.restore(),
            ledgers=[ledger.restore(query) for query, ledger in disk.ledgers.items()],
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
        for query in (scenario.first_query, *scenario.further_parts):
            self.queue.at(START_S + scenario.install_s, self._install, query)
        self.nemesis.plan(scenario.faults, start_s=START_S)
        self.checkers.healed_s = START_S + scenario.faults_until_s
        self.checkers.is_calm = not scenario.faults and not scenario.is_finite
        if not self._is_light:
            self._check_bounds()
        self.queue.run_until(START_S + scenario.end_s)
        if self._is_judged:
            self._judge()

    def _check_bounds(self) -> None:
        for site in self.sites.values():
            if site.node is not None:
                check_bounds(site.node, self._config, self.checkers.queries)
                ask_as_a_person_would(site.node, self.checkers.queries)
        self.queue.after(BOUNDS_EVERY_S, self._check_bounds)

    def _judge(self) -> None:
        end = EndCheck(self.checkers, self.sites, self.scenario)
        end.commands_agree()
        for install in self.sites["s0"].disk.installs.values():
            end.query_settled(install.query, until_s=START_S + self.scenario.faults_until_s)
        self.transcript.counts["a message was lost on a link"] += self.network.lost_count
        self.transcript.counts["a message came twice"] += self.network.echo_count
        for site in self.sites.values():
            self.checkers.count_verdicts(site)

    # ---- queries

    def _install(self, query: Query) -> None:
        site = self.sites[query.id.installer]
        trees = self.scenario.trees
        ordinal = self.scenario.roster.site(query.root).ordinal
        if self.scenario.query_trees and self.scenario.query_trees[0].root == ordinal:
            trees = self.scenario.query_trees
        elif trees[0].root != ordinal or self._random.random() < 0.5:
            trees = draw_trees(self._random, self.scenario.roster, root=ordinal)
        self.checkers.queries[str(query.id)] = query
        clock = site.node.peer.root_clock(query.root) if site.node is not None else None
        site.command(
            Install(
                query, trees, self.scenario.roster.version,
                root_clock_s=None if clock is None else site.clock.now_s() + clock.offset_s,
            )
        )  # fmt: skip

    def install_another(self, site: str, *, draw: float) -> None:
        """A further query, commanded at ``site`` if it is up and knows its own count."""
        at = self.sites[site]
        is_full = len(self.checkers.queries) > EXTRA_QUERIES_MAX
        if is_full or self.scenario.is_finite or not self._may_command(at):
            return
        random = Random(f"query {self.scenario.seed} {draw}")
        number = len(self.checkers.queries) + 1
        query = draw_query(
            random,
            self.scenario.roster,
            number=number,
            installer=site,
            begin_s=at.clock.now_s() + 8.0,
        )
        counter = at.disk.vector.get(site, 0) + 1
        name = f"q{number}"
        if random.random() < NAME_TAKEN_SHARE:
            name = self.scenario.first_query.stream
            self.transcript.count("a name was taken by a second query")
        query = draw_time(random, draw_states(random, query))
        query = msgspec.structs.replace(query, id=QueryId(name, site, counter))
        self.transcript.count("a query was installed while others ran")
        self._install(query)

    def replan_one(self, *, draw: float) -> None:
        """The root of a query gives it new trees, if it is up and has it."""
        ids = sorted(self.checkers.queries)
        query = self.checkers.queries[ids[int(draw * len(ids))]]
        at = self.sites[query.root]
        install = at.disk.installs.get(str(query.id)) if at.is_up else None
        if install is None:
            return
        ordinal = self.scenario.roster.site(query.root).ordinal
        trees = draw_trees(self._random, self.scenario.roster, root=ordinal)
        version = install.plan_version + 1
        at.replan(msgspec.structs.replace(install, trees=trees, plan_version=version, age_s=0.0))
        self.transcript.count("a query was planned anew")

    def remove_one(self, site: str, *, draw: float) -> None:
        at = self.sites[site]
        if not self._may_command(at) or not at.disk.installs:
            return
        ids = sorted(at.disk.installs)
        query = at.disk.installs[ids[int(draw * len(ids))]].query
        at.command(Remove(query.id, site, at.disk.vector.get(site, 0) + 1))

    def _may_command(self, site: SimulatedSite) -> bool:
        return site.is_up and len(site.truth.incarnations) == 1

    # ---- Struck: what faults do to sites

    def site_names(self) -> Iterable[str]:
        return self.sites

    def straggle(self, site: str, *, by_s: float) -> None:
        self.sites[site].straggle(by_s)

    def crash(self, site: str, *, power: bool, loses_disk: bool, after_effects: int) -> None:
        self.sites[site].crash(power=power, loses_disk=loses_disk, after_effects=after_effects)

    def start(self, site: str) -> None:
        self.sites[site].end_pending_crash()
        self.sites[site].start()

    def stall(self, site: str, *, until_s: float) -> None:
        self.sites[site].stall(until_s)

    def replay(self, site: str) -> None:
        self.sites[site].replay()

    def fill_disk(self, site: str, *, is_full: bool) -> None:
        self.sites[site].disk.is_full = is_full

    def slow_disk(self, site: str, *, delay_s: float) -> None:
        self.sites[site].disk.delay_s = delay_s

    def step_clock(self, site: str, *, by_s: float) -> None:
        self.sites[site].step_clock(by_s)

    def fail_query(self, site: str, *, until_s: float) -> None:
        self.sites[site].fail_queries(until_s)

    def lose_log(self, site: str) -> None:
        """What nobody has read yet vanishes, as by a rotation that came too early."""
        self.sites[site].log.lose_next(LOST_RECORDS)
        self.transcript.count("unread input was lost")

    # ---- Ends: what the network tells the sites

    def life_of(self, site: str) -> int:
        return self.sites[site].life_count if self.sites[site].is_up else 0

    def linked(self, site: str, peer: str) -> None:
        self.transcript.note(self.queue.now_s, site, f"link up with {peer}", mark=1)
        self.sites[site].linked(peer)

    def unlinked(self, site: str, peer: str, unsent: list[Message]) -> None:
        self.transcript.note(
            self.queue.now_s, site, f"link down with {peer}, {len(unsent)} unsent", mark=2
        )
        if any(isinstance(message, SummaryMessage) for message in unsent):
            self.transcript.count("a summary came back unsent")
        self.sites[site].unlinked(peer, unsent)

    def arrived(self, site: str, sender: str, message: Message) -> None:
        life = self.sites[site].life
        if life is not None:
            life.receive(sender, message)

    def queued(self, site: str, peer: str, queued_bytes: int) -> None:
        self.sites[site].load(peer, queued_bytes)

    def size_bytes(self, message: Message) -> int:
        if isinstance(message, SummaryMessage):
            rows = message.summary.rows
            return MESSAGE_BYTES + (0 if rows is None else self._merger.size_bytes(rows))
        if isinstance(message, AckMessage):
            return MESSAGE_BYTES + 20 * len(message.ack.panes)
        if isinstance(message, StatesMessage):
            return MESSAGE_BYTES * len(message.states)
        return MESSAGE_BYTES // 2

    def aged(self, message: Message, by_s: float) -> Message:
        return aged(message, by_s)


def _place(error: BaseException) -> str:
    """The innermost line of ours, for the report."""
    frame, place = error.__traceback__, ""
    while frame is not None:
        code = frame.tb_frame.f_code
        if "headwater" in code.co_filename:
            place = f"in {code.co_filename.rsplit('headwater/', 1)[-1]}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place
