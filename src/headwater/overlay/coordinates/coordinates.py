"""Where everybody is: this peer's own coordinate, and a table of all others' for planning.

The own coordinate follows from the heartbeats' round trips. The table is gathered up the
federation's tree and handed down again, so that whoever installs a query can plan its trees
(Mortar, section 3.1, uses a query for this). It changes slowly and is sent seldom.

Nobody signs coordinates: a wrong one costs good trees, never truth. But one member must not place
the others at will. On a tree every word of a site comes by one way, so it is heard from the
neighbour on that way and from nobody else: a child may speak of those below itself, a parent of
those who are not below us. What a site says of itself, on a link of its own, counts over all that
others say of it. And hearsay moves a site that has come to rest only so far at a time::

        home          of d, home hears from b alone, and a from home alone;
       ╱    ╲         a can place itself and c, and for c everybody
      a      b
      │      │
      c      d
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from headwater.algebra.coordinate import Coordinate, problem_with_coordinate
from headwater.algebra.draws import Draws
from headwater.overlay.coordinates.vivaldi import Vivaldi
from headwater.overlay.here import Here
from headwater.overlay.links.link import Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.messages import CoordinatesMessage, Placed
from headwater.overlay.outputs import CONTROL, Transmit
from headwater.overlay.ways.tree_place import TreePlace
from headwater.plan.tree import Tree

PLACED_MAX = 2_000
"""Coordinates in one message, which keeps it below a frame's size."""
RADIUS_MS_MAX = 2_000.0
"""Of hearsay: three times around the world by satellite. Gravity keeps all near the origin."""
STEP_MS_MAX = 50.0
"""So far does one message move a site that others place, if it had come to rest."""
RESTS_BELOW = 0.3
"""The error of a coordinate that has come to rest; a newcomer's is larger, and it moves far."""
OWN_WORD_S = 300.0
"""For so long after a site has said itself where it is, nobody else is asked."""


class Coordinates:
    def __init__(
        self, here: Here, *, federation: TreePlace | None, tree: Tree, neighbours: Neighbours
    ) -> None:
        """``tree`` is the federation's, and ``federation`` this peer's place in it."""
        self._tree = tree
        self._said_s: dict[int, float] = {}
        """By site that is linked with us, or was: when it last said itself where it is."""
        self._said: dict[int, Coordinate] = {}
        """By neighbour in the tree: where it is, as it would have others told."""
        self._own = here.ordinal
        self._roster = here.roster
        self._every_s = here.config.coordinates_every_s
        self._federation = federation
        self._neighbours = neighbours
        self._tray = here.tray
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

    def hear(
        self, site: str, place: Coordinate | None, *, rtt_s: float | None, now_s: float
    ) -> None:
        """A heartbeat came. One that says nothing of where its sender is moves nobody: to be pulled
        again towards where it was says nothing new."""
        if place is not None and rtt_s is not None:
            self._vivaldi.observe(site, place, rtt_s=rtt_s)
        if place is not None:
            ordinal = self._roster.ordinal_of[site]
            self._known[ordinal], self._said_s[ordinal] = place, now_s

    def receive(self, link: Link, message: CoordinatesMessage, *, now_s: float) -> None:
        """What is new is told on at the next turn, up and down."""
        problems, passed_over, sender = [], [], link.site
        for ordinal, place in ((one.ordinal, one.coordinate) for one in message.placed):
            problem = self._problem_with(ordinal, place)
            if problem is not None:
                problems.append(problem)
            elif ordinal == self._own or self._towards(ordinal) not in (None, sender):
                passed_over.append(self._roster.name_of[ordinal])
            elif self._is_news(sender, ordinal, place, now_s=now_s):
                self._known[ordinal] = _stepped(self._known.get(ordinal), place)
                self._changed.add(ordinal)
        if problems:
            more = f"; and {len(problems) - 1} more" if problems[1:] else ""
            self._tray.note("refused", f"{sender}: {problems[0]}{more}", now_s=now_s)
        if passed_over:
            names = f"{passed_over[0]}, and {len(passed_over) - 1} more sites"
            text = (
                f"{sender} tells where {names if passed_over[1:] else passed_over[0]} is, which is "
                "not its to say: they are not behind it in the federation's tree"
            )
            times = len(passed_over)
            self._tray.note("place passed over", text, now_s=now_s, times=times)

    def _problem_with(self, ordinal: int, place: Coordinate) -> str | None:
        problem = problem_with_coordinate(place)
        if problem is not None or ordinal not in self._roster.name_of:
            return problem or "an ordinal beyond the roster"
        if hypot(place.x, place.y, place.z) + place.height > RADIUS_MS_MAX:
            return f"coordinate: a site farther away than {RADIUS_MS_MAX:.0f} ms"
        return None

    def _towards(self, ordinal: int) -> str | None:
        """By whom the word of that site comes here; None: it is in no tree, and may come by all."""
        if ordinal not in self._tree.levels or self._own not in self._tree.levels:
            return None
        way = [ordinal, *self._tree.ancestors_of(ordinal)]
        if self._own in way:
            return self._roster.name_of[way[way.index(self._own) - 1]]
        parent = self._tree.parent.get(self._own)
        return None if parent is None else self._roster.name_of[parent]

    def _is_news(self, sender: str, ordinal: int, place: Coordinate, *, now_s: float) -> bool:
        """Who is linked with us has said it better, but for its own word in this message."""
        if self._roster.name_of[ordinal] == sender:
            former, self._said[ordinal] = self._said.get(ordinal), place
            return former != place
        said_s = self._said_s.get(ordinal)
        is_said = said_s is not None and abs(now_s - said_s) < OWN_WORD_S
        return not is_said and self._known.get(ordinal) != place

    def tick(self, *, now_s: float) -> None:
        if self._next_s is None or self._next_s > now_s + self._every_s:
            self._next_s = now_s + self._every_s / 4  # soon after the start, but not at once
        if now_s < self._next_s or self._federation is None:
            return
        self._next_s = now_s + self._every_s
        news = [(Placed(ordinal=self._own, coordinate=self.own), "")]
        news += [
            (Placed(ordinal=n, coordinate=self._known[n]), self._towards(n) or "")
            for n in sorted(self._changed)
        ]
        self._changed.clear()
        place = self._federation
        nearby = place.children if place.parent is None else (place.parent, *place.children)
        for site in nearby:
            if self._neighbours.is_open(site):
                told = [placed for placed, by in news if by != site]  # it has said those itself
                for start in range(0, len(told), PLACED_MAX):
                    part = tuple(told[start : start + PLACED_MAX])
                    self._tray.put(Transmit(site, CoordinatesMessage(placed=part), CONTROL))


def _stepped(known: Coordinate | None, heard: Coordinate) -> Coordinate:
    """As far towards what is heard as one message may move a site that has come to rest."""
    if known is None or known.error >= RESTS_BELOW:
        return heard
    away = (heard.x - known.x, heard.y - known.y, heard.z - known.z, heard.height - known.height)
    share = min(1.0, STEP_MS_MAX / max(hypot(*away), STEP_MS_MAX))
    if share == 1.0:
        return heard
    x, y, z, height = (
        at + share * by
        for at, by in zip((known.x, known.y, known.z, known.height), away, strict=True)
    )
    return Coordinate(x=x, y=y, z=z, height=height, error=heard.error).rounded()
