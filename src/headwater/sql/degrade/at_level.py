"""A stream's question as a level asks it: of longer windows, by a coarser key, of a sample."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from math import log2

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES, DISTINCT
from headwater.algebra.aggregates.sketches.distinct import CONFIDENCE, DEVIATIONS, deviation
from headwater.algebra.aggregates.sketches.merge_hll import HLLS
from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.bounded import Bound, BoundKind
from headwater.algebra.rows.columns import Partial
from headwater.algebra.windows.coarsening import Coarsening
from headwater.sql.read.sql_text import parse_expression, sql_of
from headwater.sql.tree.items import Call, Item, Key
from headwater.sql.tree.nodes import Grouped, Kept, Node, Shown, Split, rewrite, the
from headwater.sql.tree.slots import KEY, slot_of
from headwater.sql.types.call_types import name_of

_SIZE = re.compile(r", \d+\)\{filter\}$")
"""Of a sketch that a site makes, how large it is."""


def at_level(tree: Node, *, length_us: int, coarsening: Coarsening) -> Node:
    """``tree`` is split, with determined keys."""
    window = WindowSpec(length_us, length_us)
    tree = rewrite(tree, Grouped, lambda group: msgspec.structs.replace(group, window=window))
    if coarsening.smaller:
        tree = _smaller(tree, coarsening)
    if coarsening.halvings:
        tree = _sampled(tree, coarsening)
    return _coarser(tree, coarsening) if coarsening.key else tree


def shrunk(lg_k: int, precision: float) -> int:
    """Of a sketch of so many registers, what it has at this part of its precision.

    >>> shrunk(12, 1 / 2), shrunk(12, 1 / 4)
    (10, 8)
    """
    return lg_k + round(2 * log2(precision))


def _smaller(tree: Node, coarsening: Coarsening) -> Node:
    """With fewer registers, in all columns that are of this sketch."""
    partials, lg_k = the(tree, Split).partials, coarsening.lg_k
    former = next(one for one in partials if one.name == coarsening.smaller)
    text, rule = partials[former], HLLS[lg_k]
    bound = Bound(BoundKind.VALUE, DEVIATIONS * deviation(lg_k), CONFIDENCE)

    def change_call(call: Call) -> Call:
        if call.rule.name != former.merge or call.sql(call.split.partials[0].site) != text:
            return call
        site = _SIZE.sub(f", {lg_k}){{filter}}", call.split.partials[0].site)
        column = msgspec.structs.replace(call.split.partials[0], site=site)
        split = msgspec.structs.replace(call.split, partials=(column,), merge=rule, bound=bound)
        return msgspec.structs.replace(call, split=split)

    calls = tuple(map(change_call, the(tree, Grouped).calls))
    changed = next(one for one in calls if one.rule is rule)
    new = changed.sql(changed.split.partials[0].site)

    def change_split(split: Split) -> Node:
        made = {
            Partial(one.name, one.type, rule.name) if one == former else one: (
                new if one == former else sql
            )
            for one, sql in split.partials.items()
        }
        return msgspec.structs.replace(split, partials=made)

    tree = rewrite(tree, Grouped, lambda group: msgspec.structs.replace(group, calls=calls))
    return rewrite(tree, Split, change_split)


def _determined(tree: Node, name: str) -> Key:
    return next(one for one in the(tree, Split).determined if one.name == name)


def _sampled(tree: Node, coarsening: Coarsening) -> Node:
    """Of records whose key survives. No site runs it: its rows are those of the stream."""
    survives = _determined(tree, coarsening.survives)
    text = f"({sql_of(survives.expression)}) >= {coarsening.halvings}"
    condition = parse_expression(text)

    def keep(group: Grouped) -> Node:
        return msgspec.structs.replace(group, below=Kept(group.below, condition, written=condition))

    return rewrite(tree, Grouped, keep)


def _coarser(tree: Node, coarsening: Coarsening) -> Node:
    """With the coarser key where the finer one was, in what is shown as well."""
    coarser, group = _determined(tree, coarsening.by), the(tree, Grouped)
    place = next(n for n, key in enumerate(group.keys) if key.name == coarsening.key)
    key = msgspec.structs.replace(coarser, name=coarsening.key)
    keys = (*group.keys[:place], key, *group.keys[place + 1 :])
    written = _writings(tree, place)
    new = parse_expression(coarser.sql)

    def change_split(split: Split) -> Node:
        left = tuple(one for one in split.determined if one.name != coarsening.by)
        return msgspec.structs.replace(split, determined=left)

    def change_group(found: Grouped) -> Node:
        by = tuple(new if n == place else one for n, one in enumerate(found.written))
        return msgspec.structs.replace(found, keys=keys, written=by)

    def change_shown(found: Shown) -> Node:
        items, hidden = (tuple(map(rewritten, one)) for one in (found.items, found.hidden))
        return msgspec.structs.replace(found, items=items, hidden=hidden)

    def rewritten(item: Item) -> Item:
        return msgspec.structs.replace(item, written=_with_key(item.written, written, new))

    def change_kept(kept: Kept) -> Node:
        if kept.written is None or not isinstance(kept.below, Grouped | Split):
            return kept
        return msgspec.structs.replace(kept, written=_with_key(kept.written, written, new))

    changes: tuple[tuple[type, Callable[..., Node]], ...] = (
        (Split, change_split),
        (Grouped, change_group),
        (Shown, change_shown),
        (Kept, change_kept),
    )
    for kind, change in changes:
        tree = rewrite(tree, kind, change)
    return tree


def _writings(tree: Node, place: int) -> set[str]:
    """How the user may have written this key."""
    group, shown = the(tree, Grouped), the(tree, Shown)
    items = [one for one in shown.columns if slot_of(one.expression) == (KEY, place)]
    written = [group.written[place], group.keys[place].expression, *(one.written for one in items)]
    return {sql_of(one.unnest()) for one in written}


def _with_key(written: exp.Expr, key: Collection[str], new: exp.Expr) -> exp.Expr:
    """The expression with ``new`` for the key, but for what aggregates are given."""
    if sql_of(written.unnest()) in key:
        return new.copy()
    if isinstance(written, exp.Anonymous) and name_of(written) in (*AGGREGATES, *DISTINCT):
        return written
    found = written.copy()
    for name, value in written.args.items():
        if isinstance(value, exp.Expr):
            found.set(name, _with_key(value, key, new))
        elif isinstance(value, list):
            found.set(name, [_of_list(one, key, new) for one in value])
    return found


def _of_list(one: object, key: Collection[str], new: exp.Expr) -> object:
    return _with_key(one, key, new) if isinstance(one, exp.Expr) else one
