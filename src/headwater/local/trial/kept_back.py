"""What the sites of a trial would have kept back under the error that a stream asks for.

A trial has no scarce link, so it sends everything. Its cubes look at each pane that they close as
those of live sites do, and count what would have stayed. What the answers of a live federation
would then have stated is computed of that as the root does it: merged over the sites and panes of
each window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

import msgspec

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.remainders.withhold import Rehearsed
from headwater.plan.degrading.degradation import LEVEL_KINDS
from headwater.plan.durations import duration_text
from headwater.plan.query import Query
from headwater.root.said.withheld import OF_RECORDS, StatedError, stated_errors
from headwater.sql.alter import written_options
from headwater.sql.read.answering import LOOK_S


class WorstColumn(msgspec.Struct, frozen=True):
    """A column in the window in which it would have been off the most."""

    window: int
    stated: StatedError


class KeptBack(msgspec.Struct, frozen=True):
    """Of one query, over all sites."""

    rows: int
    """That sites had to send."""
    kept: int
    """Of them, those that would have stayed at the close of their panes."""
    worst: tuple[WorstColumn, ...] = ()
    """One for each column, where any window would have lacked something."""


def kept_back(
    query: Query, sites: Sequence[Mapping[int, Rehearsed]], windows: Iterable[int]
) -> KeptBack | None:
    """``sites`` have what each would have kept back, by pane; None: no error was asked for."""
    tolerance = query.tolerates
    if tolerance is None:
        return None
    looked_at = [pane for site in sites for pane in site.values()]
    stated = [
        WorstColumn(window, column)
        for window in windows
        if (found := stated_errors((tolerance,), _of_window(query, sites, window)))
        for column in found.columns
    ]
    return KeptBack(
        rows=sum(one.rows for one in looked_at),
        kept=sum(one.kept for one in looked_at),
        worst=_worst(stated),
    )


def _of_window(query: Query, sites: Sequence[Mapping[int, Rehearsed]], window: int) -> Remainders:
    panes = query.window.panes_of(window)
    found = [site[pane].remainders for site in sites for pane in panes if pane in site]
    return reduce(merge_remainders, found, ())


def _worst(stated: Iterable[WorstColumn]) -> tuple[WorstColumn, ...]:
    """In the terms in which it was asked; of equal ones the first window."""
    found: dict[str, WorstColumn] = {}
    for one in stated:
        former = found.get(one.stated.column)
        if former is None or _size(one.stated) > _size(former.stated):
            found[one.stated.column] = one
    return tuple(found.values())


def _size(stated: StatedError) -> float:
    return stated.largest if stated.share is None else stated.share


def kept_back_lines(query: Query, found: KeptBack) -> list[str]:
    """For people, after the answers."""
    tolerance = query.tolerates
    assert tolerance is not None, "only a query with an error keeps something back"
    name, asked = query.id.name, asked_text(tolerance)
    share = f" ({found.kept / found.rows:.0%})" if found.kept else ""
    kept = f"{found.kept:,}" if found.kept else "none"
    first = (
        f"{name}: error {asked}: sites would have kept back {kept} of {found.rows:,} rows{share}"
    )
    if tolerance.top is not None:
        first = (
            f"{name}: nothing is given up in a trial, which has no narrow link; with the largest "
            f"{tolerance.top.count} alone sites would keep back {kept} of {found.rows:,} "
            f"rows{share}, before the root asks for what it needs"
        )
    elif tolerance.is_by_link:
        first = (
            f"{name}: nothing is given up in a trial, which has no narrow link; at its limit the "
            f"threshold would keep back {kept} of {found.rows:,} rows{share}"
        )
    if not found.kept and any(one.form is ErrorForm.VALUE for one in tolerance.columns):
        first += "; an error of each value needs every group"
    return [first, *(f"{name}: {_column_text(query, one)}" for one in found.worst)]


def level_lines(query: Query) -> Iterator[str]:
    """Of levels, none of which any site goes to."""
    operators = () if query.degrades is None else query.degrades.operators
    levels = [one for one in operators if one.kind in LEVEL_KINDS]
    if not levels:
        return
    texts = ", ".join(f"{one.text} in {len(one.levels)}" for one in levels)
    yield (
        f"{query.id.name}: nothing is given up in a trial, which has no narrow link; on one, sites "
        f"would go from level to level, each answered in a stream beside this one: {texts}"
    )


def staleness_lines(query: Query) -> Iterator[str]:
    """Of a staleness, which no answer of a trial goes by."""
    if not any(name == "staleness" for name, _ in written_options(query.program.text)):
        return
    timing = query.timing
    left_s = timing.deadline_s - timing.disorder_s - LOOK_S
    yield (
        f"{query.id.name}: a trial waits until all is in. Live, a window is answered "
        f"{_seconds(timing.deadline_s)} after its end with what is in by then: sites wait "
        f"{_seconds(timing.disorder_s)} for records in disorder and look for them every "
        f"{_seconds(LOOK_S)}, which leaves {_seconds(left_s)} for the way; what takes longer "
        "leaves early, as far as it is done, or follows"
    )


def _seconds(seconds: float) -> str:
    return duration_text(round(seconds * 1_000) * 1_000)


def asked_text(tolerance: Tolerance) -> str:
    """As it can be written: once where it is the same for all columns."""
    texts = {one.column: one.bound.text() for one in tolerance.columns}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{column}: {text}" for column, text in texts.items())


def _column_text(query: Query, worst: WorstColumn) -> str:
    stated = worst.stated
    share = "" if stated.share is None else f" ({stated.share * 100:.3g} % of {stated.share_of})"
    start = query.bound_text(query.window.window_start_us(worst.window))
    if stated.share_of == OF_RECORDS:
        return (
            f"{stated.column} would lack at most {stated.largest:,.12g} records of a group{share}, "
            f"in the window from {start}"
        )
    return (
        f"{stated.column} would be off by at most {stated.largest:,.12g}{share}, "
        f"in the window from {start}"
    )
