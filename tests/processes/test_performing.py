"""The nemesis at work on agents that only note what was done to them: what struck is counted, what
met nothing is said, and everything is healed in the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chaos import nemesis as module
from chaos.acts import Act, Fault, Kind
from chaos.failing_disk import Trouble
from chaos.nemesis import Nemesis
from chaos.places import CHURNED, RELAY, ROOT, SITE
from chaos.steps import Snare, Step, Trap, Victim

AT_COMMIT = Snare(Step.BEFORE_COMMIT, Victim.JVM)


class Clocks:
    def __init__(self, done: list[str]) -> None:
        self._done = done
        self.off: dict[str, float] = {}

    def set(self, name: str, by_s: float) -> None:
        if by_s != self.off.get(name, 0.0):
            self.off[name] = by_s
            self._done.append(f"clock {name} {by_s:+g}")

    def set_right(self) -> list[str]:
        wrong = [name for name, by_s in self.off.items() if by_s]
        for name in wrong:
            self.set(name, 0.0)
        return wrong


class Agents:
    """Springs a trap as soon as it is laid, where ``walks_into_traps``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.done: list[str] = []
        self.clocks = Clocks(self.done)
        self.links = self
        self.down: set[str] = set()
        self.may_end: set[str] = set()
        self.has_jvm = self.has_another_jvm = True
        self.walks_into_traps = True

    def __getattr__(self, name: str) -> Any:
        def noted(*arguments: object, **named: object) -> None:
            flags = [flag for flag, value in named.items() if value]
            self.done.append(" ".join(map(str, (name, *arguments, *flags))))

        return noted

    def await_ready(self, name: str) -> None:
        pass

    def await_all_ready(self) -> None:
        pass

    def is_running(self, name: str) -> bool:
        return name not in self.down

    def is_ready(self, name: str) -> bool:
        return name not in self.down

    def start(self, name: str) -> None:
        self.down.discard(name)
        self.done.append(f"start {name}")

    def kill(self, name: str, *, with_jvm: bool = False) -> None:
        self.down.add(name)
        self.done.append(f"kill {name}" + (" with_jvm" if with_jvm else ""))

    def jvms(self, name: str) -> list[int]:
        return [1] if self.has_jvm else []

    def kill_jvm(self, name: str) -> list[int]:
        return self.jvms(name)

    def pid(self, name: str) -> int:
        return 1

    def await_another_jvm(self, name: str, before: Sequence[int]) -> bool:
        assert list(before) == [1]
        return self.has_another_jvm

    def await_end(self, name: str) -> bool:
        self.down.add(name)
        return True

    def trap(self, name: str) -> Trap:
        trap = Trap(self.directory)
        if self.walks_into_traps:
            lay = trap.lay

            def lay_and_spring(snare: Snare) -> None:
                lay(snare)
                trap.spring()

            trap.lay = lay_and_spring  # type: ignore[method-assign]
        return trap


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return Agents(tmp_path)


@pytest.fixture
def nemesis(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> Nemesis:
    monkeypatch.setattr(module, "SPRUNG_S_MAX", 0.05)
    known: Any = agents
    return Nemesis(
        known, {}, say=lambda text: None, reinstall=lambda gap_s: agents.done.append("reinstall")
    )


def perform(nemesis: Nemesis, *faults: Fault) -> None:
    acts = [Act((fault,), hold_s=0.0, pause_s=0.0) for fault in faults]
    nemesis.perform(acts, between=lambda: None)


def test_a_step_of_a_clock_ends_with_its_act(nemesis: Nemesis, agents: Agents) -> None:
    perform(nemesis, Fault(Kind.STEP_CLOCK, SITE, by_s=60.0), Fault(Kind.CUT, ROOT))
    assert agents.done[:3] == [f"clock {SITE} +60", f"clock {SITE} +0", f"cut {ROOT}"]


def test_a_clock_that_was_set_stays_wrong_until_the_faults_are_over(
    nemesis: Nemesis, agents: Agents
) -> None:
    perform(nemesis, Fault(Kind.SET_CLOCK, ROOT, by_s=-9.0), Fault(Kind.CUT, RELAY))
    assert agents.done == [f"clock {ROOT} -9", f"cut {RELAY}", f"heal {RELAY}", f"clock {ROOT} +0"]


def test_a_clock_is_set_while_the_agent_is_down(nemesis: Nemesis, agents: Agents) -> None:
    perform(nemesis, Fault(Kind.RESTART_AT_OTHER_TIME, ROOT, by_s=9.0))
    wanted = [f"kill {ROOT} with_jvm", f"clock {ROOT} +9", f"start {ROOT}", f"clock {ROOT} +0"]
    assert agents.done == wanted
    assert nemesis.kill_count == nemesis.killed_at_work == 1


def test_clocks_are_right_also_after_an_act_that_failed(nemesis: Nemesis, agents: Agents) -> None:
    with pytest.raises(KeyError):
        perform(nemesis, Fault(Kind.SET_CLOCK, ROOT, by_s=9.0), Fault(Kind.FILL_DISK, SITE))
    assert agents.done[-1] == f"clock {ROOT} +0"


def test_a_trap_that_is_sprung_is_counted_at_its_step(nemesis: Nemesis, agents: Agents) -> None:
    perform(nemesis, Fault(Kind.KILL_AT_STEP, SITE, snare=AT_COMMIT))
    assert nemesis.steps == {Step.BEFORE_COMMIT: 1}
    assert nemesis.kill_count == 1
    assert nemesis.failures == nemesis.missed == []


def test_a_trap_that_nobody_walks_into_met_nothing_and_is_taken_away(
    nemesis: Nemesis, agents: Agents
) -> None:
    agents.walks_into_traps = False
    fault = Fault(Kind.KILL_AT_STEP, SITE, snare=AT_COMMIT)
    perform(nemesis, fault)
    assert nemesis.missed == [str(fault)]
    assert nemesis.kill_count == 0
    assert not nemesis.steps
    assert agents.trap(SITE).laid() is None


@pytest.mark.parametrize(
    "fault", [Fault(Kind.KILL_AT_STEP, SITE, snare=AT_COMMIT), Fault(Kind.KILL_JVM, SITE)], ids=str
)
def test_an_agent_that_stays_without_a_jvm_is_a_failure_and_started_again(
    nemesis: Nemesis, agents: Agents, fault: Fault
) -> None:
    agents.has_another_jvm = False
    perform(nemesis, fault)
    assert "without its JVM" in nemesis.failures[0]
    assert agents.done[-2:] == [f"kill {SITE}", f"start {SITE}"]


def test_who_has_no_jvm_at_the_moment_loses_none(nemesis: Nemesis, agents: Agents) -> None:
    agents.has_jvm = agents.has_another_jvm = False
    fault = Fault(Kind.KILL_JVM, SITE)
    perform(nemesis, fault)
    assert nemesis.missed == [str(fault)]
    assert not nemesis.failures


def test_who_loses_its_jvm_may_end_until_all_are_at_work_again(
    nemesis: Nemesis, agents: Agents
) -> None:
    perform(nemesis, Fault(Kind.KILL_JVM, SITE))
    assert agents.may_end == {SITE}
    perform(nemesis, Fault(Kind.SET_CLOCK, ROOT, by_s=9.0), Fault(Kind.PAUSE, RELAY))
    assert agents.may_end == set()


def test_an_agent_that_was_killed_at_a_step_is_started_again(
    nemesis: Nemesis, agents: Agents
) -> None:
    snare = Snare(Step.IN_SPARK, Victim.AGENT)
    perform(nemesis, Fault(Kind.KILL_AT_STEP, SITE, snare=snare))
    assert agents.done == [f"start {SITE}"]


@pytest.mark.parametrize(
    ("kind", "stopped"),
    [(Kind.PAUSE, "is_agent"), (Kind.PAUSE_JVM, "is_jvm"), (Kind.FREEZE, "is_agent is_jvm")],
)
def test_who_is_stopped_goes_on(nemesis: Nemesis, agents: Agents, kind: Kind, stopped: str) -> None:
    perform(nemesis, Fault(kind, SITE))
    assert agents.done == [f"pause {SITE} {stopped}", f"unpause {SITE}"]


def test_a_stream_is_installed_again_with_a_right_clock_at_the_root(
    nemesis: Nemesis, agents: Agents
) -> None:
    faults = (Fault(Kind.SET_CLOCK, ROOT, by_s=9.0), Fault(Kind.REINSTALL, CHURNED, times=2))
    perform(nemesis, *faults)
    assert agents.done[1:] == [f"clock {ROOT} +0", "reinstall", "reinstall"]
    assert nemesis.struck[Kind.REINSTALL] == 1


class FakeDisk:
    failed = 0

    def end(self) -> int:
        return self.failed


@pytest.mark.parametrize(("failed", "struck"), [(0, 0), (3, 1)])
def test_a_failing_disk_counts_where_a_call_failed(
    nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch, failed: int, struck: int
) -> None:
    disk = FakeDisk()
    disk.failed = failed
    monkeypatch.setattr(module.FailingDisk, "begin", lambda *_: disk)
    perform(nemesis, Fault(Kind.FAIL_DISK, SITE, trouble=Trouble.LIST))
    assert nemesis.struck[Kind.FAIL_DISK] == struck
    assert len(nemesis.missed) == 1 - struck


def test_the_hogs_end_with_their_act(nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    class FakeHogs:
        def end(self) -> None:
            ended.append("hogs")

    monkeypatch.setattr(module, "Hogs", FakeHogs)
    perform(nemesis, Fault(Kind.HOG, "machine"))
    assert ended == ["hogs"]
