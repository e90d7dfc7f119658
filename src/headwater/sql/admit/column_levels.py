"""What may leave a site of a column that the site's operator has put on a level.

*denied*: nothing; no query reads it. *aggregated*: what counts, sums and moments make of many
records, and no value as it is. *free*: everything. Where an expression has several columns each
must be free to go where the expression goes.

Keys travel as they are, hidden ones too (the values of ``count(DISTINCT x)``), min and max are
values of single records, a condition decides which keys and values travel, and a LATERAL VIEW takes
values apart; all of them need *free*. (A boolean's ``bool_and`` and ``bool_or`` are its min and
max.) Slots of a histogram are hidden keys that are counted: they are open to *aggregated*. So is
the one use that every query makes of the time column, to place a record in a pane.
A window of numbers tells what its column has, nearly, so that one needs *free* too.

What is not here: a level does not ask how many records a group has, so the sum over a group of one
is that record's value. Which aggregates make one number of many records each says of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from sqlglot import exp

from headwater.algebra.aggregates import ALL
from headwater.algebra.rows.columns import folded_columns, visible_keys
from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.admit.slots_of_histograms import slot_of_histogram
from headwater.sql.read.sql_text import column as column_of
from headwater.sql.read.sql_text import parse, sql_of
from headwater.sql.read.time_of import time_inputs
from headwater.sql.tree.grouping_sets import GROUPING
from headwater.sql.types.call_types import name_of

_OF_MANY = [aggregate for aggregate in ALL if aggregate.makes_one_of_many]
MANY_TO_ONE = {function for aggregate in _OF_MANY for function in aggregate.functions}
"""What they are in a site part. The average is a sum and a count there."""


class Level(StrEnum):
    DENIED = "denied"
    AGGREGATED = "aggregated"
    FREE = "free"


ALLOWED = {
    Level.DENIED: "no query may read it here",
    Level.AGGREGATED: "only counts, sums, averages and other moments may take it, as arguments",
    Level.FREE: "all is allowed",
}
"""For people, by level."""


def check_levels(query: Query, levels: Mapping[str, Level], *, of: str) -> None:
    """Raises ``QueryRefused``. The query has passed ``check_site_sql``; ``levels`` has every column
    of its source, ``of`` is how the site calls the source."""
    select = parse(query.program.site_sql)
    assert isinstance(select, exp.Select), "the site part is one SELECT"
    views = select.args.get("laterals") or []
    made = {one.name for view in views for one in view.args["alias"].args["columns"]}
    for column in (*query.program.columns_used, *time_inputs(query.program.source)):
        if levels[column] is Level.DENIED:
            raise _refusal(column, Level.DENIED, of, "")
    for use, node in _uses(select, query):
        used = {found.name for found in node.find_all(exp.Column)} - made
        for column in sorted(used):
            if levels[column] is not Level.FREE:
                raise _refusal(column, levels[column], of, use)


def _uses(select: exp.Select, query: Query) -> Iterator[tuple[str, exp.Expr]]:
    """(what for, expression) of all that lets values leave. The first item is the pane."""
    items = [item.unalias() for item in select.expressions[1:]]
    keys, visible = len(query.program.keys), len(visible_keys(query.program))
    yield from (("as a key", key) for key in items[:visible])
    for key in items[visible:keys]:
        yield from _uses_of_hidden(key, query)
    for partial in items[keys:]:
        yield from _uses_of_partial(_within_set(partial))
    views = select.args.get("laterals") or []
    yield from ((f"in {name_of(view.this)}", view.this) for view in views)
    yield from (("in WHERE", term) for term in _own_conditions(select, query))
    if query.numbers is not None and query.own_count is None:
        yield "in sequence_window, whose bounds tell it", column_of(query.numbers.column)


def _uses_of_hidden(key: exp.Expr, query: Query) -> Iterator[tuple[str, exp.Expr]]:
    """Slots are counted, and only who has none goes by FILTER; other values travel."""
    of_slots = slot_of_histogram(key, folded_columns(query.program))
    if of_slots is None:
        yield "where its values travel, as in DISTINCT", key
    elif of_slots.condition is not None:
        yield "in FILTER", of_slots.condition


def _within_set(partial: exp.Expr) -> exp.Expr:
    """Of several growing states a partial is null in the rows of the others (``admit_growing``)."""
    if not sql_of(partial).startswith(f"CASE WHEN {GROUPING} "):
        return partial
    found: exp.Expr = partial.args["ifs"][0].args["true"]
    return found


def _uses_of_partial(partial: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    call = partial.this if isinstance(partial, exp.Cast) else partial
    if isinstance(call, exp.Filter):
        yield "in FILTER", call.expression
        call = call.this
    if not isinstance(call, exp.Anonymous) or name_of(call) not in MANY_TO_ONE:
        yield f"in {sql_of(call)[:60]}", call


def _own_conditions(select: exp.Select, query: Query) -> Iterator[exp.Expr]:
    """What the user's WHERE says: without the test of the time, which comes first, and without
    that of the part, which comes last and is over keys."""
    where = select.args.get("where")
    assert where is not None, "every site part tests the time"
    condition = where.this
    if query.part is not None:
        condition = condition.left
    if query.numbers is not None and query.own_count is None and isinstance(condition, exp.And):
        tested = condition.left
        condition = condition if isinstance(tested, exp.And) else exp.Null()
    if isinstance(condition, exp.And):
        yield condition.right


def _refusal(column: str, level: Level, of: str, use: str) -> QueryRefused:
    where = f", and the query has it {use}" if use else ""
    return QueryRefused(
        f"column {column!r} of source {of} has level {level} at this site: {ALLOWED[level]}{where}"
    )
