"""The queries that an agent knows, by id: what their rows look like and how they merge.

Messages, segments and ledgers name a query by its id alone. Whoever meets an id, the decoder of
the wire or the cube's thread, looks here. Entries are added when a command is accepted and stay
until the process ends, since rows of a removed query may still be about.
"""

from __future__ import annotations

import contextlib

import msgspec
import pyarrow as pa

from headwater.algebra.aggregates import FOLDS
from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import folded_columns
from headwater.algebra.rows.taken_rows import Take, taker
from headwater.algebra.rows.types import summary_schema
from headwater.algebra.windows.last_rows import LastRows
from headwater.errors import StoreError
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.degrading.companion import level_fault
from headwater.plan.query import Query
from headwater.sql.admit.needs import asks_for_all_rows, copies_column
from headwater.store.cube.row_limit import GROWING_ROWS_MAX, RowLimit
from headwater.store.level_rows import LevelGrid


class QueryBook:
    """Written by the event loop, read by any thread; entries never change."""

    def __init__(self, *, growing_rows_max: int = GROWING_ROWS_MAX) -> None:
        self._growing_rows_max = growing_rows_max
        self._queries: dict[str, Query] = {}
        self._mergers: dict[str, ArrowMerger] = {}
        self._settings: dict[str, SettingsBook] = {}
        """Where they are others than those of the install."""
        self._levels: dict[str, tuple[str, ...]] = {}
        """By the id of the full query: those that stand for it."""
        self._early: dict[str, EarlyRows | None] = {}
        self.early_rows = self._early.get
        """What keys that leave before the close are chosen by; None: none do, and none did."""
        self._schemas: dict[str, pa.Schema] = {}
        self.schema = self._schemas.get
        """What rows of a query must look like, by its id; None: not known here."""
        self._takers: dict[str, Take | None] = {}
        self.taker = self._takers.get
        """What takes in rows from the wire, by the query's id; None: they are taken as they are."""

    def add(self, query: Query) -> None:
        name = str(query.id)
        self._mergers[name] = ArrowMerger(query.program)
        self._takers[name] = taker(query.program)
        self._schemas[name] = summary_schema(query.program)
        self._queries[name] = query
        self._early[name] = self._early_rows(name)
        level = query.stands_for
        if level is not None:
            known = self._levels.get(level.of, ())
            self._levels[level.of] = (*(one for one in known if one != name), name)

    def add_if_sound(self, query: Query) -> None:
        """One whose rows can't be told is left out: nothing will be made of it, and others are not
        held up by it."""
        with contextlib.suppress(Exception):
            self.add(query)

    def query(self, name: str) -> Query:
        found = self._queries.get(name)
        if found is None:
            raise StoreError(f"query {name!r} is not known here")
        return found

    def merger(self, name: str) -> ArrowMerger:
        self.query(name)
        return self._mergers[name]

    def row_limit(self, name: str) -> RowLimit | None:
        """Of the rows that this site sends of a pane; None: a group is one row, and there is no
        limit but that of their bytes."""
        query = self.query(name)
        folds = folded_columns(query.program)
        instead = next((FOLDS[one.fold].instead for one in folds if one.fold in FOLDS), None)
        if instead is None and asks_for_all_rows(query):
            instead = "write ORDER BY … LIMIT, of which the first rows are kept"
        if instead is None:
            return None
        return RowLimit(self._growing_rows_max, instead, copies_column(query) or "")

    def last_rows(self, name: str) -> LastRows | None:
        """Of a state query; None: it is none, or not known here."""
        query = self._queries.get(name)
        if query is None or not isinstance(query.last_n, int) or query.begin_pane is None:
            return None
        return LastRows(query.last_n, query.begin_pane)

    def keep_s(self, name: str) -> float:
        """How long its panes are kept at least; 0: as long as any."""
        query = self._queries.get(name)
        return query.keep_s if query is not None and isinstance(query.keep_s, float) else 0.0

    def alter(self, name: str, settings: SettingsBook) -> None:
        """By which settings this site goes, pane by pane."""
        self._settings[name] = settings
        self._early[name] = self._early_rows(name)

    def allowance(self, name: str, pane: int) -> Allowance | None:
        """What this site may keep back of a pane; None: nothing. Of an input that ends there is no
        scarce link and no deadline, so all of it is sent, and what would have stayed is counted."""
        query, settings = self.query(name), self._settings.get(name)
        if settings is None:
            if query.tolerates is None:  # as of nearly all
                return None
            settings = SettingsBook(Settings.of(query))
        tolerance = settings.at(pane).tolerance
        if tolerance is None:
            return None
        return Allowance(
            tolerance.at_sites(),
            query.window.panes_per_window,
            settings.part_at(pane),
            is_rehearsed=query.ends,
            keys=query.group_keys,
            is_growing=not isinstance(query.program.folding, msgspec.UnsetType),
        )

    def _early_rows(self, name: str) -> EarlyRows | None:
        """For panes under any of its settings: of a query that has been altered something may have
        left early under settings that are gone, and its close must know."""
        query, settings = self._queries.get(name), self._settings.get(name)
        if query is None or not query.may_send_early:
            return None
        changes = () if settings is None else settings.changes
        every = [query, *(one.settings.on(query) for one in changes)]
        asked = [one for one in every if one.round_count > 1]
        if (not asked and not changes) or self.row_limit(name) is not None:
            return None
        tolerated = (one.tolerates.columns for one in asked if one.tolerates is not None)
        largest = {one.partial for columns in tolerated for one in columns if one.is_largest}
        measures = dict.fromkeys(name for one in asked for name in one.early_measures)
        keys = tuple(key.name for key in query.program.keys)
        return EarlyRows(keys, tuple(measures), tuple(sorted(largest)), is_asked=bool(asked))

    def levels(self, name: str) -> tuple[LevelGrid, ...]:
        """Which others get rows of this query's batches."""
        full = self._queries.get(name)
        found = (self._queries[one] for one in self._levels.get(name, ()) if full is not None)
        return tuple(
            LevelGrid(str(one.id), full.window, one.window, level.coarsening)
            for one in found
            if full is not None
            and (level := one.stands_for) is not None
            and level_fault(full, one) is None
        )

    def merger_of(self, query: Query) -> ArrowMerger:
        if str(query.id) not in self._mergers:
            self.add(query)
        return self._mergers[str(query.id)]
