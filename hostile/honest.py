"""The honest stream: what was written, what must be answered, and what is.

Each site's log grows by a few lines a second. A window's truth is how many lines of it were written
at all sites that are read, so an answer that calls itself exact can be held against it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from headwater.algebra.panes import MICROS
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

STREAM = "honest"
WINDOW_S = 5
LOG = "web.log"
TICK_S = 0.25
ESCAPES = "\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J"
"""Sets a title, fills a clipboard, clears the screen."""
HOSTS = ("plain.example", f"evil{ESCAPES}.example", "a" * 45 + "!")
"""The last one takes a backtracking pattern longer than anybody waits."""
SECRET = "passport-X1234567"
SOURCE = f"""CREATE SOURCE web (ts TIMESTAMP, host STRING, secret STRING)
WITH (format = 'csv', path = '{LOG}', time = 'ts');
"""
DECLARED = f"""
[[sources.declared]]
statement = '''{SOURCE.strip().rstrip(";")}'''
levels = {{ ts = "free", host = "free", secret = "denied" }}
"""
SQL = f"""{SOURCE}
CREATE STREAM {STREAM} WITH (deadline = '4s', disorder = '1s', lateness = '20s') AS
SELECT host, count(*) AS n FROM web GROUP BY window(ts, '{WINDOW_S} seconds'), host;
"""


class Writers:
    """A thread that writes at all sites."""

    def __init__(self, directory: Path, sites: tuple[str, ...]) -> None:
        self._paths = [directory / site / "data" / LOG for site in sites]
        self.truth: Counter[int] = Counter()
        """By the second at which a window begins: how many lines are in it."""
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stops.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stops.wait(TICK_S):
            for path in self._paths:
                number += 1
                at = datetime.fromtimestamp(time.time(), UTC)
                line = f"{at:%Y-%m-%dT%H:%M:%S.%f}Z,{HOSTS[number % len(HOSTS)]},{SECRET}\n"
                second = int(at.timestamp())
                self.truth[second - second % WINDOW_S] += 1
                with path.open("a") as file:
                    file.write(line)


class Answers:
    """The published answers of the honest stream."""

    def __init__(self, directory: Path, root: str) -> None:
        self._place = directory / root / "state" / "results" / STREAM

    def final(self) -> dict[int, int]:
        """By the second at which a window begins: the count of what is final and exact."""
        return self._counts(lambda envelope: envelope.final and envelope.exact)

    def exact(self) -> dict[int, int]:
        return self._counts(lambda envelope: envelope.exact)

    def _counts(self, is_wanted: Callable[[Envelope], bool]) -> dict[int, int]:
        found: dict[int, int] = {}
        if not self._place.exists():
            return found
        reader = ResultsReader(self._place)
        for seq, envelope in reader.newest():
            if is_wanted(envelope):
                rows = reader.answer(seq, envelope)
                count = 0 if rows is None else sum(rows["n"].to_pylist())
                found[envelope.start_us // MICROS] = count
        return found

    def wrong(self, truth: Counter[int], *, first: int) -> list[str]:
        """Windows that call themselves exact and are not what was written."""
        return [
            f"window of {second}: exact with {count}, written were {truth[second]}"
            for second, count in sorted(self.exact().items())
            if second > first and count != truth[second]
        ]
