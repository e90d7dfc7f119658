"""How much two files have in common, byte by byte, at a bounded cost for each poll.

Heads and tails can't tell a copy from a file with the same first and last lines. So files that look
alike are read side by side, once: how far that went is remembered, and the next poll goes on there.

Of a file that is gone only a print is left. One that looks like it is read once, too, and has to
have the checksum of what was read. That is done in one go, however long it is: whoever made the
copy has read as much at the same time, and while it is not known what the file is, what it goes on
from would count as lost.
"""

from __future__ import annotations

import zlib

from headwater.store.recognise.identity import Print, ReadAt, common_length, take_print

BLOCK_BYTES = 256 << 10
SEARCH_BYTES_MAX = 64 << 20
"""Larger files are not searched for a line."""


def holds_end(print_: Print, read_at: ReadAt, size: int) -> bool:
    """Whether the last line that a print was taken of is somewhere in a file. If so, the file is an
    edited one rather than another; where that would cost too much to find out, it is assumed."""
    line = print_.tail.splitlines(keepends=True)[-1] if print_.tail else b""
    if not line or size > SEARCH_BYTES_MAX:
        return bool(line)
    kept = b""
    for offset in range(0, size, BLOCK_BYTES):
        block = kept + read_at(min(BLOCK_BYTES, size - offset), offset)
        if line in block:
            return True
        kept = block[-len(line) :]
    return False


class OtherUnreadable(Exception):
    """The file with which one was compared can't be read now. Says which, and why."""


class Undecided(Exception):
    """More has to be compared than one poll may."""


class Comparisons:
    """``begin_poll``, then ``common`` for pairs of files, and ``is_all_in`` for prints."""

    def __init__(self, *, poll_bytes_max: int) -> None:
        self.poll_bytes_max = poll_bytes_max
        self._bytes_left = poll_bytes_max
        self._same: dict[int, dict[int, Print]] = {}
        """By new file and old file: the print of how many first bytes were the same. Either may
        have been rewritten since, of which nothing else tells while nothing was read."""
        self._checksums: dict[tuple[int, int, int], int] = {}
        """By file, begin and end, in this poll."""

    def begin_poll(self) -> None:
        self._bytes_left = self.poll_bytes_max
        self._checksums.clear()

    def clear(self, file: int) -> None:
        """The file is gone, or holds something else."""
        self._same.pop(file, None)
        for others in self._same.values():
            others.pop(file, None)

    def common(
        self, files: tuple[int, int], new: ReadAt, old: ReadAt, *, through: int
    ) -> int | None:
        """How many of the first ``through`` bytes are the same; None: not known in this poll."""
        known = self._same.setdefault(files[0], {})
        before = known.pop(files[1], Print())
        is_valid = before.is_in(new, through) and before.is_in(old, through)
        same = before.position if is_valid else 0
        while same < through and self._bytes_left > 0:
            count = min(BLOCK_BYTES, through - same)
            left, right = new(count, same), old(count, same)
            self._bytes_left -= count
            if len(left) < count or len(right) < count:
                return None
            alike = common_length(left, right)
            same += alike
            if alike < count:
                return same
        known[files[1]] = take_print(new, same)
        return same if same == through else None

    def is_all_in(self, print_: Print, file: int, read_at: ReadAt) -> bool:
        """Whether a file that looks as if it began with what was read of another does. Raises
        ``Undecided`` if others have used up what one poll may compare."""
        if print_.checksum is None:
            return True
        stretch = (file, print_.begun, print_.position)
        if stretch not in self._checksums:
            self._checksums[stretch] = self._read(read_at, print_.begun, print_.position)
        return self._checksums[stretch] == print_.checksum

    def _read(self, read_at: ReadAt, begin: int, end: int) -> int:
        if self._bytes_left <= 0:
            raise Undecided
        self._bytes_left -= end - begin
        checksum = 0
        for offset in range(begin, end, BLOCK_BYTES):
            checksum = zlib.crc32(read_at(min(BLOCK_BYTES, end - offset), offset), checksum)
        return checksum
