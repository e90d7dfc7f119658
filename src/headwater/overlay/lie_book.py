"""The lies that this peer has met: which kind, from whom, how often, since when.

A refusal may be chance: a message that crossed another one. A *lie* can't be: a word under a
signature that is not its speaker's, a count that leaps. Refusing it is enough for the machines, and
not for people, who want to know that somebody tries. So the book keeps, for each kind and each
neighbour that a lie came from, how often it came and the newest in words.

Who said it is the neighbour on the link, whom TLS has proven; what it told of others is in the
words. A neighbour is not believed to be a liar: it may be the one that was lied to. But everybody
looks at what they hand on, so an honest one of this version would not have.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

LIES_MAX = 256
"""Pairs of a kind and a neighbour; beyond, those of further neighbours are one of each kind."""
LIE_CHARACTERS_MAX = 300
OTHERS = ""
"""In the place of a neighbour: those for which the book has no room."""


class LieKind(StrEnum):
    UNSIGNED = "not signed"
    """A word that lacks the signature of whose word it is, or has another's; a leaf that does not
    stand in the head that it came with."""
    LEAP = "leap"
    """A number that is absurdly far from what is known."""
    CLOCK = "clock set aside"
    """A clock that the others contradict."""


class Untrue(str):
    """What is wrong with a word, in a sentence, where it can't have come about by chance."""

    kind: LieKind

    @classmethod
    def of(cls, kind: LieKind, text: str) -> Untrue:
        made = cls(text)
        made.kind = kind
        return made


class LieMet(msgspec.Struct, frozen=True):
    """Times are the peer's steady ones."""

    kind: LieKind
    sender: str
    count: int
    first_s: float
    last_s: float
    text: str
    """The newest, in words."""


class LieBook:
    def __init__(self) -> None:
        self._met: dict[tuple[LieKind, str], LieMet] = {}

    def add(self, lie: Untrue, *, sender: str, now_s: float) -> None:
        key = (lie.kind, sender)
        if key not in self._met and len(self._met) >= LIES_MAX:
            key = (lie.kind, OTHERS)
        text = lie if len(lie) <= LIE_CHARACTERS_MAX else f"{lie[: LIE_CHARACTERS_MAX - 1]}…"
        known = self._met.get(key)
        count, first_s = (1, now_s) if known is None else (known.count + 1, known.first_s)
        self._met[key] = LieMet(*key, count, first_s, now_s, str(text))

    def met(self) -> tuple[LieMet, ...]:
        return tuple(self._met.values())
