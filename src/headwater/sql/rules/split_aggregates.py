"""Split every aggregate of a question into what sites compute and what the root makes of it.

::

    avg(bytes), sum(bytes)      site    sum_1 = sum(bytes), count_2 = count(bytes)
                                root    sum_1 / count_2, sum_1

Partials are known by the SQL that computes them and the rule that merges them, so calls that need
the same ones share them.

Of a growing state the values are hidden keys, and calls over the same values share their rows. With
one growing state, the fixed ones ride on its rows::

    count(DISTINCT user), count(*)      site    by user_: value_1 = user, count_1 = count(*)
                                        root    rows with a value_1; the sum of count_1

With several, a site groups by each of them (GROUPING SETS), rows are told apart by their grouping
number, and the fixed states ride on the rows of the first.
"""

from typing import Any

from sqlglot import exp

from headwater.algebra.aggregates.aggregate import FoldedColumn, PartialColumn
from headwater.algebra.rows.coarser_groups import set_number
from headwater.algebra.rows.columns import Folded, Partial
from headwater.algebra.rows.types import PANE_COLUMN, WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql, parse_expression, sql_of
from headwater.sql.tree.grouping_sets import only_in, unlike_others
from headwater.sql.tree.items import ROWS, Call, Key
from headwater.sql.tree.nodes import Grouped, Node, Shown, Split, rewrite, the


def split_aggregates(tree: Node) -> Node:
    # A partial with the name of an item would let Spark read one for the other in HAVING.
    names = {item.name.lower() for item in the(tree, Shown).items}
    return rewrite(tree, Grouped, lambda group: _split(group, names))


def _split(group: Grouped, names: set[str]) -> Split:
    splitting = _Splitting(group, names)
    calls = group.calls or (() if group.keys else (ROWS,))
    finishes = tuple(splitting.finish(call) for call in calls)
    return splitting.split(finishes)


class _Splitting:
    """What a grouping needs, as it is collected call after call."""

    def __init__(self, group: Grouped, names: set[str]) -> None:
        self._group = group
        self._taken = names | {PANE_COLUMN, WINDOW_COLUMN} | {k.name.lower() for k in group.keys}
        growing = [_texts(call) for call in group.calls if call.split.hidden]
        self._growing = list(dict.fromkeys(growing))
        """The growing states, each known by what its hidden keys are over records."""
        self._hidden: dict[str, Key] = {}
        self._partials: dict[Partial, str] = {}
        self._states: dict[tuple[str, ...], list[Partial]] = {}
        self._folds: dict[tuple[Any, ...], Folded] = {}
        for call in group.calls:
            for column in call.split.hidden:
                self._hide(column, call.hidden(column))

    def finish(self, call: Call) -> str:
        """What finishes it over merged partials and folds."""
        state = _texts(call) if call.split.hidden else None
        own = self._growing.index(state) if state is not None else 0
        partials = self._merged(call, own)
        if state is None:
            return call.split.finish.format(*(name_sql(one.name) for one in partials))
        over = (*(self._hidden[text].name for text in state), *(one.name for one in partials))
        folded = [self._folded(column, over, own) for column in call.split.folds]
        return call.split.finish.format(*(name_sql(one.name) for one in folded))

    def split(self, finishes: tuple[str, ...]) -> Split:
        is_numbered = len(self._growing) > 1
        return Split(
            self._group,
            self._partials,
            finishes,
            tuple(self._hidden.values()),
            tuple(map(self._set, self._growing)) if is_numbered else (),
            self._free_name("grouping") if is_numbered else "",
            tuple(self._folds.values()),
            self._free_name("grouping_set") if self._group.sets else "",
        )

    def _hide(self, column: PartialColumn, expression: exp.Expr) -> None:
        text = sql_of(expression)
        if text in self._hidden:
            return
        place = len(self._hidden) + 1
        name = self._free_name(f"{column.stem}_{place}")
        taken = [sql_of(key.expression) for key in self._group.keys]
        is_alone = isinstance(expression, exp.Column) and text not in taken
        if len(self._growing) > 1 and not is_alone:
            expression = parse_expression(unlike_others(text, place))
        self._hidden[text] = Key(name, expression, column.type)

    def _merged(self, call: Call, own: int) -> list[Partial]:
        """The partials of a call. Fixed states ride on the rows of the first growing one."""
        rule, merged = call.rule, []
        for columns in _states(call):
            texts = [self._only_in(own, call.sql(one.site)) for one in columns]
            state = self._states.setdefault((rule.name, *texts), [])
            for column, text in zip(columns[len(state) :], texts, strict=False):
                name = self._free_name(f"{column.stem}_{len(self._partials) + 1}")
                state.append(Partial(name, column.type, rule.name))
                self._partials[state[-1]] = text
            merged += state
        return merged

    def _only_in(self, own: int, text: str) -> str:
        """Null in the rows of other states: so a record counts once."""
        if len(self._growing) < 2:
            return text
        return only_in(self._number(own), text)

    def _folded(self, column: FoldedColumn, over: tuple[str, ...], own: int) -> Folded:
        number = self._number(own) if len(self._growing) > 1 else 0
        text = (column.fold, column.type, over, number, column.values)
        if text not in self._folds:
            name = self._free_name(f"{column.stem}_of_{len(self._folds) + 1}")
            fold = Folded(name, column.type, column.fold, over, number, column.values)
            self._folds[text] = fold
        return self._folds[text]

    def _set(self, state: tuple[str, ...]) -> tuple[int, ...]:
        places = list(self._hidden)
        return tuple(sorted({places.index(text) for text in state}))

    def _number(self, own: int) -> int:
        return set_number(self._set(self._growing[own]), len(self._hidden))

    def _free_name(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _texts(call: Call) -> tuple[str, ...]:
    return tuple(sql_of(call.hidden(column)) for column in call.split.hidden)


def _states(call: Call) -> list[tuple[PartialColumn, ...]]:
    """The columns of a call that belong together."""
    columns, width = call.split.partials, call.rule.width
    return [columns[first : first + width] for first in range(0, len(columns), width)]
