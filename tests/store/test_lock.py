"""One agent a directory."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import AlreadyRunning, DiskFull
from headwater.store.lock import DirectoryLock

HOLDER = """
import sys, time
from pathlib import Path
from headwater.store.lock import DirectoryLock
DirectoryLock.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_agent_is_refused_and_told_who_holds_the_directory(tmp_path: Path) -> None:
    with DirectoryLock.take(tmp_path), pytest.raises(AlreadyRunning, match=str(os.getpid())):
        DirectoryLock.take(tmp_path)


def test_a_released_directory_can_be_taken_again(tmp_path: Path) -> None:
    DirectoryLock.take(tmp_path).release()
    DirectoryLock.take(tmp_path).release()


def test_a_killed_holder_leaves_no_lock_behind(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunning, match=str(holder.pid)):
            DirectoryLock.take(tmp_path)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    DirectoryLock.take(tmp_path).release()


@pytest.mark.parametrize("call", ["pwrite", "ftruncate"])
def test_a_disk_that_refuses_the_number_refuses_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """It is for people; the lock holds without it, and is let go of as usual."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, refuse)
    with DirectoryLock.take(tmp_path), pytest.raises(AlreadyRunning, match="process unknown"):
        DirectoryLock.take(tmp_path)
    DirectoryLock.take(tmp_path).release()


def test_a_directory_that_can_not_be_made_on_a_full_disk_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DiskFull, match="locking"):
        DirectoryLock.take(tmp_path / "agent")
