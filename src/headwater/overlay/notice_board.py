"""Notices that stay readable: each kind at most every so often, with what was left out counted.

A peer that is flooded with bad messages must not turn each of them into a line of a log. The
first of a kind is given at once, further ones within ``every_s`` are only counted, and the next
one that is given says how many there were.
"""

from __future__ import annotations

from collections import Counter

from headwater.overlay.outputs import Notice

KINDS_MAX = 64
"""Kinds are words in our code, so this is never reached; it bounds the board all the same."""


class NoticeBoard:
    def __init__(self, *, every_s: float) -> None:
        self.counts: Counter[str] = Counter()
        """How often each kind has happened since the peer began."""
        self._every_s = every_s
        self._given_s: dict[str, float] = {}
        self._given_count: dict[str, int] = {}

    def note(self, kind: str, text: str, *, now_s: float, times: int = 1) -> Notice | None:
        """The notice to give now; None while one of its kind was given a moment ago."""
        assert kind in self.counts or len(self.counts) < KINDS_MAX, f"a new kind {kind!r}"
        self.counts[kind] += times
        given_s = self._given_s.get(kind)
        if given_s is not None and 0.0 <= now_s - given_s < self._every_s:
            return None
        since = self.counts[kind] - self._given_count.get(kind, 0)
        self._given_s[kind] = now_s
        self._given_count[kind] = self.counts[kind]
        return Notice(kind, text if since == times else f"{text} ({since} of this kind)")
