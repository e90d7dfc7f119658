"""Which file this is: recognising growth, rename, copy and truncate-and-regrow.

A path says nothing (rotation moves files under it) and an inode little (a deleted one is given
out again within milliseconds). So a followed file is its device and inode plus two stretches of
the bytes that were read: the first ones and those right before the position::

    0        head                        tail      position            size
    |--------------|······················|---------|-------------------|
      <= HEAD_BYTES                       <= TAIL_BYTES   not read yet

While both stretches are where they were, the file has only grown. If they are not, it is another
file in the same inode, and what was not read of the former is lost, unless a *copy* turns up: a
file that has the same head, and the same tail at the same place. Another file may have those too
(a report with the same first and last lines), so a copy is proven by the checksum of all that was
read.

The stretches are kept as they are, not as digests, so that they can also be compared over a
shorter length: a file cut back to half, or a copy that is still being written.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import msgspec

HEAD_BYTES = 1024
"""More than the header lines that many files share."""
TAIL_BYTES = 256
RUNGS_MAX = 24

ReadAt = Callable[[int, int], bytes]
"""(count, offset) to bytes; fewer than asked for at the end of the file."""


class Print(msgspec.Struct, frozen=True, array_like=True):
    """The fingerprint of what was read of a file, up to ``position``."""

    position: int = 0
    head: bytes = b""
    tail: bytes = b""
    rungs: tuple[tuple[int, int], ...] = ()
    """(offset, checksum of the ``TAIL_BYTES`` before it), ascending, at ends of earlier reads: how
    far down a file that was cut back or edited is still as it was. Denser towards the end."""
    begun: int = 0
    checksum: int | None = None
    """Of the bytes from ``begun`` to the position, which were read in this very file; None: none
    were."""

    def is_in(self, read_at: ReadAt, size: int) -> bool:
        """True when a file of ``size`` begins with what this print was taken of."""
        return (
            size >= self.position
            and read_at(len(self.head), 0) == self.head
            and read_at(len(self.tail), self.position - len(self.tail)) == self.tail
        )

    def rung_in(self, read_at: ReadAt, size: int) -> int:
        """The highest rung up to which a file is still as it was, or 0."""
        reached = 0
        for offset, checksum in self.rungs:
            if offset > size or _checksum(read_at, offset) != checksum:
                break
            reached = offset
        return reached


def with_rung(print_: Print) -> Print:
    """The print with a rung where it was taken; of too many the one that is missed least goes."""
    rungs = [*print_.rungs, (print_.position, zlib.crc32(print_.tail))]
    if len(rungs) > RUNGS_MAX:
        del rungs[min(range(1, RUNGS_MAX), key=lambda n: _gap_without(rungs, n))]
    return msgspec.structs.replace(print_, rungs=tuple(rungs))


def _gap_without(rungs: list[tuple[int, int]], n: int) -> float:
    """The gap that its removal leaves, in proportion to how far it is from the end."""
    return (rungs[n + 1][0] - rungs[n - 1][0]) / (rungs[-1][0] - rungs[n][0] + 1)


def _checksum(read_at: ReadAt, offset: int) -> int:
    count = min(offset, TAIL_BYTES)
    return zlib.crc32(read_at(count, offset - count))


def take_print(read_at: ReadAt, position: int) -> Print:
    """The print of a file that has been read up to ``position``."""
    tail = min(position, TAIL_BYTES)
    return Print(position, read_at(min(position, HEAD_BYTES), 0), read_at(tail, position - tail))


def is_like(left: ReadAt, right: ReadAt, common: int) -> bool:
    """True when nothing tells two files apart over their first ``common`` bytes.

    Their heads are compared, and the bytes before the end of that length.
    """
    head = min(common, HEAD_BYTES)
    if left(head, 0) != right(head, 0):
        return False
    tail = min(common - head, TAIL_BYTES)
    return tail == 0 or left(tail, common - tail) == right(tail, common - tail)


def first_line(head: bytes) -> bytes:
    """Empty if there is no end of it."""
    return head[: head.find(b"\n") + 1]


def common_length(left: bytes, right: bytes) -> int:
    """How many first bytes are the same, by halving: comparing stretches costs next to nothing.

    >>> common_length(b"abcd", b"abxd"), common_length(b"ab", b"abc")
    (2, 2)
    """
    same, through = 0, min(len(left), len(right))
    while same < through:
        middle = (same + through + 1) // 2
        if left[same:middle] == right[same:middle]:
            same = middle
        else:
            through = middle - 1
    return same
