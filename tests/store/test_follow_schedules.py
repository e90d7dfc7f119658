"""The real follower under seeded schedules of writers, failing disks and kills."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from follow_schedules import run_schedule

BATCH = 40
FOUND = (
    *(65, 316, 492, 937, 958, 1084, 2628, 2674, 2731, 3138, 4061, 4249, 20075, 20227, 32771),
    *(90313, 90349, 100529),
)
"""Seeds that showed a mistake once."""


@pytest.mark.parametrize("first", range(1, 5 * BATCH, BATCH))
def test_every_line_comes_exactly_once_or_is_said_not_to(first: int) -> None:
    done = [run_schedule(seed) for seed in range(first, first + BATCH)]
    assert sum(one.clean_polls for one in done) > BATCH
    assert sum(one.kills for one in done) > 5
    assert sum(one.disk.faults for one in done) > 50


def test_the_same_holds_of_what_is_in_compressed_files() -> None:
    done = [run_schedule(seed, has_archives=True) for seed in range(1, 2 * BATCH)]
    assert sum(one.clean_polls for one in done) > BATCH
    assert sum(one.kills for one in done) > 5


def test_schedules_that_showed_a_mistake_once_show_it_no_more() -> None:
    for seed in FOUND:
        run_schedule(seed)


def test_a_seed_gives_the_same_schedule_again(tmp_path: Path) -> None:
    """Whatever inodes the file system gives out, and in whichever order sets are walked."""
    script = "from follow_schedules import run_schedule; [print(run_schedule(n)) for n in range(4)]"
    texts = set()
    for number in range(2):
        there = tmp_path / f"{number}"
        there.mkdir()
        for n in range(number * 50):
            (there / f"{n}").touch()
        known = {"TMPDIR": str(there), "PYTHONHASHSEED": str(number), "PATH": os.environ["PATH"]}
        known["PYTHONPATH"] = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", script], env=known, check=True, capture_output=True, text=True
        )
        texts.add(done.stdout)
    assert len(texts) == 1
    assert "polled" in texts.pop()
