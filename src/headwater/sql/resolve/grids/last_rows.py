"""``last_rows(1000, every => '1 second')``: each site's last so many records, answered so often."""

from __future__ import annotations

from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.plan.durations import EXAMPLES, duration_us
from headwater.plan.query import LAST_N_MAX
from headwater.sql.read.objection import Objection
from headwater.sql.resolve.grids.sequence_windows import Grid, whole_number
from headwater.sql.types.call_types import name_of
from headwater.sql.types.refused_nodes import brief

LAST_ROWS = "last_rows"
EVERY = "every"
_SHAPE = f"{LAST_ROWS}(1000, {EVERY} => '1 second')"


def is_last_rows_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and name_of(node) == LAST_ROWS


def read_last_rows(call: exp.Anonymous) -> Grid:
    """How many records, and how often; panes and windows are as long as that. Raises
    ``Objection``."""
    arguments = call.expressions
    if len(arguments) != 2:
        raise Objection(
            call, f"{LAST_ROWS} takes a number of records and how often to answer: {_SHAPE}"
        )
    last_n = whole_number(arguments[0])
    if last_n is None or last_n > LAST_N_MAX:
        raise Objection(
            arguments[0],
            f"{LAST_ROWS} takes a number of records from 1 to {LAST_N_MAX}, without quotes: "
            f"{_SHAPE}",
        )
    every_us = _every_us(arguments[1])
    return Grid(WindowSpec(every_us, every_us), last_n=last_n)


def _every_us(node: exp.Expr) -> int:
    is_named = isinstance(node, exp.Kwarg) and node.this.name.lower() == EVERY
    length = node.expression if isinstance(node, exp.Kwarg) else node
    if not is_named:
        raise Objection(node, f"{LAST_ROWS} says by name how often it is answered: {_SHAPE}")
    us = duration_us(length.name) if isinstance(length, exp.Literal) and length.is_string else None
    if not us:
        raise Objection(
            length, f"{EVERY} takes a length of time in quotes: {EXAMPLES}; got {brief(length)}"
        )
    return us
