"""The queries that stand for a stream where links are full, one for each length of coarse panes.

Each asks the same question with longer windows, and is installed with the stream, under a name that
says how long they are: ``hits`` with ``coarsen(time, 5 s)`` has ``hits_5_seconds`` beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.tolerance import Finally
from headwater.plan.degrading.companion import Companion, level_name, plain_fault
from headwater.plan.degrading.degradation import OperatorKind
from headwater.plan.durations import duration_text
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.sql.read.options import Options
from headwater.sql.tree.nodes import Grouped, Node, rewrite


def coarse_lengths_of(query: Query) -> list[int]:
    """In microseconds, the mildest first."""
    operators = () if query.degrades is None else query.degrades.operators
    times = [one for one in operators if one.kind is OperatorKind.COARSEN_TIME]
    return [round(length) for one in times for length in one.levels]


def companions_of(
    query: Query,
    split: Node,
    options: Options,
    finally_: Finally,
    program_of: Callable[[Node], Program],
) -> list[Query]:
    """The levels of its time, none where its input ends. Raises ``QueryRefused`` where what else it
    asks for can't be had of coarser panes."""
    lengths = coarse_lengths_of(query)
    if not lengths or query.ends:
        return []
    fault = plain_fault(query)
    if fault is not None:
        raise options.refused(
            "degrade", f"coarser panes can't be had with {fault}; leave coarsen(time, …) out"
        )
    return [
        companion(
            query,
            program_of(at_length(split, length_us)),
            length_us=length_us,
            step=step,
            count=len(lengths),
            finally_=finally_,
        )
        for step, length_us in enumerate(lengths, start=1)
    ]


def at_length(tree: Node, length_us: int) -> Node:
    """The same question, of windows so long."""
    window = WindowSpec(length_us, length_us)
    return rewrite(tree, Grouped, lambda group: msgspec.structs.replace(group, window=window))


def companion(
    query: Query, program: Program, *, length_us: int, step: int, count: int, finally_: Finally
) -> Query:
    """Not numbered yet, nor does it have the number of the query that it stands for."""
    window, text = WindowSpec(length_us, length_us), duration_text(length_us)
    assert query.begin_pane is not None, "coarser panes are had with a begin"
    begin_us = query.window.pane_start_us(query.begin_pane)
    name = level_name(query.id.name, text)
    return msgspec.structs.replace(
        query,
        id=QueryId(name, query.id.installer, 0),
        window=window,
        begin_pane=window.first_window_from(begin_us),
        program=program,
        degradation=msgspec.UNSET,
        companion=Companion(str(query.id), step, count, text=text, finally_=finally_),
    )


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
