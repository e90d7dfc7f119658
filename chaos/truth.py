"""What was really written: every record with its number, its place and its times."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW_US = 5_000_000
"""The query's windows, unless a truth says otherwise; one pane each."""
NEVER_S = float("inf")


@dataclass
class Record:
    """One line of a log. It is in the file, whole, from ``written_s`` on."""

    site: str
    ts_us: int
    born_s: float
    """Before its first byte was written."""
    written_s: float = NEVER_S
    """After its last byte was written."""


@dataclass
class Truth:
    """Filled by the writers while the checker reads; numbers are given once, over all sites."""

    window_us: int = WINDOW_US
    """How long a window is."""
    records: dict[int, Record] = field(default_factory=dict)
    _by_window: defaultdict[int, dict[int, Record]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def bear(self, record: Record) -> int:
        """The number of a record that is about to be written."""
        with self._lock:
            number = len(self.records) + 1
            self.records[number] = record
            start_us = record.ts_us - record.ts_us % self.window_us
            self._by_window[start_us][number] = record
            return number

    def window(self, start_us: int) -> Mapping[int, Record]:
        """The records of one window, by number."""
        with self._lock:
            return dict(self._by_window.get(start_us, {}))
