"""One agent's machines, wired: the peer that carries, the edge of its site, the roots it hosts.

::

              ┌────────────────────────── Node ──────────────────────────┐
    links ───►│ Peer ── Delivered, StatesDelivered ──► Root (one a query) │──► effects
    cube  ───►│  ▲ ▲ ◄───────── Acknowledge ──────────── │               │
    Spark ───►│  │ └── Send, Report ── Edge ◄── AckDelivered (via Peer)   │
              └──────────────────────────────────────────────────────────┘

It decides nothing of its own. What one machine says to another passes inside (``exchange``), and
which queries they are for is said by ``duties``; everything for the world comes out of ``take`` as
one ordered list of effects, the same for an agent and a simulator.
The order is what makes it safe: a ``Keep`` comes before the ``Transmit`` of the acknowledgement
that speaks of it, a ``Remember`` before the state, a ``MarkSent`` before the load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.summary import Merger, Rows
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import Reason, Unread
from headwater.edge.edge import Edge
from headwater.edge.outputs import UpdatesMade
from headwater.edge.record import QueryKept
from headwater.edge.report import BatchReport
from headwater.edge.take_asked import Asked
from headwater.errors import HeadwaterError
from headwater.node.config import NodeConfig
from headwater.node.duties import Duties
from headwater.node.effects import Answer, Effect, LoadAndSend
from headwater.node.exchange import Exchange
from headwater.node.progress import NodeProgress
from headwater.node.wall_clock import WallClock
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Message
from headwater.overlay.peer import NOTHING_ASIDE, Peer
from headwater.overlay.signatures import UNSIGNED, Signatures
from headwater.plan.command import Command, Count, Install
from headwater.plan.duty import Admit
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.root.outputs import RootKept
from headwater.root.root import Root
from headwater.root.said.envelope import NONE_LEFT_OUT, LeftOut
from headwater.root.said.explain import Explanation


class Node:
    """``incarnation`` is that of the cube, ``root_incarnation`` that of the ledger, ``root_start``
    counts the starts with that ledger.

    ``now_s`` is steady in every call: it never steps while the node lives, and what day it is it
    says only by chance. The time of day comes by ``wall_clock``.
    """

    def __init__(
        self,
        *,
        site: str,
        roster: Roster,
        trees: Sequence[Tree],
        config: NodeConfig,
        merger_of: Callable[[Query], Merger],
        incarnation: int,
        root_incarnation: int | None = None,
        root_start: int = 0,
        born_s: float = LONG_AGO_S,
        made_s: float | None = None,
        admit: Admit = lambda query, duty, operator: None,
        signatures: Signatures = UNSIGNED,
    ) -> None:
        """``born_s`` is what the wall clock showed when the cube was made, ``made_s`` the steady
        time of that, if this process made it. ``admit`` is asked before anything is
        made of a query, here and at every start."""
        self.site = site
        self._clock = WallClock(settle_s=config.edge.clock_settle_s)
        self._effects: list[Effect] = []
        self.peer = Peer(
            site=site,
            roster=roster,
            trees=trees,
            config=config.overlay,
            merger_of=lambda query: self._duties.carried(query),
            signatures=signatures,
            budgets=config.budgets,
        )
        self.edge = Edge(
            ordinal=roster.site(site).ordinal,
            incarnation=incarnation,
            config=config.edge,
            retention_s=config.retention_s,
            born_s=born_s,
            made_s=made_s,
            carriers_of=self.peer.handed_to,
        )
        """Of a site without data, too: nothing is installed there."""
        self._duties = Duties(
            site,
            self.peer,
            self.edge,
            self._effects,
            roster=roster,
            config=config.root,
            merger_of=merger_of,
            admit=admit,
            root_incarnation=incarnation if root_incarnation is None else root_incarnation,
            root_start=root_start,
        )
        self._exchange = Exchange(
            self.peer,
            self.edge,
            self._duties,
            self._effects,
            roster_version=roster.version,
            incarnation=incarnation,
        )
        self._pass_on = self._exchange.pass_on

    def restore(
        self,
        *,
        commands: Iterable[Install],
        counts: Iterable[Count],
        cube: Iterable[QueryKept] = (),
        ledgers: Iterable[RootKept] = (),
        aside: Mapping[str, str] = NOTHING_ASIDE,
        unread_records: Mapping[str, str] = NOTHING_ASIDE,
        unread_ledgers: Mapping[str, str] = NOTHING_ASIDE,
        now_s: float,
    ) -> None:
        """What was durable when the former process ended; before anything else. ``aside`` are
        queries of which something durable can't be read, and why: they are not run and not lost.
        Of ``unread_records`` and ``unread_ledgers`` it is what the cube, or the ledger, has: they
        are not read, or not answered, here, and all else is done for them."""
        self.peer.restore(commands, counts, aside, now_s=now_s)
        self._duties.restore(cube, ledgers, unread_records, unread_ledgers, now_s=now_s)
        self._pass_on(now_s)

    # What the world tells

    def wall_clock(self, ahead_s: float, *, now_s: float) -> bool:
        """The wall clock shows so much more than the steady one; to be told before each tick.
        True where the node has changed its mind about what day it is."""
        was_doubted, before_s = self._clock.doubted_s, self._clock.ahead_s
        has_changed = self._clock.hear(ahead_s, now_s=now_s)
        self.edge.doubt_clock(self._clock.behind_s)
        if has_changed:
            self.edge.set_clock(ahead_s, now_s=now_s)
            self._duties.set_clock(ahead_s)
            text = f"{self.site}: by {ahead_s - before_s:+.1f} s, and stays so"
            self._effects.append(Notice("node", "clock was set", text))
            self._pass_on(now_s)
        elif self._clock.doubted_s not in (None, was_doubted):
            text = f"{self.site}: the wall clock shows {ahead_s - before_s:+.1f} s"
            text += "; it is believed when it has stood for a while"
            self._effects.append(Notice("node", "clock steps", text))
        return has_changed

    @property
    def ahead_s(self) -> float:
        """How far the wall clock is ahead of the steady one, as it is believed."""
        return self._clock.ahead_s

    @property
    def is_clock_doubted(self) -> bool:
        """Whether the wall clock was set and has not stood for long enough to be believed."""
        return self._clock.doubted_s is not None

    @property
    def clock_steps(self) -> int:
        """How often the wall clock was set in this life, believed or not."""
        return self._clock.step_count

    def lives_anew(self, incarnation: int, *, now_s: float) -> None:
        """The answer to ``LiveAnew``: the cube goes by this incarnation."""
        self._exchange.incarnation = incarnation
        self.edge.live_anew(incarnation)
        self._pass_on(now_s)

    def risen(self, incarnation: int, *, now_s: float) -> None:
        """The answer to ``RiseAbove``: the ledger goes by this incarnation."""
        self._duties.rise(incarnation)
        self._pass_on(now_s)

    def link_up(self, site: str, *, now_s: float) -> None:
        self.peer.link_up(site, now_s=now_s)
        self._pass_on(now_s)

    def link_down(self, site: str, *, unsent: Sequence[Message], now_s: float) -> None:
        self.peer.link_down(site, unsent=unsent, now_s=now_s)
        self._pass_on(now_s)

    def link_load(self, site: str, load: LinkLoad, *, now_s: float) -> None:
        self.peer.link_load(site, load, now_s=now_s)
        self._pass_on(now_s)

    def receive(self, sender: str, message: Message, *, now_s: float) -> None:
        self.peer.receive(sender, message, now_s=now_s)
        self._pass_on(now_s)

    def command(self, command: Command, *, now_s: float) -> str | None:
        """From an operator at this site; why it is refused, or None."""
        problem = self.peer.command(command, now_s=now_s)
        self._pass_on(now_s)
        return problem

    def replan(self, install: Install, *, now_s: float) -> None:
        """New trees for a query that is answered here."""
        self.peer.replan(install, now_s=now_s)
        self._pass_on(now_s)

    def renewed(self, *, now_s: float) -> None:
        """This site signs with another certificate from now on."""
        self.peer.renewed(now_s=now_s)
        self._pass_on(now_s)

    def batch_committed(self, report: BatchReport, *, now_s: float) -> None:
        self.edge.batch_committed(report, now_s=now_s)
        self._pass_on(now_s)

    def input_unread(self, source: str, unread: Unread, *, now_s: float) -> None:
        """What the newest poll of the source left alone."""
        self.edge.input_unread(source, unread)
        self._pass_on(now_s)

    def input_remarks(self, source: str, remarks: tuple[Remark, ...], *, now_s: float) -> None:
        self.edge.input_remarks(source, remarks)
        self._pass_on(now_s)

    def asked(self, found: Asked, *, now_s: float) -> None:
        """What this site's cube has for a question is written."""
        self.edge.asked(found, now_s=now_s)
        self._pass_on(now_s)

    def end_questions(self, query_ids: Collection[str], *, now_s: float) -> None:
        self.peer.end_questions(query_ids, now_s=now_s)
        self._pass_on(now_s)

    def suspend(self, query_id: str, message: str, *, now_s: float) -> None:
        """The query is run at this site no more, for this reason; operators may resume it."""
        self.edge.suspend(query_id, message)
        self._pass_on(now_s)

    def suspend_answers(self, query_id: str, message: str, *, now_s: float) -> None:
        """The query is answered here no more, for this reason; operators may resume it."""
        self._duties.suspend_answers(query_id, message)
        self._pass_on(now_s)

    def read_from(self, query_id: str, *, at_s: float, now_s: float) -> None:
        """The answer to ``Installed``: batches have this query, and its source is followed."""
        self.edge.read_from(query_id, at_s=at_s)
        self._pass_on(now_s)

    def updates_made(self, done: Sequence[UpdatesMade], *, now_s: float) -> None:
        """The answer to ``MakeUpdates``."""
        self.edge.updates_made(done, now_s=now_s)
        self._pass_on(now_s)

    def loaded(self, send: LoadAndSend, rows: Rows, *, now_s: float) -> None:
        """The answer to ``LoadAndSend``; ``rows`` None: the cube has them no more."""
        self._exchange.loading_bytes -= send.row_bytes
        if rows is None and send.updates:
            self.rows_gone([(send.query, pane) for pane in send.panes], now_s=now_s)
            return
        for pane in send.panes:
            self.edge.sent(send.query, pane, send.updates, now_s=now_s)
        self._exchange.originate(send, rows, now_s=now_s)
        self._pass_on(now_s)

    def not_loaded(self, send: LoadAndSend, why: str) -> None:
        """The cube could not give the rows *now*; they are in it.

        A summary that was never made is one that was lost on the way: an acknowledgement that lacks
        it asks for it again. So there is no timer for it, and no second copy under way.
        """
        self._exchange.loading_bytes -= send.row_bytes
        self._effects.append(Notice("node", "not loaded", f"{send.query} pane {send.pane}: {why}"))

    def rows_lost(
        self, send: LoadAndSend, why: str, *, now_s: float, is_damaged: bool = True
    ) -> None:
        """The cube will never give the rows: they are damaged, or retention has taken them."""
        self._exchange.loading_bytes -= send.row_bytes
        self._effects.append(Notice("node", "rows lost", f"{send.query} pane {send.pane}: {why}"))
        reason = Reason.LOST if is_damaged else Reason.EXPIRED
        panes = [(send.query, pane) for pane in send.panes]
        self.rows_gone(panes, reason, now_s=now_s)

    def rows_gone(
        self, panes: Iterable[tuple[str, int]], reason: Reason = Reason.EXPIRED, *, now_s: float
    ) -> None:
        """(query, pane) that the cube dropped, or lost, before the root had them."""
        for query_id, pane in panes:
            self.edge.rows_gone(query_id, pane, reason)
        self._pass_on(now_s)

    def answered(
        self,
        answer: Answer,
        *,
        now_s: float,
        failed: str | None = None,
        left_out: Mapping[int, LeftOut] = NONE_LEFT_OUT,
    ) -> None:
        """The answer to ``Answer``: it is published, or it failed for this reason."""
        root = self._duties.roots.get(answer.query)
        if root is not None:
            root.answered(now_s=now_s, failed=failed, left_out=left_out)
            self._pass_on(now_s)

    # Driving

    def tick(self, *, now_s: float) -> None:
        self.next_deadline_s()  # what was promised up to now, if nobody has asked
        if self.peer.is_wanted(now_s=now_s):
            self.peer.tick(now_s=now_s)
            self._duties.begin_awaited(now_s=now_s)
            self._pass_on(now_s)
        peer = self.peer
        if self.edge.next_deadline_s() <= now_s:
            self._duties.tell_clocks(now_s=now_s)
            share = peer.wake.share(now_s)
            self.edge.tick(
                now_s=now_s,
                room=self._exchange.room_bytes,
                awake_share=share,
                capacity=peer.way_capacity,
            )
        for root in self._duties.roots.values():
            if root.next_deadline_s() <= now_s:
                late_s, share = peer.wake.late_s(now_s), peer.wake.share(now_s)
                root.tick(now_s=now_s, late_s=late_s, awake_share=share)
        self._pass_on(now_s)
        self.next_deadline_s()  # promised before effects are done: a slow disk makes us late, too

    def next_deadline_s(self) -> float:
        """When ``tick`` is wanted at the latest; in the past where it is wanted now. A tick that
        comes later is late for all machines: see ``Wakefulness``."""
        due_s = min(self.peer.next_deadline_s(), self.edge.next_deadline_s())
        for root in self._duties.roots.values():
            due_s = min(due_s, root.next_deadline_s())
        self.peer.promise(due_s, now_s=self._exchange.passed_s)
        return due_s

    def is_wanted(self, *, now_s: float) -> bool:
        """Whether there is something to take, or ``tick`` is due: asked when effects were done, of
        which most call for nothing more."""
        return bool(self._effects) or self.next_deadline_s() <= now_s

    def take(self) -> list[Effect]:
        """What is to be done, in order; each effect is given once."""
        if not self._effects:  # as it is after most messages
            return []
        effects = self._effects[:]
        self._effects.clear()
        return effects

    # For people and checkers

    def root(self, query_id: str) -> Root | None:
        """The root of this query, if it is here."""
        return self._duties.roots.get(query_id)

    def refusals(self) -> dict[str, str]:
        """Queries that should be answered here and are not admitted, and why."""
        return dict(self._duties.refusals)

    def waits(self) -> dict[str, str]:
        """Queries that do not begin here yet because another one takes their source's name."""
        return self._duties.waits()

    def unread_records(self) -> dict[str, str]:
        """Queries that are not read here, because what the cube has of them can't be."""
        return dict(self._duties.unread_records)

    def why(self, query_id: str, window: int) -> Explanation:
        root = self._duties.roots.get(query_id)
        refused = self._duties.refusals.get(query_id)
        if refused is not None:
            raise HeadwaterError(f"{query_id} is not answered here, at its root: {refused}")
        if root is None:
            here = ", ".join(sorted(self._duties.roots)) or "none"
            raise HeadwaterError(f"{query_id} is not answered at {self.site}; here are: {here}")
        return root.why(window)

    def progress(self) -> NodeProgress:
        return NodeProgress(
            site=self.site,
            queries=tuple(sorted(self.peer.live_queries())),
            edge=self.edge.progress(),
            roots=tuple(root.progress() for root in self._duties.roots.values()),
            neighbours=tuple(sorted(self.peer.neighbours())),
            loading_bytes=self._exchange.loading_bytes,
        )
