"""Files that are in no listing: renamed out of the glob, out of sight, moved away, or removed.

A renamed file is found beside the glob, by its inode. One that is out of sight (``whereabouts``) is
awaited. One that nothing but a handle or our own link leads to is an *orphan*: it is read until it
has not grown for a while. All others are gone.
"""

from __future__ import annotations

import contextlib
import errno
import os.path

import msgspec

from headwater.store.disk import Disk
from headwater.store.follow.beginning import as_listed
from headwater.store.follow.directories import reason_of
from headwater.store.follow.examination import Examination
from headwater.store.follow.file_table import FileTable
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Listing, found_at
from headwater.store.follow.poll import FollowConfig
from headwater.store.follow.poll_round import Look, Round
from headwater.store.follow.whereabouts import Whereabouts
from headwater.store.recognise.comparison import Undecided
from headwater.store.recognise.content import original_of
from headwater.store.recognise.copies import Originals
from headwater.store.recognise.copy_search import CopySearch
from headwater.store.recognise.formers import Formers, is_comparable
from headwater.store.recognise.identity import HEAD_BYTES
from headwater.store.recognise.recognition import quiet_before_ns

NEIGHBOURS_MAX = 1_000
"""Files beside an emptied log among which its copy is searched."""


class Missing:
    """The search for them, in every poll."""

    def __init__(
        self,
        files: FileTable,
        *,
        examination: Examination,
        copies: CopySearch,
        config: FollowConfig,
        disk: Disk,
    ) -> None:
        self._files = files
        self._examination = examination
        self._copies = copies
        self._config = config
        self._disk = disk

    def search(self, listing: Listing, round_: Round) -> dict[int, str]:
        """Look for all that the listing does not have; gives why those are ``unknown`` that are."""
        whereabouts = Whereabouts(listing, self._disk)
        reasons: dict[int, str] = {}
        for file in [one for one in self._files.values() if one.key not in listing.matching]:
            reason = self._search_one(file, listing, whereabouts.why_unknown(file), round_)
            if reason:
                reasons[file.id] = reason
        return reasons

    def _search_one(self, file: Followed, listing: Listing, reason: str, round_: Round) -> str:
        """Why it is unknown where the file is, or nothing: it was found, or is gone."""
        look: Look | None = None
        is_alive = self._files.is_alive(file)
        try:
            beside = self._beside(file, listing)
            if beside is not None:
                self._files.away_s.pop(file.id, None)
                self._look_beside(file, beside, listing, round_)
                return ""
            if is_alive:
                look = self._look_at_rest(file, listing, round_)
        except OSError as error:
            reason = reason or reason_of(error)
        if reason and self._is_awaited(file, round_):
            round_.unknown[file.id] = file
            if look is not None:
                self._let_wait(look)
            return reason
        if look is not None:
            look.is_orphan = True
            self._files.open_files.orphans.add(file.key)
        else:
            if file.id not in round_.succeeded or file.unopened_bytes:
                round_.departed.append(file)
            round_.gone.add(file.id)
        return ""

    def _let_wait(self, look: Look) -> None:
        """What it is can be asked when it is in sight again; until then a link keeps it."""
        is_copy = look.file.id in self._copies.copy_of
        if look.found.size and not look.file.checked and not is_copy:
            look.file = msgspec.structs.replace(look.file, waits=True)

    def _look_beside(self, file: Followed, beside: Found, listing: Listing, round_: Round) -> None:
        found, is_sure = _unlisted(file, beside.path), self._files.is_sure(file)
        look = self._examination.examine(file, found, listing, round_, is_sure=is_sure)
        if look is None and not file.position:
            kept = as_listed(file, beside, start_at=file.start_at)
            if kept != file:
                round_.kept[file.id] = kept
            round_.closed[file.id] = beside

    def _beside(self, file: Followed, listing: Listing) -> Found | None:
        """Where the glob does not reach and the file is, not another in its inode. Raises
        ``OSError`` if that can't be found out now."""
        for path in listing.neighbours.get(file.inode, ()):
            with contextlib.suppress(FileNotFoundError):
                found = found_at(path, self._disk.stat(path))
                if found.key == file.key and (
                    self._files.is_alive(file) or self._is_same(file, found)
                ):
                    return found
        return None

    def _is_same(self, file: Followed, found: Found) -> bool:
        if not file.position:
            return _is_as_listed(file, found)
        open_files = self._files.open_files
        try:
            size = open_files.content_size(file.key, found.path, file.packed)
            if file.print.is_in(open_files.reader(file.key, found.path, file.packed), size):
                return True
        except FileNotFoundError:
            pass
        open_files.close(file.key)
        return False

    def _is_awaited(self, file: Followed, round_: Round) -> bool:
        """A file that is out of sight is given up after ``away_s``."""
        since_s = self._files.away_s.setdefault(file.id, round_.now_s)
        return round_.now_s - since_s < self._config.away_s

    def _look_at_rest(self, file: Followed, listing: Listing, round_: Round) -> Look | None:
        """What only a handle or our own link still leads to; raises ``OSError`` if it can't be
        looked at now, and is None if it is not there."""
        path = self._files.path_to(file)
        found = _unlisted(file, path)
        is_sure = self._files.is_sure(file)
        look = self._examination.examine(file, found, listing, round_, is_sure=is_sure)
        if look is not None:
            look.file = msgspec.structs.replace(look.file, path=file.path, place=file.place)
        elif path in round_.refused:
            raise OSError(round_.refused[path])
        return look

    def search_copies(self, listing: Listing, round_: Round) -> None:
        """A copy of what has left may have been made under a name that the glob does not cover."""
        departed = [file for file in round_.departed if is_comparable(file)]
        places = {os.path.dirname(file.path) for file in departed}
        neighbours = (path for paths in listing.neighbours.values() for path in paths)
        beside = [path for path in neighbours if os.path.dirname(path) in places]
        if not beside:
            return
        formers = self._copies.formers(round_)
        originals = self._copies.originals(round_, self._files.values())
        for path in beside[:NEIGHBOURS_MAX]:
            try:
                status = self._disk.stat(path)
            except OSError:
                continue
            found = found_at(path, status)
            if self._files.at(found.key) is None and self._may_hold(found, departed):
                file = self._files.meet(found, listing)
                look = self._examination.open(file, found, Round(round_.now_s))
                self._take_if_continued(file, look, formers, originals, round_)

    def _may_hold(self, found: Found, departed: list[Followed]) -> bool:
        """Whether it is long enough for what was read of one that has left; a compressed one begins
        with it, which is cheaper to find out than how much it holds."""
        if not found.packed:
            return any(file.position <= found.size for file in departed)
        open_files = self._files.open_files
        try:
            head = open_files.reader(found.key, found.path, found.packed)(HEAD_BYTES, 0)
        except OSError:
            return False
        finally:
            open_files.close(found.key)
        return any(head.startswith(file.print.head) for file in departed)

    def _take_if_continued(
        self,
        file: Followed,
        look: Look | None,
        formers: Formers,
        originals: Originals,
        round_: Round,
    ) -> None:
        try:
            verdict = None if look is None else self._copies.continuation(look, formers, originals)
        except (OSError, Undecided):
            verdict = None
        if look is None or verdict is None:
            self._copies.clear(file.id)
            self._files.drop(file.id)
            return
        verdict.enter(look, formers, round_)
        found = look.found
        look.file = msgspec.structs.replace(
            look.file, size_seen=found.size, packed=found.packed, packed_size=found.packed_size
        )
        self._files.moved_s[file.id] = round_.now_s
        round_.looks[file.id] = look
        originals.add(original_of(look))


def _is_as_listed(file: Followed, found: Found) -> bool:
    """Of a file of which nothing was read only its place, its length and its time are known. It was
    renamed if it is otherwise unchanged, and then it may grow where it is. Raises ``OSError`` while
    another file in its inode could have the same time by chance."""
    if found.path == file.path:
        return found.size >= file.known_size
    if (found.size, found.modified_ns) != (file.known_size, file.modified_ns):
        return False
    if found.modified_ns >= quiet_before_ns():
        raise OSError(errno.EAGAIN, "changed too lately to be known by its time")
    return True


def _unlisted(file: Followed, path: str) -> Found:
    """Where to look for a file of whose size no listing says anything."""
    return Found(path, file.device, file.inode, file.position, 0, 0, packed=file.packed)
