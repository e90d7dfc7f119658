"""What a root publishes, heard as it appears: held against the truth, and timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from chaos.checker import Answer, Checker
from chaos.truth import Truth

from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader


class Answers:
    """Of one stream."""

    def __init__(
        self, directory: Path, truth: Truth, sites: Sequence[str], *, root: str, disorder_s: float
    ) -> None:
        self.checker = Checker(truth, sites, disorder_s=disorder_s, root=root)
        self.firsts: dict[int, Envelope] = {}
        """By the start of the window, in microseconds: its first answer."""
        self.seen_s: dict[int, float] = {}
        """And when that was seen."""
        self.exact_s: dict[int, float] = {}
        """When an exact one was."""
        self.wrong_sums: list[int] = []
        """Records whose sum is not what their number and count make it."""
        self._window_us = truth.window_us
        self._reader = ResultsReader(directory)
        self._heard = 0

    def hear(self) -> None:
        """What was published since the last look."""
        for seq in self._reader.publications(after=self._heard):
            for envelope in self._reader.envelopes(seq):
                table = self._reader.answer(seq, envelope)
                rows = [] if table is None else table.select(["id", "n", "total"]).to_pylist()
                self.checker.hear(Answer(envelope, [(row["id"], row["n"]) for row in rows]))
                self.wrong_sums += [r["id"] for r in rows if r["total"] != r["id"] * r["n"]]
                self._note(envelope)
            self._heard = seq

    def _note(self, envelope: Envelope) -> None:
        start_us, now_s = envelope.start_us, time.time()
        if self.firsts.setdefault(start_us, envelope) is envelope:
            self.seen_s[start_us] = now_s
        if envelope.exact:
            self.exact_s.setdefault(start_us, now_s)

    def ended_in(self, from_s: float, until_s: float, *, first_us: int) -> list[int]:
        """The starts of the windows that end in this span, whether answered or not."""
        first = max(first_us, (int(from_s * 1e6) // self._window_us) * self._window_us)
        starts = range(first, int(until_s * 1e6), self._window_us)
        return [one for one in starts if from_s <= self.end_s(one) < until_s]

    def end_s(self, start_us: int) -> float:
        return (start_us + self._window_us) / 1e6

    def first_after_s(self, start_us: int) -> float | None:
        """From the window's end to when its first answer was seen; None: there is none."""
        seen_s = self.seen_s.get(start_us)
        return None if seen_s is None else seen_s - self.end_s(start_us)
