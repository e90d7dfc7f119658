"""``listagg(x, ',') WITHIN GROUP (ORDER BY x)``: the order that lists have, so it is dropped.

Any other order needs values beside the texts, which no list has.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.call_types import name_of

TEXTS = ("listagg", "string_agg")


def drop_value_order(select: exp.Select) -> None:
    """Writes the calls without it, in place. Raises ``Objection``."""
    for node in list(select.find_all(exp.WithinGroup)):
        call, order = node.this, node.expression
        if not isinstance(call, exp.Anonymous) or name_of(call) not in TEXTS:
            continue
        terms = order.expressions
        if len(terms) != 1 or terms[0].args.get("desc") or not _is_listed(call, terms[0].this):
            raise Objection(
                terms[0],
                f"{name_of(call)} puts texts together in their own order: write WITHIN GROUP "
                f"(ORDER BY {_listed_text(call)[:60]}), or leave it out; for the order of another "
                "column write min_by(x, y, 100)",
            )
        node.replace(call)


def _is_listed(call: exp.Anonymous, by: exp.Expr) -> bool:
    return sql_of(by.unnest()) == _listed_text(call)


def _listed_text(call: exp.Anonymous) -> str:
    """What is put together."""
    arguments = call.expressions
    if arguments and isinstance(arguments[0], exp.Distinct):
        arguments = arguments[0].expressions
    return sql_of(arguments[0].unnest()) if arguments else ""
