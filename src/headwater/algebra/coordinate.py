"""A place in the network: where a site stands, so that round trips can be told without measuring.

A coordinate is a point in a space of three dimensions and a height above it (Dabek et al.,
"Vivaldi", section 5.4). The space stands for the core of the Internet, where latency follows
distance; the height stands for the way from the site to that core, which every one of its packets
takes::

      a                 b
      │ height          │ height        round trip = a's height + distance + b's height
      └───── distance ──┘

Heights belong to sites, so a message that is passed on by a site with a large height pays it
twice: coming in and going out.
"""

from __future__ import annotations

from math import dist, inf, isfinite

import msgspec

HEIGHT_MIN_MS = 0.01
"""No site is nearer to the core than this; above zero, so that heights have a direction to grow."""
POSITION_MAX_MS = 10_000.0
"""Farther than any place on Earth or in its orbits, so what claims more is wrong or lies."""
ERROR_MAX = 2.0
"""A relative error beyond this says no more than "unknown" does."""


class Coordinate(msgspec.Struct, frozen=True, array_like=True):
    """Positions and height in milliseconds of round trip.

    >>> Coordinate(0.0, 3.0, 0.0, height=1.0).distance_s(Coordinate(4.0, 0.0, 0.0, height=2.0))
    0.008
    """

    x: float
    y: float
    z: float
    height: float = HEIGHT_MIN_MS
    error: float = 1.0
    """How wrong its predictions were of late, as a share of the round trip; 1 says nothing."""

    def rounded(self) -> Coordinate:
        """To tenths of a millisecond and to percents, which is how coordinates travel."""
        return Coordinate(
            x=round(self.x, 1),
            y=round(self.y, 1),
            z=round(self.z, 1),
            height=max(round(self.height, 1), 0.1),
            error=round(self.error, 2),
        )

    def distance_s(self, other: Coordinate) -> float:
        """The round trip to be expected between two sites, in seconds."""
        there_ms = dist((self.x, self.y, self.z), (other.x, other.y, other.z))
        return (there_ms + self.height + other.height) / 1_000.0


ORIGIN = Coordinate(x=0.0, y=0.0, z=0.0)
"""Where everyone begins, knowing nothing."""


def problem_with_coordinate(coordinate: Coordinate) -> str | None:
    """What is wrong with a coordinate that came from outside, or None. Never raises."""
    x, y, z = coordinate.x, coordinate.y, coordinate.z
    if not (abs(x) <= POSITION_MAX_MS and abs(y) <= POSITION_MAX_MS and abs(z) <= POSITION_MAX_MS):
        return f"coordinate: a position of {(x, y, z)} ms; wanted up to {POSITION_MAX_MS:.0f}"
    if not 0.0 < coordinate.height <= POSITION_MAX_MS:
        return f"coordinate: a height of {coordinate.height} ms; wanted more than 0, up to 10,000"
    if not 0.0 <= coordinate.error < inf or not isfinite(coordinate.error):
        return f"coordinate: an error of {coordinate.error}; wanted 0 or more"
    return None
