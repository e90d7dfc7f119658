"""The queries that stand for a stream where links are full, one for each level that needs one.

Each asks the same question with longer windows, by a coarser key, or of a sample of one, and is
installed with the stream, under a name that says so: ``hits`` with ``coarsen(time, 5 s)`` has
``hits_5_seconds`` beside it. Levels come one behind the other, in the order of their operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UnsetType

from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.tolerance import Finally
from headwater.algebra.windows.coarsening import Coarsening
from headwater.plan.degrading.companion import (
    LEVELS_MAX,
    TOTALS_MAX,
    Companion,
    Totalled,
    level_name,
    plain_fault,
)
from headwater.plan.degrading.degradation import (
    LEVEL_KINDS,
    Degradation,
    Level,
    Operator,
    OperatorKind,
)
from headwater.plan.durations import duration_text
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.sql.degrade.at_level import at_level
from headwater.sql.degrade.can_be_had import Degradable
from headwater.sql.degrade.determined_keys import coarsening_at
from headwater.sql.read.options import Options
from headwater.sql.rules.bounded_columns import bounded_columns
from headwater.sql.rules.measured_errors import partial_of
from headwater.sql.rules.scaled_columns import scaled_items
from headwater.sql.tree.nodes import Node, Split, the

TEXT_SHOWN = 200
"""Of an expression, as much as people are told."""


class LevelShape(NamedTuple):
    """What one level gives up, with all before it."""

    newest: Level
    length_us: int
    coarsening: Coarsening


def has_levels(degradation: Degradation | UnsetType) -> bool:
    operators = () if isinstance(degradation, UnsetType) else degradation.operators
    return any(one.kind in LEVEL_KINDS for one in operators)


def level_operators(query: Query) -> tuple[Operator, ...]:
    """What of its degradation is installed as streams beside it."""
    operators = () if query.degrades is None else query.degrades.operators
    return tuple(one for one in operators if one.kind in LEVEL_KINDS)


def levels_text(operators: Sequence[Operator]) -> str:
    """As they were written."""
    return ", ".join(one.text for one in operators)


def companions_of(
    query: Query,
    split: Node,
    options: Options,
    finally_: Finally,
    program_of: Callable[[Node], Program],
) -> list[Query]:
    """The levels of a stream, none where its input ends. Raises ``QueryRefused`` where what else it
    asks for can't be had of them."""
    plan = query.degrades
    if plan is None or query.ends or not level_operators(query):
        return []
    fault = plain_fault(query)
    if fault is not None:
        asked = levels_text(level_operators(query))
        left = Degradable(split, is_timed=query.numbers is None).offered(but=LEVEL_KINDS)
        raise options.refused(
            "degrade", f"levels can't be had with {fault}; leave {asked} out{left} in their place"
        )
    shapes = _shapes(query, plan, split)
    if len(shapes) > LEVELS_MAX:
        raise options.refused(
            "degrade",
            f"wanted at most {LEVELS_MAX} levels of time, key and sample together, each of which "
            f"is a stream of its own, got {len(shapes)}",
        )
    totals = _totals(split)
    return [
        _companion(query, program_of, split, shape, (step, len(shapes)), finally_, totals)
        for step, shape in enumerate(shapes, start=1)
    ]


def _shapes(query: Query, plan: Degradation, split: Node) -> list[LevelShape]:
    found = []
    for step in range(1, plan.last_step + 1):
        newest = plan.newest_at(step)
        if newest is not None and newest.operator.kind in LEVEL_KINDS:
            length_us = round(plan.size_at(OperatorKind.COARSEN_TIME, step) or query.window.pane_us)
            found.append(LevelShape(newest, length_us, coarsening_at(split, plan, step)))
    return found


def _companion(
    query: Query,
    program_of: Callable[[Node], Program],
    split: Node,
    shape: LevelShape,
    place: tuple[int, int],
    finally_: Finally,
    totals: tuple[Totalled, ...],
) -> Query:
    """Not numbered yet, nor does it have the number of the query that it stands for."""
    window = WindowSpec(shape.length_us, shape.length_us)
    rows, operator = shape.coarsening, shape.newest.operator
    tree = at_level(split, length_us=shape.length_us, coarsening=rows)
    assert query.begin_pane is not None, "levels are had with a begin"
    begin_us = query.window.pane_start_us(query.begin_pane)
    sampled = _sampled(query) if rows.halvings else ""
    share = f"1 in {1 << rows.halvings}"
    texts = {
        OperatorKind.COARSEN_TIME: ("coarsen(time)", duration_text(shape.length_us)),
        OperatorKind.COARSEN_KEY: (f"coarsen({operator.column})", operator.expression),
        OperatorKind.SAMPLE: (f"sample({operator.column})", share),
        OperatorKind.SHRINK: (f"shrink({operator.column})", f"{1 << rows.lg_k} registers"),
    }
    name, text = texts[operator.kind]
    is_longer = shape.length_us != query.window.pane_us
    level = level_name(
        query.id.name,
        length=duration_text(shape.length_us) if is_longer else "",
        key=rows.key,
        sample=f"{sampled} {share}" if sampled else "",
        sketch=f"{_smaller(query)} {1 << rows.lg_k}" if rows.smaller else "",
    )
    step, count = place
    return msgspec.structs.replace(
        query,
        id=QueryId(level, query.id.installer, 0),
        window=window,
        begin_pane=window.first_window_from(begin_us),
        program=program_of(tree),
        degradation=msgspec.UNSET,
        bounded=bounded_columns(tree) or msgspec.UNSET,
        companion=Companion(
            str(query.id),
            step,
            count,
            operator=name,
            text=text[:TEXT_SHOWN],
            finally_=finally_,
            kind=operator.kind,
            coarsening=rows,
            determined=len(the(tree, Split).determined),
            sampled=sampled,
            totals=totals if sampled else (),
        ),
    )


def _sampled(query: Query) -> str:
    assert query.degrades is not None
    kinds = {one.kind: one.column for one in query.degrades.operators}
    return kinds[OperatorKind.SAMPLE]


def _smaller(query: Query) -> str:
    assert query.degrades is not None
    kinds = {one.kind: one.column for one in query.degrades.operators}
    return kinds[OperatorKind.SHRINK]


def _totals(tree: Node) -> tuple[Totalled, ...]:
    split = the(tree, Split)
    found = [Totalled(item.name, partial_of(index, split)) for item, index in scaled_items(tree)]
    return tuple(found[:TOTALS_MAX])


def with_full_ids(queries: Sequence[Query]) -> list[Query]:
    """When all have their numbers: whom the companions among them stand for."""
    ids = {one.id.name: str(one.id) for one in queries}
    return [_standing_for(one, ids) for one in queries]


def _standing_for(query: Query, ids: dict[str, str]) -> Query:
    level = query.stands_for
    if level is None:
        return query
    of = ids[QueryId.parse(level.of).name]
    return msgspec.structs.replace(query, companion=msgspec.structs.replace(level, of=of))
