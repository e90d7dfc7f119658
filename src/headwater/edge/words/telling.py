"""When the state of a query is numbered, told and repeated, and what of it the root has heard.

A ``SiteState`` is a snapshot. Whenever anything in it changes it gets a new number, which is
durable before it is told, and it is told again every ``state_every_s`` until the root greets that
number. Counts of unusable records change with every batch, so they alone make a new number only
every ``tally_every_s``; and so do input that is not read, and remarks.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting
from headwater.algebra.words.alarm import ALARMS_TOLD_MAX, Alarm
from headwater.algebra.words.remark import REMARKS_MAX, Remark
from headwater.algebra.words.site_state import FOREVER, Tally, Unread
from headwater.edge.config import EdgeConfig
from headwater.edge.record import EdgeRecord

Seldom = tuple[Tally, Unread, tuple[Remark, ...], int]
"""What is told as seldom as the tally."""


class Telling:
    """Of one query at one site. The record is handed in, and given back where it changes."""

    def __init__(
        self, ordinal: int, incarnation: int, config: EdgeConfig, *, is_level: bool = False
    ) -> None:
        """``is_level``: of every pane the root hears by its count first."""
        self._is_level = is_level
        self.ordinal = ordinal
        self.incarnation = incarnation
        self.unread = Unread()
        self.remarks: tuple[Remark, ...] = ()
        self.flush_level = 0
        """As in ``SiteState``."""
        self._live_remarks: tuple[Remark, ...] = ()
        self._past_remarks: tuple[Remark, ...] = ()
        self.is_greeted = False
        self.former_through: int | None = None
        """Panes below may be held from a former life of this site; None: not told yet."""
        self._greeted_number = 0
        self._ack_number = 0
        """Of the newest acknowledgement of the newest root that this process heard."""
        self._config = config
        self._counts: dict[int, int] = {}
        self._counted_from: dict[int, dict[int, int]] = {}
        """Pane -> so many updates -> the number of the first state that counts them."""
        self._after_word: set[int] = set()
        """Panes of which something else was said before they had an update."""
        self._alarms: dict[Alarm, int] = {}
        """With the number of the first state that tells of it."""
        self._alarmed = IntervalSet()
        """Panes of which the alarm is given: it is raised once for each."""
        self._told_s = self._numbered_s = LONG_AGO_S
        self._numbered: Seldom = (Tally(), Unread(), (), 0)
        """What the newest number tells of all that is told seldom."""
        self._must_speak = False
        """Somebody does not know what this site knows, though the root has greeted its state."""

    def resume(self, record: EdgeRecord) -> None:
        """What a former process had remembered, and the root may not have heard."""
        self._alarms = dict.fromkeys(record.alarms, record.state_number + 1)
        self._alarmed = IntervalSet((alarm.first, alarm.last) for alarm in record.alarms)

    # What is told beside the record

    def count(self, record: EdgeRecord, pane: int, updates: int, *, after_word: bool) -> None:
        """The pane has so many updates. ``after_word``: it was closed empty or declined before,
        so an acknowledgement's bit may speak of that."""
        self._counts[pane] = updates
        self._counted_from.setdefault(pane, {}).setdefault(updates, record.state_number + 1)
        if after_word:
            self._after_word.add(pane)

    def uncount(self, pane: int) -> None:
        """But what a close or a word before it said otherwise stays told."""
        if pane not in self._after_word or self._is_level:
            self._counts.pop(pane, None)
            self._counted_from.pop(pane, None)

    def counts(self) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(self._counts.items()))

    def bit_means_held(self, pane: int, update: int, *, first_close: int) -> bool:
        """Whether a set bit of an acknowledgement says that this update of the pane is held.

        It says so of all that the root knows to be closed: what the first close counted, and what a
        state counts that the root has greeted. The bit also stands for an empty close or a decline.
        Where there was one, nothing but a state tells the root of an update.
        """
        if update <= first_close and pane not in self._after_word:
            return True
        counted = self._counted_from.get(pane, {})
        return any(update <= n and self._greeted_number >= at for n, at in counted.items())

    def tell_unread(self, unread: Unread) -> bool:
        """What the newest poll left alone; False: it is no news."""
        former, self.unread = self.unread, unread
        return unread != former

    def tell_remarks(self, remarks: tuple[Remark, ...]) -> bool:
        """False: they are no news."""
        return self._tell_both(remarks, self._past_remarks)

    def tell_past(self, remarks: tuple[Remark, ...]) -> bool:
        """The same of a reading of the past."""
        return self._tell_both(self._live_remarks, remarks)

    def _tell_both(self, live: tuple[Remark, ...], past: tuple[Remark, ...]) -> bool:
        self._live_remarks, self._past_remarks = live, past
        former, self.remarks = self.remarks, (*past, *live)[:REMARKS_MAX]
        return self.remarks != former

    def raise_alarm(self, record: EdgeRecord, alarm: Alarm) -> EdgeRecord:
        """The same record: there is no room before the root has heard others. It still holds then
        what is wrong, and its next acknowledgement raises it again."""
        if len(self._alarms) >= ALARMS_TOLD_MAX:
            return record
        self._alarms[alarm] = record.state_number + 1
        self._alarmed.add(alarm.first, alarm.last)
        return self._with_alarms(record)

    def unalarmed(self, first: int, last: int) -> Iterable[Range]:
        """Of these panes those of which no alarm is given."""
        return self._alarmed.gaps(first, last)

    def _with_alarms(self, record: EdgeRecord) -> EdgeRecord:
        return msgspec.structs.replace(record, alarms=tuple(self._alarms))

    # What the root has heard

    def takes(self, record: EdgeRecord, ack: Acknowledgement) -> bool:
        """False: a newer one, or one of a newer root, was heard before it."""
        newest = (record.root_incarnation, self._ack_number)
        if (ack.root_incarnation, ack.number) < newest:
            return False
        self._ack_number = ack.number
        return True

    def speak_again(self) -> None:
        """Though it was greeted: an outdated root was heard, which the state tells of the life that
        was heard before; or a leaf is wanted, and the state shows the relays where."""
        self._must_speak = True

    def hear_greeting(self, record: EdgeRecord, greeting: Greeting) -> EdgeRecord:
        self.former_through = greeting.former_through
        return self.greet(record, greeting.number)

    def greet(self, record: EdgeRecord, number: int) -> EdgeRecord:
        """The root has the state of this number, and the alarms that it tells."""
        self.is_greeted = True
        self._greeted_number = max(self._greeted_number, number)
        told = [one for one, since in self._alarms.items() if since <= self._greeted_number]
        for alarm in told:
            del self._alarms[alarm]
        return self._with_alarms(record) if told else record

    def forget_greeting(self, record: EdgeRecord, *, incarnation: int | None) -> None:
        """Another root, or another life of the site: it is heard anew."""
        self.incarnation = self.incarnation if incarnation is None else incarnation
        self.is_greeted, self._greeted_number, self.former_through = False, 0, None
        for counted in self._counted_from.values():
            counted.update(dict.fromkeys(counted, record.state_number + 1))
        self.resume(record)

    def drop_below(self, done_through: int) -> None:
        self._alarmed.remove(-FOREVER, done_through - 1)
        self._after_word = {pane for pane in self._after_word if pane >= done_through}
        for known in (self._counts, self._counted_from):
            for pane in [pane for pane in known if pane < done_through]:
                del known[pane]

    # Numbers and times

    def number(self, record: EdgeRecord, *, is_news: bool, now_s: float) -> EdgeRecord:
        """With a new number if the state says something new; it must be remembered then."""
        if not is_news and now_s < self._next_tally_s(record):
            return record
        self._numbered = self._seldom(record)
        self._numbered_s, self._told_s = now_s, LONG_AGO_S
        return msgspec.structs.replace(record, state_number=record.state_number + 1)

    def take_due(self, record: EdgeRecord, *, now_s: float) -> bool:
        """Whether the state is to be told; it counts as told now."""
        is_due = now_s >= self._repeat_s(record)
        if is_due:
            self._told_s, self._must_speak = now_s, False
        return is_due

    def next_deadline_s(self, record: EdgeRecord) -> float:
        return min(self._repeat_s(record), self._next_tally_s(record))

    def _repeat_s(self, record: EdgeRecord) -> float:
        is_known = self.is_greeted and self._greeted_number >= record.state_number
        if record.state_number == 0 or (is_known and not self._must_speak):
            return NEVER_DUE_S
        return self._told_s + self._config.state_every_s

    def _next_tally_s(self, record: EdgeRecord) -> float:
        is_same = self._seldom(record) == self._numbered
        return NEVER_DUE_S if is_same else self._numbered_s + self._config.tally_every_s

    def _seldom(self, record: EdgeRecord) -> Seldom:
        return record.tally, self.unread, self.remarks, self.flush_level
