"""Sets of small numbers as Python integers: one bit for each member.

Coverage is a set of roster ordinals, and thousands of panes each hold one. An ``int`` is the most
compact such set in Python, its union and intersection run at memory speed, and its bytes are what
travels.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

EMPTY = 0


def of(members: Iterable[int]) -> int:
    """The set of ``members``.

    >>> bin(of([0, 3]))
    '0b1001'
    """
    found = sorted(members)
    if not found:
        return EMPTY
    if found[0] < 0:
        raise ValueError(f"set: wanted members from 0, got {found[0]}")
    data = bytearray(found[-1] // 8 + 1)  # one integer after the other would copy all of it
    for member in found:
        data[member >> 3] |= 1 << (member & 7)
    return int.from_bytes(data, "little")


def union(sets: Iterable[int]) -> int:
    """The members of any of them.

    >>> bin(union([0b1, 0b100]))
    '0b101'
    """
    return reduce(or_, sets, EMPTY)


def members(bits: int) -> Iterator[int]:
    """The members in rising order.

    >>> list(members(0b1001))
    [0, 3]
    """
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def below(count: int) -> int:
    """The set of all numbers from 0 up to, not including, ``count``."""
    return (1 << count) - 1


def to_bytes(bits: int) -> bytes:
    """The shortest little-endian form; the empty set is ``b""``."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def from_bytes(data: bytes) -> int:
    return int.from_bytes(data, "little")
