"""Reading on in one file: whole lines into chunks, up to the bounds of the spool and the poll."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.errors import StoreError
from headwater.reading.form import Form
from headwater.reading.headers import (
    HEADER_BYTES_MAX,
    fields_before,
    fields_line_in,
    fields_symbol,
    header_of,
    line_at,
)
from headwater.reading.journal import record_end
from headwater.reading.record_starts import starts_in_file
from headwater.reading.records import whole_records
from headwater.reading.text import MARK_BYTES_MAX, Encoding, as_utf8, encoding_of, last_line_end
from headwater.store.disk import explained
from headwater.store.follow.followed_file import Followed, extended
from headwater.store.follow.poll import FollowConfig
from headwater.store.input.new_cut import NewCut
from headwater.store.input.spool import Spool
from headwater.store.input.whole_lines import Stretch, whole_lines
from headwater.store.recognise.identity import ReadAt


class Reading(msgspec.Struct):
    """What reading on in a file gave; ``file`` is it as it will be once this is registered."""

    file: Followed
    cuts: list[NewCut]
    skipped_lines: int = 0
    is_behind: bool = False
    """Whole lines are left in the file."""
    is_open: bool = False
    """Whole lines are left in it that further ones may go on with: the last record is not over."""


class Cutter:
    """Cuts chunks for one poll. Nothing counts until the poll registers it."""

    def __init__(
        self, spool: Spool, config: FollowConfig, *, stem: str, form: Form | None = None
    ) -> None:
        self.stalled = ""
        """Why no more can be cut in this poll, for people."""
        self.bytes = 0
        self._spool = spool
        self._config = config
        self._stem = stem
        self._form = form or Form()

    def read_on(
        self, reading: Reading, read_at: ReadAt, size: int, *, is_still: bool = False
    ) -> None:
        """Cut what lies between the position and ``size``. Raises ``OSError`` of the source; the
        caller then discards what was cut so far. ``is_still``: nothing has been written to it for
        so long that its last record is taken to be over."""
        encoding = Encoding()
        if reading.file.position < size:
            encoding = encoding_of(read_at(MARK_BYTES_MAX, 0), self._form)
        header = ""
        if self._form.has_header:
            header = header_of(read_at(HEADER_BYTES_MAX, 0), self._form)
        while not reading.is_behind and reading.file.position < size:
            position = reading.file.position
            block = read_at(min(self._config.cut_bytes_max, size - position), position)
            is_doubtful = position < reading.file.doubtful
            if is_doubtful and not self._form.separator:
                block = _lines_before(block, reading.file.doubtful - position)
            if self._form.has_fields_lines:
                block = self._below_one_header(reading, read_at, block, encoding)
                header = reading.file.fields
            stretch = self._stretch(block, reading.file, encoding)
            is_last = position + len(block) == size
            if stretch.consumed == 0 and is_last and reading.file.packed:
                stretch = _last_line(block)
            if stretch.consumed == 0 and self._form.record_start:
                end = last_line_end(block, encoding.line_feed)
                reading.is_open = end > 0 and not is_still
                stretch = self._whole(end if is_still else 0, block)
            if stretch.consumed == 0:
                break
            if stretch.kept:
                pieces: list[bytes | memoryview]
                pieces = [memoryview(block)[start:end] for start, end in stretch.kept]
                if position == 0 and not stretch.kept[0][0]:
                    pieces[0] = pieces[0][encoding.mark_bytes :]
                if not encoding.is_utf8:
                    pieces = [as_utf8(bytes(piece), encoding) for piece in pieces]
                chunk = self._write(pieces, sum(map(len, pieces)))
                if chunk is None:
                    reading.is_behind = True
                    break
                end = position + stretch.consumed
                count = sum(map(len, pieces))
                cut = NewCut(
                    reading.file.path, position, end, chunk, count, count, is_doubtful, header
                )
                reading.cuts.append(cut)
            reading.skipped_lines += stretch.skipped_lines
            reading.file = msgspec.structs.replace(
                reading.file,
                print=extended(reading.file.print, memoryview(block)[: stretch.consumed]),
                skipping=stretch.skipping,
            )

    def _stretch(self, block: bytes, file: Followed, encoding: Encoding) -> Stretch:
        """What is whole in the block: lines, or records over several lines."""
        if self._form.record_start:
            return self._whole_records(block, file, encoding)
        if encoding.line_feed != b"\n":
            return self._whole(last_line_end(block, encoding.line_feed), block)
        if self._form.quoting is not None:
            ends = whole_records(block, self._form.quoting, is_last=False)
            return self._whole(int(ends[-1]) if len(ends) else 0, block)
        if self._form.has_blank_lines:
            return self._whole(record_end(block), block)
        if b"\n" not in block and (end := block.rfind(b"\r", 0, len(block) - 1) + 1):
            return self._whole(end, block)  # of an old Mac
        return whole_lines(
            block, line_bytes_max=self._config.line_bytes_max, skipping=file.skipping
        )

    def _whole_records(self, block: bytes, file: Followed, encoding: Encoding) -> Stretch:
        """Up to where the last record begins. One that does not fit a block ends with a line. Where
        nothing of a file has been read, and it is not begun at its beginning, the rest of a record
        that was there before is stepped over."""
        is_rest = file.skipping or (file.position > 0 and file.print.checksum is None)
        starts = starts_in_file(block, self._form.record_start, encoding, is_rest=is_rest)
        through = last_line_end(block, encoding.line_feed)
        if is_rest and not len(starts):
            return Stretch((), through, 0, skipping=through > 0 or file.skipping)
        if is_rest and starts[0] > 0:
            return Stretch((), int(starts[0]), 0, skipping=False)
        end = int(starts[-1]) if len(starts) else 0
        if not end and len(block) >= self._config.cut_bytes_max:
            end = through
        return self._whole(end, block)

    def _whole(self, end: int, block: bytes) -> Stretch:
        """Up to there; a block in which nothing ends, and that can't become longer, is stepped
        over."""
        if end:
            return Stretch(((0, end),), end, 0, skipping=False)
        if len(block) >= self._config.cut_bytes_max:
            return Stretch((), len(block), 1, skipping=False)
        return Stretch((), 0, 0, skipping=False)

    def _below_one_header(
        self, reading: Reading, read_at: ReadAt, block: bytes, encoding: Encoding
    ) -> bytes:
        """The block up to where the columns change; ``fields`` is then what names those in it."""
        position, known = reading.file.position, reading.file.fields
        if not known and position:
            known = fields_before(read_at, position, encoding)
        begin = 0 if position else encoding.mark_bytes
        if block.startswith(fields_symbol(encoding), begin) and encoding.line_feed in block:
            known = line_at(block, begin, encoding)
        at = fields_line_in(block, 0, encoding)
        while 0 <= at < len(block) and line_at(block, at, encoding) == known:
            at = fields_line_in(block, at + 1, encoding)
        reading.file = msgspec.structs.replace(reading.file, fields=known)
        return block[:at] if at > 0 else block

    def _write(self, pieces: Sequence[bytes | memoryview], count: int) -> str | None:
        """A chunk's name, or None when there is no room for it now."""
        if not self.stalled and self._spool.bytes_used + count > self._spool.bytes_max:
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


def _last_line(block: bytes) -> Stretch:
    """A compressed file is complete, and so is a last line without an end."""
    return Stretch(((0, len(block)),), len(block), 0, skipping=False)


def _lines_before(block: bytes, count: int) -> bytes:
    """The lines that begin within the first ``count`` bytes, as far as they are there."""
    end = block.find(b"\n", count - 1) + 1
    return block[:end] if end else block
