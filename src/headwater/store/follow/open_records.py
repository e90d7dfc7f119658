"""Up to when all is read, where the last record of a file may still go on.

Such a record is not cut before something follows it, or its file has stayed as it is for a while.
Until then its site can't say that it has read all that was there when the poll began. But what is
open was not there at the last poll that reached the end of the input: so all that was there by then
is read, and panes close by that::

    polls         1          2          3          4
    a file    |ab.       |ab.cd      |ab.cd      |ab.cd.     a dot: the record before it is over
    read by       1          1          1          4
"""

from __future__ import annotations

from collections.abc import Mapping


class OpenRecords:
    """Of the files of one source, from poll to poll of one process."""

    def __init__(self) -> None:
        self._since_s: dict[tuple[int, int], float | None] = {}
        """By file and where the record begins: the last poll that can't have met it; None: there
        was none."""
        self._end_reached_s: float | None = None

    def all_read_s(self, found: Mapping[int, int], *, now_s: float) -> float | None:
        """Called after each poll that has reached the end of the input but for open records, with
        where they begin, by file. None: nobody knows up to when all is read."""
        self._since_s = {at: self._since_s.get(at, self._end_reached_s) for at in found.items()}
        self._end_reached_s = now_s
        since_s = list(self._since_s.values())
        if any(one is None for one in since_s):
            return None
        return min((one for one in since_s if one is not None), default=now_s)
