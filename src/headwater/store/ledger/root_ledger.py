"""What a root holds, on disk: accepted summaries, states of sites, answers, how far it is done.

A root acknowledges only what is durable, and it does so every few seconds for hundreds of sites:
all that a tick accepted is written in one transaction, which costs one sync. Rows are kept in the
same SQLite file, each summary's as one compressed Arrow stream with a checksum: they are many and
small, and a file for each would cost two syncs and an inode.

Merging is left to the reader (``kept_rows``). Numbers only rise: a lower one is refused, also when
the summary that had it is gone.

*Committed is published.* An answer is published by the transaction that remembers it; what comes
after only lets readers see it, and is tried until it works. So each (window, revision) is published
once.

A summary whose bytes no longer match their checksum is set aside (``mend``). The ledger then holds
less than its root has acknowledged, as if its disk had been lost in part; so it begins a new
incarnation, at which sites compare all that they have with what is acknowledged.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headwater.algebra.incarnation import CHANCE_BITS, incarnation_above, new_incarnation
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.summary import Merger
from headwater.algebra.words.acknowledgement import LIFE_BITS
from headwater.errors import AlreadyPublished, StoreError
from headwater.node import effects as fx
from headwater.plan.query import Query
from headwater.root.carriers.alarm_book import StandingAlarm
from headwater.root.outputs import KeptSummary, RootKept, WindowAnswered
from headwater.store.disk import Disk
from headwater.store.ledger.kept_alarms import KeptAlarms
from headwater.store.ledger.kept_rows import KeptRows
from headwater.store.ledger.restored import coverage_in, restored, shares_key
from headwater.store.ledger.root_schema import ROOT_SCHEMA
from headwater.store.manifest import Manifest
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter
from headwater.store.segments import checksum_of, table_image
from headwater.store.table_cache import TableCache

CACHE_BYTES_MAX = 128 << 20


class RootLedger:
    """The ledger of all queries that one site answers. Safe to use from several threads."""

    def __init__(
        self,
        directory: Path,
        *,
        merger_of: Callable[[str], Merger],
        cache_bytes_max: int = CACHE_BYTES_MAX,
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
    ) -> None:
        """Open the file ``ledger.sqlite`` in this directory, made if needed."""
        self._manifest = Manifest.open(directory / "ledger.sqlite", ROOT_SCHEMA, disk=disk)
        self._clock = clock
        self._alarms = KeptAlarms(self._manifest, clock=clock)
        self.rows = KeptRows(self._manifest, merger_of=merger_of, cache=TableCache(cache_bytes_max))
        self._images: Iterator[tuple[object, ...]] = iter(())
        """Of the summaries that the present transaction writes, in order."""
        self.incarnation = self._claimed()
        """Made with the ledger: acknowledgements of another life of it are not ours."""
        self.start_count = self._count_start()
        """How often it was opened, this time included; acknowledgements are counted from it."""

    def _count_start(self) -> int:
        """A ledger that was made before starts were counted has numbered acknowledgements by the
        clock: those of its first counted start must be higher."""
        if self._manifest.is_untouched:
            return 1
        with self._manifest.transaction():
            row = self._manifest.first("SELECT value FROM meta WHERE key = 'starts'")
            former = 0 if row is None else int(row[0])
            is_older = row is None and self._manifest.first("SELECT 1 FROM states") is not None
            if is_older:
                former = int(self._clock() * 1000.0) >> LIFE_BITS
            self._manifest.run("INSERT OR REPLACE INTO meta VALUES ('starts', ?)", (former + 1,))
        return former + 1

    def _claimed(self) -> int:
        chance = secrets.randbits(CHANCE_BITS)
        new = new_incarnation(now_s=self._clock(), chance=chance)
        if self._manifest.is_untouched:
            return new
        with self._manifest.transaction():
            self._manifest.run("INSERT OR IGNORE INTO meta VALUES ('incarnation', ?)", (str(new),))
        (incarnation,) = self._manifest.one("SELECT value FROM meta WHERE key = 'incarnation'")
        return int(incarnation)

    def close(self) -> None:
        self._manifest.close()

    def refuse_if_broken(self) -> None:
        """Raises ``StoreBroken`` where only opening it anew helps."""
        self._manifest.refuse_if_broken()

    def write(self, writes: Sequence[fx.LedgerWrite]) -> list[None]:
        """Make all of it durable, in order, in one transaction. Rows become bytes before it begins:
        others may have the file meanwhile."""
        images = []
        for one in writes:
            if isinstance(one, fx.Keep):
                images.append(_encoded(one.query, one.kept))
            elif isinstance(one, fx.Replace):
                images += [_encoded(one.query, kept) for kept in one.kept]
        with self._manifest.transaction():
            self._images = iter(images)
            return fx.perform_all(self, writes)

    def keep(self, keep: fx.Keep) -> None:
        """A part of ``write``, as all the others that take an effect."""
        self._insert(keep.query, keep.kept)

    def replace(self, replace: fx.Replace) -> None:
        self._take_out(replace)
        for kept in replace.kept:
            self._insert(replace.query, kept)

    def _insert(self, query: str, kept: KeptSummary) -> None:
        number = kept.number
        self.rows.begun(query)
        last = self._last_number(query)
        if number <= last:
            raise StoreError(
                f"{query}: wanted a summary numbered above {last}, got {number}; a number is never "
                "used again"
            )
        self._manifest.run(
            "INSERT INTO summaries (query, number, pane, coverage, has_rows, "
            "checksum, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
            next(self._images),
        )
        self._manifest.run("INSERT OR REPLACE INTO numbers VALUES (?, ?)", (query, number))
        self._manifest.after_commit(lambda: self.rows.kept(query, kept))

    def _take_out(self, replace: fx.Replace) -> None:
        for number in replace.numbers:
            key = (replace.query, number)
            self._manifest.run("DELETE FROM summaries WHERE query = ? AND number = ?", key)
        gone = (replace.query, replace.numbers, replace.pane)
        self._manifest.after_commit(lambda: self.rows.taken_out(*gone))

    def _last_number(self, query: str) -> int:
        row = self._manifest.first("SELECT last FROM numbers WHERE query = ?", (query,))
        return 0 if row is None else int(row[0])

    def keep_state(self, keep: fx.KeepState) -> None:
        """For a next life, as an agreement is: the root has both in memory."""
        if not self._manifest.is_kept:
            return
        state = keep.state
        self._manifest.run(
            "INSERT INTO states (query, ordinal, incarnation, since, content) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET since = excluded.since, content = excluded.content",
            (
                keep.query,
                state.ordinal,
                state.incarnation,
                keep.since,
                msgspec.msgpack.encode(state),
            ),
        )

    def keep_agreement(self, keep: fx.KeepAgreement) -> None:
        if not self._manifest.is_kept:
            return
        agreed = msgspec.msgpack.encode((keep.through, keep.disputed, keep.sure_number))
        self._manifest.run(
            "UPDATE states SET agreed = ? WHERE query = ? AND ordinal = ? AND incarnation = ?",
            (agreed, keep.query, keep.ordinal, keep.incarnation),
        )

    def keep_alarm(self, keep: fx.KeepAlarm) -> None:
        self._alarms.keep(keep.query, keep.standing)

    def alarms(self) -> tuple[StandingAlarm, ...]:
        """Of all queries, removed ones among them, the newest last."""
        return self._alarms.all()

    def keep_shares(self, keep: fx.KeepShares) -> None:
        self._manifest.run(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            (shares_key(keep.query), msgspec.msgpack.encode(keep.tables)),
        )

    def trim(self, trim: fx.Trim) -> None:
        done = (trim.query, trim.done_through)
        self._alarms.trim(*done)
        self._manifest.run("DELETE FROM damaged WHERE query = ? AND pane < ?", done)
        self._manifest.run("INSERT OR REPLACE INTO done VALUES (?, ?)", done)
        self._manifest.run("DELETE FROM summaries WHERE query = ? AND pane < ?", done)
        self._manifest.run("DELETE FROM answers WHERE query = ? AND last_pane < ?", done)
        self._manifest.after_commit(
            lambda: self.rows.drop_merges(trim.query, below=trim.done_through)
        )

    def mend(self, query: str) -> tuple[KeptSummary, ...]:
        """Set aside what was found to be damaged and begin a new incarnation, in one transaction.

        Returns what is gone, without its rows; () and nothing changes if nothing is. Nobody
        may write for this query meanwhile, and its root must be restored from here afterwards.
        """
        with self._manifest.lock:
            numbers = [(query, number) for number in self.rows.damaged(query)]
            if not numbers:
                return ()
            incarnation = self._next_incarnation()
            lost: list[KeptSummary] = []
            with self._manifest.transaction():
                for key in numbers:
                    self._manifest.run(
                        "INSERT INTO damaged SELECT query, number, pane, coverage, checksum, data "
                        "FROM summaries WHERE query = ? AND number = ?",
                        key,
                    )
                    rows = self._manifest.all(
                        "DELETE FROM summaries WHERE query = ? AND number = ? "
                        "RETURNING number, pane, coverage",
                        key,
                    )
                    where = f"a damaged summary of {query}, in {self._manifest.path},"
                    lost += [
                        KeptSummary(n, p, coverage_in(c, where), None, True) for n, p, c in rows
                    ]
                self._manifest.run(
                    "UPDATE meta SET value = ? WHERE key = 'incarnation'", (str(incarnation),)
                )
                self._manifest.after_commit(lambda: self._mended(query, incarnation))
            return tuple(lost)

    def _mended(self, query: str, incarnation: int) -> None:
        self.incarnation = incarnation
        self.rows.mended(query)

    def _next_incarnation(self) -> int:
        return incarnation_above(self.incarnation, chance=secrets.randbits(CHANCE_BITS))

    def rise_above(self, former: int) -> int:
        """Sites know a higher incarnation of this ledger, which was lost: take one above it."""
        chance = secrets.randbits(CHANCE_BITS)
        with self._manifest.transaction():
            incarnation = incarnation_above(max(former, self.incarnation), chance=chance)
            self._manifest.run(
                "UPDATE meta SET value = ? WHERE key = 'incarnation'", (str(incarnation),)
            )
            self._manifest.after_commit(lambda: self._risen(incarnation))
        return incarnation

    def _risen(self, incarnation: int) -> None:
        self.incarnation = incarnation

    def publish(
        self,
        query: Query,
        answers: Sequence[WindowAnswered],
        rows: Mapping[int, pa.Table | RowPieces],
        results: ResultsWriter,
    ) -> int:
        """Publish the answers of windows with their rows, and remember them, in one step.

        A crash leaves both or neither, once ``finish_results`` was called. Returns the number of
        the publication. Raises ``DiskFull`` or ``DiskTrouble`` with nothing changed. If readers
        can't see it yet, ``results.trouble`` says why: call ``finish_results`` until it is empty.
        """
        with results.lock:
            stream = query.id.name
            # What is prepared under a number that may be committed must stay as it is.
            self._manifest.refuse_if_broken()
            if not results.is_recovered:
                self.finish_results(stream, results)
            published = [Published(a.envelope, rows.get(a.window)) for a in answers]
            seq = results.prepare(published)
            with self._manifest.transaction():
                self.rows.refuse_ended(str(query.id))
                self._refuse_published(str(query.id), answers)
                self._manifest.run("INSERT OR REPLACE INTO published VALUES (?, ?)", (stream, seq))
                self._manifest.run_many(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                    (
                        (
                            str(query.id),
                            answer.window,
                            query.window.panes_of(answer.window)[-1],
                            msgspec.msgpack.encode(
                                msgspec.structs.replace(answer, envelope=one.stamped())
                            ),
                        )
                        for answer, one in zip(answers, published, strict=True)
                    ),
                )
            with contextlib.suppress(StoreError):  # published: ``results.trouble`` says the rest
                results.finish(seq)
            return seq

    def _refuse_published(self, query: str, answers: Sequence[WindowAnswered]) -> None:
        for answer in answers:
            row = self._manifest.first(
                "SELECT content FROM answers WHERE query = ? AND window = ?", (query, answer.window)
            )
            if row is None:
                continue
            known = msgspec.msgpack.decode(row[0], type=WindowAnswered)
            if known.revision >= answer.revision:
                raise AlreadyPublished(
                    f"{query}, window {answer.window}: wanted a revision above {known.revision}, "
                    f"which is published, got {answer.revision}"
                )

    def finish_results(self, stream: str, results: ResultsWriter) -> None:
        """At the start, and after trouble: readers see what was half published, or not at all."""
        with results.lock:
            row = self._manifest.first("SELECT seq FROM published WHERE stream = ?", (stream,))
            results.recover(int(row[0]) if row is not None else 0)

    def restore(self, query: str) -> RootKept:
        """All that a root needs to take up where it ended; rows stay here. Raises
        ``UnreadableRow``, and nothing is changed."""
        with self._manifest.lock:
            return restored(self._manifest, query, last_number=self._last_number(query))

    def queries(self) -> tuple[str, ...]:
        """Those of which anything is kept."""
        if self._manifest.is_untouched:
            return ()
        tables = ("summaries", "states", "answers", "done")
        union = " UNION ".join(f"SELECT query FROM {table}" for table in tables)
        union += " UNION SELECT query FROM alarms WHERE is_ended = 0"
        return tuple(query for (query,) in self._manifest.all(f"{union} ORDER BY 1"))

    def forget(self, query: str) -> None:
        """The query was removed; what was published stays, and so do its alarms."""
        with self._manifest.transaction():
            self._alarms.end(query)
            self._manifest.run("DELETE FROM meta WHERE key = ?", (shares_key(query),))
            for table in ("summaries", "states", "answers", "done", "damaged", "numbers"):
                self._manifest.run(f"DELETE FROM {table} WHERE query = ?", (query,))
            self._manifest.after_commit(lambda: self.rows.ended(query))


def _encoded(query: str, kept: KeptSummary) -> tuple[object, ...]:
    data = checksum = None
    if kept.rows is not None:
        if not isinstance(kept.rows, pa.Table):
            raise StoreError(
                f"summary {kept.number} of {query}: rows are not decoded; wanted a table"
            )
        data = table_image(kept.rows)
        checksum = checksum_of(data)
    coverage = msgspec.msgpack.encode(PackedCoverage.of(kept.coverage))
    has_rows = kept.rows is not None
    return (query, kept.number, kept.pane, coverage, has_rows, checksum, data)
