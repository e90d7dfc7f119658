"""A stream's SELECT, from the tree that sqlglot reads to a tree of our own nodes.

The order of the steps is the order in which SQL gives names a meaning: FROM, GROUP BY (with the
window), WHERE, the SELECT list, HAVING, ORDER BY, LIMIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import PANE_COLUMN, WINDOW_COLUMN
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.sources import RESERVED_PREFIX
from headwater.sql.read.sql_text import column, placed, sql_of
from headwater.sql.resolve.find_window import (
    find_sessions,
    find_window,
    is_session_call,
    is_window_call,
    read_grid,
)
from headwater.sql.resolve.grids.sequence_windows import Grid
from headwater.sql.resolve.group_by import by_number, check_groups, grouped_by
from headwater.sql.resolve.group_slots import GroupSlots, check_no_aggregate
from headwater.sql.resolve.name_items import item_name
from headwater.sql.resolve.read_grouping_sets import grouping_sets, has_sets, listed
from headwater.sql.resolve.read_limit import read_limit, read_offset
from headwater.sql.resolve.resolve_names import Names, with_window_column
from headwater.sql.resolve.resolve_ranks import TakenOut, with_ranks
from headwater.sql.resolve.resolve_views import resolve_views
from headwater.sql.resolve.row_keys import asks_for_rows, check_row_size, row_keys
from headwater.sql.tree.items import ROWS, Item, Key, Term
from headwater.sql.tree.nodes import Expanded, Grouped, Kept, Node, Ordered, Records, Shown
from headwater.sql.tree.slots import window_field
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.place_functions import ONLY_KEYS, is_place, place_of
from headwater.sql.types.refused_nodes import brief

ITEMS_MAX = 500


class _Written(msgspec.Struct, frozen=True):
    """One element of the SELECT list."""

    name: str
    expression: exp.Expr
    """As it was written."""
    resolved: exp.Expr
    """Over the source's columns and the window."""


def resolve_select(
    select: exp.Select,
    source: Source,
    named: WindowSpec | None = None,
    *,
    session_max_us: int | None = None,
) -> Node:
    """``select`` has passed ``check_shape``, ``named`` is the window in WITH.

    Raises ``Objection``.
    """
    table = select.args["from_"].this
    alias = table.alias or table.name
    groups = grouped_by(select, is_named=named is not None)
    of_rows = asks_for_rows(select)
    sessions = find_sessions(groups, source, longest_us=session_max_us)
    names = Names(source, alias, gap_us=None if sessions is None else sessions.gap_us)
    expanded = resolve_views(select, names, Records(source, alias))
    if sessions is not None and named is not None:
        raise Objection(select, "sessions have a grid of their own; leave out window in WITH")
    if sessions is None:
        grid = _grid(select, groups, source, named, of_rows=of_rows)
    else:
        grid = Grid(sessions.window())
    if grid.last_n and isinstance(expanded, Expanded):
        raise Objection(
            select,
            "last_rows counts records, and LATERAL VIEW makes several rows of one; leave out the "
            "view, or write a window of time",
        )
    check_groups(groups)
    select = _without_stars(select, source if of_rows else None)
    ranks = TakenOut(select)
    select = ranks.select
    written = _written(select, names)
    ordered = _ordered(select, names, written, ranks)
    ranked_by = _ranked_by(ranks, names, written)
    if of_rows:
        terms_of_rows = [one for one, _ in ordered if not one.name]
        asked = [one.resolved for one in (*written, *terms_of_rows, *ranked_by)]
        keys = _named_keys(row_keys(asked), written, names)
        check_row_size(keys)
    else:
        keys = _keys(groups, written, names)
    by = tuple(group for group in groups if not _is_grid(group))
    sets = _sets(by, keys, written, names)
    if sets and sessions is not None:
        raise Objection(select.args["group"], "sessions have no grouping sets; write a window")
    slots = GroupSlots(keys, names, has_sets=bool(sets), of_numbers=bool(grid.column))
    items = tuple(_item(one, slots) for one in written if not _is_window(one))
    if not items:
        raise Objection(select, "the answer has no columns beside the window; add count(*)")
    records = _where(select, names, expanded)
    having = _having(select, names, slots, written)
    terms = tuple(Term(_term(one, slots), direction) for one, direction in ordered)
    is_distinct = bool(select.args.get("distinct"))
    if is_distinct:
        _check_order_of_distinct(terms, items)
    if sessions is not None:
        for time in names.session_times():
            slots.slotted(time)
    by_text = {sql_of(one.expression): _item(one, slots) for one in ranked_by}
    is_bag = of_rows and not is_distinct
    calls = (ROWS,) if is_bag else slots.calls
    made = Grouped(records, grid.window, keys, calls, by, of_rows=of_rows, sessions=sessions)
    tree: Grouped | Kept = msgspec.structs.replace(
        made, sets=sets, counted=grid.column, last_n=grid.last_n
    )
    if having is not None:
        tree = Kept(tree, having.expression, having.type, having.written)
    listed = Shown(tree, items, is_distinct=is_distinct)
    shown = with_ranks(listed, ranks, by_text) if ranks.calls else listed
    limit, offset = read_limit(select), read_offset(select)
    is_ordered = terms or limit is not None or offset
    return Ordered(shown, terms, limit, offset) if is_ordered else shown


def _grid(
    select: exp.Select,
    groups: Sequence[exp.Expr],
    source: Source,
    named: WindowSpec | None,
    *,
    of_rows: bool,
) -> Grid:
    """The stream's window, which all calls of ``window`` in it have to be."""
    calls = [call for call in select.find_all(exp.Anonymous) if is_window_call(call)]
    at = select.args.get("group") or select
    grid = find_window(calls if of_rows else groups, source, named=named, at=at)
    for call in calls:
        if read_grid(call, source) != grid:
            raise Objection(call, "another window than the one in GROUP BY; write window.start")
    return grid


def _without_stars(select: exp.Select, starred: Source | None) -> exp.Select:
    """``starred`` is what a star stands for; None: there are groups, and it stands for nothing."""
    items = list(_unstarred(select, starred))
    if len(items) > ITEMS_MAX:
        raise Objection(select, f"more than {ITEMS_MAX} columns in SELECT")
    select = select.copy()
    select.set("expressions", items)
    return select


def _written(select: exp.Select, names: Names) -> list[_Written]:
    written: list[_Written] = []
    aliases: dict[str, exp.Expr] = {}
    for position, item in enumerate(select.expressions, start=1):
        expression = placed(item.unalias(), item)
        resolved = names.resolved(expression, aliases, alias_first=False)
        name = item_name(item, position)
        if name.lower() in aliases:
            raise Objection(item, f"two columns are called `{name}`; give one of them an alias")
        if name.startswith(RESERVED_PREFIX):
            raise Objection(item, "names that begin with __ are taken; choose another alias")
        if name.lower() == WINDOW_COLUMN and window_field(resolved) != "":
            raise Objection(item, "`window` names the window of an answer; choose another alias")
        aliases[name.lower()] = resolved
        written.append(_Written(name, expression, resolved))
    return written


def _unstarred(select: exp.Select, starred: Source | None) -> Iterator[exp.Expr]:
    for item in select.expressions:
        if not item.is_star or item.find(exp.Anonymous):
            yield item
            continue
        if starred is None or any(value for name, value in item.args.items() if name != "this"):
            raise Objection(
                item,
                f"`{brief(item)}` stands for the columns of rows, where there is no GROUP BY; name "
                "the columns (of a window: window.start, window.end)",
            )
        yield from (placed(column(field.name), item) for field in starred.fields)


def _is_grid(group: exp.Expr) -> bool:
    """What cuts time, and is no key."""
    return is_window_call(group) or is_session_call(group)


def _is_window(written: _Written) -> bool:
    """The window comes first in every answer, so one that is selected by its own name is there."""
    return written.name.lower() == WINDOW_COLUMN


def _sets(
    groups: Sequence[exp.Expr], keys: Sequence[Key], written: Sequence[_Written], names: Names
) -> tuple[tuple[int, ...], ...]:
    """Of GROUPING SETS, ROLLUP and CUBE: the keys of each set, by their places."""
    if not has_sets(groups):
        return ()
    aliases = {one.name.lower(): one.resolved for one in written}
    places = {sql_of(key.expression): place for place, key in enumerate(keys)}
    if not places:
        raise Objection(groups[0], "grouping sets without a column; leave them out")

    def place(one: exp.Expr) -> int:
        return places[sql_of(names.resolved(one, aliases, alias_first=False).unnest())]

    found = [tuple(sorted(set(map(place, one)))) for one in grouping_sets(groups)]
    twice = next((one for one in found if found.count(one) > 1), None)
    if twice is not None:
        columns = ", ".join(keys[one].name for one in twice)
        raise Objection(groups[-1], f"the grouping set ({columns}) is there twice; leave one out")
    return tuple(found)


def _keys(groups: Sequence[exp.Expr], written: Sequence[_Written], names: Names) -> tuple[Key, ...]:
    aliases = {one.name.lower(): one.resolved for one in written}
    by = []
    for group in listed(groups):
        if not _is_grid(group):
            by.append(names.resolved(group, aliases, alias_first=False).unnest())
            check_no_aggregate(by[-1], "an aggregate can't be grouped by")
    return _named_keys(by, written, names)


def _named_keys(
    expressions: Sequence[exp.Expr], written: Sequence[_Written], names: Names
) -> tuple[Key, ...]:
    """Each once."""
    keys: list[Key] = []
    taken = {PANE_COLUMN, WINDOW_COLUMN}
    for expression in expressions:
        if any(sql_of(key.expression) == sql_of(expression) for key in keys):
            continue
        name = _key_name(expression, written, len(keys) + 1, taken)
        keys.append(Key(name, expression, _key_type(expression, names)))
    return tuple(keys)


def _key_type(expression: exp.Expr, names: Names) -> str:
    if place_of(expression) is not None:
        return "string"
    within = next((node for node in expression.walk() if is_place(node)), None)
    if within is not None:
        raise Objection(within, ONLY_KEYS)
    return type_of(expression, names.type_of)


def _key_name(
    expression: exp.Expr, written: Sequence[_Written], number: int, taken: set[str]
) -> str:
    text = sql_of(expression)
    aliases = [one.name for one in written if sql_of(one.resolved.unnest()) == text]
    name = expression.name if isinstance(expression, exp.Column) else ""
    name = "" if name.startswith(RESERVED_PREFIX) else name
    name = name or (aliases[0] if aliases else f"key_{number}")
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _item(written: _Written, slots: GroupSlots) -> Item:
    expression = slots.slotted(written.resolved)
    type_name = slots.type_of(expression)
    return Item(written.name, expression, type_name, with_window_column(written.expression))


def _where(
    select: exp.Select, names: Names, records: Records | Expanded
) -> Records | Expanded | Kept:
    where = select.args.get("where")
    if where is None:
        return records
    check_no_aggregate(where, "WHERE is about single records; write HAVING for aggregates")
    condition = names.resolved(where.this, {}, alias_first=False)
    type_name = type_of(condition, names.type_of)
    return Kept(records, exp.Paren(this=condition), type_name, with_window_column(where.this))


def _having(
    select: exp.Select, names: Names, slots: GroupSlots, written: Sequence[_Written]
) -> Item | None:
    having = select.args.get("having")
    if having is None:
        return None
    aliases = {one.name.lower(): one.resolved for one in written}
    return _item(
        _Written("", having.this, names.resolved(having.this, aliases, alias_first=True)), slots
    )


def _ordered(
    select: exp.Select, names: Names, written: Sequence[_Written], ranks: TakenOut
) -> list[tuple[_Written, str]]:
    """What ORDER BY lists, each with its direction; a rank under its name. The window orders
    nothing: each has an answer of its own, and they come one after the other."""
    order = select.args.get("order")
    aliases = {one.name.lower(): one.resolved for one in written}
    found = []
    for ordered in order.expressions if order is not None else ():
        direction = sql_of(ordered).removeprefix(sql_of(ordered.this)).strip()
        if ranks.is_rank(ordered.this):
            found.append((_Written(ordered.this.name, ordered.this, ordered.this), direction))
            continue
        expression = _ordered_by(ordered, written)
        resolved = names.resolved(expression, aliases, alias_first=True)
        if window_field(resolved) != "":
            found.append((_Written("", expression, resolved), direction))
    return found


def _term(written: _Written, slots: GroupSlots) -> Item:
    if written.name:  # a rank
        return Item(written.name, written.resolved, "int", written.expression)
    return _item(written, slots)


def _ranked_by(ranks: TakenOut, names: Names, written: Sequence[_Written]) -> list[_Written]:
    """What ranks and QUALIFY go by."""
    aliases = {one.name.lower(): one.resolved for one in written}
    return [
        _Written("", one, names.resolved(one, aliases, alias_first=False))
        for one in ranks.expressions()
    ]


def _check_order_of_distinct(terms: Sequence[Term], items: Sequence[Item]) -> None:
    shown = {sql_of(item.expression) for item in items}
    for term in terms:
        if sql_of(term.item.expression) not in shown:
            raise Objection(
                term.item.written,
                "SELECT DISTINCT is ordered by what it shows; add this column to SELECT",
            )


def _ordered_by(ordered: exp.Ordered, written: Sequence[_Written]) -> exp.Expr:
    expression: exp.Expr = ordered.this.copy()
    if isinstance(expression, exp.Literal) and not expression.is_string:
        by_number(ordered.this, [one.expression for one in written], "ORDER BY")
        return column(written[int(expression.name) - 1].name)
    if isinstance(expression, exp.Column) and expression.name.lower() == "all":
        raise Objection(ordered, "ORDER BY ALL is not available; name the columns")
    return expression
