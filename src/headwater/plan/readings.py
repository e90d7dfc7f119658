"""What is read of a source at a site: the live one, and beside it what is read by itself.

For late queries there are readings of the past, and of what was skipped those that were set aside.

The live reading has the source's own name. A reading of the past is named for the source and the
unit that it is read for, so that the queries of one unit share it, and whoever meets the name, in a
report or in the manifest, knows what it is. Input that was set aside, for want of CPU, has a
number. No source can be called so.
"""

from __future__ import annotations

from headwater.plan.query import Query

PAST = "~"
ASIDE = "~~"
"""Before its number. No installer's name begins so."""


def past_reading(query: Query) -> str:
    """What the past is called that is read for this query."""
    counter, installer = query.unit
    return f"{query.source_name}{PAST}{installer}.{counter}"


def source_of(reading: str) -> str:
    """
    >>> source_of("access~home.7"), source_of("access")
    ('access', 'access')
    """
    return reading.partition(PAST)[0]


def is_past(reading: str) -> bool:
    """Or of what was set aside."""
    return PAST in reading


def aside_reading(source: str, number: int) -> str:
    """What input of a source is called that was set aside."""
    return f"{source}{ASIDE}{number}"


def is_aside(reading: str) -> bool:
    return ASIDE in reading


def aside_number(reading: str) -> int:
    """Of two of one source the later one has the higher number.

    >>> aside_number(aside_reading("access", 17)), source_of("access~~17")
    (17, 'access')
    """
    return int(reading.rpartition(ASIDE)[2])
