"""The site parts of several queries as one statement: one job reads the lines for all of them.

A job for each query reads what was kept of the lines, and keeping them costs half as much as
parsing them. In one statement a record is parsed, then written down once for each query that it
concerns, in columns that all queries share, and all are grouped together::

    record                          group  pane  key     value            rows of the group
    12:00:01, a.example, 200, 17      0      0   a.example   17     →     query 0
                                      1      0   (null)       1     →     query 1
                                      2      0   (null)      …      →     the tally of the lines

Spark's operator for this is ``Expand``, and ``UNPIVOT`` is its name in SQL. A column that queries
share is a *slot*, by what is done with it and its type: the keys of one query stand where those of
another do, and two sums of bigints need one slot if no query has both.

A query without others needs no second row for the tally: each line is in one group, those that do
not concern the query in one of two more at each site, and the tally is what all groups of the site
count together. That halves what is grouped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.types import site_schema
from headwater.plan.query import Query
from headwater.spark.lines.fields import quoted
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.parse import BAD, Parser
from headwater.spark.site.plain_part import ROWS, PlainPart, Slot, Value, part_of
from headwater.spark.site.query_group import QueryGroup, need_of
from headwater.spark.site.tally import MASK

QUERIES_MAX = 8
"""In one statement. Reading the lines again costs less than code that Java does not compile."""
FIELDS_MAX, QUERY_FIELDS = 90, 12
"""Columns of one step, and of one query. Beyond a hundred Spark generates no code for a step."""
GROUP, PANE, KEY, VALUE = "__group", "__pane", "__key_", "__value_"
IS = "__is_"
"""Followed by the number of the query: whether the record concerns it."""
LINES, LOW, TOP = TALLY = ("lines", "low_time_us", "top_time_us")
OWN, REST, MALFORMED = 0, 1, 2
"""Groups of the lines of a single query: those that concern it, other records, no records."""

_Row = dict[str, str]
"""Of the expansion: by the name of the slot, the column that is written there."""


class Joint(msgspec.Struct, frozen=True):
    """The statement, and where the columns of each query are in what it yields."""

    sql: str
    queries: tuple[Query, ...]
    places: tuple[tuple[str, ...], ...]
    is_single: bool = False
    """One query, whose groups count the tally as well."""

    def rows_of(self, table: pa.Table, number: int) -> pa.Table:
        """Of one query, in its own columns, with the site last."""
        own = table.filter(pc.equal(table.column(GROUP), number))
        names = [*site_schema(self.queries[number].program).names, SITE]
        return own.select([*self.places[number], SITE]).rename_columns(names)

    def tallies_of(self, table: pa.Table) -> list[dict[str, Any]]:
        """For each site and each set of needs for which lines are malformed: how many lines, lowest
        and highest time."""
        if self.is_single:
            return _summed(table)
        own = table.filter(pc.equal(table.column(GROUP), len(self.queries)))
        rows: list[dict[str, Any]] = (
            own.select([SITE, PANE, *TALLY]).rename_columns([SITE, MASK, *TALLY]).to_pylist()
        )
        return rows


def joint_statements(
    group: QueryGroup, queries: Sequence[Query], parser: Parser, typed: str, *, site_count: int
) -> list[Joint]:
    """For plain queries of the group, over a subquery of ``Parser.typed_sql`` with the site: one
    statement, or several where they are many. The tally is in the first one."""
    found: list[Joint] = []
    left = list(queries)
    while left:
        sheet = _Sheet(group, parser, site_count)
        if not found:
            sheet.note_tally()
        taken = [left.pop(0)]
        sheet.add(taken[0])
        while left and len(taken) < QUERIES_MAX and sheet.width < FIELDS_MAX - QUERY_FIELDS:
            taken.append(left.pop(0))
            sheet.add(taken[-1])
        sql = sheet.single_sql(typed) if sheet.is_single else sheet.sql(typed)
        found.append(Joint(sql, tuple(taken), tuple(sheet.places), sheet.is_single))
    return found


def _summed(table: pa.Table) -> list[dict[str, Any]]:
    """The same from all groups of a single query, whose need is the only one."""
    is_malformed = pc.equal(table.column(GROUP), MALFORMED)
    lines = table.select([SITE, ROWS, LOW, TOP]).append_column(MASK, is_malformed.cast(pa.int64()))
    by = {LINES: (ROWS, "sum"), LOW: (LOW, "min"), TOP: (TOP, "max")}
    found = lines.group_by([SITE, MASK]).aggregate(list(by.values()))
    names = {f"{of}_{how}": name for name, (of, how) in by.items()}
    rows: list[dict[str, Any]] = found.rename_columns(
        [names.get(name, name) for name in found.column_names]
    ).to_pylist()
    return rows


class _Sheet:
    """A statement as it is written, query after query."""

    def __init__(self, group: QueryGroup, parser: Parser, site_count: int) -> None:
        self._group = group
        self._parser = parser
        self._site_count = site_count
        self._panes = _Named("__pane_")
        self._flags: list[str] = []
        self._columns = _Named("__c")
        self._finishes = _Named("__o")
        self._rows: list[_Row] = []
        self._slots: list[Slot] = []
        self._has_tally = False
        self.places: list[tuple[str, ...]] = []

    @property
    def width(self) -> int:
        """Columns of its widest step, the site and a null for each slot among them."""
        typed = len(self._parser.columns) + len(self._parser.needs)
        flagged = typed + len(self._flags) + len(self._panes.texts)
        return 1 + max(flagged, len(self._columns.texts) + len(set(self._slots)))

    @property
    def is_single(self) -> bool:
        """One query and the tally, and no line is malformed for one query and not for another."""
        return self._has_tally and len(self._flags) == 1 and len(self._parser.needs) == 1

    def note_tally(self) -> None:
        self._has_tally = True

    def add(self, query: Query) -> None:
        part = part_of(query)
        assert part is not None, "it was asked for"
        number = len(self._flags)
        self._flags.append(self._flag(query, part))
        pane = f"if({IS}{number}, {self._panes.of(part.pane)}, NULL)"
        names = iter(self._add_row(number, pane, part.values))
        keys = [next(names) for _ in part.keys]
        finished = [
            self._finishes.of(one.finish.format(*(next(names) for _ in one.values)))
            for one in part.partials
        ]
        self.places.append((PANE, *keys, *finished))

    def _flag(self, query: Query, part: PlainPart) -> str:
        """Whether a record concerns the query; never NULL."""
        need = self._parser.needs.index(need_of(query))
        flag = f"NOT {BAD}{need} AND coalesce({part.condition}, false)"
        sites = sorted(self._group.sites_of(query))
        if len(sites) < self._site_count:
            flag = f"{SITE} IN ({', '.join(map(str, sites))}) AND {flag}"
        return flag

    def sql(self, typed: str) -> str:
        """To be called once, at the end."""
        tally = self._add_tally() if self._has_tally else []
        flags = [f"({flag}) AS {IS}{number}" for number, flag in enumerate(self._flags)]
        flagged = _select(["*", *flags, *self._panes.items()], typed)
        # Before the columns are listed, for it names those that stand for nothing.
        rows = [f"({', '.join(self._filled(row))}) AS `{n}`" for n, row in enumerate(self._rows)]
        columns = _select([SITE, *self._columns.items()], f"({flagged})")
        slots = [_slot_name(at, slot) for at, slot in enumerate(self._slots)]
        names = f"({', '.join([GROUP, PANE, *slots])})"
        expanded = f"({columns}) UNPIVOT INCLUDE NULLS ({names} FOR __name IN ({', '.join(rows)}))"
        keys = [SITE, GROUP, PANE, *(name for name in slots if name.startswith(KEY))]
        grouped = (
            _select([*keys, f"count(*) AS {ROWS}", *self._aggregates()], expanded)
            + f" WHERE {PANE} IS NOT NULL GROUP BY {', '.join(keys)}"
        )
        return _select([*keys, *self._finishes.items(), *tally], f"({grouped})")

    def single_sql(self, typed: str) -> str:
        """The same without a row for the tally. To be called once, at the end.

        Nothing but the time is computed for lines that do not concern the query: their sums might
        be too large where its own are not.
        """
        (row,) = self._rows
        is_own = f"{IS}0"
        is_other = f"if({BAD}0, {MALFORMED}, {REST})"
        times = f"if({BAD}0, NULL, unix_micros({quoted(self._parser.source.time_column)}))"
        flagged = _select(["*", f"({self._flags[0]}) AS {is_own}", *self._panes.items()], typed)
        texts = {name: text for text, name in self._columns.texts.items()}
        values = {name: f"if({is_own}, {texts[of]}, NULL)" for name, of in row.items()}
        values[GROUP] = f"if({is_own}, {OWN}, {is_other})"
        named = [f"{sql} AS {name}" for name, sql in values.items()]
        columns = _select([SITE, *named, f"{times} AS __us"], f"({flagged})")
        keys = [SITE, *(name for name in values if name in (GROUP, PANE) or name.startswith(KEY))]
        counted = [f"count(*) AS {ROWS}", f"min(__us) AS {LOW}", f"max(__us) AS {TOP}"]
        grouped = (
            _select([*keys, *counted, *self._aggregates()], f"({columns})")
            + f" GROUP BY {', '.join(keys)}"
        )
        return _select([*keys, *self._finishes.items(), ROWS, LOW, TOP], f"({grouped})")

    def _add_tally(self) -> list[str]:
        """As a query without keys. Where others have the pane it has the needs for which a line is
        malformed: rows are counted anyway, so that to know it of each need takes no slot."""
        time = quoted(self._parser.source.time_column)
        time_us = f"if({self._parser.bad_for_all}, NULL, unix_micros({time}))"
        values = [
            Value(("MIN", "bigint"), time_us, is_safe=True),
            Value(("MAX", "bigint"), time_us, is_safe=True),
        ]
        names = self._add_row(len(self._flags), self._parser.bad_mask, values)
        return [f"{name} AS {told}" for name, told in zip([ROWS, *names], TALLY, strict=True)]

    def _add_row(self, number: int, pane: str, values: Sequence[Value]) -> list[str]:
        """A record is written down once more; the names of the slots of these values."""
        named = {GROUP: self._columns.of(str(number)), PANE: self._columns.of(pane)}
        used: Counter[Slot] = Counter()
        names = []
        for value in values:
            sql = value.sql if value.is_safe else f"if({IS}{number}, {value.sql}, NULL)"
            names.append(self._free_slot(value.slot, used[value.slot]))
            named[names[-1]] = self._columns.of(sql)
            used[value.slot] += 1
        self._rows.append(named)
        return names

    def _free_slot(self, wanted: Slot, used: int) -> str:
        """The next of its kind that the row has not used yet."""
        places = [at for at, slot in enumerate(self._slots) if slot == wanted]
        if used == len(places):
            places.append(len(self._slots))
            self._slots.append(wanted)
        return _slot_name(places[used], wanted)

    def _filled(self, row: _Row) -> list[str]:
        """The row's columns in the order of the slots, with a null where it has nothing."""
        values = [
            row.get(_slot_name(at, slot)) or self._columns.of(f"CAST(NULL AS {slot[1]})")
            for at, slot in enumerate(self._slots)
        ]
        return [row[GROUP], row[PANE], *values]

    def _aggregates(self) -> list[str]:
        named = [(_slot_name(at, slot), slot[0]) for at, slot in enumerate(self._slots)]
        return [f"{function}({name}) AS {name}" for name, function in named if function]


class _Named:
    """A name for each text, and one for equal ones."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self.texts: dict[str, str] = {}

    def of(self, text: str) -> str:
        return self.texts.setdefault(text, f"{self._stem}{len(self.texts)}")

    def items(self) -> list[str]:
        return [f"{text} AS {name}" for text, name in self.texts.items()]


def _slot_name(at: int, slot: Slot) -> str:
    return f"{VALUE if slot[0] else KEY}{at}"


def _select(columns: Sequence[str], origin: str) -> str:
    return f"SELECT {', '.join(columns)} FROM {origin}"
