"""Telling a copy from a new file, so that rotation by copying is not read twice.

``copytruncate`` copies a log, then empties it; ``rsync``, ``sed -i`` and editors write a new file
and rename it over the old one. A poll may see it at any moment. What a file and its original have
in common is found by comparing them byte by byte (``comparison``)::

    original          the other file              what a poll does with the other file
    ---------------   -------------------------   ------------------------------------------------
    emptied, gone     begins with what was read   goes on in it where it was in the original
    replaced by it    begins like it              goes on after what both have, however little
    intact            is the beginning of it,     nothing: it is a copy, and named as one; a short
                      or all of it                one is watched for ``linger_s``, then it is read
    intact            differs, or is longer       goes on after what both have, if that is more
                                                  than a header; else reads it from its beginning

"More than a header" is ``HEAD_BYTES``. Whatever is decided is told, with the bytes that may be read
twice by it. Only files of which nothing was read are asked about, so the question costs nothing in
ordinary polls.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.store.recognise.comparison import OtherUnreadable
from headwater.store.recognise.content import Content
from headwater.store.recognise.identity import HEAD_BYTES, common_length, first_line, is_like

INDEX_BYTES = 16
"""Files are looked up by so many first bytes; shorter ones are compared one by one."""
ALIKE_MAX = 16
"""Originals with which a new file is compared in full: the likeliest ones."""


class Suspects:
    """Files that have to wait for a decision, and since when they have not changed."""

    def __init__(self, *, linger_s: float) -> None:
        self._linger_s = linger_s
        self._since: dict[int, tuple[int, float]] = {}

    def has_waited(self, file: int, *, size: int, now_s: float) -> bool:
        """Called at each poll while the file is undecided."""
        seen = self._since.get(file)
        if seen is None or seen[0] != size:
            self._since[file] = (size, now_s)
            return False
        return now_s - seen[1] >= self._linger_s

    def clear(self, file: int) -> None:
        self._since.pop(file, None)


class Originals:
    """Intact files, by their first bytes. Made for a poll that has new files, then dropped."""

    def __init__(self, contents: Iterable[Content]) -> None:
        self._by_head: dict[bytes, list[Content]] = {}
        self._by_line: dict[bytes, list[Content]] = {}
        self._short: list[Content] = []
        self._all: list[Content] = []
        self._unknown: list[Content] = []
        for content in contents:
            self.add(content)

    def add(self, content: Content) -> None:
        if content.is_unknown:
            self._unknown.append(content)
        if not content.head:
            return
        self._all.append(content)
        first = first_line(content.head)
        if first:
            self._by_line.setdefault(first, []).append(content)
        if len(content.head) < INDEX_BYTES:
            self._short.append(content)
        else:
            self._by_head.setdefault(content.head[:INDEX_BYTES], []).append(content)

    def replaced_by(self, new: Content) -> list[Content]:
        """Those that have left and in whose place the new one is."""
        return [one for one in self._all if one.is_orphan and one.path == new.path]

    def like(self, new: Content) -> list[Content]:
        """The likeliest files that the new one is a copy of, or goes on from.

        Raises ``OtherUnreadable`` while there is one of which not even the beginning is known.
        """
        for one in self._unknown:
            raise OtherUnreadable(f"{one.path} can't be read")
        alike = [
            original
            for original in self._candidates(new.head)
            if original.file != new.file and _agree(original.head, new.head)
        ]
        alike.sort(key=lambda original: original.size, reverse=True)
        surely = [one for one in alike if _is_like(one, new)][:ALIKE_MAX]
        begun = [one for one in alike if _is_more_than_a_header(one, new)]
        return list({one.file: one for one in [*surely, *begun[:ALIKE_MAX]]}.values())

    def begun_alike(self, new: Content) -> tuple[Content | None, int]:
        """One that begins with the same whole lines, and how much that is of their heads; at most,
        where the whole head of it is not known."""
        alike = [one for one in self._by_line.get(first_line(new.head), []) if one.file != new.file]
        found = [(one, _common_head(one, new)) for one in alike[-ALIKE_MAX:]]
        return max(found, key=lambda pair: pair[1], default=(None, 0))

    def _candidates(self, head: bytes) -> list[Content]:
        if len(head) < INDEX_BYTES:
            return self._all
        return self._by_head.get(head[:INDEX_BYTES], []) + self._short


def _common_head(original: Content, new: Content) -> int:
    common = common_length(original.head, new.head)
    is_known = common < len(original.head) or common >= HEAD_BYTES
    return common if is_known else min(original.size, new.size)


def _agree(left: bytes, right: bytes) -> bool:
    common = min(len(left), len(right))
    return left[:common] == right[:common]


def _is_more_than_a_header(original: Content, new: Content) -> bool:
    return len(original.head) >= HEAD_BYTES and len(new.head) >= HEAD_BYTES


def _is_like(original: Content, new: Content) -> bool:
    """As far as head and tail tell; of small files nothing needs to be read for it."""
    common = min(original.size, new.size)
    if common <= min(len(original.head), len(new.head)):
        return True
    return is_like(original.read_at, new.read_at, common)
