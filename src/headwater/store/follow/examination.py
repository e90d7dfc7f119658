"""Opening a file in a poll, and noting what became of it since the last look."""

from __future__ import annotations

import os

import msgspec

from headwater.store.follow.directories import reason_of
from headwater.store.follow.file_table import FileTable
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Listing, found_at
from headwater.store.follow.poll_round import Look, Round
from headwater.store.recognise.comparison import Undecided
from headwater.store.recognise.copy_search import CopySearch
from headwater.store.recognise.recognition import is_known_read, quiet_before_ns, recognised


class Examination:
    """For files wherever they were found: in a listing, beside the glob, or by a handle alone."""

    def __init__(self, files: FileTable, copies: CopySearch) -> None:
        self._files = files
        self._copies = copies

    def open(self, file: Followed, listed: Found, round_: Round) -> Look | None:
        """None when it can't be opened, or its path leads to another file by now."""
        path = listed.path
        before_ns = quiet_before_ns()
        try:
            status = self._files.open_files.look(file.key, path)
            found = self._found(file, listed, status)
        except FileNotFoundError:
            return None
        except OSError as error:
            round_.refused[path] = reason_of(error)
            return None
        is_quiet = max(found.changed_ns, found.modified_ns) < before_ns
        reader = self._files.open_files.reader(file.key, path, listed.packed)
        return Look(file, found, reader, is_quiet)

    def _found(self, file: Followed, listed: Found, status: os.stat_result) -> Found:
        """As it is now; of a compressed one, what the listing says that it holds."""
        found = found_at(listed.path, status, is_link=listed.is_link)
        if not listed.packed:
            return msgspec.structs.replace(found, packed="")
        if listed.packed_size:
            return listed
        size = self._files.open_files.content_size(file.key, listed.path, listed.packed)
        return msgspec.structs.replace(
            found, packed=listed.packed, size=size, packed_size=status.st_size
        )

    def examine(
        self, file: Followed, listed: Found, listing: Listing, round_: Round, *, is_sure: bool
    ) -> Look | None:
        """``listed`` says where it is and, if its size is known, how much there is to read;
        ``is_sure``: the inode has been the file's all the time."""
        look = self.open(file, listed, round_)
        if look is None:
            round_.is_clean &= is_known_read(file, listed)
            return None
        departed = len(round_.departed)
        look.is_sure = is_sure
        self._note_size(file, look.found.size, round_)
        try:
            changed = recognised(file, look, round_, self._copies.comparisons)
        except OSError as error:
            round_.refuse(listed.path, reason_of(error))
            return None
        except Undecided:
            round_.refuse(listed.path, "waits until it is compared with what was read of it")
            return None
        self._note_lost(file, listed, look, departed, round_)
        look.file = msgspec.structs.replace(
            changed,
            path=listed.path,
            size_seen=look.found.size,
            unopened=0,
            cut_back=False,
            unproven=False,
            waits=changed.waits and look.found.size > 0,
            modified_ns=look.found.modified_ns,
            packed=look.found.packed,
            packed_size=look.found.packed_size,
            place=listing.listed.get(os.path.dirname(listed.path), file.place),
        )
        round_.looks[file.id] = look
        return look

    def _note_lost(
        self, file: Followed, listed: Found, look: Look, departed: int, round_: Round
    ) -> None:
        """It is shorter than it was known to be, if only since it was listed. ``departed``: how
        many had departed before; its former content may be the next."""
        if listed.size > look.found.size:
            file = msgspec.structs.replace(file, size_seen=max(file.size_seen, listed.size))
        if len(round_.departed) > departed:
            round_.departed[departed] = file
        elif file.id not in self._copies.copy_of:
            left = max(look.found.size, file.position, file.start_at or 0)
            round_.shrunk_bytes += max(0, file.known_size - left)

    def _note_size(self, file: Followed, size: int, round_: Round) -> None:
        if size != file.size_seen or file.id not in self._files.moved_s:
            self._files.moved_s[file.id] = round_.now_s
        if size != file.size_seen:
            round_.succeeded.discard(file.id)
        if size == 0:
            self._copies.clear(file.id)
