"""Published answers against the truth: lost, duplicated, unexpected, and what was claimed falsely.

What can be demanded of a revision depends on what it says of itself. Of every revision: each
number once, only numbers of its window, none that was not yet written, none of a site that it
calls unknown. A site that it does not call missing has closed the window, and a close comes from a
read that began ``disorder`` after the window's end: whatever was in the file by then must be in.
Later lines may still be under way, so only a final revision must have every number. Numbers that
were in stay in.

A site whose clock was set ahead closes and seals panes before their time, and one whose clock was
set back takes what is written now for the future. That may cost lateness, and records that come
too late or are refused: they are *given up*, as long as they are counted and no answer without them
says that it is exact and final, be it published before they were written. It excuses nothing else:
no record twice, no final answer that changes, no revision with less than the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chaos.truth import Record, Truth
from headwater.algebra.words.site_state import PaneState
from headwater.root.said.envelope import Envelope

CLOCK_TOLERANCE_S = 0.5
"""An agent's clock is steady and may differ so much from the wall clock that we write by."""
NUMBERS_SHOWN = 12
ABSENT = (PaneState.UNKNOWN, PaneState.DEFERRED)
"""States in which nothing of a site is in the answer."""


@dataclass
class ClockSteps:
    """Whose clocks have been wrong, and how far ahead at most; filled while checkers look."""

    ahead_s: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, by_s: float) -> None:
        self.ahead_s[name] = max(self.ahead_s.get(name, 0.0), by_s)

    def were_wrong_at(self, name: str) -> bool:
        return name in self.ahead_s


@dataclass(frozen=True)
class Answer:
    """One revision of one window, as published: its envelope and (number, count) rows."""

    envelope: Envelope
    rows: Sequence[tuple[int, int]]


@dataclass
class Verdict:
    lost: set[int] = field(default_factory=set)
    """Numbers that a final answer lacks, or that a later revision dropped."""
    duplicated: set[int] = field(default_factory=set)
    unexpected: set[int] = field(default_factory=set)
    """Numbers that were never written, not yet written, or are of another window."""
    untrue: list[str] = field(default_factory=list)
    """What answers said of themselves and was not so."""
    unsettled: list[str] = field(default_factory=list)
    """Windows that were not final and exact in time: a failure of liveness, not of safety."""
    given_up: set[int] = field(default_factory=set)
    """Numbers that a final answer lacks and does not claim, of sites whose clock was wrong."""
    revisions: int = 0
    windows: int = 0
    partial: int = 0
    """Revisions without some site."""
    grown: int = 0
    """Revisions with more numbers than the one before: what came late and was repaired."""

    @property
    def is_safe(self) -> bool:
        return not (self.lost or self.duplicated or self.unexpected or self.untrue)

    @property
    def is_live(self) -> bool:
        return not self.unsettled

    def text(self) -> str:
        lines = [
            f"{self.windows} windows, {self.revisions} revisions, {self.partial} of them partial, "
            f"{self.grown} with more than the one before",
            f"lost {_some(self.lost)}; duplicated {_some(self.duplicated)}; "
            f"unexpected {_some(self.unexpected)}",
            *([f"given up to wrong clocks {_some(self.given_up)}"] if self.given_up else []),
        ]
        lines += [f"untrue: {text}" for text in self.untrue]
        lines += [f"unsettled: {text}" for text in self.unsettled]
        return "\n".join(lines)


class Checker:
    """Hears every publication once, in order; ``settle`` says what is wanted in the end."""

    def __init__(
        self,
        truth: Truth,
        sites: Iterable[str],
        *,
        disorder_s: float,
        root: str = "",
        clocks: ClockSteps | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        """``clocks`` says whose clocks were wrong; ``verdict`` is given where checkers of several
        queries have one in common."""
        self.verdict = verdict if verdict is not None else Verdict()
        self._truth = truth
        self._sites = tuple(sites)
        self._disorder_s = disorder_s
        self._root = root
        self._clocks = clocks if clocks is not None else ClockSteps()
        self._given_up: set[int] = set()
        self._counted = 0
        """Records that the answers say were too late or refused."""
        self._newest: dict[int, tuple[Envelope, frozenset[int]]] = {}

    def hear(self, answer: Answer) -> None:
        envelope = answer.envelope
        numbers = frozenset(number for number, _ in answer.rows)
        born = self._truth.window(envelope.start_us)
        self.verdict.revisions += 1
        self.verdict.partial += bool(envelope.missing)
        self._check_numbers(answer, numbers, born)
        self._check_claims(envelope, numbers, born)
        self._check_revision(envelope, numbers)
        self.verdict.windows += envelope.start_us not in self._newest
        self._newest[envelope.start_us] = (envelope, numbers)
        self._counted = max(self._counted, envelope.tally.too_late + envelope.tally.refused)

    def is_settled(self, *, first_us: int, until_us: int) -> bool:
        """Whether every window of the span has a final answer."""
        return all(
            start_us in self._newest and self._newest[start_us][0].final
            for start_us in self._windows(first_us, until_us)
        )

    def settle(self, *, first_us: int, until_us: int) -> Verdict:
        """The verdict when the faults are over and the time to recover is up."""
        self.end()
        self.verdict.unsettled += [
            f"window {start_us}: {trouble}"
            for start_us, trouble in self.unsettled(first_us=first_us, until_us=until_us).items()
        ]
        return self.verdict

    def end(self) -> None:
        """No record is written any more: what is final is held against all there are."""
        for start_us, (envelope, numbers) in self._newest.items():
            if envelope.final:
                self._check_claims(envelope, numbers, self._truth.window(start_us))
        if len(self._given_up) > self._counted:
            self._note_untrue(
                f"{len(self._given_up)} records were given up, but {self._counted} were counted "
                f"as too late or refused: {_some(self._given_up)}"
            )

    def unsettled(self, *, first_us: int, until_us: int) -> dict[int, str]:
        """By the start of the window: why it is not done."""
        windows = self._windows(first_us, until_us)
        found = {start_us: self._unsettled(start_us) for start_us in windows}
        return {start_us: trouble for start_us, trouble in found.items() if trouble}

    def _windows(self, first_us: int, until_us: int) -> range:
        """The starts of the windows from ``first_us`` on that end by ``until_us``."""
        window_us = self._truth.window_us
        return range(first_us, until_us - window_us + 1, window_us)

    def _unsettled(self, start_us: int) -> str:
        if start_us not in self._newest:
            return "never answered"
        envelope, numbers = self._newest[start_us]
        if not envelope.final:
            return f"not final at revision {envelope.revision}; missing {envelope.missing}"
        lacking = self._truth.window(start_us).keys() - numbers
        if lacking:
            if lacking <= self._given_up:
                return ""
            return f"final without {_some(lacking)}; missing {envelope.missing}"
        if envelope.exact or any(map(self._clocks.were_wrong_at, self._sites)):
            return ""
        return f"final, not exact; missing {envelope.missing}"

    def _check_numbers(
        self, answer: Answer, numbers: frozenset[int], born: Mapping[int, Record]
    ) -> None:
        times = Counter(number for number, _ in answer.rows)
        self.verdict.duplicated |= {number for number, count in answer.rows if count != 1}
        self.verdict.duplicated |= {number for number, count in times.items() if count > 1}
        self.verdict.unexpected |= {number for number in numbers if number not in born}
        if self._clocks.were_wrong_at(self._root):
            return
        answered_s = answer.envelope.answered_at_s + CLOCK_TOLERANCE_S
        self.verdict.unexpected |= {
            number for number in numbers & born.keys() if born[number].born_s > answered_s
        }

    def _check_claims(
        self, envelope: Envelope, numbers: frozenset[int], born: Mapping[int, Record]
    ) -> None:
        states = {missing.site: missing.state for missing in envelope.missing}
        for site in self._sites:
            own = {number: record for number, record in born.items() if record.site == site}
            if states.get(site) in ABSENT and own.keys() & numbers:
                self._untrue(envelope, f"{site} is called {states[site]}, but is in")
            if site not in states:
                self._check_covered(envelope, site, own, numbers)
            elif envelope.final and states[site] is not PaneState.DECLINED:
                self._untrue(envelope, f"final, but {site} is {states[site]}")
        self._check_counts(envelope, states)

    def _check_covered(
        self, envelope: Envelope, site: str, own: Mapping[int, Record], numbers: frozenset[int]
    ) -> None:
        """The site is not missing: it has closed this window, and all of it is in."""
        if envelope.final:
            self._lack(envelope, site, own.keys() - numbers)
            return
        ahead_s = self._clocks.ahead_s.get(site, 0.0)
        closed_s = envelope.end_us / 1e6 + self._disorder_s - CLOCK_TOLERANCE_S - ahead_s
        due = {number for number, record in own.items() if record.written_s <= closed_s}
        if due - numbers:
            self._untrue(envelope, f"{site} is not missing, but lacks {_some(due - numbers)}")

    def _lack(self, envelope: Envelope, site: str, lacking: Iterable[int]) -> None:
        """A final answer goes without these for ever."""
        if envelope.exact or not self._clocks.were_wrong_at(site):
            self.verdict.lost |= set(lacking)
        else:
            self._given_up |= set(lacking)
            self.verdict.given_up |= set(lacking)

    def _check_counts(self, envelope: Envelope, states: Mapping[str, PaneState]) -> None:
        """A site that lacks a late update is missing and stays covered; an absent one is not."""
        in_whole = len(self._sites) - len(states)
        in_part = len(self._sites) - sum(state in ABSENT for state in states.values())
        if envelope.expected != len(self._sites) or not in_whole <= envelope.covered <= in_part:
            self._untrue(envelope, f"{envelope.covered} of {envelope.expected} sites covered")
        if envelope.exact and (states or envelope.covered != envelope.expected):
            self._untrue(envelope, f"exact, but {dict(states)} are missing")

    def _check_revision(self, envelope: Envelope, numbers: frozenset[int]) -> None:
        before = self._newest.get(envelope.start_us)
        if before is None:
            if envelope.revision != 1:
                self._untrue(envelope, "it is the first one of its window")
            return
        last, had = before
        self.verdict.grown += bool(numbers - had)
        self.verdict.lost |= had - numbers
        if last.final:
            self._untrue(envelope, f"revision {last.revision} was final")
        if envelope.revision != last.revision + 1:
            self._untrue(envelope, f"it follows revision {last.revision}")
        if envelope.covered < last.covered:
            self._untrue(envelope, f"covers {envelope.covered} sites after {last.covered}")

    def _untrue(self, envelope: Envelope, text: str) -> None:
        where = f"{envelope.query} window {envelope.start_us} revision {envelope.revision}"
        self._note_untrue(f"{where}: {text}")

    def _note_untrue(self, text: str) -> None:
        """Once: final answers are looked at again in the end."""
        if text not in self.verdict.untrue:
            self.verdict.untrue.append(text)


def _some(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    if not found:
        return "none"
    dots = " …" if len(found) > NUMBERS_SHOWN else ""
    return f"{len(found)} ({', '.join(map(str, found[:NUMBERS_SHOWN]))}{dots})"
