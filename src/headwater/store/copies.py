"""Telling a copy from a new file, so that rotation by copying is not read twice.

``copytruncate`` copies a log, then empties it. A poll may see it at any moment::

    original   copy        what a poll does with the copy
    --------   ---------   ----------------------------------------------------------------
    intact     partial     nothing yet: it may be a copy
    intact     complete    nothing yet
    emptied    complete    goes on in the copy where it was in the original
    intact     differs     reads it from its beginning: it was another file with a like beginning
    intact     is longer   goes on in it after what both have, if that is more than a header

Only files of which nothing was read are asked about, so the question costs nothing in ordinary
polls. Two small files that are alike (both hold a header) are set apart by time: after
``linger_s`` without a change, less than ``HEAD_BYTES`` of likeness is taken for chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater.store.identity import HEAD_BYTES, ReadAt, is_like

INDEX_BYTES = 16
"""Files are looked up by so many first bytes; shorter ones are compared one by one."""


@dataclass
class Content:
    """A file as far as it can be compared: ``head`` may be shorter than the file's own."""

    file: int
    size: int
    head: bytes
    read_at: ReadAt


class Suspects:
    """Files that may be copies of intact ones, and since when they have not changed."""

    def __init__(self, *, linger_s: float) -> None:
        self._linger_s = linger_s
        self._since: dict[int, tuple[int, float]] = {}

    def is_chance(self, file: int, *, size: int, likeness: int, now_s: float) -> bool:
        """Called at each poll while the file is alike to another."""
        seen = self._since.get(file)
        if seen is None or seen[0] != size:
            self._since[file] = (size, now_s)
            return False
        return likeness < HEAD_BYTES and now_s - seen[1] >= self._linger_s

    def clear(self, file: int) -> None:
        self._since.pop(file, None)


class Originals:
    """Intact files, by their first bytes. Made for a poll that has new files, then dropped."""

    def __init__(self, contents: Iterable[Content]) -> None:
        self._by_head: dict[bytes, list[Content]] = {}
        self._short: list[Content] = []
        self._all: list[Content] = []
        for content in contents:
            self.add(content)

    def add(self, content: Content) -> None:
        if not content.head:
            return
        self._all.append(content)
        if len(content.head) < INDEX_BYTES:
            self._short.append(content)
        else:
            self._by_head.setdefault(content.head[:INDEX_BYTES], []).append(content)

    def most_like(self, new: Content) -> Content | None:
        """The largest intact file that the new one could be a copy of, or go on from."""
        alike = [
            original
            for original in self._candidates(new.head)
            if original.file != new.file
            and _agree(original.head, new.head)
            and is_like(original.read_at, new.read_at, min(original.size, new.size))
        ]
        return max(alike, key=lambda original: original.size, default=None)

    def _candidates(self, head: bytes) -> list[Content]:
        if len(head) < INDEX_BYTES:
            return self._all
        return self._by_head.get(head[:INDEX_BYTES], []) + self._short


def _agree(left: bytes, right: bytes) -> bool:
    common = min(len(left), len(right))
    return left[:common] == right[:common]
