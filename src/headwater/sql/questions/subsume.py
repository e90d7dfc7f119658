"""Whether a stream's panes have what a question asks, and how it is computed of them.

A cube has the partial rows of a stream by pane and key, before HAVING, ORDER BY and LIMIT. A
question is contained in them if it is a slice and a roll-up of what is there (JetStream,
section 3):

* it reads the same records: the same source, whatever its text looked like, the same views;
* its panes are whole runs of the stream's, on one grid;
* it keeps what the stream keeps, and further conditions are over the stream's keys alone;
* its keys are the stream's, or expressions of them;
* its aggregates are merged of the same partials.

Expressions are compared by their canonical text. One that is equal but for its text may be missed;
one that differs is never taken for equal. A site asks this of its own copies of both queries, and
nothing of it travels: whoever asks can't have a site compute what the two do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from sqlglot import exp

from headwater.algebra.rows.columns import Partial
from headwater.algebra.rows.types import FLOATS, PANE_COLUMN
from headwater.errors import HeadwaterError
from headwater.plan.durations import duration_text
from headwater.plan.query import Query, TimeKind
from headwater.sql.compile import question_of
from headwater.sql.read.sql_text import column, name_sql, named_sql, sql_of
from headwater.sql.tree.items import Key
from headwater.sql.tree.nodes import Grouped, Node, Split, the
from headwater.sql.types.place_functions import is_place
from headwater.sql.types.type_rules import type_sql
from headwater.sql.write.select_sql import select_sql
from headwater.sql.write.write_site_sql import write_site_sql

CUBE = "cube"
"""The view of a stream's rows: ``pane`` (the question's), the stream's keys, its partials."""
SHOWN = 60
"""Characters of an expression that a reason quotes."""


class CubePart(msgspec.Struct, frozen=True):
    """What a question makes of a stream's rows. They have the question's keys and partials then,
    and what of them belongs to one group is still to be merged."""

    sql: str
    """Over the view ``cube``: yields ``pane``, keys, partials."""
    columns: tuple[str, ...] | None
    """The same without Spark, where nothing is computed and nothing is kept out: which columns of
    the stream they are, in the order of the question's; None: it takes the SQL."""
    panes: int
    """How many of the stream's a pane of the question has."""

    def first_of(self, pane: int, asked: Query, stream: Query) -> int:
        """The stream's first pane of one of the question's."""
        return stream.window.pane_at(asked.window.pane_start_us(pane))


class Uncontained(HeadwaterError):
    """In a sentence: what of the question the stream's panes lack."""


def subsume(asked: Query, stream: Query) -> CubePart:
    """Raises ``Uncontained``."""
    _check_kinds(asked, stream)
    panes = _panes(asked, stream)
    part = _CubePart(_tree(asked), _tree(stream), stream.id.name)
    return msgspec.structs.replace(part.made(), panes=panes)


def why_not(asked: Query, stream: Query) -> str | None:
    """What is missing; None: nothing."""
    try:
        subsume(asked, stream)
    except Uncontained as error:
        return str(error)
    return None


def _check_kinds(asked: Query, stream: Query) -> None:
    name = stream.id.name
    if not asked.reads_as(stream):
        raise Uncontained(
            f"{name} reads source {stream.program.source.name}, and the question another one, or "
            "one that is defined otherwise"
        )
    if asked.program.settings != stream.program.settings:
        raise Uncontained(f"{name} runs under other settings of Spark's")
    why = never_asked(stream)
    if why is not None:
        raise Uncontained(f"{name} {why}")


def never_asked(stream: Query) -> str | None:
    """Why its panes are none that can be asked; None: they are."""
    if stream.asked is not None:
        return "is a question itself"
    if stream.time is not TimeKind.EVENT:
        return "places records by their age, whose clock nobody knows any more"
    if stream.holds_states:
        return "holds states, which can't be added up"
    if stream.sessions is not msgspec.UNSET:
        return "holds fragments of sessions"
    if stream.numbers is not None:
        return f"has panes of {stream.counted}, not of time"
    if stream.part is not None:
        return "is answered in parts, by several roots"
    if stream.draw is not None:
        return "has not drawn all of its panes"
    if stream.stands_for is not None:
        return "has those panes alone that sites sent in the place of finer ones"
    if stream.degradation is not msgspec.UNSET:
        return "may give up something of its panes where the way is too narrow"
    if stream.program.first is not msgspec.UNSET:
        return "keeps the first rows of a pane only"
    if stream.program.folding is not msgspec.UNSET:
        return "has growing states, or grouping sets, whose rows are no groups of the user's keys"
    return None


def _panes(asked: Query, stream: Query) -> int:
    """How many of the stream's panes one of the question's is."""
    grid, own = asked.window, stream.window
    if grid.pane_us % own.pane_us or (grid.start_us - own.start_us) % own.pane_us:
        raise Uncontained(
            f"{stream.id.name} has panes of {duration_text(own.pane_us)}, and windows of "
            f"{duration_text(grid.range_us)} every {duration_text(grid.slide_us)} are no whole "
            "runs of them"
        )
    return grid.pane_us // own.pane_us


def _tree(query: Query) -> Node:
    """Read anew from the query's own text, and the same as what sites run."""
    try:
        tree = question_of(query)
    except HeadwaterError as error:
        raise Uncontained(f"{query.id.name}: its statement can't be read here: {error}") from error
    if write_site_sql(tree) != query.program.site_sql:
        raise Uncontained(
            f"{query.id.name} was compiled by another version, so what its partials are is not "
            "known here; install it anew"
        )
    return tree


class _CubePart:
    """As it is found, from conditions to partials."""

    def __init__(self, asked: Node, stream: Node, name: str) -> None:
        self._asked, self._stream, self._name = the(asked, Split), the(stream, Split), name
        self._keys = {sql_of(key.expression): key for key in self._stream.below.keys}

    def made(self) -> CubePart:
        asked = self._asked
        if asked.hidden or asked.below.sets:
            raise Uncontained(
                "the question has growing states, such as count(DISTINCT …), or grouping sets: "
                "these are read off records"
            )
        self._check_views(asked.below, self._stream.below)
        conditions = self._conditions()
        keys = [self._key(key) for key in asked.below.keys]
        partials = [self._partial(*one) for one in asked.partials.items()]
        return _written(asked, conditions, [*keys, *partials])

    def _check_views(self, asked: Grouped, stream: Grouped) -> None:
        texts = [_views(one) for one in (asked, stream)]
        if texts[0] != texts[1]:
            raise Uncontained(f"{self._name} has other LATERAL VIEWs than the question")

    def _conditions(self) -> list[str]:
        """Those that the stream has not kept already, over its keys."""
        kept = {sql_of(one) for one in _conjuncts(self._stream.below)}
        wanted = {sql_of(one): one for one in _conjuncts(self._asked.below)}
        missing = [text for text in kept if text not in wanted]
        if missing:
            raise Uncontained(
                f"{self._name} has only records with {sorted(missing)[0][:SHOWN]}, and the "
                "question asks for others, too"
            )
        further = [one for text, one in wanted.items() if text not in kept]
        over = [self._over_keys(one, "the question keeps records by") for one in further]
        return [f"({sql_of(one)})" for one in over]

    def _key(self, key: Key) -> str:
        """What it is over the cube: a column, or an expression of several."""
        known = self._keys.get(sql_of(key.expression))
        if known is not None:
            return name_sql(known.name)
        over = self._over_keys(key.expression, "the question is grouped by")
        return f"CAST({sql_of(over)} AS {type_sql(key.type)})"

    def _over_keys(self, expression: exp.Expr, what: str) -> exp.Expr:
        """The expression with keys in the places of what they were computed of."""
        text = sql_of(expression)[:SHOWN]
        floats = set[str]()
        found = _replaced(expression.copy(), self._with_key(floats))
        strange = [
            node
            for node in found.walk()
            if is_place(node) or (isinstance(node, exp.Column) and not node.meta.get(CUBE))
        ]
        if strange:
            raise Uncontained(
                f"{what} {text}, which {self._name} has not in its keys "
                f"({', '.join(key.name for key in self._keys.values()) or 'none'})"
            )
        if floats:
            raise Uncontained(
                f"{what} {text}, an expression of {sorted(floats)[0]}, which is a number with a "
                "point: groups take 0.0 and -0.0 for one"
            )
        return found

    def _with_key(self, floats: set[str]) -> Callable[[exp.Expr], exp.Expr | None]:
        def replaced(node: exp.Expr) -> exp.Expr | None:
            key = self._keys.get(sql_of(node))
            if key is None:
                return None
            if key.type in FLOATS:
                floats.add(key.name)
            made = column(key.name)
            made.meta[CUBE] = True
            return made

        return replaced

    def _partial(self, wanted: Partial, text: str) -> str:
        for partial, own in self._stream.partials.items():
            is_it = (partial.merge, partial.type) == (wanted.merge, wanted.type)
            if own == text and is_it:
                return name_sql(partial.name)
        raise Uncontained(f"{self._name} does not compute {text[:SHOWN]}")


def _written(asked: Split, conditions: Sequence[str], values: Sequence[str]) -> CubePart:
    names = [*(key.name for key in asked.keys), *(one.name for one in asked.partials)]
    columns = [name_sql(PANE_COLUMN)]
    columns += [named_sql(text, name) for text, name in zip(values, names, strict=True)]
    is_plain = not conditions and not any(text.startswith("CAST(") for text in values)
    plain = tuple(_unquoted(text) for text in values) if is_plain else None
    return CubePart(select_sql(columns, CUBE, where=conditions), plain, 1)


def _unquoted(text: str) -> str:
    return text.strip("`").replace("``", "`")


def _replaced(tree: exp.Expr, replace: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """From the top down: the largest expressions first, and nothing within what was replaced."""
    made = replace(tree)
    if made is not None:
        return made
    for name, value in list(tree.args.items()):
        if isinstance(value, exp.Expr):
            tree.set(name, _replaced(value, replace))
        elif isinstance(value, list):
            of = [_replaced(one, replace) if isinstance(one, exp.Expr) else one for one in value]
            tree.set(name, of)
    return tree


def _conjuncts(group: Grouped) -> list[exp.Expr]:
    """What all records satisfy, each by itself: AND keeps what both sides are true of."""
    found = list[exp.Expr]()
    waiting = [kept.condition for kept in group.conditions][::-1]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Paren):
            waiting.append(one.this)
        elif isinstance(one, exp.And):
            waiting += [one.right, one.left]
        else:
            found.append(one)
    return found


def _views(group: Grouped) -> list[tuple[str, tuple[str, ...], bool]]:
    return [(sql_of(one.call), tuple(one.names), one.is_outer) for one in group.views]
