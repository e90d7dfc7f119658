"""What a run leaves behind: how it ended, what happened in it, and how it can be repeated."""

from __future__ import annotations

from collections import Counter

import msgspec

from headwater.sim.faults.faults import Fault


class Violation(Exception):
    """A promise was broken. ``rule`` names it; the rest says where, and what was found."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


class Outcome(msgspec.Struct):
    """One run of one scenario."""

    seed: int
    faults: tuple[Fault, ...]
    virtual_s: float
    event_count: int
    trace: int
    """A number that stands for everything that happened, in order."""
    counts: Counter[str]
    """How often each thing happened that a sweep wants to have seen."""
    rule: str = ""
    failure: str = ""
    failed_at_s: float = 0.0
    transcript: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        return not self.rule

    def report(self, *, options: str = "") -> str:
        """For a person: what broke, what led there, and the command that shows it again."""
        lines = [
            f"seed {self.seed} failed at {self.failed_at_s:.3f} s: {self.failure}",
            f"faults ({len(self.faults)}):",
            *(f"  {fault}" for fault in self.faults),
            "the last events:",
            *(f"  {line}" for line in self.transcript),
            f"repeat with: python -m headwater.sim --from {self.seed} --seeds 1{options}",
        ]
        return "\n".join(lines)
