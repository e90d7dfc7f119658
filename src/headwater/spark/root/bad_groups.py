"""Overflow belongs to the group: answers without the groups that can't be finished.

All due windows of a query are finished in one job, and in ANSI mode one group that divides by zero
ends it. Retried as it is, it would end every later answer too. So when a job fails for a value, the
groups that fail are found and left out, counted and named; the other groups and windows stand.

1. One job judges all groups of all windows (``sql.write.judge_groups``), however many fail.
2. The first few of those that fail in a window are run alone, for Spark's own words.
3. One job finishes the others.

A group whose sum leaves the type of its partial is known from merging, and out already.

Where a verdict can't be had, or does not hold (a group that was to fail passes alone, or the others
still fail), groups are searched by halving, first among windows, then within them: a part that
passes is good, a part that fails is halved. All of it takes at most ``JOBS_MAX`` jobs; what is
still in doubt then is left out as *unresolved*. Nothing is tried for ever.

A query whose last answer had such a group begins with the verdict, which costs one job more than
an ordinary answer. A verdict is always new, so a group that a revision has mended comes back. Rows
that failed are remembered with Spark's words: the same rows fail again, and need not be asked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec
import pyarrow as pa
import structlog

from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.rows.python_values import python_values
from headwater.algebra.words.malformed import Malformed
from headwater.errors import GroupFailed, SparkFailed
from headwater.plan.query import Query
from headwater.root.said.envelope import LEFT_OUT_NAMED_MAX, LeftOut, LeftOutGroup
from headwater.root.said.sampled import Estimate

log = structlog.get_logger()

JOBS_MAX = 128
"""Jobs that one answer may take to find the groups that fail."""
REASONS_MAX = 16
"""Jobs of them that ask for Spark's words of groups whose verdict is known."""
KNOWN_MAX = 4_096
"""Groups that failed and are remembered, over all queries."""
DOUBTED_MAX = 1_024
"""Queries that are remembered to have groups that fail."""
KEY_CHARACTERS_MAX = 200
"""Of one key of a named group."""

WindowGroups = Mapping[int, Groups]
"""For each window what its panes were merged to."""
Group = tuple[int, int]
"""(window, row among its merged groups)"""
T = TypeVar("T")


class Verdict(msgspec.Struct, frozen=True):
    """The groups of one window that are not in its answer, by their rows."""

    failing: tuple[int, ...] = ()
    rejected: tuple[int, ...] = ()
    """By HAVING."""


class GroupJobs(Protocol):
    """What is asked of Spark; ``RootSpark`` does it."""

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        """Raises ``GroupFailed`` for a value, ``SparkFailed`` for anything else."""

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        """Raises either where there is no verdict."""


class Finished(msgspec.Struct, frozen=True):
    """Answers of windows; without rows or groups left out a window is not in it."""

    rows: dict[int, pa.Table] = {}
    left_out: dict[int, LeftOut] = {}
    estimates: dict[int, tuple[Estimate, ...]] = {}
    """Of samples."""
    lines: int = 0
    """Of one Spark over all files: how many it read, how many the query can't use, and why."""
    malformed: int = 0
    kinds: tuple[Malformed, ...] = ()


class GroupFinisher:
    """Safe to use from several threads, for different queries."""

    def __init__(self, jobs: GroupJobs) -> None:
        self._jobs = jobs
        self._known = KnownFailures()
        self._doubted: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def finish(self, query: Query, windows: WindowGroups) -> Finished:
        """Raises ``SparkFailed`` where it is no matter of single groups."""
        with self._lock:
            is_doubted = str(query.id) in self._doubted
        if not is_doubted:
            merged = {window: groups.merged for window, groups in windows.items()}
            found = ((window, overflowing(groups)) for window, groups in windows.items())
            left_out = {window: one for window, one in found if one}
            try:
                return Finished(self._jobs.finish(query, merged), left_out)
            except GroupFailed as error:
                log.info("groups of an answer fail", query=str(query.id), error=error.reason)
        search = _Search(self._jobs, query, windows, self._known)
        finished = search.finish()
        self._doubt(query, is_doubted=search.found_any)
        return finished

    def _doubt(self, query: Query, *, is_doubted: bool) -> None:
        with self._lock:
            self._doubted.pop(str(query.id), None)
            if is_doubted:
                self._doubted[str(query.id)] = None
            while len(self._doubted) > DOUBTED_MAX:
                self._doubted.popitem(last=False)


class KnownFailures:
    """Groups that failed, by all that they were made of, with Spark's words."""

    def __init__(self) -> None:
        self._reasons: OrderedDict[tuple[str, int, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._reasons)

    def reason(self, query: Query, window: int, row: pa.Table) -> str | None:
        with self._lock:
            return self._reasons.get(self._key(query, window, row))

    def remember(self, query: Query, window: int, row: pa.Table, reason: str) -> None:
        with self._lock:
            self._reasons[self._key(query, window, row)] = reason
            while len(self._reasons) > KNOWN_MAX:
                self._reasons.popitem(last=False)

    @staticmethod
    def _key(query: Query, window: int, row: pa.Table) -> tuple[str, int, str]:
        return str(query.id), window, repr([_text(column[0]) for column in row.columns])


class Searched(msgspec.Struct, Generic[T], frozen=True):
    """What halving found."""

    failing: dict[T, str]
    """With the reason of each."""
    unresolved: tuple[T, ...]
    """In parts that fail, or were not looked at, when the jobs were used up."""


def search_by_halving(
    items: Sequence[T], fails: Callable[[Sequence[T]], str | None], *, jobs_max: int
) -> Searched[T]:
    """Who fails, where ``fails`` gives the reason of a part in which somebody does.

    All are run, then the halves of what fails, then their halves, the larger parts first: when the
    jobs are used up, what is in doubt is small. If the first half of a failing part passes, it is
    the second that fails, and for the reason already given, so that one is not run.

    >>> search_by_halving(range(9), lambda part: "odd" if 7 in part else None, jobs_max=9).failing
    {7: 'odd'}
    """
    failing: dict[T, str] = {}
    unresolved: list[T] = []
    waiting: deque[tuple[Sequence[T], str | None]] = deque([(items, None)] if items else [])
    while waiting:
        part, reason = waiting.popleft()
        if reason is not None and len(part) == 1:
            failing[part[0]] = reason
        elif jobs_max <= 0:
            unresolved += part
        elif reason is None:
            jobs_max -= 1
            found = fails(part)
            if found is not None:
                waiting.append((part, found))
        else:
            jobs_max -= 1
            first, second = part[: len(part) // 2], part[len(part) // 2 :]
            found = fails(first)
            rest = (second, reason) if found is None else (second, None)
            waiting.extend([rest] if found is None else [(first, found), rest])
    return Searched(failing, tuple(unresolved))


class _Search:
    """The windows of one answer, of which at least one group fails, or did lately."""

    def __init__(
        self, jobs: GroupJobs, query: Query, windows: WindowGroups, known: KnownFailures
    ) -> None:
        self._jobs = jobs
        self._query = query
        self._known = known
        self._jobs_left = JOBS_MAX
        self._groups = windows
        self._failing: dict[Group, str] = {}
        self._rejected: set[Group] = set()
        self._unresolved: set[Group] = set()

    @property
    def found_any(self) -> bool:
        return bool(self._failing or self._rejected or self._unresolved)

    def finish(self) -> Finished:
        rows = self._finish_judged()
        if rows is None:
            rows = self._finish_halved()
        left_out = {window: self._left_out(window) for window in self._groups}
        return Finished(rows, {window: one for window, one in left_out.items() if one})

    # By one verdict

    def _finish_judged(self) -> dict[int, pa.Table] | None:
        """None: there is no verdict, or it does not hold."""
        merged = {window: groups.merged for window, groups in self._groups.items()}
        self._jobs_left -= 1
        try:
            verdicts = self._jobs.judge(self._query, merged)
        except (GroupFailed, SparkFailed) as error:
            self._forget_verdict(str(error))
            return None
        for window, verdict in verdicts.items():
            self._failing |= {(window, row): "" for row in verdict.failing}
            self._rejected |= {(window, row) for row in verdict.rejected}
        if not self._are_named():
            self._forget_verdict("a group that was to fail passes alone")
            return None
        try:
            return self._finish_good()
        except GroupFailed as error:
            self._forget_verdict(f"a group that was to pass fails: {error}")
            return None

    def _forget_verdict(self, why: str) -> None:
        log.warning("groups are searched one by one", query=str(self._query.id), why=why)
        self._failing, self._rejected = {}, set()

    def _are_named(self) -> bool:
        """Ask for the reasons of the groups that will be named; False: one of them passes."""
        asked = 0
        for group in self._to_be_named():
            reason = self._known.reason(self._query, group[0], self._row(group))
            if reason is None and asked < REASONS_MAX:
                asked += 1
                reason = self._fails([group]) or self._fails_beside_another(group)
                if reason is None:
                    return False
                self._known.remember(self._query, group[0], self._row(group), reason)
            self._failing[group] = reason or ""
        return True

    def _fails_beside_another(self, group: Group) -> str | None:
        """Spark computes no order of a single row, so a group may fail only in company."""
        window, out = group[0], self._failing.keys() | self._rejected
        rows = range(self._groups[window].merged.num_rows)
        other = next(((window, row) for row in rows if (window, row) not in out), None)
        return None if other is None else self._fails([group, other])

    def _to_be_named(self) -> list[Group]:
        """The first of each window, then the second of each, and so on."""
        places: dict[int, int] = {}
        found: list[tuple[int, Group]] = []
        for group in self._failing:
            place = places[group[0]] = places.get(group[0], 0) + 1
            if place <= LEFT_OUT_NAMED_MAX:
                found.append((place, group))
        return [group for _, group in sorted(found)]

    # By halving

    def _finish_halved(self) -> dict[int, pa.Table]:
        self._halve()
        try:
            return self._finish_good()
        except GroupFailed as error:
            raise SparkFailed(f"{error} (though each of its groups passes)") from error

    def _halve(self) -> None:
        doubted: list[Group] = []
        for window, groups in self._groups.items():
            for group in ((window, row) for row in range(groups.merged.num_rows)):
                reason = self._known.reason(self._query, window, self._row(group))
                if reason is not None:
                    self._failing[group] = reason
                else:
                    doubted.append(group)
        # One job is kept for the answer itself.
        found = search_by_halving(doubted, self._fails, jobs_max=self._jobs_left - 1)
        self._unresolved = set(found.unresolved)
        for group, reason in found.failing.items():
            # Halving goes by who is left over. Nobody is accused who passes alone.
            if self._jobs_left > 1 and self._fails([group]) is None:
                self._unresolved.add(group)
                continue
            self._failing[group] = reason
            self._known.remember(self._query, group[0], self._row(group), reason)

    # Both

    def _finish_good(self) -> dict[int, pa.Table]:
        """The others in one job. Raises ``GroupFailed`` if one of them fails nevertheless."""
        self._jobs_left -= 1
        out = self._failing.keys() | self._rejected | self._unresolved
        good = {}
        for window, groups in self._groups.items():
            kept = [row for row in range(groups.merged.num_rows) if (window, row) not in out]
            if kept:
                good[window] = groups.merged.take(kept)
        if good:
            return self._jobs.finish(self._query, good)
        return self._finish_nothing()

    def _finish_nothing(self) -> dict[int, pa.Table]:
        """Where every group fails, the query itself may be at fault: then there is no answer."""
        window, groups = next(iter(self._groups.items()))
        try:
            return self._jobs.finish(self._query, {window: groups.merged.slice(0, 0)})
        except GroupFailed as error:
            raise SparkFailed(f"{error} (also without any group)") from error

    def _fails(self, part: Sequence[Group]) -> str | None:
        """Whether Spark refuses these groups; whatever else is in the answer does not matter."""
        self._jobs_left -= 1
        rows: dict[int, list[int]] = {}
        for window, row in part:
            rows.setdefault(window, []).append(row)
        part_rows = {w: self._groups[w].merged.take(numbers) for w, numbers in rows.items()}
        try:
            self._jobs.finish(self._query, part_rows)
        except GroupFailed as error:
            return error.reason
        return None

    def _row(self, group: Group) -> pa.Table:
        return self._groups[group[0]].merged.slice(group[1], 1)

    # What is said

    def _left_out(self, window: int) -> LeftOut:
        groups = self._groups[window]
        failing = [group for group in self._failing if group[0] == window]
        unresolved = [group for group in self._unresolved if group[0] == window]
        keys = groups.merged.select(groups.overflowing.column_names)
        named = tuple(
            LeftOutGroup(_keys(keys, group[1]), self._failing[group])
            for group in failing[:LEFT_OUT_NAMED_MAX]
        )
        return overflowing(groups) + LeftOut(
            count=len(failing) + len(unresolved), unresolved=len(unresolved), named=named
        )


def overflowing(groups: Groups) -> LeftOut:
    """The groups that have no row, since merging them leaves a type."""
    reason = groups.reason or f"a sum leaves its type: {', '.join(groups.columns)}"
    named = range(min(groups.overflowing_count, LEFT_OUT_NAMED_MAX))
    return LeftOut(
        count=groups.overflowing_count,
        named=tuple(LeftOutGroup(_keys(groups.overflowing, row), reason) for row in named),
    )


def _keys(table: pa.Table, row: int) -> dict[str, str | None]:
    return {name: _key_text(table.column(name)[row]) for name in table.column_names}


def _key_text(value: pa.Scalar) -> str | None:
    text = _text(value)
    if text is None or len(text) <= KEY_CHARACTERS_MAX:
        return text
    return text[: KEY_CHARACTERS_MAX - 1] + "…"


def _text(value: pa.Scalar) -> str | None:
    """Also of what Python has no value for, such as the year 12026."""
    if not value.is_valid:
        return None
    if pa.types.is_binary(value.type):
        return str(value.as_py().hex())
    try:
        return str(value)
    except (OverflowError, ValueError):
        (found,) = python_values(pa.array([value]))
        return str(found)
