"""What all examples draw from: a generator for each site, times in order, files by names."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
Files = dict[str, bytes]
"""By path below the example's folder."""


def of_site(example: str, site: str) -> random.Random:
    """The same for the same names, whatever else is made."""
    return random.Random(f"headwater/{example}/{site}")


def times(
    draw: random.Random, count: int, *, over_s: int, start: datetime = NOON
) -> list[datetime]:
    """Moments within a stretch, in order, to the millisecond."""
    moments = sorted(draw.randrange(over_s * 1000) for _ in range(count))
    return [start + timedelta(milliseconds=ms) for ms in moments]


def lines(texts: Iterator[str] | Sequence[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def often(draw: random.Random, values: Sequence[str]) -> str:
    """Earlier ones more often, about as words in a language are."""
    weights = [1 / (rank + 1) for rank in range(len(values))]
    return draw.choices(values, weights)[0]
