"""The levels of queries in simulated worlds: longer panes, a coarser key, samples, one behind the
other; and what may wait at their sites.

A record's number stands for its keys (``records.admits``), so that a sample is of numbers, and a
coarser key has the records of the finer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Threshold, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.windows.coarsening import Coarsening
from headwater.plan.degrading.companion import Companion
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.query import Query, QueryId

COUNT = "n"
"""What is kept back is counted by it."""
LEVELS_SHARE = 0.15
"""How many queries of logs that go on have levels; these are of no other kind."""
BACKLOG_SHARE = 0.6
"""How many of these have a bound of what may wait."""
COARSER = ((2,), (3,), (2, 4), (2, 6))
LEVELS_MAX = 3
"""Each is a query of its own, and links of some worlds carry two thousand bytes a second."""
OTHER_SHARE = 0.6
"""Of those with levels, how many have such of a key as well."""
THRESHOLD_SHARE = 0.4
"""Of those with levels, how many have a threshold among them."""
THRESHOLD_PARTS = ((1.0,), (0.25, 1.0))
OTHER = ((True, 0), (True, 0), (False, 1), (False, 2), (True, 1))
"""Whether there is one by a coarser key, and how many of samples."""
LEVEL_KEYS = (Column("k", "bigint"), Column("coarser_k", "bigint"), Column("survives_k", "tinyint"))


def draw_levels(random: Random, query: Query) -> tuple[Query, tuple[Query, ...]]:
    """The same query, sometimes with coarser panes, each a query of its own."""
    if random.random() >= LEVELS_SHARE:
        return query, ()
    slide_us = query.window.slide_us
    assert query.begin_pane is not None, "its begin is drawn"
    begin_us = query.window.pane_start_us(query.begin_pane)
    window = WindowSpec(slide_us, slide_us)
    finally_ = random.choice((Finally.EXACT, Finally.EXACT, Finally.BOUNDED))
    shapes = [(times, Coarsening()) for times in random.choice(COARSER)]
    keys = query.program.keys
    if random.random() < OTHER_SHARE:
        shapes, keys = _with_keys(random, shapes)[:LEVELS_MAX], LEVEL_KEYS
    query = msgspec.structs.replace(
        query,
        window=window,
        begin_pane=window.first_window_from(begin_us),
        program=msgspec.structs.replace(query.program, keys=keys),
        unit_last=query.id.counter + len(shapes),
    )
    return query, tuple(
        _level(query, step, len(shapes), times, rows, finally_)
        for step, (times, rows) in enumerate(shapes, start=1)
    )


def _with_keys(random: Random, times: list[tuple[int, Coarsening]]) -> list[tuple[int, Coarsening]]:
    """Longer panes, a coarser key and samples, in some order: each level has all before it."""
    has_key, samples = random.choice(OTHER)
    steps: list[list[int | Coarsening]] = [
        [length for length, _ in times],
        [Coarsening(key="k", by="coarser_k")] if has_key else [],
        [Coarsening(survives="survives_k", halvings=n + 1) for n in range(samples)],
    ]
    random.shuffle(steps)
    found, length, rows = list[tuple[int, Coarsening]](), 1, Coarsening()
    for one in (level for operator in steps for level in operator):
        if isinstance(one, int):
            length = one
        else:
            rows = Coarsening(
                one.key or rows.key,
                one.by or rows.by,
                one.survives or rows.survives,
                one.halvings or rows.halvings,
            )
        found.append((length, rows))
    return found


def draw_backlog(random: Random, query: Query, levels: Sequence[Query]) -> Query:
    """The same query, sometimes with a bound of what may wait, and a policy for its levels."""
    if random.random() >= BACKLOG_SHARE:
        return query
    is_old = random.random() < 0.7
    plan = Degradation(
        _operators(query, levels),
        follows=not any(
            level.stands_for is not None and level.stands_for.stays for level in levels
        ),
        backlog_bytes=msgspec.UNSET if is_old else random.choice((1, 400)),
        backlog_age_s=random.choice((0.2, 1.0, 4.0)) if is_old else msgspec.UNSET,
    )
    return msgspec.structs.replace(query, degradation=plan)


def draw_level_threshold(
    random: Random, query: Query, levels: Sequence[Query]
) -> tuple[Query, tuple[Query, ...]]:
    """The same ones, sometimes with a threshold somewhere among the levels."""
    if random.random() >= THRESHOLD_SHARE:
        return query, tuple(levels)
    plan = query.degrades
    operators = list(_operators(query, levels) if plan is None else plan.operators)
    parts = random.choice(THRESHOLD_PARTS)
    threshold = Operator(OperatorKind.THRESHOLD, parts, "n", text="threshold(n)")
    operators.insert(random.randint(0, len(operators)), threshold)
    stays = any(one.stands_for is not None and one.stands_for.stays for one in levels)
    kept = Degradation((), follows=not stays) if plan is None else plan
    tolerance = Tolerance(
        (ToleratedColumn("n", COUNT, ErrorForm.TOTAL, 0.5),),
        Finally.BOUNDED if stays else Finally.EXACT,
        threshold=Threshold("n"),
    )
    query = msgspec.structs.replace(
        _keeping_back(query, tolerance),
        degradation=msgspec.structs.replace(kept, operators=tuple(operators)),
    )
    return query, tuple(_keeping_back(one, tolerance) for one in levels)


def _keeping_back(query: Query, tolerance: Tolerance) -> Query:
    program = msgspec.structs.replace(query.program, partials=(Partial(COUNT, "bigint", "sum"),))
    return msgspec.structs.replace(query, program=program, tolerance=tolerance)


def _operators(query: Query, levels: Sequence[Query]) -> tuple[Operator, ...]:
    """Those whose levels these are, in their order."""
    sizes: dict[OperatorKind, list[float]] = {}
    length_us, rows = query.window.pane_us, Coarsening()
    for level in levels:
        assert level.stands_for is not None
        now_us, now = level.window.pane_us, level.stands_for.coarsening
        if now_us != length_us:
            sizes.setdefault(OperatorKind.COARSEN_TIME, []).append(float(now_us))
        elif now.key != rows.key:
            sizes.setdefault(OperatorKind.COARSEN_KEY, []).append(1.0)
        else:
            sizes.setdefault(OperatorKind.SAMPLE, []).append(2.0**-now.halvings)
        length_us, rows = now_us, now
    return tuple(Operator(kind, tuple(one), text=str(kind)) for kind, one in sizes.items())


def _level(
    query: Query, step: int, count: int, times: int, rows: Coarsening, finally_: Finally
) -> Query:
    length_us = query.window.slide_us * times
    window = WindowSpec(length_us, length_us)
    assert query.begin_pane is not None, "its begin is drawn"
    text = f"{length_us // MICROS} s"
    id_ = QueryId(f"{query.id.name}_step_{step}", query.id.installer, query.id.counter + step)
    keys = rows.keys(query.program.keys) if rows else query.program.keys
    assert keys is not None, "the query has what its levels go by"
    return msgspec.structs.replace(
        query,
        id=id_,
        window=window,
        begin_pane=window.first_window_from(query.window.pane_start_us(query.begin_pane)),
        program=msgspec.structs.replace(query.program, keys=keys),
        companion=Companion(
            str(query.id), step, count, text=text, finally_=finally_, coarsening=rows
        ),
    )
