"""The search for copies in one poll: what goes on from what, and what has to wait.

See ``copies`` for the cases. A file that has to wait is unread, so the poll is not clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from headwater.store.comparison import Comparisons, OtherUnreadable, holds_end
from headwater.store.copies import Content, Originals, Suspects
from headwater.store.departed import Departed, PrintIndex
from headwater.store.directories import reason_of
from headwater.store.followed_file import Followed, likeness, line_end_before
from headwater.store.identity import HEAD_BYTES, Print, ReadAt, take_print
from headwater.store.poll import FollowConfig
from headwater.store.poll_round import Look, Round


class CopySearch:
    """Remembers from poll to poll what is undecided, and which files are copies."""

    def __init__(
        self, reader: Callable[[Followed], ReadAt], departed: Departed, config: FollowConfig
    ) -> None:
        self.copy_of: dict[int, str] = {}
        """Files that are left alone, with the path of what they are copies of."""
        self._reader = reader
        self._departed = departed
        self._linger_s = config.linger_s
        self._suspects = Suspects(linger_s=config.linger_s)
        self._comparisons = Comparisons(poll_bytes_max=config.compare_bytes_max)

    def clear(self, file: int) -> None:
        """The file is gone, or holds something else."""
        self._suspects.clear(file)
        self._comparisons.clear(file)
        self.copy_of.pop(file, None)

    def settle(
        self,
        round_: Round,
        files: Iterable[Followed],
        *,
        begin_old: Callable[[list[Look], list[Look]], list[Look]],
    ) -> None:
        """Decide for each file of which nothing was read whether it goes on from another.

        ``begin_old`` is handed those that do and those that don't, and gives back which of the
        latter are new. Of two that are new, the one with the shorter name is the original:
        rotation appends.
        """
        new = [
            look
            for look in round_.looks.values()
            if not look.file.checked and look.found.size > look.file.position
        ]
        if not new:
            return
        self._comparisons.begin_poll()
        new.sort(key=lambda look: (len(look.file.path), look.file.path))
        departed = departed_index(round_)
        unknown = PrintIndex(round_.unknown.values())
        known: list[Look] = []
        back: dict[int, Followed] = {}
        others: list[Look] = []
        for look in new:
            with _Refusing(look, round_):
                if self.is_continued(look, departed, round_):
                    known.append(look)
                elif self._is_found_again(look, unknown, round_):
                    known.append(look)
                elif self._has_returned(look, back, round_):
                    known.append(look)
                else:
                    others.append(look)
        others = begin_old(known, others)
        others += [look for look in known if look.file.id in back]
        originals = Originals(self._originals(round_, files)) if others else Originals(())
        hidden = {file.path: file for file in round_.unknown.values() if is_comparable(file)}
        for look in others:
            with _Refusing(look, round_):
                if self._waits_for_sight(look, hidden.get(look.file.path), round_):
                    continue
                self._set_apart(look, originals, back.get(look.file.id), round_)
                if look.file.checked:
                    originals.add(_original(look))

    def is_continued(self, look: Look, departed: PrintIndex, round_: Round) -> bool:
        """True when the file goes on from one that departed in this very poll."""
        size = look.found.size
        head = look.read_at(min(size, HEAD_BYTES), 0)
        for old in departed.begun_in(head):
            if old.id != look.file.id and old.print.is_in(look.read_at, size):
                departed.remove(old)
                round_.departed.remove(old)
                round_.succeeded.add(old.id)
                path = look.file.path
                round_.tell(path, f"goes on from {old.path}, after {old.position} bytes")
                self._go_on(look, old.print, skipping=old.skipping)
                return True
        for old in round_.departed:
            if old.id == look.file.id or not is_comparable(old):
                continue
            if 0 < size < old.position and head == old.print.head[:size]:
                end = line_end_before(look.read_at, size)
                self._go_on(look, take_print(look.read_at, end))
                return True
            if self._is_edited(look, old, round_):
                return True
        return False

    def _is_edited(self, look: Look, old: Followed, round_: Round) -> bool:
        """True when it is in the place of one that is gone, and begins like it."""
        if old.path != look.file.path or old.id not in round_.gone:
            return False
        end = line_end_before(look.read_at, likeness(old.print, look.read_at, size=look.found.size))
        if end > 0:
            self._go_on(look, take_print(look.read_at, end))
        _tell_replaced(look, old.print, end, round_)
        return end > 0

    def _is_found_again(self, look: Look, unknown: PrintIndex, round_: Round) -> bool:
        """True when it is one that was out of sight: mounted under another device number, say."""
        head = look.read_at(min(look.found.size, HEAD_BYTES), 0)
        for old in unknown.begun_in(head):
            is_sure = old.position >= HEAD_BYTES or old.inode == look.file.inode
            is_there = is_sure or old.path == look.file.path
            if is_there and old.checked and old.print.is_in(look.read_at, look.found.size):
                unknown.remove(old)
                del round_.unknown[old.id]
                round_.looks.pop(old.id, None)
                round_.gone.add(old.id)
                round_.succeeded.add(old.id)
                self._go_on(look, old.print, skipping=old.skipping)
                return True
        return False

    def _has_returned(self, look: Look, back: dict[int, Followed], round_: Round) -> bool:
        """True when it is one that had been gone; it may still have more in common with another."""
        old, is_sure = self._departed.returned(look, now_s=round_.now_s)
        if old is None:
            return self._is_late_replacement(look, round_)
        if is_sure:
            back[look.file.id] = old
        else:
            round_.tell(
                look.file.path,
                f"begins like {old.path}, which was gone: read from its beginning",
                twice_bytes=old.position,
            )
        return is_sure

    def _is_late_replacement(self, look: Look, round_: Round) -> bool:
        """True when it is in the place of one that was found gone a few polls ago."""
        old = self._departed.lately_at(look.file.path, now_s=round_.now_s)
        if old is None or look.file.position:
            return False
        size = look.found.size
        end = line_end_before(look.read_at, likeness(old.print, look.read_at, size=size))
        if end > 0:
            self._go_on(look, take_print(look.read_at, end))
        _tell_replaced(look, old.print, end, round_)
        return end > 0

    def _take_back(self, look: Look, old: Followed, round_: Round) -> None:
        round_.gone.add(old.id)
        round_.succeeded.add(old.id)
        round_.tell(look.file.path, f"has been read before, as {old.path}: goes on where it was")
        self._go_on(look, old.print, skipping=old.skipping)

    def _waits_for_sight(self, look: Look, hidden: Followed | None, round_: Round) -> bool:
        """True when it is in the place of one that is out of sight in this very directory: not
        all of its entries could be looked at. Whether that was replaced or renamed, we'll see."""
        if hidden is None or hidden.place not in (0, look.file.place):
            return False
        size = look.found.size
        if not self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            round_.refuse(look.file.path, "waits until it is known where the former file went")
            return True
        end = line_end_before(look.read_at, likeness(hidden.print, look.read_at, size=size))
        self._go_on(look, take_print(look.read_at, end))
        _tell_replaced(look, hidden.print, end, round_)
        return True

    def _go_on(self, look: Look, print_: Print, *, skipping: bool = False) -> None:
        look.file = msgspec.structs.replace(
            look.file, print=print_, skipping=skipping, checked=True, start_at=None
        )
        self._suspects.clear(look.file.id)
        self.copy_of.pop(look.file.id, None)

    def _originals(self, round_: Round, files: Iterable[Followed]) -> Iterator[Content]:
        departed = {file.id for file in round_.departed}
        for file in files:
            look = round_.looks.get(file.id)
            if look is not None and look.file.checked:
                yield _original(look)
            elif (
                look is None
                and file.checked
                and file.id not in departed
                and file.id not in round_.unknown
                and file.id not in round_.gone
            ):
                read_at = _of_other(self._reader(file), file.path)
                head = file.print.head
                yield Content(file.id, file.path, file.size_seen, head, read_at, file.print)

    def _set_apart(
        self, look: Look, originals: Originals, gone: Followed | None, round_: Round
    ) -> None:
        """It goes on from no other: is it a copy, or the replacement, of one that is there, or one
        that had been ``gone``?"""
        new = _content(look, look.read_at)
        try:
            former = originals.replaced_by(new)
            replaced = self._closest(new, former)
            intact = self._closest(new, originals.like(new))
        except _Undecided:
            round_.refuse(new.path, "waits until it is compared with the files that it begins like")
            return
        except OtherUnreadable as error:
            if not self._suspects.has_waited(new.file, size=new.size, now_s=round_.now_s):
                round_.refuse(new.path, f"waits until it can be compared: {error}")
                return
            self._go_on(look, look.file.print)
            round_.tell(new.path, f"not compared ({error}): read from there", twice_bytes=new.size)
            return
        if gone is not None and gone.position > max(_common(replaced), _common(intact)):
            self._take_back(look, gone, round_)
        elif replaced is not None and (intact is None or replaced[1] >= intact[1]):
            self._replace(look, *replaced, round_)
        elif intact is None:
            alike = originals.begun_alike(new)
            if former:
                self._go_on(look, look.file.print)
                _tell_replaced(look, former[0].print, look.file.position, round_)
            elif alike is None:
                self._go_on(look, look.file.print)
            else:
                self._branch_off(look, *alike, round_)
        elif intact[1] == new.size:
            self._leave_alone(look, intact[0], round_)
        else:
            self._branch_off(look, *intact, round_)

    def _closest(self, new: Content, originals: list[Content]) -> tuple[Content, int] | None:
        """The one that has most in common with it, and how much."""
        best: tuple[Content, int] | None = None
        for old in originals:
            through = min(new.size, old.size)
            pair = (new.file, old.file)
            common = self._comparisons.common(pair, new.read_at, old.read_at, through=through)
            if common is None:
                raise _Undecided
            if best is None or common > best[1]:
                best = (old, common)
        return best if best is not None and best[1] > 0 else None

    def _replace(self, look: Look, old: Content, common: int, round_: Round) -> None:
        """Each reads the lines after what they have in common, so that nothing comes twice."""
        end = max(line_end_before(look.read_at, common), look.file.position)
        self._go_on(look, take_print(look.read_at, end))
        if common == old.size:
            round_.succeeded.add(old.file)
        _tell_replaced(look, old.print, end, round_)

    def _leave_alone(self, look: Look, old: Content, round_: Round) -> None:
        size = look.found.size
        if size >= HEAD_BYTES:
            self.copy_of[look.file.id] = old.path
            self._suspects.clear(look.file.id)
        elif self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            self._read_all(look, old, size, round_)
        else:
            round_.refuse(
                look.file.path,
                f"may be a copy of {old.path}: read {self._linger_s:.0f} s after its last change",
            )

    def _branch_off(self, look: Look, old: Content, common: int, round_: Round) -> None:
        """It has lines of its own after what it has in common with an intact file."""
        end = line_end_before(look.read_at, common)
        if common < HEAD_BYTES:
            self._read_all(look, old, end, round_)
            return
        self._go_on(look, take_print(look.read_at, max(end, look.file.position)))
        round_.tell(look.file.path, f"its first {end} bytes are those of {old.path}: left out")

    def _read_all(self, look: Look, old: Content, common: int, round_: Round) -> None:
        twice = max(0, common - look.file.position)
        self._go_on(look, look.file.print)
        if twice:
            round_.tell(
                look.file.path,
                f"its first {common} bytes are like those of {old.path}: read all the same",
                twice_bytes=twice,
            )


def is_comparable(file: Followed) -> bool:
    """Something of it was read, for its own sake."""
    return file.position > 0 and file.checked


def departed_index(round_: Round) -> PrintIndex:
    return PrintIndex(file for file in round_.departed if is_comparable(file))


class _Undecided(Exception):
    """More had to be compared than one poll may."""


class _Refusing:
    """A file that can't be read is left for the next poll."""

    def __init__(self, look: Look, round_: Round) -> None:
        self._look = look
        self._round = round_

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        self._round.refuse(self._look.file.path, reason_of(error))
        self._round.looks.pop(self._look.file.id, None)
        return True


def _of_other(read_at: ReadAt, path: str) -> ReadAt:
    """Trouble with the file that one is compared with is not the trouble of that one."""

    def read(count: int, offset: int) -> bytes:
        try:
            return read_at(count, offset)
        except OSError as error:
            raise OtherUnreadable(f"{path}: {reason_of(error)}") from error

    return read


def _original(look: Look) -> Content:
    """What can't be read now is known by its print, as far as that goes."""
    read_at = _of_other(look.read_at, look.file.path)
    try:
        return _content(look, read_at)
    except OtherUnreadable:
        file = look.file
        return Content(file.id, file.path, look.found.size, file.print.head, read_at, file.print)


def _content(look: Look, read_at: ReadAt) -> Content:
    size = look.found.size
    head = read_at(min(size, HEAD_BYTES), 0)
    file = look.file
    return Content(file.id, file.path, size, head, read_at, file.print, look.is_orphan)


def _common(found: tuple[Content, int] | None) -> int:
    return 0 if found is None else found[1]


def _tell_replaced(look: Look, before: Print, end: int, round_: Round) -> None:
    """``before``: of what was read of the one in whose place it is; ``end``: where it goes on."""
    size = look.found.size
    twice = max(0, min(before.position, size) - end)
    if twice and not end and not holds_end(before, look.read_at, size):
        twice = 0
    what = f"replaced: goes on after {end} bytes that both begin with"
    if not end:
        what = "replaced by a file that begins otherwise: read from its beginning"
    if twice:
        what += f"; up to {twice} of the bytes that follow may have been read before"
    round_.tell(look.file.path, what, twice_bytes=twice)
