"""Cutting acknowledgements: telling sites what is held, without saying everything every time.

Panes that are held from every expected site are told as ranges, which costs next to nothing. The
others are spelled out with a bitmap each, at most ``panes_per_ack_max`` in one acknowledgement:
those with news, the newest first, and the rest in turn. Each comes first in every other one, for
what comes first always has room (``extras_per_ack_max``). Sites take no word for lacking on a pane
that is left out (``listed``).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from headwater.algebra.acknowledgement import Acknowledgement, ExtraHeld, PaneHeld
from headwater.algebra.interval_set import IntervalSet
from headwater.algebra.ranges import Ranges
from headwater.algebra.site_state import FOREVER
from headwater.root.config import RootConfig
from headwater.root.pane_board import PaneBoard
from headwater.root.scoreboard import Scoreboard

NEVER_S = -1e18
LIFE_BITS = 32
"""Acknowledgements are counted from the number of the ledger's start, which is durable, followed by
so many zeros: those of a root that was started again are higher than those of its former process,
which relays remember. No clock has a say in it."""


class SpellingList:
    """The panes that need spelling out, in the order in which they were last spelled out.

    A pane that were apart and not in this order would never be listed and never be repaired, so
    the two are changed together, here alone.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, None] = {}
        """All of them; who waits longest comes first."""
        self._news: set[int] = set()
        """Those of which something has changed since they were last spelled out."""
        self.apart = IntervalSet()
        """All of them, as ranges."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, pane: int) -> None:
        """There is news of it; one that waits already keeps its place."""
        self._waiting.setdefault(pane)
        self._news.add(pane)
        self.apart.add(pane, pane)

    def drop(self, pane: int) -> None:
        self._waiting.pop(pane, None)
        self._news.discard(pane)
        self.apart.remove(pane, pane)

    def drop_below(self, pane: int) -> None:
        for first, last in list(self.apart.within(-FOREVER, pane - 1)):
            for one in range(first, last + 1):
                self.drop(one)

    def choose(self, count: int) -> tuple[list[int], list[int]]:
        """Those with news, the newest first; and others, who waits longest first.

        A quarter belongs to the latter: there may be news of newer panes in every
        acknowledgement, and a pane that is never spelled out is never repaired.
        """
        news_count = max(1, count - max(1, count // 4))
        news = sorted(self._news, reverse=True)[:news_count]
        chosen = set(news)
        others = (pane for pane in self._waiting if pane not in chosen)
        return news, list(islice(others, count - len(news)))

    def spelled(self, panes: Iterable[int]) -> None:
        """They go to the end. One that was chosen and found no room keeps its place."""
        for pane in panes:
            self._news.discard(pane)
            del self._waiting[pane]
            self._waiting[pane] = None

    def check(self) -> None:
        """What always holds; for tests."""
        assert self._news <= self._waiting.keys(), "what has news waits"
        waiting = IntervalSet((pane, pane) for pane in self._waiting)
        assert waiting.ranges() == self.apart.ranges(), "what is apart waits, and nothing else"


class AckCutter:
    """Keeps, for one query, which panes need spelling out."""

    def __init__(self, query: str, incarnation: int, config: RootConfig, *, start: int = 0) -> None:
        """``start`` counts the starts of the ledger's agent."""
        self._query = query
        self.incarnation = incarnation
        self._config = config
        self._held = IntervalSet()
        self._spelling = SpellingList()
        self._number = start << LIFE_BITS
        self._has_news = False
        self._cut_s = NEVER_S

    def rise(self, incarnation: int) -> None:
        """Under a life that sites hear, who have heard a higher one than ours was."""
        self.incarnation, self._has_news = incarnation, True

    def note(self, board: PaneBoard, *, expected: int) -> None:
        """Something on this board has changed."""
        self._has_news = True
        pane = board.pane
        if not expected & ~board.first_held() and not board.has_extras():
            self._held.add(pane, pane)
            self._spelling.drop(pane)
            return
        self._held.remove(pane, pane)
        if board.known:
            self._spelling.put(pane)

    def drop_below(self, pane: int) -> None:
        self._spelling.drop_below(pane)
        self._held.remove(-FOREVER, pane - 1)

    def next_deadline_s(self, *, owes_greetings: bool) -> float:
        has_cause = self._has_news or owes_greetings or self._spelling
        pause_s = self._config.ack_every_s if has_cause else self._config.ack_idle_s
        return self._cut_s + pause_s

    def cut(
        self,
        scoreboard: Scoreboard,
        *,
        done_through: int,
        sites_clock_s: float | None = None,
        late_s: float = 0.0,
        awake_share: float = 1.0,
        now_s: float,
    ) -> Acknowledgement:
        """A root that is busy spells out fewer panes, and so asks for fewer repairs."""
        self._cut_s, self._has_news = now_s, False
        self._number += 1
        count = max(1, int(self._config.panes_per_ack_max * awake_share))
        news, others = self._spelling.choose(count)
        chosen = [*others, *news] if self._number % 2 else [*news, *others]
        spelled, extras = self._spell(scoreboard.boards[pane] for pane in chosen)
        self._spelling.spelled(held.pane for held in spelled)
        held = self._held.ranges()[-self._config.ranges_per_ack_max :]
        is_cut_short = len(held) < len(self._held)
        first_listed = max(done_through, held[0][0]) if is_cut_short else done_through
        return Acknowledgement(
            query=self._query,
            root_incarnation=self.incarnation,
            number=self._number,
            done_through=done_through,
            held=held,
            panes=spelled,
            extra=extras,
            greetings=scoreboard.take_greetings(self._config.greetings_per_ack_max, now_s=now_s),
            listed=self._listed(first_listed, [pane.pane for pane in spelled]),
            sites_clock_s=sites_clock_s,
            late_s=late_s,
        )

    def _spell(
        self, boards: Iterable[PaneBoard]
    ) -> tuple[tuple[PaneHeld, ...], tuple[ExtraHeld, ...]]:
        held: list[PaneHeld] = []
        extras: list[ExtraHeld] = []
        for board in boards:
            more = list(board.extras())
            if held and len(extras) + len(more) > self._config.extras_per_ack_max:
                continue
            held.append(PaneHeld(board.pane, board.first_held()))
            extras += more
        return tuple(held), tuple(extras)

    def _listed(self, first: int, spelled: Iterable[int]) -> Ranges:
        """All panes but those that would have to be spelled out and are not, this time."""
        listed = IntervalSet(self._spelling.apart.gaps(first, FOREVER))
        for pane in spelled:
            listed.add(pane, pane)
        return listed.ranges()[-self._config.ranges_per_ack_max :]
