"""HAVING beside an error: comparisons of which an answer can say what rows are near to them.

What was kept back may lift a row over a limit or have put it there. Of ``column > number`` and its
kind, for columns that are bounded and shown, an answer knows by how much a row may be off, and so
which rows are sure. Of anything else nobody could say.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headwater.algebra.remainders.tolerance import CONDITIONS_MAX, Comparison, Condition
from headwater.sql.read.options import Options
from headwater.sql.rules.never_negative import is_sure
from headwater.sql.tree.items import Call, Item
from headwater.sql.tree.slots import CALL, slot_of

_COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_TURNED: dict[Comparison, Comparison] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def conditions_of(
    having: exp.Expr, items: Sequence[Item], calls: Sequence[Call], options: Options
) -> tuple[Condition, ...]:
    """``items`` are the columns that rows may be chosen by. Raises ``QueryRefused``."""
    shown = {slot_of(item.expression): item for item in items}
    parts = having.flatten() if isinstance(having, exp.And) else [having]
    found = [_condition(one, shown, calls) for one in parts]
    known = tuple(one for one in found if one is not None)
    if len(known) < len(found) or len(known) > CONDITIONS_MAX:
        names = ", ".join(f"`{item.name}`" for item in items) or "none"
        raise options.refused(
            "error",
            "HAVING chooses rows by values that may be off; beside error write `column > number`, "
            f">=, < or <=, up to {CONDITIONS_MAX} of them with AND, each of a count, sum or "
            f"maximum that SELECT shows (here {names}), or leave HAVING to who reads the answer",
        )
    return known


def _condition(
    node: exp.Expr, shown: dict[tuple[str, int] | None, Item], calls: Sequence[Call]
) -> Condition | None:
    """None: it is no comparison of a column with a number."""
    node = node.unnest()
    word = _COMPARISONS.get(type(node))
    if word is None:
        return None
    left, right = node.this.unnest(), node.expression.unnest()
    if slot_of(left) is None:
        left, right, word = right, left, _TURNED[word]
    slot, number = slot_of(left), _number(right)
    if slot is None or slot[0] != CALL or slot not in shown or number is None:
        return None
    return Condition(shown[slot].name, word, number, is_sure(calls[slot[1]]))


def _number(node: exp.Expr) -> float | None:
    if isinstance(node, exp.Neg):
        found = _number(node.this.unnest())
        return None if found is None else -found
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return float(node.name) if is_number else None
