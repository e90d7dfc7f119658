"""The site parts of several queries as one statement: one job reads the lines for all of them.

A job for each query reads what was kept of the lines, and keeping them costs half as much as
parsing them. In one statement a record is parsed, then written down once for each strand
(``strands``) of queries, in columns that all strands share, and all are grouped together::

    record                          group  pane  key        value         rows of the group
    12:00:01, a.example, 200, 17      0      0   a.example    17     →     queries by domain
                                      1      0   200           1     →     queries by status

Spark's operator for this is ``Expand``, and ``UNPIVOT`` is its name in SQL; a single strand needs
none. A column that strands share is a *slot*, by what is done with it and its type: the keys of one
stand where those of another do, and two sums of bigints need one slot if no strand has both.

The count of the lines takes no row of its own: one of the strands, the carrier, has all lines, and
it is what its groups count together. Where all queries have conditions, that costs a row for
each line that meets none of the carrier's.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.plan.query import Query
from headwater.spark.lines.fields import quoted
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.parse import BAD, Parser
from headwater.spark.site.joint.joint_rows import COUNTED, Joint, Place
from headwater.spark.site.joint.plain_part import ROWS, PlainPart, part_of
from headwater.spark.site.joint.strands import GROUP, KEY, PANE, STRANDS_MAX, Slots, Strand
from headwater.spark.site.query_group import QueryGroup, need_of
from headwater.sql.read.sql_text import name_sql

FIELDS_MAX, QUERY_FIELDS = 90, 12
"""Columns of one step, and of one query. Beyond a hundred Spark generates no code for a step."""
IS = "__is_"
"""Followed by a number: whether the record concerns the queries with this flag."""


def joint_statements(
    group: QueryGroup, queries: Sequence[Query], parser: Parser, typed: str, *, site_count: int
) -> list[Joint]:
    """For plain queries of the group, over a subquery of ``Parser.typed_sql`` with the site: one
    statement, or several where they are many. The count of the lines is in the first one.

    Queries with many keys come first: those with fewer may go with them.
    """
    found: list[Joint] = []
    left = sorted(queries, key=lambda query: -len(query.program.keys))
    while left:
        sheet = _Sheet(group, parser, site_count)
        left = [query for query in left if not sheet.takes(query)]
        found.append(sheet.joint(typed, has_counts=not found))
    return found


class _Sheet:
    """A statement as it is written, query after query."""

    def __init__(self, group: QueryGroup, parser: Parser, site_count: int) -> None:
        self._group = group
        self._parser = parser
        self._site_count = site_count
        self._panes = _Named("__pane_")
        self._flags = _Named(IS)
        self._finishes = _Named("__o")
        self._slots = Slots()
        self._strands: list[Strand] = []
        self._queries: list[Query] = []
        self._places: list[Place] = []

    def takes(self, query: Query) -> bool:
        """Whether the query is in it now; False: there is no room."""
        part = part_of(query)
        assert part is not None, "it was asked for"
        if self._queries and self._width >= FIELDS_MAX - QUERY_FIELDS:
            return False
        text = self._flag(query, part)
        strand = self._strand(part, text)
        if strand is None:
            return False
        flag = self._flags.of(text)
        names = iter(strand.add(part, flag))
        keys = [next(names) for _ in part.keys]
        finished = [
            self._finishes.of(one.finish.format(*(next(names) for _ in one.values)))
            for one in part.partials
        ]
        columns = (PANE, *keys, *finished)
        self._queries.append(query)
        self._places.append(Place(columns, strand.group_of(flag), strand.is_whole(part)))
        return True

    @property
    def _width(self) -> int:
        """Columns of its widest step, the site and a filling for each slot among them."""
        typed = len(self._parser.columns) + len(self._parser.needs)
        flagged = typed + len(self._flags.texts) + len(self._panes.texts)
        written = sum(strand.width for strand in self._strands)
        return 1 + max(flagged, written + len(set(self._slots.kinds)))

    def _flag(self, query: Query, part: PlainPart) -> str:
        """Whether a record concerns the query; never NULL."""
        need = self._parser.needs.index(need_of(query))
        flag = f"NOT {BAD}{need} AND coalesce({part.condition}, false)"
        sites = sorted(self._group.sites_of(query))
        if len(sites) < self._site_count:
            flag = f"{SITE} IN ({', '.join(map(str, sites))}) AND {flag}"
        return flag

    def _strand(self, part: PlainPart, flag: str) -> Strand | None:
        """One that takes it, or one more; None: there are enough."""
        name = self._flags.texts.get(flag, "")
        for strand in self._strands:
            if strand.takes(part, name):
                return strand
        if len(self._strands) == STRANDS_MAX:
            return None
        pane = self._panes.of(part.pane)
        self._strands.append(Strand(len(self._strands), part, pane, self._slots))
        return self._strands[-1]

    def joint(self, typed: str, *, has_counts: bool) -> Joint:
        """To be called once, at the end."""
        carrier = self._carrier() if has_counts else None
        counts = [] if carrier is None else self._add_counts(carrier)
        masks = [self._parser.bad_mask if one is carrier else None for one in self._strands]
        rows = [one.row(bad_mask=mask) for one, mask in zip(self._strands, masks, strict=True)]
        flagged = _select(["*", *self._flags.items(), *self._panes.items()], typed)
        keys = [*self._sites, GROUP, PANE, *(n for n in self._slots.names if n.startswith(KEY))]
        grouped = (
            _select(
                [*keys, f"count(*) AS {ROWS}", *self._aggregates()], self._expanded(rows, flagged)
            )
            + f" WHERE {PANE} IS NOT NULL GROUP BY {', '.join(keys)}"
        )
        site = [] if self._sites else [f"CAST(0 AS INT) AS {SITE}"]
        sql = _select([*site, *keys, *self._finishes.items(), *counts], f"({grouped})")
        number = None if carrier is None else carrier.number
        return Joint(sql, tuple(self._queries), tuple(self._places), number)

    @property
    def _sites(self) -> list[str]:
        """Of one site the number is known, and need not be a key."""
        return [SITE] if self._site_count > 1 else []

    def _carrier(self) -> Strand:
        """One that has all records anyway, if there is any."""
        always = f"NOT {name_sql(self._parser.source.time_column)} IS NULL"
        return next((one for one in self._strands if always in one.conditions), self._strands[0])

    def _add_counts(self, carrier: Strand) -> list[str]:
        time = quoted(self._parser.source.time_column)
        time_us = f"if({self._parser.bad_for_all}, NULL, unix_micros({time}))"
        names = [carrier.slot((how, "bigint"), time_us) for how in ("MIN", "MAX")]
        return [f"{name} AS {told}" for name, told in zip([ROWS, *names], COUNTED, strict=True)]

    def _expanded(self, rows: Sequence[dict[str, str]], flagged: str) -> str:
        """A subquery that has each record once for each of these rows."""
        names = [GROUP, PANE, *self._slots.names]
        if len(rows) == 1:
            (row,) = rows
            named = [f"{row[name]} AS {name}" for name in names]
            return f"({_select([*self._sites, *named], f'({flagged})')})"
        columns = _Named("__c")
        others = dict(zip(self._slots.names, self._slots.fillings, strict=True))
        written = [[columns.of((others | row)[name]) for name in names] for row in rows]
        told = ", ".join(f"({', '.join(one)}) AS `{n}`" for n, one in enumerate(written))
        origin = _select([*self._sites, *columns.items()], f"({flagged})")
        return f"({origin}) UNPIVOT INCLUDE NULLS (({', '.join(names)}) FOR __name IN ({told}))"

    def _aggregates(self) -> list[str]:
        named = zip(self._slots.names, self._slots.kinds, strict=True)
        return [f"{function}({name}) AS {name}" for name, (function, _) in named if function]


class _Named:
    """A name for each text, and one for equal ones."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self.texts: dict[str, str] = {}

    def of(self, text: str) -> str:
        return self.texts.setdefault(text, f"{self._stem}{len(self.texts)}")

    def items(self) -> list[str]:
        return [f"{text} AS {name}" for text, name in self.texts.items()]


def _select(columns: Sequence[str], origin: str) -> str:
    return f"SELECT {', '.join(columns)} FROM {origin}"
