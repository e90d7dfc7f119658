"""Where a file is begun: at its beginning, or after what was there before the source saw it.

With ``start = END`` what was in a file before is not ours, nor is the rest of its last line if that
was half written. A file that can't be opened just then is begun there later: how long it was is
remembered. See ``places`` for what was there before.
"""

from __future__ import annotations

import msgspec

from headwater.store.follow.directories import reason_of
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Listing
from headwater.store.follow.places import Places
from headwater.store.follow.poll import Start
from headwater.store.follow.poll_round import Look, Round
from headwater.store.recognise.identity import ReadAt, take_print


class Beginning:
    """Of the files of one source."""

    def __init__(self, start: Start) -> None:
        self._start = start

    @property
    def is_at_end(self) -> bool:
        """What is there when the source begins is not ours."""
        return self._start is Start.END

    def is_old(self, found: Found, listing: Listing, places: Places) -> bool:
        """Whether a file that is met for the first time is begun at its end."""
        return self._start is Start.END and places.is_old(found, listing)

    def take_original(self, look: Look, round_: Round) -> None:
        """The file was there when the source began."""
        size = look.found.size
        file = msgspec.structs.replace(
            look.file,
            checked=True,
            size_seen=size,
            modified_ns=look.found.modified_ns,
            packed_size=look.found.packed_size,
        )
        try:
            look.file = at_end(file, look.read_at, size) if self._start is Start.END else file
        except OSError as error:
            round_.refuse(file.path, reason_of(error))
            self.keep_for_later(look.file, look.found, round_)
            return
        round_.looks[file.id] = look

    def take_old(self, look: Look, round_: Round) -> None:
        """The file was there before the source could see it."""
        size = look.found.size
        try:
            file = at_end(look.file, look.read_at, size)
        except OSError as error:
            round_.refuse(look.file.path, reason_of(error))
            self.keep_for_later(look.file, look.found, round_)
            del round_.looks[look.file.id]
            return
        look.file = msgspec.structs.replace(file, checked=True, waits=False)
        round_.tell(look.file.path, begun_old(size))

    def keep_for_later(self, file: Followed, found: Found, round_: Round) -> None:
        """It can't be opened: remember how long it was, since only that was there before."""
        round_.is_clean = False
        start_at = found.size if self._start is Start.END else None
        round_.kept[file.id] = as_listed(file, found, start_at=start_at)


def as_listed(file: Followed, found: Found, *, start_at: int | None) -> Followed:
    """Of a file that could never be opened only its place, its size and its time are known."""
    return msgspec.structs.replace(
        file, path=found.path, unopened=found.size, modified_ns=found.modified_ns, start_at=start_at
    )


def begun_old(size: int) -> str:
    return f"there before its directory was first seen: begun after {size} bytes"


def at_end(file: Followed, read_at: ReadAt, size: int) -> Followed:
    """Begin after what is there; half a last line is stepped over, it is not ours."""
    last = read_at(1, size - 1) if size else b"\n"
    return msgspec.structs.replace(file, print=take_print(read_at, size), skipping=last != b"\n")
