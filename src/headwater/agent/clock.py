"""The site's clock as the machines see it: steady, and honest about the wall clock.

Machines measure both durations and times of day with one number, so it must neither stand still
nor jump without need. The clock runs on the monotonic one and follows the wall clock: small
differences are ignored until they have grown to ``STEP_S``, then it steps once and counts the step,
which operators see.
"""

import time

STEP_S = 0.5
"""Beyond this difference the wall clock is believed to have been set, not to have drifted."""


class SiteClock:
    """``now_s()`` is the site's time of day in seconds since 1970."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()
        self.step_count = 0

    def now_s(self) -> float:
        steady_s = time.monotonic() + self._offset_s
        wall_s = time.time()
        if abs(wall_s - steady_s) <= STEP_S:
            return steady_s
        self._offset_s += wall_s - steady_s
        self.step_count += 1
        return wall_s
