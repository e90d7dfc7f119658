"""The chunks of a batch as one frame of lines, with the site in a column.

Spark derives columns from directory names (``__site=3/…``) at no cost for each line, and treats
``*`` and ``[`` in a path as wildcards. So a batch gets a directory of links with plain names; it is
gone when the batch is done. A site stands there by its number in the batch.

Executors of a cluster see the shared directory and nothing else, so there the chunks themselves are
put into it: as further names of the same files where both are on one file system, else as copies.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headwater.plan.compressed import expanded_suffix
from headwater.spark.inbox import Chunk

SITE = "__site"
ONE_TASK_BYTES = 2 << 20


@contextlib.contextmanager
def linked(
    directory: Path, chunks: Sequence[Sequence[Chunk]], *, is_shared: bool = False
) -> Iterator[Path]:
    """A directory with links to the chunks of each site, below ``directory``.

    One that is shared has another name each time: machines remember what was under a name.
    """
    place = directory / secrets.token_hex(8) if is_shared else directory
    shutil.rmtree(place, ignore_errors=True)
    try:
        for number, of_site in enumerate(chunks):
            folder = place / f"{SITE}={number}"
            folder.mkdir(parents=True)
            for chunk in of_site:
                suffix = expanded_suffix(str(chunk.path)) or ".txt"
                put = _put if is_shared else _point
                put(Path(chunk.path).absolute(), folder / f"{chunk.cut}{suffix}")
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _point(path: Path, at: Path) -> None:
    at.symlink_to(path)


def _put(path: Path, at: Path) -> None:
    try:
        os.link(path, at)
    except OSError:  # another file system, or one without such links
        shutil.copyfile(path, at)


def read_lines(session: SparkSession, directory: Path, *, byte_count: int) -> DataFrame:
    """Columns ``value`` and ``__site``.

    Few lines are read by one task, and then grouped and ordered by the same task: without a
    shuffle a job takes half as long.
    """
    lines = session.read.text(str(directory))
    return lines.coalesce(1) if byte_count <= ONE_TASK_BYTES else lines


def has_text(chunks: Iterable[Chunk], text: str) -> bool:
    """Whether a chunk contains this text, or may contain it because it is compressed.

    A look through memory at gigabytes a second, and a hit ends it.
    """
    wanted = text.encode()
    return any(_has_bytes(Path(chunk.path), wanted) for chunk in chunks)


def _has_bytes(path: Path, wanted: bytes) -> bool:
    if expanded_suffix(path.name):
        return True
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(wanted) >= 0
