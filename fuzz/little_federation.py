"""Three agents in one process, with keys of their own, of which one lies: alpha, bravo and charlie.

::

    alpha (root) ── bravo ── charlie        alpha (root) ── charlie ── bravo

They have worked for a while when a target begins: sites have closed panes, the root has answered
and acknowledged. What is sent goes through the codec, as bytes, so that only what a reader of bytes
lets pass is heard. Disks are dictionaries, and Spark is nobody.
"""

from __future__ import annotations

from collections import defaultdict, deque
from copy import deepcopy
from functools import cache
from typing import Any

import msgspec
import zstandard

from fuzz import examples, proven
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.sets.ranges import Ranges
from headwater.edge.outputs import UpdatesMade
from headwater.edge.report import BatchReport, QueryBatch
from headwater.net.identity.signing import KeySignatures, MemoryKeys, OperatorSignature, OwnKey
from headwater.net.values.codec import COMPRESSED, Codec
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.messages import Message
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Count, Install
from headwater.plan.query import Query, Timing
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

FEDERATION = "fuzzland"
ROOT, HONEST, LIAR = NAMES = ("alpha", "bravo", "charlie")
OPERATOR = "olga"
ROSTER = Roster(1, tuple(Site(n, name) for n, name in enumerate(NAMES)), home=ROOT)
TREES = (Tree(0, ((1, 0), (2, 1))), Tree(0, ((1, 2), (2, 0))))
BEGIN_S = 1_000_000_000.0
PANE_S = 10
BEGIN_PANE = int(BEGIN_S) // PANE_S
WITHHELD_S = 4
EFFECTS_MAX = 20_000
MESSAGES_MAX = 20_000
"""What one input may cause; more is an answer to an answer without end."""


def _query() -> Query:
    window = WindowSpec(PANE_S * MICROS, PANE_S * MICROS)
    return msgspec.structs.replace(
        examples.a_query(), window=window, begin_pane=BEGIN_PANE, timing=Timing(disorder_s=1.0)
    )


QUERY = _query()
QUERY_ID = str(QUERY.id)
codec = Codec(lambda query: examples.SCHEMA if query == QUERY_ID else None, ordinals_max=len(NAMES))


ACKS = 4
"""The number of acknowledgements on the wire."""
ALL = (1 << len(NAMES)) - 1


def body_of(data: bytes) -> tuple[int, Any]:
    """(number, content) of a message, as lists and dictionaries."""
    body = data[1:]
    if data[0] & COMPRESSED:
        body = zstandard.ZstdDecompressor().decompress(body, max_output_size=1 << 24)
    return data[0] & ~COMPRESSED, msgspec.msgpack.decode(body)


class Keys:
    """Of the three and their operator. Making them takes a while, so it is done once."""

    def __init__(self) -> None:
        self.public = MemoryKeys()
        self.own: dict[str, OwnKey] = {name: self.public.make(name) for name in NAMES}
        self.own[OPERATOR] = self.public.make_operator(OPERATOR)

    def signatures(self, name: str) -> KeySignatures:
        return KeySignatures(
            FEDERATION, own=lambda: self.own[name], others=self.public, pack=_packed
        )


def _packed(query: str, rows: Any) -> bytes:
    """A function, since a copy of the federation must not copy the codec."""
    return codec.rows.encode(query, rows)


@cache
def keys() -> Keys:
    return Keys()


@cache
def examiner() -> proven.Examiner:
    return proven.Examiner(FEDERATION, NAMES, ROOT, keys().own)


@cache
def commands() -> tuple[Install, Count]:
    """The query that is live everywhere: commanded by an operator, planned and counted by alpha."""
    given = OperatorSignature(FEDERATION, OPERATOR, keys().own[OPERATOR]).sign(
        Install(query=QUERY, trees=TREES, roster_version=1)
    )
    assert isinstance(given, Install)
    root = keys().signatures(ROOT)
    return root.sign_plan(given), root.sign_count(
        Count(installer=ROOT, number=1, revision=1, live=(QUERY_ID,))
    )


def alter(number: int) -> Alter:
    """Settings for that query, as an operator signs them; given by whoever is no root."""
    given = OperatorSignature(FEDERATION, OPERATOR, keys().own[OPERATOR]).sign(
        Alter(
            id=QUERY.id,
            installer=LIAR,
            counter=number,
            number=number,
            first_pane=BEGIN_PANE + number,
            settings=Settings(deadline_s=4.0 + number),
        )
    )
    assert isinstance(given, Alter)
    return given


def _nothing(effect: do.Effect) -> None:
    """There is no disk."""


class Agent:
    """One node, and what a shell does for it."""

    def __init__(self, name: str, world: Federation) -> None:
        self.name = name
        self._world = world
        self._updates: dict[int, int] = defaultdict(int)
        self._waiting: set[int] = set()
        install, count = commands()
        self.node = Node(
            site=name,
            roster=ROSTER,
            trees=TREES,
            config=NodeConfig(),
            merger_of=lambda query: ArrowMerger(query.program),
            incarnation=1000 + NAMES.index(name),
            root_incarnation=50,
            signatures=keys().signatures(name),
        )
        self.node.restore(commands=[install], counts=[count], now_s=BEGIN_S)
        self.answers: list[do.Answer] = []
        self.work()

    def read(self, pane: int) -> None:
        """A batch with a few records of this pane is committed."""
        self._waiting.add(pane)
        now_s = self._world.now_s
        batch = QueryBatch(QUERY_ID, ((pane, 3),))
        high_us = (pane * PANE_S + 1) * MICROS
        report = BatchReport(QUERY.source_name, (batch,), high_us, now_s, is_caught_up=True)
        self.node.batch_committed(report, now_s=now_s)
        self.work()

    def poll(self) -> None:
        """Nothing new was found."""
        report = BatchReport(QUERY.source_name, read_through_s=self._world.now_s, is_caught_up=True)
        self.node.batch_committed(report, now_s=self._world.now_s)

    def work(self) -> None:
        for _ in range(EFFECTS_MAX):
            effects = self.node.take()
            if not effects:
                return
            for effect in effects:
                self._world.look_at(self.name, effect)
                self._execute(effect)
        raise AssertionError(f"{self.name}: effects without end")

    def _execute(self, effect: do.Effect) -> None:
        _, method, _, told = do.WORK[type(effect)]
        came = getattr(self, method, _nothing)(effect)
        if told:
            getattr(self.node, told)(came, now_s=self._world.now_s)

    def transmit(self, effect: do.Transmit) -> None:
        self._world.transmit(self.name, effect.to, effect.message)

    def make_updates(self, effect: do.MakeUpdates) -> list[UpdatesMade]:
        return [self._make(effect.query, pane) for pane in effect.panes]

    def load_rows(self, effect: do.LoadAndSend) -> None:
        self.node.loaded(effect, self._rows(effect.updates), now_s=self._world.now_s)

    def answer(self, effect: do.Answer) -> None:
        self.answers.append(effect)
        self.node.answered(effect, now_s=self._world.now_s)

    def install(self, effect: do.Installed) -> None:
        now_s = self._world.now_s
        self.node.read_from(str(effect.query.id), at_s=now_s, now_s=now_s)

    def live_anew(self, effect: do.LiveAnew) -> int:
        return effect.above + 1

    def rise_above(self, effect: do.RiseAbove) -> int:
        return effect.above + 1

    def made_through(self, pane: int) -> int:
        """How many updates of the pane it has made."""
        return self._updates[pane]

    def _make(self, query: str, pane: int) -> UpdatesMade:
        first = self._updates[pane] + 1
        if pane in self._waiting:
            self._waiting.discard(pane)
            self._updates[pane] += 1
        return UpdatesMade(query, pane, first, self._updates[pane], row_bytes=100)

    def _rows(self, updates: Ranges) -> Any:
        return examples.a_table(3) if updates else None


class Federation:
    """Time passes only where it is told to."""

    def __init__(self) -> None:
        self.now_s = BEGIN_S
        self.liar = LIAR
        self.withheld: list[tuple[str, bytes]] | None = None
        """While it is a list: acknowledgements that somebody keeps from the honest site."""
        self.messages: deque[tuple[str, str, bytes]] = deque()
        self.agents: dict[str, Agent] = {}
        for name in NAMES:
            self.agents[name] = Agent(name, self)
        for name, agent in self.agents.items():
            for other in NAMES:
                if other != name:
                    agent.node.link_up(other, now_s=self.now_s)
            agent.work()
        self.deliver()

    def transmit(self, sender: str, to: str, message: Message) -> None:
        self.messages.append((sender, to, codec.encode(message)))

    def look_at(self, name: str, effect: do.Effect) -> None:
        """Whatever an honest agent keeps or says is looked at once more."""
        if name == self.liar:
            return
        examiner().check(name, effect)
        honest = ALL & ~(1 << NAMES.index(self.liar))
        for kept in proven.kept_alone(effect, honest):
            site = NAMES[kept.coverage.sites.bit_length() - 1]
            is_cut = proven.is_cut(kept, self.agents[site].made_through(kept.pane))
            assert is_cut, f"{name} keeps an update that {site} never cut: {kept}"

    def deliver(self) -> None:
        for _ in range(MESSAGES_MAX):
            if not self.messages:
                return
            sender, to, data = self.messages.popleft()
            if self.withheld is not None and to == HONEST and data[0] & ~COMPRESSED == ACKS:
                self.withheld.append((to, data))
            else:
                self.hear(sender, to, data)
        raise AssertionError("messages without end")

    def hear(self, sender: str, to: str, data: bytes) -> None:
        """Raises ``Refused`` for what the codec does not take."""
        message = codec.decode(data)
        agent = self.agents[to]
        agent.node.receive(sender, message, now_s=self.now_s)  # type: ignore[arg-type]
        ack = agent.node.peer._acks._cast.newest(QUERY_ID, now_s=self.now_s)
        if ack is not None and to != self.liar:
            examiner().check_ack(to, ack)
        agent.work()

    def pass_time(self, seconds: float, *, step_s: float = 1.0) -> None:
        for _ in range(round(seconds / step_s)):
            self.now_s += step_s
            for agent in self.agents.values():
                agent.poll()
                agent.node.tick(now_s=self.now_s)
                agent.work()
            self.deliver()

    def read(self, pane: int, *names: str) -> None:
        for name in names or NAMES:
            self.agents[name].read(pane)
        self.deliver()


def in_mid_work() -> Federation:
    """Two panes are answered; the third is read by all and closed by nobody; the newest
    acknowledgements are known to the liar and kept from the honest site. To each a world of its
    own: a copy takes a quarter of the time."""
    world = deepcopy(_in_mid_work())
    world.withheld = None
    return world


def withheld() -> list[tuple[str, bytes]]:
    """(to whom, message) that the root has signed and the honest site has not heard."""
    return _in_mid_work().withheld or []


@cache
def _in_mid_work() -> Federation:
    world = Federation()
    for pane in range(BEGIN_PANE, BEGIN_PANE + 2):
        world.read(pane)
        world.pass_time(PANE_S, step_s=2.0)
    world.read(BEGIN_PANE + 2)
    world.withheld = []
    world.pass_time(WITHHELD_S, step_s=2.0)
    return world
