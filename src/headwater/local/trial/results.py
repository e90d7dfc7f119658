"""What a run comes to, stream by stream, and how far it is."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pyarrow as pa

from headwater.local.trial.kept_back import KeptBack
from headwater.local.trial.reading import SiteReading
from headwater.local.trial.sent_bytes import SentBytes
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, LeftOut

READING = "reading at the sites"
REDUCING = "reducing at the sites what was read"
ANSWERING = "merging and answering"


class WindowResult(msgspec.Struct, frozen=True):
    window: int
    start_us: int
    end_us: int
    rows: pa.Table
    envelope: Envelope | None = None
    """None for what one plain Spark computed."""


class StreamResult(msgspec.Struct, frozen=True):
    query: Query
    windows: tuple[WindowResult, ...]
    """Those with rows, oldest first."""
    unparsed: int = 0
    """Lines that this stream can't use, over all sites."""
    left_out: dict[int, LeftOut] = {}
    """By window, also of those without rows: groups that could not be computed."""
    failed: dict[str, str] = {}
    """By site, where Spark could not run the query on some of its records: Spark's words."""
    left_alone: tuple[tuple[str, str], ...] = ()
    """(path, reason) of files that one plain Spark did not read."""
    readings: tuple[SiteReading, ...] = ()
    """What was read of its source, site by site."""
    kept_back: KeptBack | None = None
    """What sites would have kept back under its error; None: it asks for none, or one plain Spark
    computed it."""
    sizes: SentBytes | None = None
    """What sites would have sent, where a budget or levels are asked for."""


class Progress(msgspec.Struct, frozen=True):
    phase: str
    sites: int = 0
    sites_read: int = 0
    """Sites whose input has been read to the end."""
    windows: int = 0
    """Answers that are published."""
    bytes_all: int = 0
    """Of all files that are read in this phase, as they lie on the disk; 0: not known yet."""
    bytes_read: int = 0
    """Of those, also what belongs to batches that are under way."""
    records: int = 0
    trouble: str = ""
    """What keeps a site from being read now, with its name."""


Show = Callable[[Progress], None]


def joined(results: list[StreamResult]) -> list[list[StreamResult]]:
    """The parts of each stream side by side; a stream with one root is alone."""
    streams: dict[str, list[StreamResult]] = {}
    for result in results:
        streams.setdefault(result.query.stream, []).append(result)
    return list(streams.values())
