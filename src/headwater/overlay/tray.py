"""Where the parts of a peer lay down what they want done, in the order in which it is wanted.

All of them speak so: what comes is an argument, what is to be done is laid down here, and nothing
is handed back for the caller to do.
"""

from __future__ import annotations

from collections import Counter

from headwater.algebra.far_times import LONG_AGO_S
from headwater.overlay.lie_book import LieBook, Untrue
from headwater.overlay.outputs import Output
from headwater.plan.notice import Notice

KINDS_MAX = 64
"""Kinds of notices are words in our code, so this is never reached; it bounds them all the same."""


class Tray:
    """Shared by the parts of one peer.

    Notices stay readable: a peer that is flooded with bad messages must not turn each of them into
    a line of a log. The first of a kind is given at once, further ones within ``notice_every_s``
    are only counted, and the next one that is given says how many there were.
    """

    def __init__(self, *, notice_every_s: float) -> None:
        self.lies = LieBook()
        self.noted: Counter[str] = Counter()
        """How often each kind has happened since the peer began."""
        self._notice_every_s = notice_every_s
        self._given: dict[str, tuple[float, int]] = {}
        """By kind: when a notice was given, and how often it had happened by then."""
        self._outputs: list[Output] = []

    def put(self, *outputs: Output) -> None:
        self._outputs.extend(outputs)

    def note(self, kind: str, text: str, *, now_s: float, times: int = 1) -> None:
        assert kind in self.noted or len(self.noted) < KINDS_MAX, f"a new kind {kind!r}"
        self.noted[kind] += times
        given_s, given = self._given.get(kind, (LONG_AGO_S, 0))
        if 0.0 <= now_s - given_s < self._notice_every_s:
            return
        since = self.noted[kind] - given
        self._given[kind] = (now_s, self.noted[kind])
        text = text if since == times else f"{text} ({since} of this kind)"
        self._outputs.append(Notice("overlay", kind, text))

    def count(self, kind: str, times: int = 1) -> None:
        """It is in order, and people need no notice of it."""
        assert kind in self.noted or len(self.noted) < KINDS_MAX, f"a new kind {kind!r}"
        self.noted[kind] += times

    def refuse(self, sender: str, problem: str, *, now_s: float) -> None:
        """What this neighbour sent is dropped; a lie is written down."""
        if isinstance(problem, Untrue):
            self.lies.add(problem, sender=sender, now_s=now_s)
        self.note("refused", f"{sender}: {problem}", now_s=now_s)

    def take(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs
