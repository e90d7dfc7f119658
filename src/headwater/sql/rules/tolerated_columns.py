"""By which partials sites see how far each column of an answer would be off without a group.

A group that is not sent is off by its whole value in every column, so every column that an
aggregate makes needs a bound, and must be one of which that can be told: a count or a sum, whose
errors add up, or a maximum of values that are never negative, of which the worst counts. (Of a
minimum another site may have sent any other value, so what a site lacks bounds nothing.)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET
from sqlglot import exp

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.tolerance import (
    WITHHELD_COLUMNS_MAX,
    ChosenRows,
    Finally,
    Tolerance,
    ToleratedColumn,
)
from headwater.algebra.rows.columns import Partial
from headwater.sql.read.error_option import EVERY_COLUMN
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices
from headwater.sql.tree.nodes import (
    Call,
    Grouped,
    Item,
    Node,
    Ordered,
    Ranked,
    Shown,
    Split,
    one,
    the,
)
from headwater.sql.tree.slots import CALL, slot_of
from headwater.sql.types.call_types import name_of

_COUNTS = ("count", "count_if")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_NEVER_NEGATIVE = ("abs", "length", "char_length", "octet_length", "bit_length", "bit_count")


def tolerated_columns(
    tree: Node, asked: Mapping[str, ErrorBound], finally_: Finally, options: Options, *, sites: int
) -> Tolerance | msgspec.UnsetType:
    """``sites`` are at most asked. Raises ``QueryRefused`` where a bound can't be kept, with what
    to write."""
    if not asked:
        return UNSET
    split, group = the(tree, Split), the(tree, Grouped)
    _check_shape(tree, split, group, options)
    items = [item for item in the(tree, Shown).items if _has_call(item.expression)]
    _check_names(asked, items, options)
    columns = tuple(_column(item, asked, split, group, options) for item in items)
    if not 0 < len(columns) <= WITHHELD_COLUMNS_MAX:
        raise options.refused(
            "error",
            f"wanted 1 to {WITHHELD_COLUMNS_MAX} counts, sums or maxima, got {len(columns)}; "
            "leave error out",
        )
    return Tolerance(columns, finally_, sites, _chosen(tree, items, group, options))


def _check_shape(tree: Node, split: Split, group: Grouped, options: Options) -> None:
    if group.last_n:
        raise options.refused(
            "error",
            "it asks for the last rows, and a state is sent whole: what was kept back of one says "
            "nothing of the next; leave error out, or write a window of time",
        )
    if group.sessions is not None or split.hidden or group.sets or not group.keys:
        raise options.refused(
            "error",
            "wanted groups of counts, sums and maxima; sessions, growing states such as "
            "count(DISTINCT …), grouping sets and questions without keys are sent whole: leave "
            "error out",
        )
    shown = the(tree, Shown)
    if shown.having is not None or shown.is_distinct or one(tree, Ranked) is not None:
        raise options.refused(
            "error",
            "HAVING, DISTINCT and ranks choose rows by values that may be off; leave them to who "
            "reads the answer, write ORDER BY column DESC LIMIT n, or leave error out",
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
    if by is None or not is_falling or tree.offset:
        raise options.refused(
            "error",
            "LIMIT leaves out rows by what may be off; beside error write ORDER BY column DESC "
            f"LIMIT n, without OFFSET{choices('columns', [one.name for one in items])}",
        )
    call = _call_of(by, group)
    assert call is not None, "each of these columns is an aggregate that can be bounded"
    return ChosenRows(by.name, tree.limit, _is_sure(call))


def _check_names(asked: Mapping[str, ErrorBound], items: list[Item], options: Options) -> None:
    names = [item.name for item in items]
    for name in asked:
        if name != EVERY_COLUMN and name.lower() not in {known.lower() for known in names}:
            raise options.refused(
                "error",
                f"no column `{name[:60]}` of counts, sums or maxima{choices('columns', names)}",
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
    call = _call_of(item, group)
    if call is None or call.aggregate.name not in (*_COUNTS, "sum", "max"):
        raise options.refused(
            "error",
            f"`{item.name}` is neither a count nor a sum nor a maximum, and how far it would be "
            "off nobody can say; write a stream of its own for it, without error",
        )
    is_largest = call.aggregate.name == "max"
    (_check_largest if is_largest else _check_sign)(item, call, bound, options)
    return ToleratedColumn(
        item.name, _partial(call, split).name, bound.form, bound.size, is_largest
    )


def _check_largest(item: Item, call: Call, bound: ErrorBound, options: Options) -> None:
    is_number = item.type.split("(")[0] in _NUMBERS
    if bound.form is not ErrorForm.ABSOLUTE or not is_number or not _is_sure(call):
        raise options.refused(
            "error",
            f"`{item.name}` is a maximum, which has no total and is off by all of it where a group "
            "is not sent; write max(abs(…)) or max(greatest(…, 0)) of a number, and a number such "
            "as '500' as its bound",
        )


def _call_of(item: Item, group: Grouped) -> Call | None:
    """The aggregate that a column is; None: it is something else."""
    found = slot_of(item.expression)
    return group.calls[found[1]] if found is not None and found[0] == CALL else None


def _is_sure(call: Call) -> bool:
    """That no value is negative."""
    return call.aggregate.name in _COUNTS or all(map(_is_never_negative, call.arguments))


def _check_sign(item: Item, call: Call, bound: ErrorBound, options: Options) -> None:
    if bound.form is not ErrorForm.ABSOLUTE and not _is_sure(call):
        raise options.refused(
            "error",
            f"`{item.name}` may have negative values, of which a total says nothing; write "
            "sum(abs(…)) or sum(greatest(…, 0)), or a number such as '500' as its bound",
        )


def _partial(call: Call, split: Split) -> Partial:
    text = call.sql(call.split.partials[0].site)
    return next(
        partial
        for partial, sql in split.partials.items()
        if sql == text and partial.merge == call.rule.name
    )


def _has_call(expression: exp.Expr) -> bool:
    slots = [found for node in expression.walk() if (found := slot_of(node))]
    return any(kind == CALL for kind, _ in slots)


def _is_never_negative(node: exp.Expr) -> bool:
    """As far as it can be seen without any data."""
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return _is_never_negative(node.this)
    if isinstance(node, exp.Add | exp.Mul | exp.Div):
        return _is_never_negative(node.left) and _is_never_negative(node.right)
    if not isinstance(node, exp.Anonymous):
        return False
    name = name_of(node)
    if name == "greatest":  # it passes over NULL, and what is left may be negative
        return any(_is_never_negative(one) and _is_never_null(one) for one in node.expressions)
    return name in _NEVER_NEGATIVE or (
        name == "coalesce" and all(map(_is_never_negative, node.expressions))
    )


def _is_never_null(node: exp.Expr) -> bool:
    """As far as it can be seen without any data."""
    if isinstance(node, exp.Paren):
        return _is_never_null(node.this)
    is_coalesce = isinstance(node, exp.Anonymous) and name_of(node) == "coalesce"
    return isinstance(node, exp.Literal) or (
        is_coalesce and any(map(_is_never_null, node.expressions))
    )
