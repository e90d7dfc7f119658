"""Files that are gone, remembered for a while so that one that comes back is not read again.

A folder is moved away and back, an archive is restored, the copy of an emptied log turns up polls
later: to a listing these are new files. They are known again by the print of what was read. A print
of less than ``HEAD_BYTES`` may be a header that many files have, so it is trusted only for
``linger_s``, and later only in the same inode with the same time of change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from headwater.store.follow.followed_file import Followed
from headwater.store.follow.poll import FollowConfig
from headwater.store.follow.poll_round import Look
from headwater.store.recognise.identity import HEAD_BYTES, first_line

ALIKE_MAX = 16
"""Files with the same first line that are looked at, to say what may be read twice."""


class PrintIndex:
    """Files by the head of their prints, whatever its length."""

    def __init__(self, files: Iterable[Followed] = ()) -> None:
        self._by_head: dict[int, dict[bytes, dict[int, Followed]]] = {}
        for file in files:
            self.add(file)

    def add(self, file: Followed) -> None:
        head = file.print.head
        if head:
            self._by_head.setdefault(len(head), {}).setdefault(head, {})[file.id] = file

    def remove(self, file: Followed) -> None:
        head = file.print.head
        alike = self._by_head.get(len(head), {}).get(head, {})
        alike.pop(file.id, None)
        if not alike and head in self._by_head.get(len(head), {}):
            del self._by_head[len(head)][head]

    def begun_in(self, head: bytes) -> Iterator[Followed]:
        """Those whose head this one begins with; of which most was read, first."""
        for length in sorted(self._by_head, reverse=True):
            if length <= len(head):
                alike = self._by_head[length].get(head[:length], {}).values()
                yield from sorted(alike, key=lambda file: file.position, reverse=True)


class Departed:
    """The memory of one source; ``add`` when a file is gone, ``outdated`` at each poll."""

    def __init__(self, files: Iterable[Followed], config: FollowConfig) -> None:
        self._keep_s = config.departed_keep_s
        self._linger_s = config.linger_s
        self._files_max = config.departed_files_max
        self._files: OrderedDict[int, Followed] = OrderedDict()
        self._index = PrintIndex()
        self._by_line: dict[bytes, dict[int, Followed]] = {}
        self._at: dict[str, int] = {}
        """By path: the one that was there last."""
        for file in sorted(files, key=lambda file: file.departed_s or 0.0):
            self.add(file)

    def __len__(self) -> int:
        return len(self._files)

    def add(self, file: Followed) -> None:
        self._files[file.id] = file
        self._index.add(file)
        self._at[file.path] = file.id
        self._by_line.setdefault(first_line(file.print.head), {})[file.id] = file

    def forget(self, number: int) -> None:
        file = self._files.pop(number, None)
        if file is not None:
            self._index.remove(file)
            self._by_line[first_line(file.print.head)].pop(number, None)
            if self._at.get(file.path) == number:
                del self._at[file.path]

    def begun_alike(self, head: bytes) -> list[Followed]:
        """Some that begin with the same line, the newest ones."""
        alike = self._by_line.get(first_line(head), {}) if first_line(head) else {}
        return list(alike.values())[-ALIKE_MAX:]

    def lately_at(self, path: str, *, now_s: float) -> Followed | None:
        """The file that was in this place, if it has not been gone for long."""
        file = self._files.get(self._at.get(path, 0))
        is_late = file is not None and now_s - (file.departed_s or 0.0) <= self._linger_s
        return file if is_late else None

    def outdated(self, now_s: float) -> set[int]:
        """Those to forget: gone for too long, or more than are kept."""
        surplus = len(self._files) - self._files_max
        return {
            number
            for place, (number, file) in enumerate(self._files.items())
            if place < surplus or now_s - (file.departed_s or 0.0) > self._keep_s
        }

    def returned(
        self, look: Look, *, now_s: float, is_proven: Callable[[Look, Followed], bool]
    ) -> tuple[Followed | None, bool]:
        """The file that this one surely is, or else may be; and whether it is sure. ``is_proven``:
        that one which looks like another has all that was read of it."""
        doubtful: Followed | None = None
        head = look.read_at(min(look.found.size, HEAD_BYTES), 0)
        for file in self._index.begun_in(head):
            if not (file.print.is_in(look.read_at, look.found.size) and is_proven(look, file)):
                continue
            is_same = (file.key, file.modified_ns) == (look.file.key, look.found.modified_ns)
            is_recent = now_s - (file.departed_s or 0.0) <= self._linger_s
            if file.position >= HEAD_BYTES or is_same or is_recent:
                return file, True
            doubtful = doubtful or file
        return doubtful, False
