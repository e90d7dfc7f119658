"""Cutting a block of bytes at line ends, with lines that are too long left out.

Spark must never see half a line, and a line that is still being written is nobody's yet: it
stays in the file until its newline comes. A line longer than ``line_bytes_max`` (a core dump
that went to the log) would never fit a chunk, so it is stepped over and counted. The search
jumps by whole lines' maximum, not line by line: the cost is that of looking at few bytes.
"""

from __future__ import annotations

import msgspec

NEWLINE = b"\n"


class Stretch(msgspec.Struct, frozen=True):
    """What a block yields. ``kept`` are half-open (from, to) within the block."""

    kept: tuple[tuple[int, int], ...]
    consumed: int
    """How far the position moves: past whole lines, and past what is stepped over."""
    skipped_lines: int
    """Lines that were found to be too long in this block; each is counted once, at its start."""
    skipping: bool
    """The block ended inside a line that is stepped over."""

    @property
    def kept_bytes(self) -> int:
        return sum(end - start for start, end in self.kept)


def whole_lines(block: bytes, *, line_bytes_max: int, skipping: bool) -> Stretch:
    """Cut ``block``; with ``skipping`` it begins inside a line that is stepped over.

    >>> whole_lines(b"one\\ntwo\\nthr", line_bytes_max=10, skipping=False)
    Stretch(kept=((0, 8),), consumed=8, skipped_lines=0, skipping=False)
    """
    at = 0
    if skipping:
        end = block.find(NEWLINE)
        if end < 0:
            return Stretch((), len(block), 0, True)
        at = end + 1
    kept: list[tuple[int, int]] = []
    skipped = 0
    while at < len(block):
        end = block.rfind(NEWLINE, at, at + line_bytes_max + 1)
        if end >= 0:
            start = kept.pop()[0] if kept and kept[-1][1] == at else at
            at = end + 1
            kept.append((start, at))
        elif len(block) - at <= line_bytes_max:
            break
        else:
            skipped += 1
            end = block.find(NEWLINE, at + line_bytes_max)
            if end < 0:
                return Stretch(tuple(kept), len(block), skipped, True)
            at = end + 1
    return Stretch(tuple(kept), at, skipped, False)
