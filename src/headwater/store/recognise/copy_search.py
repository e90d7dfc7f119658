"""The search for copies in one poll: what goes on from what, and what has to wait.

See ``copies`` for the cases. A file that has to wait is unread, so the poll is not clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from headwater.store.follow.directories import reason_of
from headwater.store.follow.followed_file import Followed, line_end_before
from headwater.store.follow.poll import FollowConfig
from headwater.store.follow.poll_round import Look, Round
from headwater.store.recognise.comparison import Comparisons, OtherUnreadable, Undecided
from headwater.store.recognise.content import (
    Content,
    as_original,
    content_of,
    original_of,
    unopened,
)
from headwater.store.recognise.copies import Originals, Suspects
from headwater.store.recognise.departed import Departed
from headwater.store.recognise.formers import Formers, Where
from headwater.store.recognise.identity import HEAD_BYTES, ReadAt
from headwater.store.recognise.verdict import (
    Verdict,
    branching_off,
    in_place_of,
    read_as_new,
    read_from,
    replacing,
    taken_over,
)


class CopySearch:
    """Remembers from poll to poll which files are copies, and how far others were compared."""

    def __init__(
        self, reader: Callable[[Followed], ReadAt], departed: Departed, config: FollowConfig
    ) -> None:
        self.copy_of: dict[int, str] = {}
        """Files that are left alone, with the path of what they are copies of."""
        self.comparisons = Comparisons(poll_bytes_max=config.compare_bytes_max)
        """Of all files of the source; a poll begins with them."""
        self._reader = reader
        self._departed = departed
        self._linger_s = config.linger_s
        self._suspects = Suspects(linger_s=config.linger_s)

    def clear(self, file: int) -> None:
        """The file is gone, or holds something else."""
        self.comparisons.clear(file)
        self._decide(file)

    def _decide(self, file: int) -> None:
        """Nothing has to be remembered of it: it is read, or gone."""
        self._suspects.clear(file)
        self.copy_of.pop(file, None)

    def formers(self, round_: Round) -> Formers:
        """Who the new files of a round were before."""
        return Formers(round_, self._departed, self.comparisons)

    def decide(
        self,
        round_: Round,
        files: Iterable[Followed],
        *,
        begin_old: Callable[[list[Look], list[Look]], list[Look]],
    ) -> None:
        """Decide for each file of which nothing was read whether it goes on from another.

        Those that do come first, and before them those of which something was read: the others may
        be copies of them. ``begin_old`` is handed both, and gives back which of the others are new.
        Of two that are new, the one with the shorter name is the original: rotation appends.
        """
        for file in round_.departed:
            if file.id not in round_.gone:
                self.clear(file.id)  # Its inode holds something else.
        formers = self.formers(round_)
        unchecked = _unchecked(formers, round_)
        for look in unchecked:
            if 0 < look.found.size <= look.file.position:
                self._enter(look, read_from(look, look.file.print), formers, round_)
        new = [look for look in unchecked if look.found.size > look.file.position]
        if not new:
            return
        new.sort(key=lambda look: (not look.file.position, len(look.file.path), look.file.path))
        known, others = _divided(new, formers, round_)
        undecided = [*known, *begin_old(known, others)]
        originals = self.originals(round_, files) if undecided else Originals(())
        for look in undecided:
            with _Refusing(look, round_):
                verdict = self._verdict(look, originals, formers, round_)
                content = content_of(look)
                if verdict is not None:
                    self._enter(look, verdict, formers, round_)
                    originals.add(as_original(content, look.file.print))

    def _enter(self, look: Look, verdict: Verdict, formers: Formers, round_: Round) -> None:
        verdict.enter(look, formers, round_)
        self._decide(look.file.id)

    def _originals(self, round_: Round, files: Iterable[Followed]) -> Iterator[Content]:
        departed = {file.id for file in round_.departed}
        for file in files:
            look = round_.looks.get(file.id)
            if look is not None and look.file.checked:
                yield original_of(look)
            elif (
                look is None
                and file.checked
                and file.id not in departed
                and file.id not in round_.unknown
                and file.id not in round_.gone
            ):
                yield unopened(round_.kept.get(file.id, file), self._reader(file))

    def continuation(self, look: Look, formers: Formers, originals: Originals) -> Verdict | None:
        """If the file goes on from one that departed in this very poll; what an intact one has of
        the rest is left out, or said."""
        former = formers.find(look)
        if former is None or former.where is not Where.LEFT or former.end == 0:
            return None
        verdict = taken_over(look, former)
        new = content_of(look)
        try:
            intact = self._closest(new, originals.like(new))
        except (Undecided, OtherUnreadable):
            unread = look.found.size - former.end
            return verdict.saying("not compared with others: read from there", unread)
        if intact[0] is not None and intact[1] > former.end and intact[1] >= HEAD_BYTES:
            verdict = branching_off(look, intact[0], intact[1])
            verdict = msgspec.structs.replace(verdict, former=former)
        return _saying_alike(verdict, look, originals, formers)

    def originals(self, round_: Round, files: Iterable[Followed]) -> Originals:
        """Of what is there and known not to be a copy."""
        return Originals(self._originals(round_, files))

    def _verdict(
        self, look: Look, originals: Originals, formers: Formers, round_: Round
    ) -> Verdict | None:
        """None: it waits, or is a copy."""
        try:
            verdict = self._set_apart(look, originals, formers, round_)
            return verdict and _saying_alike(verdict, look, originals, formers)
        except Undecided:
            self._let_wait(look, "until it is compared with those that it begins like", round_)
            return None
        except OtherUnreadable as error:
            return self._after_wait_for_other(look, error, round_)

    def _set_apart(
        self, look: Look, originals: Originals, formers: Formers, round_: Round
    ) -> Verdict | None:
        """Whichever file it has most in common with decides what it is: one that it was before, one
        that it has replaced, or one that is there."""
        new = content_of(look)
        former = formers.find(look)
        before = 0 if former is None else former.end
        replaced = self._closest(new, originals.replaced_by(new))
        intact = self._closest(new, originals.like(new))
        in_place = 0 if replaced[0] is None else line_end_before(look.read_at, replaced[1])
        beside = intact[1] if intact[1] == new.size or intact[1] >= HEAD_BYTES else 0
        is_found_again = former is not None and former.where is Where.HIDDEN
        hidden = None if is_found_again else formers.is_like_hidden(look)
        if hidden is not None:
            return self._after_wait_for_sight(look, hidden, formers, round_)
        if former is not None and before > max(in_place, beside):
            return taken_over(look, former)
        if replaced[0] is not None and in_place and in_place >= beside:
            return replacing(look, replaced[0], replaced[1])
        if intact[0] is not None and beside == new.size:
            return self._left_alone(look, intact[0], round_)
        if intact[0] is not None and beside:
            return branching_off(look, intact[0], intact[1])
        was_there = [one.print for one in originals.replaced_by(new)]
        return read_as_new(look, was_there[0] if was_there else formers.was_at(new.path))

    def _closest(self, new: Content, originals: list[Content]) -> tuple[Content | None, int]:
        """The one that has most in common with it, and how much."""
        best: tuple[Content | None, int] = (None, 0)
        for old in originals:
            through = min(new.size, old.size)
            pair = (new.file, old.file)
            common = self.comparisons.common(pair, new.read_at, old.read_at, through=through)
            if common is None:
                raise Undecided
            if common > best[1]:
                best = (old, common)
        return best

    def _after_wait_for_sight(
        self, look: Look, hidden: Followed, formers: Formers, round_: Round
    ) -> Verdict | None:
        """It may be the copy, or be in the place, of one that is out of sight."""
        size = look.found.size
        if not self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            self._let_wait(look, f"until {hidden.path} is in sight, which it begins like", round_)
            return None
        end = line_end_before(look.read_at, formers.likeness(hidden, look))
        return in_place_of(look, hidden.print, end)

    def _after_wait_for_other(
        self, look: Look, error: OtherUnreadable, round_: Round
    ) -> Verdict | None:
        size = look.found.size
        if not self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            self._let_wait(look, f"until it can be compared: {error}", round_)
            return None
        verdict = read_from(look, look.file.print)
        unread = size - look.file.position
        return verdict.saying(f"not compared ({error}): read from there", unread)

    def _let_wait(self, look: Look, what: str, round_: Round) -> None:
        look.file = msgspec.structs.replace(look.file, waits=True)
        round_.refuse(look.file.path, f"waits {what}")

    def _left_alone(self, look: Look, old: Content, round_: Round) -> Verdict | None:
        size = look.found.size
        look.file = msgspec.structs.replace(look.file, waits=False)
        if size >= HEAD_BYTES:
            self.copy_of[look.file.id] = old.path
            self._suspects.clear(look.file.id)
            return None
        if self._suspects.has_waited(look.file.id, size=size, now_s=round_.now_s):
            what = f"its first {size} bytes are like those of {old.path}: read all the same"
            verdict = read_from(look, look.file.print)
            return verdict.saying(what, size - look.file.position)
        round_.refuse(
            look.file.path,
            f"may be a copy of {old.path}: read {self._linger_s:.0f} s after its last change",
        )
        return None


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


def _unchecked(formers: Formers, round_: Round) -> list[Look]:
    """Those that may be something else than what they are remembered as. An inode that was given to
    another file may hold what begins like the first one, and was read further elsewhere."""
    found = []
    for look in list(round_.looks.values()):
        if look.file.id in round_.unknown:
            continue
        if look.file.checked and not look.is_sure and look.found.size > look.file.position:
            with _Refusing(look, round_):
                if _may_have_been(look, formers):
                    look.file = msgspec.structs.replace(look.file, checked=False)
        if not look.file.checked and look.file.id in round_.looks:
            found.append(look)
    return found


def _divided(new: list[Look], formers: Formers, round_: Round) -> tuple[list[Look], list[Look]]:
    """Those of which something was read, here or in a former one; and the others."""
    known: list[Look] = []
    others: list[Look] = []
    for look in new:
        with _Refusing(look, round_):
            is_known = look.file.position > 0 or _may_have_been(look, formers, is_whole=True)
            (known if is_known else others).append(look)
    return known, others


def _may_have_been(look: Look, formers: Formers, *, is_whole: bool = False) -> bool:
    """Whether something of it was read in a former one; ``is_whole``: all that was read there."""
    try:
        former = formers.find(look)
    except Undecided:
        return True
    return former is not None and (former.is_whole or not is_whole)


def _saying_alike(verdict: Verdict, look: Look, originals: Originals, formers: Formers) -> Verdict:
    """It is read on from its position: does it have more in common with a file than that, and than
    has been said?"""
    one, common = originals.begun_alike(content_of(look))
    found = [] if one is None else [(one.path, common)]
    gone = formers.begun_alike(look)
    if gone is not None:
        found.append((gone[0].path, gone[1]))
    path, common = max(found, key=lambda pair: pair[1], default=("", 0))
    twice = line_end_before(look.read_at, common) - verdict.file.position - verdict.twice_bytes
    if twice <= 0:
        return verdict
    what = f"its first {common} bytes are like those of {path}: read all the same"
    return verdict.saying(what, twice)
