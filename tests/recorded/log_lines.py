"""The input of the recorded federation, and what must come out of it, counted in plain Python.

A line is ``time,domain,bytes``. Times are seconds since ``ORIGIN_S``, at which the clocks of the
recording begin, whatever the real one shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

ORIGIN_S = 1_794_906_000.0
"""2026-11-17 09:00 UTC: a whole number of every window."""
DOMAINS = ("docs", "news", "shop")
SITES = ("north", "south")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Counted = dict[str, tuple[int, int, int]]
"""By domain: the records, their bytes, and the most of one."""


class Record(NamedTuple):
    time_us: int
    domain: str
    bytes: int


def lines_of(site: str, second: int) -> list[str]:
    """What this site writes in that second: a few lines, different for each."""
    seat = SITES.index(site)
    count = 1 + (second * (seat + 2)) % 3
    return [
        line(second + n / 4, DOMAINS[(second + n + seat) % 3], 100 * (seat + 1) + second + n)
        for n in range(count)
    ]


def late_line(site: str, second: float) -> str:
    """A record of that second, whenever it is written."""
    return line(second, "late", 1_000 + SITES.index(site))


def line(second: float, domain: str, size: int) -> str:
    at = datetime.fromtimestamp(ORIGIN_S + second, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S.%f},{domain},{size}\n"


def record_of(text: str) -> Record | None:
    """None: it is no record."""
    try:
        stamp, domain, size = text.strip().split(",")
        at = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
        return Record((at - EPOCH) // timedelta(microseconds=1), domain, int(size))
    except ValueError:
        return None


def second_of(text: str) -> int | None:
    """In which second of the recording it lies."""
    record = record_of(text)
    return None if record is None else record.time_us // 1_000_000 - int(ORIGIN_S)


def counted(lines: Iterable[str], *, start_us: int, end_us: int) -> Counted:
    """What lies in this stretch of time."""
    found: Counted = {}
    for one in map(record_of, lines):
        if one is not None and start_us <= one.time_us < end_us:
            n, total, most = found.get(one.domain, (0, 0, 0))
            found[one.domain] = (n + 1, total + one.bytes, max(most, one.bytes))
    return found
