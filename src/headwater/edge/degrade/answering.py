"""A site's answers where the root looks for the largest groups of a pane: steps 2 and 3.

Step 1 is the close: of a pane that is closed at the level ``top(k, column)`` the k largest groups
are sent, and the others lie in the cube as what is owed lies (``algebra/top/steps``). What the root
then asks for comes with its acknowledgements. An answer is a further update, with what is kept back
from then on; so it is acknowledged, repaired and restored as all updates are, and a request that
was answered is known by that (``Remainder.asked``), also after a crash.

What is asked of a pane that is gone, or sealed, is declined: the root goes on without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from headwater.algebra.top.request import TOP_REQUESTS_MAX, TopRequest
from headwater.edge.outputs import TopAnswer
from headwater.edge.query_state import News, QueryState
from headwater.plan.notice import Notice

REQUESTS_MAX = 4 * TOP_REQUESTS_MAX
"""That wait to be answered, and that are known to have been declined: the oldest give way."""


class Requests(msgspec.Struct, frozen=True):
    """Of one query, met in this process, each counted once as long as it is among the newest."""

    answered: int = 0
    declined: int = 0

    def with_more(self, *, answered: int = 0, declined: int = 0) -> Requests:
        return Requests(self.answered + answered, self.declined + declined)


class Answering:
    """Of one query at one site."""

    def __init__(self, state: QueryState) -> None:
        self._state = state
        self._asked: dict[int, TopRequest] = {}
        self._until_s: dict[int, float] = {}
        """Panes that were closed at this level -> until when the root may ask: seals wait."""
        self._declined: dict[int, int] = {}
        """Pane -> the newest request that was declined."""
        self._under_way = frozenset[int]()
        self.requests = Requests()

    def closed(self, pane: int, *, now_s: float) -> None:
        """Something was kept back of it; the root may ask for a part of that."""
        if self._has_top(pane):
            hold_s = self._state.config.top_hold_s
            self._until_s[pane] = self._until_s.get(pane, now_s + hold_s)

    def holds_up(self, *, now_s: float) -> list[int]:
        """Panes that are not to be sealed yet."""
        for pane in [pane for pane, until_s in self._until_s.items() if until_s <= now_s]:
            del self._until_s[pane]
        return [*self._until_s, *self._asked]

    # Requests

    def hear(self, requests: Sequence[TopRequest]) -> list[Notice]:
        """What an acknowledgement asks for."""
        told = list[Notice]()
        for asked in requests:
            if self._is_over(asked.pane):
                told += self._decline(asked)
            elif self._is_due(asked):
                self._asked.pop(asked.pane, None)
                self._asked[asked.pane] = asked
                self._state.hear(News.WORK)
        while len(self._asked) > REQUESTS_MAX:
            del self._asked[next(iter(self._asked))]
        return told

    def _has_top(self, pane: int) -> bool:
        tolerance = self._state.settings.at(pane).tolerance
        return tolerance is not None and tolerance.top is not None

    def _is_over(self, pane: int) -> bool:
        """Nothing more of it can be sent, though something may have been kept back."""
        state, record = self._state, self._state.record
        is_open = pane >= record.closed_through
        is_ours = record.first_pane is not None and pane >= record.first_pane
        is_gone = pane < max(record.lowest(), record.sealed_through) or pane in state.declined
        return is_ours and not is_open and is_gone

    def _is_due(self, asked: TopRequest) -> bool:
        state, book, pane = self._state, self._state.book, asked.pane
        told_with, kept = book.withheld.get(pane, (0, ()))
        has_rest = bool(kept) and book.updates_of(pane) == told_with
        if not has_rest or pane in book.making or pane in state.unwanted:
            return False
        former = self._asked.get(pane)
        newest = max(kept[0].asked, 0 if former is None else former.number)
        return self._has_top(pane) and asked.number > newest

    def _decline(self, asked: TopRequest) -> Iterator[Notice]:
        if self._declined.get(asked.pane, -1) >= asked.number:
            return
        self._declined[asked.pane] = asked.number
        while len(self._declined) > REQUESTS_MAX:
            del self._declined[next(iter(self._declined))]
        self.requests = self.requests.with_more(declined=1)
        text = f"pane {asked.pane} is sealed or gone; what the root asks for of it is declined"
        yield Notice("edge", "request declined", f"{self._state.id}: {text}")

    # Answers

    def take(self, count_max: int, *, but: Collection[int]) -> tuple[TopAnswer, ...]:
        """Those that are made now. A pane of which something else is made answers the next time it
        is asked, if anything is left to answer with."""
        if not self._asked:
            return ()
        chosen = [pane for pane in self._asked if pane not in but][: max(0, count_max)]
        asked = [self._asked.pop(pane) for pane in chosen]
        for pane in but:
            self._asked.pop(pane, None)
        return tuple(
            TopAnswer(one, self._of(one.pane)) for one in asked if not self._is_over(one.pane)
        )

    def _of(self, pane: int) -> tuple[float, ...]:
        _, kept = self._state.book.withheld.get(pane, (0, ()))
        return tuple(one.of for one in kept)

    def begin(self, answers: Sequence[TopAnswer]) -> None:
        self._under_way = frozenset(one.asked.pane for one in answers)
        self.requests = self.requests.with_more(answered=len(answers))

    def is_answer(self, pane: int) -> bool:
        """Of what is being made."""
        return pane in self._under_way
