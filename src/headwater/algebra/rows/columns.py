"""What the rows of a summary are made of: key columns, and partial columns that merge.

A *growing state* (the values of ``count(DISTINCT x)``, the slots of a histogram) is as many rows as
it has values: these are *hidden keys* beside the user's, and merge and are cut like keys. Nobody on
the way knows which are hidden; the root folds them away.

Everything that merges rows needs only this much of a query, so it stands below the plan.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

SETS_MAX = 64
"""Grouping sets of one query: the CUBE of six keys."""


class Column(msgspec.Struct, frozen=True, array_like=True):
    name: str
    type: str
    """A Spark SQL type as ``simpleString`` writes it: bigint, string, decimal(10,2), …"""


class Partial(msgspec.Struct, frozen=True, array_like=True):
    """One column of partial aggregates in a summary."""

    name: str
    type: str
    merge: str
    """The rule by its name; every aggregate says which is its own (``algebra.aggregates``)."""


class OrderTerm(msgspec.Struct, frozen=True, array_like=True):
    """One column that rows are ordered by, as Spark orders it."""

    column: str
    is_descending: bool = False
    nulls_last: bool = False


class FirstRows(msgspec.Struct, frozen=True, array_like=True):
    """Only the first rows of a pane are wanted, or of each part of it (``first_rows``)."""

    limit: int
    order: tuple[OrderTerm, ...]
    """All keys, each once: an order that leaves nothing open."""
    within: tuple[str, ...] = ()
    """The keys that divide a pane into parts; none: it is one."""
    copies: str = ""
    """The partial column that says how often a row occurs; empty: each occurs once."""


class Folded(msgspec.Struct, frozen=True, array_like=True):
    """One column that the rows of a group become, before the root part finishes the group."""

    name: str
    type: str
    fold: str
    """The rule by its name (``algebra.aggregates.growing``)."""
    over: tuple[str, ...]
    """What it takes of each row: hidden keys, then partial columns."""
    number: int = 0
    """Of a query with several growing states: the grouping number of the rows that are its own."""
    values: tuple[float, ...] = ()
    """What the rule is told beside: how many to keep, which share of them."""


class Folding(msgspec.Struct, frozen=True):
    """How rows become groups at the root, where there are *growing states* or *grouping sets*."""

    hidden: int
    """How many of the keys, at their end, are hidden: rows merge by them, and no group has them."""
    columns: tuple[Folded, ...]
    is_numbered: bool = False
    """The last hidden key is the grouping number."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Grouping sets: which of the user's keys each has, by their places. None: all keys."""
    set_number: str = ""
    """And the key of groups that tells them apart, by its name."""


class RowLayout(Protocol):
    """What a summary's rows look like; a ``plan.program.Program`` is one."""

    @property
    def keys(self) -> Sequence[Column]: ...

    @property
    def partials(self) -> Sequence[Partial]: ...


class GroupLayout(RowLayout, Protocol):
    """The same, with what becomes of the rows at the root."""

    @property
    def folding(self) -> Folding | msgspec.UnsetType: ...


def visible_keys(layout: GroupLayout) -> Sequence[Column]:
    """The user's keys, which tell the groups of an answer apart."""
    folding = layout.folding
    hidden = 0 if isinstance(folding, msgspec.UnsetType) else folding.hidden
    return layout.keys[: len(layout.keys) - hidden]


def hidden_keys(layout: GroupLayout) -> Sequence[Column]:
    """The others: values of growing states, and the number that tells these apart."""
    return layout.keys[len(visible_keys(layout)) :]


def set_keys(layout: GroupLayout) -> Sequence[Column]:
    """The key that groups have beside the user's where there are grouping sets."""
    folding = layout.folding
    if isinstance(folding, msgspec.UnsetType) or not folding.sets:
        return ()
    return (Column(folding.set_number, "bigint"),)


def group_columns(layout: GroupLayout) -> Sequence[Column | Partial | Folded]:
    """Of a group, as the root part has it."""
    return (*visible_keys(layout), *set_keys(layout), *layout.partials, *folded_columns(layout))


def folded_columns(layout: GroupLayout) -> Sequence[Folded]:
    return () if isinstance(layout.folding, msgspec.UnsetType) else layout.folding.columns
