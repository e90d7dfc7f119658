"""Who a new file was before: one that has left, is out of sight, or had been gone.

Such files can't be read any more, only their prints are left. A file that begins with what a print
was taken of goes on there (*whole*), if that is proven: by its inode and time, or by the checksum
of all that was read. One that only looks like it has lines of its own. Where a file is in the place
of one that is gone, or shorter than it, it goes on after what they surely have in common, as far as
the print tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from headwater.store.follow.followed_file import Followed, likeness, line_end_before
from headwater.store.follow.poll_round import Look, Round
from headwater.store.recognise.comparison import Comparisons
from headwater.store.recognise.departed import ALIKE_MAX, Departed, PrintIndex
from headwater.store.recognise.identity import HEAD_BYTES, Print, first_line


class Where(Enum):
    """Where the former file is now."""

    LEFT = auto()
    """It was found gone, or holding something else, in this very poll."""
    HIDDEN = auto()
    """Out of sight."""
    REMEMBERED = auto()
    """It had been gone."""


@dataclass(frozen=True)
class Former:
    old: Followed
    end: int
    """How much of the new file was read in it."""
    where: Where
    is_whole: bool
    """All that was read in it is in the new file."""


class Formers:
    """For one round: each file that has left is the former of one new file at most."""

    def __init__(self, round_: Round, departed: Departed, comparisons: Comparisons) -> None:
        self._round = round_
        self._departed = departed
        self._comparisons = comparisons
        self._left = PrintIndex(file for file in round_.departed if is_comparable(file))
        self._hidden = PrintIndex(file for file in round_.unknown.values() if is_comparable(file))

    def find(self, look: Look) -> Former | None:
        """The one of which most is in this file, and more than was read of it anyway. Raises
        ``Undecided``."""
        head = look.read_at(min(look.found.size, HEAD_BYTES), 0)
        found = [
            self._find_left(look, head),
            self._find_hidden(look, head),
            self._find_remembered(look),
            *self._find_alike(look, head),
        ]
        more = [one for one in found if one is not None and one.end > look.file.position]
        return max(more, key=lambda one: (one.end, one.is_whole), default=None)

    def _find_left(self, look: Look, head: bytes) -> Former | None:
        for old in self._left.begun_in(head):
            if old.id != look.file.id and self._is_in(old, look):
                return Former(old, old.position, Where.LEFT, is_whole=True)
        return None

    def _find_hidden(self, look: Look, head: bytes) -> Former | None:
        for old in self._hidden.begun_in(head):
            is_likely = (
                old.position >= HEAD_BYTES
                or old.inode == look.file.inode
                or (old.path == look.file.path and old.place != look.file.place)
            )
            if is_likely and self._is_in(old, look):
                return Former(old, old.position, Where.HIDDEN, is_whole=True)
        return None

    def _find_remembered(self, look: Look) -> Former | None:
        old, is_sure = self._departed.returned(
            look, now_s=self._round.now_s, is_proven=self._is_proven
        )
        if old is None or not is_sure:
            return None
        return Former(old, old.position, Where.REMEMBERED, is_whole=True)

    def _find_alike(self, look: Look, head: bytes) -> Iterator[Former]:
        """Those that it has replaced, is cut short of, or begins like by more than a header."""
        size, path = look.found.size, look.file.path
        for old, where in self._gone(head):
            common = self.likeness(old, look)
            is_shorter = size < old.position and common == size
            if is_shorter or common >= HEAD_BYTES or self._is_replaced(old, where, path):
                end = line_end_before(look.read_at, common)
                yield Former(old, end, where, is_whole=False)

    def _gone(self, head: bytes) -> Iterator[tuple[Followed, Where]]:
        """Of those that can't be read any more, some that begin with the same line."""
        count = 0
        for old in self._round.departed:
            if count < ALIKE_MAX and is_comparable(old) and _begin_alike(old, head):
                count += 1
                yield old, Where.LEFT
        for old in self._departed.begun_alike(head):
            yield old, Where.REMEMBERED

    def _is_replaced(self, old: Followed, where: Where, path: str) -> bool:
        if old.path != path:
            return False
        if where is Where.LEFT:
            return old.id in self._round.gone
        return old is self._departed.lately_at(path, now_s=self._round.now_s)

    def was_at(self, path: str) -> Print | None:
        """Of the one that was there until lately, and is gone."""
        left = [one for one in self._round.departed if one.path == path]
        old = next((one for one in left if one.id in self._round.gone), None)
        old = old or self._departed.lately_at(path, now_s=self._round.now_s)
        return old.print if old is not None and is_comparable(old) else None

    def begun_alike(self, look: Look) -> tuple[Followed, int] | None:
        """One that is gone or out of sight and begins with the same lines; and up to where, as far
        as its print tells or else at most."""
        head = look.read_at(min(look.found.size, HEAD_BYTES), 0)
        found = []
        hidden = [
            old
            for old in self._round.unknown.values()
            if is_comparable(old) and _begin_alike(old, head)
        ]
        for old in [*(old for old, _ in self._gone(head)), *hidden[:ALIKE_MAX]]:
            if old.id == look.file.id:
                continue
            common = self.likeness(old, look)
            if HEAD_BYTES <= common < old.position:
                common = min(old.position, look.found.size)
            found.append((old, common))
        return max(found, key=lambda pair: pair[1], default=None)

    def is_like_hidden(self, look: Look) -> Followed | None:
        """One out of sight of which this may be the copy or the replacement; that can be told only
        when it is in sight again."""
        size = look.found.size
        head = look.read_at(min(size, HEAD_BYTES), 0)
        for old in self._round.unknown.values():
            if not is_comparable(old):
                continue
            is_elsewhere = 0 != old.place != look.file.place != 0
            is_in_place = old.path == look.file.path and not is_elsewhere
            is_shorter = size < old.position and head == old.print.head[:size]
            if is_in_place or is_shorter:
                return old
        for old in self._hidden.begun_in(head):
            if self._is_in(old, look):
                return old
        return None

    def likeness(self, old: Followed, look: Look) -> int:
        """How many first bytes of the file are those of one that can't be read any more. One that
        only looks like it surely has no more than the head of it."""
        size = look.found.size
        if old.print.is_in(look.read_at, size):
            return old.position if self._is_proven(look, old) else HEAD_BYTES
        return likeness(old.print, look.read_at, size=size)

    def _is_in(self, old: Followed, look: Look) -> bool:
        """Whether the file begins with all that was read of that one."""
        is_like = old.print.is_in(look.read_at, look.found.size)
        return is_like and self._is_proven(look, old)

    def _is_proven(self, look: Look, old: Followed) -> bool:
        """Of one that looks like it. The same inode with the same time is the same file, also on a
        file system that has got another number."""
        if (old.inode, old.modified_ns) == (look.file.inode, look.found.modified_ns):
            return True
        return self._comparisons.is_all_in(old.print, look.file.id, look.read_at)

    def take(self, look: Look, former: Former) -> None:
        """The new file goes on from it."""
        round_, old = self._round, former.old
        if not former.is_whole:
            return
        if former.where is Where.LEFT:
            self._left.remove(old)
            round_.departed.remove(old)
            if old.checked:  # what was known of it, and the new one does not have
                round_.shrunk_bytes += max(0, old.known_size - look.found.size)
        elif former.where is Where.HIDDEN:
            self._hidden.remove(old)
            del round_.unknown[old.id]
            round_.looks.pop(old.id, None)
            round_.gone.add(old.id)
            self._note_number(old, look)
        else:
            round_.gone.add(old.id)
        if old.id in round_.gone:
            round_.succeeded.add(old.id)

    def _note_number(self, old: Followed, look: Look) -> None:
        """The very file under another device number: so is all of its file system."""
        if old.inode == look.file.inode and old.place != look.file.place:
            self._round.renumbered[old.place] = look.file.place


def _begin_alike(old: Followed, head: bytes) -> bool:
    return first_line(old.print.head) == first_line(head) != b""


def is_comparable(file: Followed) -> bool:
    """Something of it was read."""
    return file.position > 0
