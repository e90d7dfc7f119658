"""The sites' own word on what carriers brought: digests compared, and what differs replaced."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.algebra.summary import Summary
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.root.books import Books
from headwater.root.carriers.raise_alarm import raise_alarm
from headwater.root.carriers.replacing import Piece
from headwater.root.intake import Intake
from headwater.root.outputs import KeepAgreement, Replace
from headwater.root.scoreboard import Verdict


class Disputes:
    """What is no longer doubted goes through ``intake``, like all that changes a board."""

    def __init__(self, books: Books, intake: Intake) -> None:
        self._books = books
        self._intake = intake
        self.scoreboard = books.scoreboard
        self.answers = books.answers
        self.agreements = books.agreements
        self.replacing = books.replacing

    def compare(self, *, now_s: float) -> None:
        """Hold digests against what is held, and do what follows."""
        agreements, books = self.agreements, self._books
        agreements.compare(done_through=books.windows.done_through, now_s=now_s)
        for pane, ordinal in agreements.disputed_now:
            self._dispute(pane, ordinal, now_s=now_s)
        for board in list(agreements.touched.values()):
            self._intake.touch(board, now_s=now_s)
        for ordinal in agreements.changed:
            books.outputs.append(KeepAgreement(books.id, ordinal, *agreements.kept(ordinal)))
        is_changed = bool(agreements.changed)
        for news in (agreements.disputed_now, agreements.touched, agreements.changed):
            news.clear()
        if is_changed:
            books.sum_up()

    def _dispute(self, pane: int, ordinal: int, *, now_s: float) -> None:
        """The alarm stands, also when the sites' own updates have taken the place of what relays
        brought: somebody lied, and people must hear of it."""
        text = "it has signed another close than the one that relays brought"
        if not self.replacing.begin(pane, now_s=now_s):
            text += "; what is held of the pane is no longer known piece by piece, and stays"
        name = self._books.table.names[ordinal]
        self._books.notice("disputed", f"pane {pane} of {name}: {text}")
        alarm = Alarm.of(AlarmKind.DISPUTED, self._books.id, ordinal, (pane, pane), text, ())
        raise_alarm(self._books, alarm, now_s=now_s)

    def take(self, summary: Summary, *, now_s: float) -> bool:
        """Whether a disputed pane waits for this update of one site."""
        if summary.pane not in self.replacing.benches:
            return False
        verdict = self.scoreboard.judge(summary.pane, summary.coverage)
        if verdict in (Verdict.STRANGER, Verdict.MISTAGGED) or not self.replacing.take(summary):
            return False
        bench = self.replacing.benches[summary.pane]
        if bench.is_thinned and verdict in (Verdict.ACCEPTED, Verdict.CLOSES):
            return False  # it counts at once, and again when the pane is made whole
        self._books.counters["own word"] += 1
        self.replace(now_s=now_s)
        return True

    def leave_thinned(self, *, now_s: float) -> None:
        """Panes of which a site has no more what relays have dropped: they stay as they are."""
        for pane in self.replacing.hopeless():
            self.replacing.give_up(pane)
            text = f"pane {pane}: a site of it has no more what relays dropped"
            self._books.notice("stays thinned", text)
            self._intake.touch(self.scoreboard.open(pane), now_s=now_s)

    def replace(self, *, now_s: float) -> None:
        """Disputed panes of which all sites' own updates are in, while no answer is made of what
        is to go. A final answer stays as it is."""
        is_read = any(one.is_answering for one in self._books.followers())
        if self.answers.under_way is not None or is_read:
            return
        replaced: set[int] = set()
        while more := self._replace_what_is_in(but_for=replaced, now_s=now_s):
            replaced |= more
            self.replacing.begin_more(now_s=now_s)

    def _replace_what_is_in(self, *, but_for: set[int], now_s: float) -> set[int]:
        """Panes that have made room for others: of these all may be in already, or nothing awaited,
        and each would else take an acknowledgement. Those ``but_for`` had their turn, and what is
        disputed of them still waits for the next one."""
        found = set()
        for pane in sorted(self.replacing.benches.keys() - but_for):
            own = None if self.scoreboard.open(pane).is_frozen else self.replacing.complete(pane)
            if own is not None:
                self._replace(pane, own, now_s=now_s)
                found.add(pane)
        return found

    def _replace(self, pane: int, own: Sequence[Summary], *, now_s: float) -> None:
        books = self._books
        still_open = self.replacing.open_in(pane)
        numbers, left = self.replacing.swap(pane)
        self.scoreboard.make_anew(pane)
        if books.tops is not None:
            books.tops.block(pane)
        for piece in left:
            self.scoreboard.accept(
                pane, piece.coverage, number=piece.number, has_rows=piece.has_rows
            )
        kept = [
            books.number(pane, summary.coverage, summary.rows)
            for summary in own
            if self.scoreboard.judge(pane, summary.coverage) in (Verdict.ACCEPTED, Verdict.CLOSES)
        ]
        for ordinal, incarnation in still_open.items():
            self.scoreboard.keep_open(pane, ordinal, incarnation)
        pieces = [Piece(one.number, one.coverage, one.has_rows) for one in kept]
        self.replacing.pieces.put(pane, [*left, *pieces])
        books.outputs.append(Replace(books.id, pane, tuple(sorted(numbers)), tuple(kept)))
        self.agreements.clear(pane)
        books.notice("replaced", f"pane {pane}: by the own updates of its sites")
        self._intake.touch(self.scoreboard.open(pane), now_s=now_s)
        self.compare(now_s=now_s)
