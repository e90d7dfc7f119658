"""What is read of a source at a site: the live reading, and for late queries readings of the past.

The live reading has the source's own name. A reading of the past is named for the source and the
unit that it is read for, so that the queries of one unit share it, and whoever meets the name, in a
report or in the manifest, knows what it is. No source can be called so.
"""

from __future__ import annotations

from headwater.plan.query import Query

PAST = "~"


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
    return PAST in reading
