"""A whole file as a chunk: under a name of ours where that can be, and not copied."""

from __future__ import annotations

import contextlib
from pathlib import Path

from headwater.store.disk import Disk
from headwater.store.follow.listing import Found
from headwater.store.input.spool import Spool


def file_chunk(spool: Spool, disk: Disk, *, source: int, file: Found) -> str:
    """A link of our own to this very file, or its path; both end as its name does, which tells
    Spark how to expand it."""
    path = Path(file.path)
    name = ""
    with contextlib.suppress(OSError):
        name = spool.link(f"{source}-file", path)
        status = disk.stat_link(spool.directory / name)
        if (status.st_dev, status.st_ino) == file.key:
            return name
    if name:
        spool.remove([name], bytes_freed=0)
    resolved = path.resolve()
    return str(resolved if resolved.suffix == path.suffix else path.absolute())
