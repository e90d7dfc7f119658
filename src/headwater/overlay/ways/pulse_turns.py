"""Of which roots the next heartbeat on a link speaks, where there are more than it has room for.

A heartbeat has room for ``ROOTS_MAX`` roots, and a federation may have more. Each link has turns of
its own: news first, of a way that was lost or found, then whoever has waited the longest. Roots on
whose ways the link lies, because the two are parent and child in one of their trees, come before
all others; a guest or a host may need any. So a root is spoken of at least once in ``turn_beats``
heartbeats, and whoever listens is patient for that much longer (``Link.way_to``).

A link that comes up again goes on with its turns: where links come and go within a turn, beginning
anew would never get to the roots that come last.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.overlay.ways import root_pulses
from headwater.overlay.ways.root_pulses import LOST_S, RootPulse

Pulses = tuple[RootPulse, ...]


class _Turn:
    """What was said to one site."""

    def __init__(self) -> None:
        self.number = 0
        self.told: dict[int, tuple[int, bool]] = {}
        """By root: with which heartbeat it was spoken of, and whether there was a way."""


class PulseTurns:
    def __init__(self) -> None:
        self.turn_beats = 1
        """In so many heartbeats every root that a link needs is spoken of."""
        self._needed: Mapping[str, frozenset[int]] = {}
        self._turns: dict[str, _Turn] = {}
        self._grouped: Pulses = ()
        self._groups: dict[int, Pulses] = {}

    def relate(self, needed: Mapping[str, frozenset[int]], *, root_count: int) -> None:
        """``needed``: by neighbour, the roots on whose ways the link to it lies. Everybody knows
        all queries, so everybody comes to the same ``turn_beats``."""
        self._needed = needed
        self.turn_beats = max(1, -(-root_count // root_pulses.ROOTS_MAX))

    def pick(self, site: str, pulses: Pulses) -> Pulses:
        """For the next heartbeat to this site, of all that there is to say. Pulses of one root,
        which stand together, stay together."""
        if len(pulses) <= root_pulses.ROOTS_MAX:  # nearly always
            return pulses
        groups = self._groups_of(pulses)
        if len(groups) <= root_pulses.ROOTS_MAX:
            return pulses
        turn = self._turns.setdefault(site, _Turn())
        turn.number += 1
        chosen = self._chosen(site, turn, groups)
        turn.told = {root: told for root, told in turn.told.items() if root in groups}
        turn.told |= {root: (turn.number, _has_way(groups[root])) for root in chosen}
        return tuple(pulse for root in sorted(chosen) for pulse in groups[root])

    def _chosen(self, site: str, turn: _Turn, groups: dict[int, Pulses]) -> list[int]:
        needed = self._needed.get(site)

        def order(root: int) -> tuple[bool, int, int]:
            is_needed = needed is None or root in needed
            return (not is_needed, turn.told.get(root, (0, False))[0], root)

        waiting = sorted(groups, key=order)
        news = [root for root in waiting if _is_news(turn, root, groups[root])]
        first = news[: (root_pulses.ROOTS_MAX + 1) // 2]  # whoever flaps must not silence the rest
        return list(dict.fromkeys((*first, *waiting)))[: root_pulses.ROOTS_MAX]

    def _groups_of(self, pulses: Pulses) -> dict[int, Pulses]:
        """One word is said to all neighbours, so it is taken apart once."""
        if pulses is not self._grouped:
            groups: dict[int, list[RootPulse]] = {}
            for pulse in pulses:
                groups.setdefault(pulse.root, []).append(pulse)
            self._grouped = pulses
            self._groups = {root: tuple(group) for root, group in groups.items()}
        return self._groups


def _has_way(group: Pulses) -> bool:
    return group[0].age_s < LOST_S


def _is_news(turn: _Turn, root: int, group: Pulses) -> bool:
    told = turn.told.get(root)
    return told is not None and told[1] != _has_way(group)
