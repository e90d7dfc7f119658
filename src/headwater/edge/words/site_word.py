"""What a site says about a query beside its summaries: the contents and number of its state.

A ``SiteState`` is a snapshot. Whenever anything in it changes it gets a new number, which is
durable before it is told, and it is told again every ``state_every_s`` until the root greets that
number. Counts of unusable records change with every batch, so they alone make a new number only
every ``tally_every_s``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.alarm import ALARMS_TOLD_MAX, Alarm
from headwater.algebra.words.close_digest import BlockDigest, Closes
from headwater.algebra.words.remark import REMARKS_MAX, Remark
from headwater.algebra.words.site_state import FOREVER, Declined, Reason, SiteState, Tally, Unread
from headwater.edge.config import EdgeConfig
from headwater.edge.record import EdgeRecord

NEVER_S = -1e18
"""A time before all times."""
ALWAYS_S = 1e18
"""A time after all times."""
NOTHING = Tally()


class SiteWord:
    """One query at one site. Panes below ``done_through`` are left out of what is said."""

    def __init__(self, query: str, ordinal: int, incarnation: int, config: EdgeConfig) -> None:
        self.query = query
        self.ordinal = ordinal
        self.incarnation = incarnation
        self.first_pane: int | None = None
        self.status = ""
        self.message = ""
        self.catching_up = False
        self.ended = False
        self.sealed_through = -FOREVER
        self.done_through = -FOREVER
        self.tally = Tally()
        self.unread = Unread()
        self.remarks: tuple[Remark, ...] = ()
        self.number = 0
        self.greeted_number = 0
        self.is_greeted = False
        self.has_changed = False
        self._config = config
        self._tally_changed = False
        self._empty = IntervalSet()
        self._damaged = IntervalSet()
        self._declined: dict[Reason, IntervalSet] = {}
        self._never = IntervalSet()
        self._counts: dict[int, int] = {}
        self._alarms: dict[Alarm, int] = {}
        """With the number of the first state that tells of it."""
        self._alarmed = IntervalSet()
        """Panes of which the alarm is given: it is raised once for each."""
        self._trusted_from: dict[int, int] = {}
        self._told_s = NEVER_S
        self._numbered_s = NEVER_S
        self._must_speak = False
        """Somebody does not know what this site knows, though the root has greeted its state."""

    def load(self, record: EdgeRecord) -> None:
        """What a former process had remembered; the next state has a new number in any case."""
        self.first_pane = record.first_pane
        self.status, self.message = record.status, record.message
        self.catching_up, self.ended = record.catching_up, record.ended
        self.sealed_through, self.done_through = record.sealed_through, record.done_through
        self.tally, self.number = record.tally, record.state_number
        self._empty = IntervalSet(record.empty)
        self._damaged = IntervalSet(record.damaged)
        for declined in record.declined:
            self._add_declined(declined.first, declined.last, declined.reason)
        for alarm in record.alarms:
            self.raise_alarm(alarm)
        self.has_changed = True

    # What is said of panes

    def close_empty(self, first: int, last: int) -> None:
        self._empty.add(first, last)
        self.has_changed = True

    def decline(self, first: int, last: int, reason: Reason) -> None:
        """Never taken back; nothing happens when it was said before."""
        if last < first or self._declined_of(reason).covers(first, last):
            return
        self._add_declined(first, last, reason)
        self._join_declined(reason)
        self.has_changed = True

    def damage(self, first: int, last: int) -> None:
        if not self._damaged.covers(first, last):
            self._damaged.add(first, last)
            self.has_changed = True

    def count(self, pane: int, updates: int, *, after_word: bool) -> None:
        """The pane has so many updates. ``after_word``: it was closed empty or declined before,
        so an acknowledgement's bit may speak of that."""
        self._empty.remove(pane, pane)
        self._counts[pane] = updates
        if after_word and pane not in self._trusted_from:
            self._trusted_from[pane] = self.number + 1
        self.has_changed = True

    def seal(self, through: int) -> None:
        if through > self.sealed_through:
            self.sealed_through = through
            self.has_changed = True

    def add_tally(self, more: Tally) -> None:
        if more != NOTHING:
            sums = (a + b for a, b in zip(_counts(self.tally), _counts(more), strict=True))
            self.tally = Tally(*sums)
            self._tally_changed = True

    def tell_unread(self, unread: Unread) -> bool:
        """What the newest poll left alone; False: it is no news. A file that comes and goes makes
        no more states than the tally does."""
        if unread == self.unread:
            return False
        self.unread, self._tally_changed = unread, True
        return True

    def tell_remarks(self, remarks: tuple[Remark, ...]) -> bool:
        """False: they are no news."""
        if remarks == self.remarks:
            return False
        self.remarks, self._tally_changed = remarks[:REMARKS_MAX], True
        return True

    def raise_alarm(self, alarm: Alarm) -> bool:
        """False: there is no room before the root has heard others. It still holds then what is
        wrong, and its next acknowledgement raises it again."""
        if len(self._alarms) >= ALARMS_TOLD_MAX:
            return False
        self._alarms[alarm] = self.number + 1
        self._alarmed.add(alarm.first, alarm.last)
        self.has_changed = True
        return True

    def unalarmed(self, first: int, last: int) -> Iterable[tuple[int, int]]:
        """Of these panes those of which no alarm is given."""
        return self._alarmed.gaps(first, last)

    def is_declined(self, pane: int) -> bool:
        return pane in self._never

    def is_doubted(self, pane: int) -> bool:
        """Whether the state says of this pane that it can't be exact."""
        return pane in self._never or pane in self._damaged

    def has_damage(self, first: int, last: int) -> bool:
        return next(self._damaged.within(first, last), None) is not None

    def is_told_empty(self, pane: int) -> bool:
        return pane in self._empty

    def undeclined(self, first: int, last: int) -> Iterable[tuple[int, int]]:
        return self._never.gaps(first, last)

    @property
    def empty_ranges(self) -> int:
        return len(self._empty)

    def trusts_bit(self, pane: int) -> bool:
        """Whether a set bit of an acknowledgement says that update 1 of the pane is held.

        The bit also stands for an empty close or a decline. Where there was one, it means the
        update only once the root knows of the update from a state.
        """
        return self.greeted_number >= self._trusted_from.get(pane, 0)

    # Numbers and times

    def speak_again(self) -> None:
        """Though it was greeted: an outdated root was heard, which the state tells of the life that
        was heard before; or a leaf is wanted, and the state shows the relays where."""
        self._must_speak = True

    def greet(self, number: int) -> bool:
        """Whether that lets go of an alarm, which must be remembered."""
        self.is_greeted = True
        self.greeted_number = max(self.greeted_number, number)
        told = [one for one, since in self._alarms.items() if since <= self.greeted_number]
        for alarm in told:
            del self._alarms[alarm]
        return bool(told)

    def forget_greeting(self) -> None:
        """Another root: it has heard nothing of this."""
        self.is_greeted, self.greeted_number = False, 0
        self._trusted_from = dict.fromkeys(self._trusted_from, self.number + 1)
        self._alarms = dict.fromkeys(self._alarms, self.number + 1)
        self._alarmed = IntervalSet((alarm.first, alarm.last) for alarm in self._alarms)
        self.has_changed = True

    def number_changes(self, *, now_s: float) -> bool:
        """Give the state a new number if it says something new; it must be remembered then."""
        if not (self.has_changed or self._is_tally_due(now_s)):
            return False
        self.number += 1
        self.has_changed = self._tally_changed = False
        self._numbered_s, self._told_s = now_s, NEVER_S
        return True

    def is_due(self, *, now_s: float) -> bool:
        return now_s >= self._repeat_s()

    def told(self, *, now_s: float) -> None:
        self._told_s, self._must_speak = now_s, False

    def next_deadline_s(self) -> float:
        if self.has_changed:
            return NEVER_S
        tally_s = self._numbered_s + self._config.tally_every_s
        return min(self._repeat_s(), tally_s if self._tally_changed else ALWAYS_S)

    def _repeat_s(self) -> float:
        is_known = self.is_greeted and self.greeted_number >= self.number
        if self.number == 0 or (is_known and not self._must_speak):
            return ALWAYS_S
        return self._told_s + self._config.state_every_s

    def _is_tally_due(self, now_s: float) -> bool:
        return self._tally_changed and now_s >= self._numbered_s + self._config.tally_every_s

    # Snapshots

    def drop_below(self, done_through: int) -> None:
        """Not news: the root said so itself, so the number stays."""
        self.done_through = done_through
        known_panes = (self._empty, self._damaged, self._alarmed, self._never)
        for panes in (*known_panes, *self._declined.values()):
            panes.remove(-FOREVER, done_through - 1)
        for known in (self._counts, self._trusted_from):
            for pane in [pane for pane in known if pane < done_through]:
                del known[pane]

    def snapshot(
        self,
        *,
        offset_s: float | None = None,
        root_incarnation: int = 0,
        is_clock_unconfirmed: bool = False,
        digests: tuple[BlockDigest, ...] = (),
        closes: tuple[Closes, ...] = (),
    ) -> SiteState:
        return SiteState(
            query=self.query,
            ordinal=self.ordinal,
            incarnation=self.incarnation,
            number=self.number,
            first_pane=self.first_pane,
            status=self.status,
            message=self.message,
            catching_up=self.catching_up,
            ended=self.ended,
            sealed_through=self.sealed_through,
            empty=self.empty(),
            declined=self.declined(),
            damaged=self.damaged(),
            counts=tuple(sorted(self._counts.items())),
            tally=self.tally,
            offset_s=offset_s,
            root_incarnation=root_incarnation,
            unread=self.unread,
            alarms=self.alarms(),
            is_clock_unconfirmed=is_clock_unconfirmed,
            digests=digests,
            closes=closes,
            remarks=self.remarks,
        )

    def empty(self) -> Ranges:
        return self._empty.ranges()

    def damaged(self) -> Ranges:
        return self._damaged.ranges()

    def alarms(self) -> tuple[Alarm, ...]:
        return tuple(self._alarms)

    def declined(self) -> tuple[Declined, ...]:
        if not self._never:
            return ()
        found = [
            Declined(first, last, reason)
            for reason, panes in self._declined.items()
            for first, last in panes.ranges()
        ]
        return tuple(sorted(found, key=lambda d: (d.first, d.reason)))

    def _declined_of(self, reason: Reason) -> IntervalSet:
        return self._declined.setdefault(reason, IntervalSet())

    def _add_declined(self, first: int, last: int, reason: Reason) -> None:
        self._declined_of(reason).add(first, last)
        self._never.add(first, last)

    def _join_declined(self, reason: Reason) -> None:
        """Keep the list short by giving up what lies between its two nearest neighbours."""
        panes = self._declined_of(reason)
        if len(panes) <= self._config.declined_ranges_max:
            return
        neighbours = min(pairwise(panes.ranges()), key=lambda two: two[1][0] - two[0][1])
        self._add_declined(neighbours[0][1] + 1, neighbours[1][0] - 1, reason)


def _counts(tally: Tally) -> tuple[int, ...]:
    return tuple(msgspec.structs.astuple(tally))
