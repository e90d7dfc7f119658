"""LIMIT and OFFSET, which hold for each window's answer."""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.types.refused_nodes import brief

LIMIT_MAX = 1_000_000
COUNT_DIGITS_MAX = 10
"""Of LIMIT and OFFSET; one with more is beyond both already."""


def read_limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = _count(limit.expression) if isinstance(limit, exp.Limit) else None
    if count is None or not 1 <= count <= LIMIT_MAX:
        raise Objection(
            limit,
            f"LIMIT takes a number from 1 to {LIMIT_MAX}, for each window's answer, as in LIMIT "
            f"10; got `{brief(limit)}`",
        )
    return count


def read_offset(select: exp.Select) -> int:
    offset = select.args.get("offset")
    if offset is None:
        return 0
    count = _count(offset.expression)
    if count is None or count > LIMIT_MAX:
        raise Objection(
            offset,
            f"OFFSET takes a number from 0 to {LIMIT_MAX}, for each window's answer; got "
            f"`{brief(offset)}`",
        )
    return count


def _count(node: exp.Expr) -> int | None:
    is_count = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return int(node.name[:COUNT_DIGITS_MAX]) if is_count else None
