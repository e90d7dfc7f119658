"""All faults of a file of statements at once, and warnings where there are none.

It compiles the file as installing would, without a federation: names of sites are not looked at.
"""

from __future__ import annotations

import msgspec
from sqlglot import exp

from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.sql.compile import StreamContext, compile_stream, resolved_stream
from headwater.sql.read.objection import Objection
from headwater.sql.read.sources import compile_source
from headwater.sql.read.sql_text import offset_of, parse
from headwater.sql.read.statements import (
    ColumnStatement,
    Option,
    Reading,
    SourceStatement,
    Statement,
    StreamStatement,
    read_each,
)
from headwater.sql.resolve.find_window import WindowMissing
from headwater.sql.validate.finding import Finding, Places, Severity
from headwater.sql.validate.repair_question import QuestionRepair
from headwater.sql.validate.warnings import source_warnings, stream_warnings

FAULTS_MAX = 100
"""Of one statement; each is found by reading the statement once more."""
_STANDS_FOR = {"path": "any.log"}
"""Values for options that can't be left out, once theirs were found wrong."""


def validate(text: str) -> list[Finding]:
    """In the order of the text."""
    return _Validation(text).findings()


def is_sound(findings: list[Finding]) -> bool:
    return all(one.severity is not Severity.FAULT for one in findings)


def all_faults(text: str, first: QueryRefused) -> QueryRefused:
    """The refusal with everything else that is wrong with the file, where there is more."""
    faults = [one for one in validate(text) if one.severity is Severity.FAULT]
    if len(faults) < 2:
        return first
    shown = "\n\n".join(one.text(text) for one in faults)
    return QueryRefused(f"{len(faults)} faults\n\n{shown}", offset=first.offset, said=first.said)


class _Validation:
    def __init__(self, text: str) -> None:
        self._text = text
        self._places = Places(text)
        self._found: dict[tuple[int, str], Finding] = {}
        self._sources: dict[str, Source] = {}
        self._tainted: dict[str, set[str]] = {}
        """By source, the columns of which too little is understood to judge their use."""
        self._unread: set[str] = set()
        """Sources that are there, and can't be judged at all."""

    def findings(self) -> list[Finding]:
        try:
            readings = read_each(self._text)
        except QueryRefused as error:
            self._tell(error, "")
            return self._in_order()
        statements = self._statements(readings)
        for source in [one for one in statements if isinstance(one, SourceStatement)]:
            self._source(source)
        streams = [one for one in statements if isinstance(one, StreamStatement)]
        queries = {stream.name: self._stream(stream, streams) for stream in streams}
        if not any(one.severity is Severity.FAULT for one in self._found.values()):
            self._warn(statements, queries)
        return self._in_order()

    def _in_order(self) -> list[Finding]:
        return sorted(self._found.values())

    def _statements(self, readings: list[Reading]) -> list[Statement]:
        """Those of which enough is understood to go on."""
        names: set[str] = set()
        found: list[Statement] = []
        for reading in readings:
            statement = reading.statement
            name = "" if statement is None else statement.name
            for fault in reading.faults:
                self._tell(fault, name)
            if statement is None:
                continue
            if name.lower() in names:
                self._say(statement.offset, f"`{name}` is made twice", name)
                continue
            names.add(name.lower())
            if isinstance(statement, SourceStatement):
                statement = _with_stand_ins(statement, reading.broken)
                self._tainted[name.lower()] = {one.lower() for one in reading.broken}
            found.append(statement)
        return found

    # Sources

    def _source(self, statement: SourceStatement) -> None:
        name = statement.name
        for _ in range(FAULTS_MAX):
            try:
                self._sources[name.lower()] = compile_source(statement, self._text)
                return
            except QueryRefused as error:
                self._tell(error, name)
                repaired = self._without(statement, error.offset)
                if repaired is None:
                    break
                statement = repaired
        self._unread.add(name.lower())

    def _without(self, statement: SourceStatement, offset: int | None) -> SourceStatement | None:
        option = _option_at(statement.options, offset)
        if option is not None:
            value = _STANDS_FOR.get(option.name)
            if option.name in ("format", "time") or (value is not None and option.value == value):
                return None
            options = _changed(statement.options, option, value)
            return msgspec.structs.replace(statement, options=options)
        column = next((one for one in statement.columns if offset == one.offset), None)
        if column is None or len(statement.columns) == 1:
            return None
        self._tainted[statement.name.lower()].add(column.name.lower())
        columns = tuple(one for one in statement.columns if one is not column)
        return msgspec.structs.replace(statement, columns=columns)

    # Streams

    def _stream(self, stream: StreamStatement, streams: list[StreamStatement]) -> list[Query]:
        name = stream.name
        among = StreamContext(
            text=self._text,
            sources=self._sources,
            streams=frozenset(one.name.lower() for one in streams),
            root="here",
            installer="here",
        )
        asked = _source_name(stream)
        if asked in self._unread:
            self._note(stream, f"`{name}` is not looked at further: its source has faults")
            neutral = _neutral_select(self._sources)
            if neutral is None:
                return []
            stream = msgspec.structs.replace(stream, select=neutral)
        else:
            stream = msgspec.structs.replace(stream, select=stream.select.copy())
            self._take_tainted(stream, asked)
        for _ in range(FAULTS_MAX):
            try:
                return compile_stream(stream, among)
            except QueryRefused as error:
                is_new = self._tell_of(stream, error)
                repaired = self._repaired(stream, error, is_new=is_new)
                if repaired is None:
                    return []
                stream = repaired
        return []

    def _repaired(
        self, stream: StreamStatement, error: QueryRefused, *, is_new: bool
    ) -> StreamStatement | None:
        option = _option_at(stream.options, error.offset)
        if option is not None:
            options = _changed(stream.options, option, None)
            return msgspec.structs.replace(stream, options=options)
        cause = error.__cause__
        if isinstance(cause, WindowMissing) and is_new:
            named = Option("window", "1 minute", -1, -1, "'1 minute'")
            return msgspec.structs.replace(stream, options=(*stream.options, named))
        select, offset = stream.select, error.offset
        is_here = isinstance(cause, Objection) and is_new and offset is not None
        if isinstance(cause, Objection) and isinstance(select, exp.Select) and is_here:
            source = self._sources.get(_source_name(stream))
            if QuestionRepair(select, source, list(self._sources)).repair(cause.node, offset or 0):
                return stream
        neutral = _neutral_select(self._sources)
        if neutral is None or stream.select.sql() == neutral.sql():
            return None
        return msgspec.structs.replace(stream, select=neutral)

    def _take_tainted(self, stream: StreamStatement, source: str) -> None:
        """What speaks of columns that are not understood is not judged."""
        tainted = self._tainted.get(source, set())
        if not tainted or not isinstance(stream.select, exp.Select):
            return
        repair = QuestionRepair(stream.select, self._sources.get(source), [])
        repair.take_readers_of(tainted)

    # Saying

    def _tell(self, error: QueryRefused, statement: str) -> bool:
        """True: it is said for the first time."""
        return self._say(error.offset or 0, error.said, statement)

    def _tell_of(self, stream: StreamStatement, error: QueryRefused) -> bool:
        """The same. What has no place was made by a repair, unless nothing else is wrong."""
        cause = error.__cause__
        at = cause.node if isinstance(cause, Objection) else None
        if error.offset is not None and (at is None or offset_of(at) is not None):
            return self._tell(error, stream.name)
        if any(one.statement == stream.name for one in self._found.values()):
            return False
        return self._say(error.offset or stream.offset, error.said, stream.name)

    def _say(
        self, offset: int, message: str, statement: str, severity: Severity = Severity.FAULT
    ) -> bool:
        is_new = (offset, message) not in self._found
        found = self._places.finding(offset, severity, message, statement)
        self._found.setdefault((offset, message), found)
        return is_new

    def _note(self, stream: StreamStatement, message: str) -> None:
        self._say(stream.offset, message, stream.name, Severity.NOTE)

    def _warn(self, statements: list[Statement], queries: dict[str, list[Query]]) -> None:
        among = StreamContext(text=self._text, sources=self._sources, root="here", installer="here")
        for statement in statements:
            if isinstance(statement, SourceStatement):
                found = source_warnings(statement, statements)
            else:
                tree = resolved_stream(statement, among)
                found = stream_warnings(statement, tree, queries[statement.name])
            for offset, message in found:
                self._say(offset, message, statement.name, Severity.WARNING)


def _with_stand_ins(statement: SourceStatement, broken: tuple[str, ...]) -> SourceStatement:
    known = {one.name.lower() for one in statement.columns}
    added = tuple(
        ColumnStatement(name, "string", -1)
        for name in dict.fromkeys(broken)
        if name.isidentifier() and name.lower() not in known
    )
    return msgspec.structs.replace(statement, columns=statement.columns + added)


def _source_name(stream: StreamStatement) -> str:
    select = stream.select
    origin = select.args.get("from_") if isinstance(select, exp.Select) else None
    table = None if origin is None else origin.this
    return table.name.lower() if isinstance(table, exp.Table) else ""


def _option_at(options: tuple[Option, ...], offset: int | None) -> Option | None:
    return next((one for one in options if offset in (one.offset, one.value_offset)), None)


def _changed(options: tuple[Option, ...], gone: Option, value: str | None) -> tuple[Option, ...]:
    """Without the option, or with another value for it."""
    kept = [one for one in options if one is not gone]
    if value is not None:
        kept.append(msgspec.structs.replace(gone, value=value))
    return tuple(kept)


def _neutral_select(sources: dict[str, Source]) -> exp.Expr | None:
    """A question with which nothing is wrong, if there is a source to ask it of."""
    source = next(iter(sources.values()), None)
    if source is None:
        return None
    return parse(
        f"SELECT count(*) AS n FROM `{source.name}` "
        f"GROUP BY window(`{source.time_column}`, '1 minute')"
    )
