"""Reads what a stream publishes as it appears, and hands each query's answers to its checker.

A stream that is removed and installed again is another query under the same name, with its own
begin. Each has a checker of its own, and all of them have one verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chaos.checker import Answer, Checker
from headwater.store.results.results import ResultsReader


class Listener:
    def __init__(self, directory: Path, new_checker: Callable[[], Checker]) -> None:
        self._reader = ResultsReader(directory)
        self._new_checker = new_checker
        self._checkers: dict[str, Checker] = {}
        self.heard = 0
        """The number of the newest publication."""

    def checker(self, query: str) -> Checker:
        if query not in self._checkers:
            self._checkers[query] = self._new_checker()
        return self._checkers[query]

    def hear(self) -> None:
        """What was published since the last look."""
        for seq in self._reader.publications(after=self.heard):
            for envelope in self._reader.envelopes(seq):
                rows = self._reader.answer(seq, envelope)
                numbers = [] if rows is None else rows.select(["id", "n"]).to_pylist()
                found = [(row["id"], row["n"]) for row in numbers]
                self.checker(envelope.query).hear(Answer(envelope, found))
            self.heard = seq

    def end(self) -> None:
        """No record is written any more; also for queries that were removed."""
        for checker in self._checkers.values():
            checker.end()
