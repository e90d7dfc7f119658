"""The followed files of a source, and what has become of each since the last poll.

A file whose size and times are as they were is not opened. Times have a grain: a change within
``SETTLE_NS`` of an earlier one may leave them alike, so a file is trusted to be unchanged only
once its last change is older than that when looked at.

A look changes nothing for good. It yields a ``Round``, and only ``accept`` makes it true, after
the manifest has it; a poll that could not be registered leaves the watch as it was.
"""

from __future__ import annotations

import contextlib
import os.path
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headwater.store.comparison import holds_end
from headwater.store.copy_search import CopySearch, continuation
from headwater.store.departed import Departed
from headwater.store.directories import reason_of
from headwater.store.disk import Disk
from headwater.store.followed_file import Followed, begun_anew
from headwater.store.formers import Formers, is_comparable
from headwater.store.identity import ReadAt, take_print
from headwater.store.listing import Found, Listing, found_at
from headwater.store.open_files import OpenFiles
from headwater.store.places import Places, at_begin
from headwater.store.poll import FollowConfig, Start
from headwater.store.poll_round import Look, Round
from headwater.store.whereabouts import Whereabouts

SETTLE_NS = 2_000_000_000
"""The coarsest grain of file times in use: two seconds."""
NEIGHBOURS_MAX = 1_000
"""Files beside an emptied log among which its copy is searched."""


class Watch:
    """Driven by ``LogFollower``: ``begin`` or ``look``, read, register, ``accept``."""

    def __init__(
        self,
        files: Iterable[Followed],
        *,
        places: Places | None,
        start: Start,
        config: FollowConfig,
        disk: Disk,
        held: Path,
    ) -> None:
        self.open_files = OpenFiles(disk, held_files_max=config.held_files_max)
        self._disk = disk
        self._config = config
        self._start = start
        self._held = held
        """The path of held links, to which a file's number is appended."""
        self.places = places
        """None: those of a source that began before they were remembered."""
        known = list(files)
        self._departed = Departed((file for file in known if file.departed_s is not None), config)
        self._copies = CopySearch(self._reader, self._departed, config)
        self._files = {file.id: file for file in known if file.departed_s is None}
        self._by_key = {file.key: file.id for file in self._files.values()}
        self._next_id = max((file.id for file in known), default=0) + 1
        self._quiet: dict[int, tuple[int, int, int]] = {}
        """Size and times of files that need no second look while they stay so."""
        self._moved_s: dict[int, float] = {}
        """When a file was last seen to grow."""
        self._away_s: dict[int, float] = {}
        """Since when a file is out of sight."""
        self._succeeded: set[int] = set()
        """Files on their way out, all of whose bytes are in others that go on from them."""

    def __len__(self) -> int:
        return len(self._files)

    @property
    def copy_count(self) -> int:
        return len(self._copies.copy_of)

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

    def begin(self, listing: Listing, *, now_s: float) -> Round:
        """The first poll of a source: take the files that are there, all of them as originals."""
        self._files.clear()
        self._by_key.clear()
        round_ = Round(now_s, refused=dict(listing.refused), is_clean=listing.is_whole)
        round_.places = at_begin(listing)
        for found in listing.matching.values():
            file = self._meet(found, listing)
            look = self._open(file, found, round_)
            if look is None:
                self._keep_for_later(file, found, round_)
            else:
                self._take_original(look, round_)
        return round_

    def _take_original(self, look: Look, round_: Round) -> None:
        size = look.found.size
        file = msgspec.structs.replace(
            look.file, checked=True, size_seen=size, modified_ns=look.found.modified_ns
        )
        try:
            look.file = _at_end(file, look.read_at, size) if self._start is Start.END else file
        except OSError as error:
            round_.refuse(file.path, reason_of(error))
            self._keep_for_later(look.file, look.found, round_)
            return
        round_.looks[file.id] = look

    def _keep_for_later(self, file: Followed, found: Found, round_: Round) -> None:
        """It can't be opened: remember how long it was, since only that was there before."""
        round_.is_clean = False
        start_at = found.size if self._start is Start.END else None
        round_.kept[file.id] = msgspec.structs.replace(file, start_at=start_at)

    def misses(self, listing: Listing) -> bool:
        """True when a file is nowhere for the first time. It may have been renamed during the
        listing, which can hide a file from it altogether: look a second time."""
        return any(
            file.key not in listing.matching
            and file.inode not in listing.neighbours
            and file.key not in self.open_files.orphans
            and file.id not in self._away_s
            for file in self._files.values()
        )

    def look(self, listing: Listing, *, now_s: float) -> Round:
        """Find out what became of every file, opening those that may have changed.

        Files that are in no listing come first, while their handles are still open.
        """
        round_ = Round(now_s, refused=dict(listing.refused), is_clean=listing.is_whole)
        round_.succeeded |= self._succeeded
        places = self.places or at_begin(Listing({}, {}, {}, listing.listed))
        round_.places = places.after(listing)
        whereabouts = Whereabouts(listing, self._disk)
        reasons: dict[int, str] = {}
        for file in [f for f in self._files.values() if f.key not in listing.matching]:
            self._search(file, listing, whereabouts, reasons, round_)
        for key, found in listing.matching.items():
            number = self._by_key.get(key)
            file = self._files[number] if number is not None else self._meet(found, listing)
            self.open_files.orphans.discard(key)
            self._away_s.pop(file.id, None)
            if self._quiet.get(file.id) != _signature(found) or file.path != found.path:
                is_sure = self._is_alive(file)
                look = self._examine(file, found, listing, round_, is_sure=is_sure)
                if look is None and number is None and self._is_old(found, listing, places):
                    self._keep_for_later(file, found, round_)
                    round_.tell(found.path, _begun_old(found.size))
        self._look_at_copies(listing, round_)
        self._settle(listing, places, round_)
        for number, file in round_.unknown.items():
            round_.refuse(file.path, f"out of sight: {reasons[number]}")
        if round_.departed:
            self._search_neighbours(listing, round_)
        return round_

    def _look_at_copies(self, listing: Listing, round_: Round) -> None:
        """A copy is left alone for as long as all that it could be a copy of is there."""
        for number in list(self._copies.copy_of) if round_.departed else ():
            self._quiet.pop(number, None)
            file = self._files[number]
            found = listing.matching.get(file.key)
            if found is not None and number not in round_.looks:
                self._examine(file, found, listing, round_, is_sure=self._is_alive(file))

    def _settle(self, listing: Listing, places: Places, round_: Round) -> None:
        def begin_old(going_on: list[Look], others: list[Look]) -> list[Look]:
            known = (*places.devices, *(look.file.place for look in going_on))
            widened = msgspec.structs.replace(places, devices=known)
            return [one for one in others if not self._is_begun_old(one, listing, widened, round_)]

        self._copies.settle(round_, self._files.values(), begin_old=begin_old)
        self._renumber(round_)
        for number, original in self._copies.copy_of.items():
            round_.refused.setdefault(self._files[number].path, f"a copy of {original}: not read")

    def _renumber(self, round_: Round) -> None:
        """Files that are out of sight on a file system that has got another number are so no more:
        the next poll finds them gone, or where they are."""
        for file in round_.unknown.values():
            if file.place in round_.renumbered and file.id not in round_.looks:
                place = round_.renumbered[file.place]
                round_.kept[file.id] = msgspec.structs.replace(file, place=place)

    def _is_old(self, found: Found, listing: Listing, places: Places) -> bool:
        return self._start is Start.END and places.is_old(found, listing)

    def _is_begun_old(self, look: Look, listing: Listing, places: Places, round_: Round) -> bool:
        """Begin a file at its end if it was there before the source could see it."""
        if look.file.position or not self._is_old(look.found, listing, places):
            return False
        size = look.found.size
        try:
            file = _at_end(look.file, look.read_at, size)
        except OSError as error:
            round_.refuse(look.file.path, reason_of(error))
            self._keep_for_later(look.file, look.found, round_)
            del round_.looks[look.file.id]
            return True
        look.file = msgspec.structs.replace(file, checked=True)
        round_.tell(look.file.path, _begun_old(size))
        return True

    def _meet(self, found: Found, listing: Listing | None) -> Followed:
        place = 0 if listing is None else listing.listed.get(os.path.dirname(found.path), 0)
        file = Followed(self._next_id, found.device, found.inode, found.path, place=place)
        self._next_id += 1
        self._files[file.id] = file
        self._by_key[file.key] = file.id
        return file

    def _open(self, file: Followed, listed: Found, round_: Round) -> Look | None:
        """None when it can't be opened, or its path leads to another file by now."""
        path = listed.path
        settled_ns = time.time_ns() - SETTLE_NS
        try:
            status = self.open_files.look(file.key, path)
        except FileNotFoundError:
            return None
        except OSError as error:
            round_.refused[path] = reason_of(error)
            return None
        found = found_at(path, status, is_link=listed.is_link)
        settled = max(found.changed_ns, found.modified_ns) < settled_ns
        return Look(file, found, self.open_files.reader(file.key, path), settled)

    def _examine(
        self,
        file: Followed,
        listed: Found,
        listing: Listing,
        round_: Round,
        *,
        is_sure: bool,
    ) -> Look | None:
        """``listed`` says where it is and, if its size is known, how much there is to read;
        ``is_sure``: the inode has been the file's all the time."""
        path = listed.path
        look = self._open(file, listed, round_)
        if look is None:
            round_.is_clean &= _is_known_read(file, listed)
            return None
        look.is_sure = is_sure
        size = look.found.size
        if size != file.size_seen or file.id not in self._moved_s:
            self._moved_s[file.id] = round_.now_s
        if size != file.size_seen:
            round_.succeeded.discard(file.id)
        if size == 0:
            self._copies.clear(file.id)
        try:
            look.file = self._recognised(file, look, round_)
        except OSError as error:
            round_.refuse(path, reason_of(error))
            return None
        look.file = msgspec.structs.replace(
            look.file,
            path=path,
            size_seen=size,
            modified_ns=look.found.modified_ns,
            place=listing.listed.get(os.path.dirname(path), file.place),
        )
        round_.looks[file.id] = look
        return look

    def _is_alive(self, file: Followed) -> bool:
        """While we hold a handle or a link, nobody else can get the file's inode."""
        return file.held or file.key in self.open_files

    def _recognised(self, file: Followed, look: Look, round_: Round) -> Followed:
        size = look.found.size
        if file.start_at is not None:
            known = msgspec.structs.replace(file, start_at=None)
            if size < file.start_at:
                return known
            begun = _at_end(known, look.read_at, file.start_at)
            round_.tell(look.found.path, _begun_old(file.start_at))
            return begun
        if file.position == 0 and not (look.is_sure and size == file.size_seen):
            # Nothing of it was read, so what it is may be asked again: a copy may have been.
            return msgspec.structs.replace(file, checked=False)
        if file.print.is_in(look.read_at, size):
            is_moved = look.found.path != file.path and not look.is_sure
            # Its inode may have been given to a file that begins like it.
            return msgspec.structs.replace(file, checked=False) if is_moved else file
        anew = self._begun_anew(file, look, round_)
        round_.departed.append(file)
        self._copies.clear(file.id)
        return anew

    def _begun_anew(self, file: Followed, look: Look, round_: Round) -> Followed:
        anew = begun_anew(file, look.read_at, size=look.found.size)
        size = look.found.size
        twice = max(0, min(file.position, size) - anew.position)
        if twice and (anew.position or holds_end(file.print, look.read_at, size)):
            what = f"rewritten after its first {anew.position} bytes: goes on there; up to {twice}"
            what += " of the bytes that follow may have been read before"
            round_.tell(look.found.path, what, twice_bytes=twice)
        return anew

    def _beside(self, file: Followed, listing: Listing) -> str | None:
        """The path that the glob does not cover under which the file is, not another in its inode.
        Raises ``OSError`` if that can't be found out now."""
        for path in listing.neighbours.get(file.inode, ()):
            with contextlib.suppress(FileNotFoundError):
                status = self._disk.stat(path)
                is_there = (status.st_dev, status.st_ino) == file.key
                if is_there and (self._is_alive(file) or self._is_same(file, path)):
                    return path
        return None

    def _is_same(self, file: Followed, path: str) -> bool:
        try:
            size = self.open_files.look(file.key, path).st_size
            read_at = self.open_files.reader(file.key, path)
            if file.position > 0 and file.print.is_in(read_at, size):
                return True
        except FileNotFoundError:
            pass
        self.open_files.close(file.key)
        return False

    def _search(
        self,
        file: Followed,
        listing: Listing,
        whereabouts: Whereabouts,
        reasons: dict[int, str],
        round_: Round,
    ) -> None:
        """The file is in no listing: it is out of sight, for one of the ``reasons``, or was renamed
        out of the glob, moved away, or removed."""
        reason = whereabouts.why_unknown(file)
        look: Look | None = None
        is_alive = self._is_alive(file)
        try:
            beside = self._beside(file, listing)
            if beside is not None:
                self._away_s.pop(file.id, None)
                found = _unlisted(file, beside)
                self._examine(file, found, listing, round_, is_sure=is_alive)
                return
            if is_alive:
                look = self._look_at_rest(file, listing, round_)
        except OSError as error:
            reason = reason or reason_of(error)
        if reason and self._is_awaited(file, round_):
            round_.unknown[file.id] = file
            reasons[file.id] = reason
        elif look is not None:
            look.is_orphan = True
            self.open_files.orphans.add(file.key)
        else:
            round_.departed.append(file)
            round_.gone.add(file.id)
            if file.id in self._copies.undecided:
                round_.undecided_bytes += file.unread_bytes

    def _is_awaited(self, file: Followed, round_: Round) -> bool:
        """A file that is out of sight is given up after ``away_s``."""
        since_s = self._away_s.setdefault(file.id, round_.now_s)
        return round_.now_s - since_s < self._config.away_s

    def _look_at_rest(self, file: Followed, listing: Listing, round_: Round) -> Look | None:
        """What only a handle or our own link still leads to; raises ``OSError`` if it can't be
        looked at now, and is None if it is not there."""
        path = str(self.held_path(file.id)) if file.held else file.path
        look = self._examine(file, _unlisted(file, path), listing, round_, is_sure=True)
        if look is not None:
            look.file = msgspec.structs.replace(look.file, path=file.path, place=file.place)
        elif path in round_.refused:
            raise OSError(round_.refused[path])
        return look

    def _search_neighbours(self, listing: Listing, round_: Round) -> None:
        """A copy may have been made under a name that the glob does not cover."""
        departed = [file for file in round_.departed if is_comparable(file)]
        places = {os.path.dirname(file.path) for file in departed}
        neighbours = (path for paths in listing.neighbours.values() for path in paths)
        beside = [path for path in neighbours if os.path.dirname(path) in places]
        formers = Formers(round_, self._departed)
        for path in beside[:NEIGHBOURS_MAX]:
            try:
                status = self._disk.stat(path)
            except OSError:
                continue
            key = (status.st_dev, status.st_ino)
            if key in self._by_key or not any(
                old.position <= status.st_size for old in round_.departed if is_comparable(old)
            ):
                continue
            found = found_at(path, status)
            self._take_if_continued(found, formers, listing, round_)

    def _take_if_continued(
        self, found: Found, formers: Formers, listing: Listing, round_: Round
    ) -> None:
        file = self._meet(found, listing)
        look = self._open(file, found, Round(round_.now_s))
        try:
            verdict = None if look is None else continuation(look, formers)
        except OSError:
            verdict = None
        if look is not None and verdict is not None:
            verdict.enter(look, formers, round_)
            look.file = msgspec.structs.replace(look.file, size_seen=look.found.size)
            self._moved_s[file.id] = round_.now_s
            round_.looks[file.id] = look
        else:
            self._drop(file.id)

    def farewells(self, round_: Round) -> list[Followed]:
        """What this round takes leave of, as it is to be remembered: files that are gone, and the
        former content of files that hold something else now. Those that have been remembered for
        long enough become gone for good."""
        round_.gone |= self._departed.outdated(round_.now_s)
        leaving = [look.file for look in round_.looks.values() if look.file.id in round_.gone]
        leaving += [
            self._files[n] for n in round_.gone if n in self._files and n not in round_.looks
        ]
        kept = [file for file in leaving if file.id not in round_.succeeded]
        for file in round_.departed:
            if file.id not in round_.gone:
                kept.append(msgspec.structs.replace(file, id=self._next_id))
                self._next_id += 1
        return [
            msgspec.structs.replace(file, departed_s=round_.now_s, held=False)
            for file in kept
            if is_comparable(file)
        ]

    def accept(self, round_: Round, farewells: Iterable[Followed]) -> None:
        """The round is registered: what it found is true from now on."""
        self._files.update(round_.kept)
        self.places = round_.places
        for look in round_.looks.values():
            file = look.file
            self._files[file.id] = file
            is_decided = file.checked or file.id in self._copies.copy_of
            is_at_rest = look.settled and is_decided and file.id not in round_.unknown
            if is_at_rest and not (look.is_behind or look.is_orphan):
                self._quiet[file.id] = _signature(look.found)
            else:
                self._quiet.pop(file.id, None)
        self._succeeded = round_.succeeded - round_.gone
        for number in round_.gone:
            self._drop(number)
        for file in farewells:
            self._departed.add(file)

    def keep_unread(self, look: Look, *, is_held: bool) -> Followed:
        """The round was not registered: remember only where to find what it had read."""
        file = self._files[look.file.id]
        file = msgspec.structs.replace(file, path=look.file.path, held=is_held)
        self._files[file.id] = file
        self._quiet.pop(file.id, None)
        return file

    def give_up_orphans(self, round_: Round) -> None:
        """A file that left and has not grown for ``linger_s`` is over; half a line is lost."""
        for number, look in round_.looks.items():
            since = round_.now_s - self._moved_s.get(number, round_.now_s)
            if look.is_orphan and not look.is_behind and since >= self._config.linger_s:
                if number not in round_.succeeded:
                    round_.departed.append(look.file)
                round_.gone.add(number)

    def _drop(self, number: int) -> None:
        self._departed.forget(number)
        file = self._files.pop(number, None)
        if file is None:
            return
        if self._by_key.get(file.key) == number:
            del self._by_key[file.key]
        self._quiet.pop(number, None)
        self._moved_s.pop(number, None)
        self._away_s.pop(number, None)
        self._copies.clear(number)
        self.open_files.close(file.key)


def _signature(found: Found) -> tuple[int, int, int]:
    return (found.size, found.modified_ns, found.changed_ns)


def _is_known_read(file: Followed, listed: Found) -> bool:
    """Whether a file that can't be opened is the one that was read to its end. Times have a grain:
    another file in its inode may have the same ones, for a while."""
    if not listed.modified_ns:
        return file.checked
    seen = (file.path, file.position, file.modified_ns)
    is_settled = listed.modified_ns < time.time_ns() - SETTLE_NS
    return file.checked and is_settled and (listed.path, listed.size, listed.modified_ns) == seen


def _begun_old(size: int) -> str:
    return f"there before its directory was first seen: begun after {size} bytes"


def _unlisted(file: Followed, path: str) -> Found:
    """Where to look for a file of whose size no listing says anything."""
    return Found(path, file.device, file.inode, file.position, 0, 0)


def _at_end(file: Followed, read_at: ReadAt, size: int) -> Followed:
    """Begin after what is there; half a last line is stepped over, it is not ours."""
    last = read_at(1, size - 1) if size else b"\n"
    return msgspec.structs.replace(file, print=take_print(read_at, size), skipping=last != b"\n")
