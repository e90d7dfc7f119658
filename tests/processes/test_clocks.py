"""A process whose wall clock is stepped while it runs, and whose steady clock is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chaos.clocks import Clocks

TOLERANCE_S = 30.0
SEEN_S_MAX = 120.0
CODE = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


@pytest.fixture
def clocks(tmp_path: Path) -> Clocks:
    """Skipped where there is no library; one that is there must do what is wanted."""
    found = Clocks.find(tmp_path / "clocks")
    if isinstance(found, str) and ("not installed" in found or "no library" in found):
        pytest.skip(found)
    assert isinstance(found, Clocks), found
    return found


class Told:
    """A process that says its clocks when asked, as (wall, steady) less our own."""

    def __init__(self, clocks: Clocks, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", CODE],
            env={**os.environ, **clocks.environment(name)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def off_s(self) -> tuple[float, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        wall_s, steady_s = map(float, self._process.stdout.readline().split())
        return wall_s - time.time(), steady_s - time.monotonic()

    def sees(self, by_s: float) -> bool:
        """Soon."""
        deadline_s = time.monotonic() + SEEN_S_MAX
        while time.monotonic() < deadline_s:
            wall_s, steady_s = self.off_s()
            assert abs(steady_s) < TOLERANCE_S
            if abs(wall_s - by_s) < TOLERANCE_S:
                return True
            time.sleep(0.1)
        return False

    def end(self) -> None:
        self._process.communicate("")


def test_a_clock_is_stepped_both_ways_while_the_process_runs(clocks: Clocks) -> None:
    told = Told(clocks, "site1")
    try:
        for by_s in (0.0, 3_600.0, -86_400.0, 86_400.0, 0.0):
            clocks.set("site1", by_s)
            assert told.sees(by_s)
    finally:
        told.end()


def test_a_process_that_starts_with_another_clock_has_it_at_once(clocks: Clocks) -> None:
    clocks.set("site1", -7_200.0)
    told = Told(clocks, "site1")
    try:
        wall_s, _ = told.off_s()
        assert abs(wall_s + 7_200.0) < TOLERANCE_S
    finally:
        told.end()


def test_each_agent_has_a_clock_of_its_own(clocks: Clocks) -> None:
    clocks.set("site1", 3_600.0)
    told = Told(clocks, "site2")
    try:
        assert abs(told.off_s()[0]) < TOLERANCE_S
    finally:
        told.end()


def test_every_step_is_told_and_in_the_end_all_are_right(clocks: Clocks) -> None:
    heard: list[tuple[str, float]] = []
    clocks.heard = lambda name, by_s: heard.append((name, by_s))
    clocks.set("site1", 60.0)
    clocks.set("site2", -60.0)
    clocks.set("site2", 0.0)
    assert clocks.set_right() == ["site1"]
    assert clocks.set_right() == []
    assert heard == [("site1", 60.0), ("site2", -60.0), ("site2", 0.0), ("site1", 0.0)]


def test_without_the_library_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "not installed" in str(Clocks.find(tmp_path))
