"""Nodes wired together in memory: what an operator commands and sites commit, until it is answered.

::

    s0 (root)
    ├── s1
    └── s2
"""

from __future__ import annotations

from collections import deque

import msgspec
import pytest
from pane_kit import NumbersMerger, RootDisk, SiteDisk, make_query, make_roster

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.record import EdgeRecord, QueryKept
from headwater.edge.report import BatchReport, QueryBatch
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.messages import AckMessage, Heartbeat, StatesMessage
from headwater.plan.command import Count, Install, Remove
from headwater.plan.duty import Admit, Duty
from headwater.plan.notice import Notice
from headwater.plan.over_limit import OVER_LIMIT
from headwater.plan.query import TimeKind
from headwater.plan.roster import Site
from headwater.plan.tree import Tree
from headwater.root.config import RootConfig
from headwater.root.root import Root

TREE = Tree(0, ((1, 0), (2, 0)))
ROSTER = make_roster(3)
STEPS_MAX = 10_000


def nothing(effect: do.Effect) -> None:
    """What this world has nobody for."""


class Host:
    """A node with its disks; effects are executed in order, messages wait in the world."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.world = world
        self.cube = SiteDisk(1000 + int(name[1:]))
        self.ledgers: dict[str, RootDisk] = {}
        self.installs: dict[str, Install] = {}
        self.counts: dict[str, Count] = {}
        self.published: list[tuple[str, int, tuple[int, ...], bool]] = []
        self.effects: list[object] = []
        self.failure: str | None = None
        self.start()

    def start(self) -> None:
        self.node = Node(
            site=self.name,
            roster=ROSTER,
            trees=(TREE,),
            config=NodeConfig(),
            merger_of=lambda _: NumbersMerger(),
            incarnation=self.cube.incarnation,
            root_incarnation=50,
            admit=self.world.admit_at(self.name),
        )
        self.node.restore(
            commands=list(self.installs.values()),
            counts=list(self.counts.values()),
            cube=self.cube.restore(),
            ledgers=[disk.restore() for disk in self.ledgers.values()],
            now_s=self.world.now_s,
        )
        self.work()

    def work(self) -> None:
        pending = deque(self.node.take())
        for _ in range(STEPS_MAX):
            if not pending:
                return
            effect = pending.popleft()
            self.effects.append(effect)
            self.execute(effect)
            pending.extend(self.node.take())
        raise AssertionError("effects without end")

    def execute(self, effect: do.Effect) -> None:
        store, method, _, told = do.WORK[type(effect)]
        stores = {"cube": self.cube, "ledger": self.ledgers.get(getattr(effect, "query", ""))}
        if store in stores:
            (came,) = do.perform_all(stores[store], [effect])
        else:
            came = getattr(self, method, nothing)(effect)
        if told:
            getattr(self.node, told)(came, now_s=self.world.now_s)

    def transmit(self, effect: do.Transmit) -> None:
        self.world.messages.append((self.name, effect.to, effect.message))

    def load_rows(self, send: do.LoadAndSend) -> None:
        rows = self.cube.rows(send.query, send.pane, send.updates)
        self.node.loaded(send, rows, now_s=self.world.now_s)

    def begin_answers(self, begun: do.AnswersBegun) -> None:
        self.ledgers.setdefault(str(begun.query.id), RootDisk(query=begun.query))

    def keep_command(self, keep: do.KeepCommand) -> None:
        self.counts |= {count.installer: count for count in keep.counts}
        if isinstance(keep.command, Install):
            self.installs[str(keep.command.query.id)] = keep.command
        else:
            self.installs.pop(str(keep.command.id), None)

    def answer(self, answer: do.Answer) -> None:
        if self.failure is None:
            ledger = self.ledgers[answer.query]
            for request in answer.requests:
                rows = ledger.rows(request.panes, kept_through=answer.kept_through)
                exact = request.envelope.exact
                self.published.append((answer.query, request.window, rows, exact))
            ledger.publish(answer)
        self.node.answered(answer, now_s=self.world.now_s, failed=self.failure)

    def commit(self, query, pane: int, records: list[int]) -> None:
        for record in records:
            self.cube.store(str(query.id), pane, record, now_s=self.world.now_s)
        batch = QueryBatch(str(query.id), ((pane, len(records)),))
        self.report(BatchReport("hits", (batch,)))

    def report(self, report: BatchReport) -> None:
        self.node.batch_committed(report, now_s=self.world.now_s)
        self.work()

    def of(self, kind: type) -> list:
        return [effect for effect in self.effects if isinstance(effect, kind)]


class World:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.messages: deque = deque()
        self.refusals: dict[tuple[str, str], str] = {}
        self.asleep: set[str] = set()
        """Nodes that hear what comes and are not ticked: a loop with too much to do."""
        self.hosts = {name: Host(name, self) for name in ("s0", "s1", "s2")}
        self.link("s0", "s1")
        self.link("s0", "s2")

    def admit_at(self, name: str) -> Admit:
        """Refusals are of sites that are to read."""
        return lambda query, duty, operator: (
            self.refusals.get((name, query.id.name)) if duty is Duty.READ else None
        )

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def link(self, one: str, other: str) -> None:
        for a, b in ((one, other), (other, one)):
            self[a].node.link_up(b, now_s=self.now_s)
            self[a].work()

    def run(self, until_s: float) -> None:
        """Deliver everything at once; tick every tenth of a second; poll at full seconds."""
        while self.now_s < until_s:
            self.now_s = round(self.now_s + 0.1, 3)
            if self.now_s == int(self.now_s):
                for host in self.hosts.values():
                    host.report(BatchReport("hits", read_through_s=self.now_s))
            for host in self.hosts.values():
                is_awake = host.name not in self.asleep
                if is_awake and host.node.next_deadline_s() <= self.now_s:
                    host.node.tick(now_s=self.now_s)
                    host.work()
            self.deliver()

    def deliver(self) -> None:
        for _ in range(STEPS_MAX):
            if not self.messages:
                return
            sender, to, message = self.messages.popleft()
            self[to].node.receive(sender, message, now_s=self.now_s)
            self[to].work()
        raise AssertionError("messages without end")

    def install(self, query, tree: Tree = TREE) -> None:
        self["s0"].node.command(
            Install(query=query, trees=(tree,), roster_version=1), now_s=self.now_s
        )
        self["s0"].work()
        self.deliver()


@pytest.fixture
def world() -> World:
    return World()


QUERY = make_query(begin_pane=1)
ID = str(QUERY.id)


def test_what_sites_commit_is_answered_at_the_root(world):
    world.install(QUERY)
    world.run(12.0)
    for number, host in enumerate(world.hosts.values()):
        host.commit(QUERY, 1, [number])
    world.run(26.0)
    assert world["s0"].published[0] == (ID, 1, (0, 1, 2), True)


def test_what_was_kept_and_remembered_comes_before_what_is_said_of_it(world):
    world.install(QUERY)
    world.run(12.0)
    world["s1"].commit(QUERY, 1, [1])
    world.run(30.0)
    root = world["s0"].effects
    kept = next(at for at, effect in enumerate(root) if isinstance(effect, do.Keep))
    acked = [
        at
        for at, effect in enumerate(root)
        if isinstance(effect, do.Transmit)
        and isinstance(effect.message, AckMessage)
        and (effect.message.ack.held or effect.message.ack.panes)
    ]
    assert kept < min(acked)
    site = world["s1"].effects
    remembered = next(at for at, effect in enumerate(site) if isinstance(effect, do.Remember))
    told = next(
        at
        for at, effect in enumerate(site)
        if isinstance(effect, do.Transmit) and isinstance(effect.message, StatesMessage)
    )
    assert remembered < told


def test_an_installed_query_reaches_every_part_that_needs_it(world):
    world.install(QUERY)
    assert [effect.query.id for effect in world["s2"].of(do.Installed)] == [QUERY.id]
    assert [effect.query.id for effect in world["s0"].of(do.AnswersBegun)] == [QUERY.id]
    assert world["s1"].of(do.AnswersBegun) == []


def test_a_site_outside_the_node_set_carries_but_does_not_run_the_query(world):
    query = make_query(begin_pane=1, sites=("s1",))
    world.install(query)
    world.run(12.0)
    world["s1"].commit(query, 1, [5])
    world.run(26.0)
    assert world["s2"].of(do.Installed) == []
    assert world["s0"].published[0] == (str(query.id), 1, (5,), True)


def test_a_refused_query_is_declined_and_not_run(world):
    world.refusals["s2", "counts"] = "column ip is denied here"
    world.install(QUERY)
    world.run(25.0)
    assert world["s2"].of(do.Installed) == []
    assert "s2: declined (refused: column ip is denied here)" in world["s0"].node.why(ID, 1).text()
    assert world["s0"].node.progress().roots[0].sites_refused == ("s2",)


def test_a_removed_query_is_forgotten_everywhere(world):
    world.install(QUERY)
    world.run(15.0)
    world["s0"].node.command(Remove(id=QUERY.id, installer="s0", counter=2), now_s=world.now_s)
    world["s0"].work()
    world.deliver()
    for host in world.hosts.values():
        assert host.of(do.Forget) == [do.Forget(ID)]
        assert host.of(do.Withdrawn) == [do.Withdrawn(ID)]
        assert host.cube.records == {}
    assert world["s0"].of(do.AnswersEnded) == [do.AnswersEnded(ID)]
    assert world["s0"].node.root(ID) is None


def test_a_restarted_root_goes_on_where_it_was(world):
    world.install(QUERY)
    world.run(12.0)
    world["s1"].commit(QUERY, 1, [1])
    world.run(22.5)
    world["s0"].start()
    for name in ("s1", "s2"):
        world[name].node.link_down("s0", unsent=[], now_s=world.now_s)
        world[name].work()
        world.link("s0", name)
    world.run(45.0)
    windows = [(window, rows) for _, window, rows, exact in world["s0"].published if exact]
    assert (1, (1,)) in windows
    assert (2, ()) in windows


def test_a_suspended_query_is_withdrawn_and_the_reason_is_shown(world):
    world.install(QUERY)
    world.run(12.0)
    failed = BatchReport("hits", (QueryBatch(ID, failed="divide by zero", touched=(1, 1)),))
    for _ in range(EdgeConfig().failures_max):
        world["s1"].report(failed)
        world.run(world.now_s + 0.5)
    assert world["s1"].of(do.Withdrawn) == [do.Withdrawn(ID)]
    world.run(25.0)
    assert world["s0"].node.progress().roots[0].sites_suspended == ("s1",)
    assert world["s1"].node.progress().edge[0].record.message == "divide by zero"


def test_a_root_part_that_is_suspended_is_shown_and_other_streams_go_on(world):
    other = make_query(name="others", begin_pane=1, counter=2)
    world.install(QUERY)
    world.install(other)
    world.run(12.0)
    root = world["s0"]
    root.node.suspend_answers(ID, "limit: the JVM ended twice", now_s=world.now_s)
    root.work()
    world.run(32.0)
    why = "suspended: limit: the JVM ended twice"
    assert root.of(do.AnswersSuspended) == [do.AnswersSuspended(ID, why)]
    assert root.node.refusals() == {ID: why}
    with pytest.raises(HeadwaterError, match="the JVM ended twice"):
        root.node.why(ID, 1)
    assert {query for query, *_ in root.published} == {str(other.id)}
    root.node.suspend_answers(ID, "once more", now_s=world.now_s)
    assert root.node.refusals() == {ID: why}, "it is suspended already"
    root.node.command(Remove(id=QUERY.id, installer="s0", counter=3), now_s=world.now_s)
    root.work()
    assert root.of(do.AnswersEnded) == [do.AnswersEnded(ID)], "and its ledger goes with it"


def test_answers_that_go_beyond_their_limit_too_often_are_tried_no_more(world):
    root = world["s0"]
    root.failure = f"{OVER_LIMIT}it did not end within 600 s"
    world.install(QUERY)
    world.run(60.0)
    assert len(root.of(do.Answer)) == RootConfig().over_limit_max
    assert root.of(do.AnswersSuspended)[0].why.startswith("suspended: limit: it did not end")


def test_answers_that_fail_for_another_reason_in_between_are_tried_again(world):
    root = world["s0"]
    root.failure = f"{OVER_LIMIT}it did not end within 600 s"
    world.install(QUERY)
    tries = RootConfig().over_limit_max - 1
    while len(root.of(do.Answer)) < tries:
        world.run(world.now_s + 0.1)
    root.failure = "Spark is being replaced"
    while len(root.of(do.Answer)) < tries + 1:
        world.run(world.now_s + 0.1)
    root.failure = f"{OVER_LIMIT}it did not end within 600 s"
    while len(root.of(do.Answer)) < 2 * tries + 1:
        world.run(world.now_s + 0.1)
    assert root.of(do.AnswersSuspended) == []


def test_of_two_queries_with_one_name_only_the_newer_goes_on(world):
    newer = make_query(begin_pane=1, counter=2)
    world.install(QUERY)
    world.install(newer)
    world.run(32.0)
    assert {query for query, *_ in world["s0"].published} == {str(newer.id)}
    assert world["s1"].of(do.Withdrawn) == [do.Withdrawn(ID)]
    assert [notice.kind for notice in world["s0"].of(Notice)] == ["name-lost"]


def test_rows_that_the_cube_has_lost_are_declined(world):
    world.install(QUERY)
    world.run(12.0)
    world["s1"].commit(QUERY, 1, [1])
    world["s1"].node.rows_gone([(ID, 1)], now_s=world.now_s)
    world["s1"].work()
    world.run(25.0)
    assert "s1: declined (expired)" in world["s0"].node.why(ID, 1).text()


def test_an_answer_that_fails_is_shown_and_tried_again(world):
    world["s0"].failure = "Spark died"
    world.install(QUERY)
    world.run(32.0)
    assert world["s0"].node.progress().roots[0].failure == "Spark died"
    world["s0"].failure = None
    world.run(60.0)
    assert {window for _, window, *_ in world["s0"].published} >= {1, 2, 3}


def test_why_names_what_is_answered_here_when_the_query_is_not(world):
    world.install(QUERY)
    with pytest.raises(HeadwaterError, match=r"counts@s0#1 is not answered at s1; here are: none"):
        world["s1"].node.why(ID, 1)


def test_progress_shows_every_part(world):
    world.install(QUERY)
    world.run(25.0)
    progress = world["s0"].node.progress()
    assert progress.queries == (ID,)
    assert progress.neighbours == ("s1", "s2")
    assert progress.edge[0].record.closed_through == 2
    assert progress.roots[0].newest_answered == 1
    assert progress.loading_bytes == 0


def test_parts_that_disagree_on_the_life_of_a_summary_are_refused():
    with pytest.raises(ConfigurationError, match="one summary_life_s for all parts"):
        NodeConfig(edge=EdgeConfig(summary_life_s=99.0))


@pytest.mark.parametrize("ahead_s", [-86_400.0, 86_400.0])
def test_a_clock_that_is_set_does_not_stop_the_heartbeats(world, ahead_s):
    world.run(100.0)
    node = world["s1"].node
    node.take()
    for second in range(100, 200):
        node.wall_clock(ahead_s, now_s=float(second))
        node.tick(now_s=float(second))
    beats = [
        effect
        for effect in node.take()
        if isinstance(effect, do.Transmit) and isinstance(effect.message, Heartbeat)
    ]
    assert node.ahead_s == ahead_s
    assert len(beats) >= 10


def by_age_of_s2():
    return msgspec.structs.replace(make_query(begin_pane=3, root="s2"), time=TimeKind.AGE)


def test_a_query_by_age_begins_when_the_clock_of_its_root_is_known(world):
    """Nobody has asked s2 for anything yet, so nobody knows its clock."""
    query = by_age_of_s2()
    world.install(query, Tree(2, ((0, 2), (1, 0))))
    assert world["s1"].of(do.Installed) == []
    assert [one.query for one in world["s2"].of(do.Installed)] == [query]
    world.run(8.0)
    assert [one.query for one in world["s1"].of(do.Installed)] == [query]


def test_a_query_that_is_removed_before_it_has_begun_does_not_begin(world):
    query = by_age_of_s2()
    world.install(query, Tree(2, ((0, 2), (1, 0))))
    world["s0"].node.command(Remove(id=query.id, installer="s0", counter=2), now_s=world.now_s)
    world["s0"].work()
    world.run(8.0)
    assert world["s1"].of(do.Installed) == []


def test_each_query_is_answered_with_what_is_its_own(world):
    other = make_query(begin_pane=1, name="others", counter=2)
    world.install(QUERY)
    world.install(other)
    world.run(12.0)
    world["s1"].commit(QUERY, 1, [1])
    world["s2"].commit(other, 1, [2])
    world.run(26.0)
    answers = {query: rows for query, window, rows, _ in world["s0"].published if window == 1}
    assert answers == {ID: (1,), str(other.id): (2,)}


def test_what_is_being_loaded_takes_the_room_that_it_will_need(world):
    """A slow disk: what is to be sent waits to be loaded, and is not counted out before it is."""
    world.install(QUERY)
    world.run(12.0)
    site = world["s1"]
    loads = []
    load = site.execute
    site.execute = lambda effect: (
        loads.append(effect) if isinstance(effect, do.LoadAndSend) else load(effect)
    )
    site.commit(QUERY, 1, [1, 2, 3])
    world.run(22.0)
    assert [send.pane for send in loads] == [1]
    assert site.node.progress().loading_bytes == loads[0].row_bytes > 0
    load(loads[0])
    assert site.node.progress().loading_bytes == 0


# A node that is late


def test_a_root_whose_ticks_came_late_says_so_though_messages_were_heard_meanwhile(world):
    world.install(QUERY)
    world.run(20.0)
    world.asleep = {"s0"}
    world.run(28.0)
    world.asleep = set()
    world["s0"].effects.clear()
    world.run(31.0)
    acks = [one.message.ack for one in world["s0"].of(do.Transmit) if is_ack(one)]
    assert acks
    assert {6.0 < ack.late_s <= 8.0 for ack in acks} == {True}
    assert world["s1"].node.peer.wake.late_s(world.now_s) == 0.0


def is_ack(effect: do.Transmit) -> bool:
    return isinstance(effect.message, AckMessage)


@pytest.mark.parametrize("machine", [Edge, Root])
def test_the_machines_of_a_node_that_slept_are_told_how_awake_it_was(world, monkeypatch, machine):
    world.install(QUERY)
    world.run(20.0)
    shares: list[float] = []
    tick = machine.tick

    def heard(self, **words):
        shares.append(words["awake_share"])
        tick(self, **words)

    monkeypatch.setattr(machine, "tick", heard)
    world.run(24.0)
    assert set(shares) == {1.0}
    world.asleep = set(world.hosts)
    world.run(32.0)
    world.asleep = set()
    shares.clear()
    world.run(32.5)
    assert 0.3 < min(shares) < 0.7


# Alarms


@pytest.mark.parametrize("by", ["site", "root"])
def test_what_a_relay_invents_of_a_site_is_an_alarm_in_the_answer(world, by):
    """s1 carries for s2, and tells the root of a pane that s2 has not closed. That s1 is between
    them both the site knows and the root."""
    world.install(QUERY, Tree(0, ((1, 0), (2, 1))))
    if by == "site":
        world["s0"].node.root(ID).books.carriers_of = lambda ordinal: ()
    else:
        world["s2"].node.edge._carriers_of = lambda query: ()
    world.link("s1", "s2")
    world.run(12.0)
    lie = Summary(
        query=ID, pane=1, coverage=Coverage.of_whole(2, world["s2"].cube.incarnation), rows=(666,)
    )
    world["s1"].node.peer.originate(lie, now_s=world.now_s)
    world["s1"].work()
    world.run(26.0)
    assert world["s0"].published[0] == (ID, 1, (666,), False)
    (raised,) = world["s0"].node.root(ID).why(1).alarms
    assert (raised.site, raised.carriers) == ("s2", ("s1",))
    assert "that this site never cut" in raised.text
    kept = [effect.standing for effect in world["s0"].of(do.KeepAlarm)]
    assert [(one.alarm.first, one.alarm.last, one.count) for one in kept] == [(1, 1, 1)]


def test_without_a_liar_there_is_no_alarm(world):
    world.install(QUERY)
    world.run(60.0)
    assert world["s0"].of(do.KeepAlarm) == []


def test_a_site_without_data_leaves_alone_what_its_cube_has_of_a_time_with_it():
    roster = msgspec.structs.replace(ROSTER, sites=(Site(0, "s0", has_data=False),))
    node = Node(
        site="s0",
        roster=roster,
        trees=(Tree(0, ()),),
        config=NodeConfig(),
        merger_of=lambda _: NumbersMerger(),
        incarnation=7,
    )
    kept = QueryKept(ID, EdgeRecord(first_pane=1), ())
    node.restore(commands=[], counts=[], cube=[kept], now_s=0.0)
    assert [effect for effect in node.take() if isinstance(effect, do.Forget)] == []
