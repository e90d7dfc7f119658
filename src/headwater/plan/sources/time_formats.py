"""How times are written in a source's lines: what ``timestamp_format`` may say.

Several ways of writing, with `` | `` between them, are tried in order. Each is ``iso`` (what Spark
takes for a timestamp), a count of units since 1970, or a pattern of Spark.

>>> formats_of("iso | milliseconds | dd/MMM/yyyy:HH:mm:ss Z")
('iso', 'epoch_ms', 'dd/MMM/yyyy:HH:mm:ss Z')
"""

from __future__ import annotations

import re

from headwater.plan.sources.time_patterns import is_zone_optional, pattern_fault, year_letters

SEPARATOR = " | "
FORMATS_MAX = 8
"""Each that is tried costs time for every line that is written in a later one."""
ISO = "iso"
EPOCHS = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1, "epoch_ns": 0}
"""Numbers since 1970, with the microseconds in one unit; of nanoseconds it is a thousandth."""
OTHER_NAMES = {
    "seconds": "epoch_s",
    "milliseconds": "epoch_ms",
    "millis": "epoch_ms",
    "microseconds": "epoch_us",
    "micros": "epoch_us",
    "nanoseconds": "epoch_ns",
    "nanos": "epoch_ns",
    "unix": "epoch_s",
}
"""Other names of the units."""
CALENDAR_US = (-62_135_596_800_000_000, 253_402_300_800_000_000)
"""From the year 1 to the end of 9999. A number of milliseconds that is read as seconds lies some
fifty thousand years ahead: it was written in another unit."""
SAYS_ZONE = r":.*([A-Za-z]|[-+]\d[\d:]*)\s*$"
"""Of an ISO time: after its first colon comes a zone or an offset."""
YEAR_LETTERS_MAX = 4


def formats_of(text: str) -> tuple[str, ...]:
    """The formats that are tried, in order, each by its one name."""
    parts = [part.strip() for part in re.split(r" \| ", text)]
    return tuple(_named(part) for part in parts)


def _named(part: str) -> str:
    name = part.lower()
    found = OTHER_NAMES.get(name, name)
    return found if found in EPOCHS or found == ISO else part


def formats_text(text: str) -> str:
    """As it travels: with the one name of each, so that equal sources are equal values."""
    return SEPARATOR.join(formats_of(text))


def formats_fault(text: str, *, zone: str = "UTC") -> str | None:
    """What is wrong, for people; Spark looks at patterns when it reads a line, and a source with a
    bad one could never be read."""
    formats = formats_of(text)
    if len(formats) > FORMATS_MAX:
        return f"at most {FORMATS_MAX} formats are tried, got {len(formats)}"
    for one in formats:
        fault = None if one in EPOCHS or one == ISO else read_fault(one, zone=zone)
        if fault is not None:
            return f"the pattern '{one[:60]}' is not Spark's: {fault}"
    return None


def read_fault(pattern: str, *, zone: str = "UTC") -> str | None:
    """Of one pattern that lines are read by."""
    fault = pattern_fault(pattern, is_read=True)
    if fault is None and year_letters(pattern) > YEAR_LETTERS_MAX:
        fault = f"a year has at most {YEAR_LETTERS_MAX} letters 'y'"
    if fault is None and zone != "UTC" and is_zone_optional(pattern):
        fault = "beside a zone, write two formats 'a | b', one with the time's own zone"
    return fault
