"""What a site lets in: its own check of a query that came over the wire.

A query is data made elsewhere. Before anything of it runs, the site checks that its parts agree
with each other and with the site's policy, and that its SQL is of the admitted kind. A refusal is
a sentence for the operator; the site declines with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from headwater.algebra.aggregates import RULES
from headwater.algebra.rows.columns import (
    Column,
    Folded,
    Partial,
    folded_columns,
    set_keys,
    visible_keys,
)
from headwater.algebra.rows.types import INTEGERS, PANE_COLUMN, WINDOW_COLUMN, arrow_type
from headwater.algebra.windows.sequence_grid import BYTE, NUMBER_MAX, ROW, SequenceGrid
from headwater.errors import QueryRefused
from headwater.plan.durations import DURATION_US_MAX
from headwater.plan.node_sets import node_set
from headwater.plan.part import PARTS_MAX
from headwater.plan.program import Program
from headwater.plan.query import SITES_MAX, Query, QueryId
from headwater.plan.sources.column_names import name_fault
from headwater.plan.sources.globs import glob_fault
from headwater.plan.sources.log_formats import COLUMNAR, log_format
from headwater.plan.sources.regex_groups import group_numbers
from headwater.plan.sources.source import COLUMNS_MAX, Source, SourceFormat
from headwater.sql.admit.admit_sql import check_root_sql, check_site_sql
from headwater.sql.admit.declared_source import DeclaredSource, check_declared
from headwater.sql.admit.needs import check_forms, check_needs
from headwater.sql.read.sources import (
    FORMAT_OPTIONS,
    PATTERN_LENGTH_MAX,
    RESERVED_PREFIX,
    path_fault,
    time_option_fault,
    value_fault,
)
from headwater.sql.read.sql_text import parse
from headwater.sql.read.statements import NAME_PATTERN, STATEMENTS_MAX
from headwater.sql.read.time_expressions import check_time
from headwater.sql.resolve.find_window import PANE_US_MIN
from headwater.sql.resolve.grids.sequence_windows import PANES_PER_WINDOW_MAX
from headwater.sql.types.declared_types import AVAILABLE, declared_type, value_type
from headwater.sql.write.write_program import SETTINGS

SQL_LENGTH_MAX = 200_000
OPTION_LENGTH_MAX = 1000
TYPE_LENGTH_MAX = 20_000
UNIT_MAX = STATEMENTS_MAX * PARTS_MAX
"""Commands of one file; a unit that never ends would keep a source from being read."""
MOMENT_US_MAX = 253_402_300_800_000_000
"""The year 10,000, as far from 1970 as a begin may be on either side."""
DURATION_S_MAX = DURATION_US_MAX / 1e6


class Policy(msgspec.Struct, frozen=True):
    """What one site lets others ask."""

    installers: tuple[str, ...] = ()
    """Sites whose queries are admitted; empty: those of all."""
    declared: tuple[DeclaredSource, ...] = ()
    """What the site declares of the files that the query's path may reach."""


def check_query(query: Query, policy: Policy | None = None) -> None:
    """Raises ``QueryRefused`` with the reason; returns if the query may run here.

    Without a policy, only that it is sound: what a compiler can say before it knows any site.
    """
    check_needs(query)
    _check_names(query.id, query.program)
    _check_limits(query)
    _check_part(query)
    program = query.program
    _check_source(program.source)
    if program.settings != SETTINGS:
        raise QueryRefused(f"settings: wanted {dict(SETTINGS)}, got {str(program.settings)[:200]}")
    check_site_sql(query)
    check_root_sql(query)
    check_forms(query)
    _check_states(query, is_at_a_site=policy is not None)
    _check_bounded(query)
    policy = policy or Policy()
    if policy.installers and query.id.installer not in policy.installers:
        raise QueryRefused(f"policy: queries of {query.id.installer!r} are not admitted here")
    for declared in policy.declared:
        check_declared(query, declared)


def _check_states(query: Query, *, is_at_a_site: bool) -> None:
    """What a state is made of is told apart by its number in the order of reading, which no source
    has as a column; and one record is one row."""
    if not query.holds_states:
        return
    where = f"stream {query.id.name}: the last {query.last_n} rows"
    if is_at_a_site and query.begin_pane is None:
        raise QueryRefused(f"{where}: wanted a begin, since every pane from there on has a state")
    if any(column.name.lower() == ROW for column in query.program.source.columns):
        raise QueryRefused(f"source: wanted no column {ROW}, which is the site's own count")
    if not isinstance(query.program.first, UnsetType):
        raise QueryRefused(
            f"{where}: wanted all of a site's last records, got the first of each pane"
        )
    if parse(query.program.site_sql).args.get("laterals"):
        raise QueryRefused(f"{where}: wanted records as they are, got a LATERAL VIEW of them")


def _check_names(query_id: QueryId, program: Program) -> None:
    if re.fullmatch(NAME_PATTERN, query_id.name) is None:
        raise QueryRefused(f"stream: {query_id.name[:60]!r} is not a name")
    folded = folded_columns(program)
    keys = (*program.keys, *set_keys(program))
    columns: Sequence[Column | Partial | Folded] = (*keys, *program.partials, *folded)
    _check_columns("summary", columns, reserved={PANE_COLUMN, WINDOW_COLUMN})
    _check_columns("answer", program.output, reserved={WINDOW_COLUMN})
    _check_columns("source", program.source.columns, reserved={WINDOW_COLUMN})


def _check_columns(
    what: str, columns: Sequence[Column | Partial | Folded], *, reserved: set[str]
) -> None:
    if not 1 <= len(columns) <= COLUMNS_MAX:
        raise QueryRefused(f"{what}: wanted 1 to {COLUMNS_MAX} columns, got {len(columns)}")
    seen = set(reserved)
    for column in columns:
        name = column.name.lower()
        is_name = name_fault(column.name) is None and not name.startswith(RESERVED_PREFIX)
        if not is_name or name in seen:
            raise QueryRefused(f"{what}: {column.name[:60]!r} is not a name, or is taken")
        seen.add(name)
        if what == "source":
            _check_declared_type(column)
            continue
        try:
            arrow_type(column.type)
        except ValueError as error:
            raise QueryRefused(f"{what}: column {column.name}: {error}") from error


def _check_declared_type(column: Column | Partial | Folded) -> None:
    """A source has types that no answer has, and a longer name than this is no type's."""
    is_short = len(column.type) <= TYPE_LENGTH_MAX
    if not is_short or declared_type(column.type) != column.type:
        raise QueryRefused(
            f"source: column {column.name}: wanted a type ({AVAILABLE}), got {column.type[:80]!r}"
        )


def _check_limits(query: Query) -> None:
    of = query.program
    texts = (of.text, of.site_sql, of.root_sql, of.central_sql, of.source.text)
    if max(len(text) for text in texts) > SQL_LENGTH_MAX:
        raise QueryRefused(f"a text is longer than {SQL_LENGTH_MAX} characters")
    if isinstance(query.node_set, str):
        _check_node_set(query, query.node_set)
    if len(query.sites) > SITES_MAX:
        raise QueryRefused(f"sites: wanted at most {SITES_MAX}, got {len(query.sites)}")
    if (
        not query.id.counter
        <= max(query.unit_last, query.id.counter)
        <= query.id.counter + UNIT_MAX
    ):
        raise QueryRefused(f"unit: wanted at most {UNIT_MAX} commands, the last {query.unit_last}")
    _check_window(query)
    _check_timing(query)


def _check_node_set(query: Query, text: str) -> None:
    try:
        node_set(text)
    except ValueError as error:
        raise QueryRefused(f"sites: {error}") from error
    if query.sites:
        raise QueryRefused("sites: wanted names or a node set, got both")


def _check_window(query: Query) -> None:
    """Before anything is made of it: windows and panes are counted one by one at the root."""
    window = query.window
    if query.numbers is not None:
        _check_numbers(query, query.numbers)
        return
    is_whole = window.pane_us >= PANE_US_MIN and window.range_us <= DURATION_US_MAX
    if not is_whole or window.panes_per_window > PANES_PER_WINDOW_MAX:
        raise QueryRefused(
            f"window: wanted panes of at least {PANE_US_MIN} us, at most {PANES_PER_WINDOW_MAX} of "
            f"them and {DURATION_US_MAX} us together, got {window.panes_per_window} of "
            f"{window.pane_us} us"
        )
    begin = query.begin_pane
    if begin is not None and not abs(window.pane_start_us(begin)) < MOMENT_US_MAX:
        raise QueryRefused(f"begin: wanted a pane before the year 10000, got {begin}")


def _check_numbers(query: Query, grid: SequenceGrid) -> None:
    """Lengths were looked at when the query was made."""
    window, begin = query.window, query.begin_pane
    if window.panes_per_window > PANES_PER_WINDOW_MAX:
        raise QueryRefused(
            f"window: wanted at most {PANES_PER_WINDOW_MAX} panes, got {window.panes_per_window}"
        )
    if begin is not None and not abs(window.pane_start_us(begin)) < NUMBER_MAX:
        raise QueryRefused(f"begin: wanted a number below {NUMBER_MAX}, got pane {begin}")
    types = {column.name: value_type(column.type) for column in query.program.source.columns}
    if grid.is_own_count:
        _check_own_count(query, grid)
        return
    if types.get(grid.column) not in INTEGERS:
        raise QueryRefused(
            f"window: wanted a column of the source with whole numbers, got {grid.column[:60]!r}"
        )


def _check_own_count(query: Query, grid: SequenceGrid) -> None:
    source = query.program.source
    if any(column.name.lower() == grid.column for column in source.columns):
        raise QueryRefused(f"source: wanted no column {grid.column}, which is the site's own count")
    if grid.column == BYTE and source.format in COLUMNAR:
        raise QueryRefused(
            f"window: wanted a source with lines, whose bytes count, got {source.format}"
        )


def _check_timing(query: Query) -> None:
    times = msgspec.structs.astuple(query.timing)
    if any(time is not None and not 0 <= time <= DURATION_S_MAX for time in times):
        raise QueryRefused(
            f"timing: wanted lengths of time from 0 to {DURATION_S_MAX:g} s, got {times}"
        )


def _check_bounded(query: Query) -> None:
    """Approximate never passes for exact: who makes sketches says which columns are bounded."""
    names = {column.name for column in query.program.output}
    strange = [one.column for one in query.bounds.columns if one.column not in names]
    if strange:
        raise QueryRefused(f"bounded: wanted columns of the answer, got {strange[0][:60]!r}")
    rules = [RULES[partial.merge] for partial in query.program.partials]
    if any(rule.take is not None for rule in rules) and not query.bounds:
        raise QueryRefused(
            "bounded: wanted how near columns are that are made of sketches, got no column; "
            "compile the statement anew"
        )


def _check_part(query: Query) -> None:
    part = query.part
    if part is None:
        return
    is_one_of_several = 2 <= part.count <= PARTS_MAX and 1 <= part.number <= part.count
    keys = visible_keys(query.program)
    if not is_one_of_several or not keys or query.id.name != part.query_name:
        raise QueryRefused(
            f"part: wanted one of 2 to {PARTS_MAX} parts of a stream with keys, called "
            f"{part.query_name[:60]!r}; got {str(part)[:80]}, called {query.id.name[:60]!r}, "
            f"with {len(keys)} keys"
        )


def _check_source(source: Source) -> None:
    if re.fullmatch(NAME_PATTERN, source.name) is None:
        raise QueryRefused(f"source: {source.name[:60]!r} is not a name")
    types = {column.name: column.type for column in source.columns}
    if types.get(source.time_column) != "timestamp":
        raise QueryRefused(
            f"source: wanted a time column of type timestamp, got {source.time_column!r}"
        )
    if source.time_sql is not UNSET:
        check_time(source)
    fault = path_fault(source) or glob_fault(source.path)
    if fault is not None:
        raise QueryRefused(f"source: {fault}")
    names = [name for name, _ in source.options]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryRefused(f"source: option {twice[:60]!r} occurs twice; wanted each once")
    for name, value in source.options:
        limit = PATTERN_LENGTH_MAX if name == "pattern" else OPTION_LENGTH_MAX
        if name not in FORMAT_OPTIONS[source.format] or len(value) > limit:
            raise QueryRefused(f"source: option {name[:60]!r} is not admitted, or is too long")
        fault = time_option_fault(name, value, dict(source.options)) or value_fault(name, value)
        if fault is not None:
            raise QueryRefused(f"source: {fault}")
    _check_format(source)


def _check_format(source: Source) -> None:
    """What a format asks of the columns."""
    names = [field.name for field in source.fields]
    named = log_format(source)
    known = [name for name, _ in named.columns]
    if known and not named.is_open and not set(names) <= set(known):
        raise QueryRefused(f"source: format {source.format} has the columns {', '.join(known)}")
    widths = dict(source.options).get("widths", "").split(",")
    if source.format is SourceFormat.FIXED and len(widths) != len(names):
        raise QueryRefused(
            f"source: wanted {len(names)} widths, one for each column, got {len(widths)}"
        )
    if source.format is SourceFormat.REGEX:
        try:
            group_numbers(dict(source.options).get("pattern", ""), names)
        except ValueError as error:
            raise QueryRefused(f"source: {error}") from error
