"""A stream's SELECT with every name resolved and every type known, as nodes over one another.

::

    Ordered    ORDER BY, LIMIT and OFFSET, which hold for each window's answer
    Ranked     ranks within a window, and QUALIFY
    Shown      the SELECT list: the columns of an answer
    Kept       HAVING
    Split      how the grouping is computed: partials at sites, finished at the root
    Grouped    GROUP BY: above it only groups are left, and slots stand for keys and calls
    Kept       WHERE, and what rules add to it
    Expanded   LATERAL VIEW: several records of one
    Records    FROM

A node refuses to be made wrong: with an ``Objection`` where a person wrote it so, with an assertion
where a rule of ours is at fault. Rules make new trees, writers say a tree in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates import FOLDS, RULES
from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.columns import Column, Folded, Partial
from headwater.algebra.windows.sessions import Sessions
from headwater.plan.part import Part
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.tree.items import ROWS, Call, Item, Key, Term, check_travels
from headwater.sql.tree.slots import CALL, KEY, NUMBER, slot_of
from headwater.sql.types.type_rules import VOID, is_orderable

N = TypeVar("N")


class Records(msgspec.Struct, frozen=True):
    source: Source
    alias: str
    """What the user calls it."""


class Expanded(msgspec.Struct, frozen=True):
    """What is below, each record as often as a generator makes something of it."""

    below: Records | Kept | Expanded
    call: exp.Expr
    """Over the source's columns, and those of views below."""
    columns: tuple[Column, ...]
    """What it adds to a record."""
    is_outer: bool
    """A record of which nothing is made stays, with NULL."""
    written: exp.Expr
    """The call as the reference has it."""
    alias: str = ""
    """What the user calls it, for the reference."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


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
    below: Records | Expanded | Kept
    window: WindowSpec
    keys: tuple[Key, ...]
    calls: tuple[Call, ...]
    written: tuple[exp.Expr, ...]
    """What the user groups by beside the window, for the reference."""
    part: Part | None = None
    """Of a stream with several roots: which of the groups are asked for."""
    is_measured: bool = False
    """Sites may keep something back, so they count by what they see how far a column is off."""
    of_rows: bool = False
    """The user asked for rows, with no GROUP BY. Equal ones are one group here."""
    sessions: Sessions | None = None
    """With the aggregates over records that are the times of a session; None: windows."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Grouping sets: which of the keys each has, by their places; none: all keys, once."""
    counted: str = ""
    """The column whose numbers are cut into windows; empty: the time is."""
    last_n: int = 0
    """Of how many records of each site the state at the end of a window is asked for; 0: of the
    records of the window."""

    def __post_init__(self) -> None:
        assert not self.of_rows or self.calls in ((), (ROWS,)), "rows have no aggregates"
        assert len({key.name.lower() for key in self.keys}) == len(self.keys), "one name, one key"

    @property
    def source(self) -> Source:
        return the(self, Records).source

    @property
    def is_bag(self) -> bool:
        """The root unfolds it: equal rows are as many as there were. (DISTINCT ones are one.)"""
        return self.of_rows and bool(self.calls)

    @property
    def conditions(self) -> list[Kept]:
        """On records, the first one first."""
        return [node for node in walk(self.below) if isinstance(node, Kept)][::-1]

    @property
    def views(self) -> list[Expanded]:
        """Of records, the first one first."""
        return [node for node in walk(self.below) if isinstance(node, Expanded)][::-1]


class Split(msgspec.Struct, frozen=True):
    """How a grouping is computed in parts."""

    below: Grouped
    partials: dict[Partial, str]
    """With what computes each at a site, over records."""
    finishes: tuple[str, ...]
    """For each call what finishes it at the root, over merged partials and folds."""
    hidden: tuple[Key, ...] = ()
    """Of growing states: what rows are grouped by beside the user's keys."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Of several growing states: which of the hidden keys each has, by their places."""
    number: str = ""
    """And the hidden key that tells their rows apart, by its name."""
    folds: tuple[Folded, ...] = ()
    set_number: str = ""
    """Of grouping sets: the key of groups that tells them apart, by its name."""
    determined: tuple[Key, ...] = ()
    """What levels go by: functions of the user's keys, which add no rows and are not shown."""

    def __post_init__(self) -> None:
        columns = [one.name.lower() for one in self.keys]
        columns += [one.name.lower() for part in (self.partials, self.folds) for one in part]
        assert len(set(columns)) == len(columns), "one name, one column"
        assert all(partial.merge in RULES for partial in self.partials)
        assert all(fold.fold in FOLDS for fold in self.folds)
        assert len(self.finishes) >= len(self.below.calls)
        assert bool(self.folds) == bool(self.hidden), "hidden keys are folded away"
        assert (len(self.sets) > 1) == bool(self.number), "several states have a number"
        assert bool(self.below.sets) == bool(self.set_number), "grouping sets have a number"

    @property
    def keys(self) -> tuple[Key, ...]:
        """What a site groups by beside the pane and the grouping number."""
        return self.below.keys + self.determined + self.hidden


class Shown(msgspec.Struct, frozen=True):
    below: Kept | Grouped | Split
    items: tuple[Item, ...]
    hidden: tuple[Item, ...] = ()
    """What is computed beside them, to order or to unfold by."""
    is_distinct: bool = False
    """Equal rows of a window are one, as SELECT DISTINCT says."""

    def __post_init__(self) -> None:
        for item in self.items:
            if item.type == VOID:
                raise Objection(item.written, "NULL has no type; write CAST(NULL AS STRING)")
            check_travels(item.type, item.written)
        assert len({item.name.lower() for item in self.columns}) == len(self.columns) > 0
        group = the(self, Grouped)
        slots = [slot_of(node) for item in self.columns for node in item.expression.walk()]
        for kind, index in filter(None, slots):
            there = {KEY: group.keys, CALL: group.calls, NUMBER: group.sets[:1]}
            assert index < len(there[kind]), "no such slot"

    @property
    def columns(self) -> tuple[Item, ...]:
        return self.items + self.hidden

    @property
    def shows_all_keys(self) -> bool:
        """So no two groups of a window look alike. (A null of the data and one of a grouping set
        do.)"""
        slots = [slot_of(item.expression) for item in self.items]
        if the(self, Grouped).sets and (NUMBER, 0) not in slots:
            return False
        return {(KEY, index) for index in range(len(the(self, Grouped).keys))} <= set(slots)

    @property
    def having(self) -> Kept | None:
        return self.below if isinstance(self.below, Kept) else None


class Rank(msgspec.Struct, frozen=True):
    """A column that says which place a row has in its window, or in a part of it."""

    name: str
    function: str
    within: tuple[str, ...]
    """The columns that divide a window into parts."""
    order: tuple[tuple[str, str], ...]
    """Columns with directions."""


class Ranked(msgspec.Struct, frozen=True):
    below: Shown
    ranks: tuple[Rank, ...]
    names: tuple[str, ...]
    """The columns of the answer in order, ranks among them."""
    condition: exp.Expr | None
    """Over columns and ranks, of QUALIFY."""

    def __post_init__(self) -> None:
        known = {item.name for item in self.below.columns} | {rank.name for rank in self.ranks}
        used = {name for rank in self.ranks for name in (*rank.within, *dict(rank.order))}
        assert known.issuperset(used | set(self.names)), "ranked by what is missing"

    def ties(self, rank: Rank) -> list[str]:
        """What decides where a rank that has no equals is left open: ties are broken by values."""
        used = {*rank.within, *dict(rank.order)}
        is_open = rank.function == "row_number"
        return [
            item.name
            for item in self.below.items
            if is_open and item.name not in used and is_orderable(item.type)
        ]


class Ordered(msgspec.Struct, frozen=True):
    below: Shown | Ranked
    terms: tuple[Term, ...]
    limit: int | None
    """Rows of each window's answer."""
    offset: int = 0
    """Rows of each window that are passed over before."""
    ties: tuple[str, ...] = ()
    """Columns that decide where the terms leave it open."""

    def __post_init__(self) -> None:
        names = {"", *(item.name for item in the(self, Shown).columns)}
        names |= {rank.name for rank in ranks_of(self)}
        assert names.issuperset(term.item.name for term in self.terms), "ordered by what is missing"
        assert names.issuperset(self.ties)
        assert self.limit is None or self.limit > 0

    @property
    def last(self) -> int | None:
        """The place of the last row that is kept."""
        return None if self.limit is None else self.offset + self.limit


Node = Records | Expanded | Kept | Grouped | Split | Shown | Ranked | Ordered


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


def ranks_of(tree: Node) -> tuple[Rank, ...]:
    found = one(tree, Ranked)
    return () if found is None else found.ranks


def answer_columns(tree: Node) -> list[Column]:
    """What an answer shows, beside the window."""
    types = {item.name: item.type for item in the(tree, Shown).items}
    types |= {rank.name: "int" for rank in ranks_of(tree)}
    ranked = one(tree, Ranked)
    names = [item.name for item in the(tree, Shown).items] if ranked is None else ranked.names
    return [Column(name, types[name]) for name in names]


def rewrite(tree: Node, kind: type[N], change: Callable[[N], Node]) -> Node:
    """The tree with every node of a kind changed, from below up."""
    if not isinstance(tree, Records):
        tree = msgspec.structs.replace(tree, below=rewrite(tree.below, kind, change))
    return change(tree) if isinstance(tree, kind) else tree
