"""A whole file as a chunk: under a name of ours where that can be, and not copied."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path

from headwater.reading.form import Form
from headwater.reading.whole import look_whole
from headwater.store.disk import Disk
from headwater.store.follow.listing import Found
from headwater.store.input.new_cut import NewCut
from headwater.store.input.spool import Spool


def whole_header(disk: Disk, path: str, file: Found, form: Form) -> str:
    """What is told of a file that is read as a whole, and is at ``path`` now. Raises ``Incomplete``
    or ``Damaged`` where it can't be one."""
    handle = disk.open(path)
    try:
        return look_whole(partial(disk.read_at, handle), file.size, file.path, form)
    finally:
        disk.close(handle)


def file_cut(
    spool: Spool,
    disk: Disk,
    *,
    source: int,
    file: Found,
    header: str,
    is_again: bool = False,
    held: Path | None = None,
) -> NewCut:
    """All of the file; ``is_again``: it was read before, and has changed; ``held``: a link of ours
    that leads to it, wherever its path may lead by now."""
    if held is not None:
        chunk = spool.link(f"{source}-file", held, suffix=Path(file.path).suffix)
    else:
        chunk = file_chunk(spool, disk, source=source, file=file)
    return NewCut(file.path, 0, file.size, chunk, file.size, 0, is_again, header)


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
