"""The numbered cuts of input: what was found, what is committed, what may be forgotten.

A Spark offset is a cut number. Followers register cuts once their bytes are safe; a committed
batch moves ``committed_cut`` in its own transaction; a chunk is freed when no Spark will ask for
it again. Spark repeats at most its newest batch, so a chunk goes when the batch *after* its own is
committed, or when a new epoch (a new checkpoint) begins at the committed cut.

A source may be forgotten while a poll or a batch of it is under way, and made anew under the same
name. Whoever still has the old one is refused (``SourceForgotten``, ``EpochOver``): its number and
its epochs are never those of the new one. A chunk is lost only where its own directory says that it
is not there; a disk that does not answer is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from headwater.algebra.far_times import LONG_AGO_S
from headwater.edge.report import BatchReport
from headwater.errors import DiskTrouble, SourceForgotten, StoreError, UnreadableRow
from headwater.plan.readings import ASIDE, aside_reading, is_aside, is_past, source_of
from headwater.reading.chunk import Chunk
from headwater.reading.columnar import SCHEMA_MARK
from headwater.store.disk import Disk, explained, identity_of
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.places import Places
from headwater.store.input.new_cut import NewCut
from headwater.store.input.source_state import Aside, Loss, Past, SourceState
from headwater.store.input.spool import Spool, held_name
from headwater.store.manifest import Manifest, Row
from headwater.store.past.past_file import PastFile
from headwater.store.row_value import row_value

PENDING_BYTES_MAX = 64 << 20
PENDING_COUNT_MAX = 1_000
HEADERS_MAX = 16
"""Headers of files in one batch of a site: Spark plans a layout for each; further ones come with
the next batch."""
CUTS_MAX = (1 << 63) - 1
"""No cut has a higher number."""
REMOVE = "; remove the streams of this source, and run them again"


class CutLog:
    """The cuts of all sources of a cube. Safe to use from several threads."""

    def __init__(
        self,
        manifest: Manifest,
        spool: Spool,
        *,
        disk: Disk,
        loss_heard: Callable[[str], int | None] = lambda source: None,
    ) -> None:
        """``loss_heard``: up to which loss of a source all records know; None: nobody reads it."""
        self._loss_heard = loss_heard
        self.spool = spool
        self._manifest = manifest
        self._disk = disk
        self._sources: dict[str, SourceState] = {}
        with explained(f"looking at {spool.directory}"):
            self._spool_identity = identity_of(disk, spool.directory)
        if not manifest.is_untouched:
            self._load()

    @property
    def disk(self) -> Disk:
        """For those who read the sources, too, unless they are given another."""
        return self._disk

    def _load(self) -> None:
        columns = "id, name, ends, is_begun, epoch, last_cut, committed_cut"
        for id_, name, ends, begun, *rest in self._manifest.all(f"SELECT {columns} FROM sources"):
            self._sources[name] = SourceState(id_, name, bool(ends), bool(begun), *rest)
            if is_aside(name):
                self._sources[name].aside = self._aside_of(id_, name)
            elif is_past(name) and begun:
                self._sources[name].past = self._past_of(id_, name)
        by_id = {state.id: state for state in self._sources.values()}
        losses = self._manifest.all("SELECT id, source, bytes, lines, what FROM losses")
        for number, source, *loss in losses:
            by_id[source].losses[number] = Loss(*loss)
        self._load_waiting(by_id)
        rows = self._manifest.all("SELECT chunk, spooled_bytes FROM cuts WHERE chunk IS NOT NULL")
        held = {name for state in by_id.values() for name in self._held(state)}
        self.spool.sweep({chunk for chunk, _ in rows} | held)
        self.spool.bytes_used = sum(count for _, count in rows)

    def _load_waiting(self, by_id: dict[int, SourceState]) -> None:
        """What a former process has found; by no clock of this one."""
        waiting = (
            "SELECT source, max(cut), sum(cuts.bytes) FROM cuts JOIN sources ON id = source "
            "WHERE chunk IS NOT NULL AND cut > committed_cut GROUP BY source"
        )
        for source, last_cut, byte_count in self._manifest.all(waiting):
            by_id[source].wait(last_cut, byte_count, LONG_AGO_S)

    def open_source(self, name: str, *, ends: bool = False) -> SourceState:
        """The source, made if it is new. Whether its input ends can't be changed later."""
        with self._manifest.lock:
            if name not in self._sources:
                with self._manifest.transaction():
                    (number,) = self._manifest.one(
                        "INSERT INTO sources (name, ends) VALUES (?, ?) RETURNING id",
                        (self._manifest.name_prefix + name, ends),
                    )
                    made = SourceState(int(number), name, ends, False, 0, 0, 0)
                    self._manifest.after_commit(lambda: self._swap({**self._sources, name: made}))
            state = self._sources[name]
        if state.ends != ends:
            kind = "finite" if state.ends else "growing"
            raise StoreError(f"source {name}: it was opened as a {kind} input and stays one")
        return state

    def _swap(self, sources: dict[str, SourceState]) -> None:
        """In one step: other threads look a source up without the lock."""
        self._sources = sources

    def state(self, name: str) -> SourceState:
        """Raises ``SourceForgotten`` if there is none of this name (any more)."""
        found = self._sources.get(name)
        if found is None:
            known = sorted(self._sources)[:20]
            raise SourceForgotten(f"no source {name!r} here; sources: {known}")
        return found

    def refuse_forgotten(self, state: SourceState) -> None:
        """Under the lock: raises ``SourceForgotten`` for a source that is not here any more."""
        if self._sources.get(state.name) is not state:
            raise SourceForgotten(
                f"source {state.name}: it was forgotten (number {state.id}); nothing is written"
            )

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._sources))

    def forget_source(self, name: str) -> None:
        """Drop a source that no query reads: its cuts, chunks and positions."""
        with self._manifest.transaction():
            state = self.state(name)
            chunks = self._chunks(state, through=state.last_cut)
            held = self._held(state)
            self._manifest.run("DELETE FROM sources WHERE id = ?", (state.id,))
            self._manifest.after_commit(lambda: self._forgotten(name, chunks, held))

    def _forgotten(self, name: str, chunks: Iterable[tuple[str, int]], held: list[str]) -> None:
        self._swap({other: state for other, state in self._sources.items() if other != name})
        self._remove_chunks(chunks)
        self.spool.remove(held, bytes_freed=0)

    def begin_epoch(self, name: str) -> int:
        """A new checkpoint starts at the committed cut, and older ones can't commit any more."""
        with self._manifest.transaction():
            state = self.state(name)
            freed = self._let_go(state, through=state.committed_cut)
            (epoch,) = self._manifest.one("UPDATE epochs SET last = last + 1 RETURNING last")
            self._manifest.run("UPDATE sources SET epoch = ? WHERE id = ?", (epoch, state.id))
            if state.epoch:
                self._manifest.run("DELETE FROM batches WHERE source = ?", (state.id,))
            self._manifest.after_commit(lambda: self._epoch_begun(state, int(epoch), freed))
        return int(epoch)

    def _epoch_begun(
        self, state: SourceState, epoch: int, freed: Iterable[tuple[str, int]]
    ) -> None:
        state.epoch = epoch
        self._remove_chunks(freed)

    def pending(
        self,
        name: str,
        *,
        after_cut: int | None = None,
        bytes_max: int = PENDING_BYTES_MAX,
        count_max: int = PENDING_COUNT_MAX,
    ) -> list[Chunk]:
        """Chunks after the committed cut (or a later one), oldest first: at least one, if any.

        What may have been read before is not mixed with what was not, so that a batch knows which
        panes it puts in doubt. A chunk that has vanished from the spool is counted as lost and left
        out. Raises ``DiskTrouble`` where that can't be known now.
        """
        with self._manifest.lock:
            state = self.state(name)
            after = max(state.committed_cut, after_cut or 0)
            if after >= state.last_cut:  # asked four times a second, of every site
                return []
            # What a query does not count here, since it reads it as the past or by itself, is not
            # mixed with what it counts.
            besides = [one.after_cut for one in self.pasts_of(name).values()]
            besides += [one.after_cut for one in self.asides_of(name).values()]
            end = min((cut for cut in besides if cut > after), default=CUTS_MAX)
            rows = self._manifest.all(
                "SELECT cut, chunk, bytes, origin, poll_s, is_doubtful, header, spooled_bytes "
                "FROM cuts WHERE source = ? AND cut > ? AND cut <= ? AND chunk IS NOT NULL "
                "ORDER BY cut LIMIT ?",
                (state.id, after, end, count_max),
            )
        return self._bounded(state, rows, bytes_max)

    def pasts_of(self, name: str) -> dict[str, Past]:
        """The readings of this source's past that have begun, by name."""
        return {
            reading: state.past
            for reading, state in self._sources.items()
            if state.past is not None and source_of(reading) == name
        }

    def begin_past(
        self, state: SourceState, files: Iterable[PastFile], *, after: SourceState
    ) -> None:
        """A reading of the past begins: of ``after``, as its newest poll was registered. Raises
        ``SourceForgotten`` with nothing written if one of them is not here any more."""
        with self._manifest.transaction():
            self.refuse_forgotten(state)
            self.refuse_forgotten(after)
            past = Past(after.last_cut)
            self._manifest.run("UPDATE sources SET is_begun = 1 WHERE id = ?", (state.id,))
            self._write_files(state, files, (), past)
            self._manifest.after_commit(lambda: state.past_begun(past))

    def _past_of(self, source: int, name: str) -> Past:
        """Of one that can't be read nobody knows where it began: it is never over, and no live cut
        counts for its queries, until they are removed."""
        (content,) = self._manifest.one("SELECT content FROM places WHERE source = ?", (source,))
        try:
            return row_value(content, Past, where=f"where {name} began", hint=REMOVE)
        except UnreadableRow:
            return Past(CUTS_MAX)

    # What is set aside: see ``AsideLog``, inside whose transactions the first three are called

    def asides_of(self, name: str) -> dict[str, Aside]:
        """What was set aside of this source, by name."""
        return {
            reading: state.aside
            for reading, state in self._sources.items()
            if state.aside is not None and source_of(reading) == name
        }

    def new_aside(self, name: str, *, after_cut: int) -> SourceState:
        """Its cuts have the numbers that they had."""
        (number,) = self._manifest.one(
            "INSERT INTO sources (name, ends, is_begun, last_cut, committed_cut) "
            "VALUES (?, 1, 1, ?, ?) RETURNING id",
            (f"{self._manifest.name_prefix}{name}{ASIDE}", after_cut, after_cut),
        )
        made = aside_reading(name, int(number))
        named = (self._manifest.name_prefix + made, number)
        self._manifest.run("UPDATE sources SET name = ? WHERE id = ?", named)
        return SourceState(int(number), made, True, True, 0, after_cut, after_cut)

    def write_aside(self, state: SourceState, aside: Aside, rows: Sequence[Row]) -> None:
        """``rows``: of its new cuts, each with a chunk of its own."""
        self._manifest.run_many(
            "INSERT INTO cuts (source, cut, origin, first_byte, end_byte, poll_s, chunk, bytes, "
            "spooled_bytes, is_doubtful, header) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((state.id, *row) for row in rows),
        )
        last = (aside.after_cut, state.id)
        self._manifest.run("UPDATE sources SET last_cut = ? WHERE id = ?", last)
        self._manifest.run(
            "INSERT OR REPLACE INTO places VALUES (?, ?)", (state.id, msgspec.msgpack.encode(aside))
        )
        found = sum(row[6] for row in rows)
        spooled = sum(row[7] for row in rows)
        newest_s = max((row[4] for row in rows), default=LONG_AGO_S)

        def made() -> None:
            state.set_aside(aside, aside.after_cut, found, newest_s)
            self._swap({**self._sources, state.name: state})
            self.spool.linked(spooled)

        self._manifest.after_commit(made)

    def step_over(self, state: SourceState, through: int) -> None:
        """Nobody reads these cuts here: the committed cut moves past them, and past those behind
        them that are lost."""
        moved = self._step_over_lost(state, after=through)
        self._manifest.after_commit(lambda: state.committed(moved))

    def _aside_of(self, source: int, name: str) -> Aside | None:
        """None: nobody knows for whom it is, so nobody reads it, and its panes are declined when
        their time is over."""
        row = self._manifest.first("SELECT content FROM places WHERE source = ?", (source,))
        if row is None:
            return None
        try:
            return row_value(row[0], Aside, where=f"what {name} is for", hint=REMOVE)
        except UnreadableRow:
            return None

    def past_files(self, state: SourceState) -> list[PastFile]:
        rows = self._manifest.all("SELECT content FROM files WHERE source = ?", (state.id,))
        where = f"what was read of a file of {state.name}, in {self._manifest.path},"
        return [row_value(content, PastFile, where=where, hint=REMOVE) for (content,) in rows]

    def note_first(self, state: SourceState, former: Past, first_us: int | None) -> None:
        """Inside the transaction of a batch of a past: its earliest record has this time. Where it
        is the first one with records, that is where what is retained begins."""
        if former.first_us is not None or first_us is None:
            return
        past = Past(former.after_cut, first_us)
        self._write_files(state, (), (), past)
        self._manifest.after_commit(lambda: state.past_begun(past))

    def _bounded(self, state: SourceState, rows: list[Row], bytes_max: int) -> list[Chunk]:
        chunks: list[Chunk] = []
        total = 0
        headers: set[str] = set()
        for cut, chunk, count, origin, poll_s, is_doubtful, header, spooled in rows:
            if chunks and (total + count > bytes_max or chunks[0].is_doubtful != is_doubtful):
                break
            headers.add(header)
            if len(headers) > (1 if header.startswith(SCHEMA_MARK) else HEADERS_MAX):
                break
            path = self.spool.directory / chunk
            if not self._is_there(path, count):
                self._lose(state, cut, chunk, f"{path} has vanished from the spool")
                continue
            is_file = not spooled and bool(count)
            chunks.append(
                Chunk(cut, path, count, header, is_file, origin, poll_s, bool(is_doubtful))
            )
            total += count
        return chunks

    def _is_there(self, path: Path, count: int) -> bool:
        with explained(f"looking at {path}"):
            try:
                return self._disk.stat(path).st_size >= count
            except FileNotFoundError:
                self._refuse_if_elsewhere(path.parent)
                return False

    def _refuse_if_elsewhere(self, directory: Path) -> None:
        """What is not there may be on a disk that is not mounted just now: that is not lost."""
        try:
            identity = identity_of(self._disk, directory)
        except FileNotFoundError:
            identity = None
        is_other = directory == self.spool.directory and identity != self._spool_identity
        if identity is None or is_other:
            raise DiskTrouble(
                f"{directory}: wanted the directory in which chunks wait, found "
                f"{'none' if identity is None else 'another one'}; is its disk mounted?"
            )

    def origin(self, name: str, cut: int) -> str:
        """The file that a chunk is of; empty where the cut is not known any more."""
        with self._manifest.lock:
            row = self._manifest.first(
                "SELECT origin FROM cuts WHERE source = ? AND cut = ?", (self.state(name).id, cut)
            )
        return "" if row is None else str(row[0])

    def quarantine(self, name: str, cut: int, *, epoch: int | None = None) -> None:
        """A chunk that Spark can't read: set aside, counted as lost, and never offered again.

        With ``epoch``, that of whoever read it: raises ``EpochOver`` if it is not the source's.
        """
        with self._manifest.lock:
            state = self.state(name)
            if epoch is not None:
                state.refuse_other_epoch(epoch, f"cut {cut}")
            row = self._manifest.first(
                "SELECT chunk FROM cuts WHERE source = ? AND cut = ?", (state.id, cut)
            )
            if row is None or row[0] is None:
                return
            chunk = row[0]
            if not Path(chunk).is_absolute():
                self.spool.quarantine(chunk)
            self._lose(state, cut, chunk, f"Spark could not read {chunk}; it was set aside")

    def _lose(self, state: SourceState, cut: int, chunk: str, what: str) -> None:
        """Unless it was committed, or its source forgotten, since somebody looked."""
        with self._manifest.transaction():
            row = self._manifest.first(
                "SELECT bytes, spooled_bytes FROM cuts WHERE source = ? AND cut = ? AND chunk = ?",
                (state.id, cut, chunk),
            )
            if row is None or cut <= state.committed_cut:
                return
            count, spooled = row
            loss = Loss(count, 0, what)
            self._manifest.run(
                "UPDATE cuts SET chunk = NULL, spooled_bytes = 0 WHERE source = ? AND cut = ?",
                (state.id, cut),
            )
            number = self._write_loss(state, loss)
            through = self._step_over_lost(state, after=state.committed_cut)
            self._manifest.after_commit(lambda: state.lost(number, loss, through))
            self._manifest.after_commit(lambda: self.spool.remove((), bytes_freed=spooled))

    def _step_over_lost(self, state: SourceState, *, after: int) -> int:
        """Nobody will commit a batch for lost cuts alone: the committed cut moves past them."""
        row = self._manifest.one(
            "SELECT min(cut) FROM cuts WHERE source = ? AND cut > ? AND chunk IS NOT NULL",
            (state.id, after),
        )
        through = state.last_cut if row[0] is None else int(row[0]) - 1
        self._manifest.run("UPDATE sources SET committed_cut = ? WHERE id = ?", (through, state.id))
        return through

    def register(
        self,
        state: SourceState,
        cuts: Sequence[NewCut],
        *,
        poll_s: float,
        files: Iterable[Followed | PastFile] = (),
        gone: Iterable[int] = (),
        loss: Loss | None = None,
        places: Places | None = None,
    ) -> None:
        """Number the cuts and move their files' positions in one transaction.

        Raises ``SourceForgotten`` with nothing written if the source is not here any more.
        """
        with self._manifest.transaction():
            self.refuse_forgotten(state)
            last = state.last_cut + len(cuts)
            numbered = enumerate(cuts, start=state.last_cut + 1)
            self._manifest.run_many(
                "INSERT INTO cuts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((state.id, number, *cut.row(poll_s)) for number, cut in numbered),
            )
            self._manifest.run(
                "UPDATE sources SET is_begun = 1, last_cut = ? WHERE id = ?", (last, state.id)
            )
            self._write_files(state, files, gone, places)
            news = {} if loss is None else {self._write_loss(state, loss): loss}
            heard = self._delete_heard(state)
            found = sum(cut.bytes for cut in cuts)
            self._manifest.after_commit(lambda: state.registered(last, news, heard, found, poll_s))

    def files(self, state: SourceState) -> list[Followed]:
        """Raises ``UnreadableRow``: nobody knows what of such a file was read, so the source is not
        read until its streams are removed and it is forgotten with them."""
        rows = self._manifest.all("SELECT content FROM files WHERE source = ?", (state.id,))
        where = f"what was read of a file of source {state.name}, in {self._manifest.path},"
        return [row_value(content, Followed, where=where, hint=REMOVE) for (content,) in rows]

    def places(self, state: SourceState) -> Places | None:
        """None: nothing is known yet."""
        row = self._manifest.first("SELECT content FROM places WHERE source = ?", (state.id,))
        where = f"the places of source {state.name}, in {self._manifest.path},"
        return None if row is None else row_value(row[0], Places, where=where, hint=REMOVE)

    def polled(
        self,
        state: SourceState,
        *,
        started_s: float,
        is_clean: bool,
        has_unread: bool = False,
        is_behind: bool = False,
    ) -> BatchReport | None:
        """A poll is over. What it tells the edge if nothing waits for Spark; else a batch will."""
        with self._manifest.lock:
            self.refuse_forgotten(state)
            state.polled(
                started_s=started_s, is_clean=is_clean, has_unread=has_unread, is_behind=is_behind
            )
            is_idle = state.committed_cut == state.last_cut
            return state.report() if is_idle else None

    def doubtful_bytes(self, state: SourceState, *, through: int) -> int:
        """Inside a batch's transaction: of what it commits, how much may have been read before."""
        if state.ends and state.aside is None:  # each of its files is read once
            return 0
        (count,) = self._manifest.one(
            "SELECT coalesce(sum(bytes), 0) FROM cuts WHERE source = ? AND cut > ? AND cut <= ? "
            "AND chunk IS NOT NULL AND is_doubtful = 1",
            (state.id, state.committed_cut, through),
        )
        return int(count)

    def commit_cut(self, state: SourceState, through: int) -> None:
        """Inside a batch's transaction: move the committed cut, and free chunks when it is done.

        Everything up to the cut that was committed before may go: Spark has begun the batch after
        it, so it will not ask again.
        """
        freed = self._let_go(state, through=state.committed_cut)
        self._manifest.run("UPDATE sources SET committed_cut = ? WHERE id = ?", (through, state.id))
        heard = self._delete_heard(state)
        self._manifest.after_commit(lambda: state.committed(through, heard))
        self._manifest.after_commit(lambda: self._remove_chunks(freed))

    def _held(self, state: SourceState) -> list[str]:
        """Of a file whose row can't be read the link stays, if there is one."""
        rows = self._manifest.all("SELECT id, content FROM files WHERE source = ?", (state.id,))
        return [held_name(state.id, number) for number, content in rows if _may_be_held(content)]

    def _chunks(self, state: SourceState, *, through: int) -> list[tuple[str, int]]:
        rows = self._manifest.all(
            "SELECT chunk, spooled_bytes FROM cuts WHERE source = ? AND cut <= ? "
            "AND chunk IS NOT NULL",
            (state.id, through),
        )
        return [(chunk, count) for chunk, count in rows]

    def _let_go(self, state: SourceState, *, through: int) -> list[tuple[str, int]]:
        """Inside a transaction: forget these cuts. Returns their chunks, to be removed after it."""
        if not through:  # cuts are counted from 1
            return []
        chunks = self._chunks(state, through=through)
        self._manifest.run("DELETE FROM cuts WHERE source = ? AND cut <= ?", (state.id, through))
        return chunks

    def _remove_chunks(self, chunks: Iterable[tuple[str, int]]) -> None:
        ours = [(name, count) for name, count in chunks if not Path(name).is_absolute()]
        freed = sum(count for _, count in ours)
        self.spool.remove((name for name, _ in ours), bytes_freed=freed)

    def _write_files(
        self,
        state: SourceState,
        files: Iterable[Followed | PastFile],
        gone: Iterable[int],
        places: Places | Past | None,
    ) -> None:
        self._manifest.run_many(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?)",
            ((state.id, file.id, msgspec.msgpack.encode(file)) for file in files),
        )
        self._manifest.run_many(
            "DELETE FROM files WHERE source = ? AND id = ?", ((state.id, id_) for id_ in gone)
        )
        if places is not None:
            self._manifest.run(
                "INSERT OR REPLACE INTO places VALUES (?, ?)",
                (state.id, msgspec.msgpack.encode(places)),
            )

    def _write_loss(self, state: SourceState, loss: Loss) -> int:
        cursor = self._manifest.run(
            "INSERT INTO losses (source, bytes, lines, what) VALUES (?, ?, ?, ?)",
            (state.id, loss.bytes, loss.lines, loss.what),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _delete_heard(self, state: SourceState) -> list[int]:
        """Losses that were told and that every record knows of."""
        if not state.told:  # nearly always
            return []
        through = self._loss_heard(state.name)
        heard = [number for number in state.told if through is None or number <= through]
        self._manifest.run_many("DELETE FROM losses WHERE id = ?", ((n,) for n in heard))
        return heard


def _may_be_held(content: bytes) -> bool:
    try:
        return bool(row_value(content, Followed, where="a file").held)
    except UnreadableRow:
        return True
