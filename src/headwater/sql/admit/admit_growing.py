"""Growing states in a query from the wire: hidden keys, their sets, and what folds them away.

Which rows a site makes of growing states is in the site part's text, and what becomes of them in
the plan; both must say the same. A site that groups otherwise than the folds take it would have
records counted twice, or not at all.
"""

from __future__ import annotations

import msgspec
from sqlglot import exp

from headwater.algebra.rows.coarser_groups import set_number
from headwater.algebra.rows.columns import Folding, folded_columns
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.errors import QueryRefused
from headwater.plan.program import Program
from headwater.sql.read.sql_text import sql_of
from headwater.sql.tree.grouping_sets import GROUPING, grouping_sql, only_in

VALUES_MAX = 1_000
"""Of one fold."""


class GrowingRows(msgspec.Struct, frozen=True):
    """The rows of one query, as its site part makes them."""

    keys: int
    """The user's."""
    hidden: int
    """Without the grouping number."""
    is_numbered: bool
    sets: tuple[tuple[int, ...], ...]

    @property
    def numbers(self) -> dict[int, tuple[int, ...]]:
        """Of each set: the number that its rows have."""
        return {set_number(one, self.hidden): one for one in self.sets}

    def partial(self, name: str, expression: exp.Expr) -> exp.Expr:
        """The aggregate within what is null in the rows of other states."""
        if not self.is_numbered:
            return expression
        branches = expression.args["ifs"] if isinstance(expression, exp.Case) else []
        inner: exp.Expr | None = branches[0].args["true"] if branches else None
        if inner is not None:
            admitted = [only_in(number, sql_of(inner)) for number in self.numbers]
            if sql_of(expression) in admitted:
                return inner
        raise QueryRefused(
            f"partial {name}: wanted CASE WHEN {GROUPING} = {'|'.join(map(str, self.numbers))} "
            f"THEN … END, got {sql_of(expression)[:100]}"
        )


def check_growing(program: Program, select: exp.Select) -> GrowingRows:
    """What the site part groups by. Raises ``QueryRefused``."""
    folding = program.folding
    if not isinstance(folding, Folding):
        return _grouped_by(select, GrowingRows(len(program.keys), 0, is_numbered=False, sets=()))
    least = 2 if folding.is_numbered else (0 if folding.sets else 1)
    is_folded = bool(folding.columns) == bool(folding.hidden)
    if not least <= folding.hidden <= len(program.keys) or not is_folded:
        raise QueryRefused(
            f"folding: wanted {least} to {len(program.keys)} hidden keys and what becomes of them, "
            f"got {folding.hidden} and {len(folding.columns)} columns"
        )
    keys = len(program.keys) - folding.hidden
    hidden = folding.hidden - folding.is_numbered
    sets = _sets(select, keys, hidden) if folding.is_numbered else ()
    return _grouped_by(select, GrowingRows(keys, hidden, folding.is_numbered, sets))


def _sets(select: exp.Select, keys: int, hidden: int) -> tuple[tuple[int, ...], ...]:
    """The hidden keys of each set, by their places."""
    found = []
    for node in select.args["group"].find_all(exp.Tuple) if select.args.get("group") else ():
        positions = [one.name for one in node.expressions]
        if not all(position.isdecimal() and len(position) < 6 for position in positions):
            raise QueryRefused(f"site part: wanted sets of positions, got {sql_of(node)[:100]}")
        found.append(tuple(int(position) - keys - 2 for position in positions[1 + keys :]))
    order = list(dict.fromkeys(place for one in found for place in one))
    if len(found) < 2 or len(set(found)) < len(found) or order != list(range(hidden)):
        raise QueryRefused(
            f"site part: wanted several GROUPING SETS that have {hidden} hidden keys in this order "
            f"among them, got {sql_of(select.args['group'])[:200] if found else 'none'}"
        )
    return tuple(found)


def _grouped_by(select: exp.Select, rows: GrowingRows) -> GrowingRows:
    group = select.args.get("group")
    got = "none" if group is None else sql_of(group).strip().removeprefix("GROUP BY ")
    wanted = ", ".join(grouping_sql(rows.keys, rows.hidden, rows.sets))
    if got != wanted:
        raise QueryRefused(
            f"site part: wanted GROUP BY the pane and all keys, {wanted[:200]}, got {got[:100]}"
        )
    return rows


def check_folds(program: Program, rows: GrowingRows) -> None:
    """What is folded is what the site part makes. Raises ``QueryRefused``."""
    try:
        GroupMaker(program)
    except ValueError as error:
        raise QueryRefused(f"folding: {error}") from error
    names = [key.name for key in program.keys[rows.keys :]]
    for fold in folded_columns(program):
        if len(fold.values) > VALUES_MAX:
            raise QueryRefused(
                f"fold {fold.name}: wanted at most {VALUES_MAX} values, got {len(fold.values)}"
            )
        own = rows.numbers.get(fold.number) if rows.is_numbered else tuple(range(rows.hidden))
        places = {names.index(name) for name in fold.over if name in names}
        if own is None or not places or not places.issubset(own):
            raise QueryRefused(
                f"fold {fold.name}: wanted hidden keys of one state, got {fold.over} of rows with "
                f"grouping number {fold.number}"
            )
    unread = set(rows.numbers) - {fold.number for fold in folded_columns(program)}
    if rows.is_numbered and unread:
        raise QueryRefused(
            f"folding: wanted a column of each state that sites make, got none of rows with "
            f"grouping number {min(unread)}"
        )
