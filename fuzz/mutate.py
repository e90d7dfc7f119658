"""Mutations of good inputs, drawn from a seed: the same seed makes the same inputs."""

import random
import struct
from collections.abc import Callable, Sequence

STACKED_MAX = 6
"""Mutations on top of each other; one alone seldom gets past two checks."""
INPUT_BYTES_MAX = 1 << 20

_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutated(good: Sequence[bytes], chance: random.Random) -> bytes:
    """One of the good inputs with a few things done to it."""
    data = bytearray(chance.choice(good))
    for _ in range(chance.randint(1, STACKED_MAX)):
        chance.choice(_MUTATIONS)(data, good, chance)
        del data[INPUT_BYTES_MAX:]
    return bytes(data)


def _flip(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _number(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    """A length or an offset becomes extreme, in any width and either order."""
    code = chance.choice("HIQ")
    value = chance.choice(_INTERESTING) + chance.randint(-2, 2)
    packed = struct.pack(chance.choice("<>") + code, value % (1 << 8 * struct.calcsize("=" + code)))
    at = chance.randrange(len(data) + 1)
    data[at : at + len(packed)] = packed


def _insert(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.choice((1, 2, 4, 8, 64)))


def _remove(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.choice((1, 2, 4, 8, 64))]


def _cut(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _repeat(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    piece = data[at : at + chance.choice((1, 4, 16, 256))]
    data[at:at] = piece * chance.choice((1, 2, 100))


def _splice(data: bytearray, good: Sequence[bytes], chance: random.Random) -> None:
    other = chance.choice(good)
    data[chance.randrange(len(data) + 1) :] = other[chance.randrange(len(other) + 1) :]


_MUTATIONS: tuple[Callable[[bytearray, Sequence[bytes], random.Random], None], ...] = (
    _flip,
    _flip,
    _overwrite,
    _number,
    _number,
    _insert,
    _remove,
    _cut,
    _repeat,
    _splice,
)
