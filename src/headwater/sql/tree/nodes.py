"""A stream's SELECT with every name resolved and every type known, as nodes over one another.

::

    Ordered    ORDER BY and LIMIT, which hold for each window's answer
    Shown      the SELECT list: the columns of an answer
    Kept       HAVING
    Split      how the grouping is computed: partials at sites, finished at the root
    Grouped    GROUP BY: above it only groups are left, and slots stand for keys and calls
    Kept       WHERE, and what rules add to it
    Records    FROM

A node refuses to be made wrong: with an ``Objection`` where a person wrote it so, with an assertion
where a rule of ours is at fault. Rules make new trees, writers say a tree in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates import RULES
from headwater.algebra.aggregates import aggregate as described
from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.columns import Partial
from headwater.algebra.rows.types import WINDOW_TYPE
from headwater.plan.part import Part
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import name_sql, sql_of
from headwater.sql.tree.slots import KEY, slot_of
from headwater.sql.types.type_rules import VOID

N = TypeVar("N")


class Key(msgspec.Struct, frozen=True):
    """What rows are grouped by, beside the window."""

    name: str
    expression: exp.Expr
    """Over the source's columns."""
    type: str

    def __post_init__(self) -> None:
        if self.type == VOID:
            raise Objection(
                self.expression, "NULL has no type to group by; write CAST(NULL AS STRING)"
            )

    @property
    def sql(self) -> str:
        """A computed key is cast to its declared type, so that no site can send another one."""
        text = sql_of(self.expression)
        is_column = text == name_sql(self.expression.name)
        return text if is_column else f"CAST({text} AS {self.type.upper()})"


class Call(msgspec.Struct, frozen=True):
    """One aggregate over records, with how it is split."""

    aggregate: described.Aggregate
    arguments: tuple[exp.Expr, ...]
    """Over the source's columns; a star for ``count(*)``."""
    condition: exp.Expr | None
    """Of its FILTER clause."""
    split: described.Split

    def sql(self, template: str) -> str:
        """SQL of the aggregate's, with this call's arguments and FILTER clause."""
        kept = "" if self.condition is None else f" FILTER(WHERE {sql_of(self.condition)})"
        return described.spelled(template, [sql_of(one) for one in self.arguments], kept)


class Item(msgspec.Struct, frozen=True):
    """One column of the answer."""

    name: str
    expression: exp.Expr
    """Over slots and the window."""
    type: str
    written: exp.Expr
    """As the user wrote it, for the reference."""


class Term(msgspec.Struct, frozen=True):
    """What an answer is ordered by."""

    item: Item
    """Its name is that of a column that is shown; empty while it is not known which."""
    direction: str = ""
    """What follows the expression: ``DESC``, ``NULLS LAST``, both or nothing."""

    def __post_init__(self) -> None:
        if self.item.type in (VOID, WINDOW_TYPE):
            raise Objection(
                self.item.written, "each window has its own order; order by columns of the answer"
            )


class Records(msgspec.Struct, frozen=True):
    source: Source
    alias: str
    """What the user calls it."""


class Kept(msgspec.Struct, frozen=True):
    """Those of what is below for which a condition is true."""

    below: Node
    condition: exp.Expr
    """Over the source's columns, or over slots and the window."""
    type: str = "boolean"
    written: exp.Expr | None = None
    """As the reference has it; None: the reference does without."""

    def __post_init__(self) -> None:
        if self.type != "boolean":
            clause = "HAVING" if one(self.below, Grouped) else "WHERE"
            raise Objection(self.written, f"{clause} takes a condition (boolean)")


class Grouped(msgspec.Struct, frozen=True):
    below: Records | Kept
    window: WindowSpec
    keys: tuple[Key, ...]
    calls: tuple[Call, ...]
    written: tuple[exp.Expr, ...]
    """What the user groups by beside the window, for the reference."""
    part: Part | None = None
    """Of a stream with several roots: which of the groups are asked for."""

    def __post_init__(self) -> None:
        assert len({key.name.lower() for key in self.keys}) == len(self.keys), "one name, one key"

    @property
    def source(self) -> Source:
        return the(self, Records).source

    @property
    def conditions(self) -> list[Kept]:
        """On records, the first one first."""
        return [node for node in walk(self.below) if isinstance(node, Kept)][::-1]


class Split(msgspec.Struct, frozen=True):
    """How a grouping is computed in parts."""

    below: Grouped
    partials: dict[Partial, str]
    """With what computes each at a site, over records."""
    finishes: tuple[str, ...]
    """For each call what finishes it at the root, over merged partials."""

    def __post_init__(self) -> None:
        names = {one.name.lower() for part in (self.below.keys, self.partials) for one in part}
        assert len(names) == len(self.below.keys) + len(self.partials), "one name, one column"
        assert all(partial.merge in RULES for partial in self.partials)
        assert len(self.finishes) >= len(self.below.calls)


class Shown(msgspec.Struct, frozen=True):
    below: Kept | Grouped | Split
    items: tuple[Item, ...]
    hidden: tuple[Item, ...] = ()
    """What is computed beside them, to order by."""

    def __post_init__(self) -> None:
        for item in self.items:
            if item.type == VOID:
                raise Objection(item.written, "NULL has no type; write CAST(NULL AS STRING)")
        assert len({item.name.lower() for item in self.columns}) == len(self.columns) > 0
        group = the(self, Grouped)
        slots = [slot_of(node) for item in self.columns for node in item.expression.walk()]
        for kind, index in filter(None, slots):
            assert index < len(group.keys if kind == KEY else group.calls), "no such slot"

    @property
    def columns(self) -> tuple[Item, ...]:
        return self.items + self.hidden

    @property
    def having(self) -> Kept | None:
        return self.below if isinstance(self.below, Kept) else None


class Ordered(msgspec.Struct, frozen=True):
    below: Shown
    terms: tuple[Term, ...]
    limit: int | None
    """Rows of each window's answer."""
    ties: tuple[str, ...] = ()
    """Columns that decide where the terms leave it open."""

    def __post_init__(self) -> None:
        names = {"", *(item.name for item in self.below.columns)}
        assert names.issuperset(term.item.name for term in self.terms), "ordered by what is missing"
        assert names.issuperset(self.ties)
        assert self.limit is None or self.limit > 0


Node = Records | Kept | Grouped | Split | Shown | Ordered


def walk(tree: Node) -> Iterator[Node]:
    """From the top down."""
    while not isinstance(tree, Records):
        yield tree
        tree = tree.below
    yield tree


def one(tree: Node, kind: type[N]) -> N | None:
    """The topmost node of a kind."""
    return next((node for node in walk(tree) if isinstance(node, kind)), None)


def the(tree: Node, kind: type[N]) -> N:
    found = one(tree, kind)
    assert found is not None, f"a tree without {kind.__name__}"
    return found


def rewrite(tree: Node, kind: type[N], change: Callable[[N], Node]) -> Node:
    """The tree with every node of a kind changed, from below up."""
    if not isinstance(tree, Records):
        tree = msgspec.structs.replace(tree, below=rewrite(tree.below, kind, change))
    return change(tree) if isinstance(tree, kind) else tree
