"""Which groups can't be finished: SQL that says so of every group in one job.

In ANSI mode the first value that can't be computed ends the whole job, while overflow belongs to
the group. Spark has no ``try(…)`` around any expression, but ``try_to_binary`` is one: it catches
whatever the evaluation of its argument raises, and yields NULL. So a group is judged by hashing all
that the query would make of it, inside such a call::

    TRY_TO_BINARY(CASE WHEN ‹having› THEN CONCAT('k', XXHASH64(‹items›)) ELSE 'r' END, 'utf-8')

NULL says that the group fails, ``k…`` that it is kept, ``r`` that HAVING rejects it, whatever its
items would have done. The hash is there so that every item is computed, and nothing is compared
with it. ``SETTINGS`` must hold: otherwise Spark computes what occurs twice before the call, outside
of what is caught. The aggregates themselves are computed outside as well; so the root judges merged
groups, whose aggregates are of one row, and the reference uses aggregates that don't fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.part import Part
from headwater.sql.read.sql_text import name_sql, parse, parse_expression, sql_of
from headwater.sql.resolve.question import KEY, Call, Question, filled
from headwater.sql.rules.order_answer import extra_columns, order_answer
from headwater.sql.write.write_central_sql import window_sql
from headwater.sql.write.write_root_sql import PANES
from headwater.sql.write.write_site_sql import RECORDS, key_sql, records_condition

GROUP_COLUMN = "__group"
"""The number of a group, beside the columns of ``panes``."""
MARK_COLUMN = "__mark"
SETTINGS = (("spark.sql.subexpressionElimination.enabled", "false"),)
REJECTED = "X'72'"
"""The binary of ``'r'``."""


class NotJudged(ValueError):
    """The root part has another form than ours; its groups can't be judged in one job."""


def write_verdict_sql(root_sql: str) -> str:
    """Over ``panes`` with each group once and numbered: the groups that are not in the answer.

    Yields ``GROUP_COLUMN`` and ``is_rejected``: by HAVING (true), or because the group fails
    (false). Raises ``NotJudged``.
    """
    select = _over_panes(root_sql)
    having = select.args.get("having")
    items = [sql_of(item.unalias()) for item in select.expressions]
    groups = [sql_of(group) for group in select.args["group"].expressions]
    mark = mark_sql(items, None if having is None else sql_of(having.this))
    return (
        f"SELECT {GROUP_COLUMN}, NOT {MARK_COLUMN} IS NULL AS is_rejected FROM ("
        f"SELECT {GROUP_COLUMN}, {mark} AS {MARK_COLUMN} FROM {PANES} "
        f"GROUP BY {', '.join([GROUP_COLUMN, *groups])}"
        f") WHERE {MARK_COLUMN} IS NULL OR {MARK_COLUMN} = {REJECTED}"
    )


def _over_panes(root_sql: str) -> exp.Select:
    for select in parse(root_sql).find_all(exp.Select):
        source = select.args.get("from_")
        table = source.this if source is not None else None
        is_inner = isinstance(table, exp.Table) and table.name == PANES
        if is_inner and select.args.get("group") is not None:
            return select
    raise NotJudged(f"wanted SELECT … FROM {PANES} GROUP BY …, got {root_sql[:200]!r}")


def mark_sql(items: Sequence[str], having: str | None) -> str:
    """NULL: the group fails; the binary of ``r``: HAVING rejects it; else it is in the answer."""
    kept = f"CONCAT('k', CAST(XXHASH64({', '.join(items)}) AS STRING))"
    condition = "TRUE" if having is None else having
    return f"TRY_TO_BINARY(CASE WHEN {condition} THEN {kept} ELSE 'r' END, 'utf-8')"


# The reference: one Spark over the records of all sites, under the same rule.


def write_tolerant_sql(question: Question, part: Part | None = None) -> str:
    """The answers as ``write_central_sql`` has them, without the groups that fail."""
    judged = _Judged(question)
    fine = f"({judged.mark} IS NOT NULL AND {judged.overflows} = 0)"
    columns = [name_sql(WINDOW_COLUMN)]
    columns += [
        f"CASE WHEN {fine} THEN {judged.text(item.expression)} END AS {name_sql(item.name)}"
        for item in question.items
    ]
    order = [
        f"CASE WHEN {fine} THEN {judged.text(order.expression)} END" for order in question.order
    ]
    columns += extra_columns(question, order)
    kept = f"({judged.mark} <> {REJECTED})"
    inner = f"{_grouped(question, part, columns)} HAVING {fine} AND {kept}"
    return order_answer(question, inner)


def write_left_out_sql(question: Question, part: Part | None = None) -> str:
    """How many groups of each window fail, as ``window`` and ``left_out``."""
    judged = _Judged(question)
    window = name_sql(WINDOW_COLUMN)
    inner = _grouped(question, part, [window])
    fails = f"{judged.mark} IS NULL OR {judged.overflows} > 0"
    return f"SELECT {window}, COUNT(*) AS left_out FROM ({inner} HAVING {fails}) GROUP BY {window}"


class _Judged:
    """A question's expressions over records, with aggregates that never fail."""

    def __init__(self, question: Question) -> None:
        self._keys = [key_sql(key) for key in question.keys]
        self._calls = [_tolerant(call) for call in question.calls]
        checks = [_overflow(call) for call in question.calls if call.split.tried]
        self.overflows = " + ".join(checks) or "0"
        items = [self.text(item.expression) for item in question.items]
        items += [self.text(order.expression) for order in question.order]
        having = None if question.having is None else self.text(question.having)
        self.mark = mark_sql(items, having)

    def text(self, expression: exp.Expr) -> str:
        def fill(kind: str, index: int) -> exp.Expr:
            return parse_expression(self._keys[index] if kind == KEY else self._calls[index])

        return sql_of(filled(expression, fill))


def _grouped(question: Question, part: Part | None, columns: Sequence[str]) -> str:
    groups = ", ".join([window_sql(question), *(key_sql(key) for key in question.keys)])
    condition = records_condition(question, part)
    return f"SELECT {', '.join(columns)} FROM {RECORDS} WHERE {condition} GROUP BY {groups}"


def _tolerant(call: Call) -> str:
    """The aggregate as Spark has it; of one that overflows NULL, or an error that is caught."""
    return call.sql(call.split.central or call.split.partials[0].site)


def _overflow(call: Call) -> str:
    """1 where the aggregate gave NULL though there were values, else 0."""
    return call.sql(f"CAST({call.split.tried} IS NULL AND COUNT({{x}}){{filter}} > 0 AS INT)")
