"""The writers: numbered lines in logs that grow and rotate, as loggers write them.

Most records are on time, some a little late, a few later than ``disorder`` and well within
``lateness``. Now and then a line is torn: its second half comes a moment later. Rotated files stay,
since bytes that are gone before anyone could read them are nobody's fault.
"""

from __future__ import annotations

import os
import random
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from chaos.truth import Record, Truth

LOG = "numbered.log"
TICK_S = 0.1
TORN_CHANCE = 0.1
ROTATE_CHANCE = 0.02
"""At each tick: every five seconds, about."""
LATE_CHANCE, LATE_S = 0.2, (0.1, 1.5)
"""Within the query's ``disorder``."""
VERY_LATE_CHANCE, VERY_LATE_S = 0.03, (3.0, 10.0)
"""Beyond its ``disorder`` and within its ``lateness``."""


class Writer:
    """One site's logger, a thread from ``start`` to ``stop``."""

    def __init__(
        self, site: str, directory: Path, truth: Truth, *, lines_per_s: float, seed: int
    ) -> None:
        self._site = site
        self._path = directory / LOG
        self._truth = truth
        self._lines_per_tick = lines_per_s * TICK_S
        self._random = random.Random(f"{seed} {site}")
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{site}-log", daemon=True)
        self._rotations = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Every record is written whole when this returns."""
        self._stops.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stops.wait(TICK_S):
            count = self._random.uniform(0.5, 1.5) * self._lines_per_tick
            self._append(int(count) + (self._random.random() < count % 1.0))
            if self._random.random() < ROTATE_CHANCE:
                self._rotate()

    def _append(self, count: int) -> None:
        records = [self._record() for _ in range(count)]
        text = "".join(line_of(self._truth.bear(record), record) for record in records).encode()
        torn_at = len(text)
        if text and self._random.random() < TORN_CHANCE:
            torn_at = self._random.randrange(len(text))
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, text[:torn_at])
            if torn_at < len(text):
                time.sleep(self._random.uniform(0.01, 2 * TICK_S))
                os.write(handle, text[torn_at:])
        finally:
            os.close(handle)
        for record in records:
            record.written_s = time.time()

    def _record(self) -> Record:
        now_s, chance = time.time(), self._random.random()
        late_s = 0.0
        if chance < VERY_LATE_CHANCE:
            late_s = self._random.uniform(*VERY_LATE_S)
        elif chance < VERY_LATE_CHANCE + LATE_CHANCE:
            late_s = self._random.uniform(*LATE_S)
        return Record(self._site, ts_us=int((now_s - late_s) * 1e6), born_s=now_s)

    def _rotate(self) -> None:
        self._rotations += 1
        if self._path.exists():
            self._path.rename(self._path.with_name(f"{LOG}.{self._rotations:06d}"))


def line_of(number: int, record: Record) -> str:
    """As a generator reads it."""
    at = datetime.fromtimestamp(record.ts_us // 1_000_000, UTC)
    return f"{number},{at:%Y-%m-%dT%H:%M:%S}.{record.ts_us % 1_000_000:06d}Z,{record.site}\n"
