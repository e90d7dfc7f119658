"""Reading on in one file: whole lines into chunks, up to the bounds of the spool and the poll."""

from __future__ import annotations

import msgspec

from headwater.errors import StoreError
from headwater.store.chunk import NewCut
from headwater.store.disk import explained
from headwater.store.followed_file import Followed, extended
from headwater.store.identity import ReadAt
from headwater.store.poll import FollowConfig
from headwater.store.spool import Spool
from headwater.store.whole_lines import whole_lines


class Reading(msgspec.Struct):
    """What reading on in a file gave; ``file`` is it as it will be once this is registered."""

    file: Followed
    cuts: list[NewCut]
    skipped_lines: int = 0
    is_behind: bool = False
    """Whole lines are left in the file."""


class Cutter:
    """Cuts chunks for one poll. Nothing counts until the poll registers it."""

    def __init__(self, spool: Spool, config: FollowConfig, *, stem: str) -> None:
        self.stalled = ""
        """Why no more can be cut in this poll, for people."""
        self.bytes = 0
        self._spool = spool
        self._config = config
        self._stem = stem

    def read_on(self, reading: Reading, read_at: ReadAt, size: int) -> None:
        """Cut what lies between the position and ``size``. Raises ``OSError`` of the source; the
        caller then discards what was cut so far."""
        while not reading.is_behind and reading.file.position < size:
            position = reading.file.position
            block = read_at(min(self._config.cut_bytes_max, size - position), position)
            is_doubtful = position < reading.file.doubtful
            if is_doubtful:
                block = _lines_before(block, reading.file.doubtful - position)
            stretch = whole_lines(
                block,
                line_bytes_max=self._config.line_bytes_max,
                skipping=reading.file.skipping,
            )
            if stretch.consumed == 0:
                break
            if stretch.kept:
                pieces = [memoryview(block)[start:end] for start, end in stretch.kept]
                chunk = self._write(pieces, stretch.kept_bytes)
                if chunk is None:
                    reading.is_behind = True
                    break
                end = position + stretch.consumed
                count = stretch.kept_bytes
                cut = NewCut(reading.file.path, position, end, chunk, count, count, is_doubtful)
                reading.cuts.append(cut)
            reading.skipped_lines += stretch.skipped_lines
            reading.file = msgspec.structs.replace(
                reading.file,
                print=extended(reading.file.print, memoryview(block)[: stretch.consumed]),
                skipping=stretch.skipping,
            )

    def _write(self, pieces: list[memoryview], count: int) -> str | None:
        """A chunk's name, or None when there is no room for it now."""
        if not self.stalled and not self._spool.has_room(count):
            self.stalled = f"the spool is full ({self._spool.bytes_max} bytes)"
        if self.stalled or (self.bytes and self.bytes + count > self._config.poll_bytes_max):
            return None
        try:
            with explained("spooling"):
                name = self._spool.write(self._stem, pieces)
        except StoreError as error:
            self.stalled = str(error)
            return None
        self.bytes += count
        return name

    def discard(self, cuts: list[NewCut]) -> None:
        """Give back chunks that will not be registered."""
        freed = sum(cut.spooled_bytes for cut in cuts)
        self.bytes -= freed
        self._spool.remove((cut.chunk for cut in cuts), bytes_freed=freed)


def _lines_before(block: bytes, count: int) -> bytes:
    """The lines that begin within the first ``count`` bytes, as far as they are there."""
    end = block.find(b"\n", count - 1) + 1
    return block[:end] if end else block
