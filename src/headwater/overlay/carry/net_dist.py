"""netDist: how old a pane has grown when its slowest summary arrives (Mortar, section 4.3).

A relay can't know whether a child is slow, stalled or dead. It learns instead how long the
slowest has taken lately, waits that long for the next pane, and not longer. netDist is an EWMA
(alpha 10%) of the largest age seen; a summary that arrives young is held for the rest.

The largest age of what? Sites close a pane at slightly different times, so a summary may be young
and still be the last of its pane. Ages are therefore counted from the first send of the pane's
*oldest* summary seen here, which is what the age of the merged summary will be::

    first sends      a |                     age of the pane at the arrival of b:
                       |        b |                    ├──────────────────┤
    arrivals           |    a            b   = now - first send of a,  not the age of b

A straggler that misses its entry still counts, through the memory of the pane's beginning; else a
relay that waits too little would never find out. Each pane gives one sample, its largest age, when
the pane has reached a ceiling: what comes later is not waited for by anyone, so no outage teaches
a relay to wait for long. Only live first sends are counted at all: backlog and spares are late for
reasons that say nothing about the network.
"""

from __future__ import annotations

from collections import deque

from headwater.overlay.config import OverlayConfig

PANES_REMEMBERED = 256
"""The panes that came last, learned from or not. With more the oldest is learned from early; a mad
pane number is forgotten."""


class _Pane:
    def __init__(self, birth_s: float) -> None:
        self.birth_s = birth_s
        self.largest_s = 0.0


class NetDist:
    def __init__(self, config: OverlayConfig) -> None:
        self.estimate_s = min(config.net_dist_initial_s, config.net_dist_ceiling_s)
        self._alpha = config.net_dist_alpha
        self._ceiling_s = config.net_dist_ceiling_s
        self._is_trained = False
        self._panes: dict[int, _Pane] = {}
        self._open: deque[_Pane] = deque()
        """Not learned from yet, in order of their first arrival."""

    def observe(self, number: int, *, birth_s: float, now_s: float) -> float:
        """A live summary first sent at ``birth_s`` arrives. The birth of its pane comes back."""
        while self._open and now_s - self._open[0].birth_s > self._ceiling_s:
            self._learn(self._open.popleft())
        pane = self._panes.get(number)
        if pane is None:
            if len(self._panes) >= PANES_REMEMBERED:
                oldest = self._panes.pop(next(iter(self._panes)))
                if self._open and self._open[0] is oldest:
                    self._learn(self._open.popleft())
            pane = self._panes[number] = _Pane(birth_s)
            self._open.append(pane)
        pane.birth_s = min(pane.birth_s, birth_s)
        pane.largest_s = max(pane.largest_s, now_s - pane.birth_s)
        return pane.birth_s

    def _learn(self, pane: _Pane) -> None:
        sample_s = min(pane.largest_s, self._ceiling_s)
        weight = self._alpha if self._is_trained else 1.0
        self.estimate_s += weight * (sample_s - self.estimate_s)
        self._is_trained = True
