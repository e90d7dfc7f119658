"""The stream that drives a source: it carries offers of cuts, never lines.

Spark's engine wants a source with offsets. Ours are offers: "process the cuts up to these". The
lines themselves are read by Spark's own text reader from the chunks of the offered cuts, in the
JVM, which is several times as fast as passing lines through a Python source
(``benchmarks/reading_ways.py``), and an offer that Spark repeats means the same chunks.

Spark runs the reader in a Python process of its own, beside the driver, and asks it for the newest
offset all the time. The host and this process meet in one small file, the *board*, which the host
replaces when it has an offer. While there is none the reader waits a while before it answers: a
source without news costs a ``stat`` every 20 ms instead of a spinning engine.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

FORMAT = "headwater_cuts"
WAIT_S = 20.0
"""How long the reader waits for an offer before it tells Spark that there is none."""
LOOK_EVERY_S = 0.02

Offer = dict[str, Any]
"""``number``, rising; ``cuts``: site to cut; ``closed``: the stream is about to be stopped."""


def post_offer(board: Path, offer: Offer) -> None:
    """Replace the board in one step. It is news for one process, so it needs no sync."""
    fresh = board.with_suffix(".new")
    fresh.write_text(json.dumps(offer), encoding="utf-8")
    fresh.replace(board)


class CutSource(DataSource):  # type: ignore[misc]
    """Made by Spark from its name, with the path of the board as an option."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "site STRING, cut BIGINT"

    def simpleStreamReader(self, schema: Any) -> CutReader:
        return CutReader(Path(self.options["path"]))


class CutReader(SimpleDataSourceStreamReader):  # type: ignore[misc]
    """Calls come one at a time, in this process only; nothing is kept over a restart."""

    def __init__(self, board: Path) -> None:
        self._board = board
        self._parent = os.getppid()

    def initialOffset(self) -> Offer:
        return {"number": 0, "cuts": {}}

    def read(self, start: Offer) -> tuple[Iterator[tuple[str, int]], Offer]:
        """The offer after ``start``, or after a wait ``start`` itself."""
        deadline = time.monotonic() + WAIT_S
        last_seen = None
        while time.monotonic() < deadline and os.getppid() == self._parent:
            seen = _stamp(self._board)
            if seen != last_seen:
                last_seen = seen
                offer = json.loads(self._board.read_text(encoding="utf-8"))
                if offer["number"] > start["number"]:
                    return _rows(offer), {"number": offer["number"], "cuts": offer["cuts"]}
                if offer.get("closed"):
                    break
            time.sleep(LOOK_EVERY_S)
        return iter(()), start

    def readBetweenOffsets(
        self, start: Offer, end: Offer
    ) -> Iterator[tuple[str, int]]:
        """The same rows again."""
        return _rows(end)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return (status.st_ino, status.st_mtime_ns)


def _rows(offer: Offer) -> Iterator[tuple[str, int]]:
    return iter([(site, cut) for site, cut in sorted(offer["cuts"].items())])
