"""Sketches in a root part from the wire: who reads one, and which.

Spark reads a sketch by addresses that it finds in it, so it gets those alone that were looked at,
each by a reader of its own kind: bytes from a record could be anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headwater.errors import QueryRefused
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.call_types import name_of
from headwater.sql.types.functions import SKETCH_READERS, SKETCH_SETS


def check_sketches(expression: exp.Expr, known: Mapping[str, str]) -> None:
    """Raises ``QueryRefused``. ``known`` are columns whose cells were read by code of ours before
    they came here, with the rules that did."""
    for call in expression.find_all(exp.Anonymous):
        name = name_of(call)
        if name not in SKETCH_READERS and name not in SKETCH_SETS:
            continue
        count, family = 1 if name in SKETCH_READERS else 2, name.partition("_")[0]
        sketches, others = call.expressions[:count], call.expressions[count:]
        are_known = all(_is_sketch(one, family, known) for one in sketches)
        if not are_known or not all(isinstance(one, exp.Literal) for one in others):
            raise QueryRefused(
                "root part: wanted a sketch that this query makes, and literals; got "
                f"{sql_of(call)[:100]}; write hll_sketch_estimate(hll_sketch_agg(x))"
            )


def _is_sketch(node: exp.Expr, family: str, known: Mapping[str, str]) -> bool:
    """It is one that was looked at, or is made of such ones: those are asked for by themselves."""
    if isinstance(node, exp.Anonymous):
        return name_of(node) in SKETCH_SETS and name_of(node).startswith(f"{family}_")
    return isinstance(node, exp.Column) and known.get(node.name, "").startswith(f"{family}_")
