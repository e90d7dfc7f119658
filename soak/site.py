"""A site that is fed by hand: one source, chunks that are read once, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.errors import HeadwaterError
from headwater.plan.sources.source import Source
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.spark.file_inbox import FileInbox

BATCH_S_MAX = 120.0


class SoakSite:
    """It keeps no more than the last batch; ``inbox`` is for the host."""

    def __init__(self, directory: Path, source: Source) -> None:
        self.inbox = FileInbox(source, self._told)
        self._directory = directory
        self._results: Sequence[QueryResult] = ()
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, text: str) -> None:
        path = self._directory / "chunk"
        path.write_text(text, encoding="utf-8")
        self.inbox.add(path)

    def wait(self) -> Sequence[QueryResult]:
        """What came of the last chunk."""
        if not self.inbox.is_read_within(BATCH_S_MAX):
            raise HeadwaterError(f"a batch did not end within {BATCH_S_MAX:.0f} s")
        return self._results

    def _told(self, _: Batch, outcome: SiteOutcome) -> None:
        self._results = outcome.results
