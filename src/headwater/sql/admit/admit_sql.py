"""The two texts of a query, read again by whoever is to run them.

Spark runs whatever it is given: ``reflect`` calls Java, a table named by a path reads any file. So
a text from the wire is parsed here, and must be of the one shape that the compiler writes, over
the one view it is for, with expressions that the compiler's own typing admits, in the types that
the query declares. It must also be the canonical writing of what was parsed: then the tree that
was checked is what Spark reads, and no difference between two parsers can hide anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES, RULES, SITE_FUNCTIONS
from headwater.algebra.aggregates.aggregate import Split, UnfitArguments
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Partial, group_columns
from headwater.algebra.rows.types import NUMBERS_TYPE, PANE_COLUMN, WINDOW_COLUMN, WINDOW_TYPE
from headwater.errors import QueryRefused
from headwater.plan.program import Program
from headwater.plan.query import Query
from headwater.sql.admit.admit_growing import check_folds, check_growing
from headwater.sql.admit.admit_sketches import check_sketches
from headwater.sql.admit.admit_views import check_views
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import Unreadable, canonical, name_sql, parse, sql_of
from headwater.sql.resolve.read_limit import LIMIT_MAX
from headwater.sql.resolve.resolve_ranks import RANKS_MAX, is_rank
from headwater.sql.rules.count_copies import COPIES
from headwater.sql.rules.keep_what_has_a_time import placed_sql
from headwater.sql.tree.grouping_sets import GROUPING
from headwater.sql.types.call_types import name_of
from headwater.sql.types.declared_types import value_type
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.place_functions import place_fault
from headwater.sql.types.type_rules import named_type
from headwater.sql.write.select_sql import COPY, RANK, copies_sql
from headwater.sql.write.write_root_sql import PANES
from headwater.sql.write.write_site_sql import RECORDS, placing_sql

Relation = Mapping[str, str]
"""The columns of a view or subquery, with their types."""


class Panes(dict[str, str]):
    """The groups that the root part is over."""

    sketches: Mapping[str, str] = MappingProxyType({})
    """Columns whose cells were read by code of ours before they came here, with their rules."""


OPEN = "CAST(NULL AS STRING)"
"""What stands for a key that the site fills in."""
COMPUTED = {function for function, _ in SITE_FUNCTIONS}
MERGED = {rule.sql for rule in RULES.values() if rule.sql}
"""Aggregates of a site part, and of a root part."""
NESTED_MAX = 4
"""SELECTs of a root part around the one over groups: it is unfolded, ranked, cut and ordered."""
COPIES_MAX = 2 * LIMIT_MAX
"""The largest OFFSET and the largest LIMIT together."""


def check_site_sql(query: Query) -> None:
    """Raises ``QueryRefused``."""
    program = query.program
    select = _parsed(program.site_sql, "site part")
    _check_clauses(select, {"expressions", "from_", "laterals", "where", "group"}, RECORDS)
    records = {column.name: value_type(column.type) for column in program.source.columns}
    views = check_views(select, records, _type)
    records |= views
    names = [PANE_COLUMN, *(key.name for key in program.keys), *(p.name for p in program.partials)]
    items = _named_items(select)
    if [name for name, _ in items] != names:
        raise QueryRefused(f"site part: wanted columns {names}, got {[n for n, _ in items]}")
    expressions = [expression for _, expression in items]
    pane = canonical(placing_sql(query.window, program.source.time_column, query.counted_column))
    if sql_of(expressions[0]) != pane:
        raise QueryRefused(f"site part: wanted the pane {pane}, got {sql_of(expressions[0])}")
    _check_places(program, dict(items))
    rows = check_growing(program, select)
    keys = expressions[1 : 1 + len(program.keys)]
    for key, expression in zip(program.keys, keys, strict=True):
        is_number = rows.is_numbered and key is program.keys[-1]
        found = _grouping_number(expression) if is_number else _type(expression, records)
        _check_type(f"key {key.name}", found, key.type)
    for partial, expression in zip(program.partials, expressions[1 + len(keys) :], strict=True):
        _check_partial(partial, rows.partial(partial.name, expression), records)
    _check_merging(program)
    check_folds(program, rows)
    _check_where(select, query, records, keys=keys[: rows.keys])
    used = {one.name for one in select.find_all(exp.Column)} - views.keys()
    used -= {query.counted_column} - records.keys()  # a site's own count is in the pane alone
    if sorted(used) != (said := sorted({*program.columns_used})):
        raise QueryRefused(f"site part: declared to read {said}, but it reads {sorted(used)}")


def _check_places(program: Program, items: Mapping[str, exp.Expr]) -> None:
    """What a site fills in is a key that the text leaves open, and asks for what a site knows."""
    types = {key.name: key.type for key in program.keys}
    for place in program.place_columns:
        fault = place_fault(place.what)
        is_open = types.get(place.name) == "string" and sql_of(items[place.name]) == OPEN
        if fault is not None or not is_open:
            raise QueryRefused(
                f"site part: wanted {place.name[:60]!r} as a key {OPEN}, which the site fills in "
                f"with its name, region or a label; {fault or 'it is another'}"
            )


def check_root_sql(query: Query) -> None:
    """Raises ``QueryRefused``."""
    program = query.program
    window = {WINDOW_COLUMN: NUMBERS_TYPE if query.counted else WINDOW_TYPE}
    panes = Panes(window | {column.name: column.type for column in group_columns(program)})
    partials = [one for one in program.partials if RULES[one.merge].take is not None]
    panes.sketches = {one.name: one.merge for one in partials}
    found = _relation(_parsed(program.root_sql, "root part"), panes, depth=0)
    wanted = window | {column.name: column.type for column in program.output}
    if list(found.items()) != list(wanted.items()):
        raise QueryRefused(f"root part: wanted columns {wanted}, got {dict(found)}")


def _parsed(text: str, what: str) -> exp.Select:
    try:
        tree = parse(text)
    except Unreadable as error:
        raise QueryRefused(f"{what}: {error.message}") from error
    if not isinstance(tree, exp.Select):
        raise QueryRefused(f"{what}: wanted one SELECT, got {type(tree).__name__}")
    if sql_of(tree) != text:
        raise QueryRefused(
            f"{what}: this is not the canonical writing of what it says; wanted that one"
        )
    return tree


def _check_clauses(select: exp.Select, admitted: set[str], view: str | None) -> None:
    extra = sorted(name for name, value in select.args.items() if value and name not in admitted)
    if extra:
        raise QueryRefused(f"a clause is not admitted: {', '.join(extra)}")
    origin = select.args.get("from_")
    table = origin.this if origin is not None else None
    if view is not None and (not isinstance(table, exp.Table) or sql_of(table) != view):
        got = sql_of(table) if table is not None else "nothing"
        raise QueryRefused(f"only the view {view} may be read, not {got[:100]}")


def _named_items(select: exp.Select) -> list[tuple[str, exp.Expr]]:
    """The SELECT list by name; a column stands for itself."""
    for item in select.expressions:
        if not isinstance(item, exp.Alias | exp.Column):
            raise QueryRefused(f"a column without a name: {sql_of(item)[:100]}")
    return [(item.alias_or_name, item.unalias()) for item in select.expressions]


def _groups(select: exp.Select) -> list[exp.Expr]:
    group = select.args.get("group")
    if group is None or any(value for name, value in group.args.items() if name != "expressions"):
        came = "none" if group is None else sql_of(group)[:100]
        raise QueryRefused(f"site or root part: wanted GROUP BY columns, got {came}")
    return list(group.expressions)


def _type(expression: exp.Expr, relation: Relation) -> str:
    def column_type(node: exp.Column) -> str:
        if node.table == WINDOW_COLUMN and WINDOW_COLUMN in relation:
            if node.name in ("start", "end"):
                return "bigint" if relation[WINDOW_COLUMN] == NUMBERS_TYPE else "timestamp"
        elif not node.table and node.name in relation:
            return relation[node.name]
        columns = ", ".join(relation)[:200]
        raise Objection(node, f"there is no column {sql_of(node)[:100]}; columns: {columns}")

    check_sketches(expression, relation.sketches if isinstance(relation, Panes) else {})
    try:
        return type_of(expression, column_type)
    except Objection as objection:
        raise QueryRefused(f"{sql_of(expression)[:100]}: {objection.message}") from objection
    except RecursionError as error:
        raise QueryRefused("site or root part: an expression nests too deeply; split it") from error


def _grouping_number(expression: exp.Expr) -> str:
    if sql_of(expression) != GROUPING:
        raise QueryRefused(f"site part: wanted {GROUPING}, got {sql_of(expression)[:100]}")
    return "bigint"


def _check_type(what: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise QueryRefused(f"{what}: declared {wanted}, but it is {found}")


def _check_partial(partial: Partial, expression: exp.Expr, records: Relation) -> None:
    is_cast = isinstance(expression, exp.Cast) and _is_call(expression.this)
    call = expression.this if is_cast else expression
    if not _is_call(call):
        raise QueryRefused(f"partial {partial.name}: wanted an aggregate, got {sql_of(call)[:100]}")
    name, split = _aggregated(call, records)
    found, rule = split.type, partial.merge if split.merge is None else split.merge.name
    if (name, partial.merge) not in SITE_FUNCTIONS or partial.merge != rule:
        raise QueryRefused(f"partial {partial.name}: {name} does not merge by {partial.merge}")
    if is_cast:
        found = named_type(sql_of(expression.args["to"])) or ""
    _check_type(f"partial {partial.name}", found, partial.type)


def _check_merging(program: Program) -> None:
    """Columns of a state stand side by side, in types that their rule can merge."""
    try:
        ArrowMerger(program)
    except ValueError as error:
        raise QueryRefused(f"site part: {error}") from error


def _is_call(node: exp.Expr) -> bool:
    call = node.this if isinstance(node, exp.Filter) else node
    return isinstance(call, exp.Anonymous) and name_of(call) in COMPUTED


def _aggregated(node: exp.Expr, relation: Relation) -> tuple[str, Split]:
    """Name and split of an aggregate call; its arguments and FILTER are checked on the way."""
    call = node
    if isinstance(node, exp.Filter):
        call = node.this
        _check_type("FILTER", _type(node.expression.this, relation), "boolean")
    assert isinstance(call, exp.Anonymous)
    arguments = call.expressions
    name = name_of(call)
    is_star = len(arguments) == 1 and isinstance(arguments[0], exp.Star)
    is_star = is_star and AGGREGATES[name].takes_star
    takes_literal = AGGREGATES[name].takes_literal
    types = tuple(
        sql_of(argument) if takes_literal(position) else _type(argument, relation)
        for position, argument in enumerate(() if is_star else arguments)
    )
    try:
        return name, AGGREGATES[name].split(types)
    except UnfitArguments as error:
        raise QueryRefused(f"{sql_of(node)[:100]}: {error}") from error


def _check_where(
    select: exp.Select, query: Query, records: Relation, *, keys: list[exp.Expr]
) -> None:
    where = select.args.get("where")
    condition = where.this if where is not None else exp.Null()
    own = condition
    if query.part is not None:
        own = _without_part(condition, query.part.condition_sql([sql_of(key) for key in keys]))
    wanted = placed_sql(query.program.source.time_column, query.counted_column)
    first = own.left if isinstance(own, exp.And) and sql_of(own) != wanted else own
    if sql_of(first) != wanted:
        raise QueryRefused(f"site part: wanted WHERE {wanted} first, got {sql_of(first)[:100]}")
    _check_type("WHERE", _type(condition, records), "boolean")


def _without_part(condition: exp.Expr, wanted: str) -> exp.Expr:
    """What is before the last term, which has to be the part's own: no other division of the
    groups gets in, for two parts could then have a group in common, or none have it."""
    last = condition.right if isinstance(condition, exp.And) else condition
    if not isinstance(condition, exp.And) or sql_of(last) != wanted:
        raise QueryRefused(
            f"site part: wanted WHERE … AND {wanted[:200]} last, got {sql_of(last)[:100]}"
        )
    return condition.left


def _relation(select: exp.Select, panes: Relation, *, depth: int) -> dict[str, str]:
    """The columns of the root part: the groups, within a few SELECTs that unfold and order them."""
    origin = select.args.get("from_")
    inner = origin.this if origin is not None else None
    if not isinstance(inner, exp.Subquery):
        return (_finishing if select.args.get("group") is None else _grouping)(select, panes)
    if depth == NESTED_MAX or not isinstance(inner.this, exp.Select) or inner.args.get("alias"):
        raise QueryRefused(
            f"root part: wanted a subquery only to order groups, got {sql_of(inner)[:100]}"
        )
    _check_clauses(select, {"expressions", "from_", "where", "order"}, None)
    below = _relation(inner.this, panes, depth=depth + 1)
    if isinstance(select.expressions[0], exp.Star):
        return _with_one_more(select, below)
    found = {name: _type(expression, below) for name, expression in _named_items(select)}
    where, order = select.args.get("where"), select.args.get("order")
    if where is not None:
        _check_type("WHERE", _type(where.this, below), "boolean")
    for ordered in order.expressions if order is not None else ():
        _type(ordered.this, below)
    return found


def _with_one_more(select: exp.Select, below: Relation) -> dict[str, str]:
    """``*`` and one column, exactly as the compiler writes it: a rank, or copies of rows."""
    _check_clauses(select, {"expressions", "from_", "where"}, None)
    where = select.args.get("where")
    if where is not None:
        _check_type("WHERE", _type(where.this, below), "boolean")
    added = select.expressions[1:]
    found = dict(below)
    if 0 < len(added) <= RANKS_MAX and all(_is_rank(one) for one in added):
        for rank in added:
            found |= _ranking(rank.this, below, rank.alias)
        if len(found) == len(below) + len(added):
            return found
    if len(added) == 1 and isinstance(added[0], exp.Alias) and added[0].alias == COPY:
        return _unfolding(added[0].this, below)
    came = ", ".join(map(sql_of, select.expressions))
    raise QueryRefused(
        f"root part: wanted *, ROW_NUMBER() OVER (…) AS {RANK} or *, EXPLODE(…) AS {COPY}, got "
        f"{came[:100]}"
    )


def _is_rank(node: exp.Expr) -> bool:
    return isinstance(node, exp.Alias) and isinstance(node.this, exp.Window) and is_rank(node.this)


def _ranking(window: exp.Window, below: Relation, name: str) -> dict[str, str]:
    """A rank within each window, or within a part of it that columns name."""
    order = window.args.get("order")
    terms = order.expressions if order is not None else []
    within = [one for one in window.args.get("partition_by") or () if isinstance(one, exp.Column)]
    is_ours = name == RANK  # of LIMIT and OFFSET, which are of a whole window
    function = "ROW_NUMBER" if is_ours else name_of(window.this).upper()
    parts = ", ".join([name_sql(WINDOW_COLUMN), *map(sql_of, [] if is_ours else within[1:])])
    wanted = (
        f"{function}() OVER (PARTITION BY {parts} "
        f"ORDER BY {', '.join(sql_of(term) for term in terms)})"
    )
    if sql_of(window) != wanted:
        raise QueryRefused(f"root part: wanted {wanted[:200]}, got {sql_of(window)[:200]}")
    for one in (*within[1:], *(term.this for term in terms)):
        _type(one, below)
    return {name: "int"}


def _unfolding(copies: exp.Expr, below: Relation) -> dict[str, str]:
    """As many rows as are counted beside one."""
    numbers = [int(one.name) for one in copies.find_all(exp.Literal) if one.name.isdecimal()]
    most = max(numbers, default=0)
    wanted = canonical(copies_sql(most or None))
    if sql_of(copies) != wanted or most > COPIES_MAX or below.get(COPIES) != "bigint":
        raise QueryRefused(f"root part: wanted {wanted[:100]}, got {sql_of(copies)[:100]}")
    return {**below, COPY: "int"}


def _finishing(select: exp.Select, panes: Relation) -> dict[str, str]:
    """Of each group, which is one row: what is shown of it, where HAVING keeps it."""
    _check_clauses(select, {"expressions", "distinct", "from_", "where"}, PANES)
    found = {name: _type(expression, panes) for name, expression in _named_items(select)}
    where = select.args.get("where")
    if where is not None:
        _check_type("HAVING", _type(where.this, panes), "boolean")
    return found


def _grouping(select: exp.Select, panes: Relation) -> dict[str, str]:
    """As 0.3 and before wrote it, who merged the panes of a window here; of groups that are one row
    each it is the same."""
    _check_clauses(select, {"expressions", "from_", "group", "having"}, PANES)
    merged: dict[str, str] = dict(panes)

    def merge(node: exp.Expr) -> exp.Expr:
        """Each merge becomes a column of its own, named by its text, so that typing knows it."""
        if not _is_call(node):
            return node
        name, split = _aggregated(node, panes)
        if name.upper() not in MERGED or not isinstance(node, exp.Anonymous):
            raise QueryRefused(f"root part: {sql_of(node)[:100]} does not merge partials")
        merged[sql_of(node)] = split.type
        return exp.Column(this=exp.Identifier(this=sql_of(node), quoted=True))

    found = {
        name: _type(expression.transform(merge), merged)
        for name, expression in _named_items(select)
    }
    having = select.args.get("having")
    if having is not None:
        _check_type("HAVING", _type(having.this.transform(merge), merged), "boolean")
    for group in _groups(select):
        if not isinstance(group, exp.Column) or group.name not in panes or group.table:
            raise QueryRefused(f"root part: wanted GROUP BY keys, got {sql_of(group)[:100]}")
    return found
