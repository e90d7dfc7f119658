"""Which digests of its closes a site tells, and which closes it was asked for one by one.

Blocks of ``digest_panes`` are told as soon as they are closed, and the block that is not full up to
where the site has sealed, so that no answer waits for a block to fill. What the root has agreed to
is not told again. A stretch without updates adds no block: a range ends at the end of a block that
has some, or at the end of all that is told. At the end of a finite input all is one range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headwater.algebra.words.close_digest import BlockDigest, Close, Closes, digest_of
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.config import EdgeConfig

ClosesOf = Callable[[int, int], Iterator[Close]]
"""Called with the first and last pane of a range."""


class CloseWords:
    """One query at one site."""

    def __init__(self, config: EdgeConfig, *, is_finite: bool) -> None:
        self._config = config
        self._is_finite = is_finite
        self.agreed_through = -FOREVER
        """The root has agreed to all below."""
        self.closed_through = -FOREVER
        """Panes below are told."""
        self._asked: dict[tuple[int, int], int] = {}
        """(first, last) -> the number of the acknowledgement that asked. Where ``last`` is below
        ``first``, the root wanted a pane that was not closed."""
        self._answered: int | None = None
        """The number of the state that answers all that was asked."""
        self._told: tuple[int, int] | None = None
        """(``closed_through``, the number of the first state that told so far)."""
        self._numbered: int | None = None
        """``closed_through`` of the newest state of this process. How far those of a former one
        reached is not known."""
        self._firsts: frozenset[int] = frozenset()
        """Where the ranges begin that were told last, and where they end all together."""
        self._told_through = -FOREVER

    def close(
        self, lowest: int, *, closed_through: int, sealed_through: int, made_through: int
    ) -> bool:
        """How far the site has closed and sealed, and how far it knows the updates of what it
        closed; whether there is more to tell than before, from ``lowest`` on."""
        panes = self._config.digest_panes
        whole = -FOREVER if self._is_finite else closed_through // panes * panes
        through = min(max(whole, sealed_through), closed_through, made_through)
        if through <= self.closed_through:
            return False
        self.closed_through = through
        return through > max(lowest, self.agreed_through)

    def numbered(self, number: int) -> None:
        """The state has this number from now on."""
        if self._numbered is not None and self.closed_through > self._numbered:
            self._told = self.closed_through, number
        self._numbered = self.closed_through
        if self._asked and self._answered is None:
            self._answered = number

    def agree(self, through: int) -> bool:
        """The root's word; whether something is left that must be told anew, since what was told
        begins within what is agreed to, or did not reach so far."""
        if through <= self.agreed_through:
            return False
        self.agreed_through = through
        if self.closed_through <= through:
            return False
        return through not in self._firsts or self._told_through < self.closed_through

    def heard_number(self) -> int:
        """The number of a state that the root must have heard to have agreed to so much."""
        told = self._told
        return 0 if told is None or told[0] > self.agreed_through else told[1]

    def greeted(self, number: int) -> None:
        """The root has the state of this number, and with it what was asked for."""
        if self._answered is not None and number >= self._answered:
            self._asked.clear()
            self._answered = None

    def forget_agreement(self) -> None:
        """Another root, or another life: nothing is agreed."""
        self.agreed_through = -FOREVER
        self._asked.clear()
        self._answered = self._told = None

    def ask(self, first: int, last: int, *, number: int) -> bool:
        """The root asks for closes; whether that is news."""
        return last >= first and self._put(first, last, number)

    def wanted_open(self, pane: int, *, number: int) -> bool:
        """The root wants the updates of a pane that is not closed; whether that is news."""
        return self._put(pane, pane - 1, number)

    def _put(self, first: int, last: int, number: int) -> bool:
        if (first, last) in self._asked:
            return False
        while len(self._asked) >= self._config.asked_max:
            del self._asked[next(iter(self._asked))]
        self._asked[first, last] = number
        self._answered = None
        return True

    def digests(
        self, lowest: int, incarnation: int, closes_of: ClosesOf
    ) -> tuple[BlockDigest, ...]:
        """The oldest come first where there are more than may be told."""
        found = self._digests(max(lowest, self.agreed_through), incarnation, closes_of)
        self._firsts = frozenset(one.first for one in found)
        self._told_through = found[-1].last + 1 if found else self.closed_through
        return found

    def _digests(
        self, first: int, incarnation: int, closes_of: ClosesOf
    ) -> tuple[BlockDigest, ...]:
        if first >= self.closed_through:
            return ()
        found: list[BlockDigest] = []
        block: list[Close] = []
        end = FOREVER
        for close in closes_of(first, self.closed_through - 1):
            if block and close[0] >= end:
                found.append(
                    BlockDigest(first=first, last=end - 1, digest=digest_of(incarnation, block))
                )
                first, block = end, []
                if len(found) == self._config.digests_told_max:
                    return tuple(found)
            if not block and not self._is_finite:
                end = (close[0] // self._config.digest_panes + 1) * self._config.digest_panes
            block.append(close)
        last = self.closed_through - 1
        return (*found, BlockDigest(first=first, last=last, digest=digest_of(incarnation, block)))

    def answers(self, lowest: int, closes_of: ClosesOf, *, open_from: int) -> tuple[Closes, ...]:
        """Of a range with more closes than may be told, those of its beginning. ``open_from``: no
        pane from there on is closed."""
        found = []
        for (first, last), number in self._asked.items():
            if last < first:
                if first >= open_from:
                    found.append(Closes.not_yet(first, number))
            elif last >= lowest and first < self.closed_through:
                through = min(last, self.closed_through - 1)
                found.append(self._answer(max(first, lowest), through, number, closes_of))
        return tuple(found)

    def _answer(self, first: int, last: int, number: int, closes_of: ClosesOf) -> Closes:
        closes: list[Close] = []
        for close in closes_of(first, last):
            if len(closes) == self._config.closes_told_max:
                return Closes(first=first, last=close[0] - 1, asked=number, closes=tuple(closes))
            closes.append(close)
        return Closes(first=first, last=last, asked=number, closes=tuple(closes))
