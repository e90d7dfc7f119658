"""The search for copies in one poll: what goes on from what, and what has to wait.

See ``copies`` for the cases, and for how two files are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from headwater.store.copies import Content, Originals, Suspects
from headwater.store.followed_file import Followed, line_end_before
from headwater.store.identity import HEAD_BYTES, ReadAt, take_print
from headwater.store.poll_round import Look, Round


class CopySearch:
    """Remembers suspects from poll to poll."""

    def __init__(self, reader: Callable[[Followed], ReadAt], *, linger_s: float) -> None:
        self._reader = reader
        self._suspects = Suspects(linger_s=linger_s)

    def clear(self, file: int) -> None:
        """The file is gone."""
        self._suspects.clear(file)

    def settle(self, round_: Round, files: Iterable[Followed]) -> None:
        """Decide for each file that nothing was read of whether it is a copy of another.

        Of two that are both new, the one with the shorter name is the original: rotation appends.
        """
        new = [
            look for look in round_.looks.values() if not look.file.checked and look.found.size > 0
        ]
        if not new:
            return
        originals = Originals(self._originals(round_, files))
        for look in sorted(new, key=lambda look: (len(look.file.path), look.file.path)):
            try:
                if not self.is_continued(look, round_):
                    self._set_apart(look, originals, round_)
                if look.file.checked:
                    originals.add(_content(look, _or_nothing(look.read_at)))
            except OSError as error:
                round_.refused[look.file.path] = error.strerror or str(error)
                del round_.looks[look.file.id]

    def _originals(self, round_: Round, files: Iterable[Followed]) -> Iterator[Content]:
        departed = {file.id for file in round_.departed}
        for file in files:
            look = round_.looks.get(file.id)
            if look is not None and look.file.checked:
                yield _content(look, _or_nothing(look.read_at))
            elif look is None and file.checked and file.id not in departed:
                read_at = _or_nothing(self._reader(file))
                yield Content(file.id, file.size_seen, file.print.head, read_at)

    def is_continued(self, look: Look, round_: Round) -> bool:
        """True when the file goes on from one that departed in this very poll."""
        for old in round_.departed:
            if old.id == look.file.id or old.position == 0 or not old.checked:
                continue
            if old.print.is_in(look.read_at, look.found.size):
                round_.departed.remove(old)
                print_, skipping = old.print, old.skipping
            elif old.print.begins_like(look.read_at, look.found.size):
                end = line_end_before(look.read_at, look.found.size)
                print_, skipping = take_print(look.read_at, end), False
            else:
                continue
            look.file = msgspec.structs.replace(
                look.file, print=print_, skipping=skipping, checked=True
            )
            self._suspects.clear(look.file.id)
            return True
        return False

    def _set_apart(self, look: Look, originals: Originals, round_: Round) -> None:
        size = look.found.size
        original = originals.most_like(_content(look, look.read_at))
        common = 0 if original is None else min(original.size, size)
        begin = look.file.print
        if original is not None and original.size >= size:
            if not self._suspects.is_chance(
                look.file.id, size=size, likeness=common, now_s=round_.now_s
            ):
                return
        elif common >= HEAD_BYTES:
            begin = take_print(look.read_at, line_end_before(look.read_at, common))
        self._suspects.clear(look.file.id)
        look.file = msgspec.structs.replace(look.file, print=begin, checked=True)


def _or_nothing(read_at: ReadAt) -> ReadAt:
    """An original that can't be opened any more is like nothing, and no reason to stop."""

    def read(count: int, offset: int) -> bytes:
        try:
            return read_at(count, offset)
        except OSError:
            return b""

    return read


def _content(look: Look, read_at: ReadAt) -> Content:
    size = look.found.size
    return Content(look.file.id, size, read_at(min(size, HEAD_BYTES), 0), read_at)
