"""Which of two picks serves a query better: one picks, the other plays along in the shadow.

``gain`` predicts, and a prediction can be wrong for a kind of data: where keys come in one short
burst, ``lru`` is as good or better. So both are dealt the same room in every pane. The first sends;
of the other one only is noted what it would have sent, and so what it would have had to send again.
At the close each has a *debt*: what is still to go because it was never sent, or was sent too early
and must be sent again. Repeats that idle room has paid for harm nobody, so the debt is compared and
not their number. The pick with the smaller debt over the last panes sends in the next one.
"""

from __future__ import annotations

from collections import deque

YIELDS_TO = {"gain": "lru"}
"""Picks that are held against another one."""


class Contest:
    """Between a pick that is preferred and the one to which it yields."""

    def __init__(self, panes: int) -> None:
        self._debts: deque[tuple[float, float]] = deque(maxlen=panes)

    @property
    def yields(self) -> bool:
        """Whether the preferred one was behind over the last panes."""
        return self._sum(0) > self._sum(1)

    def score(self, *, preferred: float, other: float) -> None:
        """The debts of a pane, at its close."""
        self._debts.append((preferred, other))

    def text(self) -> str:
        """
        >>> contest = Contest(4)
        >>> contest.score(preferred=12.0, other=9.0)
        >>> contest.text()
        'yields: 12 against 9 over 1 panes'
        """
        what = "yields" if self.yields else "picks"
        return f"{what}: {self._sum(0):g} against {self._sum(1):g} over {len(self._debts)} panes"

    def _sum(self, which: int) -> float:
        return sum(debts[which] for debts in self._debts)


def picks_of(name: str, *, yields: bool) -> tuple[str, ...]:
    """The first one sends."""
    if name not in YIELDS_TO:
        return (name,)
    return (YIELDS_TO[name], name) if yields else (name, YIELDS_TO[name])
