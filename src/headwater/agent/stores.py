"""Everything durable of one site, opened together and closed together.

::

    directory/
      cube/       panes, cuts, spool; its lock makes this agent the only one here
      ledger/     what its roots hold
      commands/   queries that live, and the count of its own commands
      results/    answers, one folder for each stream: Parquet that anything can read
      spark/      checkpoints: disposable
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headwater.agent.query_book import QueryBook
from headwater.store.commands import CommandStore
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.cube.retention import RetentionConfig
from headwater.store.cube.row_limit import GROWING_ROWS_MAX
from headwater.store.cube.update_maker import SUMMARY_BYTES_MAX
from headwater.store.disk import Disk
from headwater.store.input.spool import SPOOL_BYTES_MAX
from headwater.store.ledger.root_ledger import RootLedger
from headwater.store.owner_alone import ReadableDisk, Readers
from headwater.store.segments import CACHE_BYTES_MAX
from headwater.store.tables import Tables

RESULTS = "results"


class SiteStores:
    """Opening reads the commands first, so that the query book knows every id on the disk."""

    def __init__(
        self,
        directory: Path,
        *,
        site: str,
        clock: Callable[[], float],
        retention: RetentionConfig | None = None,
        spool_bytes_max: int = SPOOL_BYTES_MAX,
        disk: Disk | None = None,
        cache_bytes_max: int = CACHE_BYTES_MAX,
        readers: Readers = Readers.OWNER,
        spool_directory: Path | None = None,
        growing_rows_max: int = GROWING_ROWS_MAX,
        summary_bytes_max: int = SUMMARY_BYTES_MAX,
        tables: Tables | None = None,
    ) -> None:
        """``spool_directory``: one for the finite inputs of all sites of a run. ``tables``: those
        of all its cubes, where nobody opens them again."""
        self.site = site
        self.disk = disk or Disk()
        """For all that this site reads and writes, its logs among it."""
        self.results_disk = self.disk if readers is Readers.OWNER else ReadableDisk(readers)
        self.directory = directory
        self.results_directory = directory / RESULTS
        self.book = QueryBook(growing_rows_max=growing_rows_max)
        self.cube = Cube.open(
            directory / "cube",
            site=site,
            facts=QueryFacts(
                merger_of=self.book.merger,
                limit_of=self.book.row_limit,
                allowance_of=self.book.allowance,
                early_of=self.book.early_rows,
                levels_of=self.book.levels,
                last_rows_of=self.book.last_rows,
                keep_s_of=self.book.keep_s,
            ),
            retention=retention,
            spool_bytes_max=spool_bytes_max,
            clock=clock,
            disk=self.disk,
            cache_bytes_max=cache_bytes_max,
            spool_directory=spool_directory,
            summary_bytes_max=summary_bytes_max,
            tables=tables,
        )
        try:
            self.commands = CommandStore(directory / "commands", disk=self.disk)
            for install in self.commands.live():
                self.book.add_if_sound(install.query)
            self.ledger = RootLedger(
                directory / "ledger", merger_of=self.book.merger, clock=clock, disk=self.disk
            )
        except BaseException:
            self.cube.close()
            raise

    def refuse_if_broken(self) -> None:
        """Raises ``StoreBroken`` when a commit failed and nobody knows whether it happened.

        All that is in memory may be built upon it, so this agent is over: it ends, and the next one
        looks at what is on the disk.
        """
        for store in (self.cube, self.ledger, self.commands):
            store.refuse_if_broken()

    def close(self) -> None:
        self.ledger.close()
        self.commands.close()
        self.cube.close()
