"""Windows of numbers: a grid that counts a column of the records, or the records, instead of time.

::

    lsn       0 ······ 10000 ······ 20000 ······ 30000
    panes     |    0    |     1      |     2      |
    window 0  |----------------------|                     sequence_window(lsn, 20000, 10000)
    window 1            |-------------------------|

The arithmetic is that of ``WindowSpec``, whose lengths are numbers then. What a clock does for
windows of time, the numbers do here: a site that has read a number has passed the panes before it,
``disorder`` numbers later. No clock closes anything, so a quiet site leaves its panes open.

A site's own count is such a number, too: of the records that it has read for the query, or of their
bytes. Spark puts it beside each record (``ROW``, ``BYTE``), so that the rest goes as with any other
column. It has no disorder, and a site knows how far it is whatever WHERE keeps.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import WindowSpec

NUMBER_MAX = 1 << 61
"""Numbers below, and from its negative on, are in windows: so the end of a window is a number too,
whatever its length."""
ROW = "__row"
"""How many records the site had read for the query before this one. No source has such a column."""
BYTE = "__byte"
"""How many bytes these had: of each its text in UTF-8, and one for its end."""
OWN_COUNTS = {ROW: "row", BYTE: "byte"}
"""With what one of them is called where people read it."""


def number_text(column: str, number: int) -> str:
    """A number of a column, where the time of a window would stand.

    >>> number_text("lsn", 500_000)
    'lsn 500000'
    """
    return f"{column} {number}"


class SequenceGrid(msgspec.Struct, frozen=True):
    """That the windows of a query are windows of numbers, and how they close."""

    column: str
    """Of the records, a whole number that does not go backwards by more than ``disorder``; or one
    of ``OWN_COUNTS``."""
    disorder: int = 0
    """A pane is closed when a number so far beyond its end was read."""
    lateness: int = 0
    """And sealed when one so much further was."""
    from_now: bool = False
    """What was there before the query is none of its business: a site begins with the first pane
    that, by the first numbers it reads, it reads wholly (``whole_from``)."""

    @property
    def is_own_count(self) -> bool:
        """Each site counts what it reads."""
        return self.column in OWN_COUNTS

    @property
    def unit(self) -> str:
        """What people call a number of it: ``lsn``, ``row``, ``byte``."""
        return OWN_COUNTS.get(self.column, self.column)

    def closed_through(self, window: WindowSpec, high_pane: int) -> int:
        """Panes below may be closed, when a number of this pane was read. Of the number itself
        nothing is known but its pane.

        >>> SequenceGrid("lsn", disorder=15).closed_through(WindowSpec(10, 10), 7)
        5
        """
        return window.pane_at(window.pane_start_us(high_pane) - self.disorder)

    def whole_from(self, window: WindowSpec, pane: int) -> int:
        """The first pane that was surely read from its begin on, when the first number that was
        read lies in this one: those before it were at most so far ahead as it would not have been
        too late then.

        >>> SequenceGrid("lsn", disorder=5, lateness=20).whole_from(WindowSpec(10, 10), 7)
        11
        """
        end = window.pane_end_us(pane) - 1
        return window.pane_at(end + self.disorder + self.lateness) + 1

    def sealed_through(self, window: WindowSpec, high_pane: int) -> int:
        """Panes below get no more numbers that count."""
        start = window.pane_start_us(high_pane)
        return window.pane_at(start - self.disorder - self.lateness)
