"""What a peer says of its links: whom of its children it has lost, and who has come to it instead.

A root that awaits a site can't tell whether it is late or gone; the parents of the site can. Each
of them says so with its heartbeats, as long as that lasts, signed, and of its own links alone. A
word is dated by the clock of the root that it is for: handed on later, it is worth nothing. It is a
hint that shortens waiting, never a state: who is said to be lost may come all the same.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.words.proof import Proof

LOST_MAX = 1_024
"""Sites that one word names, of the lost and of the guests each; of more, the first ones."""


class Absence(msgspec.Struct, frozen=True):
    """One peer's word to one root, about all queries that are answered there."""

    query: str
    """By whose trees it goes there."""
    speaker: int
    """The ordinal of the peer."""
    clock_s: float
    """What the root's clock shows, as far as the speaker knows."""
    lost: tuple[int, ...] = ()
    """Its children with whom it has had no link for a while; rising."""
    guests: tuple[int, ...] = ()
    """Whom it has taken in as a last resort: they are there, whatever their parents say."""
    age_s: float = 0.0
    """Grows on the way, and is no part of what is signed."""
    proof: Proof | None = None
