"""Cutting acknowledgements: telling sites what is held, without saying everything every time.

Panes that are held from every expected site are told as ranges, which costs next to nothing,
however many updates they have. The others are spelled out with a bitmap each, at most
``panes_per_ack_max`` in one acknowledgement: the newest with news, and in turn with them who waits
longest, with news and without. What is held in part costs more (``held_in_part``); panes that have
such are begun until there are ``extras_per_ack_max``, so what comes first always has room. Sites
take no word for lacking on a pane that is left out (``listed``). All that is said of single sites
goes into leaves, so that most links need to carry little of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import nlargest
from itertools import chain, zip_longest

from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.acknowledgement import (
    LIFE_BITS,
    Acknowledgement,
    PaneHeld,
    with_leaves,
)
from headwater.algebra.words.close_digest import Asked
from headwater.algebra.words.pause import Pause
from headwater.algebra.words.site_state import FOREVER
from headwater.root.config import RootConfig
from headwater.root.pane_board import PaneBoard
from headwater.root.said.held_in_part import HeldUpdates
from headwater.root.scoreboard import Scoreboard


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

    def choose(self, count: int, *, turn: int) -> list[int]:
        """In turn the newest with news, who waits longest with news, and who waits longest.

        How many of them find room is seen later, and may be one; so each of the three comes first
        in every third acknowledgement. What is newest is told soon, also where there is more news
        than room. News that came to an older pane is not passed over for newer ones, and what has
        none is told again: the last word may have been lost, and a pane that is never spelled out
        is never repaired.
        """
        with_news = (pane for pane in self._waiting if pane in self._news)
        orders = deque([nlargest(count, self._news), with_news, self._waiting])
        orders.rotate(-turn)
        chosen: dict[int, None] = {}
        for pane in chain.from_iterable(zip_longest(*orders)):
            if len(chosen) == count:
                break
            if pane is not None:
                chosen[pane] = None
        return list(chosen)

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


class AckMaker:
    """Keeps, for one query, which panes need spelling out."""

    def __init__(self, query: str, incarnation: int, config: RootConfig, *, start: int = 0) -> None:
        """``start`` counts the starts of the ledger's agent."""
        self._query = query
        self.incarnation = incarnation
        self._config = config
        self._held = IntervalSet()
        self._several = IntervalSet()
        """Panes with sites that have closed them with several updates."""
        self._spelling = SpellingList()
        self._number = start << LIFE_BITS
        self._has_news = False
        self._made_s = LONG_AGO_S

    def rise(self, incarnation: int) -> None:
        """Under a life that sites hear, who have heard a higher one than ours was."""
        self.incarnation, self._has_news = incarnation, True

    def tell_soon(self) -> None:
        """Something that the next one says is news, though no board has changed."""
        self._has_news = True

    def note(self, board: PaneBoard, told: HeldUpdates, *, expected: int) -> None:
        """Something on this board has changed."""
        self._has_news = True
        pane = board.pane
        if told.is_of_several:
            self._several.add(pane, pane)
        else:
            self._several.remove(pane, pane)
        if not expected & ~board.first_held() and not told.count:
            self._hold(pane)
            return
        self._held.remove(pane, pane)
        if board.known:
            self._spelling.put(pane)

    def _hold(self, pane: int) -> None:
        self._held.add(pane, pane)
        self._spelling.drop(pane)

    def drop_below(self, pane: int) -> None:
        self._spelling.drop_below(pane)
        for panes in (self._held, self._several):
            panes.remove(-FOREVER, pane - 1)

    @property
    def next_number(self) -> int:
        """Of the acknowledgement that is made next."""
        return self._number + 1

    def next_deadline_s(self, *, owes_greetings: bool) -> float:
        has_cause = self._has_news or owes_greetings or self._spelling
        pause_s = self._config.ack_every_s if has_cause else self._config.ack_idle_s
        return self._made_s + pause_s

    def make(
        self,
        scoreboard: Scoreboard,
        *,
        done_through: int,
        awaited_from: int | None = None,
        sites_clock_s: float | None = None,
        late_s: float = 0.0,
        awake_share: float = 1.0,
        agreed: tuple[PaneHeld, ...] = (),
        asked: tuple[Asked, ...] = (),
        wanted: tuple[PaneHeld, ...] = (),
        shares: tuple[ShareTable, ...] = (),
        travel_s: float | None = None,
        unwanted: Ranges = (),
        largest: tuple[TopRequest, ...] = (),
        pause: Pause | None = None,
        exempt_through: int = FOREVER,
        now_s: float,
    ) -> Acknowledgement:
        """A root that is busy spells out fewer panes, and so asks for fewer repairs."""
        self._made_s, self._has_news = now_s, False
        self._number += 1
        count = max(1, int(self._config.panes_per_ack_max * awake_share))
        chosen = self._spelling.choose(count, turn=self._number)
        spelled, told = self._spell(scoreboard, chosen)
        self._spelling.spelled(held.pane for held in spelled)
        held = self._held.ranges()[-self._config.ranges_per_ack_max :]
        is_shortened = len(held) < len(self._held)
        first_listed = max(done_through, held[0][0]) if is_shortened else done_through
        head = Acknowledgement(
            query=self._query,
            root_incarnation=self.incarnation,
            number=self._number,
            done_through=done_through,
            held=held,
            listed=self._listed(first_listed),
            sites_clock_s=sites_clock_s,
            clock_s=now_s,
            late_s=late_s,
            agreed=agreed,
            asked=asked,
            wanted=wanted,
            awaited_from=awaited_from,
            tells_several=bool(self._several),
            shares=shares,
            travel_s=travel_s,
            unwanted=unwanted[-self._config.ranges_per_ack_max :],
            largest=largest,
            pause=pause,
            exempt_through=exempt_through,
        )
        return with_leaves(
            head,
            panes=spelled,
            extra=[extra for one in told for extra in one.extras],
            rounds=[rounds for one in told for rounds in one.rounds],
            greetings=scoreboard.take_greetings(self._config.greetings_per_ack_max, now_s=now_s),
        )

    def _spell(
        self, scoreboard: Scoreboard, panes: Iterable[int]
    ) -> tuple[tuple[PaneHeld, ...], list[HeldUpdates]]:
        held: list[PaneHeld] = []
        found: list[HeldUpdates] = []
        count = 0
        for board in (scoreboard.boards[pane] for pane in panes):
            told = scoreboard.held_in_part(board)
            if not told.count and not scoreboard.expected & ~board.first_held():
                self._hold(board.pane)  # what was spelled out to its sites, they read in bits now
                continue
            if told.count and count >= self._config.extras_per_ack_max:
                continue
            held.append(PaneHeld(board.pane, board.first_held()))
            found.append(told)
            count += told.count
        return tuple(held), found

    def _listed(self, first: int) -> Ranges:
        """All panes but those that would have to be spelled out. What is, this time, comes on top:
        it must be listed also where there is no room for older ranges."""
        gaps = IntervalSet(self._spelling.apart.gaps(first, FOREVER))
        return gaps.ranges()[-self._config.ranges_per_ack_max :]
