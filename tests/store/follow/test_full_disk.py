"""A disk that is really full: a small tmpfs, where only the superuser can make one."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_kit import QUERY, SOURCE, Clock, CubeUser, gave

from headwater.errors import DiskFull
from headwater.reading.outcome import Batch
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import Start

SIZE = 4 << 20
BATCHES = 60


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs the superuser")
    directory = tmp_path / "small"
    directory.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode != 0:
        pytest.skip(f"a tmpfs can't be mounted here: {mount.stderr.strip()}")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


def fill(directory: Path) -> Path:
    """Take all the room that is left but a little."""
    ballast = directory / "ballast"
    with ballast.open("wb") as file:
        free = os.statvfs(directory)
        file.write(b"\0" * max(0, free.f_bavail * free.f_frsize - (96 << 10)))
    return ballast


def test_a_full_disk_stops_writing_and_nothing_is_lost_or_counted_twice_when_there_is_room_again(
    small_disk: Path, tmp_path: Path
) -> None:
    user = CubeUser(small_disk / "cube", Clock())
    try:
        user.install()
        logs = tmp_path / "logs"
        logs.mkdir()
        follower = LogFollower(
            user.cube.cuts, user.glob(logs, "*.log"), source=SOURCE, start=Start.BEGINNING
        )
        follower.poll(now_s=0.0)
        epoch = user.cube.cuts.begin_epoch(SOURCE)
        ballast: Path | None = fill(small_disk)
        refusals = line = 0
        for batch in range(BATCHES):
            with (logs / "a.log").open("ab") as log:
                for _ in range(400):
                    line += 1
                    log.write(b"%d\n" % line)
            stalled = follower.poll(now_s=float(batch)).stalled
            try:
                commit(user, epoch, batch)
            except DiskFull:
                stalled = "commit"
            if stalled and ballast is not None:
                refusals += 1
                if refusals > 5:
                    ballast.unlink()
                    ballast = None
        assert refusals > 5, "the disk was full for a while"
        assert follower.poll(now_s=1e6).is_clean
        commit(user, epoch, BATCHES)
        user.make_updates(0)
        table = user.cube.rows(QUERY, 0, ((1, 1),))
        counted = Counter(dict(zip(table["page"].to_pylist(), table["n"].to_pylist(), strict=True)))
        assert counted == Counter(str(n) for n in range(1, line + 1))
        follower.close()
    finally:
        user.cube.close()


def commit(user: CubeUser, epoch: int, batch: int) -> None:
    chunks = user.cube.cuts.pending(SOURCE)
    if chunks:
        lines = [text for chunk in chunks for text in chunk.path.read_text().split()]
        user.cube.commit_batch(
            Batch(SOURCE, epoch, batch, chunks[-1].cut), gave(*((0, text, 1) for text in lines))
        )
