"""What a look at a source does not read is named, and all of it is counted."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from store_kit import SOURCE, CubeUser

from headwater.store.disk import Disk
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.listing import Glob
from headwater.store.follow.poll import REFUSED_SHOWN_MAX
from headwater.store.input.finite import FiniteInput

Open = Callable[..., CubeUser]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A pipe, a socket, two directories, a file that can't be expanded, and one to read."""
    directory = tmp_path / "logs"
    (directory / "folder.log").mkdir(parents=True)
    (directory / "folder.log" / "inside.log").write_text("1\n")
    os.mkfifo(directory / "pipe.log")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(directory / "socket.log"))
    (directory / "packed.log.zip").write_bytes(b"?")
    (directory / "a.log").write_text("1\n")
    return directory


def refused(directory: Path, pattern: str) -> dict[str, str]:
    found = Glob(directory, pattern, disk=Disk()).look().refused
    return {str(Path(path).relative_to(directory)): reason for path, reason in found.items()}


def test_what_is_no_file_is_named_with_its_reason(logs: Path) -> None:
    found = refused(logs, "*.log*")
    assert sorted(found) == ["folder.log", "packed.log.zip", "pipe.log", "socket.log"]
    assert found["folder.log"].startswith("a directory, and the path names files")
    assert found["pipe.log"].startswith("not a regular file")
    assert found["socket.log"].startswith("not a regular file")


def test_a_directory_whose_files_are_read_is_not_named(logs: Path) -> None:
    assert sorted(refused(logs, "**/*.log")) == ["pipe.log", "socket.log"]


def test_a_follower_counts_all_that_it_does_not_read(open_cube: Open, logs: Path) -> None:
    for number in range(REFUSED_SHOWN_MAX + 7):
        (logs / f"old{number}.log.lz4").write_bytes(b"?")
    user = open_cube()
    poll = LogFollower(user.cube.cuts, user.glob(logs, "*.log*"), source=SOURCE).poll(now_s=5.0)
    assert len(poll.refused) == REFUSED_SHOWN_MAX
    assert poll.refused_count == REFUSED_SHOWN_MAX + 7 + 4


def test_a_finite_input_says_what_it_left_alone_for_as_long_as_it_lasts(
    open_cube: Open, logs: Path
) -> None:
    """It looks at its directory once; that the second poll finds nothing to refuse is no news."""
    user = open_cube()
    source = FiniteInput(user.cube.cuts, user.glob(logs, "*.log*"), source=SOURCE)
    first, second = source.poll(now_s=5.0), source.poll(now_s=6.0)
    assert first.refused_count == second.refused_count == 4
    assert second.refused == first.refused
