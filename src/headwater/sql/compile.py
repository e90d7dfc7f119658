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

import msgspec
from sqlglot import exp

from headwater.algebra.rows.columns import Column
from headwater.errors import QueryRefused
from headwater.plan.part import Part
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId, TimeKind
from headwater.plan.sources.source import Source
from headwater.sql.admit.admit import SETTINGS, check_query
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices, refusal
from headwater.sql.read.select_shape import check_shape
from headwater.sql.read.sources import compile_source
from headwater.sql.read.sql_text import offset_of
from headwater.sql.read.statements import SourceStatement, StreamStatement, read_statements
from headwater.sql.read.streams import (
    INSTALL_SLACK_US,
    read_begin_pane,
    read_parts,
    read_places,
    read_time,
    read_timing,
    stream_options,
)
from headwater.sql.resolve.resolve_select import resolve_select
from headwater.sql.rules.deal_out_groups import deal_out_groups
from headwater.sql.rules.divisible import check_divisible
from headwater.sql.rules.keep_what_has_a_time import keep_what_has_a_time
from headwater.sql.rules.order_by_columns import order_by_columns
from headwater.sql.rules.split_aggregates import split_aggregates
from headwater.sql.tree.nodes import Grouped, Node, Shown, Split, rewrite, the
from headwater.sql.write.write_central_sql import write_central_sql
from headwater.sql.write.write_root_sql import write_root_sql
from headwater.sql.write.write_site_sql import write_site_sql

RULES: tuple[Callable[[Node], Node], ...] = (
    keep_what_has_a_time,
    deal_out_groups,
    order_by_columns,
    split_aggregates,
)
"""In this order: what a part is asked for comes behind the user's WHERE, and what a partial is
called goes by the names of all columns that are shown."""


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
    known_sites: Collection[str] = (),
    known_sources: Mapping[str, Source] | None = None,
) -> list[Query]:
    """The queries of all streams in the text, in order: one for each root of a stream. Raises
    ``QueryRefused``.

    ``root`` answers a stream that names no root; queries are numbered from ``next_counter`` as
    commands of ``installer``; a stream that says no ``begin`` has the one given here, and ``now``
    is counted from ``now_us`` plus ``slack_us``, or by age from the clock of its root where that is
    known. ``known_sites`` is the roster, to check names against; ``known_sources`` are sources from
    elsewhere.
    """
    script = parse_script(text)
    sources = {name.lower(): source for name, source in (known_sources or {}).items()}
    sources |= {source.name.lower(): source for source in script.sources}
    streams = {stream.name.lower() for stream in script.streams}
    queries: list[Query] = []
    for stream in script.streams:
        tree = _resolved(stream, text, sources, streams)
        options = stream_options(stream, text)
        places = read_places(options, root=root, known=known_sites)
        parts = read_parts(options, stream.name, places.roots)
        check_divisible(tree, options, stream, text, part_count=len(parts))
        time, window = read_time(options), the(tree, Grouped).window
        for part, place in zip(parts, places.roots, strict=True):
            clock_us = root_now_us(place) if time is TimeKind.AGE else None
            query = Query(
                QueryId(stream.name if part is None else part.query_name, installer, 0),
                window,
                place,
                _program(rewritten(tree, part), stream.text),
                sites=places.sites,
                begin_pane=read_begin_pane(
                    options,
                    window,
                    default=begin,
                    now_us=now_us if clock_us is None else clock_us,
                    slack_us=slack_us,
                ),
                ends=ends,
                time=time,
                timing=read_timing(options),
                part=part,
            )
            _check(query, stream, text)
            queries.append(query)
    _check_part_names(queries, script)
    return numbered(queries, next_counter)


def numbered(queries: Sequence[Query], first: int) -> list[Query]:
    """The queries of one file as commands from this number on, which nothing else of them has."""
    last = first + len(queries) - 1
    return [
        msgspec.structs.replace(
            query, id=QueryId(query.id.name, query.id.installer, n), unit_last=last
        )
        for n, query in enumerate(queries, start=first)
    ]


def _resolved(
    stream: StreamStatement, text: str, sources: Mapping[str, Source], streams: Collection[str]
) -> Node:
    try:
        select = check_shape(stream.select)
        return resolve_select(select, _source(select, sources, streams))
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
    asked = resolve_select(check_shape(stream.select), query.program.source)
    return rewritten(asked, query.part)


def rewritten(tree: Node, part: Part | None) -> Node:
    """What one root of a stream is asked, by all rules."""
    tree = rewrite(tree, Grouped, lambda group: msgspec.structs.replace(group, part=part))
    for rule in RULES:
        tree = rule(tree)
    return tree


def _source(select: exp.Select, sources: Mapping[str, Source], streams: Collection[str]) -> Source:
    """The source that FROM names."""
    table = select.args["from_"].this
    found = sources.get(table.name.lower())
    if found is not None:
        return found
    if table.name.lower() in streams:
        raise Objection(table, f"`{table.name}` is a stream; a stream reads a source")
    known = choices("sources", [source.name for source in sources.values()], near=table.name)
    raise Objection(table, f"no source `{table.name}`{known}")


def _program(tree: Node, text: str) -> Program:
    group = the(tree, Grouped)
    return Program(
        text=text,
        source=group.source,
        keys=tuple(Column(key.name, key.type) for key in group.keys),
        partials=tuple(the(tree, Split).partials),
        site_sql=write_site_sql(tree),
        root_sql=write_root_sql(tree),
        central_sql=write_central_sql(tree),
        columns_used=_columns_used(group),
        output=tuple(Column(item.name, item.type) for item in the(tree, Shown).items),
        settings=SETTINGS,
    )


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


def _columns_used(group: Grouped) -> tuple[str, ...]:
    """The source's columns that the site part reads, in the order of the source."""
    trees = [key.expression for key in group.keys]
    trees += [argument for call in group.calls for argument in call.arguments]
    trees += [call.condition for call in group.calls if call.condition is not None]
    trees += [kept.condition for kept in group.conditions]
    used = {node.name for tree in trees for node in tree.find_all(exp.Column)}
    return tuple(column.name for column in group.source.columns if column.name in used)


def _check(query: Query, stream: StreamStatement, text: str) -> None:
    try:
        check_query(query)
    except QueryRefused as error:
        raise refusal(text, stream.offset, str(error)) from error
