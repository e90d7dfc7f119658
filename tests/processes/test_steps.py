"""Traps at the steps of a batch: sprung once, at their step, and the steps are still there."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from chaos.agent import AMBUSH, Hooks
from chaos.steps import Snare, Step, Trap, Victim

CHAOS = Path(__file__).parents[2]
LONG_S = 60.0


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


@pytest.fixture
def struck() -> list[tuple[Victim, str]]:
    return []


class Batch:
    """What is wrapped: notes where it is, and can be made to take its time."""

    def __init__(self) -> None:
        self.at = "before"
        self.may_return = threading.Event()
        self.may_return.set()

    def run(self, result: int) -> int:
        self.at = "within"
        assert self.may_return.wait(LONG_S)
        self.at = "after"
        return result


@pytest.fixture
def batch(trap: Trap, struck: list[tuple[Victim, str]]) -> Batch:
    class Wrapped(Batch):
        pass

    made = Wrapped()

    def strike(victim: Victim) -> None:
        struck.append((victim, made.at))
        made.may_return.set()

    Hooks(trap, strike).wrap(
        Wrapped, "run", before=Step.BEFORE_BATCH, within=Step.IN_SPARK, after=Step.BEFORE_COMMIT
    )
    return made


@pytest.mark.parametrize(
    ("step", "at"),
    [(Step.BEFORE_BATCH, "before"), (Step.IN_SPARK, "within"), (Step.BEFORE_COMMIT, "after")],
)
def test_a_trap_springs_at_its_step(
    trap: Trap, batch: Batch, struck: list[tuple[Victim, str]], step: Step, at: str
) -> None:
    trap.lay(Snare(step, Victim.JVM, wait_s=0.01))
    if step is Step.IN_SPARK:
        batch.may_return.clear()
    assert batch.run(7) == 7
    assert struck == [(Victim.JVM, at)]
    assert trap.is_sprung


def test_a_trap_springs_once(trap: Trap, batch: Batch, struck: list[tuple[Victim, str]]) -> None:
    trap.lay(Snare(Step.BEFORE_BATCH, Victim.AGENT))
    for _ in range(3):
        batch.run(1)
    assert [victim for victim, _ in struck] == [Victim.AGENT]


def test_a_trap_within_the_work_waits_for_work_that_is_long_enough(
    trap: Trap, batch: Batch, struck: list[tuple[Victim, str]]
) -> None:
    trap.lay(Snare(Step.IN_SPARK, Victim.JVM, wait_s=LONG_S))
    batch.run(1)
    for thread in threading.enumerate():
        if thread.name == AMBUSH:
            thread.join()
    assert struck == []
    trap.lay(Snare(Step.IN_SPARK, Victim.JVM, wait_s=0.01))
    batch.may_return.clear()
    batch.run(2)
    assert struck == [(Victim.JVM, "within")]


def test_without_a_trap_nothing_is_struck(
    trap: Trap, batch: Batch, struck: list[tuple[Victim, str]]
) -> None:
    trap.lay(Snare(Step.AFTER_COMMIT, Victim.JVM))
    batch.run(1)
    trap.take_away()
    batch.run(2)
    assert struck == []
    assert not trap.is_sprung


def test_a_trap_that_is_laid_anew_is_not_sprung(trap: Trap) -> None:
    trap.lay(Snare(Step.IN_SPARK, Victim.JVM))
    assert trap.spring()
    assert not trap.spring()
    trap.lay(Snare(Step.BEFORE_BATCH, Victim.AGENT, wait_s=0.5))
    assert not trap.is_sprung
    assert trap.laid() == Snare(Step.BEFORE_BATCH, Victim.AGENT, wait_s=0.5)


def test_every_step_is_still_in_the_product() -> None:
    """In a process of its own, for what is wrapped stays so."""
    code = """
from pathlib import Path
from chaos.agent import Hooks, lay_hooks
from chaos.steps import Step, Trap

found = set()
wrap = Hooks.wrap

def noting(self, owner, name, **steps):
    found.update(step for step in steps.values() if step is not None)
    wrap(self, owner, name, **steps)

Hooks.wrap = noting
lay_hooks(Trap(Path("/nowhere")))
assert found == set(Step), set(Step) - found
"""
    done = _python(code)
    assert done.returncode == 0, done.stderr


def test_a_method_that_is_gone_is_an_error_at_once(trap: Trap) -> None:
    hooks: Hooks = Hooks(trap)
    wrap: Callable[..., None] = hooks.wrap
    with pytest.raises(AttributeError, match="run_all"):
        wrap(Batch, "run_all", before=Step.BEFORE_BATCH)


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=CHAOS, capture_output=True, text=True, check=False
    )
