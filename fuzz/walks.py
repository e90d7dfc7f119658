"""Paths of sources, as an operator may write them, against folders as a site may have them.

An input is a path and a small file system, with links that go round in circles. Whatever path is
admitted names the files that a plain reading of it names, found by going through all ways
that match, and the walk lists no directory twice and takes no longer than its directories are many.
"""

from __future__ import annotations

import fnmatch
import os
import random
import stat
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from fuzz.mutate import mutated
from headwater.errors import ConfigurationError
from headwater.plan.sources.globs import ANY_DEPTH, glob_fault, has_magic, plain_glob
from headwater.store.disk import Disk
from headwater.store.follow.listing import Glob

BASE = "/srv/data"
CPU_S_MAX = 2.0
"""For one look at some dozens of folders; the largest path takes a hundredth of it."""
NODES_MAX = 60
DEPTH_MAX = 5
NAMES = ("a", "b", "ab", ".h", "logs", "2026", "x.log", "y.log", ".z.log", "a" * 200, "[b]", "w.gz")
PIECES = (
    "*", "**", "?", "[ab]", "[!a]", "[", "*.log", "a*", "*a*a*a*a*b", "***", "?" * 9, ".*", ".h",
    "", ".", "..", *NAMES,
)  # fmt: skip
PARTS_MAX = 24


class Inode:
    """A folder if it has children, a link if it leads somewhere, else a file."""

    def __init__(self, number: int, kind: str, leads: int = 0) -> None:
        self.number = number
        self.kind = kind
        self.leads = leads
        self.children: dict[str, int] = {}


class Entry:
    """As ``os.scandir`` gives it."""

    def __init__(self, files: Files, directory: str, name: str, inode: Inode) -> None:
        self.name = name
        self.path = f"{directory}/{name}"
        self._files = files
        self._inode = inode

    def inode(self) -> int:
        return self._inode.number

    def is_symlink(self) -> bool:
        return self._inode.kind == "link"

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._inode.kind == "folder"

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._inode.kind == "file"


class Files(Disk):
    """A file system in memory: what an input says, whatever it says."""

    def __init__(self, said: Any) -> None:
        super().__init__()
        self.inodes: list[Inode] = [Inode(0, "folder")]
        self.scanned: list[str] = []
        for one in said[:NODES_MAX] if isinstance(said, list) else ():
            self._add(one)

    def _add(self, one: Any) -> None:
        """[in which folder, name, kind, where it leads]: what does not fit is passed over."""
        match one:
            case [int(above), str(name), str(kind), int(leads)]:
                folder = self.inodes[above % len(self.inodes)]
                is_name = name not in ("", ".", "..") and not {"/", "\0"} & set(name)
                if folder.kind != "folder" or not is_name or name in folder.children:
                    return
                inode = Inode(len(self.inodes), kind, leads)
                if kind in ("folder", "link", "file"):
                    folder.children[name] = inode.number
                    self.inodes.append(inode)

    def at(self, path: str) -> Inode:
        """As ``stat``: links are followed, a few times."""
        inode = self.inodes[0]
        for name in PurePosixPath(path).relative_to(BASE).parts:
            if inode.kind != "folder":
                raise NotADirectoryError(path)
            if name not in inode.children:
                raise FileNotFoundError(path)
            inode = self.followed(self.inodes[inode.children[name]])
        return inode

    def followed(self, inode: Inode) -> Inode:
        for _ in range(8):
            if inode.kind != "link":
                return inode
            inode = self.inodes[inode.leads % len(self.inodes)]
        raise FileNotFoundError("too many links")

    def stat(self, path: str | Path) -> os.stat_result:
        inode = self.at(str(path))
        mode = stat.S_IFDIR if inode.kind == "folder" else stat.S_IFREG
        return os.stat_result((mode | 0o644, inode.number, 1, 1, 0, 0, 0, 0, 0, 0))

    def scan(self, directory: Path) -> list[Any]:
        inode = self.at(str(directory))
        if inode.kind != "folder":
            raise NotADirectoryError(str(directory))
        self.scanned.append(str(directory))
        return [
            Entry(self, str(directory), name, self.inodes[number])
            for name, number in inode.children.items()
        ]


@cache
def good() -> list[bytes]:
    files = [
        [0, "logs", "folder", 0],
        [1, "2026", "folder", 0],
        [2, "x.log", "file", 0],
        [2, "y.log", "file", 0],
        [1, "up", "link", 0],
        [1, "x.log", "link", 3],
        [2, "a", "folder", 0],
        [7, "b", "folder", 0],
        [8, "x.log", "file", 0],
        [0, ".h", "folder", 0],
        [10, "x.log", "file", 0],
    ]
    paths = (
        "logs/*.log",
        "**/*.log",
        "logs/**/b/*.log",
        "*/*/?.log",
        "**/a/**/[xy].log",
        ".h/*",
        "logs/up/logs/2026/x.log",
        "/srv/data/logs/**/*",
        "**/up/**/2026/*.log",
    )
    return [msgspec.msgpack.encode([path, files]) for path in paths]


def drawn(inputs: Sequence[bytes], chance: random.Random) -> bytes:
    """Another path, other folders, or both; now and then plain bytes."""
    if chance.random() < 0.1:
        return mutated(inputs, chance)
    path, files = msgspec.msgpack.decode(chance.choice(inputs))
    if chance.random() < 0.7:
        count = chance.randint(1, PARTS_MAX if chance.random() < 0.3 else 5)
        path = "/".join(chance.choices(PIECES, k=count))
    for _ in range(chance.choice((0, 1, 5, 30))):
        kind = chance.choice(("folder", "folder", "link", "file"))
        above = chance.randrange(NODES_MAX)
        files.append([above, chance.choice(NAMES), kind, chance.randrange(NODES_MAX)])
    return msgspec.msgpack.encode([path, files])


def run(data: bytes) -> bool:
    match _read(data):
        case [str(path), said] if glob_fault(path) is None:
            return _looked(path, Files(said))
        case _:
            return False


def _read(data: bytes) -> Any:
    try:
        return msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _looked(path: str, files: Files) -> bool:
    began_s = time.process_time()
    try:
        listing = Glob(Path(BASE), path, disk=files).look()
    except ConfigurationError:
        return False
    took_s = time.process_time() - began_s
    assert took_s < CPU_S_MAX, (
        f"{path[:100]!r} took {took_s:.1f} s over {len(files.inodes)} entries"
    )
    assert len(files.scanned) == len(set(files.scanned)), "a directory was listed twice"
    found = {inode for _, inode in listing.matching}
    wanted = set(_named(files, path))
    assert found == wanted, f"{path!r}: it found {sorted(found)}, and names {sorted(wanted)}"
    again = Glob(Path(BASE), plain_glob(path), disk=files).look()
    assert {inode for _, inode in again.matching} == found, "written shorter it names other files"
    return True


def _named(files: Files, path: str) -> Iterator[int]:
    """By all ways at once: where one can be, having gone through so many parts of the path."""
    pure = PurePosixPath(path)
    parts = (pure.relative_to(BASE) if pure.is_absolute() else pure).parts
    *folders, last = parts
    seen: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting += _steps(files, *place, folders)
    for number, at in seen:
        if at == len(folders):
            yield from _files_in(files, number, last)


def _steps(files: Files, number: int, at: int, folders: list[str]) -> Iterator[tuple[int, int]]:
    if at == len(folders):
        return
    part = folders[at]
    if part == ANY_DEPTH:
        yield number, at + 1
    for name, child in files.inodes[number].children.items():
        below = _folder(files, child)
        if below is None:
            continue
        if part == ANY_DEPTH and not name.startswith("."):
            yield below, at
        elif part != ANY_DEPTH and _is_named(name, part):
            yield below, at + 1


def _folder(files: Files, number: int) -> int | None:
    try:
        inode = files.followed(files.inodes[number])
    except FileNotFoundError:
        return None
    return inode.number if inode.kind == "folder" else None


def _files_in(files: Files, number: int, last: str) -> Iterator[int]:
    for name, child in files.inodes[number].children.items():
        if not _is_named(name, last, is_file=True) or name.endswith((".zst", ".bz2", ".xz")):
            continue
        try:
            inode = files.followed(files.inodes[child])
        except FileNotFoundError:
            continue
        if inode.kind == "file":
            yield inode.number


def _is_named(name: str, part: str, *, is_file: bool = False) -> bool:
    """A folder without stars is meant as it is written; files are matched in any case."""
    if not is_file and not has_magic(part):
        return name == part
    hidden = name.startswith(".") and not part.startswith(".")
    return not hidden and fnmatch.fnmatchcase(name, part)
