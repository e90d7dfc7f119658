"""What a query's source may read at this site, and as what: declared, for free use, or nothing.

The declared source wins wherever a path could lead to a file of it: a path that may name such a
file must lie within the declared one, and is then read as it is declared or not at all. Paths are
compared by their letters, with the directories of the configuration at their true places; whatever
links lead elsewhere is found when files are listed (``store/input/closed_files.py``).
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from headwater.agent.config import SourcesConfig
from headwater.agent.input.declarations import read_declarations
from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.sources.glob_overlap import (
    Parts,
    is_within,
    literal_parts,
    may_overlap,
    parts_of,
)
from headwater.plan.sources.globs import glob_fault, has_magic
from headwater.plan.sources.source import Source
from headwater.sql.admit.column_levels import Level
from headwater.sql.admit.declared_source import DeclaredSource, disagreement
from headwater.store.disk import Disk
from headwater.store.follow.directories import Reach
from headwater.store.follow.listing import Glob
from headwater.store.input.closed_files import ClosedFiles, Place
from headwater.store.input.nearest_names import no_file_text


class SiteSources:
    """Made once, when an agent starts. Raises ``ConfigurationError``."""

    def __init__(self, config: SourcesConfig) -> None:
        self._config = config
        directories = [str(Path(one)) for one in (config.data, *config.open)]
        self._true = {one: os.path.realpath(one) for one in directories}
        self._declared = {
            one.name: one for one in read_declarations(config.declared, data=config.data)
        }
        self._ways = {name: self._ways_of(one.source) for name, one in self._declared.items()}

    def declared(self, source: Source) -> DeclaredSource | None:
        """The declared source that the path lies within; None: it meets none. Raises
        ``QueryRefused`` where it meets one and goes beyond, or nothing is for free use."""
        parts = self._parts_of(source)
        met = [
            self._declared[name]
            for name, ways in self._ways.items()
            if any(may_overlap(parts, way) for way in ways)
        ]
        for one in met:
            if not any(is_within(parts, way) for way in self._ways[one.name]):
                raise disagreement(
                    source, one, f"its path {source.path[:100]!r} may lead to others, too"
                )
        if len(met) > 1:
            names = ", ".join(one.name for one in met)
            raise QueryRefused(f"source {source.name}: its path is of several sources: {names}")
        if not met and self._config.declared_only:
            known = ", ".join(self._declared) or "none"
            raise QueryRefused(
                f"source {source.name}: this site reads declared sources only (declared: {known}), "
                f"and {source.path[:100]!r} is of none"
            )
        return met[0] if met else None

    def is_free(self, source: Source) -> bool:
        """Whether everything in the source's files may be shown: no column of theirs is on a level
        below free, also one that the query leaves out."""
        try:
            declared = self.declared(source)
        except QueryRefused:
            return False
        return declared is None or all(level is Level.FREE for _, level in declared.levels)

    def no_file(self, source: Source) -> str:
        """Why a site has nothing of a source: empty where a file matches after all. Where anything
        is declared, names of files may be as much of a secret as what is in them."""
        directory, pattern = self.place(source)
        look = Glob(directory, pattern, disk=Disk()).look()
        if look.matching or look.refused.keys() - look.unlisted.keys():
            return ""
        return no_file_text(directory, pattern, names_files=not self._declared)

    def place(self, source: Source) -> tuple[Path, str]:
        """(directory, glob below it). Raises if it leads outside.

        A relative path lies below the data directory; an absolute one below that or an open
        directory, or within a declared path.
        """
        fault = glob_fault(source.path)
        if fault is not None:
            raise QueryRefused(f"source {source.name}: {fault}")
        path, below = PurePath(source.path), self._below(source)
        if below is not None:
            return below
        if path.root == "/" and self.declared(source) is not None:
            return _split(path)
        opened = ", ".join(self._config.open) or "none"
        raise ConfigurationError(
            f"source {source.name}: path {source.path!r} is not under a directory that this site "
            f"opens (open: {opened}); use a relative path, or add it to sources.open"
        )

    def bounds_of(self, source: Source) -> tuple[ClosedFiles | None, Reach | None]:
        """The files that this source may not read, wherever links lead; None: there are none. And
        where links may lead: to what is open here. A declared source is the site's own word, and so
        are the links in it: None, anywhere."""
        own = self.declared(source)
        places = {name: self._place_of(one.source) for name, one in self._declared.items()}
        mine = [] if own is None else [places.pop(own.name)]
        closed = ClosedFiles(list(places.values()), own=mine) if places else None
        return closed, None if own is not None else Reach([self._config.data, *self._config.open])

    def _ways_of(self, source: Source) -> set[Parts]:
        """A declared path as it is written, and by the true path of where its signs begin."""
        place = self._place_of(source)
        return {self._parts_of(source), place.true_parts}

    def _place_of(self, source: Source) -> Place:
        directory, pattern = self._below(source) or _split(PurePath(source.path))
        return Place(source.name, str(directory), pattern)

    def _parts_of(self, source: Source) -> Parts:
        """From the root of the file system on, the configuration's own directories by their true
        places: one may be named in several ways."""
        below = self._below(source)
        if below is None:
            return parts_of(source.path)
        return (*literal_parts(self._true[str(below[0])]), *parts_of(below[1]))

    def _below(self, source: Source) -> tuple[Path, str] | None:
        """(directory of the configuration, glob below it)."""
        path = PurePath(source.path)
        if not path.is_absolute():
            return Path(self._config.data), source.path
        for directory in map(Path, (*self._config.open, self._config.data)):
            if path.is_relative_to(directory.absolute()):
                return directory, str(path.relative_to(directory.absolute()))
        return None


def _split(path: PurePath) -> tuple[Path, str]:
    """A glob at the last folder before its first sign."""
    directory = Path("/")
    parts = path.parts[1:]
    while len(parts) > 1 and not has_magic(parts[0]):
        directory, parts = directory / parts[0], parts[1:]
    return directory, "/".join(parts)
