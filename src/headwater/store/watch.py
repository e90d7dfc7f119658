"""The followed files of a source, and what has become of each since the last poll.

A file whose size and times are as they were is not opened. Times have a grain: a change within
``SETTLE_NS`` of an earlier one may leave them alike, so a file is trusted to be unchanged only
once its last change is older than that when looked at.

A look changes nothing for good. It yields a ``Round``, and only ``accept`` makes it true, after
the manifest has it; a poll that could not be registered leaves the watch as it was.
"""

from __future__ import annotations

import os.path
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headwater.store.copy_search import CopySearch
from headwater.store.disk import Disk
from headwater.store.followed_file import Followed, begun_anew
from headwater.store.identity import ReadAt, take_print
from headwater.store.listing import Found, Listing, found_at
from headwater.store.open_files import OpenFiles
from headwater.store.poll import FollowConfig, Start
from headwater.store.poll_round import Look, Round

SETTLE_NS = 2_000_000_000
"""The coarsest grain of file times in use: two seconds."""
NEIGHBOURS_MAX = 1_000
"""Files beside an emptied log among which its copy is searched."""


class Watch:
    """Driven by ``LogFollower``: ``look``, read, register, ``accept``."""

    def __init__(
        self, files: Iterable[Followed], *, config: FollowConfig, disk: Disk, held: Path
    ) -> None:
        self.open_files = OpenFiles(disk, held_files_max=config.held_files_max)
        self._disk = disk
        self._config = config
        self._held = held
        """The path of held links, to which a file's number is appended."""
        self._copies = CopySearch(self._reader, linger_s=config.linger_s)
        self._files = {file.id: file for file in files}
        self._by_key = {file.key: file.id for file in self._files.values()}
        self._next_id = max(self._files, default=0) + 1
        self._quiet: dict[int, tuple[int, int, int]] = {}
        """Size and times of files that need no second look while they stay so."""
        self._moved_s: dict[int, float] = {}
        """When a file was last seen to grow."""

    def __len__(self) -> int:
        return len(self._files)

    @property
    def unfinished_bytes(self) -> int:
        """What lies after the last line end, in all files."""
        return sum(file.unread_bytes for file in self._files.values() if file.checked)

    def remembered(self, file: int) -> Followed | None:
        return self._files.get(file)

    def held_path(self, file: int) -> Path:
        return self._held.with_name(f"{self._held.name}{file}")

    def _reader(self, file: Followed) -> ReadAt:
        path = str(self.held_path(file.id)) if file.held else file.path
        return self.open_files.reader(file.key, path)

    def begin(self, listing: Listing, start: Start, *, now_s: float) -> Round:
        """The first poll of a source: take the files that are there, all of them as originals."""
        self._files.clear()
        self._by_key.clear()
        round_ = Round(now_s, refused=dict(listing.refused))
        for found in listing.matching.values():
            file = self._meet(found)
            look = self._open(file, found.path, round_)
            if look is not None:
                self._take_original(look, start, round_)
        return round_

    def _take_original(self, look: Look, start: Start, round_: Round) -> None:
        size = look.found.size
        file = msgspec.structs.replace(look.file, checked=True, size_seen=size)
        try:
            look.file = _at_end(file, look) if start is Start.END else file
        except OSError as error:
            round_.refused[file.path] = error.strerror or str(error)
            return
        round_.looks[file.id] = look

    def misses(self, listing: Listing) -> bool:
        """True when a file is nowhere for the first time. It may have been renamed during the
        listing, which can hide a file from it altogether: look a second time."""
        return any(
            file.key not in listing.matching
            and file.inode not in listing.neighbours
            and file.key not in self.open_files.orphans
            for file in self._files.values()
        )

    def look(self, listing: Listing, *, now_s: float) -> Round:
        """Find out what became of every file, opening those that may have changed.

        Files that are in no listing come first, while their handles are still open.
        """
        round_ = Round(now_s, refused=dict(listing.refused))
        for file in [f for f in self._files.values() if f.key not in listing.matching]:
            self._search(file, listing, round_)
        for key, found in listing.matching.items():
            number = self._by_key.get(key)
            file = self._files[number] if number is not None else self._meet(found)
            self.open_files.orphans.discard(key)
            if self._quiet.get(file.id) != _signature(found):
                self._examine(file, found.path, round_, listed=found)
        self._copies.settle(round_, self._files.values())
        if round_.departed:
            self._search_neighbours(listing, round_)
        return round_

    def _meet(self, found: Found) -> Followed:
        file = Followed(self._next_id, found.device, found.inode, found.path)
        self._next_id += 1
        self._files[file.id] = file
        self._by_key[file.key] = file.id
        return file

    def _open(self, file: Followed, path: str, round_: Round) -> Look | None:
        """None when it can't be opened, or its path leads to another file by now."""
        settled_ns = time.time_ns() - SETTLE_NS
        try:
            found = found_at(path, self.open_files.look(file.key, path))
        except FileNotFoundError:
            return None
        except OSError as error:
            round_.refused[path] = error.strerror or str(error)
            return None
        settled = max(found.changed_ns, found.modified_ns) < settled_ns
        return Look(file, found, self.open_files.reader(file.key, path), settled)

    def _examine(
        self, file: Followed, path: str, round_: Round, *, listed: Found | None
    ) -> Look | None:
        is_sure = self._is_alive(file)
        look = self._open(file, path, round_)
        if look is None:
            unread = listed is not None and listed.size > file.position
            round_.is_clean &= not (unread and file.checked)
            return None
        size = look.found.size
        if size != file.size_seen or file.id not in self._moved_s:
            self._moved_s[file.id] = round_.now_s
        try:
            look.file = self._recognised(file, look, round_, is_sure=is_sure)
        except OSError as error:
            round_.refused[path] = error.strerror or str(error)
            round_.is_clean = False
            return None
        look.file = msgspec.structs.replace(look.file, path=path, size_seen=size)
        round_.looks[file.id] = look
        return look

    def _is_alive(self, file: Followed) -> bool:
        """While we hold a handle or a link, nobody else can get the file's inode."""
        return file.held or file.key in self.open_files

    def _recognised(self, file: Followed, look: Look, round_: Round, *, is_sure: bool) -> Followed:
        if file.position == 0 and not is_sure:
            return msgspec.structs.replace(file, checked=False)
        if file.print.is_in(look.read_at, look.found.size):
            return file
        round_.departed.append(file)
        return begun_anew(file, look.read_at, size=look.found.size)

    def _is_beside(self, file: Followed, path: str) -> bool:
        """Whether a file that the glob does not cover is this one, not another in its inode."""
        if self._is_alive(file):
            return True
        try:
            size = self.open_files.look(file.key, path).st_size
            read_at = self.open_files.reader(file.key, path)
            if file.position > 0 and file.print.is_in(read_at, size):
                return True
        except OSError:
            pass
        self.open_files.close(file.key)
        return False

    def _search(self, file: Followed, listing: Listing, round_: Round) -> None:
        """The file is in no listing: it was renamed out of the glob, moved away, or removed."""
        beside = listing.neighbours.get(file.inode)
        if beside is not None and self._is_beside(file, beside):
            self._examine(file, beside, round_, listed=None)
            return
        path = str(self.held_path(file.id)) if file.held else file.path
        if file.held or file.key in self.open_files:
            look = self._examine(file, path, round_, listed=None)
            if look is not None:
                look.is_orphan = True
                self.open_files.orphans.add(file.key)
                look.file = msgspec.structs.replace(look.file, path=file.path)
                return
        round_.departed.append(file)
        round_.gone.add(file.id)

    def _search_neighbours(self, listing: Listing, round_: Round) -> None:
        """A copy may have been made under a name that the glob does not cover."""
        places = {os.path.dirname(file.path) for file in round_.departed if file.position > 0}
        beside = [path for path in listing.neighbours.values() if os.path.dirname(path) in places]
        for path in beside[:NEIGHBOURS_MAX]:
            try:
                status = self._disk.stat(path)
            except OSError:
                continue
            key = (status.st_dev, status.st_ino)
            if key in self._by_key or not any(
                0 < old.position <= status.st_size for old in round_.departed
            ):
                continue
            self._take_if_continued(Found(path, *key, status.st_size, 0, 0), round_)

    def _take_if_continued(self, found: Found, round_: Round) -> None:
        file = self._meet(found)
        look = self._open(file, found.path, Round(round_.now_s))
        if look is not None and self._copies.is_continued(look, round_):
            look.file = msgspec.structs.replace(look.file, size_seen=look.found.size)
            self._moved_s[file.id] = round_.now_s
            round_.looks[file.id] = look
        else:
            self._drop(file.id)

    def accept(self, round_: Round) -> None:
        """The round is registered: what it found is true from now on."""
        for look in round_.looks.values():
            file = look.file
            self._files[file.id] = file
            at_rest = look.settled and file.checked and not (look.is_behind or look.is_orphan)
            if at_rest:
                self._quiet[file.id] = _signature(look.found)
            else:
                self._quiet.pop(file.id, None)
        for number in round_.gone:
            self._drop(number)

    def keep_unread(self, look: Look, *, is_held: bool) -> Followed:
        """The round was not registered: remember only where to find what it had read."""
        file = self._files[look.file.id]
        file = msgspec.structs.replace(file, path=look.file.path, held=is_held)
        self._files[file.id] = file
        return file

    def give_up_orphans(self, round_: Round) -> None:
        """A file that left and has not grown for ``linger_s`` is over; half a line is lost."""
        for number, look in round_.looks.items():
            since = round_.now_s - self._moved_s.get(number, round_.now_s)
            if look.is_orphan and not look.is_behind and since >= self._config.linger_s:
                round_.departed.append(look.file)
                round_.gone.add(number)

    def _drop(self, number: int) -> None:
        file = self._files.pop(number)
        if self._by_key.get(file.key) == number:
            del self._by_key[file.key]
        self._quiet.pop(number, None)
        self._moved_s.pop(number, None)
        self._copies.clear(number)
        self.open_files.close(file.key)


def _signature(found: Found) -> tuple[int, int, int]:
    return (found.size, found.modified_ns, found.changed_ns)


def _at_end(file: Followed, look: Look) -> Followed:
    """Begin after what is there; half a last line is stepped over, it is not ours."""
    size = look.found.size
    last = look.read_at(1, size - 1) if size else b"\n"
    return msgspec.structs.replace(
        file, print=take_print(look.read_at, size), skipping=last != b"\n"
    )
