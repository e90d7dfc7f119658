"""What goes wrong, drawn from a seed: acts of one or two faults, each with its end.

An act strikes, holds, heals and pauses. A *patient* act first waits until all agents are at work;
the others strike whatever they meet, which may well be an agent that is still starting. Kinds of
faults come in groups, which can be chosen; groups take turns. Kinds, targets, steps and troubles
are dealt like cards, all before any comes again, so that a few acts meet many of them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from chaos.failing_disk import Trouble
from chaos.places import AGENTS, CHURNED, DATA_SITES, LINKS, MACHINE, ROOT
from chaos.steps import ROOT_STEPS, SITE_STEPS, Snare, Step, Victim

T = TypeVar("T")


class Kind(StrEnum):
    KILL = "kill"
    """The agent alone; its JVM notices and ends."""
    KILL_WITH_JVM = "kill with JVM"
    KILL_JVM = "kill JVM"
    """The agent shall notice, and have another one soon or end, to be started again."""
    FORGET_CHECKPOINT = "kill and delete checkpoint"
    KILL_AT_STEP = "kill at a step"
    """The JVM, alone or with the agent, at one step of a batch or of an answer."""
    CUT = "cut"
    STALL = "stall"
    STALL_IN = "stall in"
    STALL_OUT = "stall out"
    STEP_CLOCK = "step clock"
    """And back when the act ends."""
    SET_CLOCK = "set clock"
    """It stays wrong until the faults are over."""
    RESTART_AT_OTHER_TIME = "restart with another clock"
    """Killed, and started again with a clock that stays wrong until the faults are over."""
    FILL_DISK = "fill disk"
    FAIL_DISK = "failing disk"
    PAUSE = "pause"
    """The agent stands still; its JVM does not."""
    PAUSE_JVM = "pause JVM"
    FREEZE = "freeze"
    """Both, as when a machine is suspended."""
    HOG = "hog"
    """Everybody gets a share of the processors."""
    REINSTALL = "remove and install"
    """One after the other, in less than the host's look at its streams."""


GROUPS: Mapping[str, tuple[Kind, ...]] = {
    "kill": (Kind.KILL, Kind.KILL_WITH_JVM, Kind.KILL_JVM, Kind.FORGET_CHECKPOINT),
    "step": (Kind.KILL_AT_STEP,),
    "link": (Kind.CUT, Kind.STALL, Kind.STALL_IN, Kind.STALL_OUT),
    "clock": (Kind.STEP_CLOCK, Kind.SET_CLOCK, Kind.RESTART_AT_OTHER_TIME),
    "disk": (Kind.FILL_DISK, Kind.FAIL_DISK),
    "overload": (Kind.PAUSE, Kind.FREEZE, Kind.HOG, Kind.PAUSE_JVM),
    "reinstall": (Kind.REINSTALL,),
}
KILLS = (*GROUPS["kill"], *GROUPS["step"], Kind.RESTART_AT_OTHER_TIME)
LINK_TROUBLES = GROUPS["link"]
CLOCK_TROUBLES = GROUPS["clock"]
OF_JVM = (Kind.KILL_WITH_JVM, Kind.KILL_JVM, Kind.FORGET_CHECKPOINT, Kind.PAUSE_JVM)
"""Kinds that need a target with a JVM."""

HOLD_S, PAUSE_S = (1.0, 6.0), (1.0, 6.0)
DISK_HOLD_S = (4.0, 10.0)
"""A disk stays full, or fails, long enough for every store to run into it."""
CLOCK_HOLD_S = (3.0, 10.0)
"""Longer than an agent may take to see the step."""
STILL_S = (2.0, 60.0)
"""How long somebody stands still; short ones are drawn as often as ones that are twice as long."""
CLOCK_STEP_S = (2.0, 86_400.0)
"""How far a clock is set ahead or back, drawn in the same way: seconds as often as hours."""
REINSTALL_GAP_S = (0.0, 0.25)
REINSTALL_TIMES = (1, 3)
AMBUSH_S = (0.005, 0.06)
"""How long Spark has been at work when it is killed; a small batch takes a few tenths."""
SECOND_CHANCE = 0.3
"""That an act has a second fault, on a link elsewhere."""
PATIENT_CHANCE = 0.7
JVM_ALONE_CHANCE = 0.6


@dataclass(frozen=True)
class Fault:
    kind: Kind
    target: str
    by_s: float = 0.0
    """How far a clock is set ahead; how long nothing is installed between removing and installing.
    """
    times: int = 1
    snare: Snare | None = None
    trouble: Trouble | None = None

    def __str__(self) -> str:
        text = f"{self.kind} {self.target}"
        if self.kind in CLOCK_TROUBLES:
            text += f" by {self.by_s:+.0f} s"
        if self.kind is Kind.REINSTALL:
            text += f" {self.times} times, {self.by_s * 1e3:.0f} ms apart"
        if self.snare is not None:
            text += f" ({self.snare.victim}) {self.snare.step}"
        return text if self.trouble is None else f"{text}: {self.trouble}"


@dataclass(frozen=True)
class Act:
    faults: tuple[Fault, ...]
    hold_s: float
    pause_s: float
    is_patient: bool = True
    """Strikes only when all agents are ready."""

    def __str__(self) -> str:
        return " and ".join(map(str, self.faults)) + f" for {self.hold_s:.1f} s"


def draw_acts(
    *, groups: Sequence[str], count: int, seed: int, without: Collection[Kind] = ()
) -> tuple[Act, ...]:
    """So many acts; the same seed gives the same ones.

    ``without`` are kinds that this machine can't have.
    """
    chance = random.Random(seed)
    able = {name: [kind for kind in GROUPS[name] if kind not in without] for name in groups}
    turns = [_Turn(chance, kinds) for kinds in able.values() if kinds]
    if not turns:
        return ()
    faults = [turns[number % len(turns)].draw() for number in range(count)]
    chance.shuffle(faults)
    return tuple(_draw_act(chance, fault) for fault in faults)


class _Turn:
    """Draws faults of one group."""

    def __init__(self, chance: random.Random, kinds: Sequence[Kind]) -> None:
        self._chance = chance
        self._kinds = _dealt(chance, kinds)
        self._agents = _dealt(chance, AGENTS)
        self._data_sites = _dealt(chance, DATA_SITES)
        self._links = _dealt(chance, LINKS)
        self._steps = _dealt(chance, (*SITE_STEPS, *ROOT_STEPS))
        self._troubles = _dealt(chance, tuple(Trouble))

    def draw(self) -> Fault:
        kind, chance = next(self._kinds), self._chance
        if kind is Kind.REINSTALL:
            gap_s, times = chance.uniform(*REINSTALL_GAP_S), chance.randint(*REINSTALL_TIMES)
            return Fault(kind, CHURNED, by_s=gap_s, times=times)
        if kind is Kind.HOG:
            return Fault(kind, MACHINE)
        if kind in LINK_TROUBLES:
            return Fault(kind, next(self._links))
        if kind is Kind.KILL_AT_STEP:
            return self._at_step(next(self._steps))
        if kind in OF_JVM:
            return Fault(kind, next(self._data_sites))
        if kind in GROUPS["disk"]:  # not a relay's, which has next to nothing on it
            trouble = next(self._troubles) if kind is Kind.FAIL_DISK else None
            return Fault(kind, next(self._data_sites), trouble=trouble)
        target = next(self._agents)
        if kind in CLOCK_TROUBLES:
            by_s = _draw_evenly_by_size(chance, CLOCK_STEP_S)
            return Fault(kind, target, by_s=by_s * chance.choice((-1, 1)))
        return Fault(kind, target)

    def _at_step(self, step: Step) -> Fault:
        target = ROOT if step in ROOT_STEPS else next(self._data_sites)
        is_alone = self._chance.random() < JVM_ALONE_CHANCE
        victim = Victim.JVM if is_alone else Victim.AGENT
        snare = Snare(step, victim, round(self._chance.uniform(*AMBUSH_S), 4))
        return Fault(Kind.KILL_AT_STEP, target, snare=snare)


def _dealt(chance: random.Random, things: Sequence[T]) -> Iterator[T]:
    """All of them in some order, then all of them in another one, and so on."""
    while True:
        yield from chance.sample(things, len(things))


def _draw_evenly_by_size(chance: random.Random, bounds: tuple[float, float]) -> float:
    """Each doubling is as likely as any other."""
    low, high = bounds
    return float(low * (high / low) ** chance.random())


def _draw_act(chance: random.Random, fault: Fault) -> Act:
    faults = [fault]
    if chance.random() < SECOND_CHANCE:
        link = chance.choice([name for name in LINKS if name != fault.target])
        faults.append(Fault(chance.choice(LINK_TROUBLES), link))
    return Act(
        tuple(faults),
        hold_s=_draw_hold_s(chance, fault.kind),
        pause_s=chance.uniform(*PAUSE_S),
        is_patient=chance.random() < PATIENT_CHANCE,
    )


def _draw_hold_s(chance: random.Random, kind: Kind) -> float:
    if kind in (Kind.PAUSE, Kind.PAUSE_JVM, Kind.FREEZE):
        return _draw_evenly_by_size(chance, STILL_S)
    bounds = {
        Kind.STEP_CLOCK: CLOCK_HOLD_S,
        Kind.FILL_DISK: DISK_HOLD_S,
        Kind.FAIL_DISK: DISK_HOLD_S,
    }
    return chance.uniform(*bounds.get(kind, HOLD_S))
