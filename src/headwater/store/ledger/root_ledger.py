"""What a root holds, on disk: accepted summaries, states of sites, answers, how far it is done.

A root acknowledges only what is durable, and it does so every few seconds for hundreds of sites:
all that a tick accepted is written in one transaction, which costs one sync. Rows are kept in the
same SQLite file, each summary's as one compressed Arrow stream with a checksum: they are many and
small, and a file for each would cost two syncs and an inode.

Merging is left to the reader: the rows of a pane are merged when an answer needs them, and the
merge is kept in memory with the number up to which it goes, so that the next revision adds only
what is new. That holds because numbers only rise: a lower one is refused, also when the summary
that had it is gone.

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

from headwater.algebra.coverage import Coverage
from headwater.algebra.incarnation import CHANCE_BITS, incarnation_above, new_incarnation
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.summary import Merger
from headwater.algebra.words.acknowledgement import LIFE_BITS
from headwater.algebra.words.alarm import NO_SITE, Alarm, AlarmKind
from headwater.algebra.words.close_digest import Close
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.errors import (
    AlreadyPublished,
    PaneIsLarge,
    RowsGone,
    SegmentDamaged,
    StoreError,
    UnreadableRow,
)
from headwater.node import effects as fx
from headwater.plan.query import Query
from headwater.root.carriers.alarm_book import ALARM_KEPT_S, StandingAlarm
from headwater.root.outputs import KeptSummary, RootKept, WindowAnswered
from headwater.store.disk import Disk
from headwater.store.ledger.root_schema import ROOT_SCHEMA
from headwater.store.manifest import Manifest
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter
from headwater.store.row_value import read_row, row_value
from headwater.store.segments import checksum_of, table_image
from headwater.store.table_cache import TableCache

CACHE_BYTES_MAX = 128 << 20
ENDED_ALARMS_MAX = 1_000
"""Alarms of removed queries that are kept, the newest; all go when they are old."""
ENDED_MAX = 10_000
"""Removed queries that are remembered until the process ends: an answer that was under way when its
query was removed may still ask for rows. Answers last minutes at most."""

_agreed = msgspec.msgpack.Decoder(tuple[int, tuple[Close, ...], int])


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
        self._merger_of = merger_of
        self._clock = clock
        self._cache = TableCache(cache_bytes_max)
        """Summaries by (query, number), merges by (query, pane, number through which they go): a
        table can't be taken for a merge that goes further."""
        self._merged_through: dict[tuple[str, int], int] = {}
        """Up to which number the merge of a pane in the cache goes."""
        self._losses = 0
        """How often summaries were taken away that were not done: merges made meanwhile go."""
        self._damaged: dict[str, set[int]] = {}
        """By query: the numbers of summaries that turned out to be damaged."""
        self._images: Iterator[tuple[object, ...]] = iter(())
        """Of the summaries that the present transaction writes, in order."""
        self._ended: dict[str, None] = {}
        """Queries that this process saw removed, oldest first."""
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
        number, rows = kept.number, kept.rows
        self._ended.pop(query, None)
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
        if rows is not None:
            self._manifest.after_commit(lambda: self._cache.put((query, number), rows))

    def _take_out(self, replace: fx.Replace) -> None:
        """Others come in their place: who reads the pane meanwhile must not keep its merge."""
        for number in replace.numbers:
            key = (replace.query, number)
            self._manifest.run("DELETE FROM summaries WHERE query = ? AND number = ?", key)
        self._manifest.after_commit(lambda: self._taken_out(replace))

    def _taken_out(self, replace: fx.Replace) -> None:
        self._losses += 1
        for number in replace.numbers:
            self._cache.drop((replace.query, number))
        self._drop_merge(replace.query, replace.pane)

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
        standing = keep.standing
        self._manifest.run(
            "INSERT OR REPLACE INTO alarms VALUES (?, ?, ?, ?, 0, ?)",
            (
                keep.query,
                standing.number,
                standing.alarm.last,
                standing.last_s,
                msgspec.msgpack.encode(standing),
            ),
        )

    def keep_shares(self, keep: fx.KeepShares) -> None:
        self._manifest.run(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            (_shares_key(keep.query), msgspec.msgpack.encode(keep.tables)),
        )

    def _shares(self, query: str) -> tuple[ShareTable, ...]:
        key = (_shares_key(query),)
        row = self._manifest.first("SELECT value FROM meta WHERE key = ?", key)
        where = f"the shares of {query}, in {self._manifest.path},"
        return () if row is None else row_value(row[0], tuple[ShareTable, ...], where=where)

    def alarms(self) -> tuple[StandingAlarm, ...]:
        """Of all queries, removed ones among them, the newest last."""
        if self._manifest.is_untouched:
            return ()
        found = self._manifest.all("SELECT * FROM alarms ORDER BY last_s, query, number")
        return tuple(self._alarm(*row) for row in found)

    def _alarm(
        self, query: str, number: int, last_pane: int, last_s: float, _: int, content: bytes
    ) -> StandingAlarm:
        """One that can't be read hides no other: it is shown as far as its row tells."""
        try:
            where = f"alarm {number} of {query}, in {self._manifest.path},"
            return row_value(content, StandingAlarm, where=where)
        except UnreadableRow as error:
            panes = (last_pane, last_pane)
            alarm = Alarm.of(AlarmKind.UNNAMED, query, NO_SITE, panes, str(error))
            return StandingAlarm(number, alarm, 1, last_s, last_s)

    def trim(self, trim: fx.Trim) -> None:
        done = (trim.query, trim.done_through)
        self._manifest.run(
            "DELETE FROM alarms WHERE query = ? AND last_pane < ? AND last_s < ?",
            (*done, self._clock() - ALARM_KEPT_S),
        )
        self._manifest.run("DELETE FROM damaged WHERE query = ? AND pane < ?", done)
        self._manifest.run("INSERT OR REPLACE INTO done VALUES (?, ?)", done)
        self._manifest.run("DELETE FROM summaries WHERE query = ? AND pane < ?", done)
        self._manifest.run("DELETE FROM answers WHERE query = ? AND last_pane < ?", done)
        self._manifest.after_commit(lambda: self._drop_merges(trim.query, below=trim.done_through))

    def pane_rows(
        self, query: str, pane: int, *, kept_through: int, bytes_max: int = FOREVER
    ) -> pa.Table | None:
        """The rows of all summaries of a pane up to this number, as one; None: there are none.

        Raises ``SegmentDamaged`` when a checksum does not match; ``mend`` takes it out. Raises
        ``PaneIsLarge`` when more than ``bytes_max`` would be in memory to merge them.
        """
        with self._manifest.lock:
            losses = self._losses
            parts = []
            byte_count = 0
            for part in self.pane_parts(query, pane, kept_through=kept_through):
                parts.append(part)
                byte_count += part.nbytes
                if byte_count > bytes_max:
                    raise PaneIsLarge(f"{query}, pane {pane}: its rows are over {bytes_max} bytes")
        if not parts:
            return None
        merged = parts[0] if len(parts) == 1 else self._merger_of(query).merge(parts)
        with self._manifest.lock:
            if losses == self._losses:
                self._drop_merge(query, pane)
                self._cache.put((query, pane, kept_through), merged)
                self._merged_through[query, pane] = kept_through
        return merged

    def pane_stamps(
        self, query: str, panes: range, *, kept_through: int
    ) -> dict[int, tuple[int, int]]:
        """By pane that has rows: equal as long as these are the same. (A number is never used
        again, and higher ones come later: how many there are and the highest tell them all.)"""
        self._refuse_ended(query)
        found = self._manifest.all(
            "SELECT pane, COUNT(*), MAX(number) FROM summaries WHERE query = ? AND pane >= ? "
            "AND pane < ? AND has_rows = 1 AND number <= ? GROUP BY pane",
            (query, panes.start, panes.stop, kept_through),
        )
        return {pane: (count, last) for pane, count, last in found}

    def pane_parts(self, query: str, pane: int, *, kept_through: int) -> Iterator[pa.Table]:
        """The same rows as they were accepted, a summary at a time and unmerged.

        Raises ``SegmentDamaged`` after the last one if one of them does not match its checksum.
        """
        with self._manifest.lock:
            self._refuse_ended(query)
            start, merged = self._merged_part(query, pane, kept_through)
            numbers = self._manifest.all(
                "SELECT number FROM summaries WHERE query = ? AND pane = ? AND has_rows = 1 "
                "AND number > ? AND number <= ? ORDER BY number",
                (query, pane, start, kept_through),
            )
        yield from merged
        is_damaged = False
        for (number,) in numbers:
            with self._manifest.lock:
                self._refuse_ended(query)
                table = self._load(query, number)
            if table is not None:
                yield table
            is_damaged |= table is None
        if is_damaged:
            raise SegmentDamaged(self._damage_text(query, pane))

    def _merged_part(self, query: str, pane: int, kept_through: int) -> tuple[int, list[pa.Table]]:
        """The merge that is in memory, if it holds nothing beyond what is asked for."""
        through = self._merged_through.get((query, pane))
        if through is None or through > kept_through:
            return -1, []
        merged = self._cache.get((query, pane, through))
        return (-1, []) if merged is None else (through, [merged])

    def _load(self, query: str, number: int) -> pa.Table | None:
        """None: it is damaged."""
        cached = self._cache.get((query, number))
        if cached is not None:
            return cached
        row = self._manifest.first(
            "SELECT checksum, data FROM summaries WHERE query = ? AND number = ?", (query, number)
        )
        if row is None:
            raise RowsGone(f"summary {number} of {query}: its pane is done, or it was set aside")
        checksum, data = row
        if checksum_of(data) != checksum:
            self._damaged.setdefault(query, set()).add(number)
            return None
        return pa.ipc.open_stream(pa.BufferReader(data)).read_all()

    def _damage_text(self, query: str, pane: int) -> str:
        numbers = sorted(self._damaged[query])
        return (
            f"{self._manifest.path}: summaries {numbers} of {query}, the last of them of pane "
            f"{pane}: their bytes do not match their checksums; they are asked for again"
        )

    def mend(self, query: str) -> tuple[KeptSummary, ...]:
        """Set aside what was found to be damaged and begin a new incarnation, in one transaction.

        Returns what is gone, without its rows; () and nothing changes if nothing is. Nobody
        may write for this query meanwhile, and its root must be restored from here afterwards.
        """
        with self._manifest.lock:
            numbers = [(query, number) for number in sorted(self._damaged.get(query, ()))]
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
                    lost += [KeptSummary(n, p, _coverage(c, where), None, True) for n, p, c in rows]
                self._manifest.run(
                    "UPDATE meta SET value = ? WHERE key = 'incarnation'", (str(incarnation),)
                )
                self._manifest.after_commit(lambda: self._mended(query, incarnation))
            return tuple(lost)

    def _mended(self, query: str, incarnation: int) -> None:
        self.incarnation = incarnation
        self._losses += 1
        for number in self._damaged.pop(query):
            self._cache.drop((query, number))
        self._drop_merges(query)

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
                self._refuse_ended(str(query.id))
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
        ``UnreadableRow``, and nothing is changed: a ledger that lacks a row would acknowledge, or
        publish, what it does not know of."""
        with self._manifest.lock:
            summaries = self._manifest.all(
                "SELECT number, pane, coverage, has_rows FROM summaries WHERE query = ? "
                "ORDER BY number",
                (query,),
            )
            states = self._manifest.all(
                "SELECT content, since, agreed FROM states WHERE query = ? "
                "ORDER BY ordinal, incarnation",
                (query,),
            )
            answers = self._manifest.all(
                "SELECT content FROM answers WHERE query = ? ORDER BY window", (query,)
            )
            done = self._manifest.first("SELECT through FROM done WHERE query = ?", (query,))
            last_number = self._last_number(query)
            lost = self._manifest.all(
                "SELECT number, pane, coverage FROM damaged WHERE query = ? ORDER BY number",
                (query,),
            )
            alarms = self._manifest.all(
                "SELECT content FROM alarms WHERE query = ? ORDER BY number", (query,)
            )

        def where(what: str) -> str:
            return f"{what} of {query}, in {self._manifest.path},"

        return RootKept(
            query,
            tuple(
                KeptSummary(
                    number,
                    pane,
                    _coverage(coverage, where(f"summary {number}")),
                    None,
                    bool(has_rows),
                )
                for number, pane, coverage, has_rows in summaries
            ),
            tuple(_kept_state(query, *row, where=where("a state")) for row in states),
            tuple(row_value(one, WindowAnswered, where=where("an answer")) for (one,) in answers),
            int(done[0]) if done is not None else None,
            last_number,
            tuple(
                KeptSummary(n, p, _coverage(c, where(f"damaged summary {n}")), None, True)
                for n, p, c in lost
            ),
            tuple(row_value(one, StandingAlarm, where=where("an alarm")) for (one,) in alarms),
            self._shares(query),
        )

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
            self._end_alarms(query)
            self._manifest.run("DELETE FROM meta WHERE key = ?", (_shares_key(query),))
            for table in ("summaries", "states", "answers", "done", "damaged", "numbers"):
                self._manifest.run(f"DELETE FROM {table} WHERE query = ?", (query,))
            self._manifest.after_commit(lambda: self._forgotten(query))

    def _end_alarms(self, query: str) -> None:
        self._manifest.run("UPDATE alarms SET is_ended = 1 WHERE query = ?", (query,))
        since_s = self._clock() - ALARM_KEPT_S
        self._manifest.run("DELETE FROM alarms WHERE is_ended = 1 AND last_s < ?", (since_s,))
        self._manifest.run(
            "DELETE FROM alarms WHERE is_ended = 1 AND (query, number) NOT IN ("
            "SELECT query, number FROM alarms WHERE is_ended = 1 "
            "ORDER BY last_s DESC, query, number LIMIT ?)",
            (ENDED_ALARMS_MAX,),
        )

    def _refuse_ended(self, query: str) -> None:
        """Without its summaries an answer of it would have no rows, and say that it is exact."""
        if query in self._ended:
            raise RowsGone(f"query {query}: it was removed; nothing more of it is answered")

    def _forgotten(self, query: str) -> None:
        self._ended[query] = None
        if len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        self._losses += 1
        self._damaged.pop(query, None)
        self._drop_merges(query)

    def _drop_merges(self, query: str, *, below: int = FOREVER) -> None:
        for known, pane in list(self._merged_through):
            if known == query and pane < below:
                self._drop_merge(query, pane)

    def _drop_merge(self, query: str, pane: int) -> None:
        through = self._merged_through.pop((query, pane), None)
        if through is not None:
            self._cache.drop((query, pane, through))


def _shares_key(query: str) -> str:
    return f"shares of {query}"


def _coverage(content: bytes, where: str) -> Coverage:
    return row_value(content, PackedCoverage, where=where).coverage()


def _kept_state(
    query: str, content: bytes, since: int, agreed: bytes | None, *, where: str
) -> fx.KeepState:
    state = row_value(content, SiteState, where=where)
    known: tuple[int, tuple[Close, ...], int] = (-FOREVER, (), 0)
    if agreed is not None:
        known = read_row(lambda: _agreed.decode(agreed), where=where)
    return fx.KeepState(query, state, since, *known)


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
