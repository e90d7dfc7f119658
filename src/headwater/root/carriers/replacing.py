"""Replacing what carriers brought by what sites say themselves, where the two contradict.

A kept summary (a *piece*) can't be taken apart: if one site in it is disputed, the whole of it is
its carriers' word. It goes on counting until the own updates of all its sites are in, alone and
signed, and is then replaced by them in one step; so no answer loses anything meanwhile, and a site
that is away takes nothing with it. Only of a site that has declined the pane itself (its disk was
lost, say) nothing is awaited: what a liar has spoilt by naming it can't come again; nor of one that
says that it has not closed the pane yet, which a liar has closed for it. Pieces of one pane that
have a site in common are replaced together.

So are pieces of which relays have dropped groups, where all is to come in the end: only the sites
have what was dropped. There nobody has lied, so what a piece has is never given up for less: where
one of its sites can't send its own any more it stays, and so does what is said of it.

There is room for some panes at a time. One whose sites stay away gives it up after a while, if
another waits.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.coverage import FIRST, Coverage
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.summary import Merger, Summary
from headwater.algebra.words.acknowledgement import PaneHeld
from headwater.algebra.words.site_state import SiteState
from headwater.root.config import RootConfig
from headwater.root.scoreboard import Scoreboard


class Piece(msgspec.Struct, frozen=True):
    number: int
    coverage: Coverage
    has_rows: bool


class Pieces:
    """What is kept of each pane, in the order of numbers. Bounded: of panes whose pieces are
    forgotten a dispute lasts as long as the pane does."""

    def __init__(self, config: RootConfig) -> None:
        self._max = config.pieces_max
        self._by_pane: dict[int, list[Piece]] = {}
        self._forgotten: set[int] = set()
        """What has come of them since is not all of them."""
        self._count = 0

    def add(self, pane: int, piece: Piece) -> None:
        self._by_pane.setdefault(pane, []).append(piece)
        self._count += 1
        while self._count > self._max:
            oldest = next(iter(self._by_pane))
            self.drop(oldest)
            self._forgotten.add(oldest)

    def drop(self, pane: int) -> None:
        self._count -= len(self._by_pane.pop(pane, ()))

    def drop_below(self, pane: int) -> None:
        for one in [one for one in self._by_pane if one < pane]:
            self.drop(one)
        self._forgotten = {one for one in self._forgotten if one >= pane}

    def of(self, pane: int) -> list[Piece]:
        return list(self._by_pane.get(pane, ()))

    def all_of(self, pane: int) -> list[Piece]:
        """Nothing where some of it is forgotten."""
        return [] if pane in self._forgotten else self.of(pane)

    def put(self, pane: int, pieces: list[Piece]) -> None:
        """These in the place of all that was there."""
        self._forgotten.discard(pane)
        self._count += len(pieces) - len(self._by_pane.get(pane, ()))
        self._by_pane[pane] = pieces


class Bench:
    """The own updates of the sites of one pane's disputed pieces, as far as they are in."""

    def __init__(self, pieces: list[Piece], since_s: float, *, is_thinned: bool = False) -> None:
        """``is_thinned``: nobody disputes them, and relays have dropped some of their rows."""
        self.since_s = since_s
        self.is_thinned = is_thinned
        self.asked: int | None = None
        """The number of the first acknowledgement that asked for them: all pieces were held when
        it was cut."""
        self.not_yet: dict[int, int] = {}
        """Site -> the life in which it had not closed the pane when it was asked."""
        self.numbers = frozenset(piece.number for piece in pieces)
        self.sites = 0
        for piece in pieces:
            self.sites |= piece.coverage.sites
        self.came: dict[int, list[Summary]] = {}
        self.size_bytes = 0

    def grow(self, pieces: list[Piece]) -> None:
        """More of these sites has come since, which is replaced with the others."""
        self.numbers = frozenset(piece.number for piece in pieces)
        self.sites = bitset.union(piece.coverage.sites for piece in pieces)


THINNED_MAX = 2
"""Panes at a time that are made whole again, the oldest first: what is asked for is backlog, and is
to leave room for that of others."""
BENCH_LIVES = 3
"""A pane has its turn for so many lives of a summary: in each its sites are asked once."""


class Replacing:
    """Of one query."""

    def __init__(self, scoreboard: Scoreboard, config: RootConfig, merger: Merger) -> None:
        self._scoreboard = scoreboard
        self._config = config
        self._merger = merger
        self.pieces = Pieces(config)
        self.benches: dict[int, Bench] = {}
        """Of the panes that have their turn."""
        self._turn = 0
        self._gave_up: dict[int, None] = {}
        """Disputed panes that had their turn, the one that had it longest ago first."""

    def begin(self, pane: int, *, now_s: float) -> bool:
        """The pane is disputed; False: its pieces are not known any more."""
        found = self._disputed_pieces(pane)
        has_room = pane in self.benches or len(self.benches) < self._config.replacing_max
        is_thinned = pane not in self._scoreboard.disputed
        if found and has_room and self._is_other(pane, found, is_thinned=is_thinned):
            self.benches[pane] = Bench(found, now_s, is_thinned=is_thinned)
            self._gave_up.pop(pane, None)
        return bool(found)

    def _disputed_pieces(self, pane: int) -> list[Piece]:
        """And thinned ones, where they are to be whole."""
        pieces, sites = self.pieces.all_of(pane), bitset.of(self._scoreboard.disputed.get(pane, ()))
        if pane in self._scoreboard.thinned and self._wants_whole(pane):
            thinned = (one for one in pieces if one.coverage.thinned and one.has_rows)
            sites |= bitset.union(one.coverage.sites for one in thinned)
        return _connected(pieces, sites)

    def _wants_whole(self, pane: int) -> bool:
        board = self._scoreboard.boards.get(pane)
        return board is not None and self._scoreboard.wants_whole(board)

    def _is_other(self, pane: int, found: list[Piece], *, is_thinned: bool) -> bool:
        bench = self.benches.get(pane)
        if bench is None or bench.is_thinned != is_thinned:
            return True
        return bench.numbers != {piece.number for piece in found}

    def begin_more(self, *, now_s: float) -> None:
        """Disputed panes that had no room before; those first that never had any."""
        disputed, waiting = self._scoreboard.disputed, self._wanted_whole(now_s)
        self._gave_up = {p: None for p in self._gave_up if p in disputed or p in waiting}
        fresh = [pane for pane in (*disputed, *waiting) if pane not in self._gave_up]
        for pane in [*fresh, *self._gave_up]:
            thinned = sum(bench.is_thinned for bench in self.benches.values())
            if pane in self.benches or (pane not in disputed and thinned >= THINNED_MAX):
                continue
            if self._disputed_pieces(pane):
                if not self._has_room(now_s):
                    return
                self.begin(pane, now_s=now_s)

    def _wanted_whole(self, now_s: float) -> list[int]:
        """Thinned panes, the oldest first. Of those that have their turn it is over where nobody
        wants them whole any more, and in the end where others wait."""
        if not self._scoreboard.thinned:
            return []
        waiting = [pane for pane in sorted(self._scoreboard.thinned) if self._wants_whole(pane)]
        is_any_left = any(pane not in self.benches for pane in waiting)
        for pane, bench in list(self.benches.items()):
            is_over = is_any_left and self._is_over(bench, now_s)
            if bench.is_thinned and (is_over or pane not in waiting):
                del self.benches[pane]
                self._gave_up[pane] = None
        return waiting

    def _is_over(self, bench: Bench, now_s: float) -> bool:
        return now_s - bench.since_s >= BENCH_LIVES * self._config.summary_life_s

    def hopeless(self) -> list[int]:
        """Thinned panes that stay so: a site has declined what it had of them, or its life of then
        is over."""
        benches = self.benches.items()
        return [pane for pane, one in benches if one.is_thinned and self._is_hopeless(pane, one)]

    def _is_hopeless(self, pane: int, bench: Bench) -> bool:
        return any(self._has_no_more(pane, one, bench) for one in bitset.members(bench.sites))

    def _has_no_more(self, pane: int, ordinal: int, bench: Bench) -> bool:
        if not self._is_of_present(pane, ordinal):
            return True
        view = self._scoreboard.table.views.get(ordinal)
        is_declined = view is not None and pane in view.declined
        return is_declined and self._own(pane, ordinal, bench) is None

    def _is_of_present(self, pane: int, ordinal: int) -> bool:
        """Whether what is held of it is of the site's present life."""
        present = self._scoreboard.table.present(ordinal)
        holding = self._scoreboard.open(pane).holding_of(ordinal, present)
        return holding is None or holding.incarnation == present

    def give_up(self, pane: int) -> None:
        """What was dropped of it does not come."""
        del self.benches[pane]
        self._scoreboard.open(pane).stays_thinned = True

    def _has_room(self, now_s: float) -> bool:
        """A pane whose turn is over makes some; what has come for it is asked for again."""
        if len(self.benches) < self._config.replacing_max:
            return True
        oldest = min(self.benches, key=lambda pane: self.benches[pane].since_s)
        if not self._is_over(self.benches[oldest], now_s):
            return False
        del self.benches[oldest]
        self._gave_up[oldest] = None
        return True

    def hear(self, state: SiteState) -> None:
        """A site may say that it has not closed a pane that is waited for."""
        for told in state.closes:
            bench = self.benches.get(told.first) if told.is_not_yet else None
            if bench is not None and bench.asked is not None and told.asked >= bench.asked:
                bench.not_yet[state.ordinal] = state.incarnation

    def take(self, summary: Summary) -> bool:
        """Whether this is an update of one site that a disputed pane is waiting for."""
        bench, sites = self.benches.get(summary.pane), summary.coverage.sites
        if bench is None or not sites & bench.sites or sites & (sites - 1):
            return False
        size = 0 if summary.rows is None else self._merger.size_bytes(summary.rows)
        total = sum(bench.size_bytes for bench in self.benches.values())
        if total + size > self._config.bench_bytes_max:
            return True
        came = bench.came.setdefault(sites.bit_length() - 1, [])
        if all(_part(one.coverage) != _part(summary.coverage) for one in came):
            came.append(summary)
            bench.size_bytes += size
        return True

    def complete(self, pane: int) -> list[Summary] | None:
        """The own updates of all sites, each once; None: some are not in."""
        bench = self.benches.get(pane)
        if bench is None:
            return None
        if bench.is_thinned:
            bench.grow(self._disputed_pieces(pane))
            if not bench.numbers or self._is_hopeless(pane, bench):
                return None
        chosen: list[Summary] = []
        for ordinal in bitset.members(bench.sites):
            own = self._own(pane, ordinal, bench)
            if own is None:
                return None
            chosen += own
        return chosen

    def _own(self, pane: int, ordinal: int, bench: Bench) -> list[Summary] | None:
        """What the site's present life has for the pane, wholly; nothing, if it has declined it:
        what carriers brought of it can't be told from what they made up."""
        view = self._scoreboard.table.views.get(ordinal)
        if view is None:
            return None
        if ordinal in self._open_in(bench):
            return None if bench.is_thinned else []
        found: dict[int, Summary] = {}
        close: Summary | None = None
        count = view.counts.get(pane, 0 if pane in view.empty else -1)
        if bench.is_thinned:  # what is held of it is true
            held = self._scoreboard.open(pane).holding_of(ordinal, view.state.incarnation)
            if held is not None:
                last = held.updates[-1][1] if held.updates else -1
                count = max(count, last, -1 if held.closed_at is None else held.closed_at)
        for summary in bench.came.get(ordinal, ()):
            incarnation, updates, closed_at = _part(summary.coverage)
            if incarnation not in (None, view.state.incarnation):
                continue
            count = max(count, -1 if closed_at is None else closed_at)
            close = summary if not updates else close
            for first, last in updates:
                found.update(dict.fromkeys(range(first, last + 1), summary))
        if count < 0 or any(n not in found for n in range(1, count + 1)):
            return [] if pane in view.declined and not bench.is_thinned else None
        if not count and bench.is_thinned:
            return [self._empty(pane, ordinal, view.state.incarnation)]
        if not count:
            return [] if close is None else [close]
        return list({id(found[n]): found[n] for n in range(1, count + 1)}.values())

    def _empty(self, pane: int, ordinal: int, incarnation: int) -> Summary:
        """Of a site that had nothing of the pane, as it is held: nothing was dropped of it."""
        coverage = Coverage.of_part(ordinal, incarnation, updates=(), closed_at=0)
        return Summary("", pane, coverage)  # nobody looks up whose it is

    def open_in(self, pane: int) -> dict[int, int]:
        """Sites of the pane's pieces that have not closed it, with their lives."""
        return self._open_in(self.benches[pane])

    def _open_in(self, bench: Bench) -> dict[int, int]:
        present = self._scoreboard.table.present
        return {
            ordinal: life
            for ordinal, life in bench.not_yet.items()
            if life == present(ordinal) and ordinal not in bench.came
        }

    def swap(self, pane: int) -> tuple[frozenset[int], list[Piece]]:
        """The pieces that go, by number, and those that stay."""
        bench = self.benches.pop(pane)
        left = [piece for piece in self.pieces.of(pane) if piece.number not in bench.numbers]
        return bench.numbers, left

    def wanted(self, *, number: int, now_s: float) -> tuple[PaneHeld, ...]:
        """Of which panes which sites are to send their own, in turn, in the acknowledgement with
        this number."""
        self.begin_more(now_s=now_s)
        sites: dict[int, int] = {}
        for pane, bench in self.benches.items():
            missing = (o for o in bitset.members(bench.sites) if self._own(pane, o, bench) is None)
            sites[pane] = bitset.of(missing)
        for pane, lacked in list(self._scoreboard.lacked.items()):
            board = self._scoreboard.boards.get(pane)
            for ordinal in list(lacked):
                if board is None or board.settled >> ordinal & 1:
                    del lacked[ordinal]
            if lacked:
                sites[pane] = sites.get(pane, 0) | bitset.of(lacked)
            else:
                del self._scoreboard.lacked[pane]
        found = [PaneHeld(pane, named) for pane, named in sorted(sites.items()) if named]
        if not found:
            return ()
        self._turn += 1
        count = self._config.wanted_per_ack_max
        start = self._turn * count % len(found) if len(found) > count else 0
        told = (found[start:] + found[:start])[:count]
        for one in told:
            asking = self.benches.get(one.pane)
            if asking is not None and asking.asked is None:
                asking.asked = number
        return tuple(told)

    def drop_below(self, pane: int) -> None:
        self.pieces.drop_below(pane)
        for one in [one for one in self.benches if one < pane]:
            del self.benches[one]

    def __bool__(self) -> bool:
        if self._scoreboard.disputed or self._scoreboard.lacked:
            return True
        return any(self._wants_whole(pane) for pane in self._scoreboard.thinned)


def _connected(pieces: list[Piece], sites: int) -> list[Piece]:
    """Pieces that have one of these sites, or one in common with such a piece, and so on."""
    found: dict[int, Piece] = {}
    while True:
        more = {
            piece.number: piece
            for piece in pieces
            if piece.number not in found and piece.coverage.sites & sites
        }
        if not more:
            return [found[number] for number in sorted(found)]
        found |= more
        for piece in more.values():
            sites |= piece.coverage.sites


def _part(coverage: Coverage) -> tuple[int | None, ranges.Ranges, int | None]:
    """(incarnation, updates, close) of a coverage of one site; None: the present incarnation."""
    if coverage.parts:
        part = coverage.parts[0]
        return part.incarnation, part.updates, part.closed_at
    if coverage.groups:
        group = coverage.groups[0]
        return None, group.updates, group.closed_at
    return (None, FIRST, 1) if coverage.whole else (None, (), 0)
