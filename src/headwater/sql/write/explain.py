"""A query as text for people: which part runs where, and what travels between."""

from collections.abc import Iterator

from msgspec import UnsetType

from headwater.algebra.byte_rate import rate_text
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.share_table import Dealing
from headwater.algebra.remainders.tolerance import ChosenRows, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import FirstRows, folded_columns, visible_keys
from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.algebra.windows.sessions import Sessions
from headwater.algebra.windows.sliding_window import can_move, slides
from headwater.edge.degrade.savings import GUESSES
from headwater.plan.degrading.degradation import LEVEL_KINDS, Operator
from headwater.plan.durations import duration_text
from headwater.plan.program import Program
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.sql.read.sql_text import pretty


def explain(query: Query) -> str:
    """The plan from the records up to the answer, with the place of each part."""
    sections = [
        (f"stream {_name(query)}", _about(query)),
        (f"site    {_asked(query)}", _site(query)),
        ("network every relay on the way", _network(query)),
        (f"root    {query.root}", _root(query)),
    ]
    return "\n\n".join(f"{title}\n{_indented(body)}" for title, body in sections) + "\n"


def _asked(query: Query) -> str:
    named = query.node_set if isinstance(query.node_set, str) else ", ".join(query.sites)
    return named or "every site with data"


def _name(query: Query) -> str:
    return query.id.name if query.part is None else f"{query.id.name}, {query.part}"


def _about(query: Query) -> str:
    window, source = query.window, query.program.source
    start = f" from {duration_text(window.start_us)}" if window.start_us else ""
    return "\n".join(
        [
            f"source  {source.name}: {source.format} {source.path}, time {_time(source)}",
            f"window  {query.grid_text}{start}, "
            f"panes of {query.length_text(window.pane_us)}, {window.panes_per_window} a window",
            f"begin   {_begin(query)}",
            f"query   {query.id}",
        ]
    )


def _time(source: Source) -> str:
    is_read = isinstance(source.time_sql, UnsetType)
    return source.time_column if is_read else f"{source.time_column} = {source.time_sql}"


def _begin(query: Query) -> str:
    if query.numbers is not None and query.numbers.from_now:
        return "at each site the first pane after the number that it reads first"
    if query.own_count is not None:
        return "at each site the first record that it reads for the query"
    if query.begin_pane is None:
        return "the earliest record"
    start = query.bound_text(query.window.pane_start_us(query.begin_pane))
    return f"{start}, pane {query.begin_pane}"


def _site(query: Query) -> str:
    timing = query.timing
    if query.numbers is not None:
        return _counting_site(query, query.numbers)
    if query.holds_states:
        return _holding_site(query)
    sealed = "when the site's retention is over"
    if timing.lateness_s is not None:
        sealed = f"after {_seconds(timing.lateness_s)}"
    return "\n".join(
        [
            f"reads {', '.join(query.program.columns_used)}",
            f"closes a pane {_seconds(timing.disorder_s)} after its end, seals it {sealed}",
            *_kept_back(query),
            *_early(query),
            *_share(query),
            *_given_up(query),
            pretty(query.program.site_sql),
        ]
    )


def _holding_site(query: Query) -> str:
    every, disorder = duration_text(query.window.pane_us), _seconds(query.timing.disorder_s)
    return "\n".join(
        [
            f"reads {', '.join(query.program.columns_used)}",
            f"holds the last {query.last_n} records that WHERE keeps, each reduced to a row, in "
            "the order of reading",
            f"makes one state of them for every {every}, {disorder} after its end; a record that "
            "comes later counts for the next ones",
            "of each record:",
            pretty(query.program.site_sql),
        ]
    )


def _kept_back(query: Query) -> Iterator[str]:
    """What sites may keep back of a pane."""
    tolerance, panes = query.tolerates, query.window.panes_per_window
    if tolerance is None or tolerance.is_by_link:
        return
    for one in tolerance.columns:
        allowed = _allowed(tolerance, one, panes)
        yield f"keeps back groups within the error of {one.column}, {allowed}"
    if isinstance(tolerance.chosen, ChosenRows):
        yield f"answers say which of their {tolerance.chosen.count} rows may not be the largest"
    if isinstance(tolerance.conditions, tuple):
        texts = " and ".join(one.text() for one in tolerance.conditions)
        yield f"answers say how many rows may be on the wrong side of {texts}"
    follows = "follows when that has arrived" if query.owes_rest else "stays at the site"
    yield f"tells with the close how much it kept back, which {follows}"


def _given_up(query: Query) -> Iterator[str]:
    """What sites do where the way is too narrow."""
    plan, level = query.degrades, query.stands_for
    if level is not None:
        yield (
            f"is what {level.stream} is sent at where the way is too narrow ({level}): its rows "
            f"are made of those of {level.stream}, and this text is run nowhere"
        )
    if plan is None:
        return
    yield "where the way carries less than it needs, gives up in this order:"
    for number, one in enumerate(plan.operators, start=1):
        left = GUESSES.get(one.kind, 1.0)
        yield (
            f"  {number}. {one.text}, {_levels_text(one)} estimated to leave {100 * left:.0f} % of "
            f"the bytes of the one before, until that is seen{_beside(one)}"
        )
    top = None if query.tolerates is None else query.tolerates.top
    if top is not None:
        yield (
            f"  the root asks for what it needs of the others, so that the first {top.count} rows "
            f"by {top.column} are exact"
        )
    if plan.bounds_backlog:
        yield f"where {plan.backlog_text()}, the oldest panes leave a site as longer ones"
    follows = "follows when there is room" if plan.follows else "stays at the site"
    yield f"takes it back when there is room again; what was not sent {follows}"


def _levels_text(operator: Operator) -> str:
    count = len(operator.levels)
    return "one level" if count == 1 else f"in {count} levels, each"


def _beside(operator: Operator) -> str:
    is_level = operator.kind in LEVEL_KINDS
    return "; answered in a stream beside this one" if is_level else ""


def _share(query: Query) -> Iterator[str]:
    """What it may have of the links of a site."""
    share = query.link_share
    if share.bytes_per_s is not None:
        yield f"sends at most {rate_text(share.bytes_per_s)}, and so does each relay"
    if share.weight != 1.0:
        yield f"has weight {share.weight:g} where streams share a link"


def _early(query: Query) -> Iterator[str]:
    """What may leave before the close of a pane."""
    if query.round_count > 1:
        every = duration_text(query.window.pane_us // query.round_count)
        yield (
            f"may send groups before the close, at most every {every}, where its link would be "
            "busy with a pane for long"
        )


def _allowed(tolerance: Tolerance, column: ToleratedColumn, panes: int) -> str:
    if column.form is ErrorForm.VALUE:
        return _of_each(column)
    if column.form is ErrorForm.TOTAL:
        return f"{column.bound.text()}: that share of the site's own total of the pane"
    if column.is_largest:
        return f"{column.bound.text()}: at every site and in every pane, since the worst counts"
    if not tolerance.sites:
        return f"{column.bound.text()}: dealt out among the sites of the federation"
    share = tolerance.share(column, panes=panes)
    of_panes = "" if panes == 1 else f" and {panes} panes of a window"
    even = f"{column.bound.text()}: {share:g} for each of {tolerance.sites} sites{of_panes}"
    if not isinstance(tolerance.dealing, Dealing):
        return even
    every = tolerance.dealing.panes
    return (
        f"{even}; from pane {tolerance.dealing.first} on shares move to where a flush would be "
        f"slow, every {every} panes; who has not heard of its share keeps nothing back"
    )


def _of_each(column: ToleratedColumn) -> str:
    """What a share of each value costs."""
    is_of_records = column.meaning is Meaning.RECORDS
    of = "of a group's records at the site in the pane" if is_of_records else "of each value"
    text = f"{column.bound.text()} {of}"
    if not column.bound.needs_every_key:
        return f"{text}: groups may stay whole"
    if column.among:
        return f"{text}: so every group is sent, but for the least of its rows"
    return f"{text}: so every group is sent, but for what is left of those that left early"


def _counting_site(query: Query, grid: SequenceGrid) -> str:
    if grid.is_own_count:
        return "\n".join(
            [
                f"reads {', '.join(query.program.columns_used)}",
                f"counts the {grid.unit}s of the records that it reads, also of those that WHERE "
                "drops, and closes a pane when it has read its last; no clock does",
                pretty(query.program.site_sql),
            ]
        )
    sealed = f"seals it after {grid.lateness} more" if grid.lateness else "seals it at once"
    closing = f"{grid.disorder} beyond its end" if grid.disorder else "at or beyond its end"
    return "\n".join(
        [
            f"reads {', '.join(query.program.columns_used)}",
            f"closes a pane when it reads {grid.column} {closing} in a record that WHERE keeps, "
            f"{sealed}; no clock does",
            pretty(query.program.site_sql),
        ]
    )


def _network(query: Query) -> str:
    """What one row of a summary is, how rows of the same keys become one, and who can do that."""
    program = query.program
    visible = len(visible_keys(program))
    keys = [f"{key.name} {key.type}" for key in program.keys[:visible]]
    keys += [f"{key.name} {key.type} (hidden)" for key in program.keys[visible:]]
    lines = [f"one row for each {', '.join(keys)}" if keys else "one row"]
    lines += [
        f"{partial.name} {partial.type} merges by {partial.merge}" for partial in program.partials
    ]
    if not isinstance(program.first, UnsetType):
        lines.append(_first(program.first))
    if not isinstance(query.needs, UnsetType):
        lines.append(
            f"needs {', '.join(query.needs)}: agents that do not know it forward apart, and "
            "decline for their own sites"
        )
    lines += [
        f"{fold.name} {fold.type} is folded at the root: {fold.fold} of {', '.join(fold.over)}"
        for fold in folded_columns(program)
    ]
    return "\n".join(lines)


def _first(first: FirstRows) -> str:
    terms = [
        f"{term.column}{' DESC' if term.is_descending else ''}"
        f"{' NULLS LAST' if term.nulls_last and not term.is_descending else ''}"
        f"{' NULLS FIRST' if term.is_descending and not term.nulls_last else ''}"
        for term in first.order
    ]
    within = f" of each {', '.join(first.within)}" if first.within else ""
    return f"sites and relays keep the first {first.limit}{within} by {', '.join(terms)}"


def _root(query: Query) -> str:
    timing = query.timing
    columns = [f"{column.name} {column.type}" for column in query.program.output]
    near = [f"near, not exact: {line}" for line in query.bounds.lines()]
    latest = "" if query.waits is True else "at the latest "
    since = "its end" if query.numbers is None else "a site has closed its last pane"
    return "\n".join(
        [
            f"answers a window {latest}{_seconds(timing.deadline_s)} after {since}; "
            f"revises at most every {_seconds(timing.revise_every_s)}, "
            f"for {_seconds(timing.revise_for_s)}",
            *_enough(query),
            _building(query),
            *_sets(query.program),
            pretty(query.program.root_sql),
            f"yields {WINDOW_COLUMN}, {', '.join(columns)}",
            *near,
        ]
    )


def _enough(query: Query) -> Iterator[str]:
    """How much of a window it takes for enough, and what follows from that."""
    demand = query.demanded
    if demand is None:
        return
    counted = ""
    if demand.panes:
        panes = query.window.panes_per_window
        counted = f" ({demand.panes_asked(panes)} of {panes} panes)"
    if demand.is_random:
        panes = query.window.panes_per_window
        counted = f" ({demand.panes_drawn(panes)} of each {panes} panes)"
    yield f"takes {demand.text()}{counted} of a window for enough, and answers it then"
    if query.ends:
        yield "reads an input that ends: answers are made of all of it"
        return
    if demand.is_random:
        yield "the other panes are never sent: an answer is never exact"
    if demand.is_random and demand.scaled_columns:
        named = ", ".join(demand.scaled_columns)
        yield f"has {named} beside it as all records are estimated to have it (…_scaled)"
    if demand.is_random and isinstance(query.sessions, Sessions):
        yield "sessions that reach into panes which were not drawn are cut there"
    if demand.is_final:
        yield "an answer that has enough is final: what comes later is not taken"
    if demand.is_silent:
        yield "a window that has not enough has no rows, only a header that says so"


def _sets(program: Program) -> list[str]:
    """Which coarser groups it makes of those by all keys."""
    if isinstance(program.folding, UnsetType) or not program.folding.sets:
        return []
    names = [key.name for key in program.keys]
    sets = [f"({', '.join(names[place] for place in one)})" for one in program.folding.sets]
    return [f"makes of them the grouping sets {', '.join(sets)}"]


def _building(query: Query) -> str:
    """How a window is made of panes."""
    window = query.window
    if isinstance(query.sessions, Sessions):
        longest = duration_text(query.sessions.longest_us)
        return f"puts sessions of up to {longest} together over panes, where they end"
    if query.holds_states:
        return "adds up the states that sites have at its end"
    if can_move(window, query.program):
        return "builds a window from the one before: new panes are added, old ones taken out"
    if slides(window):
        return "builds a window of blocks of 8, 16, 32, … panes, each merged once"
    return f"builds a window of {'its pane' if window.panes_per_window == 1 else 'all its panes'}"


def _seconds(seconds: float) -> str:
    return duration_text(round(seconds * 1_000_000))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
