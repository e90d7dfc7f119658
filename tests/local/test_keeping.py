"""Agents that end are started again, with a pause that grows, until somebody interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headwater.errors import HeadwaterError
from headwater.local import keeping, up
from headwater.local.keeping import PAUSE_S_MAX, WELL_AFTER_S, Begin, Ended, Keeper
from headwater.local.local_processes import running


def test_an_agent_that_ends_at_once_is_started_ever_more_seldom() -> None:
    keeper, now_s, pauses = Keeper(["fra"]), 0.0, []
    for _ in range(9):
        (ended,) = keeper.look([], now_s=now_s)
        assert isinstance(ended, Ended)
        assert list(keeper.look([], now_s=now_s + ended.pause_s - 0.01)) == [], "not yet"
        now_s += ended.pause_s
        assert list(keeper.look([], now_s=now_s)) == [Begin("fra")]
        pauses.append(ended.pause_s)
    assert pauses == [1, 2, 4, 8, 16, 32, PAUSE_S_MAX, PAUSE_S_MAX, PAUSE_S_MAX]


def test_who_has_run_for_long_is_started_again_soon() -> None:
    keeper = Keeper(["fra"])
    for now_s in (0.0, 10.0, 20.0):
        list(keeper.look([], now_s=now_s))
        list(keeper.look([], now_s=now_s + 9.0))
    assert list(keeper.look(["fra"], now_s=30.0)) == []
    assert list(keeper.look(["fra"], now_s=29.0 + WELL_AFTER_S)) == []
    assert list(keeper.look([], now_s=30.0 + WELL_AFTER_S)) == [Ended("fra", 1.0)]


def test_who_was_started_by_somebody_else_meanwhile_is_not_started_twice() -> None:
    keeper = Keeper(["fra", "lhr"])
    assert list(keeper.look(["lhr"], now_s=0.0)) == [Ended("fra", 1.0)]
    assert list(keeper.look(["lhr", "fra"], now_s=0.5)) == []
    assert list(keeper.look(["lhr", "fra"], now_s=5.0)) == []


def test_how_a_child_ended_is_told_by_its_signal_or_its_code() -> None:
    waits = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    waits.send_signal(signal.SIGKILL)
    ends = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    for child, told in ((waits, "was ended by SIGKILL"), (ends, "ended with exit code 7")):
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert keeping._how_it_ended(child.pid) == told
        assert keeping._how_it_ended(child.pid) == "ended", "nobody knows it any more"
        child.wait()


class StandIns:
    """Processes that wait in place of agents; the first look is interrupted after some."""

    def __init__(self) -> None:
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def spawn(self, directory: Path, name: str) -> subprocess.Popen[bytes]:
        waits = [sys.executable, "-c", "import signal; signal.pause()"]
        process = self.started[name] = subprocess.Popen(waits)
        (directory / name / "state").mkdir(exist_ok=True)
        (directory / name / "state" / "ready").write_text(f"{process.pid}\n")
        return process


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIns]:
    made = StandIns()
    monkeypatch.setattr(up, "spawn_agent", made.spawn)
    yield made
    for process in made.started.values():
        process.kill()
        process.wait()


def looks(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], None]) -> None:
    """What happens between looks, in virtual time; then somebody presses Ctrl-C."""
    clock, waiting = [0.0], list(steps)

    def sleep(_: float) -> None:
        clock[0] += 1.0
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    clock_of_keeping = SimpleNamespace(sleep=sleep, monotonic=lambda: clock[0])
    monkeypatch.setattr(keeping, "time", clock_of_keeping)  # other threads keep their own


def test_watching_brings_back_who_ended_and_says_what_goes_on(
    tmp_path: Path, agents: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "fed"
    up.lay_out(directory, site_count=2)
    first = dict(up.start(directory, say=lambda _: None).pids)
    said: list[str] = []

    def kill() -> None:
        agents.started["site2"].send_signal(signal.SIGKILL)
        agents.started["site2"].wait()

    looks(monkeypatch, kill, lambda: None)
    keeping.keep(directory, say=said.append)
    second = running(directory).pids
    assert second["site1"] == first["site1"]
    assert second["site2"] == agents.started["site2"].pid != first["site2"]
    assert said[0] == "watching 2 agents; Ctrl-C ends watching, and they go on"
    assert said[1].startswith(f"site2 ended (process {first['site2']}); it is started again in 1 s")
    assert said[2] == f"site2 is started (process {second['site2']})"
    assert said[3] == f"no longer watching; 2 agents go on; stop with: headwater down {directory}"


def test_one_at_a_time_watches(
    tmp_path: Path, agents: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "fed"
    up.lay_out(directory, site_count=1)
    up.start(directory, say=lambda _: None)

    def second() -> None:
        with pytest.raises(HeadwaterError, match="watches its agents already"):
            keeping.keep(directory, say=lambda _: None)

    looks(monkeypatch, second)
    keeping.keep(directory, say=lambda _: None)


WATCHES = """
import sys, time, pathlib
from headwater.local import keeping
from headwater.cli.ending import ends_in_order
with ends_in_order():
    keeping.keep(pathlib.Path(sys.argv[1]), say=lambda text: print(text, flush=True))
"""


def test_down_ends_whoever_watches_before_it_stops_agents(tmp_path: Path, agents: StandIns) -> None:
    directory = tmp_path / "fed"
    up.lay_out(directory, site_count=1)
    up.start(directory, say=lambda _: None)
    command = [sys.executable, "-c", WATCHES, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline().startswith("watching 1 agents")
        said: list[str] = []
        keeping.end_watcher(directory, say=said.append)
        rest = watcher.stdout.read()
    assert said == [f"ended the process that watched them ({watcher.pid})"]
    assert "1 agent goes on" in rest
    assert watcher.returncode == 128 + signal.SIGTERM
    keeping.end_watcher(directory, say=pytest.fail)
