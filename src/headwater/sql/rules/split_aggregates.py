"""Split every aggregate of a question into what sites compute and what the root makes of it.

::

    avg(bytes), sum(bytes)      site    sum_1 = sum(bytes), count_2 = count(bytes)
                                root    sum_1 / count_2, sum_1

Partials are known by the SQL that computes them and the rule that merges them, so calls that need
the same ones share them.
"""

from sqlglot import exp

from headwater.algebra.aggregates.aggregate import PartialColumn
from headwater.algebra.aggregates.count import COUNT
from headwater.algebra.rows.columns import Partial
from headwater.algebra.rows.types import PANE_COLUMN, WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql
from headwater.sql.tree.nodes import Call, Grouped, Node, Shown, Split, rewrite, the

ROWS = Call(COUNT, (exp.Star(),), None, COUNT.split(()))
"""Rows without columns can't be counted; this one says that there is a row."""


def split_aggregates(tree: Node) -> Node:
    # A partial with the name of an item would let Spark read one for the other in HAVING.
    names = {item.name.lower() for item in the(tree, Shown).items}
    return rewrite(tree, Grouped, lambda group: _split(group, names))


def _split(group: Grouped, names: set[str]) -> Split:
    taken = names | {PANE_COLUMN, WINDOW_COLUMN} | {key.name.lower() for key in group.keys}
    partials: dict[Partial, str] = {}
    states: dict[tuple[str, ...], list[Partial]] = {}
    finishes = []
    for call in group.calls or (() if group.keys else (ROWS,)):
        rule, merged = call.aggregate.merge, []
        for columns in _states(call):
            texts = [call.sql(one.site) for one in columns]
            state = states.setdefault((rule.name, *texts), [])
            for column, text in zip(columns[len(state) :], texts, strict=False):
                name = _free_name(f"{column.stem}_{len(partials) + 1}", taken)
                state.append(Partial(name, column.type, rule.name))
                partials[state[-1]] = text
            merged += [name_sql(one.name) for one in state]
        finishes.append(call.split.finish.format(*merged))
    return Split(group, partials, tuple(finishes))


def _states(call: Call) -> list[tuple[PartialColumn, ...]]:
    """The columns of a call that belong together."""
    columns, width = call.split.partials, call.aggregate.merge.width
    return [columns[first : first + width] for first in range(0, len(columns), width)]


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
