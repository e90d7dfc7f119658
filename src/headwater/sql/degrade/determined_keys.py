"""What levels go by beside the user's keys: a coarser key, and how many halvings a key survives.

Both are computed at sites, by the site part of the stream itself, as *determined keys*: of each
group there is one value, so they add no rows. They travel with the rows, because the root rolls up
what sites send at full fidelity beside those that don't.

A sample is nested by hash (the rules "Samples are nested"). A key survives ``n`` halvings if its
hash is below 2⁶⁴ ÷ 2ⁿ, so if its first ``n`` bits are zero. Of these there are so many as the first
``N`` bits lack, as a number, of ``N`` digits.
"""

from __future__ import annotations

from zlib import crc32

import msgspec
from msgspec import UnsetType
from sqlglot import exp

from headwater.algebra.aggregates.sketches.merge_hll import HLLS
from headwater.algebra.windows.coarsening import Coarsening
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.sql.degrade.at_level import shrunk
from headwater.sql.read.sql_text import parse_expression, sql_of
from headwater.sql.rules.measured_errors import partial_of
from headwater.sql.tree.items import Key
from headwater.sql.tree.nodes import Node, Shown, Split, rewrite, the
from headwater.sql.tree.slots import slot_of

KINDS = (OperatorKind.COARSEN_KEY, OperatorKind.SAMPLE)


def with_determined_keys(tree: Node, degradation: Degradation | UnsetType, stream: str) -> Node:
    """What its levels go by is among the keys. ``stream``: samples of two are drawn apart."""
    operators = () if isinstance(degradation, UnsetType) else degradation.operators
    asked = [one for one in operators if one.kind in KINDS]

    def change(split: Split) -> Node:
        taken = {one.name.lower() for part in (split.keys, split.partials) for one in part}
        keys = tuple(_determined(split, one, crc32(stream.encode()), taken) for one in asked)
        return msgspec.structs.replace(split, determined=keys)

    return rewrite(tree, Split, change) if asked else tree


def coarsening_at(tree: Node, degradation: Degradation, step: int) -> Coarsening:
    """What rows are when the operators have come so far."""
    found, names = Coarsening(), [one.name for one in the(tree, Split).determined]
    asked = [one for one in degradation.levels_at(step) if one.operator.kind in KINDS]
    for level, by in zip(asked, names, strict=True):
        if level.at and level.operator.kind is OperatorKind.COARSEN_KEY:
            found = msgspec.structs.replace(found, key=level.operator.column, by=by)
        elif level.at:
            found = msgspec.structs.replace(found, survives=by, halvings=level.at)
    precision = degradation.size_at(OperatorKind.SHRINK, step)
    if precision is not None:
        name, size = _sketch(tree, degradation)
        found = msgspec.structs.replace(found, smaller=name, lg_k=shrunk(size, precision))
    return found


def _sketch(tree: Node, degradation: Degradation) -> tuple[str, int]:
    """Which partial it is, and how large at full fidelity."""
    kinds = {one.kind: one.column for one in degradation.operators}
    split, named = the(tree, Split), kinds[OperatorKind.SHRINK]
    item = next(one for one in the(tree, Shown).items if one.name == named)
    slot = slot_of(item.expression)
    assert slot is not None, "what is made smaller is a call"
    name = partial_of(slot[1], split)
    rules = {one.name: one.merge for one in split.partials}
    return name, next(lg_k for lg_k, rule in HLLS.items() if rule.name == rules[name])


def _determined(split: Split, operator: Operator, seed: int, taken: set[str]) -> Key:
    key = next(one for one in split.below.keys if one.name == operator.column)
    if operator.kind is OperatorKind.COARSEN_KEY:
        expression, stem, type_ = coarser_of(key, operator), "coarser", key.type
    else:
        expression, stem, type_ = _survived(key, len(operator.levels), seed), "survives", "tinyint"
    name = f"{stem}_{key.name}"
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return Key(name, expression, type_)


def coarser_of(key: Key, operator: Operator) -> exp.Expr:
    """The operator's expression, of the records that the key is of."""
    tree = parse_expression(operator.expression)
    return tree.transform(
        lambda node: _bracketed(key.expression) if isinstance(node, exp.Column) else node
    )


def _bracketed(expression: exp.Expr) -> exp.Expr:
    is_plain = isinstance(expression, exp.Column | exp.Anonymous | exp.Literal)
    return expression.copy() if is_plain else exp.Paren(this=expression.copy())


def _survived(key: Key, halvings: int, seed: int) -> exp.Expr:
    """How many of so many halvings a key survives, each by a further bit of its hash."""
    bits = f"SHIFTRIGHTUNSIGNED(XXHASH64({seed}, {sql_of(key.expression)}), {64 - halvings})"
    return parse_expression(f"{halvings + 1} - LENGTH(BIN(2 * {bits} + 1))")
