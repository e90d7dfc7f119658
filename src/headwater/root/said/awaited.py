"""Which window of a query is answered next, when, and who is missing from it: for ``watch``.

Times are times of day by the sites' clocks in the median, as windows are: what a person compares
them with is the clock on the wall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headwater.algebra.panes import MICROS
from headwater.algebra.windows.sequence_grid import number_text
from headwater.algebra.words.remark import RemarkKind
from headwater.algebra.words.site_state import Reason
from headwater.plan.timestamps import timestamp_text

if TYPE_CHECKING:
    from headwater.root.root import Root

MISSING_NAMED_MAX = 4
DAY_US = 86_400 * MICROS
"""A window so long, which a question about a week has, is not told by times of day."""


class AwaitedWindow(msgspec.Struct, frozen=True):
    """The oldest window without an answer."""

    window: int
    start_us: int
    end_us: int
    due_us: int | None
    """When it is answered at the latest; None: when it is complete, however long that takes."""
    has_ended: bool
    is_due: bool
    missing: tuple[str, ...]
    """Sites that are not in, with the reason; the first few."""
    missing_count: int
    counted: str = ""
    """The column whose numbers start and end are; empty: they are times."""

    def text(self) -> str:
        span = f"{_clock(self.start_us)} to {_clock(self.end_us)} UTC"
        if self.end_us - self.start_us >= DAY_US:
            span = f"{_moment(self.start_us)} to {_moment(self.end_us)}"
        if self.counted:
            span = f"{number_text(self.counted, self.start_us)} to {self.end_us}"
        latest = "" if self.due_us is None else f"answered at {_clock(self.due_us)} at the latest"
        if not self.has_ended:
            return f"waiting for the window {span}: it has not ended" + (latest and f"; {latest}")
        if self.is_due:
            latest = "its deadline has passed, and an answer is being made"
        missing = "; ".join(self.missing)
        rest = self.missing_count - len(self.missing)
        more = f" and {rest} more sites" if rest > 0 else ""
        lacks = f"it lacks {missing}{more}" if missing else "it is complete"
        return f"waiting for the window {span}: {lacks}" + (latest and f"; {latest}")


def awaited_window(root: Root, *, now_s: float) -> AwaitedWindow | None:
    """None: only records make windows here, and none is open; or it is a level, and no site is at
    it for one."""
    book, join = root.windows, root.answers.join
    if join is None:
        number = book.next_unanswered()
    else:
        open_ = sorted(n for n, window in book.windows.items() if not window.revision)
        number = next((n for n in open_ if join.is_any(n)), None)
    if number is None:
        return None
    spec, shown_s = book.spec, now_s - book.lag_s
    due_s = book.answered_by_s(number)
    found = root.answers.assess(number)
    how_far = {
        one.site: one.text for one in root.table.remarks() if one.kind == RemarkKind.CATCHING_UP
    }
    missing = {one.site: one.reason or str(one.state) for one in found.missing}
    missing |= {
        one.site: how_far[one.site]
        for one in found.missing
        if one.reason == Reason.CATCHING_UP and one.site in how_far
    }
    named = [f"{site} ({reason})" for site, reason in list(missing.items())[:MISSING_NAMED_MAX]]
    return AwaitedWindow(
        window=number,
        start_us=spec.window_start_us(number),
        end_us=spec.window_end_us(number),
        due_us=None if due_s is None else round((due_s - book.lag_s) * MICROS),
        has_ended=book.has_ended(number, shown_s=shown_s),
        is_due=due_s is not None and due_s <= now_s,
        missing=tuple(named),
        missing_count=found.missing_count,
        counted=root.query.counted,
    )


def newest_expected(root: Root, *, now_s: float) -> int | None:
    """The last window that should have an answer by now, or has one already; where none should,
    the one that is awaited. None: no window was ever heard of."""
    due = root.windows.last_due(now_s=now_s)
    answered = root.answers.newest
    if due is None and answered is None:
        return root.windows.next_unanswered()
    return max(one for one in (due, answered) if one is not None)


def _clock(time_us: int) -> str:
    """
    >>> _clock(9_500_000)
    '00:00:09'
    """
    return _moment(time_us).partition(" ")[2].removesuffix(" UTC")


def _moment(time_us: int) -> str:
    return timestamp_text(time_us // MICROS * MICROS)
