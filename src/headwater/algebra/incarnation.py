"""Incarnations: numbers that name a life of a site's cube or of a root's ledger.

A life that begins anew must win over the one before it wherever both are heard ("the higher of
incarnation, update count, state"), and two lives must never share a number. Where the former
number is known, the next one is counted up from it. Where nothing durable is left, the number leads
with the clock and ends in chance, which is a guess: the clock may have been set back. So a life
that is told of a higher one than its own takes a number above that (``incarnation_above``).
"""

CHANCE_BITS = 20
INCARNATION_MAX = 1 << 62
"""A number from outside that lies above this is not believed: there must be room above it."""


def new_incarnation(*, now_s: float, chance: int) -> int:
    """A number above those of all earlier lives, as long as the clock has not been set back.

    ``chance`` is any random integer; its last 20 bits keep apart two lives of one millisecond.

    >>> new_incarnation(now_s=2.0, chance=5) > new_incarnation(now_s=1.0, chance=9)
    True
    """
    return (int(max(0.0, now_s) * 1000.0) << CHANCE_BITS) | _last_bits(chance)


def incarnation_above(former: int, *, chance: int) -> int:
    """A number above ``former``, whatever any clock shows.

    >>> incarnation_above(new_incarnation(now_s=2.0, chance=9), chance=5) >> CHANCE_BITS
    2001
    """
    return ((former >> CHANCE_BITS) + 1 << CHANCE_BITS) | _last_bits(chance)


def _last_bits(chance: int) -> int:
    return chance & ((1 << CHANCE_BITS) - 1)
