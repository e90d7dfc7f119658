"""From a file of statements to queries that can be installed.

::

    text ─► statements ─► sources
                      └─► SELECT ─resolve─► Question ─split─► site SQL, root SQL, reference SQL
                                                       for each root of the stream

Everything that a query needs to run anywhere is in the ``Query`` that comes out: nobody plans
again. What comes out has passed the same check that every site makes of SQL from the wire, so no
site refuses what was compiled, except by a policy of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec
from sqlglot import exp

from headwater.algebra.rows.columns import Column
from headwater.errors import QueryRefused
from headwater.plan.part import Part
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
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
from headwater.sql.resolve.question import Question
from headwater.sql.resolve.resolve_select import Resolved, resolve_select
from headwater.sql.rules.divisible import check_divisible
from headwater.sql.rules.split_aggregates import split_aggregates
from headwater.sql.write.write_central_sql import write_central_sql
from headwater.sql.write.write_root_sql import write_root_sql
from headwater.sql.write.write_site_sql import write_site_sql


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
    is counted from ``now_us`` plus ``slack_us``. ``known_sites`` is the roster, to check names
    against; ``known_sources`` are sources from elsewhere.
    """
    script = parse_script(text)
    sources = {name.lower(): source for name, source in (known_sources or {}).items()}
    sources |= {source.name.lower(): source for source in script.sources}
    streams = {stream.name.lower() for stream in script.streams}
    queries: list[Query] = []
    for stream in script.streams:
        resolved = _resolved(stream, text, sources, streams)
        options = stream_options(stream, text)
        places = read_places(options, root=root, known=known_sites)
        parts = read_parts(options, stream.name, places.roots)
        check_divisible(resolved, options, stream, text, part_count=len(parts))
        for part, place in zip(parts, places.roots, strict=True):
            name = stream.name if part is None else part.query_name
            query_id = QueryId(name, installer, next_counter + len(queries))
            query = _query(resolved, query_id, stream.text, part)
            query = msgspec.structs.replace(
                query,
                root=place,
                sites=places.sites,
                begin_pane=read_begin_pane(
                    options, query.window, default=begin, now_us=now_us, slack_us=slack_us
                ),
                ends=ends,
                time=read_time(options),
                timing=read_timing(options),
            )
            _check(query, stream, text)
            queries.append(query)
    _check_part_names(queries, script)
    last = next_counter + len(queries) - 1
    return [msgspec.structs.replace(query, unit_last=last) for query in queries]


def _resolved(
    stream: StreamStatement, text: str, sources: Mapping[str, Source], streams: Collection[str]
) -> Resolved:
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


def question_of(program: Program) -> Question:
    """What a query asks, read anew from its own text: for the reference, which is not split."""
    (stream,) = parse_script(program.text).streams
    return resolve_select(check_shape(stream.select), program.source).question


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


def _query(resolved: Resolved, id_: QueryId, text: str, part: Part | None) -> Query:
    question = resolved.question
    split = split_aggregates(question)
    program = Program(
        text=text,
        source=question.source,
        keys=tuple(Column(key.name, key.type) for key in question.keys),
        partials=tuple(split.partials),
        site_sql=write_site_sql(split, part),
        root_sql=write_root_sql(split),
        central_sql=write_central_sql(
            question, resolved.select, items=resolved.items, groups=resolved.groups, part=part
        ),
        columns_used=_columns_used(question),
        output=tuple(Column(item.name, item.type) for item in question.items),
        settings=SETTINGS,
    )
    return Query(id_, question.window, root="", program=program, part=part)


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


def _columns_used(question: Question) -> tuple[str, ...]:
    """The source's columns that the site part reads, in the order of the source."""
    trees = [key.expression for key in question.keys]
    trees += [argument for call in question.calls for argument in call.arguments]
    trees += [call.condition for call in question.calls if call.condition is not None]
    trees += [question.where] if question.where is not None else []
    used = {node.name for tree in trees for node in tree.find_all(exp.Column)}
    used.add(question.source.time_column)
    return tuple(column.name for column in question.source.columns if column.name in used)


def _check(query: Query, stream: StreamStatement, text: str) -> None:
    try:
        check_query(query)
    except QueryRefused as error:
        raise refusal(text, stream.offset, str(error)) from error
