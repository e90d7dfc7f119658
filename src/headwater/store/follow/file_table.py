"""The files that a source follows, each once, and what is remembered of them from poll to poll."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, ValuesView
from itertools import count
from pathlib import Path

from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Listing
from headwater.store.follow.open_files import OpenFiles
from headwater.store.recognise.identity import ReadAt


class FileTable:
    """By number, and by device and inode. Handles are kept with them: a file that is alive can
    still be read, and one that is sure can't have lost its inode to another."""

    def __init__(
        self, files: Iterable[Followed], *, next_id: int, open_files: OpenFiles, held: Path
    ) -> None:
        """``held``: the path of held links, to which a file's number is appended."""
        self.open_files = open_files
        self.quiet: dict[int, tuple[int, int, int]] = {}
        """Size and times of files that need no second look while they stay so."""
        self.moved_s: dict[int, float] = {}
        """When a file was last seen to grow."""
        self.away_s: dict[int, float] = {}
        """Since when a file is out of sight."""
        self._held = held
        self._files = {file.id: file for file in files}
        self.get = self._files.get
        self._by_key = {file.key: file.id for file in self._files.values()}
        self.ids = count(next_id)
        """Of those that are met from now on."""

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, number: int) -> bool:
        return number in self._files

    def __getitem__(self, number: int) -> Followed:
        return self._files[number]

    def values(self) -> ValuesView[Followed]:
        return self._files.values()

    def at(self, key: tuple[int, int]) -> Followed | None:
        """The one in this inode."""
        number = self._by_key.get(key)
        return None if number is None else self._files[number]

    def meet(self, found: Found, listing: Listing) -> Followed:
        place = listing.listed.get(os.path.dirname(found.path), 0)
        file = Followed(
            next(self.ids), found.device, found.inode, found.path, place=place, packed=found.packed
        )
        self._files[file.id] = file
        self._by_key[file.key] = file.id
        return file

    def put(self, file: Followed) -> None:
        """As it is to be remembered from now on."""
        self._files[file.id] = file

    def drop(self, number: int) -> None:
        file = self._files.pop(number, None)
        if file is None:
            return
        if self._by_key.get(file.key) == number:
            del self._by_key[file.key]
        self.quiet.pop(number, None)
        self.moved_s.pop(number, None)
        self.away_s.pop(number, None)
        self.open_files.close(file.key)

    def clear(self) -> None:
        self._files.clear()
        self._by_key.clear()

    def held_path(self, number: int) -> Path:
        return self._held.with_name(f"{self._held.name}{number}")

    def path_to(self, file: Followed) -> str:
        """Our own link leads to it for sure, its path perhaps to another one."""
        return str(self.held_path(file.id)) if file.held else file.path

    def reader(self, file: Followed) -> ReadAt:
        return self.open_files.reader(file.key, self.path_to(file), file.packed)

    def is_alive(self, file: Followed) -> bool:
        """A handle or a link leads to it, also when it is in no directory any more."""
        return file.held or file.key in self.open_files

    def is_sure(self, file: Followed) -> bool:
        """While we hold a handle or a link to what is remembered of it, nobody else can get its
        inode."""
        return (file.held and not file.unproven) or self.open_files.is_proven(file.key)
