"""The program of a query: what its sites and its root run, written from the tree of its SELECT."""

from __future__ import annotations

import msgspec
from sqlglot import exp

from headwater.algebra.rows.columns import Column, Folding
from headwater.algebra.rows.places import PlaceColumn
from headwater.plan.program import Program
from headwater.sql.rules.take_first_rows import take_first_rows
from headwater.sql.tree.nodes import Grouped, Node, Split, answer_columns, the
from headwater.sql.write.write_central_sql import write_central_sql
from headwater.sql.write.write_root_sql import write_root_sql
from headwater.sql.write.write_site_sql import write_site_sql

SETTINGS = (
    ("spark.sql.ansi.enabled", "true"),
    ("spark.sql.groupByOrdinal", "true"),
    ("spark.sql.parser.escapedStringLiterals", "false"),
    ("spark.sql.session.timeZone", "UTC"),
    ("spark.sql.variable.substitute", "false"),
)
"""What both parts run under: the settings that change what SQL means, the same everywhere."""


def write_program(tree: Node, text: str) -> Program:
    """``text``: the statement, as it was written."""
    group, split = the(tree, Grouped), the(tree, Split)
    return Program(
        text=text,
        source=group.source,
        keys=_keys(split),
        partials=tuple(split.partials),
        site_sql=write_site_sql(tree),
        root_sql=write_root_sql(tree),
        central_sql=write_central_sql(tree),
        columns_used=_columns_used(group),
        output=tuple(answer_columns(tree)),
        settings=SETTINGS,
        first=take_first_rows(tree),
        places=_places(group) or msgspec.UNSET,
        folding=_folding(split),
    )


def _places(group: Grouped) -> tuple[PlaceColumn, ...]:
    return tuple(PlaceColumn(key.name, key.place) for key in group.keys if key.place is not None)


def _keys(split: Split) -> tuple[Column, ...]:
    """What rows of a summary are told apart by."""
    keys = tuple(Column(key.name, key.type) for key in split.keys)
    return (*keys, Column(split.number, "bigint")) if split.number else keys


def _folding(split: Split) -> Folding | msgspec.UnsetType:
    sets = split.below.sets
    if not split.hidden and not sets:
        return msgspec.UNSET
    is_numbered, number = bool(split.number), split.set_number
    return Folding(len(split.hidden) + is_numbered, split.folds, is_numbered, sets, number)


def _columns_used(group: Grouped) -> tuple[str, ...]:
    """The source's columns that the site part reads, in the order of the source."""
    trees = [key.expression for key in group.keys]
    trees += [argument for call in group.calls for argument in call.arguments]
    trees += [call.condition for call in group.calls if call.condition is not None]
    trees += [kept.condition for kept in group.conditions]
    trees += [view.call for view in group.views]
    used = {node.name for tree in trees for node in tree.find_all(exp.Column)}
    return tuple(column.name for column in group.source.columns if column.name in used)
