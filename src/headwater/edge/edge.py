"""The edge of one site: all its queries, its sources, and what it hands to the overlay.

Spark turns batches of input into partial rows and the cube commits them. The edge learns of it
(``batch_committed``), decides which panes to close, has their updates made (``MakeUpdates``,
answered by ``updates_made``) and sends each of them once (``Send``). Acknowledgements tell it what
arrived and what is asked for again. It is driven by ``tick``; outputs are taken in order.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from headwater.algebra.capacity.way_capacity import UNKNOWN, WayCapacity
from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.pause import PauseHeard
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import REFUSED, RUNNING, Reason, SiteState, Unread
from headwater.edge.acks.apply_ack import CarriersOf, apply_ack
from headwater.edge.closing.clock_watch import ClockWatch
from headwater.edge.closing.closing import SourceClock
from headwater.edge.closing.end import end_by_command
from headwater.edge.config import EdgeConfig
from headwater.edge.levels import choose_levels, know_levels, wake_deferred
from headwater.edge.outbox.early.site_keys import SiteKeys
from headwater.edge.outbox.hold_back import hold_back
from headwater.edge.outbox.outbox import Outbox
from headwater.edge.outbox.sending import Room, join_states, sends_of
from headwater.edge.outputs import Forget, Output, Report, Send, UpdatesMade
from headwater.edge.progress import EdgeProgress, progress_of_query
from headwater.edge.query_edge import QueryEdge
from headwater.edge.query_state import News, QueryState
from headwater.edge.record import QueryKept
from headwater.edge.report import BatchReport
from headwater.edge.resume import resume
from headwater.edge.shedding.site_shedding import SiteShedding
from headwater.edge.take_asked import Asked, take_asked
from headwater.edge.take_report import suspend, take_past, take_report
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.notice import Notice
from headwater.plan.query import Query


class Edge:
    """One for each site that has data."""

    def __init__(
        self,
        *,
        ordinal: int,
        incarnation: int,
        config: EdgeConfig,
        retention_s: float,
        born_s: float = LONG_AGO_S,
        made_s: float | None = None,
        carriers_of: CarriersOf = lambda query_id: (),
    ) -> None:
        """``carriers_of`` names those to whom a query's summaries were handed, for alarms.

        ``born_s`` is when the cube was made, by the wall clock: panes before it are lost, not
        "not installed". ``made_s`` is the same in steady time, if this process made it."""
        self._carriers_of = carriers_of
        self._made_s = made_s
        self._ordinal = ordinal
        self._incarnation = incarnation
        self._config = config
        self._retention_s = retention_s
        self._born_s = born_s
        self._edges: dict[str, QueryEdge] = {}
        self._kept: dict[str, QueryKept] = {}
        self._clocks: dict[str, SourceClock] = {}
        self._outputs: list[Output] = []
        self._outbox = Outbox(config)
        self._keys = SiteKeys(config.outbox_keys_site_max)
        self._watch = ClockWatch(config.clock_tolerance_s)
        self.shedding = SiteShedding(self._edges, self._clocks, self._to_change)
        self._due_s: float | None = None
        """The next deadline, until something changes."""

    # Queries come and go

    def restore(self, kept: Iterable[QueryKept]) -> None:
        """What the cube has, before anything else; ``install`` takes it up query by query."""
        self._kept = {one.query: one for one in kept}

    def install(
        self,
        query: Query,
        *,
        now_s: float,
        refused: str | None = None,
        offset_s: float | None = None,
        is_confirmed: bool = True,
    ) -> bool:
        """Answer for this query from now on, or decline all of it because it is ``refused``.

        ``offset_s``: how far the clock of the query's root is ahead of our steady one, where that
        is known, and whether enough neighbours say so. True when it is new here: the cube has no
        record of it.
        """
        query_id = str(query.id)
        if self._to_change(query_id) is not None:
            return False
        state = QueryState(
            query,
            ordinal=self._ordinal,
            incarnation=self._incarnation,
            config=self._config,
            ahead_s=self._watch.ahead_s,
            others_s=self._watch.others_s,
        )
        state.belief.behind_s = self._watch.behind_s
        edge = QueryEdge(state, retention_s=self._retention_s, made_s=self._made_s, keys=self._keys)
        kept = self._kept.pop(query_id, None)
        if offset_s is not None:
            edge.beginning.hear_clock(offset_s, is_confirmed=is_confirmed, now_s=now_s)
        if kept is not None:
            resume(edge, kept, now_s=now_s)
        elif refused is None and len(self._edges) >= self._config.queries_max:
            refused = f"this site runs {self._config.queries_max} queries already"
        if refused is not None:
            edge.beginning.refuse(refused)
        elif kept is None:
            clock = self._clocks.get(query.source_name)
            loss_through = 0 if clock is None else clock.loss_through
            edge.beginning.begin(now_s=now_s, born_s=self._born_s, loss_through=loss_through)
        self._edges[query_id] = edge
        know_levels(self._edges.values())
        return kept is None

    def set_step(self, query_id: str, step: int) -> None:
        """At which of its steps the query is from the next pane on; 0: at full fidelity."""
        if (edge := self._to_change(query_id)) is not None:
            edge.levels.told = step

    def alter(self, query_id: str, settings: SettingsBook) -> SettingsBook | None:
        """Settings that were commanded for a query: by which it goes here from now on; None: by
        the same as before."""
        edge = self._to_change(query_id)
        if edge is None:
            return None
        book = edge.state.alter(settings)
        end_by_command(edge.state, settings.end_pane)
        return book

    def has_kept(self, query_id: str) -> bool:
        """The cube has a record of it, from a former process."""
        return query_id in self._kept

    def read_from(self, query_id: str, *, at_s: float) -> None:
        """Every batch has this query, and its source is followed, from this time on. Before that
        there is a gap, short or (on a busy machine) long. Panes that begin in it are declined: they
        would be closed with records missing. Called before the first report of the source, and
        before anything of the query is told."""
        if (edge := self._to_change(query_id)) is not None:
            edge.beginning.read_from(at_s)

    def read_past(self, query_id: str, *, is_read: bool) -> None:
        """Of a query that wants the earliest records: whether the past is read for it by itself
        (``past_reading``), because its source is read already. Called as ``read_from`` is."""
        if (edge := self._to_change(query_id)) is not None:
            edge.beginning.read_past(is_read)

    def begin_late(self, query_id: str, *, at_s: float) -> None:
        """A query that wants the past came to a reading of it that has begun without it. What was
        read is not read again for it, so the panes up to then are declined instead of being
        answered short. Called as ``read_from`` is."""
        if (edge := self._to_change(query_id)) is not None:
            edge.beginning.begin_late(at_s)

    def root_clock(
        self, query_id: str, offset_s: float, *, is_confirmed: bool = True, now_s: float
    ) -> None:
        """The clock of the query's root is ahead of our steady one by this much."""
        edge = self._to_change(query_id)
        if edge is not None:
            edge.beginning.hear_clock(offset_s, is_confirmed=is_confirmed, now_s=now_s)

    def set_clock(self, ahead_s: float, *, now_s: float) -> None:
        """The site's wall clock is so far ahead of the steady one from now on."""
        self.shedding.set_clock(ahead_s, now_s=now_s)
        self._due_s, self._watch.ahead_s = None, ahead_s
        for edge in self._edges.values():
            edge.state.set_clock(ahead_s, now_s=now_s)

    def doubt_clock(self, behind_s: float) -> None:
        """The wall clock shows so much less than it is believed to, as yet."""
        self._watch.behind_s = behind_s
        for edge in self._edges.values():
            edge.state.belief.behind_s = behind_s

    def clock_off_s(self) -> float:
        """How far this site's wall clock is ahead of the other sites', as it was last told."""
        return self._watch.off_s()

    def offset_us(self, query_id: str) -> int:
        """What is added to the times of this query's records. Holds for a batch."""
        edge = self._edges.get(query_id)
        return 0 if edge is None else edge.state.time.offset_us

    def next_wanted_s(self, source: str, *, after_s: float, now_s: float) -> float:
        """From when on somebody gets something by the source's being read, if it was read through
        ``after_s``: a pane of one of its queries closes."""
        return min(
            (edge.next_close_s(after_s=after_s, now_s=now_s) for edge in self._of_source(source)),
            default=NEVER_DUE_S,
        )

    def live_anew(self, incarnation: int) -> None:
        """The cube goes by this incarnation from now on; what it has it still has, and the roots
        know nothing of it."""
        self._due_s, self._incarnation = None, incarnation
        for edge in self._edges.values():
            edge.state.begin_anew(incarnation=incarnation)

    def remove(self, query_id: str) -> None:
        self._due_s = None
        if self._edges.pop(query_id, None) or self._kept.pop(query_id, None):
            self._outputs.append(Forget(query_id))
            know_levels(self._edges.values())

    def forget_uninstalled(self, *, aside: Container[str] = ()) -> None:
        """After a restart and its installs: what is still kept was removed in between, but for
        queries that are set ``aside`` and may be installed yet."""
        for query_id in list(self._kept):
            if query_id not in aside:
                self.remove(query_id)

    # What happens

    def batch_committed(self, report: BatchReport, *, now_s: float) -> None:
        self._due_s = None
        self._clocks.setdefault(report.source, SourceClock()).hear(report, now_s=now_s)
        self.shedding.take(report, now_s=now_s)
        batches = {batch.query: batch for batch in report.queries}
        for edge in self._of_past(report.source):
            take_past(edge, batches.get(edge.state.id), report, now_s=now_s)
        for edge in self._of_source(report.source):
            take_report(edge, batches.get(edge.state.id), report, now_s=now_s)
            if edge.levels:
                edge.levels.hear(report)

    def asked(self, found: Asked, *, now_s: float) -> None:
        """The cube has been asked for a question, and all that it has is written."""
        for report in take_asked(self._to_change(found.question), found):
            self.batch_committed(report, now_s=now_s)

    def suspend(self, query_id: str, message: str) -> None:
        """The query takes more than its share of the site: it is run here no more."""
        edge = self._to_change(query_id)
        if edge is not None and edge.state.record.status == RUNNING:
            suspend(edge.state, message, Reason.LIMIT)

    def input_unread(self, source: str, unread: Unread) -> None:
        """After each poll of the source: what it names and is not read."""
        self._due_s = None
        for edge in self._of_source(source):
            if edge.state.telling.tell_unread(unread):
                edge.state.hear(News.WORK)

    def input_remarks(self, source: str, remarks: tuple[Remark, ...]) -> None:
        """What people should know of the source's input; none: nothing any more."""
        self._due_s = None
        for edge in self._of_source(source):
            if edge.state.telling.tell_remarks(remarks):
                edge.state.hear(News.WORK)
        for edge in self._of_past(source):
            if edge.state.telling.tell_past(remarks):
                edge.state.hear(News.WORK)

    def updates_made(self, done: Sequence[UpdatesMade], *, now_s: float) -> None:
        """The answer to ``MakeUpdates``: what is marked as sent goes out here and now."""
        sends: list[Send] = []
        made = [(edge, one) for one in done if (edge := self._to_change(one.query)) is not None]
        for edge, one in made:
            updates = edge.take_updates(one, now_s=now_s)
            lane = edge.lane_of(one, now_s=now_s)
            sends += sends_of(edge.state, one.pane, updates, lane)
        self._outputs += join_states(sends, (edge.state for edge, _ in made))

    def receive_ack(self, ack: Acknowledgement, *, now_s: float) -> None:
        edge = self._to_change(ack.query)
        if edge is not None:
            self._outputs += apply_ack(edge, ack, carriers_of=self._carriers_of, now_s=now_s)
            self._outputs += self._watch.hear(edge.state.belief.others_s)
            if edge.state.is_level:
                wake_deferred(edge, self._edges.values())

    def hear_pause(self, heard: PauseHeard, *, now_s: float) -> None:
        """A relay above this site has said which panes it takes."""
        edge = self._to_change(heard.query)
        if edge is not None and edge.state.pause.hear_relay(heard, now_s=now_s):
            edge.state.hear(News.WORK)

    def sent(self, query_id: str, pane: int, updates: Ranges, *, now_s: float) -> None:
        """They were handed to the overlay this moment, after loading: their life begins now."""
        edge = self._to_change(query_id)
        if edge is not None:
            edge.state.book.sent(pane, updates, now_s=now_s)

    def rows_gone(self, query_id: str, pane: int, reason: Reason = Reason.EXPIRED) -> None:
        """The cube will never give the rows of this pane again: it is declined, not promised. Rows
        that can't be read *now* are another matter: they count as lost on the way, and the
        acknowledgement asks for them again."""
        edge = self._to_change(query_id)
        if edge is not None:
            self._outputs += edge.state.expire([pane], reason)
            text = f"{query_id}: the rows of pane {pane} are gone from the cube; it is declined"
            self._outputs.append(Notice("edge", reason.value, text))

    # Driving

    def tick(
        self,
        *,
        now_s: float,
        room: Callable[[str], int],
        awake_share: float = 1.0,
        capacity: Callable[[str], WayCapacity] = lambda query: UNKNOWN,
    ) -> None:
        """Writes first, so that all of a tick can be one transaction; then what is said.
        ``awake_share``: of the time, for which this agent was awake. ``capacity``: what the way
        to a query's root carries."""
        self._due_s = None  # what is short goes first: nothing overtakes what has begun to leave
        edges = sorted(self._edges.values(), key=lambda edge: edge.state.book.typical_bytes)
        left, states = Room(room), [edge.state for edge in edges]
        told: list[SiteState] = []
        self._outputs += choose_levels(edges, now_s=now_s)
        self.shedding.forget_what_is_over(now_s=now_s)
        for edge, state in zip(edges, states, strict=True):
            self._outputs += hold_back(state, now_s=now_s)
            state.book.age_fresh(now_s - edge.early.live_s())
            clock = self._clocks.get(state.query.source_name) or SourceClock()
            past = self._clocks.get(state.record.past)
            if edge.degrading and not state.book.making:
                self._outputs += edge.degrading.look(capacity(state.id), now_s=now_s)
            self._outputs += edge.advance(clock, past, now_s=now_s, has_room=left.is_left)
            if state.telling.take_due(state.record, now_s=now_s):
                told.append(state.snapshot())
        if not any(state.book.making for state in states):  # a close goes first
            self._cut_early(now_s=now_s, has_room=left.is_left, capacity=capacity)
        marks, sends = self._outbox.send(states, left, awake_share=awake_share, now_s=now_s)
        self._outputs += [*marks, *([Report(tuple(told))] if told else ()), *sends]

    def _cut_early(
        self,
        *,
        now_s: float,
        has_room: Callable[[str], bool],
        capacity: Callable[[str], WayCapacity],
    ) -> None:
        for edge in self._edges.values():
            clock = self._clocks.get(edge.state.query.source_name) or SourceClock()
            self._outputs += edge.early.cuts(
                clock, now_s=now_s, has_room=has_room, capacity=capacity
            )

    def next_deadline_s(self) -> float:
        """Asked after every message, most of which are nothing to an edge; so it is kept."""
        if self._due_s is None:
            edges, outbox = self._edges.values(), self._outbox
            due_s = (min(e.next_deadline_s(), outbox.next_deadline_s(e.state)) for e in edges)
            self._due_s = min(due_s, default=NEVER_DUE_S)
        return self._due_s

    def _to_change(self, query_id: str) -> QueryEdge | None:
        self._due_s = None
        return self._edges.get(query_id)

    def _of_source(self, name: str) -> Iterator[QueryEdge]:
        return (edge for edge in self._edges.values() if edge.state.query.source_name == name)

    def _of_past(self, reading: str) -> list[QueryEdge]:
        """Whose past this reading brings."""
        return [edge for edge in self._edges.values() if edge.state.record.past == reading]

    def take(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs

    # For views

    def is_running(self, query_id: str) -> bool:
        """It is known, admitted, neither suspended nor at its end."""
        return query_id in self._edges and self._edges[query_id].state.record.is_running

    def is_taken(self, query_id: str) -> bool:
        """It is known and admitted, though it may be suspended, or at its end and yet to send."""
        return query_id in self._edges and self._edges[query_id].state.record.status != REFUSED

    def in_the_way_of(self, query: Query) -> Query | None:
        """One that runs here over a source of the same name and of other records. A source is read
        once for all its queries, so the first one speaks for all of that name."""
        others = (edge.state for edge in self._of_source(query.source_name))
        other = next((one.query for one in others if one.record.is_running), query)
        return None if other.reads_as(query) else other

    def progress(self, *, now_s: float | None = None) -> tuple[EdgeProgress, ...]:
        return tuple(progress_of_query(edge, now_s=now_s) for edge in self._edges.values())

    @property
    def keys_let_go(self) -> int:
        """Keys that were put aside since all queries together followed too many."""
        return self._keys.books.let_go
