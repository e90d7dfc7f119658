"""The steps of a batch and of an answer at which an agent can be struck, and the trap that aims.

A kill that is drawn by time meets a batch of a few tenths of a second by luck, and a gap of a
millisecond between Spark's result and the commit hardly ever. So the nemesis lays a trap for one
step, and the agent, which knows where it is, walks into it: it takes the trap away, so that it
springs once, and kills whom the trap names. A trap is a file, since the two are processes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Step(StrEnum):
    BEFORE_BATCH = "before the batch"
    IN_SPARK = "while Spark runs the batch"
    BEFORE_COMMIT = "between Spark's result and the commit"
    AFTER_COMMIT = "after the commit, before the next offer"
    IN_ROOT_JOB = "while Spark runs the root job"
    BEFORE_PUBLISHING = "between the root job and the publication"
    AFTER_PUBLISHING = "after the publication, before the root hears of it"


SITE_STEPS = (Step.BEFORE_BATCH, Step.IN_SPARK, Step.BEFORE_COMMIT, Step.AFTER_COMMIT)
ROOT_STEPS = (Step.IN_ROOT_JOB, Step.BEFORE_PUBLISHING, Step.AFTER_PUBLISHING)


class Victim(StrEnum):
    JVM = "JVM"
    AGENT = "agent"
    """With its JVM."""


@dataclass(frozen=True)
class Snare:
    """What a trap is laid for."""

    step: Step
    victim: Victim
    wait_s: float = 0.0
    """How long Spark has been at work when a trap within its work springs."""

    def text(self) -> str:
        return f"{self.step.name} {self.victim.name} {self.wait_s}"

    @classmethod
    def parse(cls, text: str) -> Snare:
        step, victim, wait_s = text.split()
        return cls(Step[step], Victim[victim], float(wait_s))


class Trap:
    """A file in the agent's directory: laid by the nemesis, sprung by the agent."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "trap"
        self._sprung = directory / "trap-sprung"

    def lay(self, snare: Snare) -> None:
        self._sprung.unlink(missing_ok=True)
        hidden = self._path.with_suffix(".new")
        hidden.write_text(snare.text())
        hidden.rename(self._path)

    def take_away(self) -> None:
        self._path.unlink(missing_ok=True)

    def laid(self) -> Snare | None:
        try:
            return Snare.parse(self._path.read_text())
        except FileNotFoundError:
            return None

    def spring(self) -> bool:
        """Called by the agent; True for one caller alone."""
        try:
            os.rename(self._path, self._sprung)
        except FileNotFoundError:
            return False
        return True

    @property
    def is_sprung(self) -> bool:
        return self._sprung.exists()
