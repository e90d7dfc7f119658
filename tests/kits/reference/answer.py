"""The rows of each window of a SELECT, over all records."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import Any, NamedTuple

from sqlglot import exp

from reference.expressions import Scope, evaluate, parsed
from reference.values import by_value, compare_with_nulls, key_of, normal, plain

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICRO = dt.timedelta(microseconds=1)
Record = Mapping[str, Any]


class Window(NamedTuple):
    start: Any
    end: Any
    """Times, or numbers."""


class Grid(NamedTuple):
    """Spark's ``window(ts, range, slide, start)``, or one of numbers."""

    column: str
    range_us: int
    slide_us: int
    start_us: int
    last_n: int = 0
    """Of each site at the end of every window; 0: the records of a window."""

    def windows(self, at: Any) -> list[Window]:
        if isinstance(at, int):
            last, first = at // self.slide_us, (at - self.range_us) // self.slide_us + 1
            starts = [n * self.slide_us for n in range(first, last + 1)]
            return [Window(start, start + self.range_us) for start in starts]
        time_us = (at - EPOCH) // MICRO - self.start_us
        last = time_us // self.slide_us
        numbers = range((time_us - self.range_us) // self.slide_us + 1, last + 1)
        starts = [EPOCH + (self.start_us + n * self.slide_us) * MICRO for n in numbers]
        return [Window(start, start + self.range_us * MICRO) for start in starts]


def answers(
    sql: str, records: Iterable[Record], *, window: str = "", time: str = "ts"
) -> dict[Window, list[dict[str, Any]]]:
    """By window, without those that have no rows; rows in the order that was asked for.

    A query without aggregates has its ``window`` from outside, as ``RANGE`` or ``RANGE every
    SLIDE`` of the records' ``time``.
    """
    select = parsed(sql)
    if window:
        lengths = [duration_us(one) for one in window.split(" every ")]
        grid, keys = Grid(time, lengths[0], lengths[-1], 0), []
    else:
        grid, keys = _grouping(select)
    aliases = {
        one.alias.lower(): one.this for one in select.expressions if isinstance(one, exp.Alias)
    }
    where = select.args.get("where")
    windows: dict[Window, list[Record]] = {}
    placed = []
    for record in records:
        named = {name.lower(): value for name, value in record.items()}
        if named[grid.column] is not None and named[time] is not None:
            placed.append(named)
    kept = [one for one in placed if where is None or evaluate(where.this, Scope(one))]
    if grid.last_n:
        windows = _states(grid, placed, kept)
    for named in kept if not grid.last_n else ():
        for at in grid.windows(named[grid.column]):
            windows.setdefault(at, []).append(named)
    found = {}
    for at, inside in sorted(windows.items()):
        rows = _rows(select, inside, at, _resolved(keys, select, aliases), aliases)
        if rows:
            found[at] = rows
    return found


def _states(
    grid: Grid, records: Sequence[Record], kept: Sequence[Record]
) -> dict[Window, list[Record]]:
    """From the first record to the last: what of each site was read last of all that lies before
    the end of a window."""
    times = [one[grid.column] for one in records]
    (at,), (last,) = grid.windows(min(times)), grid.windows(max(times))
    found = {}
    while at <= last:
        before = [one for one in kept if one[grid.column] < at.end]
        sites = dict.fromkeys(one[SITE] for one in before)
        found[at] = [
            one
            for site in sites
            for one in [one for one in before if one[SITE] == site][-grid.last_n :]
        ]
        at = Window(at.end, at.end + (at.end - at.start))
    return found


def _grouping(select: exp.Select) -> tuple[Grid, list[exp.Expression]]:
    """The window, and what is grouped by beside it."""
    aliases = {
        one.alias.lower(): one.this for one in select.expressions if isinstance(one, exp.Alias)
    }
    grid, keys = None, []
    for key in select.args["group"].expressions:
        if isinstance(key, SETS):
            continue
        call = aliases.get(key.name.lower(), key) if isinstance(key, exp.Column) else key
        call = _ordinal(call, select)
        if isinstance(call, exp.Anonymous) and call.name.lower() == "window":
            grid = _grid(call)
        elif isinstance(call, exp.Anonymous) and call.name.lower() in OWN_COUNTS:
            lengths = [_count(one.this) for one in call.expressions]
            grid = Grid(OWN_COUNTS[call.name.lower()], lengths[0], lengths[-1], 0)
        elif isinstance(call, exp.Anonymous) and call.name.lower() == "last_rows":
            count, every = call.expressions
            length = duration_us(every.expression.this)
            grid = Grid("ts", length, length, 0, int(count.this))
        elif isinstance(call, exp.Anonymous) and call.name.lower() == "sequence_window":
            lengths = [int(one.this) for one in call.expressions[1:]]
            grid = Grid(call.expressions[0].name.lower(), lengths[0], lengths[-1], 0)
        else:
            keys.append(key)
    assert grid is not None, "a query has a window"
    return grid, keys


OWN_COUNTS = {"rows_window": "__row", "bytes_window": "__byte"}
"""What each site has read before a record; whoever has records puts it beside them."""


SITE = "__site"
"""Whose record it is, put there likewise."""


def _count(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+) ?(|B|kB)", text).groups()
    return int(number) * (1_000 if unit == "kB" else 1)


def _grid(call: exp.Anonymous) -> Grid:
    lengths = [duration_us(one.this) for one in call.expressions[1:]]
    range_us = lengths[0]
    slide_us = lengths[1] if len(lengths) > 1 else range_us
    return Grid(
        call.expressions[0].name.lower(), range_us, slide_us, lengths[2] if len(lengths) > 2 else 0
    )


UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 10**6,
    "minute": 60 * 10**6,
    "hour": 3_600 * 10**6,
    "day": 86_400 * 10**6,
    "week": 7 * 86_400 * 10**6,
}


def duration_us(text: str) -> int:
    parts = re.findall(r"(-?\d+)\s*([a-z]+?)s?\b", text.lower().removeprefix("interval"))
    return sum(int(number) * UNITS_US[unit] for number, unit in parts)


def _ordinal(key: exp.Expression, select: exp.Select) -> exp.Expression:
    if isinstance(key, exp.Literal) and not key.is_string:
        return select.expressions[int(key.this) - 1].unalias()
    return key


def _resolved(
    keys: Sequence[exp.Expression], select: exp.Select, aliases: Mapping[str, exp.Expression]
) -> list[exp.Expression]:
    found = []
    for key in keys:
        plain = _ordinal(key, select)
        is_alias = isinstance(plain, exp.Column) and plain.name.lower() in aliases
        found.append(
            plain
            if not is_alias or _is_record_column(plain, select)
            else aliases[plain.name.lower()]
        )
    return found


COLUMNS: set[str] = set()
"""Names of the records' columns, which come before aliases; set by whoever has records."""


def _is_record_column(node: exp.Column, select: exp.Select) -> bool:
    return node.name.lower() in COLUMNS


def _rows(
    select: exp.Select,
    records: list[Record],
    window: Window,
    keys: Sequence[exp.Expression],
    aliases: Mapping[str, exp.Expression],
) -> list[dict[str, Any]]:
    edges = {"window": {"start": window.start, "end": window.end}}
    if select.args.get("group") is None:
        scopes = [Scope({**record, **edges}, aliases=aliases) for record in records]
    else:
        scopes = list(_groups(select, records, edges, keys, aliases))
    having = select.args.get("having")
    kept = [one for one in scopes if having is None or evaluate(having.this, one)]
    shown = [(_shown(select, one), one) for one in kept]
    order = select.args.get("order")
    if order is not None:
        shown.sort(key=cmp_to_key(_ordering(order.expressions, select)))
    limit, offset = select.args.get("limit"), select.args.get("offset")
    first = int(offset.expression.this) if offset else 0
    last = first + int(limit.expression.this) if limit else None
    rows = [row for row, _ in shown]
    if select.args.get("distinct"):
        rows = list({tuple(map(key_of, row.values())): row for row in rows}.values())
    return rows[first:last]


def _groups(
    select: exp.Select,
    records: list[Record],
    edges: Record,
    keys: Sequence[exp.Expression],
    aliases: Mapping[str, exp.Expression],
) -> Iterator[Scope]:
    for kept, number in _grouping_sets(select, keys):
        groups: dict[tuple[Any, ...], list[Record]] = {}
        for record in records:
            at = tuple(key_of(evaluate(key, Scope(record))) for key in kept)
            groups.setdefault(at, []).append(record)
        left_out = tuple(key for key in _all_keys(select, keys) if key not in kept)
        for members in groups.values():
            yield Scope(
                {**members[0], **edges},
                group=members,
                aliases=aliases,
                nulled=left_out,
                grouping_id=number,
            )


def _grouping_sets(
    select: exp.Select, keys: Sequence[exp.Expression]
) -> list[tuple[list[exp.Expression], int]]:
    """The keys of each set, and its grouping number: a bit for each key that is left out."""
    (several, named) = _sets(select)
    parts = [_members(one) for one in several.expressions] if several is not None else []
    counts = range(len(parts), -1, -1)
    if isinstance(several, exp.Rollup):
        sets = [list(itertools.chain(*parts[:count])) for count in counts]
    elif isinstance(several, exp.Cube):
        sets = [
            list(itertools.chain(*some))
            for count in counts
            for some in itertools.combinations(parts, count)
        ]
    elif isinstance(several, exp.GroupingSets):
        sets = [_members(one) for one in several.expressions]
    else:
        return [([*keys], 0)]
    bits = [
        sum((one not in kept) << (len(named) - 1 - n) for n, one in enumerate(named))
        for kept in sets
    ]
    return [([*keys, *kept], number) for kept, number in zip(sets, bits, strict=True)]


SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def _sets(select: exp.Select) -> tuple[exp.Expression | None, list[exp.Expression]]:
    """ROLLUP, CUBE or GROUPING SETS, and the keys in it."""
    several = next((one for one in select.args["group"].expressions if isinstance(one, SETS)), None)
    named: list[exp.Expression] = []
    for one in several.expressions if several is not None else ():
        named += [key for key in _members(one) if key not in named]
    return several, named


def _members(one: exp.Expression) -> list[exp.Expression]:
    return [*one.expressions] if isinstance(one, exp.Tuple) else [one.unnest()]


def _all_keys(select: exp.Select, keys: Sequence[exp.Expression]) -> Sequence[exp.Expression]:
    return [*keys, *_sets(select)[1]]


def is_hidden(name: str) -> bool:
    return name in ("window", SITE) or name in OWN_COUNTS.values()


def _shown(select: exp.Select, scope: Scope) -> dict[str, Any]:
    row = {}
    for place, item in enumerate(select.expressions):
        if isinstance(item, exp.Star):
            shown = {name: one for name, one in scope.record.items() if not is_hidden(name)}
            row |= {name: normal(plain(one)) for name, one in shown.items()}
            continue
        if isinstance(item, exp.Column) and item.name.lower() == "window" and len(item.parts) == 1:
            continue
        row[item.alias_or_name or f"_{place}"] = normal(evaluate(item.unalias(), scope))
    return row


def _ordering(terms: Sequence[exp.Ordered], select: exp.Select):
    """By what was asked, then by all columns in their order: "Ties are broken by the values"."""

    def key(pair: tuple[dict[str, Any], Scope], term: exp.Ordered) -> Any:
        row, scope = pair
        node = _ordinal(term.this, select)
        if isinstance(node, exp.Column) and node.name in row:
            return row[node.name]
        return evaluate(node, scope)

    def compared(left: tuple[dict[str, Any], Scope], right: tuple[dict[str, Any], Scope]) -> int:
        for term in terms:
            one, other = key(left, term), key(right, term)
            is_down, nulls_first = bool(term.args.get("desc")), bool(term.args.get("nulls_first"))
            if one is None or other is None:
                found = (one is None) - (other is None)
                found = -found if nulls_first else found
            else:
                found = compare_with_nulls(one, other) * (-1 if is_down else 1)
            if found:
                return found
        pairs = zip(left[0].values(), right[0].values(), strict=True)
        return next((found for one, other in pairs if (found := compare_with_nulls(one, other))), 0)

    return compared


__all__ = ["COLUMNS", "Grid", "Window", "answers", "by_value"]
