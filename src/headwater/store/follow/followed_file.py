"""One file that is followed: how far it was read, and what became of it since the last look."""

from __future__ import annotations

import zlib

import msgspec

from headwater.store.recognise.identity import (
    HEAD_BYTES,
    TAIL_BYTES,
    Print,
    ReadAt,
    common_length,
    take_print,
    with_rung,
)

LINE_SEARCH_BYTES = 64 << 10
"""A block of the backward search for a line end, after a file was cut back."""


class Followed(msgspec.Struct, frozen=True):
    """A row of the manifest. Equal inodes with unlike prints are different files in time."""

    id: int
    device: int
    inode: int
    path: str
    print: Print = Print()
    skipping: bool = False
    """The position is inside a line that is stepped over."""
    checked: bool = False
    """It is known not to be a copy of another file; until then nothing of it is read."""
    waits: bool = False
    """It can't be told yet whether it is one: it has unread bytes, and nobody knows how many."""
    held: bool = False
    """A hard link in the spool keeps its unread bytes alive."""
    unproven: bool = False
    """The link was made while the file could not be opened: it may lead to another one that had got
    its inode by then."""
    doubtful: int = 0
    """What lies before this offset and was not read here may have been read in another file."""
    size_seen: int = 0
    modified_ns: int = 0
    """Its time of change when it was last looked at."""
    packed: str = ""
    """How it is compressed; positions and sizes are those of what it holds. Empty: it is not."""
    packed_size: int = 0
    """Its own size when it was last looked at, if it is compressed."""
    place: int = 0
    """The device of the directory in which it was last seen; 0: not known."""
    unopened: int = 0
    """How long it was listed to be when it could not be opened the last time, if it was not opened
    since."""
    cut_back: bool = False
    """It was listed to be shorter than what was read of it, and not opened since: whatever it holds
    may be new."""
    start_at: int | None = None
    """It was there when its source began and could not be opened: what lies before is not ours."""
    succeeded: bool = False
    """All of its bytes are in a file that goes on from it: nothing of them can be lost any more,
    and nothing else may go on from it."""
    fields: str = ""
    """The newest line before the position that names columns; empty: there is none, or it is to be
    looked for."""
    departed_s: float | None = None
    """Since when it is gone; it is remembered for a while, in case that it comes back."""

    @property
    def key(self) -> tuple[int, int]:
        return (self.device, self.inode)

    @property
    def position(self) -> int:
        return self.print.position

    @property
    def unread_bytes(self) -> int:
        return max(0, self.size_seen - self.position)

    @property
    def unopened_bytes(self) -> int:
        """What was listed and never looked at, but for what was there before."""
        seen = 0 if self.cut_back else self.size_seen
        return max(0, self.unopened - max(seen, self.start_at or 0))

    @property
    def known_size(self) -> int:
        """How long it was known to be, whether or not it could be opened."""
        return max(self.size_seen, self.unopened)


def begun_anew(file: Followed, read_at: ReadAt, *, size: int, common: int) -> Followed:
    """The inode holds something else than was read: go on after what both begin with.

    A log that was emptied and filled again has nothing in common with what it was, or a header.
    One that was cut back, and perhaps written on, begins with lines that were read before: those
    are not read again. Beyond the head the rungs of the print tell how far that goes; what follows
    the last of them is read again rather than lost.
    """
    end = line_end_before(read_at, common)
    rungs = tuple(rung for rung in file.print.rungs if rung[0] <= end)
    print_ = msgspec.structs.replace(take_print(read_at, end), rungs=rungs)
    return msgspec.structs.replace(
        file, print=print_, skipping=False, checked=False, size_seen=size, doubtful=0, fields=""
    )


def likeness(print_: Print, read_at: ReadAt, *, size: int) -> int:
    """How many first bytes of a file are like those that a print was taken of, as far as that can
    be told from the print alone."""
    if print_.is_in(read_at, size):
        return print_.position
    head = read_at(min(size, HEAD_BYTES), 0)
    common = common_length(head, print_.head)
    return max(common, print_.rung_in(read_at, size)) if common == HEAD_BYTES else common


def line_end_before(read_at: ReadAt, size: int) -> int:
    """The offset after the last newline within the first ``size`` bytes, or 0."""
    end = size
    while end > 0:
        start = max(0, end - LINE_SEARCH_BYTES)
        found = read_at(end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def extended(print_: Print, data: bytes | memoryview) -> Print:
    """The print after ``data`` was read on from its position."""
    head = print_.head
    if len(head) < HEAD_BYTES:
        head += bytes(data[: HEAD_BYTES - len(head)])
    tail = (print_.tail + bytes(data[-TAIL_BYTES:]))[-TAIL_BYTES:]
    begun = print_.position if print_.checksum is None else print_.begun
    checksum = zlib.crc32(data, print_.checksum or 0)
    end = print_.position + len(data)
    return with_rung(Print(end, head, tail, print_.rungs, begun, checksum))
