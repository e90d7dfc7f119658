"""What a threshold means to what sites keep back: which bounds it raises, and those of the others.

A group that is kept back is off in all its columns. The threshold has a limit for one of them; of
the others it is known how much they lack, and that is stated, but nobody has said how much would be
too much: so all of it is allowed. So it is of all columns where the largest groups alone are sent.
A column of which nobody could say what it lacks refuses it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import UnsetType

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.tolerance import (
    WITHHELD_COLUMNS_MAX,
    Finally,
    Largest,
    Threshold,
    Tolerance,
    ToleratedColumn,
    may_thin,
)
from headwater.sql.degrade.can_be_had import Degradable, lacks_what_is_known
from headwater.sql.degrade.degrade_option import Asked, read_degrade
from headwater.sql.read.error_option import bound_of
from headwater.sql.read.options import Options
from headwater.sql.rules.measured_errors import measure_of
from headwater.sql.rules.tolerated_columns import call_of, tolerated_columns
from headwater.sql.tree.items import Item
from headwater.sql.tree.nodes import Node, Split, the
from headwater.sql.tree.slots import slot_of

THRESHOLD, TOP = "threshold", "top"
LEVELS = ("coarsen", "sample")
ALL_OF_IT = {Meaning.ADDED: ErrorForm.TOTAL, Meaning.RECORDS: ErrorForm.VALUE}
"""How "all of it" is said of a column."""
_SHARE = re.compile(r"(?P<number>\d{1,3}(?:\.\d{0,9})?)\s*%")


def asks_to_keep_back(options: Options) -> bool:
    """Whether sites may keep groups back where the way is too narrow."""
    return any(one.name in (THRESHOLD, TOP) for one in read_degrade(options))


def tolerated(
    tree: Node, errors: Mapping[str, ErrorBound], finally_: Finally, options: Options, *, sites: int
) -> Tolerance | UnsetType:
    """What ``error`` asks for, with what a threshold adds to it, or the largest groups alone in its
    place; and which part of it is relays'. Raises ``QueryRefused``."""
    found = _tolerated(tree, errors, finally_, options, sites=sites)
    share = read_relay_share(options)
    if share is None:
        return found
    if not isinstance(found, Tolerance) or found.top is not None:
        raise options.refused(
            "relay_share",
            "it is a part of the bound by which groups may be left out, and there is none; add "
            "error = '1 % of total', or degrade = 'threshold(column, 1 % of total)'",
        )
    level = next((one for one in read_degrade(options) if one.name in LEVELS), None)
    if level is not None:
        raise options.refused(
            "relay_share",
            f"wanted it without `{level.text[:60]}`: a level's pieces are put together from those "
            "of others, which relays would have thinned; leave one of the two out",
        )
    never = next((one for one in found.columns if not may_thin(one)), None)
    if never is not None:
        raise options.refused(
            "relay_share",
            f"relays would leave whole groups out, which the bound of `{never.column}` "
            f"('{never.bound.text()}') does not allow; write a share of the total for counts and "
            "sums, a number for maxima, 100 % for others, or leave relay_share out",
        )
    return msgspec.structs.replace(found, relays=share)


def read_relay_share(options: Options) -> float | None:
    """None: relays leave nothing out. Raises ``QueryRefused``."""
    text = options.text("relay_share")
    if text is None:
        return None
    found = _SHARE.fullmatch(text.strip())
    share = float(found["number"]) / 100.0 if found is not None else 0.0
    if not 0.0 < share < 1.0:
        raise options.refused(
            "relay_share", f"wanted a share such as '50 %', below 100 %, got '{text[:60]}'"
        )
    return share


def _tolerated(
    tree: Node, errors: Mapping[str, ErrorBound], finally_: Finally, options: Options, *, sites: int
) -> Tolerance | UnsetType:
    tolerance = tolerated_columns(tree, errors, finally_, options, sites=sites)
    top = next((one for one in read_degrade(options) if one.name == TOP), None)
    if top is not None:
        _check_alone(top, options, has_error=isinstance(tolerance, Tolerance))
        return _largest(tree, finally_, top, options, sites=sites)
    asked = next((one for one in read_degrade(options) if one.name == THRESHOLD), None)
    if asked is None:
        return tolerance
    column = asked.arguments[0].strip("`")
    limit = bound_of(options, asked.arguments[1], option="degrade")
    if isinstance(tolerance, Tolerance):
        return _above(tolerance, column, limit, asked, options)
    columns = _columns(tree, column, limit, asked, options)
    named = next(one.column for one in columns if one.column.lower() == column.lower())
    return Tolerance(columns, finally_, sites, threshold=Threshold(named))


def _check_alone(asked: Asked, options: Options, *, has_error: bool) -> None:
    """Raises ``QueryRefused`` where something else would be kept back beside it, or leave early: of
    a group that left in part the root could say nothing."""
    others = [one.text for one in read_degrade(options) if one.name == THRESHOLD]
    others += ["error"] if has_error else []
    others += [name for name in ("staleness", "rounds") if options.text(name) is not None]
    if others:
        raise _refused(
            options,
            asked,
            f"wanted it without {others[0][:60]}: the root asks for what it needs of what was kept "
            "back, and that goes by nothing else",
        )


def _largest(
    tree: Node, finally_: Finally, asked: Asked, options: Options, *, sites: int
) -> Tolerance:
    """All of each column may stay."""
    column = asked.arguments[1].strip("`")
    columns = _columns(tree, column, ErrorBound(ErrorForm.TOTAL, 1.0), asked, options)
    named = next(one.column for one in columns if one.column.lower() == column.lower())
    return Tolerance(columns, finally_, sites, largest=Largest(named, int(asked.arguments[0])))


def _columns(
    tree: Node, column: str, limit: ErrorBound, asked: Asked, options: Options
) -> tuple[ToleratedColumn, ...]:
    items = Degradable(tree, is_timed=True).measured()
    if len(items) > WITHHELD_COLUMNS_MAX:
        raise _refused(options, asked, f"wanted at most {WITHHELD_COLUMNS_MAX} columns")
    return tuple(_column(item, column, limit, asked, tree, options) for item in items)


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
    if slot is None or not lacks_what_is_known(item, split.below):
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
