"""Which hidden keys of a site part are slots of a histogram, and nothing else.

A slot says of a value how large it is, to the error that the plan names, and travels with how many
records have it. A site that lets a column be aggregated lets it be counted so; the text of the key
must be the one that a histogram of that error has, to the letter.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates.sketches.fold_histogram import HISTOGRAM
from headwater.algebra.aggregates.sketches.fold_percentile import PERCENTILE
from headwater.algebra.aggregates.sketches.histogram import slot_sql
from headwater.algebra.rows.columns import Folded
from headwater.sql.read.sql_text import parse_expression, sql_of

FOLDS = (PERCENTILE.name, HISTOGRAM.name)
"""Of histograms."""


class SlotKey(msgspec.Struct, frozen=True):
    """A hidden key that is the slot of a value."""

    value: exp.Expr
    condition: exp.Expr | None
    """Of FILTER: records for which it is not true have no slot."""


def slot_of_histogram(key: exp.Expr, folds: Sequence[Folded]) -> SlotKey | None:
    """None: the key is something else."""
    expression, condition = _without_marks(key), None
    value = _value(expression)
    if value is None and isinstance(expression, exp.Case) and _has_one_branch(expression):
        branch = expression.args["ifs"][0]
        condition, expression = branch.this, branch.args["true"]
        value = _value(expression)
    if value is None:
        return None
    errors = {one.values[0] for one in folds if one.fold in FOLDS and one.values}
    texts = {_slot_text(error, value) for error in errors}
    return SlotKey(value, condition) if sql_of(expression) in texts else None


def _without_marks(key: exp.Expr) -> exp.Expr:
    """Without its cast, and without what makes it unlike other keys."""
    found = key.this if isinstance(key, exp.Cast) else key
    if isinstance(found, exp.Case) and found.this is not None and _has_one_branch(found):
        branch = found.args["ifs"][0]
        if sql_of(branch.this) == sql_of(found.this) and isinstance(branch.this, exp.Literal):
            return branch.args["true"]  # type: ignore[no-any-return]
    return found


def _has_one_branch(case: exp.Case) -> bool:
    return len(case.args["ifs"]) == 1 and case.args.get("default") is None


def _value(slot: exp.Expr) -> exp.Expr | None:
    """What the first test of a slot is about: ``ISNAN(CAST(‹value› AS DOUBLE))``."""
    if not isinstance(slot, exp.Case) or slot.this is not None:
        return None
    test = slot.args["ifs"][0].this
    arguments = test.expressions if isinstance(test, exp.Anonymous) else [test.this]
    is_cast = len(arguments) == 1 and isinstance(arguments[0], exp.Cast)
    return arguments[0].this if is_cast else None


def _slot_text(error: float, value: exp.Expr) -> str:
    return sql_of(parse_expression(slot_sql(error).format(first=sql_of(value))))
