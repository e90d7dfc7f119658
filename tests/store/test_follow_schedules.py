"""The real follower under seeded schedules of writers, failing disks and kills."""

from __future__ import annotations

import pytest
from follow_schedules import run_schedule

BATCH = 40


@pytest.mark.parametrize("first", range(1, 5 * BATCH, BATCH))
def test_every_line_comes_exactly_once_or_is_said_not_to(first: int) -> None:
    done = [run_schedule(seed) for seed in range(first, first + BATCH)]
    assert sum(one.clean_polls for one in done) > BATCH
    assert sum(one.kills for one in done) > 5
    assert sum(one.disk.faults for one in done) > 50
