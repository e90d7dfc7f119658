"""What a threshold means to what sites keep back: which bounds it raises, and those of the others.

A group that is kept back is off in all its columns. The threshold has a limit for one of them; of
the others it is known how much they lack, and that is stated, but nobody has said how much would be
too much: so all of it is allowed. A column of which nobody could say what it lacks refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UnsetType

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.tolerance import (
    WITHHELD_COLUMNS_MAX,
    Finally,
    Threshold,
    Tolerance,
    ToleratedColumn,
)
from headwater.sql.degrade.can_be_had import Degradable
from headwater.sql.degrade.degrade_option import Asked, read_degrade
from headwater.sql.read.error_option import bound_of
from headwater.sql.read.options import Options
from headwater.sql.rules.measured_errors import measure_of
from headwater.sql.rules.never_negative import is_sure
from headwater.sql.rules.tolerated_columns import call_of, tolerated_columns
from headwater.sql.tree.items import Item
from headwater.sql.tree.nodes import Node, Split, the
from headwater.sql.tree.slots import slot_of

THRESHOLD = "threshold"
ALL_OF_IT = {Meaning.ADDED: ErrorForm.TOTAL, Meaning.RECORDS: ErrorForm.VALUE}
"""How "all of it" is said of a column."""


def asks_for_threshold(options: Options) -> bool:
    return any(one.name == THRESHOLD for one in read_degrade(options))


def tolerated(
    tree: Node, errors: Mapping[str, ErrorBound], finally_: Finally, options: Options, *, sites: int
) -> Tolerance | UnsetType:
    """What ``error`` asks for, with what a threshold adds to it. Raises ``QueryRefused``."""
    tolerance = tolerated_columns(tree, errors, finally_, options, sites=sites)
    asked = next((one for one in read_degrade(options) if one.name == THRESHOLD), None)
    if asked is None:
        return tolerance
    column = asked.arguments[0].strip("`")
    limit = bound_of(options, asked.arguments[1], option="degrade")
    if isinstance(tolerance, Tolerance):
        return _above(tolerance, column, limit, asked, options)
    items = Degradable(tree, is_timed=True).measured()
    if len(items) > WITHHELD_COLUMNS_MAX:
        raise _refused(options, asked, f"wanted at most {WITHHELD_COLUMNS_MAX} columns")
    columns = tuple(_column(item, column, limit, asked, tree, options) for item in items)
    named = next(one.column for one in columns if one.column.lower() == column.lower())
    return Tolerance(columns, finally_, sites, threshold=Threshold(named))


def _above(
    tolerance: Tolerance, column: str, limit: ErrorBound, asked: Asked, options: Options
) -> Tolerance:
    """From the bound that an error asks for up to the limit."""
    found = next((one for one in tolerance.columns if one.column.lower() == column.lower()), None)
    if found is None or found.form is not limit.form or limit.size < found.size:
        has = "none" if found is None else f"'{found.bound.text()}'"
        raise _refused(
            options,
            asked,
            f"beside error a threshold begins at the bound of its column ({has}); write a limit of "
            "the same form, and not below it",
        )
    columns = tuple(
        msgspec.structs.replace(one, size=limit.size) if one is found else one
        for one in tolerance.columns
    )
    threshold = Threshold(found.column, least=found.size)
    return msgspec.structs.replace(tolerance, columns=columns, threshold=threshold)


def _column(
    item: Item, column: str, limit: ErrorBound, asked: Asked, tree: Node, options: Options
) -> ToleratedColumn:
    split = the(tree, Split)
    call, slot = call_of(item, split.below), slot_of(item.expression)
    error = None if call is None else call.aggregate.error
    meaning = Meaning.LARGEST if error is None else error.meaning
    is_added = meaning is Meaning.ADDED and call is not None and is_sure(call)
    if slot is None or not (is_added or meaning is Meaning.RECORDS):
        raise _refused(
            options,
            asked,
            f"of `{item.name}` nobody could say by how much it is off without a group (as can be "
            "said of counts, sums that are never negative, averages and percentiles); leave it "
            "out, or write a stream of its own for it",
        )
    measure = measure_of(slot[1], split)
    is_named = item.name.lower() == column.lower()
    bound = limit if is_named else ErrorBound(ALL_OF_IT[meaning], 1.0)
    return ToleratedColumn(
        item.name, measure.partial, bound.form, bound.size, meaning=meaning, among=measure.among
    )


def _refused(options: Options, asked: Asked, why: str) -> Exception:
    return options.refused("degrade", f"`{asked.text[:60]}`: {why}")
