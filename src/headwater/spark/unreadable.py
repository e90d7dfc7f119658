"""Which chunks of a batch can't be read, where the lines of all of them together can't.

Spark reads the chunks of all sites in one job, and where that fails it does not say at which. So
they are halved until those that can't be read stand alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.reading.chunk import Chunk
from headwater.spark.cluster.cluster_trouble import raise_if_of_the_cluster
from headwater.spark.disk_trouble import raise_if_of_the_disk
from headwater.spark.lines.fields import LINE
from headwater.spark.lines.lines import Linked, read_lines
from headwater.spark.lines.readable import ChunkUnreadable
from headwater.spark.spark_message import SPARK_ERRORS, message_of

SiteChunk = tuple[str, Chunk]
"""A chunk, and the site that it is of."""
Link = Callable[[Sequence[Sequence[Chunk]]], AbstractContextManager[Linked]]
"""Lays chunks out for Spark; those of one sequence in one folder."""


class Unreadable(Exception):
    """Some chunks can't be read at all."""

    def __init__(self, chunks: Sequence[tuple[str, Chunk, str]]) -> None:
        super().__init__(f"{len(chunks)} chunks can't be read; the first: {chunks[0][2]}")
        self.chunks = chunks
        """(site, chunk, Spark's message)."""


def unreadable_of(
    session: SparkSession, link: Link, chunks: Sequence[SiteChunk]
) -> list[tuple[str, Chunk, str]]:
    """Each with what Spark says of it."""
    # Cuts of different sites may have one number, so each chunk is linked in its own folder.
    with link([[chunk] for _, chunk in chunks]) as found:
        reason = _read_fault(session, found)
    if reason is None:
        return []
    if len(chunks) == 1:
        return [(*chunks[0], reason)]
    middle = len(chunks) // 2
    halves = (chunks[:middle], chunks[middle:])
    return [one for half in halves for one in unreadable_of(session, link, half)]


def _read_fault(session: SparkSession, found: Linked) -> str | None:
    try:
        lines = read_lines(session, found, byte_count=0)
        length = F.length(LINE) if not found.columnar else F.hash(*lines.columns)
        lines.agg(F.max(length)).toArrow()
    except SPARK_ERRORS as error:
        raise_if_of_the_cluster(error)
        raise_if_of_the_disk(error)
        return message_of(error)
    return None


def at_its_site(error: ChunkUnreadable, chunks: Sequence[SiteChunk]) -> tuple[str, Chunk, str]:
    site = next(site for site, chunk in chunks if error.chunk is chunk)
    return site, error.chunk, error.reason


def cut_off(chunks: Sequence[SiteChunk]) -> list[tuple[str, Chunk, str]]:
    """Files of others that are shorter now than when the batch began: whoever read them took their
    new end for the end, and nobody says how many lines are missing."""
    found = []
    for site, chunk in chunks:
        size = _size_of(chunk) if chunk.is_file else chunk.bytes
        if size < chunk.bytes:
            words = f"it had {chunk.bytes} bytes, and {size} when it had been read"
            found.append((site, chunk, words))
    return found


def _size_of(chunk: Chunk) -> int:
    """One that is gone was read to its end, or Spark has said that it is not there."""
    try:
        return Path(chunk.path).stat().st_size
    except OSError:
        return chunk.bytes
