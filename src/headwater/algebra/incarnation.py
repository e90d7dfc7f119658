"""Incarnations: numbers that name a life of a site's cube or of a root's ledger.

A life that begins anew must win over the one before it wherever both are heard ("the higher of
incarnation, update count, state"), and two lives must never share a number. So the number leads
with the clock and ends in chance.
"""

CHANCE_BITS = 20


def new_incarnation(*, now_s: float, chance: int) -> int:
    """A number above those of all earlier lives, as long as the clock has not been set back.

    ``chance`` is any random integer; its last 20 bits keep apart two lives of one millisecond.

    >>> new_incarnation(now_s=2.0, chance=5) > new_incarnation(now_s=1.0, chance=9)
    True
    """
    return (int(now_s * 1000.0) << CHANCE_BITS) | (chance & ((1 << CHANCE_BITS) - 1))
