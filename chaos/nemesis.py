"""What goes wrong, drawn from a seed: acts of one or two faults, each with its end.

An act strikes, holds, heals and pauses. A *patient* act first waits until all agents are at work;
the others strike whatever they meet, which may well be an agent that is still starting.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from chaos.links import Way
from chaos.places import AGENTS, DATA_SITES, LINKS
from chaos.small_disk import SmallDisk

if TYPE_CHECKING:
    from chaos.federation import Agents


class Kind(StrEnum):
    KILL = "kill"
    """The agent alone; its JVM notices and ends."""
    KILL_WITH_JVM = "kill with JVM"
    KILL_JVM = "kill JVM"
    """The agent shall notice and end, to be started again."""
    FORGET_CHECKPOINT = "kill and delete checkpoint"
    PAUSE = "pause"
    CUT = "cut"
    STALL = "stall"
    STALL_IN = "stall in"
    STALL_OUT = "stall out"
    FILL_DISK = "fill disk"


KILLS = (Kind.KILL, Kind.KILL_WITH_JVM, Kind.KILL_JVM, Kind.FORGET_CHECKPOINT)
LINK_TROUBLES = (Kind.CUT, Kind.STALL, Kind.STALL_IN, Kind.STALL_OUT)
HOLD_S, PAUSE_S = (1.0, 8.0), (2.0, 12.0)
FULL_HOLD_S = (6.0, 15.0)
"""A disk stays full long enough for every store to run into it."""
SECOND_CHANCE = 0.3
"""That an act has a second fault, elsewhere."""
PATIENT_CHANCE = 0.7


@dataclass(frozen=True)
class Fault:
    kind: Kind
    target: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


@dataclass(frozen=True)
class Act:
    faults: tuple[Fault, ...]
    hold_s: float
    pause_s: float
    is_patient: bool = True
    """Strikes only when all agents are ready."""

    def __str__(self) -> str:
        return " and ".join(map(str, self.faults)) + f" for {self.hold_s:.1f} s"


def draw_acts(*, kills: int, seed: int, disks: Sequence[str]) -> tuple[Act, ...]:
    """Acts with exactly so many kills; the same seed gives the same acts.

    ``disks`` are the agents whose disks can be filled.
    """
    chance = random.Random(seed)
    firsts = [_draw_kill(chance, number) for number in range(kills)]
    others = [_draw_trouble(chance, number, disks) for number in range(kills // 2)]
    first_faults = firsts + others
    chance.shuffle(first_faults)
    return tuple(_draw_act(chance, fault) for fault in first_faults)


def _draw_kill(chance: random.Random, number: int) -> Fault:
    """Each agent in turn, so that a few kills meet all of them."""
    target = AGENTS[number % len(AGENTS)]
    kinds = KILLS if target in DATA_SITES else (Kind.KILL,)
    return Fault(chance.choice(kinds), target)


def _draw_trouble(chance: random.Random, number: int, disks: Sequence[str]) -> Fault:
    kinds = [*([Kind.FILL_DISK] if disks else []), *LINK_TROUBLES, Kind.PAUSE]
    kind = kinds[number % len(kinds)]
    if kind is Kind.FILL_DISK:
        return Fault(kind, chance.choice(disks))
    return Fault(kind, chance.choice(LINKS if kind in LINK_TROUBLES else AGENTS))


def _draw_act(chance: random.Random, fault: Fault) -> Act:
    faults = [fault]
    if chance.random() < SECOND_CHANCE:
        link = chance.choice([name for name in LINKS if name != fault.target])
        faults.append(Fault(chance.choice(LINK_TROUBLES), link))
    return Act(
        tuple(faults),
        hold_s=chance.uniform(*(FULL_HOLD_S if fault.kind is Kind.FILL_DISK else HOLD_S)),
        pause_s=chance.uniform(*PAUSE_S),
        is_patient=chance.random() < PATIENT_CHANCE,
    )


@dataclass
class Nemesis:
    """Performs acts, and counts what really struck."""

    agents: Agents
    disks: Mapping[str, SmallDisk]
    say: Callable[[str], None]
    struck: Counter[Kind] = field(default_factory=Counter)
    killed_at_work: int = 0
    """Kills that met an agent that was ready."""
    failures: list[str] = field(default_factory=list)
    """Agents that did not do what they should have done by themselves."""

    def perform(self, acts: Sequence[Act], *, between: Callable[[], None]) -> None:
        """``between`` is called after each act, to look at the answers so far."""
        for number, act in enumerate(acts, start=1):
            if act.is_patient:
                self.agents.await_all_ready()
            self.say(f"{number} of {len(acts)}: {act}")
            for fault in act.faults:
                self._strike(fault)
            time.sleep(act.hold_s)
            for fault in act.faults:
                self._heal(fault)
            time.sleep(act.pause_s)
            between()

    @property
    def kill_count(self) -> int:
        return sum(self.struck[kind] for kind in KILLS)

    def _strike(self, fault: Fault) -> None:
        agents, target = self.agents, fault.target
        if fault.kind is Kind.CUT:
            agents.links.cut(target)
        elif fault.kind in LINK_TROUBLES:
            ways = {Kind.STALL_IN: (Way.IN,), Kind.STALL_OUT: (Way.OUT,)}
            agents.links.stall(target, *ways.get(fault.kind, ()))
        elif fault.kind is Kind.FILL_DISK:
            self.disks[target].fill()
        else:
            self._strike_agent(fault)
        self.struck[fault.kind] += 1

    def _strike_agent(self, fault: Fault) -> None:
        agents, target = self.agents, fault.target
        if not agents.is_running(target):
            agents.start(target)
        self.killed_at_work += fault.kind in KILLS and agents.is_ready(target)
        if fault.kind is Kind.PAUSE:
            agents.pause(target)
        elif fault.kind is Kind.KILL_JVM:
            self._strike_jvm(target)
        else:
            agents.kill(target, with_jvm=fault.kind is not Kind.KILL)
            if fault.kind is Kind.FORGET_CHECKPOINT:
                agents.forget_checkpoint(target)

    def _strike_jvm(self, target: str) -> None:
        self.agents.await_ready(target)
        self.agents.kill_jvm(target)
        if not self.agents.await_end(target):
            self.failures.append(f"{target} went on without its JVM and did not end")
            self.agents.kill(target)

    def _heal(self, fault: Fault) -> None:
        if fault.kind in LINK_TROUBLES:
            self.agents.links.heal(fault.target)
        elif fault.kind is Kind.FILL_DISK:
            self.disks[fault.target].free()
        elif fault.kind is Kind.PAUSE:
            self.agents.unpause(fault.target)
        if not self.agents.is_running(fault.target):
            self.agents.start(fault.target)
