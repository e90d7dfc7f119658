"""What came of a run, for people and for tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.acts import Kind
from chaos.checker import Verdict


@dataclass
class Outcome:
    verdict: Verdict = field(default_factory=Verdict)
    kills: int = 0
    killed_at_work: int = 0
    """Kills that met an agent that was ready."""
    faults: dict[str, int] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    """Kills at each step of a batch and of an answer."""
    missed: list[str] = field(default_factory=list)
    """Faults that met nothing."""
    records: int = 0
    lives: dict[str, int] = field(default_factory=dict)
    recovered_s: float | None = None
    """From the last fault to the last window's final answer; the lateness is part of it."""
    failures: list[str] = field(default_factory=list)
    """Beyond the verdict: agents that did not end or come up, processes left behind."""
    skipped: dict[Kind, str] = field(default_factory=dict)
    """Faults that this machine can't have, and why."""
    evidence: str = ""
    """What the root and the agents said, where something failed."""

    @property
    def is_good(self) -> bool:
        return self.verdict.is_safe and self.verdict.is_live and not self.failures

    def text(self) -> str:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        took = "never" if self.recovered_s is None else f"{self.recovered_s:.0f} s"
        lines = [
            f"{self.records} records; {self.kills} kills, {self.killed_at_work} of agents at work",
            f"faults: {faults}; agents started: {self.lives}",
            *(f"killed {step}: {count}" for step, count in self.steps.items()),
            *(f"met nothing: {text}" for text in self.missed),
            f"all final after the last fault: {took}",
            self.verdict.text(),
            *(f"failure: {text}" for text in self.failures),
            *(f"skipped: {kind}: {why}" for kind, why in self.skipped.items()),
            *([self.evidence] if self.evidence else []),
        ]
        return "\n".join(lines)
