"""Spares wait here until they can do no harm: the rule "One copy, and spares".

A spare may meet an aggregate under way that has the same site in it. If the spare were let in
first, the whole aggregate would be refused. So it waits until a window of its pane is answered,
until no original can be under way any more, or until nothing but parked spares is missing from its
pane, so that there is no aggregate left to spoil. A spare without updates spoils none, and never
waits.
"""

from __future__ import annotations

from headwater.algebra.summary import Merger, Summary
from headwater.root.config import RootConfig


class Parking:
    """Bounded in number and bytes: the oldest gives way. It is let in early then, not dropped: it
    has waited longest, and where many come at once (a root has lost its disk) none would ever have
    waited long enough."""

    def __init__(self, config: RootConfig, merger: Merger) -> None:
        self._config = config
        self._merger = merger
        self._spares: dict[int, tuple[float, int, Summary]] = {}
        self._by_pane: dict[int, list[int]] = {}
        self._next = 0
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._spares)

    def __contains__(self, pane: int) -> bool:
        return pane in self._by_pane

    def park(self, spare: Summary, *, now_s: float) -> list[Summary]:
        """The spares that had to give way."""
        size = 0 if spare.rows is None else self._merger.size_bytes(spare.rows)
        self._spares[self._next] = (now_s, size, spare)
        self._by_pane.setdefault(spare.pane, []).append(self._next)
        self._next += 1
        self.bytes += size
        gone: list[Summary] = []
        while self._spares and self._is_overfull():
            gone.append(self._remove(next(iter(self._spares))))
        return gone

    def _is_overfull(self) -> bool:
        config = self._config
        return len(self._spares) > config.parked_max or self.bytes > config.parked_bytes_max

    def sites(self, pane: int) -> int:
        """Of which sites spares of this pane are parked, as a bitset."""
        found = 0
        for number in self._by_pane.get(pane, ()):
            found |= self._spares[number][2].coverage.sites
        return found

    def take(self, pane: int) -> list[Summary]:
        return [self._remove(number) for number in list(self._by_pane.get(pane, ()))]

    def take_due(self, *, now_s: float) -> list[Summary]:
        """Those whose originals can't be under way any more; numbers rise with time."""
        due = []
        for number, (parked_s, _, _) in self._spares.items():
            if parked_s + self._config.summary_life_s > now_s:
                break
            due.append(number)
        return [self._remove(number) for number in due]

    def drop_below(self, pane: int) -> None:
        for one in [known for known in self._by_pane if known < pane]:
            self.take(one)

    def next_deadline_s(self) -> float | None:
        first = next(iter(self._spares.values()), None)
        return None if first is None else first[0] + self._config.summary_life_s

    def _remove(self, number: int) -> Summary:
        _, size, spare = self._spares.pop(number)
        self.bytes -= size
        numbers = self._by_pane[spare.pane]
        numbers.remove(number)
        if not numbers:
            del self._by_pane[spare.pane]
        return spare
