"""A small world for peers: drawn trees, virtual time, a network that one can cut.

A tree is drawn by indentation, the root first::

    root
      a
        c
        d
      b

Rows are tuples of record numbers and merging concatenates them, so a record that is counted twice
is there twice.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from pane_kit import PROGRAM, NumbersMerger

from headwater.algebra.coverage import Coverage
from headwater.algebra.panes import WindowSpec
from headwater.algebra.sets import bitset
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld, with_leaves
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.messages import Message
from headwater.overlay.outputs import (
    AckDelivered,
    CommandAccepted,
    CountsLearned,
    Delivered,
    Dial,
    Hangup,
    StatesDelivered,
    Transmit,
)
from headwater.overlay.peer import Peer
from headwater.overlay.signatures import UNSIGNED, Signatures
from headwater.plan.command import Command, Count, Install, Remove
from headwater.plan.notice import Notice
from headwater.plan.query import Query, QueryId
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

EVENTS_MAX = 200_000
INCARNATION = 7


def a_query(name: str = "q", *, installer: str, root: str, counter: int = 1, **more: Any) -> Query:
    id_ = QueryId(name, installer, counter)
    return Query(id_, WindowSpec(1_000_000, 1_000_000), root, PROGRAM, **more)


def read_drawing(drawing: str) -> list[tuple[str, str | None]]:
    """(name, parent) in the order of the drawing."""
    found: list[tuple[str, str | None]] = []
    path: list[tuple[int, str]] = []
    for line in drawing.strip("\n").splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        while path and path[-1][0] >= depth:
            path.pop()
        found.append((line.strip(), path[-1][1] if path else None))
        path.append((depth, line.strip()))
    return found


class World:
    """Peers on a drawn tree and the network between them."""

    def __init__(
        self,
        drawing: str,
        *siblings: str,
        config: OverlayConfig | None = None,
        one_way_s: float = 0.01,
        hidden: Iterable[str] = (),
        relays: Iterable[str] = (),
        merger: Any = None,
        linked: bool = True,
        skew_s: dict[str, float] | None = None,
        signatures_of: Callable[[str], Signatures] = lambda name: UNSIGNED,
        sign: Callable[[Command], Command] = lambda command: command,
        apart: int = 1,
        budgets: dict[str, LinkBudgets] | None = None,
    ) -> None:
        """``sign`` is what operators sign commands with, ``apart`` what lies from one ordinal to
        the next."""
        self.sign = sign
        self._signatures_of = signatures_of
        self._budgets = budgets or {}
        members = read_drawing(drawing)
        names = [name for name, _ in members]
        self.ordinal = {name: number * apart for number, name in enumerate(names)}
        self.roster = Roster(
            1,
            tuple(
                Site(n, name, dialable=name not in set(hidden), has_data=name not in set(relays))
                for name, n in self.ordinal.items()
            ),
            names[0],
        )
        self.root = names[0]
        self.tree = Tree(
            0, tuple((self.ordinal[n], self.ordinal[p]) for n, p in members if p is not None)
        )
        self.trees = (self.tree, *map(self.tree_of, siblings))
        self.config = config or OverlayConfig()
        self.merger = merger or NumbersMerger()
        self.now_s = 10_000.0
        self.skew_s = skew_s or {}
        """How far the clocks of some peers are ahead of the true time, ``now_s``."""
        self.one_way_s = one_way_s
        self.delay_s: dict[tuple[str, str], float] = {}
        self.peers: dict[str, Peer] = {}
        self.links: dict[frozenset[str], int] = {}
        """Open links, each with the number of its life: what was on an earlier one is lost."""
        self.barred: set[frozenset[str]] = set()
        self.deaf: set[tuple[str, str]] = set()
        self.asleep: set[str] = set()
        self.outputs: dict[str, list[Any]] = {name: [] for name in names}
        self.sent: Counter[str] = Counter()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._records = count(1)
        self.born: dict[int, tuple[str, int]] = {}
        for name in names:
            self.start(name)
        if linked:
            for tree in self.trees:
                for child, parent in tree.parents:
                    self.connect(names[child // apart], names[parent // apart])
            self.run(1.0)

    def tree_of(self, drawing: str) -> Tree:
        """A further drawing of the same sites."""
        pairs = ((n, p) for n, p in read_drawing(drawing) if p is not None)
        return Tree(0, tuple((self.ordinal[n], self.ordinal[p]) for n, p in pairs))

    # The network.

    def start(
        self, name: str, commands: Iterable[Install] = (), counts: Iterable[Count] = ()
    ) -> Peer:
        """A new life of this peer, with what was on its disk."""
        peer = Peer(
            site=name,
            roster=self.roster,
            trees=self.trees,
            config=self.config,
            merger_of=lambda query: self.merger,
            signatures=self._signatures_of(name),
            budgets=self._budgets.get(name, NO_BUDGETS),
        )
        peer.restore(commands, counts, now_s=self.clock_s(name))
        self.peers[name] = peer
        return peer

    def connect(self, left: str, right: str) -> None:
        self.barred.discard(frozenset((left, right)))
        self._link_up(left, right)

    def sever(
        self, left: str, right: str, *, unsent: dict[str, list[Message]] | None = None
    ) -> None:
        """The link is lost with all that is on it, and can't be dialled until ``connect``."""
        self.barred.add(frozenset((left, right)))
        self._link_down(left, right, unsent or {})

    def part(self, *away: str) -> None:
        """Cut these off from all others."""
        for name in away:
            for other in self.peers.keys() - set(away):
                self.sever(name, other)

    def run(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        for _ in range(EVENTS_MAX):
            tick_s, sleeper = min(
                (max(self.now_s, peer.next_deadline_s() - self.skew_s.get(name, 0.0)), name)
                for name, peer in self.peers.items()
                if name not in self.asleep
            )
            event_s = self._events[0][0] if self._events else float("inf")
            if min(tick_s, event_s) > until_s:
                self.now_s = until_s
                return
            if event_s <= tick_s:
                self.now_s, _, do = heapq.heappop(self._events)
                do()
            else:
                self.now_s = tick_s
                self.peers[sleeper].tick(now_s=self.clock_s(sleeper))
                self.collect(sleeper)
        raise AssertionError(f"no quiet after {EVENTS_MAX} events: a loop?")

    def clock_s(self, name: str) -> float:
        return self.now_s + self.skew_s.get(name, 0.0)

    def collect(self, name: str) -> None:
        for output in self.peers[name].take():
            self.outputs[name].append(output)
            if isinstance(output, Transmit):
                self.sent[type(output.message).__name__] += 1
                self._carry(name, output)
            elif isinstance(output, Dial):
                self._at(
                    self._delay(name, output.site), lambda to=output.site: self._dial(name, to)
                )
            elif isinstance(output, Hangup):
                self._at(0.0, lambda to=output.site: self._link_down(name, to, {}))

    def _carry(self, name: str, output: Transmit) -> None:
        link = frozenset((name, output.to))
        assert link in self.links, f"{name} sends {output.message} to {output.to} without a link"
        life = self.links[link]
        self._at(self._delay(name, output.to), lambda: self._arrive(name, output, life))

    def _arrive(self, name: str, output: Transmit, life: int) -> None:
        if (
            self.links.get(frozenset((name, output.to))) == life
            and (name, output.to) not in self.deaf
        ):
            self.peers[output.to].receive(name, output.message, now_s=self.clock_s(output.to))
            self.collect(output.to)

    def _dial(self, name: str, other: str) -> None:
        assert self.roster.site(other).dialable, f"{name} dials {other}, which can't be dialled"
        if frozenset((name, other)) not in self.barred:
            self._link_up(name, other)

    def _link_up(self, left: str, right: str) -> None:
        if frozenset((left, right)) in self.links:
            return
        self.links[frozenset((left, right))] = next(self._number)
        for end, other in ((left, right), (right, left)):
            self.peers[end].link_up(other, now_s=self.clock_s(end))
            self.collect(end)

    def _link_down(self, left: str, right: str, unsent: dict[str, list[Message]]) -> None:
        self.links.pop(frozenset((left, right)), None)
        for end, other in ((left, right), (right, left)):
            self.peers[end].link_down(other, unsent=unsent.get(end, []), now_s=self.clock_s(end))
            self.collect(end)

    def _delay(self, left: str, right: str) -> float:
        return self.delay_s.get((left, right), self.one_way_s)

    def _at(self, after_s: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now_s + after_s, next(self._number), do))

    # What edges, roots and operators do.

    def install(
        self,
        name: str = "q",
        *,
        at: str | None = None,
        counter: int | None = None,
        root: str | None = None,
        tree: Tree | None = None,
        **more: Any,
    ) -> str:
        at = at or self.root
        number = self.peers[at].next_counter() if counter is None else counter
        query = a_query(name, installer=at, root=root or self.root, counter=number, **more)
        trees = self.trees if tree is None else (tree,)
        install = Install(query, trees, roster_version=1)
        self.peers[at].command(self.sign(install), now_s=self.clock_s(at))
        self.collect(at)
        return str(query.id)

    def remove(self, id_text: str, *, at: str | None = None) -> None:
        at = at or self.root
        command = Remove(
            id=QueryId.parse(id_text), installer=at, counter=self.peers[at].next_counter()
        )
        self.peers[at].command(self.sign(command), now_s=self.clock_s(at))
        self.collect(at)

    def summary(
        self, site: str, pane: int, *, query: str, lane: Lane = Lane.LIVE, update: int | None = None
    ) -> Summary:
        """One new record of this site in this pane."""
        record = next(self._records)
        self.born[record] = (site, pane)
        ordinal = self.ordinal[site]
        if lane is Lane.SPARE or update is not None:
            number = update or 1
            coverage = Coverage.of_part(
                ordinal, INCARNATION, updates=((number, number),), closed_at=number
            )
        else:
            coverage = Coverage.of_whole(ordinal, INCARNATION)
        return Summary(query=query, pane=pane, coverage=coverage, rows=(record,), lane=lane)

    def originate(self, site: str, pane: int, **more: Any) -> Summary:
        summary = self.summary(site, pane, **more)
        self.peers[site].originate(summary, now_s=self.clock_s(site))
        self.collect(site)
        return summary

    def report(self, site: str, query: str, *, number: int = 1) -> None:
        state = SiteState(
            query=query,
            ordinal=self.ordinal[site],
            incarnation=INCARNATION,
            number=number,
            first_pane=0,
        )
        self.peers[site].report([state], now_s=self.clock_s(site))
        self.collect(site)

    def acknowledge(
        self,
        query: str,
        *,
        number: int = 1,
        incarnation: int = 1,
        panes: Iterable[PaneHeld] = (),
        done_through: int = 0,
        unwanted: Ranges = (),
    ) -> None:
        head = Acknowledgement(
            query=query,
            root_incarnation=incarnation,
            number=number,
            done_through=done_through,
            unwanted=unwanted,
        )
        ack = with_leaves(head, panes=panes)
        self.peers[self.root].acknowledge(ack, now_s=self.clock_s(self.root))
        self.collect(self.root)

    def hand(self, sender: str, to: str, message: Message) -> None:
        """A message as if it came over the wire, whatever the sender may say."""
        self.peers[to].receive(sender, message, now_s=self.clock_s(to))
        self.collect(to)

    # What can be seen.

    def of(self, name: str, kind: type) -> list[Any]:
        return [output for output in self.outputs[name] if isinstance(output, kind)]

    def delivered(self, query: str | None = None) -> list[Summary]:
        summaries = [output.summary for output in self.of(self.root, Delivered)]
        return [s for s in summaries if query is None or s.query == query]

    def delivered_sites(self, pane: int) -> list[set[str]]:
        """The sites of each summary of this pane that came to the root, in order."""
        name = {ordinal: site for site, ordinal in self.ordinal.items()}
        return [
            {name[ordinal] for ordinal in bitset.members(summary.coverage.sites)}
            for summary in self.delivered()
            if summary.pane == pane
        ]

    def states(self) -> list[SiteState]:
        return [s for output in self.of(self.root, StatesDelivered) for s in output.states]

    def acks(self, name: str) -> list[Acknowledgement]:
        return [output.ack for output in self.of(name, AckDelivered)]

    def durable_counts(self, name: str) -> list[Count]:
        """Each installer's newest that this peer was told to keep."""
        kept = (*self.of(name, CommandAccepted), *self.of(name, CountsLearned))
        found = [count for output in kept for count in output.counts]
        return list(
            {count.installer: count for count in sorted(found, key=lambda c: c.order)}.values()
        )

    def accepted(self, name: str) -> list[Any]:
        return [output.command for output in self.of(name, CommandAccepted)]

    def notices(self, name: str) -> list[str]:
        return [output.kind for output in self.of(name, Notice)]

    def live(self, name: str) -> set[str]:
        return set(self.peers[name].live_queries())

    def check_truth(self) -> None:
        """Coverage is exactly what is in it, for every summary that came to the root."""
        for summary in self.delivered():
            records = Counter(summary.rows or ())
            twice = [record for record, times in records.items() if times > 1]
            assert not twice, f"counted twice in one summary: {twice}"
            sites = bitset.of(self.ordinal[self.born[record][0]] for record in records)
            assert sites == summary.coverage.sites & ~summary.coverage.empty
            assert all(self.born[record][1] == summary.pane for record in records)


def an_install(
    name: str, installer: str, counter: int, *, tree: Tree | None = None, **more: Any
) -> Install:
    query = a_query(name, installer=installer, root=installer, counter=counter, **more)
    return Install(query, (tree or Tree(0, ()),), roster_version=1)


@pytest.fixture(scope="session")
def overlay() -> SimpleNamespace:
    """The tools of these tests, by name."""
    return SimpleNamespace(
        World=World,
        NumbersMerger=NumbersMerger,
        OverlayConfig=OverlayConfig,
        a_query=a_query,
        an_install=an_install,
    )
