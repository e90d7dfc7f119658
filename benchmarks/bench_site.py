"""A site for the measurements: complete files offered in batches, results thrown away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from headwater.plan.sources.source import Source
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.file_inbox import FileInbox


class BenchSite:
    """``inbox`` is for the host; the rest is what came of it."""

    def __init__(
        self,
        source: Source,
        paths: Sequence[Path],
        *,
        files_per_batch: int,
        committed: Callable[[], None] = lambda: None,
    ) -> None:
        """``committed`` is called after each batch."""
        self.inbox = FileInbox(source, self._told, files_max=files_per_batch)
        self.records = 0
        self.failures: list[str] = []
        self._committed = committed
        for path in paths:
            self.inbox.add(path)

    def _told(self, _: Batch, outcome: SiteOutcome) -> None:
        self.failures += [one.failed for one in outcome.results if one.failed is not None]
        self.records += outcome.records
        self._committed()
