"""One agent's machines, wired: the peer that carries, the edge of its site, the roots it hosts.

::

              ┌────────────────────────── Node ──────────────────────────┐
    links ───►│ Peer ── Delivered, StatesDelivered ──► Root (one a query) │──► effects
    cube  ───►│  ▲ ▲ ◄───────── Acknowledge ──────────── │               │
    Spark ───►│  │ └── Send, Report ── Edge ◄── AckDelivered (via Peer)   │
              └──────────────────────────────────────────────────────────┘

It decides nothing of its own. What one machine says to another passes inside; everything for the
world comes out of ``take`` as one ordered list of effects, the same for an agent and a simulator.
The order is what makes it safe: a ``Keep`` comes before the ``Transmit`` of the acknowledgement
that speaks of it, a ``Remember`` before the state, a ``MarkSent`` before the load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.algebra.summary import Merger, Rows, Summary
from headwater.edge import outputs as edge_out
from headwater.edge.edge import Edge
from headwater.edge.outputs import CutDone
from headwater.edge.record import QueryKept
from headwater.edge.report import BatchReport
from headwater.errors import HeadwaterError
from headwater.node.config import NodeConfig
from headwater.node.effects import (
    Answer,
    AnswersBegun,
    AnswersEnded,
    Effect,
    Installed,
    LoadAndSend,
    Notice,
    Withdrawn,
)
from headwater.node.names import losers
from headwater.node.progress import NodeProgress
from headwater.overlay import outputs as peer_out
from headwater.overlay.messages import Message
from headwater.overlay.peer import Peer
from headwater.plan.command import Command, Install
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.root import outputs as root_out
from headwater.root.explain import Explanation
from headwater.root.outputs import RootKept
from headwater.root.root import Root

ROUNDS_MAX = 1_000
"""How often machines may answer each other within one call; more is a mistake of ours."""


class Node:
    """``incarnation`` is that of the cube, ``root_incarnation`` that of the ledger."""

    def __init__(
        self,
        *,
        site: str,
        roster: Roster,
        tree: Tree,
        config: NodeConfig,
        merger_of: Callable[[Query], Merger],
        incarnation: int,
        root_incarnation: int | None = None,
        born_s: float = -1e18,
        admit: Callable[[Query], str | None] = lambda _: None,
    ) -> None:
        """``admit`` is the site's policy: a reason to refuse a query, or None."""
        self.site = site
        self._roster = roster
        self._config = config
        self._merger_of = merger_of
        self._admit = admit
        self._root_incarnation = incarnation if root_incarnation is None else root_incarnation
        self._peer = Peer(
            site=site, roster=roster, tree=tree, config=config.overlay, merger_of=merger_of
        )
        here = roster.site(site)
        self._edge: Edge | None = None
        if here.has_data:
            self._edge = Edge(
                ordinal=here.ordinal,
                incarnation=incarnation,
                config=config.edge,
                retention_s=config.retention_s,
                born_s=born_s,
            )
        self._roots: dict[str, Root] = {}
        self._ledgers: dict[str, RootKept] = {}
        self._loading_bytes = 0
        self._effects: list[Effect] = []

    def restore(
        self,
        *,
        commands: Iterable[Install],
        vector: Mapping[str, int],
        cube: Iterable[QueryKept] = (),
        ledgers: Iterable[RootKept] = (),
        now_s: float,
    ) -> None:
        """What was durable when the former process ended; before anything else."""
        installs = list(commands)
        self._peer.restore(installs, vector)
        self._ledgers = {one.query: one for one in ledgers}
        if self._edge is not None:
            self._edge.restore(cube)
        for install in installs:
            self._install(install.query, now_s=now_s)
        if self._edge is not None:
            self._edge.forget_uninstalled()
        for query_id in self._ledgers:
            self._effects.append(AnswersEnded(query_id))
        self._ledgers = {}
        self._pass_on(now_s=now_s)

    # What the world tells

    def link_up(self, site: str, *, now_s: float) -> None:
        self._peer.link_up(site, now_s=now_s)
        self._pass_on(now_s=now_s)

    def link_down(self, site: str, *, unsent: Sequence[Message], now_s: float) -> None:
        self._peer.link_down(site, unsent=unsent, now_s=now_s)
        self._pass_on(now_s=now_s)

    def link_load(self, site: str, *, queued_bytes: int, now_s: float) -> None:
        self._peer.link_load(site, queued_bytes=queued_bytes, now_s=now_s)
        self._pass_on(now_s=now_s)

    def receive(self, sender: str, message: Message, *, now_s: float) -> None:
        self._peer.receive(sender, message, now_s=now_s)
        self._pass_on(now_s=now_s)

    def command(self, command: Command, *, now_s: float) -> None:
        """From an operator at this site."""
        self._peer.command(command, now_s=now_s)
        self._pass_on(now_s=now_s)

    def batch_committed(self, report: BatchReport, *, now_s: float) -> None:
        if self._edge is not None:
            self._edge.batch_committed(report, now_s=now_s)
            self._pass_on(now_s=now_s)

    def read_from(self, query_id: str, *, at_s: float, now_s: float) -> None:
        """The answer to ``Installed``: batches have this query, and its source is followed."""
        if self._edge is not None:
            self._edge.read_from(query_id, at_s=at_s)
            self._pass_on(now_s=now_s)

    def updates_cut(self, done: Sequence[CutDone], *, now_s: float) -> None:
        """The answer to ``Cut``."""
        if self._edge is not None:
            self._edge.updates_cut(done, now_s=now_s)
            self._pass_on(now_s=now_s)

    def loaded(self, send: LoadAndSend, rows: Rows, *, now_s: float) -> None:
        """The answer to ``LoadAndSend``; ``rows`` None: the cube has them no more."""
        self._loading_bytes -= send.row_bytes
        if rows is None and send.updates:
            self.rows_gone([(send.query, send.pane)], now_s=now_s)
            return
        if self._edge is not None:
            self._edge.sent(send.query, send.pane, send.updates, now_s=now_s)
        self._originate(send, rows, now_s=now_s)
        self._pass_on(now_s=now_s)

    def not_loaded(self, send: LoadAndSend, reason: str, *, now_s: float) -> None:
        """The cube could not give the rows: they are declined, and the reason is shown."""
        self._notice("node", "not loaded", f"{send.query} pane {send.pane}: {reason}")
        self.loaded(send, None, now_s=now_s)

    def rows_gone(self, panes: Iterable[tuple[str, int]], *, now_s: float) -> None:
        """(query, pane) that the cube dropped, or lost, before the root had them."""
        if self._edge is not None:
            for query_id, pane in panes:
                self._edge.rows_gone(query_id, pane)
            self._pass_on(now_s=now_s)

    def answered(self, answer: Answer, *, now_s: float, failed: str | None = None) -> None:
        """The answer to ``Answer``: it is published, or it failed for this reason."""
        root = self._roots.get(answer.query)
        if root is not None:
            root.answered(now_s=now_s, failed=failed)
            self._pass_on(now_s=now_s)

    # Driving

    def tick(self, *, now_s: float) -> None:
        self._peer.tick(now_s=now_s)
        self._pass_on(now_s=now_s)
        if self._edge is not None and self._edge.next_deadline_s() <= now_s:
            self._edge.tick(now_s=now_s, room=self._room_bytes)
        for root in self._roots.values():
            if root.next_deadline_s() <= now_s:
                root.tick(now_s=now_s)
        self._pass_on(now_s=now_s)

    def next_deadline_s(self) -> float:
        """When ``tick`` is wanted at the latest; in the past where it is wanted now."""
        due_s = self._peer.next_deadline_s()
        if self._edge is not None:
            due_s = min(due_s, self._edge.next_deadline_s())
        return min([due_s, *(root.next_deadline_s() for root in self._roots.values())])

    def take(self) -> list[Effect]:
        """What is to be done, in order; each effect is given once."""
        effects, self._effects = self._effects, []
        return effects

    # For people and checkers

    @property
    def edge(self) -> Edge | None:
        return self._edge

    @property
    def peer(self) -> Peer:
        return self._peer

    def root(self, query_id: str) -> Root | None:
        """The root of this query, if it is here."""
        return self._roots.get(query_id)

    def why(self, query_id: str, window: int) -> Explanation:
        root = self._roots.get(query_id)
        if root is None:
            here = ", ".join(sorted(self._roots)) or "none"
            raise HeadwaterError(f"{query_id} is not answered at {self.site}; here are: {here}")
        return root.why(window)

    def progress(self) -> NodeProgress:
        return NodeProgress(
            site=self.site,
            queries=tuple(sorted(self._peer.live_queries())),
            edge=() if self._edge is None else self._edge.progress(),
            roots=tuple(root.progress() for root in self._roots.values()),
            neighbours=tuple(sorted(self._peer.neighbours())),
            overlay_counts=self._peer.counts(),
            loading_bytes=self._loading_bytes,
        )

    # Between the machines

    def _pass_on(self, *, now_s: float) -> None:
        """Hand over what machines say to each other until none has more to say."""
        for _ in range(ROUNDS_MAX):
            said = self._peer.take()
            for one in said:
                self._from_peer(one, now_s=now_s)
            of_edge = [] if self._edge is None else self._edge.take()
            for output in of_edge:
                self._from_edge(output, now_s=now_s)
            of_roots = [output for root in self._roots.values() for output in root.take()]
            for word in of_roots:
                self._from_root(word, now_s=now_s)
            if not (said or of_edge or of_roots):
                return
        raise AssertionError(f"{self.site}: machines still talk after {ROUNDS_MAX} rounds")

    def _from_peer(self, output: peer_out.Output, *, now_s: float) -> None:
        match output:
            case peer_out.Delivered(summary, _):
                root = self._roots.get(summary.query)
                if root is not None:
                    root.receive(summary, now_s=now_s)
            case peer_out.StatesDelivered(states):
                for state in states:
                    root = self._roots.get(state.query)
                    if root is not None:
                        root.receive_states((state,), now_s=now_s)
            case peer_out.AckDelivered(ack):
                if self._edge is not None:
                    self._edge.receive_ack(ack, now_s=now_s)
            case peer_out.CommandAccepted(command, _):
                self._effects.append(output)
                self._obey(command, now_s=now_s)
            case peer_out.Notice(kind, text):
                self._notice("overlay", kind, text)
            case _:
                self._effects.append(output)

    def _from_edge(self, output: edge_out.Output, *, now_s: float) -> None:
        match output:
            case edge_out.Send():
                if output.updates:
                    self._loading_bytes += output.row_bytes
                    self._effects.append(output)
                else:
                    self._originate(output, None, now_s=now_s)
            case edge_out.Report(states):
                self._peer.report(states, now_s=now_s)
            case edge_out.Suspended(query_id, message):
                self._effects.append(Withdrawn(query_id))
                self._notice("edge", "suspended", f"{query_id}: {message}")
            case edge_out.Notice(kind, text):
                self._notice("edge", kind, text)
            case _:
                self._effects.append(output)

    def _from_root(self, output: root_out.Output, *, now_s: float) -> None:
        match output:
            case root_out.Acknowledge(ack):
                self._peer.acknowledge(ack, now_s=now_s)
            case root_out.Notice(kind, text):
                self._notice("root", kind, text)
            case _:
                self._effects.append(output)

    def _originate(self, send: LoadAndSend, rows: Rows, *, now_s: float) -> None:
        install = self._peer.live_queries().get(send.query)
        if install is not None:
            summary = Summary(
                query=send.query,
                pane=send.pane,
                coverage=send.coverage,
                rows=rows,
                lane=send.lane,
                roster_version=self._roster.version,
                plan_version=install.plan_version,
            )
            self._peer.originate(summary, now_s=now_s)

    def _room_bytes(self, query_id: str) -> int:
        """What is being loaded will need room too."""
        return self._peer.room_bytes(query_id) - self._loading_bytes

    # Commands

    def _obey(self, command: Command, *, now_s: float) -> None:
        if isinstance(command, Install):
            self._install(command.query, now_s=now_s)
        else:
            self._remove(str(command.id))

    def _install(self, query: Query, *, now_s: float) -> None:
        query_id = str(query.id)
        if query.root == self.site and query_id not in self._roots:
            self._effects.append(AnswersBegun(query))
            self._begin_root(query, now_s=now_s)
        if self._edge is not None and (not query.sites or self.site in query.sites):
            refused = self._admit(query)
            is_new = self._edge.install(query, now_s=now_s, refused=refused)
            if refused is not None:
                self._notice("edge", "refused", f"{query_id}: {refused}")
            elif self._edge.is_running(query_id):
                self._effects.append(Installed(query, is_new))
        self._settle_names(query)

    def _begin_root(self, query: Query, *, now_s: float) -> None:
        root = Root(
            query=query,
            roster=self._roster,
            config=self._config.root,
            merger=self._merger_of(query),
            incarnation=self._root_incarnation,
            now_s=now_s,
        )
        kept = self._ledgers.pop(str(query.id), None)
        if kept is not None:
            root.restore(kept, now_s=now_s)
        self._roots[str(query.id)] = root

    def _remove(self, query_id: str) -> None:
        if self._edge is not None:
            if self._edge.is_running(query_id):
                self._effects.append(Withdrawn(query_id))
            self._edge.remove(query_id)
        if self._roots.pop(query_id, None) is not None:
            self._effects.append(AnswersEnded(query_id))
        self._settle_names(None)

    def _settle_names(self, newest: Query | None) -> None:
        """Of two live queries with one name the higher (counter, site) is published."""
        live = [install.query for install in self._peer.live_queries().values()]
        beaten = losers(query.id for query in live)
        for query_id, root in self._roots.items():
            root.answers.is_silent = query_id in beaten
        if newest is not None:
            rivals = [q for q in live if q.id.name == newest.id.name and str(q.id) in beaten]
            for query in rivals:
                if self.site in (query.id.installer, query.root):
                    text = f"{query.id}: a newer query has its name; it is not published"
                    self._notice("node", "name taken", text)

    def _notice(self, part: str, kind: str, text: str) -> None:
        self._effects.append(Notice(part, kind, text))
