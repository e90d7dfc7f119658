"""Pauses on their way down: this relay's own, where its time-space list is too full, and those that
it has heard.

A relay says with its heartbeats, to its children on each tree of a query, the youngest pane that it
takes: the smaller of its own and of what its parent on that very tree has said. Told on by tree,
and so by level, no pause ever comes back to who began it: two peers that are each other's parents
on different trees would else stop each other for good. It is about what sites send first; what is
under way is carried as ever, so lists empty whoever pauses.

What was held back leaves at many moments when it is let go, which says nothing of distances: for
the life of a summary nothing of the query teaches this relay how long to wait.
"""

from __future__ import annotations

from collections import defaultdict

from headwater.algebra.words.pause import PERIOD_S_MAX, Pause, PauseHeard
from headwater.algebra.words.site_state import FOREVER
from headwater.overlay.carry.time_space_list import TimeSpaceList
from headwater.overlay.here import Here
from headwater.overlay.links.link import Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_pause
from headwater.overlay.messages import PAUSES_MAX, PausesMessage, TreePause
from headwater.overlay.outputs import CONTROL, Transmit
from headwater.overlay.ways.router import Router

ENDS_BELOW = 0.5
"""Of the limit, so that a pause does not come and go."""
OnTree = tuple[str, int]
"""(query, tree)"""


class PauseRelay:
    def __init__(
        self, here: Here, *, router: Router, neighbours: Neighbours, held: TimeSpaceList
    ) -> None:
        self._config = here.config
        self._tray = here.tray
        self._router = router
        self._neighbours = neighbours
        self._held = held
        self._heard: dict[OnTree, tuple[int, float]] = {}
        """(youngest, until when that counts), from the parent there."""
        self._said: set[OnTree] = set()
        """Where children were told to wait, and not yet that it is over."""
        self._still_until_s: dict[str, float] = {}
        """By query: until then nothing teaches how long to wait."""
        self.is_on = False
        """For want of memory here."""

    def say(self, *, period_s: float, now_s: float) -> None:
        """With a heartbeat, of which the next one comes so much later."""
        for key in [key for key, (_, until_s) in self._heard.items() if until_s <= now_s]:
            del self._heard[key]
        own = self._own(now_s)
        if not (own or self._heard or self._said):
            return
        period_s = min(period_s, PERIOD_S_MAX)
        told: dict[str, list[TreePause]] = defaultdict(list)
        for query_id in sorted({*own, *(query_id for query_id, _ in (*self._heard, *self._said))}):
            youngest = own.get(query_id, FOREVER)
            for child, pause in self._of_query(query_id, youngest, period_s):
                told[child].append(pause)
        for child, pauses in told.items():
            if self._neighbours.is_open(child):
                message = PausesMessage(tuple(pauses[:PAUSES_MAX]))
                self._tray.put(Transmit(child, message, CONTROL))

    def receive(self, link: Link, message: PausesMessage, *, now_s: float) -> None:
        for said in message.pauses:
            query = self._router.live.get(said.query)
            if query is None:
                self._tray.count("pause of an unknown query")
                continue
            problem = problem_with_pause(said, link.site, query)
            if problem is not None:
                self._tray.refuse(link.site, problem, now_s=now_s)
            elif said.plan_version == query.tree_set.version:
                self._hear(said, len(query.places), now_s)

    def hear_root(self, query_id: str, *, now_s: float) -> None:
        """It has asked the sites of this query to wait."""
        self._still_until_s[query_id] = now_s + self._config.summary_life_s

    def is_still(self, query_id: str, *, now_s: float) -> bool:
        """Somebody pauses the query, or did so a moment ago."""
        return now_s < self._still_until_s.get(query_id, now_s)

    def discard_query(self, query_id: str) -> None:
        self._still_until_s.pop(query_id, None)
        self._said = {key for key in self._said if key[0] != query_id}
        self._heard = {key: one for key, one in self._heard.items() if key[0] != query_id}

    def _hear(self, said: TreePause, trees: int, now_s: float) -> None:
        self._heard.pop((said.query, said.tree), None)
        pause = None
        if said.youngest < FOREVER:
            pause = Pause(said.youngest, said.period_s)
            self._heard[said.query, said.tree] = (said.youngest, now_s + pause.lasts_s)
            self.hear_root(said.query, now_s=now_s)
        self._tray.put(PauseHeard(said.query, said.tree, trees, pause))

    def _of_query(self, query_id: str, own: int, period_s: float) -> list[tuple[str, TreePause]]:
        """(child, what it is told). The root of a query says it with its acknowledgements."""
        query = self._router.live.get(query_id)
        if query is None or query.is_root:
            return []
        found, version = list[tuple[str, TreePause]](), query.tree_set.version
        for tree, place in enumerate(query.places):
            key = query_id, tree
            youngest = min(own, self._heard.get(key, (FOREVER, 0.0))[0])
            if place is None or (youngest == FOREVER and key not in self._said):
                continue
            if youngest == FOREVER:
                self._said.discard(key)
            else:
                self._said.add(key)
            pause = TreePause(query_id, version, tree, youngest, period_s)
            found += [(child, pause) for child in place.children]
        return found

    def _own(self, now_s: float) -> dict[str, int]:
        """By query, the youngest pane of those that fit, the oldest first; none: all do."""
        limit, was_on = self._config.pause_bytes_max, self.is_on
        self.is_on = self._held.size_bytes > limit * (ENDS_BELOW if was_on else 1.0)
        if not self.is_on:
            return {}
        if not was_on:
            text = f"{self._held.size_bytes} bytes wait here: sites below are asked to wait"
            self._tray.note("paused", text, now_s=now_s)
        left, found = limit, dict[str, int]()
        for entry in self._held.entries():
            left -= entry.size_bytes
            query_id = entry.key[0]
            known = found.setdefault(query_id, entry.last)
            if left >= 0:
                found[query_id] = max(known, entry.last)
            self.hear_root(query_id, now_s=now_s)
        return found
