"""All that a root knows of its query, and what it wants done: the state that its parts share.

What is let in is kept first, under a number that rises. Everything that changes a board is noted,
so that the windows of the pane and the acknowledgement know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Merger, Summary
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.answers import Answers
from headwater.root.carriers.absences import Absences, ParentsOf
from headwater.root.carriers.agreements import Agreements
from headwater.root.carriers.alarm_book import AlarmBook
from headwater.root.carriers.replacing import Piece, Replacing
from headwater.root.catching_up import CatchingUp
from headwater.root.config import RootConfig
from headwater.root.memory.pausing import Pausing
from headwater.root.outputs import Keep, KeptSummary, Output, Trim, WindowAnswered
from headwater.root.pane_board import PaneBoard
from headwater.root.parking import Parking
from headwater.root.said.ack_maker import AckMaker
from headwater.root.said.arrival_ages import ArrivalAges
from headwater.root.said.share_book import ShareBook
from headwater.root.said.top_book import TopBook
from headwater.root.scoreboard import Scoreboard
from headwater.root.site_clocks import SiteClocks
from headwater.root.site_table import SiteTable
from headwater.root.windows import WindowBook

CarriersOf = Callable[[int], Sequence[str]]
"""By ordinal: the peers above a site on any of the query's trees, the root apart."""


class CoarserRoot(Protocol):
    """The root of a level of the query."""

    def finer_changed(self, books: Books, pane: int) -> None: ...

    def finer_sealed(self) -> None: ...

    def needs_from(self, books: Books) -> int: ...

    @property
    def is_answering(self) -> bool: ...


class Books:
    """Of one query, in one life of its ledger."""

    def __init__(
        self,
        *,
        query: Query,
        roster: Roster,
        config: RootConfig,
        merger: Merger,
        incarnation: int,
        now_s: float,
        start: int = 0,
        ahead_s: float = 0.0,
        carriers_of: CarriersOf = lambda ordinal: (),
        parents_of: ParentsOf = lambda ordinal: (),
    ) -> None:
        """``start`` counts the starts of the ledger's agent; ``ahead_s`` is how far the wall clock
        is ahead of the steady one; ``carriers_of`` names the peers above a site, for alarms,
        ``parents_of`` its parents on the trees of the newest plan."""
        self.query = query
        self.site_names = {site.ordinal: site.name for site in roster.sites}
        """Also of those that are not asked, as parents may be."""
        self.id = str(query.id)
        self.config = config
        self.carriers_of = carriers_of
        self.anew = partial(
            Books,
            query=query,
            roster=roster,
            config=config,
            merger=merger,
            start=start,
            carriers_of=carriers_of,
            parents_of=parents_of,
        )
        """Empty ones of the same query."""
        self.table = SiteTable(query, roster)
        self.scoreboard = Scoreboard(self.table)
        self.agreements = Agreements(self.scoreboard, config)
        self.replacing = Replacing(self.scoreboard, config, merger)
        self.windows = WindowBook(query, config, now_s=now_s)
        self.windows.ahead_s = ahead_s
        self.absences = Absences(parents_of, config)
        self.catching_up = CatchingUp(
            self.scoreboard, config, absent=self.absences.absent, now_s=now_s
        )
        self.clocks = SiteClocks(self.table, self.windows, config, now_s=now_s)
        self.parking = Parking(config, merger)
        self.alarms = AlarmBook(self.id, alarms_max=config.alarms_max)
        self.answers = Answers(
            query,
            config,
            self.scoreboard,
            self.windows,
            self.alarms,
            self.absences,
            roster_version=roster.version,
        )
        self.tops: TopBook | None = None
        """Where sites may send the largest groups alone."""
        self._merger = merger
        self.pausing = Pausing(
            query, config, windows=self.windows, parking=self.parking, merger=merger
        )
        self.shares = ShareBook(self.table, self.windows, worth_s=config.share_worth_s)
        self.acks = AckMaker(self.id, incarnation, config, start=start)
        self.ages = ArrivalAges()
        self.life_s = config.summary_life_s
        self.kept = 0
        """The number of the newest kept summary."""
        self.sealed_through = self.table.sealed_through
        self.is_overfull = False
        """A site announced more panes than are held here: not all windows are known."""
        self.counters: Counter[str] = Counter()
        self.outputs: list[Output] = []
        self.followers: Callable[[], Sequence[CoarserRoot]] = tuple
        """Those of its levels, whose windows are made of these panes, too."""
        self.restored: dict[int, WindowAnswered] = {}
        """Answers of a former process, whose windows are not open yet."""
        self.sends_early = query.round_count > 1
        """Keys may leave before the close, by any of its settings."""
        if query.tolerates is not None:
            self._look_for_largest()

    def alter(self, settings: SettingsBook) -> None:
        """Windows may be due at another time, and be complete for other reasons."""
        settings = self.table.settings.joined(settings)
        if settings == self.table.settings:
            return
        self.table.settings = settings
        self.sends_early = settings.sends_early(self.query)
        self._look_for_largest()
        self.windows.alter(settings)
        self.mark_all()

    def _look_for_largest(self) -> None:
        """As soon as any of the settings lets sites send the largest alone."""
        is_asked = any(one.top is not None for one in self.table.settings.tolerances)
        if is_asked and self.tops is None:
            self.tops = TopBook(self.scoreboard, self.windows, self.config, self._merger)
            self.answers.tops = self.tops

    def mark_all(self) -> None:
        """Whatever is said of any window may be another now."""
        for number in self.windows.windows:
            self.answers.mark(number)

    def mark_awaited(self) -> None:
        """Who is awaited may have been lost, so windows without an answer may be hopeless."""
        for number in self.windows.awaited():
            self.answers.mark(number)

    def note_age(self, summary: Summary) -> None:
        """Where keys may leave before the close, sites go by how long that takes, and whoever asks
        for a staleness is told if nobody could be in by then. None is carried for longer than
        ``summary_life_s``: who says that one was, as a relay on the way can, counts for no more."""
        if summary.lane is Lane.LIVE:
            self.ages = self.ages.with_(min(summary.age_s, self.life_s))

    def notice(self, kind: str, text: str, *, count: int = 1) -> None:
        """Counted always, told at the first and then at every doubling."""
        before = self.counters[kind]
        self.counters[kind] += count
        if before.bit_length() != self.counters[kind].bit_length():
            told = f"{self.id}: {text} ({self.counters[kind]} so far)"
            self.outputs.append(Notice("root", kind, told))

    def keep(self, pane: int, coverage: Coverage, rows: object) -> None:
        kept = self.number(pane, coverage, rows)
        self.outputs.append(Keep(self.id, kept))
        self.replacing.pieces.add(pane, Piece(kept.number, coverage, kept.has_rows))

    def number(self, pane: int, coverage: Coverage, rows: object) -> KeptSummary:
        """On the board, and to be kept under the next number."""
        self.kept += 1
        self.pausing.came(pane, rows)
        if self.tops is not None:
            self.tops.add(pane, coverage, rows)
        has_rows = rows is not None
        self.scoreboard.accept(pane, coverage, number=self.kept, has_rows=has_rows)
        return KeptSummary(self.kept, pane, coverage, rows, has_rows)

    def note(self, board: PaneBoard) -> None:
        """Something on this board has changed: its windows and the acknowledgement know."""
        is_settled = self.scoreboard.is_settled(board)
        change = board.is_settled - is_settled
        board.is_settled = is_settled
        for number in self.windows.windows_of(board.pane):
            window = self.windows.windows.get(number)
            if window is not None:
                window.unsettled += change
                self.answers.mark(number)
        for follower in self.followers():
            follower.finer_changed(self, board.pane)
        self._tell(board)

    def _tell(self, board: PaneBoard) -> None:
        told = self.scoreboard.held_in_part(board)
        self.acks.note(board, told, expected=self.table.expected)

    def sum_up(self) -> None:
        """What all sites together have said may have changed."""
        sealed_through = min(self.table.sealed_through, self.agreements.through)
        if sealed_through != self.sealed_through:
            self.sealed_through = sealed_through
            for window in self.windows.sealed_below(sealed_through):
                self.answers.mark(window.window)
            for follower in self.followers():
                follower.finer_sealed()

    def open_for(self, summary: Summary, *, now_s: float) -> None:
        """A summary is news of its windows; where only rows make windows, one with rows is."""
        if self.windows.has_begin or summary.coverage.has_rows:
            self.open_windows(summary.pane, now_s=now_s)

    def open_awaited(self, state: SiteState, *, former_through: int, now_s: float) -> None:
        """Where windows open with rows only: a sealed pane that is neither empty nor declined has
        rows, also when none of them has arrived."""
        if self.windows.has_begin and not self.query.ends:
            return
        first = max(self.windows.done_through, self.table.begin, former_through)
        last = state.sealed_through - 1
        for start, end in self.scoreboard.awaited_of(state, first=first, last=last):
            if end - start >= self.config.panes_max - len(self.scoreboard.boards):
                self.is_overfull = True
                text = f"site {state.ordinal} announces panes {start} to {end}"
                self.notice("too many panes", text)
                continue
            for pane in range(start, end + 1):
                self.open_windows(pane, now_s=now_s)

    def hear_state(self, state: SiteState, *, now_s: float) -> None:
        """Of stretches without rows a state says that they are closed."""
        lasts = [last for _, last in state.empty] + [state.sealed_through - 1]
        self.hear_close(max(lasts), now_s=now_s)

    def hear_close(self, pane: int, *, now_s: float) -> None:
        """Some site has closed the pane."""
        is_behind = bool(self.table.behind)
        self.windows.hear_close(pane, is_behind=is_behind, now_s=now_s)

    def open_windows(self, pane: int, *, now_s: float) -> None:
        gap = self.windows.gap_before(pane)
        if gap:
            text = f"{gap} windows lie before pane {pane}: those without records are not answered"
            self.notice("too many windows", text)
        for window in list(self.windows.unopened_of(pane)):
            self.open_window(window, now_s=now_s)

    def open_window(self, number: int, *, now_s: float) -> None:
        window = self.windows.open(number, now_s=now_s)
        panes = self.windows.spec.panes_of(number)
        self.catching_up.opened(panes.start)
        for pane in panes:
            is_new = pane not in self.scoreboard.boards
            board = self.scoreboard.open(pane)
            window.unsettled += not board.is_settled
            if is_new and (board.known or (board.undrawn and not self.table.free)):
                self._tell(board)
        restored = self.restored.pop(number, None)
        if restored is not None:
            self.answers.restore(window, restored)
        self.answers.mark(number)

    def trim(self, *, now_s: float) -> None:
        """Let go of the panes of windows that are over, if there are more than before."""
        needed = min((one.needs_from(self) for one in self.followers()), default=FOREVER)
        sealed_through = self.table.sealed_through
        if not self.windows.advance(sealed_through=sealed_through, needed_from=needed):
            return
        done_through = self.windows.done_through
        self.outputs.append(Trim(self.id, done_through))
        wall_s = now_s + self.windows.ahead_s
        self.alarms.drop_old(done_through=done_through, wall_s=wall_s)
        books = self.scoreboard, self.parking, self.agreements, self.replacing, self.acks
        for book in (*books, self.answers, self.pausing):
            book.drop_below(done_through)
        if self.tops is not None:
            self.tops.drop_below(done_through)
