"""The time in which a site places records: its own, or for ``time = 'age'`` the root's.

Three clocks meet here. ``now_s`` is steady: it never steps while the process lives, and says
nothing about the time of day. The *wall clock*, which stamps the records, is ``ahead_s`` ahead of
it. The *root's clock*, which is the steady one of its process, is ``offset_s`` ahead of it, as
heartbeats tell::

    steady ── + ahead_s ──► wall clock ── + offset_us ──► root's clock
           ────────────────── + offset_s ────────────────►

So by age no clock that is set while agents run moves a record, neither here nor at the root. Both
distances are told now and then. Small changes of the root's are slewed, so that time never jumps
for the noise of an estimate, nor for a little lie; a large one means that the root was started anew
or that the estimate was poor, and is taken at once: the overlay hands on none that one neighbour
alone has told, where there are others to ask. Whatever clocks do, a pane that was closed stays
closed: records that now belong to it come as its late updates.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import MICROS
from headwater.edge.closing.closing import SourceClock
from headwater.edge.closing.wall_past import WallPast

STEP_S = 0.25
"""A difference beyond this is taken at once."""
SLEW_MAX = 0.005
"""Below, the offset moves by at most this much in a second."""
NEWS_S = 1.0
"""The root is told of an offset to its clock that differs by more than this from the one told."""


class RootTime:
    def __init__(self, *, is_used: bool, ahead_s: float = 0.0, slew_max: float = SLEW_MAX) -> None:
        """``is_used`` is False for queries that go by the records' own timestamps."""
        self.is_used = is_used
        self._slew_max = slew_max
        self._wall = WallPast(ahead_s)
        self._heard_s: float | None = None
        """How far the root's clock is ahead of the steady one, as last told; None: never."""
        self._offset_s = 0.0
        self._heard_at_s = 0.0
        self._told_s: float | None = None
        """``known_s`` as the root was last told."""
        self.is_unconfirmed = False
        """By age: fewer than three neighbours agree on the clock that records are placed by."""

    @property
    def ahead_s(self) -> float:
        """How far the site's wall clock is ahead of the steady one."""
        return self._wall.ahead_s

    def set_wall(self, ahead_s: float, *, now_s: float) -> None:
        """The wall clock is so far ahead of the steady one from now on."""
        self._wall.set(ahead_s, now_s=now_s)

    @property
    def known_s(self) -> float | None:
        """How far the root's clock is ahead of the site's wall clock; None: not known."""
        return None if self._heard_s is None else self._heard_s - self.ahead_s

    @property
    def offset_us(self) -> int:
        """What is added to the times of records; 0 where they go by their timestamps."""
        return round((self._offset_s - self.ahead_s) * MICROS) if self.is_used else 0

    def hear(self, offset_s: float, *, is_confirmed: bool = True, now_s: float) -> bool:
        """The root's clock is ahead of the steady one by this much; whether the root must be told
        what is made of it. ``is_confirmed``: enough neighbours say so."""
        apart_s = offset_s - self._offset_s
        if self._heard_s is None or abs(apart_s) > STEP_S:
            self._offset_s = offset_s
        else:
            most_s = self._slew_max * max(0.0, now_s - self._heard_at_s)
            self._offset_s += max(-most_s, min(most_s, apart_s))
        self._heard_s, self._heard_at_s = offset_s, now_s
        former, self.is_unconfirmed = self.is_unconfirmed, self.is_used and not is_confirmed
        is_far = self._told_s is None or abs(offset_s - self.ahead_s - self._told_s) > NEWS_S
        if is_far:
            self._told_s = self.known_s
        return is_far or self.is_unconfirmed != former

    def resume(self, known_s: float | None) -> None:
        """What a former process knew, until something newer is told."""
        if known_s is not None:
            self._heard_s = self._offset_s = known_s + self.ahead_s

    def of(self, steady_s: float) -> float:
        """A steady time as the time that panes are numbered by."""
        return steady_s + (self._offset_s if self.is_used else self.ahead_s)

    def of_wall(self, wall_s: float) -> float:
        """The same of a time that was read off the wall clock."""
        return wall_s + self.offset_us / MICROS

    def of_read(self, steady_s: float) -> float:
        """A read that began then has everything up to this time."""
        return self.of_wall(self._wall.of_read(steady_s))

    def of_source(self, clock: SourceClock) -> SourceClock:
        high_us, read_s = clock.high_time_us, clock.read_through_s
        return msgspec.structs.replace(
            clock,
            high_time_us=None if high_us is None else high_us + self.offset_us,
            read_through_s=None if read_s is None else self.of_read(read_s),
        )
