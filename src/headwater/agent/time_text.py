"""Times of day as text for people and programs alike."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(time_us: int) -> str:
    """A time of microseconds since 1970 as text, without parts that are zero.

    >>> iso(0), iso(1_500_000)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    return iso_of(datetime.fromtimestamp(time_us / 1e6, UTC))


def iso_of(at: datetime) -> str:
    """The same of a moment that is known as such."""
    text = at.isoformat(timespec="milliseconds" if at.microsecond else "seconds")
    return text.replace("+00:00", "Z")
