"""Split every aggregate of a question into what sites compute and what the root makes of it.

::

    avg(bytes), sum(bytes)      site    sum_1 = sum(bytes), count_2 = count(bytes)
                                root    sum(sum_1) / sum(count_2), sum(sum_1)

Partials are known by the SQL that computes them and the rule that merges them, so calls that need
the same ones share them.
"""

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates.aggregate import PartialColumn
from headwater.algebra.aggregates.count import COUNT
from headwater.algebra.rows.columns import Partial
from headwater.algebra.rows.types import PANE_COLUMN, WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql
from headwater.sql.resolve.question import Call, Question

ROWS = Call(COUNT, (exp.Star(),), None, COUNT.split(()))
"""Rows without columns can't be counted; this one says that there is a row."""


class SplitQuestion(msgspec.Struct, frozen=True):
    question: Question
    partials: dict[Partial, str]
    """With what computes each, over records."""
    finishes: tuple[str, ...]
    """For each call what finishes it, over merged partials."""


def split_aggregates(question: Question) -> SplitQuestion:
    # A partial with the name of an item would let Spark read one for the other in HAVING.
    taken = {PANE_COLUMN, WINDOW_COLUMN}
    taken |= {key.name.lower() for key in question.keys}
    taken |= {item.name.lower() for item in question.items}
    partials: dict[Partial, str] = {}
    states: dict[tuple[str, ...], list[Partial]] = {}
    finishes = []
    for call in question.calls or (() if question.keys else (ROWS,)):
        rule, merged = call.aggregate.merge, []
        for columns in _states(call):
            texts = [call.sql(one.site) for one in columns]
            state = states.setdefault((rule.name, *texts), [])
            for column, text in zip(columns[len(state) :], texts, strict=False):
                name = _free_name(f"{column.stem}_{len(partials) + 1}", taken)
                state.append(Partial(name, column.type, rule.name))
                partials[state[-1]] = text
            merged += [f"{rule.sql}({name_sql(one.name)})" for one in state]
        finishes.append(call.split.finish.format(*merged))
    return SplitQuestion(question, partials, tuple(finishes))


def _states(call: Call) -> list[tuple[PartialColumn, ...]]:
    """The columns of a call that belong together."""
    columns, width = call.split.partials, call.aggregate.merge.width
    return [columns[first : first + width] for first in range(0, len(columns), width)]


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
