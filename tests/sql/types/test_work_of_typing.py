"""What it costs to type an expression grows with its length, not with its depth."""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.read.sql_text import parse_expression
from headwater.sql.types.expression_types import type_of


def lookups(floors: int) -> int:
    asked = []

    def column_type(node: exp.Column) -> str:
        asked.append(node)
        return "decimal(10,2)"

    type_of(parse_expression("x" + " + 1" * floors), column_type)
    return len(asked)


def test_a_tower_of_operators_costs_one_look_at_each_floor() -> None:
    """Each floor asks for the type below it twice, because a literal stands beside a decimal."""
    assert lookups(4) == lookups(16) == 1
