"""From a file of statements to queries that can be installed.

::

    text ─► statements ─► sources
                      └─► SELECT ─resolve─► tree ─RULES─► tree ─write─► site, root, reference SQL
                                                 for each root of the stream

Everything that a query needs to run anywhere is in the ``Query`` that comes out: nobody plans
again. What comes out has passed the same check that every site makes of SQL from the wire, so no
site refuses what was compiled, except by a policy of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import UNSET
from sqlglot import exp

from headwater.algebra.windows.sessions import Sessions
from headwater.errors import QueryRefused
from headwater.plan.altered.dealing import with_dealing
from headwater.plan.part import Part
from headwater.plan.query import Query, QueryId, TimeKind
from headwater.plan.roster import Site
from headwater.plan.sources.source import Source
from headwater.sql.admit.admit import check_query
from headwater.sql.admit.needs import with_needs
from headwater.sql.degrade.asked_degradation import read_degradation
from headwater.sql.degrade.at_level import at_level
from headwater.sql.degrade.companions import companions_of, has_levels, with_full_ids
from headwater.sql.degrade.determined_keys import with_determined_keys
from headwater.sql.degrade.limits import asks_to_keep_back, tolerated
from headwater.sql.degrade.shed_option import check_shed, read_shed
from headwater.sql.read.answering import read_demand, read_waits
from headwater.sql.read.error_option import read_error, read_finally, read_rounds
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices, refusal
from headwater.sql.read.sequences import check_sequence, read_sequence_grid, read_sequence_stay
from headwater.sql.read.sources import compile_source
from headwater.sql.read.sql_text import offset_of
from headwater.sql.read.statements import SourceStatement, StreamStatement, read_statements
from headwater.sql.read.states import check_state_begin, check_states, state_begin, timing_of
from headwater.sql.read.streams import (
    INSTALL_SLACK_US,
    check_sessions,
    read_keep_s,
    read_parts,
    read_places,
    read_session_max_us,
    read_share,
    read_stay,
    read_time,
    stream_options,
)
from headwater.sql.resolve.named_window import named_window
from headwater.sql.resolve.one_select import base_table, one_select
from headwater.sql.resolve.resolve_select import resolve_select
from headwater.sql.rules.bounded_columns import bounded_columns
from headwater.sql.rules.count_copies import count_copies
from headwater.sql.rules.deal_out_groups import deal_out_groups
from headwater.sql.rules.divisible import check_divisible
from headwater.sql.rules.keep_what_has_a_time import keep_what_has_a_time
from headwater.sql.rules.measured_errors import with_measures
from headwater.sql.rules.order_by_columns import order_by_columns
from headwater.sql.rules.scaled_columns import with_scaled_columns
from headwater.sql.rules.split_aggregates import split_aggregates
from headwater.sql.tree.nodes import Grouped, Node, Split, rewrite, the
from headwater.sql.write.write_program import write_program

RULES: tuple[Callable[[Node], Node], ...] = (
    keep_what_has_a_time,
    deal_out_groups,
    order_by_columns,
    count_copies,
    split_aggregates,
    with_measures,
)
"""In this order: what a part is asked for comes behind the user's WHERE, the columns of an order
replace those that were hidden, what a partial is called goes by the names of all columns that are
shown, and what is counted for an error alone is called by no name of those."""


class Script(msgspec.Struct, frozen=True):
    """A file of statements, its sources complete, its streams still to be compiled."""

    text: str
    sources: tuple[Source, ...]
    streams: tuple[StreamStatement, ...]


def parse_script(text: str) -> Script:
    """Raises ``QueryRefused``."""
    sources: list[Source] = []
    streams: list[StreamStatement] = []
    names: set[str] = set()
    for statement in read_statements(text):
        if statement.name.lower() in names:
            raise refusal(text, statement.offset, f"`{statement.name}` is made twice")
        names.add(statement.name.lower())
        if isinstance(statement, SourceStatement):
            sources.append(compile_source(statement, text))
        else:
            streams.append(statement)
    return Script(text, tuple(sources), tuple(streams))


def compile_statements(
    text: str,
    *,
    root: str,
    installer: str,
    next_counter: int,
    now_us: int = 0,
    root_now_us: Callable[[str], int | None] = lambda root: None,
    begin: str = "now",
    slack_us: int = INSTALL_SLACK_US,
    ends: bool = False,
    known_sites: Collection[str | Site] = (),
    known_sources: Mapping[str, Source] | None = None,
) -> list[Query]:
    """The queries of all streams in the text, in order: one for each root of a stream. Raises
    ``QueryRefused``.

    ``root`` answers a stream that names no root; queries are numbered from ``next_counter`` as
    commands of ``installer``; a stream that says no ``begin`` has the one given here, and ``now``
    is counted from ``now_us`` plus ``slack_us``, or by age from the clock of its root where that is
    known. ``known_sites`` is the roster, to check names against, and labels where these are known;
    ``known_sources`` are sources from elsewhere.
    """
    script = parse_script(text)
    sources = {name.lower(): source for name, source in (known_sources or {}).items()}
    sources |= {source.name.lower(): source for source in script.sources}
    among = StreamContext(
        text=text,
        sources=sources,
        streams=frozenset(stream.name.lower() for stream in script.streams),
        root=root,
        installer=installer,
        now_us=now_us,
        root_now_us=root_now_us,
        begin=begin,
        slack_us=slack_us,
        ends=ends,
        known_sites=known_sites,
    )
    queries = [query for stream in script.streams for query in compile_stream(stream, among)]
    _check_part_names(queries, script)
    return numbered(queries, next_counter)


class StreamContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream is compiled among; ``compile_statements`` says what it means."""

    text: str
    sources: Mapping[str, Source]
    """By their names in lower case."""
    streams: frozenset[str] = frozenset()
    root: str = ""
    installer: str = ""
    now_us: int = 0
    root_now_us: Callable[[str], int | None] = lambda root: None
    begin: str = "now"
    slack_us: int = INSTALL_SLACK_US
    ends: bool = False
    known_sites: Collection[str | Site] = ()


def compile_stream(stream: StreamStatement, among: StreamContext) -> list[Query]:
    """One for each root, not numbered yet. Raises ``QueryRefused``."""
    text = among.text
    options = stream_options(stream, text)
    tree = resolved_stream(stream, among)
    places = read_places(options, root=among.root, known=among.known_sites)
    parts = read_parts(options, stream.name, places.roots)
    last_n = the(tree, Grouped).last_n
    if last_n:
        check_states(options, part_count=len(parts))
    check_divisible(tree, options, stream, text, part_count=len(parts))
    time, window = read_time(options), the(tree, Grouped).window
    check_sessions(options, time, has_sessions=the(tree, Grouped).sessions is not None)
    counted = the(tree, Grouped).counted
    if counted:
        check_sequence(options, counted)
    errors, finally_ = read_error(options), read_finally(options)
    site_count = len(places.sites) or len(among.known_sites)
    queries = []
    for part, place in zip(parts, places.roots, strict=True):
        clock_us = among.root_now_us(place) if time is TimeKind.AGE else None
        stay = (
            read_sequence_stay(options, window, counted, default=among.begin, ends=among.ends)
            if counted
            else read_stay(
                options,
                window,
                time=time,
                default=state_begin(ends=among.ends) if last_n else among.begin,
                now_us=among.now_us if clock_us is None else clock_us,
                slack_us=among.slack_us,
                ends=among.ends,
            )
        )
        if last_n:
            check_state_begin(options, stay, ends=among.ends)
        split = rewritten(tree, part, is_measured=bool(errors) or asks_to_keep_back(options))
        degradation = read_degradation(split, options, is_timed=not counted)
        split = with_determined_keys(split, degradation, stream.name)
        if the(tree, Grouped).sessions is not None and the(split, Split).hidden:
            calls = [call for call in the(tree, Grouped).calls if call.split.hidden]
            at = offset_of(calls[0].arguments[0]) if calls else None
            raise refusal(
                text,
                stream.offset if at is None else at,
                "sessions have no growing states, such as count(DISTINCT …); write an approximate "
                "function, or a window instead of sessions",
            )
        query = Query(
            id=QueryId(stream.name if part is None else part.query_name, among.installer, 0),
            window=window,
            root=place,
            program=write_program(split, stream.text),
            sites=places.sites,
            begin_pane=stay.begin_pane,
            node_set=places.node_set or msgspec.UNSET,
            ends=among.ends,
            time=time,
            timing=timing_of(options, counted=counted, last_n=last_n),
            part=part,
            reads_past=stay.reads_past,
            end_pane=stay.end_pane,
            bounded=bounded_columns(tree) or UNSET,
            last_n=last_n or UNSET,
            tolerance=tolerated(split, errors, finally_, options, sites=site_count),
            waits=read_waits(options, ends=among.ends),
            demand=with_scaled_columns(read_demand(options, window, is_state=bool(last_n)), split),
            sessions=_sessions(split),
            sequence=read_sequence_grid(
                options, window, counted, default=among.begin, ends=among.ends
            )
            if counted
            else UNSET,
            rounds=read_rounds(options, has_levels=has_levels(degradation)),
            share=read_share(options, window, is_timed=not counted),
            keep_s=read_keep_s(options),
            degradation=degradation,
            shed=read_shed(options),
        )
        query = check_shed(options, query)
        program_of = partial(write_program, text=stream.text)
        queries.append(with_dealing(query, now_us=among.now_us))
        queries += companions_of(query, split, options, finally_, program_of)
    return [_checked(with_needs(query), stream, text) for query in queries]


def numbered(queries: Sequence[Query], first: int) -> list[Query]:
    """The queries of one file as commands from this number on, which nothing else of them has."""
    last = first + len(queries) - 1
    found = [
        msgspec.structs.replace(one, id=QueryId(one.id.name, one.id.installer, n), unit_last=last)
        for n, one in enumerate(queries, start=first)
    ]
    return with_full_ids(found)


def resolved_stream(stream: StreamStatement, among: StreamContext) -> Node:
    """What a stream asks. Raises ``QueryRefused``."""
    text = among.text
    options = stream_options(stream, text)
    window, longest_us = named_window(options), read_session_max_us(options)
    try:
        source = _source(base_table(stream.select), among.sources, among.streams)
        flat = _flat(stream, source)
        return resolve_select(flat, source, window, session_max_us=longest_us)
    except Objection as objection:
        offset = offset_of(objection.node) if objection.node is not None else None
        at = stream.select_offset if offset is None else offset
        raise refusal(text, at, objection.message) from objection
    except RecursionError as error:
        raise refusal(
            text, stream.select_offset, "this expression nests too deeply; split it"
        ) from error


def question_of(query: Query) -> Node:
    """What a query asks, read anew from its own text: for the reference, which is not split."""
    (stream,) = parse_script(query.program.text).streams
    options = stream_options(stream, query.program.text)
    source = query.program.source
    asked = resolve_select(
        _flat(stream, source),
        source,
        named_window(options),
        session_max_us=read_session_max_us(options),
    )
    level = query.stands_for
    if level is None:
        return rewritten(asked, query.part)
    split = rewritten(asked, query.part)
    degradation = read_degradation(split, options, is_timed=True)
    split = with_determined_keys(split, degradation, stream.name)
    return at_level(split, length_us=query.window.range_us, coarsening=level.coarsening)


def _flat(stream: StreamStatement, source: Source) -> exp.Select:
    return one_select(stream.select, [column.name for column in source.columns])


def rewritten(tree: Node, part: Part | None, *, is_measured: bool = False) -> Node:
    """What one root of a stream is asked, by all rules."""
    asked = {"part": part, "is_measured": is_measured}
    tree = rewrite(tree, Grouped, lambda group: msgspec.structs.replace(group, **asked))
    for rule in RULES:
        tree = rule(tree)
    return tree


def _source(table: exp.Expr, sources: Mapping[str, Source], streams: Collection[str]) -> Source:
    """The source that FROM names."""
    found = sources.get(table.name.lower())
    if found is not None:
        return found
    if table.name.lower() in streams:
        raise Objection(table, f"`{table.name}` is a stream; a stream reads a source")
    known = choices("sources", [source.name for source in sources.values()], near=table.name)
    raise Objection(table, f"no source `{table.name}`{known}")


def _sessions(tree: Node) -> Sessions | msgspec.UnsetType:
    """With the names of the partials that are the times of a session."""
    asked = the(tree, Grouped).sessions
    if asked is None:
        return msgspec.UNSET
    split = the(tree, Split)
    names = {text: partial.name for partial, text in split.partials.items()}
    return msgspec.structs.replace(asked, first=names[asked.first], last=names[asked.last])


def _check_part_names(queries: Collection[Query], script: Script) -> None:
    """What a part is called must not be what something else of the file is called."""
    names = [source.name for source in script.sources]
    names += [stream.name for stream in script.streams]
    taken = {name.lower(): name for name in names}
    offsets = {stream.name: stream.offset for stream in script.streams}
    for query in queries:
        if query.part is None:
            continue
        other = taken.get(query.id.name.lower())
        if other is not None:
            raise refusal(
                script.text,
                offsets[query.part.stream],
                f"{query.part} is called `{query.id.name}`, and so is `{other}`; "
                "give one of them another name",
            )
        taken[query.id.name.lower()] = query.id.name


def _checked(query: Query, stream: StreamStatement, text: str) -> Query:
    try:
        check_query(query)
    except QueryRefused as error:
        raise refusal(text, stream.offset, str(error)) from error
    return query
