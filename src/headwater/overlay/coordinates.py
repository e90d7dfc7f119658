"""Where everybody is: this peer's own coordinate, and a table of all others' for planning.

The own coordinate follows from the heartbeats' round trips. The table is gathered up the
federation's tree and handed down again, so that whoever installs a query can plan its trees
(Mortar, section 3.1, uses a query for this). It changes slowly and is sent seldom.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.algebra.coordinate import Coordinate, problem_with_coordinate
from headwater.algebra.draws import Draws
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import CoordinatesMessage, Placed
from headwater.overlay.neighbours import Neighbours
from headwater.overlay.outputs import CONTROL
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.tray import Tray
from headwater.overlay.tree_place import TreePlace
from headwater.overlay.vivaldi import Vivaldi

PLACED_MAX = 2_000
"""Coordinates in one message, which keeps it below a frame's size."""


class Coordinates:
    __slots__ = (
        "_changed", "_every_s", "_federation", "_known", "_neighbours", "_next_s", "_own",
        "_roster", "_tray", "_vivaldi",
    )  # fmt: skip

    def __init__(
        self,
        site: str,
        *,
        roster: RosterIndex,
        config: OverlayConfig,
        federation: TreePlace | None,
        neighbours: Neighbours,
        tray: Tray,
    ) -> None:
        self._own = roster.ordinal_of[site]
        self._roster = roster
        self._every_s = config.coordinates_every_s
        self._federation = federation
        self._neighbours = neighbours
        self._tray = tray
        self._vivaldi = Vivaldi(random=Draws(self._own))
        self._known: dict[int, Coordinate] = {}
        self._changed: set[int] = set()
        """What the neighbours on the federation's tree have not been told."""
        self._next_s: float | None = None

    @property
    def own(self) -> Coordinate:
        return self._vivaldi.coordinate.rounded()

    def table(self) -> Mapping[str, Coordinate]:
        """All that is known, by site."""
        known = {**self._known, self._own: self.own}
        return {self._roster.name_of[ordinal]: place for ordinal, place in known.items()}

    def hear(self, site: str, place: Coordinate | None, *, rtt_s: float | None) -> None:
        """A heartbeat came. One that says nothing of where its sender is moves nobody: to be pulled
        again towards where it was says nothing new."""
        if place is not None and rtt_s is not None:
            self._vivaldi.observe(site, place, rtt_s=rtt_s)

    def receive(self, sender: str, message: CoordinatesMessage) -> None:
        """What is new is told on at the next turn, up and down."""
        for ordinal, coordinate in ((one.ordinal, one.coordinate) for one in message.placed):
            problem = problem_with_coordinate(coordinate)
            if problem is not None or ordinal not in self._roster.name_of:
                self._tray.note("refused", f"{sender}: {problem or 'an ordinal beyond the roster'}")
            elif ordinal != self._own and self._known.get(ordinal) != coordinate:
                self._known[ordinal] = coordinate
                self._changed.add(ordinal)

    def tick(self, *, now_s: float) -> None:
        if self._next_s is None or self._next_s > now_s + self._every_s:
            self._next_s = now_s + self._every_s / 4  # soon after the start, but not at once
        if now_s < self._next_s or self._federation is None:
            return
        self._next_s = now_s + self._every_s
        news = [Placed(self._own, self.own)]
        news += [Placed(one, self._known[one]) for one in sorted(self._changed)]
        self._changed.clear()
        place = self._federation
        nearby = place.children if place.parent is None else (place.parent, *place.children)
        for site in nearby:
            if self._neighbours.is_open(site):
                for start in range(0, len(news), PLACED_MAX):
                    part = tuple(news[start : start + PLACED_MAX])
                    self._tray.transmit(site, CoordinatesMessage(part), CONTROL)
