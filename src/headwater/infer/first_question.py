"""The question that one asks first: how many records there are, by time and by what tells most.

The key is the column whose few values share the records most evenly: a status, a level, a country;
not an id, which is different in each record, nor a constant.
"""

from __future__ import annotations

import re

from headwater.algebra.panes import MICROS
from headwater.infer.guess import ColumnGuess, SourceGuess
from headwater.infer.write_source import quoted_name

DISTINCT_MAX = 50
SHARE_MAX = 0.2
"""Of the records of the sample that a key may have as different values."""
FILLED_MIN = 0.9
"""Of the records that should have a key."""
WINDOWS_WANTED = 24
LIMIT = 10
COMPUTED_TIME = "event_time"
"""What a source calls its time where it is computed."""
WINDOWS = (
    (1, "1 second"),
    (10, "10 seconds"),
    (60, "1 minute"),
    (300, "5 minutes"),
    (900, "15 minutes"),
    (3_600, "1 hour"),
    (6 * 3_600, "6 hours"),
    (86_400, "1 day"),
    (7 * 86_400, "7 days"),
    (30 * 86_400, "30 days"),
)
TELLING = (
    "status",
    "level",
    "severity",
    "type",
    "event",
    "kind",
    "code",
    "action",
    "result",
    "country",
    "region",
    "city",
    "host",
    "domain",
    "site",
    "service",
    "program",
    "method",
    "category",
    "state",
    "sensor",
    "product",
    "package",
    "name",
)
"""Words in the names of good keys, the best first."""
_IDENTITY = re.compile(r"(^|_)(id|uuid|guid|hash|key|token|session)$", re.IGNORECASE)


def write_question(guess: SourceGuess, *, source: str) -> str:
    """CREATE STREAM over the source, without a semicolon."""
    key = find_key(guess)
    time = COMPUTED_TIME if guess.time.is_computed else guess.time.columns[0]
    window = f"window({quoted_name(time)}, '{find_window(guess)}')"
    if key is None:
        return (
            f"CREATE STREAM {source}_counts AS\n"
            f"SELECT count(*) AS records FROM {source} GROUP BY {window}"
        )
    name = quoted_name(key.name)
    return (
        f"CREATE STREAM {source}_counts AS\n"
        f"SELECT {name}, count(*) AS records FROM {source}\n"
        f"GROUP BY {window}, {name} ORDER BY records DESC LIMIT {LIMIT}"
    )


def find_key(guess: SourceGuess) -> ColumnGuess | None:
    """None where each column is a constant, an id or a measure."""
    most = max(2, min(DISTINCT_MAX, int(guess.records * SHARE_MAX)))
    found = [
        column
        for column in guess.columns
        if column.type in ("STRING", "BIGINT", "BOOLEAN")
        and 2 <= column.distinct <= most
        and column.name not in guess.time.columns
        and not _IDENTITY.search(column.name)
    ]
    return max(found, key=_telling, default=None)


def find_window(guess: SourceGuess) -> str:
    """So long that the sample falls into a screenful of windows; a minute where nobody knows."""
    if guess.time.first_us is None or guess.time.last_us is None:
        return "1 minute"
    span_s = (guess.time.last_us - guess.time.first_us) / MICROS
    return next((text for s, text in WINDOWS if span_s / s <= WINDOWS_WANTED), WINDOWS[-1][1])


def _telling(column: ColumnGuess) -> tuple[float, ...]:
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower())
    known = [TELLING.index(word) for word in words if word in TELLING]
    by_name = -min(known, default=len(TELLING))
    return column.filled >= FILLED_MIN, by_name, column.type != "BIGINT", column.spread
