"""The directories of agents in one small file: most of a SQLite file is empty pages.

Files in it are what the agents wrote, byte by byte. Names, times and owners are made the same at
every packing.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

PACKED = "sites.tar.xz"


def pack(directory: Path, into: Path) -> None:
    with tarfile.open(into, "w:xz", preset=9) as archive:
        for path in sorted(directory.rglob("*")):
            archive.add(
                path, str(path.relative_to(directory)), recursive=False, filter=_without_a_trace
            )


def _without_a_trace(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o700 if info.isdir() else 0o600
    return info


def unpack(packed: Path, directory: Path) -> None:
    with tarfile.open(packed) as archive:
        archive.extractall(directory, filter="data")
