"""Performs acts on real agents, and counts what really struck."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.acts import CLOCK_TROUBLES, GROUPS, KILLS, LINK_TROUBLES, Act, Fault, Kind
from chaos.failing_disk import FailingDisk
from chaos.links import Way
from chaos.overload import Hogs
from chaos.places import AGENTS, ROOT
from chaos.small_disk import SmallDisk
from chaos.steps import Step, Victim

if TYPE_CHECKING:
    from chaos.federation import Agents

SPRUNG_S_MAX = 45.0
"""How long a trap waits for its step. A batch comes every second or two, but the first one of a
Spark that has just started can take half a minute on a busy machine."""
LOOK_EVERY_S = 0.02
WAYS = {Kind.STALL: (), Kind.STALL_IN: (Way.IN,), Kind.STALL_OUT: (Way.OUT,)}


@dataclass
class Nemesis:
    agents: Agents
    disks: Mapping[str, SmallDisk]
    say: Callable[[str], None]
    reinstall: Callable[[float], None] = lambda gap_s: None
    """Removes and installs the stream that comes and goes."""
    struck: Counter[Kind] = field(default_factory=Counter)
    steps: Counter[Step] = field(default_factory=Counter)
    """At which steps a trap was sprung."""
    killed_at_work: int = 0
    """Kills that met an agent that was ready."""
    failures: list[str] = field(default_factory=list)
    """Agents that did not do what they should have done by themselves."""
    missed: list[str] = field(default_factory=list)
    """Faults that met nothing."""
    _failing: dict[str, FailingDisk] = field(default_factory=dict)
    _hogs: Hogs | None = None

    def perform(self, acts: Sequence[Act], *, between: Callable[[], None]) -> None:
        """``between`` is called after each act, to look at the answers so far."""
        try:
            for number, act in enumerate(acts, start=1):
                if act.is_patient:
                    self.agents.await_all_ready()
                    self.agents.may_end.clear()
                self.say(f"{number} of {len(acts)}: {act}")
                self._perform(act)
                between()
        finally:
            self._end_all()

    def _perform(self, act: Act) -> None:
        for fault in act.faults:
            self._strike(fault)
        time.sleep(act.hold_s)
        for fault in act.faults:
            self._heal(fault)
        time.sleep(act.pause_s)

    @property
    def kill_count(self) -> int:
        return sum(self.struck[kind] for kind in KILLS)

    def _strike(self, fault: Fault) -> None:
        agents, target = self.agents, fault.target
        if fault.kind is Kind.CUT:
            agents.links.cut(target)
        elif fault.kind in LINK_TROUBLES:
            agents.links.stall(target, *WAYS[fault.kind])
        elif fault.kind is Kind.FILL_DISK:
            self.disks[target].fill()
        elif fault.kind is Kind.HOG:
            self._hogs = Hogs()
        elif fault.kind is Kind.REINSTALL:
            self._strike_stream(fault)
        elif not self._strike_agent(fault):
            self.missed.append(str(fault))
            return
        self.struck[fault.kind] += 1

    def _strike_stream(self, fault: Fault) -> None:
        """With a right clock at the root, for the begin of a query is told by it."""
        if self.agents.clocks is not None:
            self.agents.clocks.set(ROOT, 0.0)
        self.agents.await_all_ready()
        for _ in range(fault.times):
            self.reinstall(fault.by_s)

    def _strike_agent(self, fault: Fault) -> bool:
        """Whether the fault met its target."""
        agents, target = self.agents, fault.target
        if not agents.is_running(target):
            agents.start(target)
        self.killed_at_work += fault.kind in KILLS and agents.is_ready(target)
        if fault.kind is Kind.KILL_AT_STEP:
            return self._strike_at_step(fault)
        if fault.kind is Kind.KILL_JVM:
            return self._strike_jvm(target)
        if fault.kind in CLOCK_TROUBLES:
            self._strike_clock(fault)
        elif fault.kind is Kind.FAIL_DISK:
            return self._strike_disk(fault)
        elif fault.kind in GROUPS["overload"]:
            agents.pause(
                target,
                is_agent=fault.kind is not Kind.PAUSE_JVM,
                is_jvm=fault.kind is not Kind.PAUSE,
            )
        else:
            agents.kill(target, with_jvm=fault.kind is not Kind.KILL)
            if fault.kind is Kind.FORGET_CHECKPOINT:
                agents.forget_checkpoint(target)
        return True

    def _strike_jvm(self, target: str) -> bool:
        """An agent whose JVM has died is ready: there may be none now, or one that is starting."""
        self.agents.await_ready(target)
        before = self.agents.kill_jvm(target)
        if before:
            self._await_another_jvm(target, before)
        return bool(before)

    def _await_another_jvm(self, target: str, before: Sequence[int]) -> None:
        self.agents.may_end.add(target)
        if not self.agents.await_another_jvm(target, before):
            self.failures.append(f"{target} went on without its JVM: no other one, and no end")
            self.agents.kill(target)

    def _strike_at_step(self, fault: Fault) -> bool:
        """The agent strikes itself; we wait for that, and for what must follow from it."""
        target, snare = fault.target, fault.snare
        assert snare is not None, "drawn with the kind"
        self.agents.await_all_ready()
        before, trap = self.agents.jvms(target), self.agents.trap(target)
        trap.lay(snare)
        deadline_s = time.monotonic() + SPRUNG_S_MAX
        while not trap.is_sprung and time.monotonic() < deadline_s:
            time.sleep(LOOK_EVERY_S)
        trap.take_away()
        if not trap.is_sprung:
            return False
        self.steps[snare.step] += 1
        if snare.victim is Victim.JVM:
            self._await_another_jvm(target, before)
        elif not self.agents.await_end(target):
            self.failures.append(f"{target} outlived its own SIGKILL")
        return True

    def _strike_clock(self, fault: Fault) -> None:
        clocks = self.agents.clocks
        assert clocks is not None, "drawn only where there are clocks to step"
        if fault.kind is Kind.RESTART_AT_OTHER_TIME:
            self.agents.kill(fault.target, with_jvm=True)
        clocks.set(fault.target, fault.by_s)

    def _strike_disk(self, fault: Fault) -> bool:
        assert fault.trouble is not None, "drawn with the kind"
        record = self.agents.directory / fault.target / "failed-calls"
        found = FailingDisk.begin(self.agents.pid(fault.target), fault.trouble, record)
        if isinstance(found, str):
            self.say(found)
            return False
        self._failing[fault.target] = found
        self.agents.may_end.add(fault.target)
        return True

    def _heal(self, fault: Fault) -> None:
        target = fault.target
        if fault.kind in LINK_TROUBLES:
            self.agents.links.heal(target)
        elif fault.kind is Kind.FILL_DISK:
            self.disks[target].free()
        elif fault.kind is Kind.FAIL_DISK:
            self._mend_disk(fault)
        elif fault.kind is Kind.HOG:
            self._end_hogs()
        elif fault.kind is Kind.STEP_CLOCK and self.agents.clocks is not None:
            self.agents.clocks.set(target, 0.0)
        elif fault.kind in GROUPS["overload"]:
            self.agents.unpause(target)
        if target in AGENTS and not self.agents.is_running(target):
            self.agents.start(target)

    def _mend_disk(self, fault: Fault) -> None:
        failing = self._failing.pop(fault.target, None)
        if failing is None:
            return
        failed = failing.end()
        self.say(f"{fault}: {failed} calls failed")
        if not failed:
            self.struck[fault.kind] -= 1
            self.missed.append(str(fault))

    def _end_hogs(self) -> None:
        if self._hogs is not None:
            self._hogs.end()
            self._hogs = None

    def _end_all(self) -> None:
        """Also after a failure in the middle of an act; clocks that stay wrong are set right."""
        self._end_hogs()
        for failing in self._failing.values():
            failing.end()
        self._failing.clear()
        if self.agents.clocks is not None:
            for name in self.agents.clocks.set_right():
                self.say(f"the clock of {name} is set right")
