"""The machines of a node and what passes between them.

What one machine says to another is handed over here; everything for the world becomes an effect,
in the order in which it was said.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial

from headwater.algebra.summary import Merger, Rows, Summary
from headwater.edge import outputs as edge_out
from headwater.edge.edge import Edge
from headwater.errors import QueryRefused
from headwater.node.config import NodeConfig
from headwater.node.effects import (
    AnswersBegun,
    AnswersEnded,
    AnswersSuspended,
    Effect,
    Forget,
    Installed,
    LiveAnew,
    LoadAndSend,
    Notice,
    RiseAbove,
    Withdrawn,
)
from headwater.overlay import outputs as peer_out
from headwater.overlay.clocks.root_clock import RootClock
from headwater.overlay.peer import Peer
from headwater.overlay.signatures import Signatures
from headwater.plan.command import Command, Install
from headwater.plan.duty import Admit, Duty, refusal_of
from headwater.plan.query import Query, TimeKind
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.root import outputs as root_out
from headwater.root.outputs import RootKept
from headwater.root.root import Root

SUSPENDED = "suspended: "
"""How the refusal of a root begins that had answered before."""
ROUNDS_MAX = 1_000
"""How often machines may answer each other within one call; more is a mistake of ours."""


class Machines:
    """A peer, an edge where there is data, and a root for each query that is answered here."""

    def __init__(
        self,
        *,
        site: str,
        roster: Roster,
        trees: Sequence[Tree],
        config: NodeConfig,
        merger_of: Callable[[Query], Merger],
        incarnation: int,
        root_incarnation: int,
        root_start: int,
        born_s: float,
        made_s: float | None,
        admit: Admit,
        signatures: Signatures,
    ) -> None:
        self.site = site
        self._roster = roster
        self._config = config
        self._merger_of = merger_of
        self._admit = admit
        self._incarnation = incarnation
        self._root_incarnation = root_incarnation
        """These two also say what was asked for: a number that is above is asked for once."""
        self._root_start = root_start
        self.ahead_s = 0.0
        self.now_s = 0.0
        """When something was last passed on."""
        self.peer = Peer(
            site=site,
            roster=roster,
            trees=trees,
            config=config.overlay,
            merger_of=self._admitted_merger,
            signatures=signatures,
        )
        here = roster.site(site)
        self.edge: Edge | None = None
        if here.has_data:
            self.edge = Edge(
                ordinal=here.ordinal,
                incarnation=incarnation,
                config=config.edge,
                retention_s=config.retention_s,
                born_s=born_s,
                made_s=made_s,
                carriers_of=self.peer.handed_to,
            )
        self.roots: dict[str, Root] = {}
        self.ledgers: dict[str, RootKept] = {}
        """What was restored and is not taken up yet."""
        self.refusals: dict[str, str] = {}
        """Queries that name this agent as their root and are not admitted, and why."""
        self.unread_records: dict[str, str] = {}
        self.unread_ledgers: dict[str, str] = {}
        """Queries of which the cube, or the ledger, has something that can't be read, and why."""
        self.loading_bytes = 0
        """Of rows that are being loaded to be sent."""
        self.effects: list[Effect] = []
        self._peer_is_told = False
        self._installed: set[str] = set()
        self._awaited: dict[str, Query] = {}
        """Queries that begin here as soon as the clock of their root is known, and no other one
        takes the name of their source."""

    def pass_on(self, *, now_s: float) -> None:
        """Hand over what machines say to each other until none has more to say.

        The peer speaks first, so a further round is needed only where the others answered it.
        """
        self.now_s = now_s
        for _ in range(ROUNDS_MAX):
            self._peer_is_told = False
            for one in self.peer.take():
                self._from_peer(one, now_s=now_s)
            if self.edge is not None:
                for output in self.edge.take():
                    self._from_edge(output, now_s=now_s)
            for root in list(self.roots.values()):
                for word in root.take():
                    self._from_root(word, now_s=now_s)
            if not self._peer_is_told:
                return
        raise AssertionError(f"{self.site}: machines still talk after {ROUNDS_MAX} rounds")

    def _from_peer(self, output: peer_out.Output, *, now_s: float) -> None:
        match output:
            case peer_out.Transmit():  # nearly all there is, so it is asked for first
                self.effects.append(output)
            case peer_out.Delivered(summary, _):
                root = self.roots.get(summary.query)
                if root is not None:
                    root.receive(summary, now_s=now_s)
            case peer_out.StatesDelivered(states):
                for state in states:
                    root = self.roots.get(state.query)
                    if root is not None:
                        root.receive_states((state,), now_s=now_s)
            case peer_out.AckDelivered(ack):
                if self.edge is not None:
                    self.edge.receive_ack(ack, now_s=now_s)
            case peer_out.CommandAccepted(command, _):
                self.effects.append(output)
                self._obey(command, now_s=now_s)
            case peer_out.Notice(kind, text):
                self.notice("overlay", kind, text)
            case _:
                self.effects.append(output)

    def _from_edge(self, output: edge_out.Output, *, now_s: float) -> None:
        match output:
            case edge_out.Send():
                if output.updates:
                    self.loading_bytes += output.row_bytes
                    self.effects.append(output)
                else:
                    self.originate(output, None, now_s=now_s)
            case edge_out.Report(states):
                self._peer_is_told = True
                self.peer.report(states, now_s=now_s)
            case edge_out.Suspended(query_id, message):
                self.effects.append(Withdrawn(query_id))
                self.notice("edge", "suspended", f"{query_id}: {message}")
            case edge_out.Outlived(incarnation):
                if incarnation > self._incarnation:
                    self._incarnation = incarnation
                    self.effects.append(LiveAnew(incarnation))
            case edge_out.Notice(kind, text):
                self.notice("edge", kind, text)
            case _:
                self.effects.append(output)

    def _from_root(self, output: root_out.Output, *, now_s: float) -> None:
        match output:
            case root_out.Acknowledge(ack):
                self._peer_is_told = True
                self.peer.acknowledge(ack, now_s=now_s)
            case root_out.Outdated(incarnation):
                if incarnation > self._root_incarnation:
                    self._root_incarnation = incarnation
                    self.effects.append(RiseAbove(incarnation))
            case root_out.Overdone(query_id, message):
                self.suspend_answers(query_id, message)
            case root_out.Notice(kind, text):
                self.notice("root", kind, text)
            case _:
                self.effects.append(output)

    def originate(self, send: LoadAndSend, rows: Rows, *, now_s: float) -> None:
        install = self.peer.live_queries().get(send.query)
        if install is not None:
            summary = Summary(
                query=send.query,
                pane=send.pane,
                coverage=send.coverage,
                rows=rows,
                lane=send.lane,
                roster_version=self._roster.version,
                plan_version=install.plan_version,
                more=send.more,
            )
            self._peer_is_told = True
            self.peer.originate(summary, now_s=now_s)

    def lives_anew(self, incarnation: int) -> None:
        self._incarnation = incarnation
        if self.edge is not None:
            self.edge.live_anew(incarnation)

    def risen(self, incarnation: int) -> None:
        self._root_incarnation = incarnation
        for root in self.roots.values():
            root.rise(incarnation)

    def set_clock(self, ahead_s: float, *, now_s: float) -> None:
        self.ahead_s = ahead_s
        if self.edge is not None:
            self.edge.set_clock(ahead_s, now_s=now_s)
        for root in self.roots.values():
            root.set_clock(ahead_s)

    def tell_clocks(self, *, now_s: float) -> None:
        """What the peer has learned of the roots' clocks, to the edge."""
        if self.edge is None:
            return
        for query_id, install in self.peer.live_queries().items():
            clock = self.peer.root_clock(install.query.root)
            if clock is not None:
                is_confirmed = clock.is_confirmed
                self.edge.root_clock(
                    query_id, clock.offset_s, is_confirmed=is_confirmed, now_s=now_s
                )

    def room_bytes(self, query_id: str) -> int:
        """What is being loaded will need room too."""
        return self.peer.room_bytes(query_id) - self.loading_bytes

    # Commands

    def _obey(self, command: Command, *, now_s: float) -> None:
        if isinstance(command, Install):
            self.install(command.query, now_s=now_s)
        else:
            self._remove(str(command.id))

    def install(self, query: Query, *, now_s: float) -> None:
        query_id = str(query.id)
        if query_id in self._installed:
            return  # planned anew: its trees are the peer's business
        self._installed.add(query_id)
        if query.root == self.site and query_id not in self.roots:
            self._begin_answers(query, now_s=now_s)
        if self.edge is None or (query.sites and self.site not in query.sites):
            return
        if query_id in self.unread_records:
            self.notice("edge", "set aside", f"{query_id}: {self.unread_records[query_id]}")
            return
        self._awaited[query_id] = query
        why = self.waits().get(query_id)
        if why is not None:
            self.notice("edge", "waits", f"{query_id}: {why}")
        self.begin_awaited(now_s=now_s)

    def waits(self) -> dict[str, str]:
        """Queries whose source has the name of another one that is read here, and what to do."""
        if self.edge is None:
            return {}
        found = {id_: self.edge.in_the_way_of(query) for id_, query in self._awaited.items()}
        return {
            query_id: f"{other.id} reads another source called {other.source_name!r} here; it "
            "begins when that one is removed"
            for query_id, other in found.items()
            if other is not None
        }

    def begin_awaited(self, *, now_s: float) -> None:
        """A query by age begins when the clock that it goes by is known, and three neighbours have
        agreed on it or have been waited for: a site that took its own clock for it, or that of one
        who lies, would place records where they do not belong. And one whose source has the name of
        another begins when nobody reads that: it would be given the other's lines, which it was not
        admitted to read."""
        for query_id, query in list(self._awaited.items()):
            is_by_age = query.time is TimeKind.AGE
            clock = self.peer.root_clock(query.root)
            is_ready = clock is not None and clock.is_ready
            is_timed = is_ready or not is_by_age or self._edge_has(query_id)
            if is_timed and self.edge is not None and self.edge.in_the_way_of(query) is None:
                del self._awaited[query_id]
                self._begin_edge(query, clock, now_s=now_s)

    def _edge_has(self, query_id: str) -> bool:
        return self.edge is not None and self.edge.has_kept(query_id)

    def _refusal(self, query: Query, duty: Duty) -> str | None:
        operator = self.peer.operator_of(str(query.id))
        return refusal_of(self._admit, query, duty, operator)

    def _admitted_merger(self, query: Query) -> Merger:
        """For the peer: a relay merges nothing of what it would not admit."""
        refused = self._refusal(query, Duty.CARRY)
        if refused is not None:
            raise QueryRefused(refused)
        return self._merger_of(query)

    def _begin_edge(self, query: Query, clock: RootClock | None, *, now_s: float) -> None:
        assert self.edge is not None, "only a site with data awaits a query"
        query_id, refused = str(query.id), self._refusal(query, Duty.READ)
        is_new = False
        try:
            is_new = self.edge.install(
                query,
                now_s=now_s,
                refused=refused,
                offset_s=None if clock is None else clock.offset_s,
                is_confirmed=clock is not None and clock.is_confirmed,
            )
        except Exception as error:  # admitted, and yet not understood: it fails alone
            refused = _unopened(error)
        if refused is not None:
            self.notice("edge", "refused", f"{query_id}: {refused}")
        elif self.edge.is_running(query_id):
            self.effects.append(Installed(query, is_new))

    def _begin_answers(self, query: Query, *, now_s: float) -> None:
        """Admitted first, for its root part will run here; what is refused keeps its ledger, since
        the next start may admit it."""
        query_id = str(query.id)
        refused = self.unread_ledgers.get(query_id) or self._refusal(query, Duty.ANSWER)
        if refused is None:
            try:
                self._begin_root(query, now_s=now_s)
            except Exception as error:  # as at the edge
                refused = _unopened(error)
        if refused is None:
            self.effects.append(AnswersBegun(query))
        else:
            self.ledgers.pop(query_id, None)
            self.refusals[query_id] = refused
            self.notice("root", "refused", f"{query_id}: {refused}")

    def _begin_root(self, query: Query, *, now_s: float) -> None:
        root = Root(
            query=query,
            roster=self._roster,
            config=self._config.root,
            merger=self._merger_of(query),
            incarnation=self._root_incarnation,
            now_s=now_s,
            start=self._root_start,
            ahead_s=self.ahead_s,
            carriers_of=partial(self.peer.above, str(query.id)),
        )
        kept = self.ledgers.pop(str(query.id), None)
        if kept is not None:
            root.restore(kept, now_s=now_s)
        self.roots[str(query.id)] = root

    def suspend_answers(self, query_id: str, message: str) -> None:
        """As if it were refused: its ledger stays until the query is removed."""
        if self.roots.pop(query_id, None) is not None:
            self.refusals[query_id] = f"{SUSPENDED}{message}"
            self.effects.append(AnswersSuspended(query_id, self.refusals[query_id]))
            self.notice("root", "suspended", f"{query_id}: {message}")

    def forget_unread(self, *, aside: Container[str]) -> None:
        """After a restart: what can't be read goes with its query, if that was removed since."""
        live = self.peer.live_queries()
        for unread in (self.unread_records, self.unread_ledgers):
            for query_id in [one for one in unread if one not in live and one not in aside]:
                self._forget_unread(query_id)

    def _forget_unread(self, query_id: str) -> None:
        if self.unread_records.pop(query_id, None) is not None:
            self.effects.append(Forget(query_id))
        if self.unread_ledgers.pop(query_id, None) is not None:
            self.effects.append(AnswersEnded(query_id))

    def _remove(self, query_id: str) -> None:
        self._installed.discard(query_id)
        if self.unread_ledgers.get(query_id) is not None:
            self.refusals.pop(query_id, None)
        self._forget_unread(query_id)
        self._awaited.pop(query_id, None)
        was_refused = self.refusals.pop(query_id, None) is not None
        if self.edge is not None:
            if self.edge.is_running(query_id):
                self.effects.append(Withdrawn(query_id))
            self.edge.remove(query_id)
        if self.roots.pop(query_id, None) is not None or was_refused:
            self.effects.append(AnswersEnded(query_id))

    def notice(self, part: str, kind: str, text: str) -> None:
        self.effects.append(Notice(part, kind, text))


def _unopened(error: Exception) -> str:
    return f"it can't be opened: {type(error).__name__}: {str(error)[:200]}"
