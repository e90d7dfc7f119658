"""Whether what the root holds is what the sites have closed: digests compared, closes asked for.

A merged summary's closes are its carriers' word. Each site signs digests of its closes, range by
range (``algebra/words/close_digest.py``), and here they are held against the boards::

    digest in, and equal to what is held ──────────────────────► agreed
    it differs, or something of it is not in ── summary_life_s ─► asked for, one by one
    the closes in: as held ─► agreed    fewer held ─► awaited    others held ─► *disputed*

A disputed pane is neither exact nor final. Of each site all panes below ``agreed_through`` are
compared: equal, awaited, or known to be disputed. What carriers bring for such a pane afterwards is
*doubted*, and asked about, until the site's own word says the same.

An answer proves something only of what the root held when it asked: what came since the site may
have made since. So an ask remembers what was held.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from enum import Enum, auto

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets import bitset
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.acknowledgement import PaneHeld
from headwater.algebra.words.close_digest import Asked, BlockDigest, Close, Closes, digest_of
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.root.config import RootConfig
from headwater.root.pane_board import Holding, PaneBoard
from headwater.root.scoreboard import Scoreboard

AGREED_TOLD_TIMES = 3
"""In so many acknowledgements a site is told that the root has agreed: each goes down another tree.
A site that hears none of them repeats its state, and is told again."""

Held = tuple[int, Ranges, int | None]
"""(incarnation, updates, close) of one site's pane."""


class _Match(Enum):
    AGREES = auto()
    LACKS = auto()
    """The site has more than the root has heard of."""
    DIFFERS = auto()
    """The root holds what the site has not closed so."""


class _Life:
    """What is compared of one life of a site."""

    def __init__(self, incarnation: int, through: int) -> None:
        self.incarnation = incarnation
        self.through = through
        self.pending: tuple[BlockDigest, ...] = ()
        self.pending_s = 0.0
        """Since when the first of them waits."""
        self.doubted: dict[int, float] = {}
        """Panes that carriers changed after they were compared, and since when."""
        self.sure_number = 0
        """While there are such: the number below that of the first summary that did it."""
        self.ask: _Ask | None = None


class _Ask:
    """A question that is under way, and what was held when it was put first."""

    def __init__(self, first: int, last: int, number: int, held: dict[int, Held]) -> None:
        self.first = first
        self.last = last
        self.number = number
        self.held = held


class Agreements:
    """Of all sites of one query. ``changed`` names the lives whose agreement is to be kept."""

    def __init__(self, scoreboard: Scoreboard, config: RootConfig) -> None:
        self._scoreboard = scoreboard
        self._table = scoreboard.table
        self._config = config
        self._lives: dict[int, _Life] = {}
        self._throughs = Counter({-FOREVER: len(self._table.names)})
        self._due: dict[int, None] = {}
        """Sites whose next digest may be equal now."""
        self._waiting = 0
        """Sites with a digest that was not, as a bitset."""
        self._doubting = 0
        """Sites with panes in doubt."""
        self._asking = 0
        """Sites that are asked something."""
        self._asked_last = -1
        """The site that was asked last: those after it come first in the next acknowledgement."""
        self._tell: dict[int, int] = {}
        self._number = 0
        """Of the newest kept summary."""
        self.changed: dict[int, None] = {}
        self.disputed_now: dict[tuple[int, int], None] = {}
        """(pane, site) that have become disputed since they were last taken."""
        self.touched: dict[int, PaneBoard] = {}
        """Boards that a site's closes have changed."""

    @property
    def through(self) -> int:
        """Panes below are compared with the word of every expected site."""
        return min(self._throughs, default=FOREVER)

    @property
    def has_news(self) -> bool:
        return bool(self._tell or self._asking)

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    def kept(self, ordinal: int) -> tuple[int, int, tuple[Close, ...], int]:
        """(incarnation, through, disputed closes, sure number) of the site's present life, for the
        ledger."""
        life = self._lives[ordinal]
        books = (self._scoreboard.disputed, self._scoreboard.lacked)
        mine = {pane: of[ordinal] for book in books for pane, of in book.items() if ordinal in of}
        sure_number = life.sure_number if life.doubted else self._number
        return life.incarnation, life.through, tuple(sorted(mine.items())), sure_number

    def restore(self, state: SiteState, through: int, disputed: tuple[Close, ...]) -> None:
        """What a former process had compared, when the boards are as they were."""
        life = self._life_of(state)
        self._advance(state.ordinal, through)
        for pane, updates in disputed:
            board = self._scoreboard.open(pane)
            match = _matched(board.holding_of(state.ordinal, life.incarnation), updates)
            if match is _Match.DIFFERS:
                self._dispute(state.ordinal, board, updates)
            elif match is _Match.LACKS:
                self._await(state.ordinal, life, board, updates)

    # States

    def restore_doubts(
        self, pane: int, coverage: Coverage, *, number: int, sure: dict[int, int], now_s: float
    ) -> None:
        """A summary that a former process had let in; ``sure`` are the sites' sure numbers."""
        self._number = max(self._number, number)
        sites = coverage.sites
        if sites & (sites - 1):
            later = bitset.of(o for o in bitset.members(sites) if number > sure.get(o, number))
            self._doubt(pane, later, number=number, now_s=now_s)

    def hear(self, state: SiteState, *, now_s: float) -> None:
        """The site's newest state, which the scoreboard has heard."""
        ordinal, life = state.ordinal, self._life_of(state)
        pending = tuple(one for one in state.digests if one.last >= life.through)
        if not life.pending or not pending or pending[0].first != life.pending[0].first:
            life.pending_s = now_s  # a range that grows with each seal has waited all the same
        life.pending = pending
        if state.digests and state.digests[0].first < life.through:
            self._tell[ordinal] = AGREED_TOLD_TIMES
        for closes in state.closes:
            self._answered(ordinal, life, closes, now_s=now_s)
        self._clear_doubted(ordinal, life)
        if life.pending:
            self._due[ordinal] = None

    def tell_again(self, ordinal: int) -> None:
        """The site repeats a state that was heard."""
        if ordinal in self._lives:
            self._tell[ordinal] = AGREED_TOLD_TIMES

    def _life_of(self, state: SiteState) -> _Life:
        life = self._lives.get(state.ordinal)
        if life is None or life.incarnation != state.incarnation:
            self._forget(state.ordinal)
            life = self._lives[state.ordinal] = _Life(state.incarnation, -FOREVER)
        first = FOREVER if state.first_pane is None else state.first_pane
        self._move(state.ordinal, life, max(first, life.through))
        return life

    def _forget(self, ordinal: int) -> None:
        """A life that is over says nothing more; what is disputed of it stays so."""
        life = self._lives.pop(ordinal, None)
        if life is not None:
            self._count(life.through, -FOREVER)
            self._due.pop(ordinal, None)
            for pane in list(life.doubted):
                self._undoubt(ordinal, life, pane)
            self._waiting &= ~(1 << ordinal)
            self._asking &= ~(1 << ordinal)

    def _advance(self, ordinal: int, through: int) -> None:
        life = self._lives[ordinal]
        if through > life.through:
            self._move(ordinal, life, through)
            self.changed[ordinal] = None
            self._tell[ordinal] = AGREED_TOLD_TIMES

    def _move(self, ordinal: int, life: _Life, through: int) -> None:
        self._count(life.through, through)
        life.through = self._table.views[ordinal].agreed_through = through
        life.pending = tuple(one for one in life.pending if one.last >= through)

    def _count(self, former: int, later: int) -> None:
        self._throughs[former] -= 1
        self._throughs[later] += 1
        if not self._throughs[former]:
            del self._throughs[former]
        self._scoreboard.agreed_through = self.through

    # Digests

    def held_changed(self, pane: int, coverage: Coverage, *, number: int, now_s: float) -> None:
        """A summary was let in, with this number. Of several sites it is its carriers' word."""
        sites = coverage.sites
        self._number = max(self._number, number)
        for ordinal in bitset.members(sites & self._waiting):
            pending = self._lives[ordinal].pending
            if pending and pending[0].first <= pane <= pending[0].last:
                self._due[ordinal] = None
        if sites & (sites - 1) and pane < max(self._throughs, default=-FOREVER):
            self._doubt(pane, sites, number=number, now_s=now_s)

    def _doubt(self, pane: int, sites: int, *, number: int, now_s: float) -> None:
        for ordinal in bitset.members(sites):
            life = self._lives.get(ordinal)
            if life is not None and pane < life.through and not self._is_said(ordinal, life, pane):
                if not life.doubted:
                    life.sure_number = number - 1
                life.doubted.setdefault(pane, now_s)
                self._doubting |= 1 << ordinal
                self._scoreboard.doubted[pane] = (
                    self._scoreboard.doubted.get(pane, 0) | 1 << ordinal
                )
                self._clear_doubted(ordinal, life)

    def _is_said(self, ordinal: int, life: _Life, pane: int) -> bool:
        """Whether what is held now is what the site has said: it closed the pane with no update,
        as its digest did not name it, or it has told how many it has. Of what it has declined it
        says nothing more, and nobody claims that it is exact."""
        if pane in self._table.views[ordinal].declined:
            return True
        holding = self._scoreboard.open(pane).holding_of(ordinal, life.incarnation)
        if holding is None or (holding.closed_at == 0 and not holding.updates):
            return True
        told = self._scoreboard.lacked.get(pane, {}).get(ordinal)
        return holding.is_complete and holding.closed_at == told

    def compare(self, *, done_through: int, now_s: float) -> None:
        """A bounded number of sites whose digests may be equal to what is held by now."""
        for ordinal in list(self._due)[: self._config.compares_per_tick_max]:
            del self._due[ordinal]
            self._compare(ordinal, done_through=done_through, now_s=now_s)

    def _compare(self, ordinal: int, *, done_through: int, now_s: float) -> None:
        life = self._lives[ordinal]
        for one in life.pending:
            if one.first > max(life.through, done_through):
                break
            if one.first < done_through:
                self._advance(ordinal, min(done_through, one.last + 1))
                break
            if not self._is_equal(ordinal, life, one):
                break
            self._advance(ordinal, one.last + 1)
            life.pending_s = now_s
        self._waiting &= ~(1 << ordinal)
        if life.pending:
            self._waiting |= 1 << ordinal

    def _is_equal(self, ordinal: int, life: _Life, told: BlockDigest) -> bool:
        held = list(self._held_closes(ordinal, life, told.first, told.last))
        return digest_of(life.incarnation, held) == told.digest

    def _held_closes(self, ordinal: int, life: _Life, first: int, last: int) -> Iterator[Close]:
        """What is held of this life as a site would tell it. What is not in wholly counts as far as
        it is, and makes the digest another one."""
        bit, declined = 1 << ordinal, self._table.views[ordinal].declined
        for board in self._scoreboard.between(first, last):
            updates = 1
            if not board.whole & bit:
                holding = board.holding_of(ordinal, life.incarnation)
                if holding is None or holding.incarnation != life.incarnation:
                    continue
                closed_at = holding.closed_at
                updates = -1 if closed_at is None or not holding.is_complete else closed_at
            if updates and board.pane not in declined:
                yield board.pane, updates

    # Asking

    def asked(self, *, number: int, done_through: int, now_s: float) -> tuple[Asked, ...]:
        """The questions of the acknowledgement with this number, in turn: sites that do not answer
        keep nobody else from being asked."""
        found: list[Asked] = []
        sites = list(bitset.members(self._waiting | self._doubting | self._asking))
        start = bisect_right(sites, self._asked_last)
        for ordinal in sites[start:] + sites[:start]:
            if len(found) == self._config.asks_per_ack_max:
                break
            life = self._lives[ordinal]
            if life.ask is None:
                self._put(ordinal, life, number=number, done_through=done_through, now_s=now_s)
            if life.ask is not None:
                found.append(Asked(ordinal=ordinal, first=life.ask.first, last=life.ask.last))
                self._asked_last = ordinal
        return tuple(found)

    def _put(
        self, ordinal: int, life: _Life, *, number: int, done_through: int, now_s: float
    ) -> None:
        """Before ``summary_life_s`` is over what differs may still be under way. All that is
        doubted is one question: a liar spoils many panes, and a question takes an
        acknowledgement."""
        before_s = now_s - self._config.summary_life_s
        wanted: tuple[int, int] | None = None
        if life.pending and self._waiting >> ordinal & 1 and life.pending_s < before_s:
            wanted = max(life.pending[0].first, done_through), life.pending[0].last
        else:
            doubted = [pane for pane, since_s in life.doubted.items() if since_s < before_s]
            wanted = (min(doubted), max(doubted)) if doubted else None
        if wanted is not None and wanted[0] <= wanted[1]:
            boards = self._scoreboard.between(*wanted)
            held = {b.pane: _held(b.holding_of(ordinal, life.incarnation)) for b in boards}
            life.ask = _Ask(*wanted, number, {p: h for p, h in held.items() if h is not None})
            self._asking |= 1 << ordinal

    def _answered(self, ordinal: int, life: _Life, told: Closes, *, now_s: float) -> None:
        ask = life.ask
        if told.is_not_yet:
            return
        if ask is None or told.asked < ask.number or not ask.first <= told.last <= ask.last:
            return
        self._end_ask(ordinal, life)
        first = max(ask.first, told.first)
        closes = {pane: updates for pane, updates in told.closes if updates > 0}
        panes = {board.pane for board in self._scoreboard.between(first, told.last)}
        for pane in sorted(panes | closes.keys()):
            if not first <= pane <= told.last:
                continue
            if not self._take_close(ordinal, life, pane, closes.get(pane, 0), ask):
                life.pending_s = now_s
                return
            self._undoubt(ordinal, life, pane)
        if ask.first <= life.through:
            self._advance(ordinal, told.last + 1)
            life.pending_s = now_s

    def _end_ask(self, ordinal: int, life: _Life) -> None:
        life.ask = None
        self._asking &= ~(1 << ordinal)

    def _take_close(self, ordinal: int, life: _Life, pane: int, updates: int, ask: _Ask) -> bool:
        """One close that the site has signed; False: it can't be compared yet."""
        if pane in self._table.views[ordinal].declined:
            return True
        board = self._scoreboard.open(pane)
        holding = board.holding_of(ordinal, life.incarnation)
        if holding is not None and holding.incarnation != life.incarnation:
            if holding.is_bound:
                return True
            holding = None
        if board.is_frozen and (holding is None or (holding.closed_at or 0) <= updates):
            return True  # what came after a final answer is not held, and nobody misses it
        match = _matched(holding, updates)
        if match is _Match.DIFFERS:
            return _held(holding) == ask.held.get(pane) and self._dispute(ordinal, board, updates)
        if match is _Match.LACKS:
            self._await(ordinal, life, board, updates)
        return True

    def _await(self, ordinal: int, life: _Life, board: PaneBoard, updates: int) -> None:
        """The site has closed the pane with so many updates, and not all are held. It may believe
        that they are: so it is asked for them."""
        board.add_part(ordinal, Holding(life.incarnation, (), updates), life.incarnation)
        self.touched[board.pane] = board
        self._scoreboard.lacked.setdefault(board.pane, {})[ordinal] = updates
        self.changed[ordinal] = None

    def _dispute(self, ordinal: int, board: PaneBoard, updates: int) -> bool:
        """False: there is no room to remember it, so the site's panes stay uncompared."""
        disputed = self._scoreboard.disputed
        if board.pane not in disputed and len(disputed) >= self._config.disputes_max:
            return False
        disputed.setdefault(board.pane, {})[ordinal] = updates
        self.changed[ordinal] = None
        self.disputed_now[board.pane, ordinal] = None
        self.touched[board.pane] = board
        return True

    def _clear_doubted(self, ordinal: int, life: _Life) -> None:
        """The site's state tells how many updates some panes have, which is its own word."""
        counts, declined = self._table.views[ordinal].counts, self._table.views[ordinal].declined
        for pane in [pane for pane in life.doubted if pane in declined]:
            self._undoubt(ordinal, life, pane)
        for pane in [pane for pane in life.doubted if pane in counts]:
            board = self._scoreboard.boards.get(pane)
            holding = None if board is None else board.holding_of(ordinal, life.incarnation)
            if _matched(holding, counts[pane]) is not _Match.DIFFERS:
                self._undoubt(ordinal, life, pane)

    def _undoubt(self, ordinal: int, life: _Life, pane: int) -> None:
        if life.doubted.pop(pane, None) is None:
            return
        if not life.doubted:
            self._doubting &= ~(1 << ordinal)
        left = self._scoreboard.doubted.get(pane, 0) & ~(1 << ordinal)
        if left:
            self._scoreboard.doubted[pane] = left
        else:
            self._scoreboard.doubted.pop(pane, None)
        board = self._scoreboard.boards.get(pane)
        if board is not None:
            self.touched[pane] = board

    # Disputes

    def clear(self, pane: int) -> None:
        """The pane's board was made anew: what is as its sites have said is disputed no more, nor
        is what a site has declined since, of which nothing else is held: it has that no more."""
        disputed = self._scoreboard.disputed.get(pane, {})
        board = self._scoreboard.open(pane)
        for ordinal, updates in list(disputed.items()):
            view = self._table.views[ordinal]
            said = max(updates, view.counts.get(pane, 0))
            holding = board.holding_of(ordinal, self._table.present(ordinal))
            match = _matched(holding, said)
            if match is _Match.AGREES or (match is _Match.LACKS and pane in view.declined):
                del disputed[ordinal]
                self.changed[ordinal] = None
        if not disputed:
            self._scoreboard.disputed.pop(pane, None)

    def drop_below(self, pane: int) -> None:
        for known in (self._scoreboard.disputed, self._scoreboard.doubted, self._scoreboard.lacked):
            for one in [one for one in known if one < pane]:
                del known[one]
        for ordinal in bitset.members(self._doubting | self._asking):
            life = self._lives[ordinal]
            for one in [one for one in life.doubted if one < pane]:
                self._undoubt(ordinal, life, one)
            if life.ask is not None and life.ask.last < pane:
                self._end_ask(ordinal, life)

    # What acknowledgements tell

    def take_told(self) -> tuple[PaneHeld, ...]:
        """Sites that the root has agreed with lately, and how far: most have come equally far."""
        sites: Counter[int] = Counter()
        for ordinal in self._tell:
            sites[self._lives[ordinal].through] |= 1 << ordinal
        common = sorted(sites.items(), key=lambda one: -one[1].bit_count())
        told = common[: self._config.agreed_per_ack_max]
        for _, named in told:
            for ordinal in bitset.members(named):
                self._tell[ordinal] -= 1
                if not self._tell[ordinal]:
                    del self._tell[ordinal]
        return tuple(PaneHeld(through, named) for through, named in told if through > -FOREVER)


def _held(holding: Holding | None) -> Held | None:
    return None if holding is None else holding.as_tuple()


def _matched(holding: Holding | None, updates: int) -> _Match:
    """What is held of a site's pane, and the number of updates that it has signed."""
    if holding is None:
        return _Match.LACKS if updates else _Match.AGREES
    last = holding.updates[-1][1] if holding.updates else 0
    closed_at = holding.closed_at
    if last > updates or (closed_at is not None and closed_at > updates):
        return _Match.DIFFERS
    if holding.is_complete:
        return _Match.AGREES if closed_at == updates else _Match.DIFFERS
    return _Match.LACKS
