"""Which groups can't be finished: SQL that says so of every group in one job.

In ANSI mode the first value that can't be computed ends the whole job, while overflow belongs to
the group. Spark has no ``try(…)`` around any expression, but ``try_to_binary`` is one: it catches
whatever the evaluation of its argument raises, and yields NULL. So a group is judged by hashing all
that the query would make of it, inside such a call::

    TRY_TO_BINARY(CASE WHEN ‹having› THEN CONCAT('k', XXHASH64(‹items›)) ELSE 'r' END, 'utf-8')

NULL says that the group fails, ``k…`` that it is kept, ``r`` that HAVING rejects it, whatever its
items would have done. The hash is there so that every item is computed, and nothing is compared
with it. ``SETTINGS`` must hold: otherwise Spark computes what occurs twice before the call, and
what is constant while it plans, outside of what is caught, and refuses to hash maps. The aggregates
themselves are computed outside as well; so the root judges merged groups, and the reference uses
aggregates that don't fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headwater.sql.read.sql_text import name_sql, parse, parse_expression, sql_of
from headwater.sql.tree.grouping_sets import number_sql, sets_sql
from headwater.sql.tree.items import Call
from headwater.sql.tree.nodes import Grouped, Node, Ordered, Shown, the
from headwater.sql.tree.slots import KEY, NUMBER, filled
from headwater.sql.write.select_sql import WINDOW, answer_sql, select_sql
from headwater.sql.write.state_records import states_sql
from headwater.sql.write.write_central_sql import session_conditions, window_item, window_sql
from headwater.sql.write.write_root_sql import PANES
from headwater.sql.write.write_site_sql import RECORDS, expanded_sql

GROUP_COLUMN = "__group"
"""The number of a group, beside the columns of ``panes``."""
MARK_COLUMN = "__mark"
KEPT_COLUMN = "__kept"
SETTINGS = (
    ("spark.sql.legacy.allowHashOnMapType", "true"),
    ("spark.sql.subexpressionElimination.enabled", "false"),
    (
        "spark.sql.optimizer.excludedRules",
        "org.apache.spark.sql.catalyst.optimizer.ConstantFolding",
    ),
)
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
    kept, group = select.args.get("where") or select.args.get("having"), select.args.get("group")
    items = [sql_of(item.unalias()) for item in select.expressions]
    mark = mark_sql(items, None if kept is None else sql_of(kept.this))
    groups = [] if group is None else [GROUP_COLUMN, *map(sql_of, group.expressions)]
    marked = select_sql([GROUP_COLUMN, f"{mark} AS {MARK_COLUMN}"], PANES, groups=groups)
    return (
        f"SELECT {GROUP_COLUMN}, NOT {MARK_COLUMN} IS NULL AS is_rejected FROM ({marked}) "
        f"WHERE {MARK_COLUMN} IS NULL OR {MARK_COLUMN} = {REJECTED}"
    )


def _over_panes(root_sql: str) -> exp.Select:
    for select in parse(root_sql).find_all(exp.Select):
        source = select.args.get("from_")
        table = source.this if source is not None else None
        if isinstance(table, exp.Table) and table.name == PANES:
            return select
    raise NotJudged(f"wanted SELECT … FROM {PANES}, got {root_sql[:200]!r}")


def mark_sql(items: Sequence[str], having: str | None) -> str:
    """NULL: the group fails; the binary of ``r``: HAVING rejects it; else it is in the answer."""
    kept = f"CONCAT('k', CAST(XXHASH64({', '.join(items)}) AS STRING))"
    condition = "TRUE" if having is None else having
    return f"TRY_TO_BINARY(CASE WHEN {condition} THEN {kept} ELSE 'r' END, 'utf-8')"


# The reference: one Spark over the records of all sites, under the same rule.


def write_tolerant_sql(tree: Node) -> str:
    """The answers as ``write_central_sql`` has them, without the groups that fail."""
    judged = _Judged(tree)
    fine = f"({judged.mark} IS NOT NULL AND {judged.overflows} = 0)"
    answered = f"{fine} AND ({judged.mark} <> {REJECTED})"
    # Spark computes the columns of a group before HAVING, or after it, as its planner likes: so a
    # column asks for itself whether the group is in the answer.
    columns = [
        f"CASE WHEN {answered} THEN {judged.text(item.expression)} END AS {name_sql(item.name)}"
        for item in the(tree, Shown).columns
    ]
    inner = judged.groups_sql(columns, having=answered)
    return answer_sql(tree, inner, is_folded=True)


def write_left_out_sql(tree: Node) -> str:
    """How many groups of each window fail, as ``window`` and ``left_out``: sessions that are too
    long among them, whatever HAVING says of one."""
    judged = _Judged(tree)
    failed = f"{judged.mark} IS NULL OR {judged.overflows} > 0"
    inner = judged.groups_sql([], having=failed, are_kept=False)
    return f"SELECT {WINDOW}, COUNT(*) AS left_out FROM ({inner}) GROUP BY {WINDOW}"


class _Judged:
    """The expressions of a tree over records, with aggregates that never fail."""

    def __init__(self, tree: Node) -> None:
        shown, self._group = the(tree, Shown), the(tree, Grouped)
        self._shown = shown.columns
        self._is_distinct = shown.is_distinct
        self._calls = [_tolerant(call) for call in self._group.calls]
        checks = [_overflow(call) for call in self._group.calls if call.split.tried]
        self.overflows = " + ".join(checks) or "0"
        terms = tree.terms if isinstance(tree, Ordered) else ()
        asked = [*shown.items, *(term.item for term in terms)]
        having = None if shown.having is None else self.text(shown.having.condition)
        self.mark = mark_sql([self.text(item.expression) for item in asked], having)

    def text(self, expression: exp.Expr) -> str:
        def fill(kind: str, index: int) -> exp.Expr:
            keys = self._group.keys
            if kind == NUMBER:
                return parse_expression(number_sql([key.over_all for key in keys]))
            return parse_expression(keys[index].over_all if kind == KEY else self._calls[index])

        return sql_of(filled(expression, fill))

    def groups_sql(self, columns: Sequence[str], *, having: str, are_kept: bool = True) -> str:
        where = [sql_of(kept.condition) for kept in self._group.conditions]
        keys = [key.over_all for key in self._group.keys]
        of_states = bool(self._group.last_n)
        window = WINDOW if of_states else window_sql(self._group)
        records = expanded_sql(self._group)
        if of_states:
            records, where = states_sql(self._group, where, RECORDS), []
        items = [window_item(self._group), *columns]
        is_distinct = self._is_distinct and bool(columns)
        groups = sets_sql(window, keys, self._group.sets)
        if not self._group.sets:
            short = session_conditions(self._group)
            others = short if are_kept else [f"NOT ({one})" for one in short]
            having = (" AND " if are_kept else " OR ").join([f"({having})", *others])
            return select_sql(
                items, records, where=where, groups=groups, having=having, is_distinct=is_distinct
            )
        # In HAVING Spark finds neither the keys of grouping sets nor which set a group is of.
        items.append(f"{having} AS {KEPT_COLUMN}")
        names = [WINDOW, *(name_sql(item.name) for item in self._shown[: len(columns)])]
        marked = select_sql(items, records, where=where, groups=groups)
        return select_sql(names, f"({marked})", where=[KEPT_COLUMN], is_distinct=is_distinct)


def _tolerant(call: Call) -> str:
    """The aggregate as Spark has it; of one that overflows NULL, or an error that is caught."""
    return call.sql(call.split.central or call.split.partials[0].site)


def _overflow(call: Call) -> str:
    """1 where the aggregate gave NULL though there were values, else 0."""
    return call.sql(f"CAST({call.split.tried} IS NULL AND COUNT({{x}}){{filter}} > 0 AS INT)")
