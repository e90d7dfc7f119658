"""``sequence_window(lsn, 100000, 10000)``: a window over a column that counts, not over time."""

from __future__ import annotations

import msgspec
from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import INTEGERS
from headwater.algebra.windows.sequence_grid import NUMBER_MAX
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices
from headwater.sql.types.call_types import name_of
from headwater.sql.types.declared_types import value_type

SEQUENCE_WINDOW = "sequence_window"
PANES_PER_WINDOW_MAX = 10_000
"""The root looks at what it knows of each of them for every answer; rows it merges of a few."""

_SHAPE = f"{SEQUENCE_WINDOW}(lsn, 100000) or {SEQUENCE_WINDOW}(lsn, 100000, 10000)"
_DIGITS_MAX = 20


class Grid(msgspec.Struct, frozen=True):
    """What cuts records into windows."""

    window: WindowSpec
    column: str = ""
    """Whose numbers are cut, of the source or a site's own count; empty: the time is."""
    last_n: int = 0
    """Of how many records of each site the state is asked for at the end of every window; 0: the
    records of a window are."""


def is_sequence_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and name_of(node) == SEQUENCE_WINDOW


def read_sequence(call: exp.Anonymous, source: Source) -> Grid:
    """Column, length and slide of one call. Raises ``Objection``."""
    arguments = call.expressions
    if not 2 <= len(arguments) <= 3:
        raise Objection(call, f"{SEQUENCE_WINDOW} takes a column, a length and a slide: {_SHAPE}")
    column = _column(arguments[0], source)
    length = _count(arguments[1], "length")
    slide = _count(arguments[2], "slide") if len(arguments) > 2 else length
    if slide > length:
        raise Objection(arguments[2], "the slide is longer than the window; records would be lost")
    window = WindowSpec(length, slide)
    fault = numbers_fault(window)
    if fault is not None:
        raise Objection(call, fault)
    return Grid(window, column)


def _column(node: exp.Expr, source: Source) -> str:
    """As the source spells it."""
    types = {one.name.lower(): one for one in source.columns}
    fitting = [one.name for one in source.columns if value_type(one.type) in INTEGERS]
    found = types.get(node.name.lower()) if isinstance(node, exp.Column) else None
    if found is None:
        raise Objection(
            node,
            f"{SEQUENCE_WINDOW} counts a column of the source: {_SHAPE}"
            f"{choices('columns with whole numbers', fitting, near=node.name)}",
        )
    if found.name not in fitting:
        raise Objection(
            node,
            f"`{found.name}` is {found.type}; {SEQUENCE_WINDOW} counts whole numbers"
            f"{choices('columns with whole numbers', fitting, near=found.name)}; for times write "
            "window(…)",
        )
    return found.name


def _count(node: exp.Expr, what: str) -> int:
    count = whole_number(node)
    if count is None:
        raise Objection(
            node,
            f"{SEQUENCE_WINDOW} takes a {what} that is a whole number from 1 to {NUMBER_MAX - 1}, "
            f"without quotes: {_SHAPE}",
        )
    return count


def whole_number(node: exp.Expr) -> int | None:
    """Of a literal without quotes, one that a window can be as long as; None: it is none."""
    text = node.name if isinstance(node, exp.Literal) and not node.is_string else ""
    count = int(text) if text.isdecimal() and len(text) < _DIGITS_MAX else 0
    return count if 0 < count < NUMBER_MAX else None


def numbers_fault(window: WindowSpec) -> str | None:
    """What is wrong with the panes of a window of numbers, and what to write; None: nothing."""
    if window.panes_per_window <= PANES_PER_WINDOW_MAX:
        return None
    return (
        f"length and slide have only {window.pane_us} in common, which would be the size of a "
        f"pane, and a window {window.panes_per_window} of them; at most {PANES_PER_WINDOW_MAX}: "
        f"take a slide that divides {window.range_us}"
    )
