"""Reading a root for people: why a window is as it is, and how far the query has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from headwater.algebra.sets import bitset
from headwater.algebra.words.remark import RemarkKind, SiteRemark
from headwater.algebra.words.site_state import FOREVER, PaneState, Reason
from headwater.root.said.assess import alarms_of
from headwater.root.said.degraded import DEGRADED_LISTED_MAX
from headwater.root.said.envelope import LeftOut, MissingSite
from headwater.root.said.explain import (
    BEFORE_BEGIN,
    OVER,
    Explanation,
    RootProgress,
    SiteAhead,
    SiteUnread,
)
from headwater.root.said.sampled import sample_of

if TYPE_CHECKING:
    from headwater.root.root import Root
    from headwater.root.windows import Window

ABSENT_SHOWN_MAX = 8


def explain(root: Root, number: int) -> Explanation:
    window = root.windows.windows.get(number)
    found = root.answers.assess(number)
    status = _status(root, number, is_exact=found.is_exact)
    none_of_ours = _none_of_ours(root, number, status)
    if status in (BEFORE_BEGIN, OVER):
        return none_of_ours
    return msgspec.structs.replace(
        none_of_ours,
        revision=window.revision if window else 0,
        first_trigger=window.first_trigger if window else None,
        expected=found.expected,
        covered=min(found.covered, found.expected - found.missing_count),
        behind=max(0, found.covered - found.expected + found.missing_count),
        missing=found.missing,
        missing_count=found.missing_count,
        damaged=found.damaged,
        awaited=(*_awaited(root, number), *_whom_to_ask(window, found.missing)),
        left_out=window.left_out if window else LeftOut(),
        bounded=root.query.bounds,
        withheld=found.withheld,
        degraded=found.degraded[:DEGRADED_LISTED_MAX],
        degraded_count=len(found.degraded),
        sampled=sample_of(root.query),
        settings=found.settings,
        altered=altered_lines(root, number),
        alarms=alarms_of(root.scoreboard, root.alarms, root.windows.spec, number),
        disputed=found.disputed,
        fidelity=root.answers.reached(found),
    )


def altered_lines(root: Root, number: int) -> tuple[str, ...]:
    """What holds for the window where settings were altered, and what will hold for later ones; and
    who has which share of a bound."""
    book, spec = root.table.settings, root.windows.spec
    last = spec.panes_of(number).stop - 1
    lines = []
    if book.number_at(last):
        lines.append(f"settings {book.number_at(last)}: {book.at(last).text()}")
    for one in book.pending(last):
        at = root.query.bound_text(spec.pane_start_us(one.pane))
        lines.append(f"from {at} on settings {one.number}: {one.settings.text()}")
    tops = root.books.tops
    lines += root.books.shares.lines(last)
    return (*lines, *(() if tops is None else tops.lines(last)))


def _none_of_ours(root: Root, number: int, status: str) -> Explanation:
    """What is said of any window. Of one that is over, or before the begin, it is all: the boards
    have nothing of it, which must not pass for sites that are missing."""
    spec, panes = root.windows.spec, root.windows.spec.panes_of(number)
    return Explanation(
        stream=root.query.id.name,
        query=root.id,
        window=number,
        start_us=spec.window_start_us(number),
        end_us=spec.window_end_us(number),
        counted=root.query.counted,
        panes=(panes.start, panes.stop - 1),
        status=status,
        revision=0,
        expected=0,
        covered=0,
        awaited=tuple(_awaited_of_none(root, number)),
        ahead=sites_ahead(root),
        unread=sites_unread(root),
        unparsed=root.table.tally.unparsed,
        remarks=all_remarks(root),
        unconfirmed=root.table.unconfirmed(),
        unwanted=root.answers.unwanted_panes(),
        part=root.query.part,
        alarms=alarms_of(root.scoreboard, root.alarms, root.windows.spec, number),
    )


def sites_ahead(root: Root) -> tuple[SiteAhead, ...]:
    """The sites that read records from the future."""
    tallies = ((root.table.names[o], view.state.tally) for o, view in root.table.views.items())
    return tuple(
        SiteAhead(name, tally.fenced, tally.refused)
        for name, tally in tallies
        if tally.fenced or tally.refused
    )


def sites_unread(root: Root) -> tuple[SiteUnread, ...]:
    """The sites that do not read some of their input."""
    states = ((root.table.names[o], view.state) for o, view in root.table.views.items())
    return tuple(SiteUnread(name, state.unread) for name, state in states if state.unread)


def all_remarks(root: Root) -> tuple[SiteRemark, ...]:
    """What sites remark about their input, and which of them lack a part of the past."""
    return (*_begun_later(root), *root.table.remarks())


def _begun_later(root: Root) -> Iterator[SiteRemark]:
    begin, spec = root.query.begin_pane, root.windows.spec
    if begin is None or not root.query.wants_past:
        return
    for ordinal, view in sorted(root.table.views.items()):
        first = view.state.first_pane
        if first is not None and begin < first < FOREVER:
            text = first_whole_text(root.query.bound_text(spec.pane_start_us(first)))
            yield SiteRemark(root.table.names[ordinal], RemarkKind.NOT_RETAINED, text)


def first_whole_text(start: str) -> str:
    return f"its first whole pane begins at {start}; what was before is declined"


def progress_of(root: Root) -> RootProgress:
    table, answers = root.table, root.answers
    views = [(table.names[ordinal], view.state) for ordinal, view in table.views.items()]
    return RootProgress(
        query=root.id,
        stream=root.query.id.name,
        open_windows=len(root.windows.windows),
        newest_answered=answers.newest,
        sites_refused=tuple(name for name, state in views if state.status == "refused"),
        sites_suspended=tuple(name for name, state in views if state.status == "suspended"),
        parked=len(root.parking),
        counters=dict(root.counters),
        failure=answers.failure,
        alarms=len(root.alarms),
        alarms_raised=dict(root.alarms.raised),
    )


def site_offsets_s(root: Root) -> dict[str, float]:
    """By site: how far the root's wall clock is ahead of its, as it last told."""
    ahead_s = root.windows.ahead_s
    offsets_s = root.table.offsets_s().items()
    return {root.table.names[ordinal]: told_s + ahead_s for ordinal, told_s in offsets_s}


def _status(root: Root, number: int, *, is_exact: bool) -> str:
    window = root.windows.windows.get(number)
    if root.windows.is_before_begin(number):
        return BEFORE_BEGIN
    if window is None:
        return OVER if root.windows.is_over(number) else "unknown"
    if not window.revision:
        return "open"
    if window.is_final:
        return "final"
    if not is_exact or window.left_out:
        return "answered"
    return "bounded" if root.query.bounds else "exact"


def _awaited(root: Root, number: int) -> list[str]:
    """What happens next with this window, in sentences."""
    window = root.windows.windows.get(number)
    if window is None:
        return _awaited_of_none(root, number)
    sentences = _next_step(root, window)
    spares = sum(pane in root.parking for pane in root.windows.spec.panes_of(number))
    if spares:
        sentences.append(f"Spares of {spares} panes are parked until the window is answered.")
    if root.answers.failure is not None:
        sentences.append(f"The last answer failed and is tried again: {root.answers.failure}")
    sentences += _absent_lines(root, window)
    return sentences


def _absent_lines(root: Root, window: Window) -> Iterator[str]:
    if window.revision:
        return
    absences, names = root.books.absences, root.books.site_names
    absent = root.answers.absent(window)
    for ordinal in islice(bitset.members(absent & root.table.expected), ABSENT_SHOWN_MAX):
        said = dict(absences.said_of(ordinal))
        parents = " and ".join(sorted(names[parent] for parent in said))
        age_s = max(said.values())
        verb = "have lost it, as they" if len(said) > 1 else "has lost it, as it"
        yield (
            f"{names[ordinal]} is absent: {parents} {verb} said {age_s:.1f} s ago. "
            "Nobody waits for it."
        )


def _whom_to_ask(window: Window | None, missing: Iterable[MissingSite]) -> list[str]:
    """What keeps a site from speaking, or from getting on (a full disk, for one), is not told."""
    is_due = window is not None and (window.revision > 0 or window.is_overdue)
    for one in missing:
        is_silent = is_due and one.state is PaneState.UNKNOWN
        if is_silent or one.reason == Reason.CATCHING_UP:
            ask = f"headwater streams --at {one.site}"
            return [f"Whether anything holds up {one.site}, a full disk say, it says itself: {ask}"]
    return []


def _awaited_of_none(root: Root, number: int) -> list[str]:
    book = root.windows
    if book.is_before_begin(number):
        first = root.query.bound_text(book.spec.window_start_us(book.first))
        return [f"It is before the query's begin: its first window is {book.first}, from {first}."]
    if book.is_over(number):
        return ["The window is over: it is final, or beyond the horizon; its results stay."]
    has_passed = book.has_passed(number)
    if has_passed is None:
        return ["No site has told of records in this window, and only records make a window here."]
    if has_passed:
        return ["Nothing has been heard of this window, though its end has come."]
    return ["Nothing has been heard of this window, and its end has not come."]


def _next_step(root: Root, window: Window) -> list[str]:
    if window.is_asked:
        return ["An answer is being made now."]
    if window.is_final:
        return ["It is final: nothing can change any more."]
    if not window.revision:
        return _first_step(root, window)
    if window.reached.is_silent:
        return ["It has no rows before it has what is demanded; it may still come to that."]
    stop = root.windows.spec.panes_of(window.window).stop
    if any(pane in root.scoreboard.disputed for pane in range(*_span(root, window))):
        return ["Sites whose updates are in what is disputed are asked for their own, signed."]
    if window.unsettled:
        count = window.unsettled
        await_ = "1 pane awaits" if count == 1 else f"{count} panes await"
        return [f"It is revised when more arrives; {await_} something."]
    if root.table.sealed_through < stop:
        return ["Everything announced is in; it becomes final when every site has sealed it."]
    if root.scoreboard.agreed_through < stop:
        return ["It becomes final when what is held is what every site's digests say."]
    return ["It is about to become final."]


def _span(root: Root, window: Window) -> tuple[int, int]:
    panes = root.windows.spec.panes_of(window.window)
    return panes.start, panes.stop


def _first_step(root: Root, window: Window) -> list[str]:
    join = root.answers.join
    if join is not None and not join.is_any(window.window):
        return ["No site is at this level in it, so far: it is answered only where one is."]
    if root.windows.settings_of(window.window).waits and not window.is_overdue:
        return ["It is answered at its deadline, and not before."]
    if not window.unsettled:
        return ["It is complete and is answered next."]
    if root.query.ends:
        return ["The input is finite: it is answered when it is complete."]
    if root.windows.answered_by_s(window.window) is None:
        return ["It is answered when complete; its deadline runs once a site has closed its end."]
    if window.is_overdue:
        return ["Its deadline has passed and it is answered next."]
    demand = root.query.awaited_demand
    if demand is not None:
        return [f"It is answered when {demand.text()} of it is in, or at its deadline."]
    return ["It is answered when complete, or at its deadline."]
