"""The search for copies in one poll: what goes on from what, and what has to wait.

See ``copies`` for the cases. A file that has to wait is unread, so the poll is not clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from headwater.store.comparison import Comparisons, OtherUnreadable, holds_end
from headwater.store.copies import Content, Originals, Suspects
from headwater.store.departed import Departed
from headwater.store.directories import reason_of
from headwater.store.followed_file import Followed, likeness, line_end_before
from headwater.store.formers import Former, Formers, Where
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
        self.undecided: set[int] = set()
        """Files that wait, of which more may be unread than is known."""
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
        self.undecided.discard(file)

    def settle(
        self,
        round_: Round,
        files: Iterable[Followed],
        *,
        begin_old: Callable[[list[Look], list[Look]], list[Look]],
    ) -> None:
        """Decide for each file of which nothing was read whether it goes on from another.

        Those that do come first: the others may be copies of them. ``begin_old`` is handed both,
        and gives back which of the others are new. Of two that are new, the one with the shorter
        name is the original: rotation appends.
        """
        unchecked = [
            look
            for look in round_.looks.values()
            if not look.file.checked and look.file.id not in round_.unknown
        ]
        new = [look for look in unchecked if look.found.size > look.file.position]
        for look in unchecked:
            if 0 < look.found.size <= look.file.position:
                self._go_on(look, look.file.print)
        if not new:
            return
        self._comparisons.begin_poll()
        new.sort(key=lambda look: (len(look.file.path), look.file.path))
        formers = Formers(round_, self._departed)
        known: list[Look] = []
        others: list[Look] = []
        for look in new:
            with _Refusing(look, round_):
                former = formers.find(look)
                is_known = look.file.position > 0 or (former is not None and former.is_whole)
                (known if is_known else others).append(look)
        undecided = [*known, *begin_old(known, others)]
        originals = Originals(self._originals(round_, files)) if undecided else Originals(())
        for look in undecided:
            with _Refusing(look, round_):
                self._set_apart(look, originals, formers, round_)
                if look.file.checked:
                    originals.add(_original(look))

    def is_continued(self, look: Look, formers: Formers, round_: Round) -> bool:
        """True when the file goes on from one that departed in this very poll."""
        former = formers.find(look)
        if former is None or former.where is not Where.LEFT or former.end == 0:
            return False
        self._take_over(look, former, formers, round_)
        return True

    def _take_over(self, look: Look, former: Former, formers: Formers, round_: Round) -> None:
        formers.take(look, former)
        old, path = former.old, look.file.path
        if former.is_whole:
            self._go_on(look, old.print, skipping=old.skipping)
            round_.tell(path, f"goes on from {old.path}, after {former.end} bytes")
            return
        self._go_on(look, take_print(look.read_at, former.end))
        _tell_replaced(look, old.print, former.end, round_)

    def _waits_for_sight(self, look: Look, formers: Formers, round_: Round) -> bool:
        """True when it may be the copy, or be in the place, of one that is out of sight."""
        hidden = formers.is_like_hidden(look)
        if hidden is None:
            return False
        size = look.found.size
        if not self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            self._let_wait(look, f"until {hidden.path} is in sight, which it begins like", round_)
            return True
        end = line_end_before(look.read_at, likeness(hidden.print, look.read_at, size=size))
        self._go_on(look, take_print(look.read_at, end))
        _tell_replaced(look, hidden.print, end, round_)
        return True

    def _let_wait(self, look: Look, what: str, round_: Round) -> None:
        self.undecided.add(look.file.id)
        round_.refuse(look.file.path, f"waits {what}")

    def _go_on(self, look: Look, print_: Print, *, skipping: bool = False) -> None:
        look.file = msgspec.structs.replace(
            look.file, print=print_, skipping=skipping, checked=True, start_at=None
        )
        self._suspects.clear(look.file.id)
        self.copy_of.pop(look.file.id, None)
        self.undecided.discard(look.file.id)

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

    def _set_apart(self, look: Look, originals: Originals, formers: Formers, round_: Round) -> None:
        """Whichever file it has most in common with decides what it is: one that it was before, one
        that it has replaced, or one that is there."""
        new = _content(look, look.read_at)
        former = formers.find(look)
        before = 0 if former is None else former.end
        try:
            replaced = self._closest(new, originals.replaced_by(new))
            intact = self._closest(new, originals.like(new))
        except _Undecided:
            self._let_wait(look, "until it is compared with those that it begins like", round_)
            return
        except OtherUnreadable as error:
            self._leave_uncompared(look, error, round_)
            return
        said_bytes = round_.twice_bytes
        in_place = 0 if replaced[0] is None else line_end_before(look.read_at, replaced[1])
        beside = intact[1] if intact[1] == new.size or intact[1] >= HEAD_BYTES else 0
        is_found_again = former is not None and former.where is Where.HIDDEN
        if not is_found_again and self._waits_for_sight(look, formers, round_):
            return
        if former is not None and before > max(in_place, beside):
            self._take_over(look, former, formers, round_)
        elif replaced[0] is not None and in_place and in_place >= beside:
            self._replace(look, replaced[0], replaced[1], round_)
        elif intact[0] is not None and beside == new.size:
            self._leave_alone(look, intact[0], round_)
            return
        elif intact[0] is not None and beside:
            self._branch_off(look, intact[0], intact[1], round_)
        else:
            self._read_as_new(look, originals, formers, round_)
        self._tell_alike(
            look, originals, formers, round_, said_bytes=round_.twice_bytes - said_bytes
        )

    def _read_as_new(
        self, look: Look, originals: Originals, formers: Formers, round_: Round
    ) -> None:
        new = _content(look, look.read_at)
        was_there = [one.print for one in originals.replaced_by(new)]
        before = was_there[0] if was_there else formers.was_at(new.path)
        self._go_on(look, look.file.print)
        if before is not None:
            _tell_replaced(look, before, look.file.position, round_)

    def _tell_alike(
        self,
        look: Look,
        originals: Originals,
        formers: Formers,
        round_: Round,
        *,
        said_bytes: int,
    ) -> None:
        """It is read on from its position: does it have more in common with a file than that, and
        than has been said?"""
        found = [
            (one.path, common)
            for one, common in (originals.begun_alike(_content(look, look.read_at)),)
            if one is not None
        ]
        gone = formers.begun_alike(look)
        if gone is not None:
            found.append((gone[0].path, gone[1]))
        path, common = max(found, key=lambda pair: pair[1], default=("", 0))
        twice = line_end_before(look.read_at, common) - look.file.position - said_bytes
        if twice > 0:
            what = f"its first {common} bytes are like those of {path}: read all the same"
            round_.tell(look.file.path, what, twice_bytes=twice)

    def _leave_uncompared(self, look: Look, error: OtherUnreadable, round_: Round) -> None:
        size, path = look.found.size, look.file.path
        if not self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            self._let_wait(look, f"until it can be compared: {error}", round_)
            return
        self._go_on(look, look.file.print)
        round_.tell(path, f"not compared ({error}): read from there", twice_bytes=size)

    def _closest(self, new: Content, originals: list[Content]) -> tuple[Content | None, int]:
        """The one that has most in common with it, and how much."""
        best: tuple[Content | None, int] = (None, 0)
        for old in originals:
            through = min(new.size, old.size)
            pair = (new.file, old.file)
            common = self._comparisons.common(pair, new.read_at, old.read_at, through=through)
            if common is None:
                raise _Undecided
            if common > best[1]:
                best = (old, common)
        return best

    def _replace(self, look: Look, old: Content, common: int, round_: Round) -> None:
        """Each reads the lines after what they have in common, so that nothing comes twice."""
        end = max(line_end_before(look.read_at, common), look.file.position)
        self._go_on(look, take_print(look.read_at, end))
        if common == old.size:
            round_.succeeded.add(old.file)
        _tell_replaced(look, old.print, end, round_)

    def _leave_alone(self, look: Look, old: Content, round_: Round) -> None:
        size = look.found.size
        self.undecided.discard(look.file.id)
        if size >= HEAD_BYTES:
            self.copy_of[look.file.id] = old.path
            self._suspects.clear(look.file.id)
        elif self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            self._go_on(look, look.file.print)
            what = f"its first {size} bytes are like those of {old.path}: read all the same"
            twice = size - look.file.position
            round_.tell(look.file.path, what, twice_bytes=twice)
        else:
            round_.refuse(
                look.file.path,
                f"may be a copy of {old.path}: read {self._linger_s:.0f} s after its last change",
            )

    def _branch_off(self, look: Look, old: Content, common: int, round_: Round) -> None:
        """It has lines of its own after what it has in common with an intact file."""
        end = line_end_before(look.read_at, common)
        self._go_on(look, take_print(look.read_at, max(end, look.file.position)))
        round_.tell(look.file.path, f"its first {end} bytes are those of {old.path}: left out")


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
