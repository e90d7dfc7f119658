"""The set in every published answer against what it says of itself, and against the logs.

*Always*: no number comes from nowhere, and none is counted twice in an answer that calls itself
exact; a revision is published once, never lowers coverage, and none follows a final one; a pane
that an answer does not call missing has every line that a clean poll after the pane's end must have
found, and no answer is called exact that lacks a line of which the newest poll knows. *In the end*:
every window is final and has every line that was listed in time, once, or the answer itself says
that something is missing or in doubt, and there was a cause. What only a log says was not said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.algebra.sets import ranges
from headwater.algebra.words.site_state import PaneState, Reason
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope
from headwater.store.results.publication import envelope_of
from headwater.store.results.results import ResultsReader
from schedules.logs import Line, Logs
from schedules.queries import DISORDER_S, LATENESS_S

SHOWN_MAX = 12
"""Numbers that a message names."""


class Violation(msgspec.Struct, frozen=True):
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


class Answer(msgspec.Struct, frozen=True):
    seq: int
    envelope: Envelope
    counts: dict[int, int]

    @property
    def where(self) -> str:
        one = self.envelope
        return f"{one.query} window {one.window} revision {one.revision} (publication {self.seq})"


class Published:
    """The results of all streams, read on as they grow."""

    def __init__(self, directory: Path) -> None:
        self.answers: list[Answer] = []
        self._directory = directory
        self._read: dict[str, set[int]] = {}

    def read_on(self) -> None:
        for place in sorted(self._directory.iterdir()) if self._directory.is_dir() else ():
            known = self._read.setdefault(place.name, set())
            reader = ResultsReader(place)
            for seq in reader.publications():
                if seq not in known:
                    known.add(seq)
                    self.answers += _answers(place, seq)

    def of(self, query: str) -> list[Answer]:
        found = [answer for answer in self.answers if answer.envelope.query == query]
        return sorted(found, key=lambda answer: answer.seq)

    def newest(self, query: str) -> dict[int, Answer]:
        newest: dict[int, Answer] = {}
        for answer in self.of(query):
            newest[answer.envelope.window] = answer
        return newest


def _answers(directory: Path, seq: int) -> Iterator[Answer]:
    """One read for each file: a reader of ours would read the rows once for each window."""
    headers = _table(directory / f"headers-{seq:012d}.parquet")
    rows: dict[int, dict[int, int]] = {}
    path = directory / f"rows-{seq:012d}.parquet"
    if path.exists():
        table = _table(path).select(("window_start", "id", "n"))
        starts = table.column(0).cast(pa.int64()).to_pylist()
        for start, number, count in zip(
            starts, *(table.column(n).to_pylist() for n in (1, 2)), strict=True
        ):
            counts = rows.setdefault(start, {})
            counts[number] = counts.get(number, 0) + count
    for text in headers.column("envelope").to_pylist():
        envelope = envelope_of(text)
        yield Answer(seq, envelope, rows.get(envelope.start_us, {}))


def _table(path: Path) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False)


class Causes(msgspec.Struct):
    """What happened in a schedule that an answer may have to own up to."""

    failed: set[str] = set()
    """Queries that Spark failed on."""
    has_damage: bool = False
    """Bytes of the store were changed."""
    has_retention: bool = False
    has_vanished: bool = False
    """Bytes of logs were taken away."""
    has_trouble: bool = False
    """The disk or the process failed at all."""


class Checker:
    """All answers of one query."""

    def __init__(self, query: Query, logs: Logs) -> None:
        self.query = query
        self.logs = logs
        self._panes: dict[int, set[int]] = {}
        for line in logs.lines.values():
            self._panes.setdefault(query.window.pane_at(line.time_us), set()).add(line.number)

    # Always

    def check(self, answers: Iterable[Answer]) -> Iterator[Violation]:
        last: dict[int, Answer] = {}
        for answer in answers:
            window = answer.envelope.window
            yield from self._check_content(answer)
            yield from self._check_claims(answer)
            yield from _check_revision(last.get(window), answer)
            last[window] = answer

    def _check_content(self, answer: Answer) -> Iterator[Violation]:
        twice = sorted(number for number, count in answer.counts.items() if count != 1)
        envelope = answer.envelope
        is_said = bool(envelope.damaged) if envelope.final else not envelope.exact
        if twice and not (is_said and self._bytes_again(answer) <= self.logs.twice_bytes):
            yield Violation("no double counting", f"{answer.where}: {_shown(twice)}")
        born = self._born(answer.envelope)
        strangers = sorted(answer.counts.keys() - born)
        if strangers:
            yield Violation("no strangers", f"{answer.where}: {_shown(strangers)}")

    def _bytes_again(self, answer: Answer) -> int:
        """Of lines that are in the answer more than once. A follower reads what may be a copy when
        too little tells so, and says how much that is: the answer that they are in, and a log."""
        lines = self.logs.lines
        return sum(
            (count - 1) * len(lines[number].text)
            for number, count in answer.counts.items()
            if number in lines
        )

    def _born(self, envelope: Envelope) -> set[int]:
        panes = self.query.window.panes_of(envelope.window)
        return set().union(*(self._panes.get(pane, set()) for pane in panes))

    def _check_claims(self, answer: Answer) -> Iterator[Violation]:
        envelope = answer.envelope
        if envelope.exact and (envelope.missing or envelope.covered != envelope.expected):
            yield Violation("exact is exact", f"{answer.where}: exact, yet {envelope.missing}")
        if envelope.exact and envelope.damaged:
            yield Violation("exact is exact", f"{answer.where}: exact, yet damaged")
        states = _states(self.query, envelope)
        for pane in self.query.window.panes_of(envelope.window):
            if pane in states or envelope.damaged:
                continue
            lack = sorted(self._must_have(pane, envelope.answered_at_s) - answer.counts.keys())
            if lack:
                yield Violation(
                    "true coverage",
                    f"{answer.where}: pane {pane} is not missing, but {_shown(lack)}",
                )

        if envelope.exact:
            yield from self._check_exact(answer)

    def _check_exact(self, answer: Answer) -> Iterator[Violation]:
        panes = self.query.window.panes_of(answer.envelope.window)
        known = set().union(*(self._known(p, answer.envelope.answered_at_s) for p in panes))
        lack = sorted(known - answer.counts.keys())
        if lack:
            what = f"{answer.where}: exact, but not read: {_shown(lack)}"
            yield Violation("exact is exact", what)

    def _known(self, pane: int, answered_s: float) -> set[int]:
        """Lines of a pane that was open when polls came to know of them, and that no poll has read
        since. A pane may be closed all the same while a site's own disk holds it up: then it is
        closed by the times of records."""
        end_s = self.query.window.pane_end_us(pane) / 1e6 + DISORDER_S
        polls = [poll for poll in self.logs.polls if poll.started_s <= answered_s]
        last_clean = max((n for n, poll in enumerate(polls) if poll.is_clean), default=None)
        if last_clean is None or any(poll.is_behind for poll in polls):
            return set()
        if polls[last_clean].started_s >= end_s:
            return set()
        lines = (self.logs.lines[number] for number in self._panes.get(pane, ()))
        return {
            one.number
            for one in lines
            if one.listed is not None and last_clean < one.listed < len(polls) - 1
        }

    def _must_have(self, pane: int, answered_s: float) -> set[int]:
        """The lines of a pane that any read which could close it has found.

        A source that is behind closes by its records' times instead; of that nothing is known.
        """
        polls = self.logs.polls
        end_s = self.query.window.pane_end_us(pane) / 1e6 + DISORDER_S
        before = [n for n, poll in enumerate(polls) if poll.started_s < end_s]
        through = [n for n, poll in enumerate(polls) if poll.started_s <= answered_s]
        if not through:
            return set()
        reads = range(before[-1] if before else 0, through[-1] + 1)
        if not all(polls[n].is_clean for n in reads):
            return set()
        closing = next((n for n in reads if polls[n].started_s >= end_s), None)
        if closing is None:
            return set()
        lines = (self.logs.lines[number] for number in self._panes.get(pane, ()))
        return {one.number for one in lines if one.seen is not None and one.seen <= closing}

    # In the end

    def check_end(
        self, newest: Mapping[int, Answer], causes: Causes, *, through_s: float
    ) -> Iterator[Violation]:
        """Every window that ended before ``through_s``."""
        for window in self.due_windows(through_s):
            answer = newest.get(window)
            if answer is None:
                yield Violation("every window is answered", f"{self.query.id} window {window}")
            elif not answer.envelope.final:
                if causes.has_damage and causes.has_retention:
                    continue  # no copy is left of what the answer has
                yield Violation(
                    "every window becomes final",
                    f"{answer.where}: missing {answer.envelope.missing}",
                )
            else:
                yield from self._check_final(answer, causes)

    def due_windows(self, through_s: float) -> range:
        window, begin = self.query.window, self.query.begin_pane
        assert begin is not None, "queries of a schedule have a begin"
        first = window.first_window_from(window.pane_start_us(begin))
        last = window.first_window_from(round(through_s * 1e6) - window.range_us)
        return range(first, last)

    def _check_final(self, answer: Answer, causes: Causes) -> Iterator[Violation]:
        envelope = answer.envelope
        states = _states(self.query, envelope)
        lack: set[int] = set()
        for pane in self.query.window.panes_of(envelope.window):
            lack |= set() if pane in states else self._due_in(pane) - answer.counts.keys()
        if lack and not envelope.damaged:
            yield Violation("no silent loss", f"{answer.where}: {_shown(sorted(lack))}")
        for missing in envelope.missing:
            if not self._has_cause(missing.state, missing.reason, missing.panes, causes):
                yield Violation("given up without a cause", f"{answer.where}: {missing}")
        has_lost = causes.has_vanished or self.logs.has_lost_closed
        has_doubt = self.logs.twice_bytes > 0
        if envelope.damaged and not (has_lost or has_doubt or causes.has_damage):
            yield Violation("given up without a cause", f"{answer.where}: damaged")

    def _due_in(self, pane: int) -> set[int]:
        """Lines that were seen, or known of, before a poll could seal their pane."""
        sealed_s = self.query.window.pane_end_us(pane) / 1e6 + LATENESS_S
        lines = (self.logs.lines[number] for number in self._panes.get(pane, ()))
        return {one.number for one in lines if self._is_due(one, pane, sealed_s)}

    def _is_due(self, line: Line, pane: int, sealed_s: float) -> bool:
        """One that is lost may be due as well; but a record that is later than ``disorder`` belongs
        to a pane that was closed, and that is taken for what it is."""
        polls = self.logs.polls
        if line.seen is not None:
            return polls[line.seen].started_s < sealed_s
        end_s = self.query.window.pane_end_us(pane) / 1e6 + DISORDER_S
        has_begun = any(poll.is_clean for poll in polls[: line.listed])
        is_listed = line.listed is not None and polls[line.listed].started_s < sealed_s
        return has_begun and is_listed and line.born_s < end_s and not line.is_overgrown

    def _has_cause(
        self, state: PaneState, reason: str, panes: ranges.Ranges, causes: Causes
    ) -> bool:
        if state is not PaneState.DECLINED:
            return False
        if reason.startswith(Reason.FAILED):
            return str(self.query.id) in causes.failed
        if reason.startswith(Reason.EXPIRED):
            return causes.has_retention or causes.has_damage
        if reason.startswith(Reason.LOST):
            return causes.has_damage
        if reason.startswith(Reason.NOT_INSTALLED):
            begin = self.query.begin_pane or 0
            allowed = 12 if causes.has_trouble else 3
            return all(last <= begin + allowed for _, last in panes)
        return False


def _check_revision(before: Answer | None, answer: Answer) -> Iterator[Violation]:
    if before is None:
        if answer.envelope.revision != 1:
            yield Violation("revisions rise", f"{answer.where}: it is the first one")
        return
    old, new = before.envelope, answer.envelope
    if old.final:
        yield Violation("final is final", f"{answer.where}: revision {old.revision} was final")
    if new.revision == old.revision:
        yield Violation("a revision is published once", f"{answer.where}: after {before.where}")
    elif new.revision != old.revision + 1:
        yield Violation("revisions rise", f"{answer.where}: after {before.where}")
    lost = sorted(before.counts.keys() - answer.counts.keys())
    if lost or new.covered < old.covered:
        yield Violation(
            "revisions never lower coverage",
            f"{answer.where}: lost {_shown(lost)}, {new.covered} sites after {old.covered}",
        )


def _states(query: Query, envelope: Envelope) -> dict[int, PaneState]:
    """The panes that the envelope calls missing."""
    return {
        pane: missing.state
        for missing in envelope.missing
        for pane in query.window.panes_of(envelope.window)
        if ranges.contains(missing.panes, pane)
    }


def _shown(numbers: list[int]) -> str:
    more = f" and {len(numbers) - SHOWN_MAX} more" if len(numbers) > SHOWN_MAX else ""
    return f"lines {', '.join(map(str, numbers[:SHOWN_MAX]))}{more}"
