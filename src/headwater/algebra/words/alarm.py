"""An alarm: somebody has found that panes are not what they are said to be, and people must hear.

A site that finds itself covered by an update that it never made can't mend that: the root counts
what came first. What is left is to say it, so that nobody takes the answer for exact, with whoever
may have carried the wrong summary. An alarm is about panes of one query and one site; it travels in
that site's signed state, and stands in the envelope of the windows that it concerns and in the book
of the query's root.

Alarms of one kind, query and site whose panes touch are one alarm (``joined``): what is found again
and again is counted, not listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from headwater.algebra.bounds import beginning_of
from headwater.algebra.sets.ranges import Range

ALARMS_TOLD_MAX = 8
"""In one state; a site raises further ones when the root has heard these."""
ALARM_CHARACTERS_MAX = 300
"""Of its sentence."""
CARRIERS_NAMED_MAX = 16
"""Possible carriers that an alarm names: the height of a few trees."""
NO_SITE = -1
"""The ordinal of an alarm that is not about one site."""


class AlarmKind(StrEnum):
    NEVER_CUT = "never cut"
    """The root holds an update of the site that the site never made; people are told "never
    cut"."""
    DISPUTED = "disputed"
    """What was carried differs from what the site says that it has closed."""
    UNNAMED = "unnamed"
    """Further alarms, for which the root's book had no room; or of a kind that only a newer
    version knows, which is no reason not to hear them."""

    @classmethod
    def _missing_(cls, _: object) -> AlarmKind:
        return cls.UNNAMED


class Alarm(msgspec.Struct, frozen=True):
    """About panes first … last (closed range). Made by ``of``, which keeps the limits."""

    kind: AlarmKind
    query: str
    ordinal: int
    """Of the site whose panes they are; ``NO_SITE``: of several."""
    first: int
    last: int
    text: str
    """A sentence for people."""
    carriers: tuple[str, ...] = ()
    """Peers that may have carried what is wrong; all but one of them may be honest."""

    @classmethod
    def of(
        cls,
        kind: AlarmKind,
        query: str,
        ordinal: int,
        panes: Range,
        text: str,
        carriers: Iterable[str] = (),
    ) -> Alarm:
        named = tuple(dict.fromkeys(carriers))[:CARRIERS_NAMED_MAX]
        return cls(kind, query, ordinal, *panes, beginning_of(text, ALARM_CHARACTERS_MAX), named)

    def concerns(self, first: int, last: int) -> bool:
        """Whether it is about any of these panes."""
        return self.first <= last and first <= self.last

    def touches(self, other: Alarm) -> bool:
        """Whether both are about the same thing: nothing lies between their panes."""
        is_same = (self.kind, self.query, self.ordinal) == (other.kind, other.query, other.ordinal)
        return is_same and self.concerns(other.first - 1, other.last + 1)

    def joined(self, other: Alarm) -> Alarm:
        """Both as one, in the words of the other, which is the newer one.

        >>> one = Alarm.of(AlarmKind.NEVER_CUT, "q@a#1", 3, (5, 6), "of pane 5", ["hub"])
        >>> two = Alarm.of(AlarmKind.NEVER_CUT, "q@a#1", 3, (7, 9), "of pane 7", ["hub", "lhr"])
        >>> both = one.joined(two)
        >>> both.first, both.last, both.text, both.carriers
        (5, 9, 'of pane 7', ('hub', 'lhr'))
        """
        panes = (min(self.first, other.first), max(self.last, other.last))
        carriers = (*self.carriers, *other.carriers)
        return Alarm.of(self.kind, self.query, self.ordinal, panes, other.text, carriers)

    def within(self, first: int, last: int) -> Alarm | None:
        """What of it is about these panes; None: nothing."""
        if not self.concerns(first, last):
            return None
        return msgspec.structs.replace(
            self, first=max(self.first, first), last=min(self.last, last)
        )
