"""What is asked, and of which sites: each folder below a directory is one, with its files."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path, PurePath

from headwater.errors import ConfigurationError
from headwater.local.little_input import is_little
from headwater.local.trial.sampled_sites import Sample, Sampled, sample_sites
from headwater.plan.query import Query
from headwater.plan.roster import Site
from headwater.plan.sources.source import Source
from headwater.sql.compile import compile_statements

ROOT = "root"
"""The site that answers; it has no data of its own."""


def check(text: str, sites: Path) -> list[str]:
    """Refuses what can't be run, before anybody starts a Spark for it; the names of the streams."""
    return list(dict.fromkeys(query.stream for query in compiled(text, site_folders(sites))))


def is_brief(text: str, sites: Path) -> bool:
    """Whether it is a short run, so that Spark is started for one."""
    folders = site_folders(sites)
    return is_little(compiled(text, folders), list(folders.values()))


def sampled(text: str, sites: Path, into: Path, sample: Sample) -> Sampled:
    """Take a sample of the sites' files, as folders of sites in ``into``."""
    folders = site_folders(sites)
    return sample_sites(compiled(text, folders), folders, into, sample)


def site_folders(directory: Path) -> dict[str, Path]:
    """Each folder is a site. Raises where there is none, or a name can't be one."""
    if not directory.is_dir():
        came = "it is a file" if directory.exists() else "there is nothing of that name"
        raise ConfigurationError(
            f"{directory}: wanted a directory with a folder for each site, {came}"
        )
    folders = {path.name: path for path in sorted(directory.iterdir()) if path.is_dir()}
    folders = {name: path for name, path in folders.items() if not name.startswith(".")}
    if not folders:
        raise ConfigurationError(
            f"{directory}: no folders in it; each site's files belong in a folder of their own"
        )
    for name in folders:
        if not re.fullmatch(r"[\w.-]+", name):
            raise ConfigurationError(
                f"{directory / name}: a site's name may have letters, digits, '_', '.' and '-'"
            )
    return folders


def compiled(text: str, folders: dict[str, Path]) -> list[Query]:
    """Refusals come before Spark is started."""
    queries = list(_queries(text, tuple(folders)))
    for query in queries:
        _refuse_outside(query.program.source, folders)
    return queries


def _refuse_outside(source: Source, folders: dict[str, Path]) -> None:
    """A path that begins at the root of the file system is the same at every site."""
    path = PurePath(source.path)
    for folder in folders.values() if path.is_absolute() else ():
        if not path.is_relative_to(folder.absolute()):
            raise ConfigurationError(
                f"source {source.name}: wanted a path below each site's folder, such as "
                f"{path.name!r}; {source.path!r} is not below {folder.absolute()}"
            )


def growing(text: str, folders: Collection[str]) -> tuple[Query, ...]:
    """The same where logs grow, with the levels of their streams."""
    return _queries(text, tuple(folders), ends=False)


@lru_cache(maxsize=2)
def _queries(text: str, folders: tuple[str, ...], *, ends: bool = True) -> tuple[Query, ...]:
    """Asked for by each who needs the queries of one run."""
    root = root_name(folders)
    found = compile_statements(
        text,
        root=root,
        installer=root,
        next_counter=1,
        begin="earliest" if ends else "now",
        ends=ends,
        known_sites=[Site(0, root, has_data=False), *(Site(1, name) for name in folders)],
    )
    return tuple(found)


def root_name(folders: Collection[str]) -> str:
    name = ROOT
    while name in folders:
        name += "_"
    return name
