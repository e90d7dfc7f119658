"""A site's store of panes: partial rows from Spark in, numbered updates for the root out.

::

    chunks ──Spark──► commit_batch ──► parts ──write(MakeUpdates)──► updates ──rows──► the overlay
                         │ one transaction: rows of all queries, and the committed cut
                         └ a batch that comes again changes nothing

Everything durable of a site but its commands and its root's ledger is here: cuts of input,
segments, marks, and the edge's records. A cube has an *incarnation*, a number made with it that
rises from life to life, so that the root can tell this life of a site from one whose disk was lost.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headwater.algebra.incarnation import CHANCE_BITS, incarnation_above
from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.withhold import Rehearsed
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.outputs import UpdatesMade
from headwater.edge.record import QueryKept
from headwater.errors import RowsGone
from headwater.node.effects import CubeWrite, MakeEarly, MakeUpdates, perform_all
from headwater.store.aside.aside_log import AsideLog
from headwater.store.cube.asked.asked_rows import AskedRows
from headwater.store.cube.asked.cube_slices import CubeSlices
from headwater.store.cube.batch_commit import BatchCommitter
from headwater.store.cube.cube_queries import CubeQueries, QueryFacts
from headwater.store.cube.cube_restore import kept_of
from headwater.store.cube.cube_schema import CUBE_SCHEMA
from headwater.store.cube.cube_writes import CubeWriter
from headwater.store.cube.early.early_maker import EarlyMaker, PreparedEarly
from headwater.store.cube.incarnation import Claim, claim_of, rebase
from headwater.store.cube.retention import Retained, Retention, RetentionConfig
from headwater.store.cube.state_maker import PreparedStates, StateMaker
from headwater.store.cube.state_ring import StateRing
from headwater.store.cube.update_maker import SUMMARY_BYTES_MAX, PreparedUpdates, UpdateMaker
from headwater.store.disk import Disk, explained
from headwater.store.image_packer import ImagePacker
from headwater.store.input.cuts import CutLog
from headwater.store.input.spool import SPOOL_BYTES_MAX, Spool
from headwater.store.lock import DirectoryLock
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import AnySegments, PaneSegments, Stretch, opened_segments
from headwater.store.segments import CACHE_BYTES_MAX, SegmentStore
from headwater.store.tables import Tables


class CubeStatus(msgspec.Struct, frozen=True):
    """For people."""

    queries: int
    panes: int
    unacked_panes: int
    waiting_rows: int
    """In no update yet."""
    segments: int
    segment_bytes: int
    damaged_segments: int
    spool_bytes: int


class Cube:
    """Made by ``open``. All methods may be called from any thread; each is one transaction.

    A call that raises has changed nothing, on the disk or in memory, but for ``StoreBroken``:
    whether that one happened only a new start can tell.
    """

    def __init__(
        self,
        *,
        lock: DirectoryLock | None,
        manifest: Manifest,
        segments: AnySegments,
        spool: Spool,
        disk: Disk,
        facts: QueryFacts,
        retention: RetentionConfig,
        summary_bytes_max: int,
        clock: Callable[[], float],
        claim: Claim,
    ) -> None:
        self.made_s = claim.born_s if claim.is_new else None
        """Steady time at which this process made it; None: it was there before."""
        self._lock = lock
        self.manifest = manifest
        self._merger_of = facts.merger_of
        self._retention = retention
        self._clock = clock
        self._rows = PaneSegments(manifest, segments)
        ring = StateRing(manifest, self._rows)
        self._queries = CubeQueries(manifest, ring, facts)
        self.past_of = self._queries.past_of
        self.set_aside_of = self._queries.set_aside_of
        self.unread = self._queries.unread
        """Queries of which the record can't be read, and why: they are not among what is restored,
        and what the cube has of them stays until they are removed."""
        self._early = EarlyMaker(
            manifest, self._queries, self._rows, summary_bytes_max=summary_bytes_max
        )
        self._maker = UpdateMaker(
            manifest,
            self._queries,
            self._rows,
            early=self._early,
            summary_bytes_max=summary_bytes_max,
        )
        self._states = StateMaker(
            manifest, self._queries, self._rows, ring, summary_bytes_max=summary_bytes_max
        )
        self.cuts = CutLog(manifest, spool, disk=disk, loss_heard=self._queries.loss_heard)
        self.asides = AsideLog(manifest, self.cuts)
        """How input is set aside."""
        self.commit_batch = BatchCommitter(
            manifest, self.cuts, self._queries, self._rows, ring, clock=clock
        ).commit
        self._turn = threading.Lock()
        """Those who free segments, or read what may be freed, take turns."""
        self.slices = CubeSlices(manifest, self._queries, self._rows, turn=self._turn)
        """What questions are given of other queries' panes."""
        self.asked_rows = AskedRows(manifest, self._queries, self._rows, clock=clock)
        """What they make of it."""
        self.incarnation = claim.incarnation
        self.born_s = claim.born_s
        """What the wall clock showed when this cube was made: what was before is lost to it, not
        merely not installed."""

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        site: str,
        facts: QueryFacts,
        retention: RetentionConfig | None = None,
        spool_bytes_max: int = SPOOL_BYTES_MAX,
        summary_bytes_max: int = SUMMARY_BYTES_MAX,
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
        cache_bytes_max: int = CACHE_BYTES_MAX,
        spool_directory: Path | None = None,
        tables: Tables | None = None,
    ) -> Cube:
        """Open or make the cube of ``site``, alone: with a lock, unless the directory is this run's
        own. ``clock`` is the process's steady one. Cubes of one run whose inputs are finite may
        have their spools in one ``spool_directory``, and those that nobody opens again their
        manifests in the same ``tables``.

        Raises ``AlreadyRunning``, or ``StoreError`` if it is another site's or damaged.
        """
        disk = disk or Disk()
        lock = DirectoryLock.take(directory) if disk.is_kept else None
        try:
            with explained(f"opening {directory}"):
                segments = opened_segments(directory / "segments", disk, cache_bytes_max)
                place = spool_directory or directory / "spool"
                spool = Spool(place, disk=disk, bytes_max=spool_bytes_max)
                disk.sync_directory(directory)
                disk.sync_directory(directory.parent)
            path = directory / "manifest.sqlite"
            manifest = Manifest.open(path, CUBE_SCHEMA, disk=disk, tables=tables)
            claim = claim_of(manifest, site=site, born_s=clock())
            if isinstance(segments, SegmentStore):
                rebase(manifest, now_s=clock())
                known = manifest.all("SELECT name FROM segments")
                segments.sweep({name for (name,) in known})
            return cls(
                lock=lock,
                manifest=manifest,
                segments=segments,
                spool=spool,
                disk=disk,
                facts=facts,
                retention=retention or RetentionConfig(),
                summary_bytes_max=summary_bytes_max,
                clock=clock,
                claim=claim,
            )
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def close(self) -> None:
        self.manifest.close()
        if self._lock is not None:
            self._lock.release()

    def refuse_if_broken(self) -> None:
        """Raises ``StoreBroken`` where only opening it anew helps."""
        self.manifest.refuse_if_broken()

    def write(self, writes: Sequence[CubeWrite]) -> list[list[UpdatesMade] | None]:
        """Do what the edge asked for, in order, in one transaction.

        Returns for each ``MakeUpdates``, ``MakeEarly`` or ``RollUp`` what came of its panes. Raises
        ``DiskFull`` with nothing changed.
        """
        packer = ImagePacker(self._rows.store)
        with self._turn, self._rows.undone_if_failed(packer.names):
            prepared = self._prepare(writes, packer)
            packer.flush()
            writer = CubeWriter(
                self.manifest,
                self._queries,
                self._maker,
                self._states,
                prepared,
                early=self._early,
                now_s=self._clock(),
            )
            with self.manifest.transaction():
                done = perform_all(writer, writes)
                if writer.loosened:
                    writer.removed += self._rows.free(writer.loosened)
        if writer.removed:
            self._rows.store.remove(writer.removed)
        return done

    def _prepare(
        self, writes: Sequence[CubeWrite], packer: ImagePacker
    ) -> list[PreparedUpdates | PreparedStates | PreparedEarly]:
        """What is prepared does not see what is prepared beside it, so of a pane that is closed
        here nothing leaves before."""
        closes = [one for one in writes if isinstance(one, MakeUpdates)]
        closing = {(one.query, pane) for one in closes for pane in one.panes}
        found: list[PreparedUpdates | PreparedStates | PreparedEarly] = []
        for one in writes:
            if isinstance(one, MakeUpdates):
                of = self._queries.last_rows_of(one.query)
                found.append(
                    self._maker.prepare(one, packer)
                    if of is None
                    else self._states.prepare(one, of, packer)
                )
            elif isinstance(one, MakeEarly):
                is_closing = (one.query, one.pane) in closing
                early = PreparedEarly(one) if is_closing else self._early.prepare(one, packer)
                found.append(early)
        return found

    def rows(self, query: str, pane: int, updates: Ranges) -> pa.Table:
        """The rows of these updates as one table.

        Raises ``SegmentDamaged``, or ``RowsGone`` when retention has taken them: they never come
        back. Any other ``StoreError`` is worth another try.
        """
        wanted = ranges.normal(updates)
        with self._turn:
            found = self.manifest.all(
                "SELECT number, segment, first_row, rows FROM updates WHERE query = ? AND pane = ?",
                (self._queries.number(query), pane),
            )
            stretches = [Stretch(*s) for n, *s in sorted(found) if ranges.contains(wanted, n)]
            if len(stretches) != ranges.count(wanted):
                raise RowsGone(
                    f"query {query}, pane {pane}: wanted updates {list(wanted)}, the cube has "
                    f"{sorted(n for n, *_ in found)}; retention has taken the others"
                )
            tables = [self._rows.load(stretch) for stretch in stretches]
        return tables[0] if len(tables) == 1 else self._merger_of(query).merge(tables)

    def rehearsed(self, query: str) -> Mapping[int, Rehearsed]:
        """By pane, what would have been kept back of a query whose input ends."""
        with self._turn:
            return self._maker.rehearsal.of(query)

    def live_anew(self, former: int) -> int:
        """A root knows a higher incarnation of this site, whose disk was lost: take one above it.
        What was acknowledged was acknowledged to another; all of it is in doubt."""
        chance = secrets.randbits(CHANCE_BITS)
        with self.manifest.transaction():
            incarnation = incarnation_above(max(former, self.incarnation), chance=chance)
            self.manifest.run(
                "UPDATE meta SET value = ? WHERE key = 'incarnation'", (str(incarnation),)
            )
            own, values = self._queries.own_rows()
            self.manifest.run(f"UPDATE panes SET is_acked = 0 WHERE TRUE{own}", values)
            self.manifest.after_commit(lambda: self._lives(incarnation))
        return incarnation

    def _lives(self, incarnation: int) -> None:
        self.incarnation = incarnation

    def restore(self) -> list[QueryKept]:
        """All that an edge needs to take up where it ended."""
        with self.manifest.lock:
            return [kept_of(self.manifest, self._queries, query) for query in self._queries.names()]

    def counted(self, query: str, window: WindowSpec) -> int:
        """Where the site's own count of what it reads for a query goes on: behind what it has read,
        and, where windows go by it, not before the first pane that it answers for."""
        if self._queries.last_rows_of(query) is not None:
            return self._queries.counted(query)
        first = self._queries.first_pane(query)
        start = window.pane_start_us(first) if 0 < first < FOREVER else 0
        return max(self._queries.counted(query), start)

    def retention(self, *, now_s: float) -> Retained:
        """Let go of what is too old or too much. Call it now and then; tell the edge."""
        with self._turn:
            with self.manifest.transaction():
                writer = CubeWriter(
                    self.manifest,
                    self._queries,
                    self._maker,
                    self._states,
                    early=self._early,
                    now_s=now_s,
                )
                retained = Retention(
                    self.manifest, self._queries, writer, self._retention, pins=self.slices.pins
                ).run(now_s=now_s)
            self._rows.store.remove(writer.removed)
        return retained

    def status(self) -> CubeStatus:
        own, values = self._queries.own_rows()

        def count(what: str, table: str, where: str = "TRUE") -> int:
            sql = f"SELECT coalesce({what}, 0) FROM {table} WHERE {where}{own}"
            return int(self.manifest.one(sql, values)[0])

        return CubeStatus(
            queries=len(self._queries.names()),
            panes=count("count(*)", "panes"),
            unacked_panes=count("count(*)", "panes", "is_acked = 0"),
            waiting_rows=count("sum(rows)", "parts"),
            segments=count("count(*)", "segments"),
            segment_bytes=count("sum(bytes)", "segments"),
            damaged_segments=count("count(*)", "segments", "is_damaged = 1"),
            spool_bytes=self.cuts.spool.bytes_used,
        )
