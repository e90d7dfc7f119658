"""Who a new file was before: one that has left, is out of sight, or had been gone.

Such files can't be read any more, only their prints are left. A file that begins with what a print
was taken of goes on there (*whole*). Where a file is in the place of one that is gone, or shorter
than it, it goes on after what they surely have in common, as far as the print tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from headwater.store.departed import ALIKE_MAX, Departed, PrintIndex
from headwater.store.followed_file import Followed, likeness, line_end_before
from headwater.store.identity import HEAD_BYTES, first_line
from headwater.store.poll_round import Look, Round


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

    def __init__(self, round_: Round, departed: Departed) -> None:
        self._round = round_
        self._departed = departed
        self._left = PrintIndex(file for file in round_.departed if is_comparable(file))
        self._hidden = PrintIndex(file for file in round_.unknown.values() if is_comparable(file))

    def find(self, look: Look) -> Former | None:
        """The one of which most is in this file, and more than was read of it anyway."""
        head = look.read_at(min(look.found.size, HEAD_BYTES), 0)
        found = [
            self._find_left(look, head),
            self._find_hidden(look, head),
            self._find_remembered(look),
        ]
        read = look.file.position
        whole = [former for former in found if former is not None and former.end > read]
        if whole:
            return max(whole, key=lambda former: former.end)
        return self._find_shorter(look, head) or self._find_replaced(look)

    def _find_left(self, look: Look, head: bytes) -> Former | None:
        for old in self._left.begun_in(head):
            if old.id != look.file.id and old.print.is_in(look.read_at, look.found.size):
                return Former(old, old.position, Where.LEFT, is_whole=True)
        return None

    def _find_hidden(self, look: Look, head: bytes) -> Former | None:
        for old in self._hidden.begun_in(head):
            is_likely = (
                old.position >= HEAD_BYTES
                or old.inode == look.file.inode
                or (old.path == look.file.path and old.place != look.file.place)
            )
            if is_likely and old.print.is_in(look.read_at, look.found.size):
                return Former(old, old.position, Where.HIDDEN, is_whole=True)
        return None

    def _find_remembered(self, look: Look) -> Former | None:
        old, is_sure = self._departed.returned(look, now_s=self._round.now_s)
        if old is None or not is_sure:
            return None
        return Former(old, old.position, Where.REMEMBERED, is_whole=True)

    def _find_shorter(self, look: Look, head: bytes) -> Former | None:
        """A copy that was cut short, or is still being written."""
        size = look.found.size
        for old in self._round.departed:
            if old.id == look.file.id or not is_comparable(old):
                continue
            if size < old.position and head == old.print.head[:size]:
                common = likeness(old.print, look.read_at, size=size)
                end = max(line_end_before(look.read_at, common), look.file.position)
                return Former(old, end, Where.LEFT, is_whole=False)
        return None

    def _find_replaced(self, look: Look) -> Former | None:
        path = look.file.path
        old = next((one for one in self._round.departed if self._was_at(one, path)), None)
        where = Where.LEFT
        if old is None:
            old = self._departed.lately_at(path, now_s=self._round.now_s)
            where = Where.REMEMBERED
        if old is None or look.file.position:
            return None
        common = likeness(old.print, look.read_at, size=look.found.size)
        return Former(old, line_end_before(look.read_at, common), where, is_whole=False)

    def _was_at(self, old: Followed, path: str) -> bool:
        return old.path == path and old.id in self._round.gone and is_comparable(old)

    def begun_alike(self, look: Look) -> tuple[Followed, int] | None:
        """One that left, or had been gone, and begins with the same lines; and how many bytes."""
        head = look.read_at(min(look.found.size, HEAD_BYTES), 0)
        old = [one for one in self._round.departed if one.id != look.file.id]
        found = [
            (one, likeness(one.print, look.read_at, size=look.found.size))
            for one in [*old[:ALIKE_MAX], *self._departed.begun_alike(head)]
            if first_line(one.print.head) == first_line(head) != b""
        ]
        best = max(found, key=lambda pair: pair[1], default=None)
        if best is not None and best[1] == HEAD_BYTES:
            # The print tells no more: they may be alike up to where it was read.
            return best[0], max(HEAD_BYTES, min(best[0].position, look.found.size))
        return best

    def is_like_hidden(self, look: Look) -> Followed | None:
        """One out of sight of which this may be the copy or the replacement; that can be told only
        when it is in sight again."""
        size = look.found.size
        head = look.read_at(min(size, HEAD_BYTES), 0)
        for old in self._round.unknown.values():
            if not is_comparable(old):
                continue
            is_in_place = old.path == look.file.path and old.place in (0, look.file.place)
            is_shorter = size < old.position and head == old.print.head[:size]
            if is_in_place or is_shorter:
                return old
        for old in self._hidden.begun_in(head):
            if old.print.is_in(look.read_at, size):
                return old
        return None

    def take(self, look: Look, former: Former) -> None:
        """The new file goes on from it."""
        round_, old = self._round, former.old
        if not former.is_whole:
            return
        if former.where is Where.LEFT:
            self._left.remove(old)
            round_.departed.remove(old)
        elif former.where is Where.HIDDEN:
            self._hidden.remove(old)
            del round_.unknown[old.id]
            round_.looks.pop(old.id, None)
            round_.gone.add(old.id)
            self._note_number(old, look)
        else:
            round_.gone.add(old.id)
        round_.succeeded.add(old.id)

    def _note_number(self, old: Followed, look: Look) -> None:
        """The very file under another device number: so is all of its file system."""
        if old.inode == look.file.inode and old.place != look.file.place:
            self._round.renumbered[old.place] = look.file.place


def is_comparable(file: Followed) -> bool:
    """Something of it was read."""
    return file.position > 0
