"""What is decided about a new file: from where it is read, who it was before, what is said of it.

A decision reads files, and any read may fail. So a verdict is drawn up as a value first, and it is
entered in the round only once all that it needs has been read: a file of which something could not
be read leaves the round, and those that it may go on from, as they were.
"""

from __future__ import annotations

import msgspec

from headwater.store.follow.followed_file import Followed, line_end_before
from headwater.store.follow.poll_round import Look, Round
from headwater.store.recognise.comparison import holds_end
from headwater.store.recognise.content import Content
from headwater.store.recognise.formers import Former, Formers
from headwater.store.recognise.identity import Print, take_print


class Verdict(msgspec.Struct, frozen=True):
    """The file is read on from its position."""

    file: Followed
    told: tuple[tuple[str, int], ...] = ()
    """(what is said of it, how many bytes of it may have been read before)"""
    former: Former | None = None
    """Who it was before."""
    succeeded: int | None = None
    """A file that it replaced, and in which all of that file is."""

    @property
    def twice_bytes(self) -> int:
        return sum(count for _, count in self.told)

    def saying(self, what: str, twice_bytes: int = 0) -> Verdict:
        return msgspec.structs.replace(self, told=(*self.told, (what, twice_bytes)))

    def enter(self, look: Look, formers: Formers, round_: Round) -> None:
        """Make it part of the round; reads nothing."""
        doubtful = self.file.position + self.twice_bytes if self.twice_bytes else 0
        doubtful = max(doubtful, self.file.doubtful)
        look.file = msgspec.structs.replace(self.file, doubtful=doubtful)
        for what, count in self.told:
            round_.tell(look.file.path, what, twice_bytes=count)
        if self.former is not None:
            formers.take(look, self.former)
        if self.succeeded is not None:
            round_.succeeded.add(self.succeeded)


def read_from(look: Look, print_: Print, *, skipping: bool | None = None) -> Verdict:
    """Of a line that is stepped over the rest still is, if the file goes on where it was."""
    file = look.file
    if skipping is None:
        skipping = file.skipping and print_.position == file.position
    changed = msgspec.structs.replace(
        file, print=print_, skipping=skipping, checked=True, start_at=None, waits=False
    )
    return Verdict(changed)


def taken_over(look: Look, former: Former) -> Verdict:
    """It goes on from one that can't be read any more."""
    old = former.old
    if former.is_whole:
        verdict = read_from(look, old.print, skipping=old.skipping)
        verdict = verdict.saying(f"goes on from {old.path}, after {former.end} bytes")
    else:
        verdict = read_from(look, take_print(look.read_at, former.end))
        verdict = _saying_replaced(verdict, look, old.print, former.end)
    return msgspec.structs.replace(verdict, former=former)


def replacing(look: Look, old: Content, common: int) -> Verdict:
    """Each reads the lines after what they have in common, so that nothing comes twice."""
    end = max(line_end_before(look.read_at, common), look.file.position)
    verdict = read_from(look, take_print(look.read_at, end))
    verdict = _saying_replaced(verdict, look, old.print, end)
    return msgspec.structs.replace(verdict, succeeded=old.file if common == old.size else None)


def in_place_of(look: Look, before: Print, end: int) -> Verdict:
    """It goes on after ``end`` bytes that it has in common with one that was in its place."""
    return _saying_replaced(read_from(look, take_print(look.read_at, end)), look, before, end)


def branching_off(look: Look, old: Content, common: int) -> Verdict:
    """It has lines of its own after what it has in common with an intact file."""
    end = line_end_before(look.read_at, common)
    verdict = read_from(look, take_print(look.read_at, max(end, look.file.position)))
    return verdict.saying(f"its first {end} bytes are those of {old.path}: left out")


def read_as_new(look: Look, before: Print | None) -> Verdict:
    """``before``: of what was in its place until lately."""
    verdict = read_from(look, look.file.print)
    if before is None:
        return verdict
    return _saying_replaced(verdict, look, before, look.file.position)


def _saying_replaced(verdict: Verdict, look: Look, before: Print, end: int) -> Verdict:
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
    return verdict.saying(what, twice)
