"""Published answers on disk: ``results/<stream>/`` with files that anything can read.

A publication is one file of headers and one of rows with the same number; numbers rise by one.
Both are written under hidden names and synced; renaming the headers is what publishes them, and
the rows are renamed before. A reader that finds headers therefore finds their rows.

Where a ledger keeps count of what was published, its transaction lies between ``prepare`` and
``finish``: after a crash ``recover`` finishes what the ledger has, and removes what it has not. So
a revision is published exactly once. Where readers can't be shown a publication that is committed,
``trouble`` says why, and ``recover`` tries again.

Publications are numbered in the order in which they were made. The newest answer of a window is the
one in the newest publication that has it.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.errors import StoreError
from headwater.root.said.envelope import Envelope
from headwater.root.said.published_files import file_name, published
from headwater.store.disk import Disk, explained, make_durably
from headwater.store.parquet_stream import parquet_pieces
from headwater.store.results.publication import (
    ROW_FIELDS,
    Published,
    envelope_of,
    headers_table,
    row_pieces,
)
from headwater.store.segments import parquet_image

PUBLICATIONS_MAX = 100_000
"""Of one stream; beyond it the oldest are removed."""
_HIDDEN = re.compile(r"\.(?:headers|rows)-(\d{12})\.parquet")


class ResultsWriter:
    """The only writer of a stream's directory. Who does several steps holds ``lock``."""

    def __init__(
        self, directory: Path, *, publications_max: int = PUBLICATIONS_MAX, disk: Disk | None = None
    ) -> None:
        self.directory = directory
        self._publications_max = publications_max
        self._disk = disk or Disk()
        self._make_directory()
        self.lock = threading.RLock()
        self.trouble = ""
        """Why a committed publication is still hidden; empty: none is."""
        self._numbers = _published(directory)
        self.last_seq = max(self._numbers, default=0)
        self.is_recovered = False
        """Nothing is hidden that a former process, or a try before, has left."""

    def recover(self, committed_seq: int | None = None) -> None:
        """After a crash: finish what was committed up to this number, remove what was not.

        Without a ledger (None) nothing that is hidden was committed.
        """
        with self.lock:
            if self.is_recovered:
                return
            with self._told(f"settling {self.directory}"):
                self._make_directory()
                hidden = sorted({int(m[1]) for m in self._names(_HIDDEN)})
                for seq in hidden:
                    if committed_seq is not None and seq <= committed_seq:
                        self._reveal(seq)
                    else:
                        self._remove(seq, hidden=True)
                self._disk.sync_directory(self.directory)
            self.last_seq = max(self.last_seq, committed_seq or 0)
            self.is_recovered = True

    def _make_directory(self) -> None:
        """Also anew: whoever wants the room may remove a stream's answers while it goes on."""
        with explained(f"making {self.directory}"):
            make_durably(self._disk, self.directory)

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """What goes wrong is to be seen until it is right."""
        try:
            with explained(what):
                yield
        except StoreError as error:
            self.trouble = str(error)
            raise
        self.trouble = ""

    def publish(self, answers: Sequence[Published]) -> int:
        """Publish answers of this stream, all or none; returns the publication's number."""
        with self.lock:
            self.recover()
            seq = self.prepare(answers)
            self.finish(seq)
            return seq

    def prepare(self, answers: Sequence[Published]) -> int:
        """Write the next publication, durable and hidden. Raises ``DiskFull`` with nothing left."""
        assert self.is_recovered, "recover comes first: it says what the next number is"
        seq = self.last_seq + 1
        headers, rows = (self._path(kind, seq, hidden=True) for kind in ("headers", "rows"))
        paths = [headers]
        try:
            with explained(f"publishing in {self.directory}"):
                self._make_directory()
                self._remove(seq, hidden=True)
                self._disk.write_new(headers, [parquet_image(headers_table(seq, answers))])
                if any(answer.rows is not None for answer in answers):
                    self._disk.write_new(rows, parquet_pieces(row_pieces(answers)))
                    paths.append(rows)
                self._disk.sync_files(paths)
                self._disk.sync_directory(self.directory)
        except StoreError:
            with contextlib.suppress(OSError):
                self._remove(seq, hidden=True)
            raise
        return seq

    def finish(self, seq: int) -> None:
        """Let readers see a prepared publication. Raises if they can't yet: ``recover`` goes on."""
        assert seq == self.last_seq + 1, "publications are finished in order, once"
        self.is_recovered = False
        with self._told(f"publishing in {self.directory}"):
            self._reveal(seq)
            self._disk.sync_directory(self.directory)
        self.last_seq = seq
        self.is_recovered = True
        self._trim()

    def _reveal(self, seq: int) -> None:
        """Rows first. Those that a try before this one revealed, or that there are not, are not
        hidden any more."""
        for kind in ("rows", "headers"):
            with contextlib.suppress(FileNotFoundError):
                self._disk.rename(
                    self._path(kind, seq, hidden=True), self._path(kind, seq, hidden=False)
                )
        self._numbers.append(seq)

    def _trim(self) -> None:
        while len(self._numbers) > self._publications_max:
            with contextlib.suppress(OSError):
                self._remove(self._numbers[0], hidden=False)
            del self._numbers[0]

    def _remove(self, seq: int, *, hidden: bool) -> None:
        """Headers first: rows without headers are nobody's."""
        for kind in ("headers", "rows"):
            self._disk.remove(self._path(kind, seq, hidden=hidden))

    def _path(self, kind: str, seq: int, *, hidden: bool) -> Path:
        return self.directory / f"{'.' if hidden else ''}{file_name(kind, seq)}"

    def _names(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        matches = (pattern.fullmatch(entry.name) for entry in self._disk.scan(self.directory))
        return [match for match in matches if match is not None]


class ResultsReader:
    """Reads a stream's directory while it is written, from any process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def publications(self, *, after: int = 0) -> list[int]:
        """The numbers of publications after this one, rising."""
        return [seq for seq in _published(self.directory) if seq > after]

    def headers(self, seq: int) -> pa.Table:
        return self._read("headers", seq)

    def envelopes(self, seq: int) -> list[Envelope]:
        return [envelope_of(text) for text in self.headers(seq)["envelope"].to_pylist()]

    def rows(self, seq: int) -> pa.Table | None:
        """The rows of all windows of a publication; None when there are none."""
        path = self._path("rows", seq)
        return pq.read_table(path) if path.exists() else None

    def window_rows(self, seq: int, envelope: Envelope) -> pa.Table | None:
        """The rows of one window of a publication, and little more of its file."""
        path = self._path("rows", seq)
        if not envelope.rows or not path.exists():
            return None
        start = pq.read_schema(path).field(0)
        wanted = pc.field(start.name) == pa.scalar(envelope.start_us, start.type)
        return pq.read_table(path, filters=wanted)

    def answer(self, seq: int, envelope: Envelope) -> pa.Table | None:
        """The answer's own columns of one window of a publication, in its order."""
        rows = self.window_rows(seq, envelope)
        return None if rows is None else rows.select(range(len(ROW_FIELDS), rows.num_columns))

    def newest(self, *, after: int = 0) -> list[tuple[int, Envelope]]:
        """The newest answer of each window, as (publication, envelope), by query and window: that
        of its newest publication, whatever the revision says.

        Every header after this publication is read, so who follows a stream gives the last one.
        """
        found: dict[tuple[str, int], tuple[int, Envelope]] = {}
        for seq in self.publications(after=after):
            for envelope in self.envelopes(seq):
                found[envelope.query, envelope.window] = (seq, envelope)
        return [found[key] for key in sorted(found)]

    def newest_of(self, query: str, window: int) -> Envelope | None:
        """The newest answer of one window; None: there is none, or it is no longer there."""
        for seq in reversed(self.publications()):
            with contextlib.suppress(StoreError):  # it was the oldest, and is removed by now
                for envelope in self.envelopes(seq):
                    if (envelope.query, envelope.window) == (query, window):
                        return envelope
        return None

    def _read(self, kind: str, seq: int) -> pa.Table:
        path = self._path(kind, seq)
        try:
            return pq.read_table(path)
        except FileNotFoundError:
            raise StoreError(
                f"{path}: this publication is not there; the newest are "
                f"{_published(self.directory)[-3:]}"
            ) from None

    def _path(self, kind: str, seq: int) -> Path:
        return self.directory / file_name(kind, seq)


def _published(directory: Path) -> list[int]:
    return published(path.name for path in directory.iterdir()) if directory.is_dir() else []
