"""How long a batch takes: a part that every batch costs, and a part for every byte of it.

Both are wanted apart. What gathers between two batches shall not take longer than so much to read
*beyond* what a batch costs anyway; taken together, a machine on which every batch is slow would be
given many small ones, which is the dearest way to read. They are fitted to the newest batches by
least squares, held near what is usual until the batches say otherwise: in a steady state all
batches are of one size and tell nothing of the two parts, and a line through one point may have any
slope. What is usual is known better for a byte than for a batch, whose first ones are slow, so the
slowness of small batches counts as theirs, and only that of large ones as their bytes'.
"""

from __future__ import annotations

from collections import deque
from math import ceil

BATCHES_MAX = 16
"""What is learned from."""
USUAL_BATCH_S = 0.2
USUAL_S_PER_MB = 0.05
"""On one core of a small machine."""
BATCH_WEIGHT = 0.01
BYTES_WEIGHT = 1.0
"""How firmly what is usual is believed: as firmly as so many batches, of 1 MB, that took exactly
that. So a batch may well take a second more than usual, and a megabyte a tenth of a second."""
S_PER_MB_MIN = 0.001


class ReadingPace:
    """Told of each batch; asked before the next one."""

    def __init__(self, batches_max: int = BATCHES_MAX) -> None:
        """``batches_max``: how many of the newest batches it goes by."""
        self._batches: deque[tuple[float, float]] = deque(maxlen=batches_max)
        self._batch_s, self._s_per_mb = USUAL_BATCH_S, USUAL_S_PER_MB

    def took(self, byte_count: int, took_s: float) -> None:
        """A batch of so many bytes was read and committed."""
        self._batches.append((byte_count / 1e6, took_s))
        n, x, y = BATCH_WEIGHT, 0.0, BATCH_WEIGHT * USUAL_BATCH_S
        xx, xy = BYTES_WEIGHT, BYTES_WEIGHT * USUAL_S_PER_MB
        for mb, s in self._batches:
            n, x, y, xx, xy = n + 1.0, x + mb, y + s, xx + mb * mb, xy + mb * s
        divisor = n * xx - x * x
        self._s_per_mb = max(S_PER_MB_MIN, (n * xy - x * y) / divisor)
        self._batch_s = max(0.0, (y - self._s_per_mb * x) / n)

    def reading_s(self, byte_count: int) -> float:
        """How much longer a batch takes for having so many bytes."""
        return self._s_per_mb * byte_count / 1e6

    def batches_s(self, byte_count: int) -> float:
        """How long it takes in batches that are no larger than the largest of the newest ones: in
        these the two parts add up to what was measured, however they were told apart."""
        largest = max((mb for mb, _ in self._batches), default=0.0)
        count = 1 if largest <= 0.0 else max(1, ceil(byte_count / 1e6 / largest))
        return count * self._batch_s + self.reading_s(byte_count)

    def batch_s(self, byte_count: int) -> float:
        """How long a batch of so many bytes takes."""
        return self._batch_s + self.reading_s(byte_count)
