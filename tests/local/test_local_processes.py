"""Which agents run: never by a number alone, and also those that nobody wrote down."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from headwater.local import local_processes, up
from headwater.local.local_processes import Running, begun_at, holder_of, lock_of, running

HOLDS = """
import sys, pathlib
from headwater.store.lock import DirectoryLock
lock = DirectoryLock.take(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


class Processes:
    def __init__(self) -> None:
        self._all: list[subprocess.Popen[str]] = []

    def holding(self, cube: Path) -> subprocess.Popen[str]:
        """As an agent that was started by hand: it has the lock of its state directory."""
        process = self._start([sys.executable, "-c", HOLDS, str(cube)])
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    def idle(self, *named: str) -> subprocess.Popen[str]:
        return self._start([sys.executable, "-c", "import sys; sys.stdin.read()", *named])

    def end(self, process: subprocess.Popen[str]) -> None:
        with process:
            process.kill()

    def end_all(self) -> None:
        for process in self._all:
            self.end(process)

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self._all.append(process)
        return process


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.end_all()


@pytest.fixture
def federation(tmp_path: Path) -> Path:
    up.lay_out(tmp_path / "fed", site_count=2)
    return tmp_path / "fed"


def test_an_agent_that_was_started_by_hand_is_found_and_stopped(
    federation: Path, processes: Processes
) -> None:
    agent = processes.holding(federation / "site2" / "state" / "cube")
    assert running(federation).pids == {"site2": agent.pid}
    said: list[str] = []
    up.stop(federation, say=said.append)
    assert agent.wait(120) < 0
    assert said == [f"stopping site2 (process {agent.pid})"]
    assert running(federation).pids == {}


def test_a_state_directory_elsewhere_is_looked_for_where_the_configuration_says(
    federation: Path, processes: Processes, tmp_path: Path
) -> None:
    config = federation / "site1" / "agent.toml"
    config.write_text(config.read_text().replace('"state"', f'"{tmp_path / "elsewhere"}"'))
    agent = processes.holding(tmp_path / "elsewhere" / "cube")
    assert running(federation).pids == {"site1": agent.pid}


def test_a_lock_that_a_killed_agent_left_names_nobody(
    federation: Path, processes: Processes
) -> None:
    """Its number may be another's by now."""
    lock = lock_of(federation, "site1")
    processes.end(processes.holding(lock.parent))
    assert running(federation).pids == {}
    lock.write_text(f"{processes.idle().pid}\n")
    assert holder_of(lock) is None
    assert running(federation).pids == {}


def test_a_process_that_took_over_the_number_of_an_agent_is_left_alone(
    federation: Path, processes: Processes
) -> None:
    """It looks like one of ours, and is not the one that was written down."""
    other = processes.idle("headwater", str(federation / "site1" / "agent.toml"))
    begun = begun_at(other.pid)
    assert begun is not None
    file = federation / local_processes.RUNNING_FILE
    file.write_bytes(msgspec.json.encode(Running({"site1": other.pid}, {"site1": begun - 1})))
    assert running(federation).pids == {}
    up.stop(federation, say=lambda _: None)
    assert other.poll() is None
    file.write_bytes(msgspec.json.encode(Running({"site1": other.pid}, {"site1": begun})))
    assert running(federation).pids == {"site1": other.pid}, "what was just started has no lock yet"


def test_what_a_version_before_wrote_down_is_known_by_its_command(
    federation: Path, processes: Processes
) -> None:
    agent = processes.idle(str(federation / "site1" / "agent.toml"))
    other = processes.idle(str(federation / "elsewhere" / "site2" / "agent.toml"))
    pids = {"site1": agent.pid, "site2": other.pid}
    (federation / local_processes.RUNNING_FILE).write_bytes(msgspec.json.encode({"pids": pids}))
    assert running(federation).pids == {"site1": agent.pid}


def test_a_file_that_can_t_be_read_names_nobody(federation: Path) -> None:
    (federation / local_processes.RUNNING_FILE).write_text("{")
    assert running(federation).pids == {}
    (federation / "site1" / "agent.toml").write_text("not toml")
    assert running(federation).pids == {}


def test_we_are_alive_and_nobody_is_whose_number_is_free() -> None:
    assert local_processes.is_alive(os.getpid())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not local_processes.is_alive(ended.pid)
    assert begun_at(ended.pid) is None


def test_down_says_where_nothing_runs(federation: Path) -> None:
    said: list[str] = []
    up.stop(federation, say=said.append)
    assert said == [f"no agent of {federation} runs"]
