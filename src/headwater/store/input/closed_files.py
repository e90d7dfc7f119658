"""Files that a source may not read though its path leads to them: those of declared sources.

A path is refused by its letters before anything is read, but links can lead from anywhere to
anywhere, and can be made at any time. So every listing is looked through: a file is closed if its
true path is one of a declared source, or if it is the very file that a declared path leads to by
links of its own. That is looked at after the listing, so that a file that was there for it is there
for this as well; and by names, too, so that a rotation between the two opens nothing.

What a source was admitted to read it reads, as far as the file's true path is its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from headwater.plan.sources.glob_overlap import Parts, literal_parts, matches, parts_of
from headwater.store.disk import Disk
from headwater.store.follow.directories import base_of, is_match
from headwater.store.follow.listing import Glob, Listing


class Place(msgspec.Struct, frozen=True):
    """Where the files of a declared source are."""

    name: str
    """Of the source."""
    directory: str
    pattern: str
    """A glob below the directory."""

    @property
    def true_parts(self) -> Parts:
        """The glob by the true path of the directory where its signs begin, as it is now."""
        parts = parts_of(self.pattern)
        base, rest = base_of(Path(self.directory), parts[:-1])
        return (*literal_parts(os.path.realpath(base)), *rest, parts[-1])


class ClosedFiles:
    """Asked after each listing of one source."""

    def __init__(self, closed: Sequence[Place], *, own: Sequence[Place] = ()) -> None:
        self._closed = tuple(closed)
        self._own = tuple(own)

    def take_out(self, listing: Listing, *, disk: Disk) -> None:
        """What is closed becomes something that is left alone, with the reason."""
        if not listing.matching and not listing.neighbours:
            return
        own, closed = _Named(self._own), _Named(self._closed)
        same = {
            key: place.name
            for place in self._closed
            for key in Glob(Path(place.directory), place.pattern, disk=disk).look().matching
        }
        for key, found in list(listing.matching.items()):
            path = found.path
            if own.name_of(path, is_link=found.is_link):
                continue
            name = closed.name_of(path, is_link=found.is_link) or same.get(key)
            if name:
                del listing.matching[key]
                listing.refused[path] = reason(name)
        for inode, paths in list(listing.neighbours.items()):
            listing.neighbours[inode] = [path for path in paths if not closed.name_of(path)]
            if not listing.neighbours[inode]:
                del listing.neighbours[inode]


def reason(name: str) -> str:
    return f"a file of the source {name}, which this site declares; read it as it is declared"


class _Named:
    """Which of some places a true path belongs to, by its letters. A directory is looked at once:
    listings have many files in few."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._places = [(place.name, place.true_parts) for place in places]
        self._by_directory: dict[str, list[tuple[str, str]]] = {}

    def name_of(self, path: str, *, is_link: bool = False) -> str:
        """Empty: of none."""
        directory, file = os.path.split(os.path.realpath(path) if is_link else path)
        if directory not in self._by_directory:
            self._by_directory[directory] = self._patterns(os.path.realpath(directory))
        for name, pattern in self._by_directory[directory]:
            if is_match(file, pattern):
                return name
        return ""

    def _patterns(self, directory: str) -> list[tuple[str, str]]:
        return [(name, parts[-1]) for name, parts in self._places if matches(directory, parts[:-1])]
