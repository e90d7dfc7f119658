"""Looks on at everything that a site executes, and holds it against the truth.

*Always*: nothing is counted twice, coverage is true, a close includes what was read, revisions
never lower coverage, final is final, nothing acknowledged is missing. These are checked in the
moment something is written, sent or published, so a run stops where it went wrong. *Eventually* is
checked at the end (``check_end``), *sometimes* over a whole sweep (``sometimes``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.summary import Lane, Summary
from headwater.edge.closing.root_time import STEP_S
from headwater.node import effects as do
from headwater.overlay.messages import AbsenceMessage, AckMessage, Heartbeat, SummaryMessage
from headwater.plan.command import Install
from headwater.plan.notice import Notice
from headwater.plan.query import Query, TimeKind
from headwater.plan.roster import Roster
from headwater.sim.check.check_answers import AnswerCheck, expected_sites
from headwater.sim.check.check_closes import CloseCheck
from headwater.sim.check.check_fidelity import UnwantedCheck, has_begun, held_of, is_unwanted
from headwater.sim.check.check_ledger import LedgerCheck, check_marked, trimmed_early
from headwater.sim.check.check_past import PastCheck
from headwater.sim.check.check_storm import StormCheck
from headwater.sim.check.check_time import TimeCheck
from headwater.sim.check.kinds.check_absence import AbsenceCheck
from headwater.sim.check.kinds.check_levels import LevelWatch
from headwater.sim.check.kinds.check_questions import QuestionCheck
from headwater.sim.check.kinds.check_sessions import SessionCheck
from headwater.sim.check.truth import Truth, check_rows
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag
from headwater.sim.transcript import Transcript
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.site import SimulatedSite

SETTLE_S = 40.0
"""Some time after the last fault everything that a site had is acknowledged; what is given up
later was never asked for."""
LedgerKey = tuple[str, int]
"""(query, number of the root's disk): a root that lost its disk starts a new one."""


class Checkers:
    """``Watcher`` of all sites of a run."""

    def __init__(
        self,
        queue: EventQueue,
        roster: Roster,
        truth: Truth,
        transcript: Transcript,
        storm: StormCheck,
        time: TimeCheck,
    ) -> None:
        self._storm = storm
        self._time = time
        self.queries: dict[str, Query] = {}
        """Every query that was ever commanded."""
        self.answers: dict[LedgerKey, AnswerCheck] = {}
        self.commanded: set[str] = set()
        """What installers have laid down as given by an operator."""
        self.healed_s = float("inf")
        """True time of the last fault's end."""
        self.expired: set[tuple[str, int, int]] = set()
        """(query, ordinal, pane) that a cube dropped by retention."""
        self.installed_s: dict[tuple[str, int, int], float] = {}
        """(query, ordinal, incarnation) -> time of day, as the site believed, when it began with
        it, the last time: a crash may have hidden that it had begun."""
        self.sites: dict[str, SimulatedSite] = {}
        self._queue = queue
        self.roster = roster
        self.truth = truth
        self._transcript = transcript
        self._past = PastCheck(roster, truth, transcript)
        self.levels = LevelWatch(self.queries, roster, truth, transcript)
        self.sessions = SessionCheck(roster, truth, transcript)
        self._unwanted = UnwantedCheck(transcript)
        self._questions = QuestionCheck(self.queries, roster, truth, transcript)
        self._absence = AbsenceCheck(roster, transcript, now_s=lambda: queue.now_s)
        self._ledgers: dict[LedgerKey, LedgerCheck] = {}
        self._answering: set[tuple[str, int, str]] = set()
        self._spares: set[tuple[str, int, Any]] = set()
        self._sent: dict[tuple[str, int, int, int, int], range] = {}
        """Every update that was ever sent, and the panes that it was last sent for."""
        self._closes = CloseCheck(self.queries, self.sites, truth, transcript)
        self._checks: dict[type, Callable[[SimulatedSite, Any], None]] = {
            do.MakeUpdates: self._make_updates,
            do.MakeEarly: self._counted("keys were chosen to leave early"),
            do.RollUp: self._roll_up,
            do.Remember: self._written,
            do.Keep: self._keep,
            do.Trim: self._trim,
            do.MarkAcked: self._marked,
            do.Transmit: self._transmit,
            do.Answer: self._answering_begins,
            do.AnswersBegun: self._answers_begun,
            do.Installed: self._installed,
            do.Expire: self._expire,
            do.KeepState: self._keep_state,
            do.Replace: self._replace,
            Notice: self._notice,
            do.Dial: storm.dialled,
            do.Hangup: storm.hung_up,
            do.KeepCommand: self._command,
            do.LoadAndSend: self._unwanted.sending,
            do.LiveAnew: self._counted("a site took an incarnation above a former one"),
            do.RiseAbove: self._counted("a root took an incarnation above a former one"),
        }

    # ---- Watcher

    def executing(self, site: SimulatedSite, effect: Any) -> None:
        kind = type(effect)
        if kind is not do.Transmit or type(effect.message) is not Heartbeat:
            self._transcript.note(
                self._queue.now_s, site.name, effect, mark=_MARKS[kind] << 20 | site.truth.ordinal
            )
        check = self._checks.get(kind)
        if check is not None:
            check(site, effect)

    def loaded(self, site: SimulatedSite, send: do.LoadAndSend, rows: Bag | None) -> None:
        """A site hands updates to the overlay: as a first send once, and as spares after that."""
        if send.lane is Lane.SPARE:
            self._transcript.count("a spare was sent")
            self._storm.loaded(site, send)
        if rows is None:
            self._transcript.count("rows were gone when they were asked for")
            return
        if send.coverage.is_early and send.lane is Lane.LIVE:
            self._transcript.count("an update left before its pane was closed")
        if send.more:
            self._transcript.count("a state was sent for several panes")
        for pane in send.panes:
            check_rows(send.query, pane, send.coverage, rows, self.truth)
            self._check_sent(site, send, pane)

    def _check_sent(self, site: SimulatedSite, send: do.LoadAndSend, pane: int) -> None:
        for update in self.truth.updates_of(send.query, pane, send.coverage):
            key = (send.query, pane, *update)
            if key in self._sent and send.lane is not Lane.SPARE:
                raise Violation(
                    "one copy, and spares",
                    f"{site.name} sends {key} a second time, and not as a spare",
                )
            self._sent[key] = send.panes
            if update[2] > 1 and send.lane is Lane.LIVE:
                self._transcript.count("a further update was sent")

    def published(self, site: SimulatedSite, answer: do.Answer, rows: dict[int, Bag]) -> None:
        key = (answer.query, site.disk.number)
        self._answering.discard((site.name, site.life_count, answer.query))
        if self.queries[answer.query].stands_for is not None:
            self.levels.published(key, answer, rows, site.name, at_s=self._queue.now_s)
            return
        if self.queries[answer.query].asked is not None:
            for request in answer.requests:
                question = self.queries[answer.query]
                self._questions.published(question, request, rows[request.window])
            return
        check = self.answers.get(key)
        if check is None:
            ledger = self._ledger(site, answer.query)
            query = self.queries[answer.query]
            check = AnswerCheck(query, self.roster, self.truth, ledger=ledger)
            self.answers[key] = check
        self._time.published(check.query, answer)
        for request in answer.requests:
            check.count(request, self._transcript)
            if check.query.wants_past:
                self._past.published(check.query, request, rows[request.window])
            shown = held = rows[request.window]
            if request.envelope.fidelity.is_silent:
                held = held_of(site, check.query, answer, request.window)
            check.published(request, held, shown=shown, at_s=self._queue.now_s)
            if check.query.sessions is not msgspec.UNSET:
                self.sessions.published(check.query, request.window, rows[request.window])
            self._transcript.note(
                self._queue.now_s,
                site.name,
                f"published window {request.window} revision {request.revision}: "
                f"{request.envelope.covered}/{request.envelope.expected} exact "
                f"{request.envelope.exact} final {request.envelope.final} "
                f"records {rows[request.window]}",
                mark=hash(rows[request.window].once),
            )

    def crashed(self, site: SimulatedSite, *, loses_disk: bool) -> None:
        what = "crashed and lost its disk" if loses_disk else "crashed"
        self._transcript.note(self._queue.now_s, site.name, what, mark=7)
        answering = [one for one in self._answering if one[0] == site.name]
        if answering:
            self._transcript.count("the root crashed in the midst of an answer")
            self._answering.difference_update(answering)
        if loses_disk:
            self._transcript.count("a site lost its disk")
        self._past.crashed(site, loses_disk=loses_disk)
        self.count_verdicts(site)

    def count_verdicts(self, site: SimulatedSite) -> None:
        """What became of summaries at the roots of this site, in this life."""
        assert site.node is not None, "only a node that is there can be asked"
        for query in self.queries:
            root = site.node.root(query)
            for verdict, count in () if root is None else root.counters.items():
                self._transcript.counts[f"root: {verdict}"] += count
        self._unwanted.crashed(site)

    # ---- one effect each

    def _written(self, site: SimulatedSite, wanted: do.MakeUpdates | do.Remember) -> None:
        query = self.queries[wanted.query]
        before = site.disk.cube.records.get(wanted.query)
        self.levels.written(site.truth.ordinal, wanted, before)
        if query.wants_past and query.asked is None:
            self._past.written(site, query, wanted.record)

    def _roll_up(self, site: SimulatedSite, wanted: do.RollUp) -> None:
        self._transcript.count("backlog was rolled up")
        self._written(site, do.Remember(wanted.query, wanted.record))
        self._written(site, do.Remember(wanted.level, wanted.level_record))

    def _make_updates(self, site: SimulatedSite, wanted: do.MakeUpdates) -> None:
        self._written(site, wanted)
        self._unwanted.making(site, wanted)
        if self.queries[wanted.query].time is not TimeKind.AGE:
            return
        self._transcript.count("panes of an age query were cut")
        before, known_s = site.disk.cube.records.get(wanted.query), wanted.record.offset_s
        was_s = None if before is None else before.offset_s
        if was_s is not None and known_s is not None and abs(was_s - known_s) > STEP_S:
            self._transcript.count("the offset of an age query was taken in one step")

    def _keep(self, site: SimulatedSite, keep: do.Keep) -> None:
        self._closes.check(keep.query, keep.kept.pane, keep.kept.coverage)
        if self._ledger(site, keep.query).keep(keep):
            self._transcript.count("a late update was kept")
        key = (keep.query, keep.kept.pane, keep.kept.coverage)
        if key in self._spares:
            self._spares.remove(key)
            self._transcript.count("a spare was used")

    def _replace(self, site: SimulatedSite, replace: do.Replace) -> None:
        self._transcript.count("a disputed piece was replaced")
        ledger = site.disk.ledgers[replace.query]
        self._ledger(site, replace.query).replace(replace, ledger)

    def _keep_state(self, site: SimulatedSite, kept: do.KeepState) -> None:
        if kept.state.empty:
            self._transcript.count("empty panes were told in bulk")

    def _trim(self, site: SimulatedSite, trim: do.Trim) -> None:
        ledger = site.disk.ledgers.get(trim.query)
        if ledger is None:
            return
        assert site.node is not None, "only a node trims"
        root = site.node.root(trim.query)
        lag_s = 0.0 if root is None else root.windows.lag_s
        now_s = site.clock.now_s() - lag_s
        early = trimmed_early(trim, ledger, self.queries[trim.query], now_s=now_s)
        if early:
            raise Violation("final is final", f"{trim.query}: done with windows {early} too early")

    def _marked(self, site: SimulatedSite, acked: do.MarkAcked) -> None:
        self._unwanted.heard(acked)
        root = self.sites[self.queries[acked.query].root]
        ledger = root.disk.ledgers.get(acked.query)
        if ledger is None or acked.record.root_incarnation != root.disk.root_incarnation:
            return
        check_marked(
            acked,
            site.truth.ordinal,
            site.disk.incarnation,
            site.disk.cube,
            self._ledger(root, acked.query),
            ledger,
        )

    def _transmit(self, site: SimulatedSite, effect: do.Transmit) -> None:
        message = effect.message
        if isinstance(message, SummaryMessage):
            summary = message.summary
            if summary.coverage.thinned:
                self._transcript.count("a relay left out groups of what it had merged")
            for one in summary.by_pane():
                check_rows(one.query, one.pane, one.coverage, one.rows, self.truth)
                self._closes.check(one.query, one.pane, one.coverage)
            if self.queries[summary.query].holds_states:
                self._count_states(summary)
            if summary.lane is Lane.SPARE:
                self._spares.add((summary.query, summary.pane, summary.coverage))
            elif summary.coverage.sites.bit_count() > 1:
                self._transcript.count(f"{summary.lane.value} was merged on the way")
                self._count_groups(summary.coverage)
        elif isinstance(message, AbsenceMessage):
            self._absence.said(site, message)
        elif isinstance(message, AckMessage) and self.queries[message.ack.query].root == site.name:
            self._acknowledge(site, message)

    def _count_groups(self, coverage: Coverage) -> None:
        for group in coverage.groups:
            if group.sites & (group.sites - 1):
                self._transcript.count("sites with several updates became a group")
                if ranges.count(group.updates) > 1:
                    self._transcript.count("several updates of the same sites were merged")

    def _count_states(self, summary: Summary) -> None:
        if summary.more and summary.coverage.sites.bit_count() > 1:
            self._transcript.count("states of several panes were merged on the way")
        updates = self.truth.updates_of(summary.query, summary.pane, summary.coverage)
        spans = (self._sent[summary.query, summary.pane, *update] for update in updates)
        if summary.lane is not Lane.SPARE and any(len(panes) > summary.more + 1 for panes in spans):
            self._transcript.count("a state was split on the way")

    def _acknowledge(self, site: SimulatedSite, message: AckMessage) -> None:
        ack = message.ack
        ledger = site.disk.ledgers.get(ack.query)
        if ledger is None:
            raise Violation("nothing acked is missing", f"{ack.query}: no ledger at {site.name}")
        if ack.root_incarnation == site.disk.root_incarnation:
            query = self.queries[ack.query]
            self._unwanted.told(ack, query, ledger, now_s=site.clock.now_s())
            expected = bitset.of(expected_sites(query, self.roster))
            count = self._ledger(site, ack.query).acknowledge(ack, query, expected, ledger)
            self._transcript.counts["a pane of several updates was told in a range"] += count
            self._transcript.counts["updates were told by bitmaps"] += len(ack.rounds)

    def _answers_begun(self, site: SimulatedSite, begun: do.AnswersBegun) -> None:
        self._time.begun(str(begun.query.id), wall_s=site.clock.wall_s())

    def _answering_begins(self, site: SimulatedSite, answer: do.Answer) -> None:
        self._answering.add((site.name, site.life_count, answer.query))
        self._absence.answering(site, answer)

    def _installed(self, site: SimulatedSite, effect: do.Installed) -> None:
        if effect.is_new:
            key = (str(effect.query.id), site.truth.ordinal, site.disk.incarnation)
            self.installed_s[key] = site.believed_s()

    def _expire(self, site: SimulatedSite, effect: do.Expire) -> None:
        self._transcript.count("a pane expired")
        root = self.sites[self.queries[effect.query].root]
        is_forged = self.truth.is_forged(effect.query, effect.panes)
        is_healed = self._queue.now_s > self.healed_s + SETTLE_S and not is_forged
        have_begun = has_begun(self.queries[effect.query], effect, now_s=self._queue.now_s)
        is_awaited = have_begun and not is_unwanted(root, effect)
        if is_healed and len(root.truth.incarnations) == 1 and is_awaited:
            raise Violation(
                "convergence",
                f"{site.name} gives up {effect.query} panes {effect.panes}, though all has been "
                f"well for {SETTLE_S} s",
            )
        for pane in effect.panes:
            self.expired.add((effect.query, site.truth.ordinal, pane))

    def _notice(self, site: SimulatedSite, notice: Notice) -> None:
        self._transcript.count(f"notice: {notice.part} {notice.kind}")
        if notice.kind in ("alarm", "disputed") and not self.truth.forged:
            raise Violation("no false alarm", f"{site.name}: {notice.text}")

    def _command(self, site: SimulatedSite, effect: do.KeepCommand) -> None:
        command = effect.command
        if not isinstance(command, Install):
            self._transcript.count("a query was removed at a site")
        elif command.query.id.installer == site.name:
            self.commanded.add(str(command.query.id))

    def _counted(self, what: str) -> Callable[[SimulatedSite, Any], None]:
        return lambda site, effect: self._transcript.count(what)

    def _ledger(self, site: SimulatedSite, query: str) -> LedgerCheck:
        return self._ledgers.setdefault((query, site.disk.number), LedgerCheck(self.truth))


_MARKS = {kind: number for number, kind in enumerate(do.WORK, start=1)}
