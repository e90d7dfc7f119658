"""How far clocks are off, as it was found in the wild.

Mortar (section 5) reports of PlanetLab: 20% of the nodes were off by more than half a second, a
handful by more than 3,000 s. Of the rest it says nothing; here they are within the half second,
most of them by milliseconds as NTP leaves them.
"""

from __future__ import annotations

from random import Random
from typing import Literal

FAR_SHARE = 0.2
"""Nodes beyond ``FAR_S``."""
FAR_S = 0.5
LOST_COUNT_OF = 100
"""One in so many is beyond ``LOST_S``: of 439 a handful."""
LOST_S = 3_000.0
FAR_TYPICAL_S = 8.0
"""Beyond half a second offsets fall off slowly; this is their median."""

OffsetKind = Literal["perfect", "uniform", "normal", "planetlab"]


def draw_offsets(
    kind: OffsetKind, count: int, *, random: Random, scale: float = 1.0, spread_s: float = 0.1
) -> tuple[float, ...]:
    """Of ``count`` sites, in random order; the shares are kept exactly, not by chance."""
    if kind == "perfect":
        return (0.0,) * count
    if kind == "uniform":
        return tuple(scale * random.uniform(-spread_s, spread_s) for _ in range(count))
    if kind == "normal":
        return tuple(scale * random.gauss(0.0, spread_s) for _ in range(count))
    far, lost = round(FAR_SHARE * count), -(-count // LOST_COUNT_OF)
    offsets = [random.uniform(LOST_S, 2 * LOST_S) for _ in range(min(lost, far))]
    offsets += [_far(random) for _ in range(far - len(offsets))]
    offsets += [min(FAR_S, random.expovariate(1 / 0.05)) for _ in range(count - far)]
    random.shuffle(offsets)
    return tuple(scale * random.choice((-1.0, 1.0)) * offset for offset in offsets)


def _far(random: Random) -> float:
    """Log-uniform around the median, from half a second to some minutes."""
    widest = FAR_TYPICAL_S / FAR_S
    return float(FAR_S * widest ** (2 * random.random()))
