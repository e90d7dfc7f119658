"""Which shares of absolute bounds the root has dealt out, by tables that each name some panes.

Why the bound holds, whatever a site has heard: ``algebra/remainders/share_table``. A further table
is made when the panes that are named run out, by what sites have told of their flushes since; and
on the disk before an acknowledgement tells it.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.share_table import (
    TABLES_TOLD_MAX,
    Dealing,
    ShareTable,
    moved_levels,
)
from headwater.algebra.words.site_state import flush_s
from headwater.root.site_table import SiteTable
from headwater.root.windows import WindowBook

NAMED_MAX = 5
"""Sites whose shares people are shown, the largest first."""


class ShareBook:
    def __init__(self, table: SiteTable, windows: WindowBook, *, worth_s: float) -> None:
        """``worth_s``: who would flush a pane in less needs no share."""
        self._table, self._windows, self._worth_s = table, windows, worth_s
        self.tables: tuple[ShareTable, ...] = ()
        """The newest ones, that an acknowledgement tells, by their panes."""
        self._named_through: int | None = None
        """The first pane that no table names; None: not looked at yet."""

    def restore(self, tables: tuple[ShareTable, ...]) -> None:
        """What a former process has dealt out."""
        if tables:
            self.tables, self._named_through = tables, tables[-1].last + 1

    @property
    def _dealing(self) -> Dealing | None:
        """None: nothing that moves is asked for."""
        found = (one.dealing for one in self._table.settings.tolerances)
        return next((one for one in found if isinstance(one, Dealing)), None)

    def follow(self, *, now_s: float) -> bool:
        """Whether there is a further table, or the last one goes on: it is to be kept. By clocks
        that most sites have not told nothing is dealt out."""
        dealing = self._dealing
        if dealing is None or not self._table.knows_most_clocks:
            return False
        window = self._windows.spec
        pane = window.pane_at(round((now_s - self._windows.lag_s) * MICROS))
        if self._named_through is None:
            self._named_through = dealing.first_named(pane)
        if not dealing.is_due(self._named_through, pane):
            return False
        self._name(self._named_through, max(self._named_through, dealing.named_with(pane)))
        return True

    def _name(self, first: int, last: int) -> None:
        former = self.tables[-1] if self.tables else None
        flushes = self._table.views.items()
        flush = {at: flush_s(view.state.flush_level) for at, view in flushes}
        levels = moved_levels(
            former.levels if former is not None else (),
            self._table.names,
            flush,
            worth_s=self._worth_s,
        )
        if former is not None and former.levels == levels:
            tables = (*self.tables[:-1], ShareTable(former.number, former.first, last, levels))
        else:
            number = 1 if former is None else former.number + 1
            tables = (*self.tables, ShareTable(number, first, last, levels))
        self.tables, self._named_through = tables[-TABLES_TOLD_MAX:], last + 1

    def lines(self, pane: int) -> Iterator[str]:
        """How it is dealt out in a pane, for people."""
        dealing = self._dealing
        if dealing is None:
            return
        table = next((one for one in self.tables if one.first <= pane <= one.last), None)
        if pane < dealing.first:
            yield "an absolute bound is dealt out evenly among the sites"
        elif table is None:
            yield "no table of shares names these panes: sites keep nothing back by a number"
        else:
            shares = sorted(table.shares().items(), key=lambda one: (-one[1], one[0]))
            named = [
                f"{self._table.names.get(site, site)} {share:.1%}"
                for site, share in shares[:NAMED_MAX]
            ]
            more = f" and {len(shares) - NAMED_MAX} more" if len(shares) > NAMED_MAX else ""
            yield (
                f"shares of an absolute bound by table {table.number}, panes {table.first} to "
                f"{table.last}: {', '.join(named)}{more}"
            )
