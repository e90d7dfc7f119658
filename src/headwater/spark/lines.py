"""The chunks of a batch as one frame of lines, with the site in a column.

Spark derives columns from directory names (``__site=3/…``) at no cost for each line, and treats
``*`` and ``[`` in a path as wildcards. So a batch gets a directory of links with plain names; it is
gone when the batch is done. A site stands there by its number in the batch.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headwater.spark.inbox import Chunk

SITE = "__site"
TAIL_BYTES = 16 << 10
TAIL_LINES = 32
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
"""What Spark's text reader expands, told by the end of the name."""


@contextlib.contextmanager
def linked(directory: Path, chunks: Sequence[Sequence[Chunk]]) -> Iterator[Path]:
    """A directory with links to the chunks of each site."""
    shutil.rmtree(directory, ignore_errors=True)
    try:
        for number, of_site in enumerate(chunks):
            folder = directory / f"{SITE}={number}"
            folder.mkdir(parents=True)
            for chunk in of_site:
                suffix = Path(chunk.path).suffix
                plain = suffix if suffix in COMPRESSED else ".txt"
                (folder / f"{chunk.cut}{plain}").symlink_to(Path(chunk.path).absolute())
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def read_lines(session: SparkSession, directory: Path) -> DataFrame:
    """Columns ``value`` and ``__site``."""
    return session.read.text(str(directory))


def last_lines(chunk: Chunk) -> list[str]:
    """Some lines at the end of a chunk, where the newest records are; none if it is compressed."""
    path = Path(chunk.path)
    if path.suffix in COMPRESSED:
        return []
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read(TAIL_BYTES).splitlines()
    whole = lines[1:] if size > TAIL_BYTES else lines
    return [line.decode("utf-8", "replace") for line in whole[-TAIL_LINES:]]
