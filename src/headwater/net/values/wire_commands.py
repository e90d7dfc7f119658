"""What installs, removes and alters queries, as it travels."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import ORDINALS_MAX, Name, Number, Ordinal, Pane
from headwater.algebra.route import TREES_MAX
from headwater.net.values.wire import Age, WireSigned
from headwater.plan.altered.settings import Settings
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import QueryId
from headwater.plan.tree import Tree

NAMES_MAX = 1 << 16
NOBODY = -1
OrdinalOrNone = Annotated[int, Meta(ge=NOBODY, lt=ORDINALS_MAX)]


class WireTree(msgspec.Struct, frozen=True, array_like=True):
    """An install is mostly trees, and everybody gets it: parents alone take half of the bytes."""

    root: Ordinal
    above: Annotated[tuple[OrdinalOrNone, ...], Meta(max_length=ORDINALS_MAX)]
    """By ordinal: the parent."""


class WireQuery(msgspec.Struct, frozen=True, array_like=True):
    """An operator's word."""

    query: FlatQuery
    roster_version: Number
    operator: Name = ""


class WirePlan(msgspec.Struct, frozen=True, array_like=True):
    """A planner's word."""

    query: Name
    version: Number
    trees: Annotated[tuple[WireTree, ...], Meta(max_length=TREES_MAX)]


class WireInstall(msgspec.Struct, frozen=True, array_like=True, tag="install"):
    query: WireSigned
    plan: WireSigned
    age_s: Age = 0.0
    root_clock_s: float | None = None


class WireRemoval(msgspec.Struct, frozen=True, array_like=True):
    """An operator's word."""

    id: QueryId
    installer: Name
    counter: Number
    operator: Name = ""


class WireRemove(msgspec.Struct, frozen=True, array_like=True, tag="remove"):
    removal: WireSigned


WireCommand = WireInstall | WireRemove


class WireAlter(msgspec.Struct, frozen=True, array_like=True):
    """An operator's word."""

    id: QueryId
    installer: Name
    counter: Number
    operator: Name
    number: Number
    first_pane: Pane
    settings: Settings


class WireCount(msgspec.Struct, frozen=True, array_like=True):
    """An installer's word."""

    installer: Name
    number: Number
    revision: Number
    live: Annotated[tuple[Name, ...], Meta(max_length=NAMES_MAX)] = ()
    ended: Annotated[tuple[WireSigned, ...], Meta(max_length=NAMES_MAX)] = ()
    altered: Annotated[tuple[tuple[Name, Number], ...], Meta(max_length=NAMES_MAX)] = ()


def wire_tree(tree: Tree) -> WireTree:
    above = [NOBODY] * tree.ordinals.stop
    for child, parent in tree.parents:
        above[child] = parent
    return WireTree(root=tree.root, above=tuple(above))


def checked_tree(wire: WireTree) -> Tree:
    """A tree in which somebody does not reach the root is refused as it is made."""
    pairs = ((child, parent) for child, parent in enumerate(wire.above) if parent != NOBODY)
    return Tree(wire.root, tuple(pairs))
