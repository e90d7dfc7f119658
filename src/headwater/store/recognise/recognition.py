"""Whether an inode still holds what was read of it: the file as it is to be remembered.

An inode says little: it may have been given to another file, or its file may have been emptied and
filled again. The print of what was read tells. Where nobody kept the inode from being given away
(the look is not *sure*), also a file that begins like the former one may be another. A log that was
written to gets longer; one that did not is a report that was written again, or another file, and
has to have the checksum of what was read.
"""

from __future__ import annotations

import time

import msgspec

from headwater.store.follow.beginning import as_listed, at_end, begun_old
from headwater.store.follow.followed_file import Followed, begun_anew, likeness
from headwater.store.follow.listing import Found
from headwater.store.follow.poll_round import Look, Round
from headwater.store.recognise.comparison import Comparisons, holds_end
from headwater.store.recognise.identity import HEAD_BYTES

QUIET_NS = 2_000_000_000
"""The coarsest grain of file times in use: two seconds."""


def quiet_before_ns() -> int:
    """What was last changed before has times that another change would have moved."""
    return time.time_ns() - QUIET_NS


def recognised(file: Followed, look: Look, round_: Round, comparisons: Comparisons) -> Followed:
    """Raises ``OSError`` if it can't be read, and ``Undecided`` if it can't be compared in this
    poll; then nothing is noted in the round."""
    size = look.found.size
    if file.start_at is not None:
        return _begun_late(file, look, round_)
    if file.position == 0 and not (look.is_sure and size == file.size_seen):
        # Nothing of it was read, so what it is may be asked again: a copy may have been.
        return msgspec.structs.replace(file, checked=False)
    is_like = file.print.is_in(look.read_at, size)
    if is_like and _is_still(file, look, comparisons):
        is_moved = look.found.path != file.path and not look.is_sure
        # Its inode may have been given to a file that begins like it.
        return msgspec.structs.replace(file, checked=False) if is_moved else file
    common = HEAD_BYTES if is_like else likeness(file.print, look.read_at, size=size)
    anew = _rewritten(file, look, common, round_)
    round_.departed.append(file)
    return anew


def _is_still(file: Followed, look: Look, comparisons: Comparisons) -> bool:
    """Whether one that looks like what was read of it is that. More than one poll may compare is
    not read for it: somebody may touch a large log every second."""
    is_longer = look.found.size > file.size_seen
    if is_longer or look.found.modified_ns == file.modified_ns:
        return True
    is_large = file.position - file.print.begun > comparisons.poll_bytes_max
    return is_large or comparisons.is_all_in(file.print, file.id, look.read_at)


def awaited(file: Followed, found: Found, round_: Round, *, is_sure: bool) -> Followed:
    """A file that was there before and could never be opened, as it is to be remembered now.

    Nothing was read of it by which it could be known again, and its inode may have been given to
    another file. So it counts as the same only while it is in its place and gets no shorter, or was
    renamed and is otherwise unchanged. Else nothing says that what is there is old, and it is read
    rather than lost.
    """
    is_same = is_sure or found.path == file.path or _is_unchanged(file, found)
    if is_same and found.size >= file.unopened:
        return as_listed(file, found, start_at=file.start_at)
    what = f"perhaps not {file.path}, which was there before: read from its beginning"
    round_.tell(found.path, what)
    return as_listed(file, found, start_at=None)


def _is_unchanged(file: Followed, found: Found) -> bool:
    """Times have a grain: those of another file may be the same, for a while."""
    is_quiet = found.modified_ns < quiet_before_ns()
    seen = (file.unopened, file.modified_ns)
    return is_quiet and (found.size, found.modified_ns) == seen


def _begun_late(file: Followed, look: Look, round_: Round) -> Followed:
    """It could not be opened when it should have been begun after ``start_at`` bytes. A copy of it
    may have been read meanwhile, so it is not ``checked``. A link leads to what was listed then."""
    known = awaited(file, look.found, round_, is_sure=look.is_sure or file.held)
    if known.start_at is None:
        return known
    begun = at_end(known, look.read_at, known.start_at)
    round_.tell(look.found.path, begun_old(known.start_at))
    return msgspec.structs.replace(begun, start_at=None)


def _rewritten(file: Followed, look: Look, common: int, round_: Round) -> Followed:
    """``common``: how many of its first bytes are as they were, as far as can be told."""
    size = look.found.size
    anew = begun_anew(file, look.read_at, size=size, common=common)
    twice = max(0, min(file.position, size) - anew.position)
    if twice and (anew.position or holds_end(file.print, look.read_at, size)):
        what = f"rewritten after its first {anew.position} bytes: goes on there; up to {twice}"
        what += " of the bytes that follow may have been read before"
        round_.tell(look.found.path, what, twice_bytes=twice)
        return msgspec.structs.replace(anew, doubtful=anew.position + twice)
    return anew


def is_known_read(file: Followed, listed: Found) -> bool:
    """Whether a file that can't be opened is the one that was read to its end. Times have a grain:
    another file in its inode may have the same ones, for a while."""
    if not listed.modified_ns:
        return file.checked
    seen = (file.path, file.position, file.modified_ns)
    is_quiet = listed.modified_ns < quiet_before_ns()
    return file.checked and is_quiet and (listed.path, listed.size, listed.modified_ns) == seen
