"""One agent a directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import AlreadyRunning
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
