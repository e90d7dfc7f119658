"""By which partials sites see how far each column of an answer would be off without a row.

A group that is not sent is off by its whole value in every column, so every column that an
aggregate makes needs a bound, and must be one of which the aggregate says what a bound means
(``Aggregate.error``). Which form it may have follows from that. (Of a minimum another site may have
sent any other value, so what a site lacks bounds nothing.)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET
from sqlglot import exp

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.tolerance import (
    WITHHELD_COLUMNS_MAX,
    ChosenRows,
    Finally,
    Tolerance,
    ToleratedColumn,
)
from headwater.sql.read.error_option import EVERY_COLUMN
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices
from headwater.sql.rules.measured_errors import measure_of
from headwater.sql.rules.never_negative import is_sure
from headwater.sql.rules.tolerated_having import conditions_of
from headwater.sql.tree.items import Call, Item
from headwater.sql.tree.nodes import Grouped, Node, Ordered, Ranked, Shown, Split, one, the
from headwater.sql.tree.slots import CALL, slot_of

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def tolerated_columns(
    tree: Node, asked: Mapping[str, ErrorBound], finally_: Finally, options: Options, *, sites: int
) -> Tolerance | msgspec.UnsetType:
    """``sites`` are at most asked. Raises ``QueryRefused`` where a bound can't be kept, with what
    to write."""
    if not asked:
        return UNSET
    split, group = the(tree, Split), the(tree, Grouped)
    _check_shape(tree, group, options)
    items = [item for item in the(tree, Shown).items if _has_call(item.expression)]
    _check_names(asked, items, options)
    columns = tuple(_column(item, asked, split, group, options) for item in items)
    if not 0 < len(columns) <= WITHHELD_COLUMNS_MAX:
        raise options.refused(
            "error",
            f"wanted 1 to {WITHHELD_COLUMNS_MAX} columns that can be bounded, got {len(columns)}; "
            "leave error out",
        )
    chosen, having = _chosen(tree, items, group, options), the(tree, Shown).having
    if having is None:
        return Tolerance(columns, finally_, sites, chosen)
    by_value = [item for item in items if _goes_by_value(item, group)]
    conditions = conditions_of(having.condition, by_value, group.calls, options)
    return Tolerance(columns, finally_, sites, chosen, conditions)


def _check_shape(tree: Node, group: Grouped, options: Options) -> None:
    if group.last_n:
        raise options.refused(
            "error",
            "it asks for the last rows, and a state is sent whole: what was kept back of one says "
            "nothing of the next; leave error out, or write a window of time",
        )
    if group.sessions is not None or group.sets or not group.keys:
        raise options.refused(
            "error",
            "wanted groups of a window; sessions, grouping sets and questions without keys are "
            "sent whole: leave error out",
        )
    shown = the(tree, Shown)
    if shown.is_distinct or one(tree, Ranked) is not None:
        raise options.refused(
            "error",
            "DISTINCT and ranks choose rows by values that may be off; leave them to who reads the "
            "answer, write ORDER BY column DESC LIMIT n, or leave error out",
        )
    if shown.having is not None and isinstance(tree, Ordered) and tree.limit is not None:
        raise options.refused(
            "error",
            "HAVING and LIMIT together choose rows by values that may be off, and of a row that "
            "HAVING has left out nobody knows its place; write one of them",
        )


def _chosen(
    tree: Node, items: list[Item], group: Grouped, options: Options
) -> ChosenRows | msgspec.UnsetType:
    """An order alone leaves no row out. Of the largest rows it can be said which are sure, and of
    no others: the smallest are those that sites keep back."""
    if not isinstance(tree, Ordered) or tree.limit is None:
        return UNSET
    first = tree.terms[0] if tree.terms else None
    by = next((one for one in items if first is not None and one.name == first.item.name), None)
    is_falling = first is not None and first.direction.upper().startswith("DESC")
    call = None if by is None else call_of(by, group)
    if by is None or not is_falling or tree.offset or call is None or not goes_by_value(call):
        names = [one.name for one in items if _goes_by_value(one, group)]
        raise options.refused(
            "error",
            "LIMIT leaves out rows by what may be off; beside error write ORDER BY column DESC "
            f"LIMIT n, without OFFSET, by a count, sum or maximum{choices('columns', names)}",
        )
    return ChosenRows(by.name, tree.limit, is_sure(call))


def _goes_by_value(item: Item, group: Grouped) -> bool:
    call = call_of(item, group)
    return call is not None and goes_by_value(call)


def goes_by_value(call: Call) -> bool:
    """Whether its bound is one of its value, of which rows may be chosen by."""
    error = call.aggregate.error
    return error is not None and error.meaning in (Meaning.ADDED, Meaning.LARGEST)


def _check_names(asked: Mapping[str, ErrorBound], items: list[Item], options: Options) -> None:
    names = [item.name for item in items]
    for name in asked:
        if name != EVERY_COLUMN and name.lower() not in {known.lower() for known in names}:
            raise options.refused(
                "error", f"no column `{name[:60]}` that aggregates make{choices('columns', names)}"
            )


def _column(
    item: Item, asked: Mapping[str, ErrorBound], split: Split, group: Grouped, options: Options
) -> ToleratedColumn:
    by_name = {name.lower(): bound for name, bound in asked.items()}
    bound = by_name.get(item.name.lower(), by_name.get(EVERY_COLUMN))
    if bound is None:
        raise options.refused(
            "error",
            f"`{item.name}` has no bound, and without a group it would be off by all of it; "
            f"write 'column: bound' for it too, or leave the column out",
        )
    call = call_of(item, group)
    error = None if call is None else call.aggregate.error
    if call is None or error is None:
        raise options.refused(
            "error",
            f"`{item.name}` is none of what can be bounded (counts, sums, maxima, averages, "
            "percentiles, distinct counts), and how far it would be off nobody can say; write a "
            "stream of its own for it, without error",
        )
    _CHECKS[error.meaning](item, call, bound, options)
    slot = slot_of(item.expression)
    assert slot is not None, "it is a call"
    measure = measure_of(slot[1], split)
    is_largest = error.meaning is Meaning.LARGEST
    return ToleratedColumn(
        item.name,
        measure.partial,
        bound.form,
        bound.size,
        is_largest,
        Meaning.ADDED if is_largest else error.meaning,
        measure.among,
    )


def _check_added(item: Item, call: Call, bound: ErrorBound, options: Options) -> None:
    if bound.form is not ErrorForm.ABSOLUTE and not is_sure(call):
        raise options.refused(
            "error",
            f"`{item.name}` may have negative values, of which a total says nothing; write "
            "sum(abs(…)) or sum(greatest(…, 0)), or a number such as '500' as its bound",
        )


def _check_largest(item: Item, call: Call, bound: ErrorBound, options: Options) -> None:
    is_number = item.type.split("(")[0] in _NUMBERS
    if bound.form is not ErrorForm.ABSOLUTE or not is_number or not is_sure(call):
        raise options.refused(
            "error",
            f"`{item.name}` is a maximum, which has no total and is off by all of it where a group "
            "is not sent; write max(abs(…)) or max(greatest(…, 0)) of a number, and a number such "
            "as '500' as its bound",
        )


def _check_records(item: Item, call: Call, bound: ErrorBound, options: Options) -> None:
    if bound.form is not ErrorForm.VALUE:
        raise options.refused(
            "error",
            f"`{item.name}` is computed of a group's records, and its bound is how many of them "
            f"may be missing; write a share such as '{item.name}: 1 %', or '{item.name}: 100 %' "
            "where it may be of those records that are in",
        )


def _check_members(item: Item, call: Call, bound: ErrorBound, options: Options) -> None:
    if bound.form is not ErrorForm.ABSOLUTE:
        raise options.refused(
            "error",
            f"`{item.name}` is a distinct count, and shares of what each site has counted can add "
            "up to many times the bound, since sites may lack different values; write a number "
            f"such as '{item.name}: 50'",
        )


_CHECKS = {
    Meaning.ADDED: _check_added,
    Meaning.LARGEST: _check_largest,
    Meaning.RECORDS: _check_records,
    Meaning.MEMBERS: _check_members,
}


def call_of(item: Item, group: Grouped) -> Call | None:
    """The aggregate that a column is; None: it is something else."""
    found = slot_of(item.expression)
    return group.calls[found[1]] if found is not None and found[0] == CALL else None


def _has_call(expression: exp.Expr) -> bool:
    slots = [found for node in expression.walk() if (found := slot_of(node))]
    return any(kind == CALL for kind, _ in slots)
