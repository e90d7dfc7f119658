"""What became of commands, told outside: durable first, then handed on down the federation's tree.

Outputs are done in order, so nobody learns from this peer what a crash could make it forget.
"""

from __future__ import annotations

from headwater.overlay.here import Here
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.messages import AlterMessage, CommandMessage
from headwater.overlay.outputs import CONTROL, CommandAccepted, CountsLearned, Transmit
from headwater.overlay.ways.pathfinder import Pathfinder
from headwater.plan.command import Command, Count


class Spread:
    def __init__(self, here: Here, *, paths: Pathfinder, neighbours: Neighbours) -> None:
        self._tray = here.tray
        self._paths = paths
        self._neighbours = neighbours
        self._untold: dict[str, Count] = {}
        """Counts that are not durable yet."""

    def learned(self, count: Count) -> None:
        """To be made durable with what is accepted next."""
        self._untold[count.installer] = count

    def accepted(self, command: Command) -> None:
        counts, self._untold = tuple(self._untold.values()), {}
        self._tray.put(CommandAccepted(command, counts))

    def tell_untold(self) -> None:
        if self._untold:
            self._tray.put(CountsLearned(tuple(self._untold.values())))
            self._untold = {}

    def flood(self, message: CommandMessage | AlterMessage, *, sender: str | None) -> None:
        place = self._paths.router.federation[0]
        if place is None:
            return
        nearby = place.children if place.parent is None else (place.parent, *place.children)
        for site in nearby:
            if site != sender and self._neighbours.is_up(site):
                self._tray.put(Transmit(site, message, CONTROL))
