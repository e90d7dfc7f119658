"""Numbered lines for all generators: one thread writes a few to each log, twice a second."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaos.truth import Record, Truth
from chaos.workload import LOG, line_of

TICK_S = 0.5
LATE_CHANCE, LATE_S = 0.2, (0.1, 0.7)
"""Within the streams' ``disorder``."""


class Writer:
    """From ``start`` to ``stop``. Each truth hears of every record in the same order, so that a
    record has one number in all of them."""

    def __init__(
        self,
        directories: Mapping[str, Path],
        truths: Sequence[Truth],
        *,
        lines_per_s: float,
        seed: int,
    ) -> None:
        self._paths = {site: directory / LOG for site, directory in directories.items()}
        self._truths = truths
        self._lines_per_tick = lines_per_s * TICK_S
        self._random = random.Random(seed)
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Every record is written whole when this returns."""
        self._stops.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stops.wait(TICK_S):
            for site, path in self._paths.items():
                wanted = self._lines_per_tick
                self._append(site, path, int(wanted) + (self._random.random() < wanted % 1.0))

    def _append(self, site: str, path: Path, count: int) -> None:
        records = [self._record(site) for _ in range(count)]
        text = "".join(line_of(self._bear(record), record) for record in records)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
        for record in records:
            record.written_s = time.time()

    def _bear(self, record: Record) -> int:
        numbers = {truth.bear(record) for truth in self._truths}
        assert len(numbers) == 1, "all truths have heard of the same records"
        return numbers.pop()

    def _record(self, site: str) -> Record:
        now_s = time.time()
        is_late = self._random.random() < LATE_CHANCE
        late_s = self._random.uniform(*LATE_S) if is_late else 0.0
        return Record(site, ts_us=int((now_s - late_s) * 1e6), born_s=now_s)
