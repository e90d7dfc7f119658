"""Who opens a connection, and how long to wait before trying again.

A child dials its parent if the parent can be dialled, else the parent dials the child. Both ends
follow the same rule, so that one of them dials and not both. Failed dials are repeated with pauses
that double up to a limit; the pauses are spread by a hash of the pair, for when a region comes
back its sites must not all knock in the same instant.
"""

from __future__ import annotations

import hashlib

SPREAD = 0.5
"""Pauses are shortened by up to this share."""
DOUBLINGS_MAX = 32


class Backoff:
    """The pauses between dials of one site to one other."""

    def __init__(self, pair: str, *, first_s: float, last_s: float) -> None:
        self.next_s = 0.0
        """When the next dial is due; at once in the beginning."""
        self._pair = pair
        self._first_s = first_s
        self._last_s = last_s
        self._failed_count = 0

    def is_due(self, *, now_s: float) -> bool:
        """Also when the clock was set back and the time for it is out of reach."""
        return self.next_s <= now_s or self.next_s > now_s + self._last_s

    def dialled(self, *, now_s: float) -> None:
        pause_s = min(self._first_s * 2.0**self._failed_count, self._last_s)
        self.next_s = now_s + pause_s * (1.0 - SPREAD * _fraction(self._pair, self._failed_count))
        self._failed_count = min(self._failed_count + 1, DOUBLINGS_MAX)

    def try_soon(self, *, now_s: float) -> None:
        """It was we who were cut off, and are not any more: what failed meanwhile proves nothing.
        Still spread, for all of a region come back at once."""
        self._failed_count = 0
        soon_s = now_s + self._first_s * _fraction(self._pair, 0)
        self.next_s = min(self.next_s, soon_s)

    def reached(self) -> None:
        """The other end has spoken. A link that only opens and closes does not count."""
        self._failed_count = 0


def is_dialler(
    site: str, other: str, *, dialable: frozenset[str], is_parent: bool, is_child: bool
) -> bool:
    """``is_parent``: the other is our parent in some tree; ``is_child``: our child in some."""
    if other not in dialable:
        return False
    if site not in dialable:
        return True
    if is_parent and is_child:
        return site < other
    return is_parent


def _fraction(pair: str, attempt: int) -> float:
    digest = hashlib.blake2b(f"{pair}:{attempt}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32
