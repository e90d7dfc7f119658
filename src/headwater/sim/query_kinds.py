"""The kinds of queries in simulated worlds: by age, and of states, numbers, the past, sessions.

Each kind is drawn apart from the rest of a query, from a chance of its own, so that it moves no
other choice of a seed. What is drawn first stands: a query is of one kind.
"""

from __future__ import annotations

from random import Random

import msgspec

from headwater.algebra.demand import ALL, Chance, Demand
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import (
    Finally,
    Largest,
    Threshold,
    Tolerance,
    ToleratedColumn,
)
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.algebra.windows.sessions import Sessions
from headwater.plan.altered.dealing import with_dealing
from headwater.plan.altered.link_share import LinkShare
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.degradation import LEVEL_KINDS, Degradation, Operator, OperatorKind
from headwater.plan.query import Query, TimeKind
from headwater.sim.records.admits import growing, rows_max_of

STATES_SHARE = 0.25
"""How many queries of logs that go on hold states."""
AGE_SHARE = 0.3
"""How many queries over growing logs place records by their age. A finite log is read again from
its start when a disk is lost, and a second reading may place it by another offset."""

SEQUENCE_SHARE = 0.3
"""How many of the others have windows of numbers."""

PAST_SHARE = 0.5
"""How many of the others begin in the past."""
PAST_S = (20.0, 45.0, 90.0)
"""How long before they are installed; the logs of such a world are longer by the last of these."""

SESSIONS_SHARE = 0.3
"""How many of those that are left ask for sessions."""

GROWING_SHARE = 0.4
"""How many of those that are left have states that grow."""


WAITING_SHARE = 0.1
DEMAND_SHARE = 0.3
TOLERANCE_SHARE = 0.35
DEGRADE_SHARE = 0.4
"""Of those that have an error: with a threshold in its place."""
LARGEST_SHARE = 0.3
"""Of those again: with the largest groups alone in the place of the threshold."""
LATER_SHARE = 0.1
"""How many have no error at first, and may be altered to have one."""
"""How many of all that have neither states, sessions nor states that grow let sites keep something
back."""
SHARES_SHARE = 0.5
"""How many of those have an error that is a number of records."""
DEALT_SIZES = (6.0, 40.0)
TABLE_S = 5.0
"""For how long a table of shares names panes in simulated worlds."""
ROUNDS_SHARE = 0.8
ROUNDS_LATER_SHARE = 0.1
"""Of them: nothing leaves early before other settings say so."""
ROUNDS_LATER: dict[float, int | None] = {4.0: None, 8.0: 1, 12.0: 4}
"""By the deadline of altered settings."""
"""How many of those that may send keys before the close do so."""
RATES = (2_000.0, 6_000.0)
"""In bytes a second: a heartbeat takes some 60 bytes, a record 40."""
WIDER_RATES = (6_000.0, 12_000.0)
"""Where a query has levels, each of which has states and acknowledgements of its own."""
LINK_SHARE_SHARE = 0.15
"""How many queries have a weight, and a budget of their own."""
QUERY_BYTES_PER_S = (3_000.0, 6_000.0)
COUNT = "n"
"""The partial by which they do: the number of records."""


def draw_states(random: Random, query: Query) -> Query:
    """The same query, sometimes of states. Drawn apart, so that all else of a seed is as it was
    before there were states."""
    if random.random() >= STATES_SHARE:
        return query
    slide_us = query.window.slide_us
    window = WindowSpec(slide_us, slide_us)
    assert query.begin_pane is not None, "a state query has a begin"
    begin_us = query.window.pane_start_us(query.begin_pane)
    return msgspec.structs.replace(
        query,
        window=window,
        begin_pane=window.first_window_from(begin_us),
        last_n=random.choice((1, 3, 8, 20)),
    )


def draw_time(random: Random, query: Query) -> Query:
    """The same query, sometimes by age. Drawn apart from the rest of a query, so that it moves no
    other choice of a seed. States go by timestamps, which their truth does too."""
    is_by_age = random.random() < AGE_SHARE and not query.holds_states
    return msgspec.structs.replace(query, time=TimeKind.AGE) if is_by_age else query


def draw_sequence(random: Random, query: Query) -> Query:
    """The same query, sometimes over windows of numbers, for which the times of records stand: they
    rise as far as a site's clock does, and fall where it is set back."""
    is_timed = query.time is TimeKind.EVENT and not query.holds_states
    if random.random() >= SEQUENCE_SHARE or not is_timed:
        return query
    grid = SequenceGrid(
        "number",
        disorder=random.choice((1, 2)) * MICROS,
        lateness=random.choice((10, 25)) * MICROS,
        from_now=True,
    )
    timing = msgspec.structs.replace(
        query.timing, disorder_s=0.0, lateness_s=None, revise_for_s=86_400.0
    )
    return msgspec.structs.replace(query, begin_pane=None, sequence=grid, timing=timing)


def draw_past(random: Random, query: Query, *, now_s: float) -> Query:
    """The same query, sometimes with a begin that has passed: sites read the past for it."""
    is_timed = query.time is TimeKind.EVENT and not query.holds_states and query.numbers is None
    if random.random() >= PAST_SHARE or not is_timed:
        return query
    begin_us = round((now_s - random.choice(PAST_S)) * MICROS)
    first = query.window.panes_of(query.window.first_window_from(begin_us))[0]
    return msgspec.structs.replace(query, begin_pane=first, reads_past=True)


def draw_sessions(random: Random, query: Query) -> Query:
    """The same query, sometimes for sessions: its windows look back as far as these may be long."""
    if random.random() >= SESSIONS_SHARE or not is_plain(query):
        return query
    gap_us = random.choice((3, 5)) * MICROS
    sessions = Sessions(gap_us, gap_us * random.choice((1, 3)), "first", "last")
    partials = (Partial("first", "timestamp", "min"), Partial("last", "timestamp", "max"))
    window, begin = sessions.window(), query.begin_pane
    assert begin is not None, "a plain query has a begin"
    first = window.first_window_from(query.window.pane_start_us(begin))
    return msgspec.structs.replace(
        query,
        window=window,
        begin_pane=window.panes_of(first)[0],
        program=msgspec.structs.replace(query.program, partials=partials),
        sessions=sessions,
    )


def draw_growing(random: Random, query: Query) -> Query:
    """The same query, sometimes of a growing state: sites have a limit that some panes exceed."""
    if random.random() >= GROWING_SHARE or not is_plain(query):
        return query
    program = growing(query.program, rows_max=random.choice((3, 5)))
    return msgspec.structs.replace(query, program=program)


def draw_tolerance(random: Random, query: Query) -> Query:
    """The same query, sometimes with an error: sites keep some records back."""
    drawn, finally_ = random.random(), random.choice((Finally.BOUNDED, Finally.EXACT))
    if drawn >= TOLERANCE_SHARE or not has_groups(query) or rows_max_of(query) is not None:
        return query
    column = ToleratedColumn("n", COUNT, ErrorForm.TOTAL, 0.5)
    partials = (Partial(COUNT, "bigint", "sum"),)
    return msgspec.structs.replace(
        query,
        program=msgspec.structs.replace(query.program, partials=partials),
        tolerance=msgspec.UNSET if drawn < LATER_SHARE else Tolerance((column,), finally_),
    )


def draw_dealt(random: Random, query: Query, *, sites: int, now_s: float) -> Query:
    """The same query, sometimes with an error that is a number: it is dealt out among the sites."""
    tolerance, size = query.tolerates, random.choice(DEALT_SIZES)
    if random.random() >= SHARES_SHARE or tolerance is None:
        return query
    column = ToleratedColumn("n", COUNT, ErrorForm.ABSOLUTE, size)
    dealt = msgspec.structs.replace(tolerance, columns=(column,), sites=sites)
    query = msgspec.structs.replace(query, tolerance=dealt)
    return with_dealing(query, now_us=round(now_s * MICROS), table_s=TABLE_S)


def draw_degradation(random: Random, query: Query) -> Query:
    """The same query, sometimes with a threshold in the place of its error: nothing is kept back
    while the way is wide enough."""
    tolerance = query.tolerates
    if random.random() >= DEGRADE_SHARE or tolerance is None:
        return query
    parts = random.choice(((1.0,), (0.25, 1.0), (1 / 64, 1 / 16, 1 / 4, 1.0)))
    operator = Operator(OperatorKind.THRESHOLD, parts, "n", text="threshold(n)")
    return msgspec.structs.replace(
        query,
        tolerance=msgspec.structs.replace(tolerance, threshold=Threshold("n")),
        degradation=Degradation((operator,)),
    )


def draw_largest(random: Random, query: Query) -> Query:
    """The same query, sometimes with the largest groups alone in the place of a threshold."""
    count, tolerance = random.choice((1, 2, 4)), query.tolerates
    is_drawn = random.random() < LARGEST_SHARE and query.begin_pane is not None
    if tolerance is None or not (is_drawn and tolerance.is_by_link):
        return query
    column = ToleratedColumn("n", COUNT, ErrorForm.TOTAL, 1.0)
    operator = Operator(OperatorKind.TOP, (float(count),), "n", text=f"top({count}, n)")
    assert query.begin_pane is not None, "its begin is drawn"
    begin_us, slide_us = query.window.pane_start_us(query.begin_pane), query.window.slide_us
    window = WindowSpec(slide_us, slide_us)
    return msgspec.structs.replace(
        query,
        window=window,
        begin_pane=window.first_window_from(begin_us),
        tolerance=Tolerance((column,), tolerance.finally_, largest=Largest("n", count)),
        degradation=Degradation((operator,)),
    )


def has_groups(query: Query) -> bool:
    return not query.holds_states and query.sessions is msgspec.UNSET


def draw_settings(random: Random, query: Query) -> Settings:
    """Others for a query that runs: an error only where it has been prepared for one."""
    column = ToleratedColumn("n", COUNT, ErrorForm.TOTAL, random.choice((0.5, 0.8)))
    former = query.tolerates
    if former is not None and former.can_move:
        column = msgspec.structs.replace(former.columns[0], size=random.choice(DEALT_SIZES))
    finally_ = random.choice((Finally.BOUNDED, Finally.EXACT))
    is_prepared = any(one.name == COUNT for one in query.program.partials)
    has_error = random.random() < 0.6 and is_prepared and has_groups(query)
    altered = msgspec.structs.replace(
        Settings.of(query),
        deadline_s=random.choice((4.0, 8.0, 12.0)),
        revise_every_s=random.choice((1.0, 3.0)),
        waits=random.random() < 0.3,
        tolerance=_like(former, column, finally_) if has_error else None,
    )
    if former is not None and query.degrades is not None and _has_levels(query.degrades):
        kept = former if has_error else None  # installed with its levels, and settled by that
        altered = msgspec.structs.replace(altered, tolerance=kept)
    altered = msgspec.structs.replace(altered, share=_share(random))
    if not (is_prepared and query.may_send_early and isinstance(query.rounds, int)):
        return altered
    return msgspec.structs.replace(altered, rounds=ROUNDS_LATER[altered.deadline_s])


def _has_levels(plan: Degradation) -> bool:
    return any(one.kind in LEVEL_KINDS for one in plan.operators)


def draw_share(random: Random, query: Query) -> Query:
    """The same query, sometimes with a share of links that is its own."""
    is_drawn = random.random() < LINK_SHARE_SHARE
    return msgspec.structs.replace(query, share=_share(random)) if is_drawn else query


def _share(random: Random) -> LinkShare:
    rate = random.choice((None, *QUERY_BYTES_PER_S))
    return LinkShare(random.choice((0.5, 1.0, 4.0)), rate)


def _like(former: Tolerance | None, column: ToleratedColumn, finally_: Finally) -> Tolerance:
    if former is None:
        return Tolerance((column,), finally_)
    return msgspec.structs.replace(former, columns=(column,), finally_=finally_)


def draw_rounds(random: Random, query: Query) -> Query:
    """The same query, sometimes one of which keys leave before the close, or may when it is
    altered."""
    is_drawn = random.random() < ROUNDS_SHARE
    rounds = random.choice((2, 4, 32))
    keyed = msgspec.structs.replace(query.program, keys=(Column("k", "bigint"),))
    if not query.program.partials:
        keyed = msgspec.structs.replace(keyed, partials=(Partial(COUNT, "bigint", "sum"),))
    early = msgspec.structs.replace(query, program=keyed, rounds=rounds)
    is_counted = query.time is not TimeKind.EVENT or rows_max_of(query) is not None
    if not is_drawn or is_counted or early.round_count == 1:
        return query
    is_later = random.random() < ROUNDS_LATER_SHARE
    return msgspec.structs.replace(early, rounds=1) if is_later else early


def draw_rate(random: Random, query: Query) -> float | None:
    """What links carry where keys leave early, which they do over slow ones, where what may wait is
    bounded, and where the largest groups are looked for."""
    if query.degrades is not None and query.degrades.bounds_backlog:
        return random.choice(WIDER_RATES)
    is_slow = query.tolerates is not None and query.tolerates.top is not None
    return random.choice(RATES) if is_slow or isinstance(query.rounds, int) else None


def draw_waiting(random: Random, query: Query) -> Query:
    """The same query, sometimes first answered at its deadline only."""
    is_drawn = random.random() < WAITING_SHARE and not query.ends
    return msgspec.structs.replace(query, waits=True) if is_drawn else query


def draw_demand(random: Random, query: Query) -> Query:
    """The same query, sometimes with a demand, that its windows have panes enough for."""
    is_drawn = random.random() < DEMAND_SHARE and not query.ends
    panes = query.window.panes_per_window
    share = random.choice((1, 30, 60, 90, 100)) * ALL // 100
    few_panes = max(-(-ALL // panes), random.choice((40, 70)) * ALL // 100)
    form = random.choice(
        (
            Demand(area=share),
            Demand(panes=few_panes, sites=ALL),
            Demand(panes=ALL, sites=share),
            Demand(panes=few_panes, sites=max(share, ALL // 3)),
        )
    )
    is_final, is_silent = random.random() < 0.5, random.random() < 0.5
    chance = (
        random.choice((msgspec.UNSET, Chance.ALIKE, Chance.APART)) if form.area else msgspec.UNSET
    )
    by_chance = msgspec.structs.replace(form, chance=chance)
    form = form if by_chance.fault(panes) else by_chance
    demand = msgspec.structs.replace(form, is_final=is_final, is_silent=is_silent)
    return msgspec.structs.replace(query, demand=demand) if is_drawn else query


def is_plain(query: Query) -> bool:
    """Nothing has made it one of a kind."""
    is_timed = query.time is TimeKind.EVENT and query.numbers is None
    is_plain = is_timed and not query.holds_states and not query.wants_past
    return is_plain and query.sessions is msgspec.UNSET
