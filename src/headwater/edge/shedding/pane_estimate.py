"""When the pane that is being read will be done.

After Logothetis et al., *In-situ MapReduce for Log Processing* (iMR), section 4.2.2: the estimate
is an exponentially weighted average that leans to what is newest (0.8), made for the first time
when 30% of the pane are read, and anew every two seconds. Before that the first batches, which are
slow, would speak for all of it.
"""

from __future__ import annotations

ALPHA = 0.8
FIRST_SHARE = 0.3
"""Of a pane's bytes, that are read before its end is estimated."""
EVERY_S = 2.0


class PaneEstimate:
    """Of one query at one site: of one pane at a time."""

    def __init__(self) -> None:
        self._pane: int | None = None
        self._begun_at = 0
        self._done_s: float | None = None
        self._heard_s = 0.0

    def hear(
        self, pane: int, done_s: float, *, read_bytes: int, left_bytes: float, now_s: float
    ) -> float | None:
        """When the pane will be done. ``done_s``: as it looks now; ``read_bytes``: of the source,
        in all; ``left_bytes``: of the pane. None: too little of it is read to say."""
        if pane != self._pane:
            self._pane, self._begun_at, self._done_s = pane, read_bytes, None
        read = read_bytes - self._begun_at
        if self._done_s is None:
            if read < FIRST_SHARE * (read + left_bytes):
                return None
            self._done_s, self._heard_s = done_s, now_s
        elif now_s >= self._heard_s + EVERY_S:
            self._done_s = ALPHA * done_s + (1.0 - ALPHA) * self._done_s
            self._heard_s = now_s
        return self._done_s
