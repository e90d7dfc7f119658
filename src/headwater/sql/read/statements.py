"""A file of statements, read up to the SELECT of each stream.

::

    CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGINT)
    WITH (format = 'csv', path = 'access/*.log', time = 'ts');

    CREATE STREAM hits WITH (deadline = '10s') AS
    SELECT domain, count(*) AS hits FROM access GROUP BY window(ts, '10 seconds'), domain;

sqlglot has no such statements, so their heads are read here, token by token; every token knows
its place in the text, and so does every refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.errors import QueryRefused
from headwater.plan.sources.column_names import name_fault
from headwater.plan.sources.source import COLUMNS_MAX
from headwater.sql.read.refusal import refusal
from headwater.sql.read.sql_text import Unreadable, parse_tokens, tokens_of
from headwater.sql.types.declared_types import AVAILABLE, declared_type

E = TypeVar("E")

STATEMENTS_MAX = 1000
NAME_LENGTH_MAX = 100
NAME_PATTERN = rf"[A-Za-z_][A-Za-z0-9_]{{0,{NAME_LENGTH_MAX - 1}}}"

SHAPE = "CREATE SOURCE name (column type, …) WITH (…) or CREATE STREAM name WITH (…) AS SELECT …"


class Option(msgspec.Struct, frozen=True):
    """One ``name = 'value'`` of a WITH list."""

    name: str
    value: str
    offset: int
    value_offset: int
    written: str
    """The value as it stands in the text, quotes and all."""


class ColumnStatement(msgspec.Struct, frozen=True):
    name: str
    type: str
    offset: int
    path: str | None = None
    """Where in a record it is found, if not under its own name: PATH '…'."""
    path_offset: int = 0


class SourceStatement(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[ColumnStatement, ...]
    options: tuple[Option, ...]
    offset: int
    text: str
    """The statement alone, as it was written."""


class StreamStatement(msgspec.Struct, frozen=True):
    name: str
    options: tuple[Option, ...]
    select: exp.Expr
    offset: int
    select_offset: int
    text: str


class AlterStatement(msgspec.Struct, frozen=True):
    """Other settings for a stream that runs."""

    name: str
    options: tuple[Option, ...]
    offset: int
    text: str


Statement = SourceStatement | StreamStatement


class Reading(msgspec.Struct, frozen=True):
    """What came of one statement of a file."""

    statement: Statement | None
    """None where so little is understood that there is none."""
    faults: tuple[QueryRefused, ...] = ()
    broken: tuple[str, ...] = ()
    """Columns that are there, and of which too little is understood."""


def read_statements(text: str) -> list[Statement]:
    """The statements in order. Raises ``QueryRefused``, the first of what is wrong."""
    statements = []
    for reading in read_each(text):
        if reading.faults:
            raise reading.faults[0]
        assert reading.statement is not None, "no fault, and no statement"
        statements.append(reading.statement)
    return statements


def read_each(text: str) -> list[Reading]:
    """Statement by statement, with all that is wrong with their heads. Raises ``QueryRefused``
    where it can't be told where one ends."""
    try:
        tokens = tokens_of(text)
    except Unreadable as error:
        raise refusal(text, error.offset, error.message) from error
    parts = [part for part in parts_of(tokens) if part]
    if len(parts) > STATEMENTS_MAX:
        at = parts[STATEMENTS_MAX][0].start
        raise refusal(text, at, f"more than {STATEMENTS_MAX} statements")
    statements = [StatementReader(text, part).reading() for part in parts]
    if not statements:
        raise refusal(text, 0, f"there is no statement here; wanted {SHAPE}")
    return statements


def parts_of(tokens: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


class StatementReader:
    """Walks over the tokens of one statement."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._faults: list[QueryRefused] = []
        self._broken: list[str] = []

    def reading(self) -> Reading:
        statement = None
        try:
            statement = self._statement()
        except QueryRefused as error:
            self._faults.append(error)
        return Reading(statement, tuple(self._faults), tuple(self._broken))

    def _elements(self, read: Callable[[], E]) -> tuple[list[E], list[str]]:
        """Those of a list in brackets that can be read, and how the others begin."""
        found: list[E] = []
        broken: list[str] = []
        while True:
            token = self._peek()
            try:
                found.append(read())
            except QueryRefused as error:
                self._faults.append(error)
                broken += [] if token is None else [token.text]
                self._skip_element()
            if not self._take_symbol(","):
                return found, broken

    def _skip_element(self) -> None:
        depth = 0
        while (token := self._peek()) is not None:
            if not depth and token.text in (",", ")"):
                return
            depth += (token.text in ("(", "<")) - (token.text in (")", ">"))
            self._next += 1

    def _statement(self) -> Statement:
        if self._take_keyword("CREATE"):
            if self._take_keyword("SOURCE"):
                return self._source()
            if self._take_keyword("STREAM"):
                return self._stream()
        raise self._refusal(f"wanted {SHAPE}{self._instead()}")

    def _instead(self) -> str:
        """What came, and what does that where it is done elsewhere."""
        words = [token.text.upper() for token in self._tokens[:3]]
        if words[:1] == ["ALTER"]:
            return "; ALTER STREAM changes a stream that runs, which `headwater run` does"
        if words[:2] == ["CREATE", "OR"]:
            return "; leave OR REPLACE out: `headwater run --replace` replaces streams that changed"
        if words[0] == "DROP":
            return "; `headwater remove STREAM` ends a stream"
        if words[0] in ("SELECT", "WITH", "FROM"):
            return "; write CREATE STREAM name AS before it"
        return f"; got `{' '.join(words)}`"

    def alteration(self) -> AlterStatement | None:
        """None: it is another statement. Raises ``QueryRefused``."""
        if not self._take_keyword("ALTER"):
            return None
        if not self._take_keyword("STREAM"):
            raise self._refusal("wanted ALTER STREAM name SET (option = 'value', …)")
        name = self._name("the stream's name")
        if not self._take_keyword("SET"):
            raise self._refusal("wanted SET (option = 'value', …) behind the name")
        self._symbol("(", "settings, as in SET (error = '0.5 % of total')")
        options, _ = self._elements(self._option)
        self._symbol(")", "`,` and a further setting, or `)`")
        if self._faults:
            raise self._faults[0]
        if self._peek() is not None:
            raise self._refusal("wanted `;` or the end")
        return AlterStatement(name, tuple(options), self._tokens[0].start, self._statement_text())

    def _source(self) -> SourceStatement:
        name = self._name("the source's name")
        columns = self._columns() if self._is_next("(") else []
        options = self._options()
        if not columns and not options:
            self._symbol("(", "the columns, as in (ts TIMESTAMP, domain STRING)")
        if self._peek() is not None:
            raise self._refusal("wanted `;` or the end")
        self._check_columns(columns)
        return SourceStatement(
            name, tuple(columns), options, self._tokens[0].start, self._statement_text()
        )

    def _columns(self) -> list[ColumnStatement]:
        """Of a source; a format with a name brings its own."""
        self._take_symbol("(")
        columns, self._broken = self._elements(self._column)
        self._symbol(")", "`,` and a further column, or `)`")
        return columns

    def _stream(self) -> StreamStatement:
        name = self._name("the stream's name")
        options = self._options()
        came = self._peek()
        if name.upper() == "IF" and came is not None and came.text.upper() == "NOT":
            raise self._refusal(
                "leave IF NOT EXISTS out: a stream that runs already as it is written goes on"
            )
        if not self._take_keyword("AS"):
            came = self._peek()
            got = "the end" if came is None else f"`{came.text[:40]}`"
            raise self._refusal(
                f"wanted WITH (option = 'value', …) or AS SELECT … behind the name, got {got}"
            )
        rest = self._tokens[self._next :]
        if not rest:
            raise self._refusal("wanted SELECT …")
        try:
            select = parse_tokens(rest, self._text)
        except Unreadable as error:
            raise refusal(self._text, error.offset, error.message) from error
        return StreamStatement(
            name, options, select, self._tokens[0].start, rest[0].start, self._statement_text()
        )

    def _column(self) -> ColumnStatement:
        offset = self._offset()
        name = self._column_name()
        type_offset = self._offset()
        parts = self._type_parts()
        type_name = declared_type(" ".join(parts))
        if type_name is None:
            raise refusal(
                self._text,
                type_offset,
                f"column `{name}` has no type `{' '.join(parts)}`; types: {AVAILABLE}",
            )
        if not self._take_keyword("PATH"):
            return ColumnStatement(name, type_name, offset)
        token = self._peek()
        if token is None or token.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
            raise self._refusal("wanted a path in quotes, as in PATH 'geo.country'")
        self._next += 1
        return ColumnStatement(name, type_name, offset, token.text, token.start)

    def _type_parts(self) -> list[str]:
        """Up to the next comma, bracket or PATH outside of the type's own brackets."""
        parts: list[str] = []
        depth = 0
        while (token := self._peek()) is not None:
            is_name = token.token_type is TokenType.IDENTIFIER
            is_end = not is_name and (token.text in (",", ")") or token.text.upper() == "PATH")
            if not depth and (is_end or token.token_type in _VALUES):
                break
            if not is_name:
                depth += (token.text in ("(", "<")) - (token.text in (")", ">"))
            parts.append(f"`{token.text.replace('`', '``')}`" if is_name else token.text)
            self._next += 1
        return parts

    def _check_columns(self, columns: Sequence[ColumnStatement]) -> None:
        seen: set[str] = set()
        for column in columns:
            if column.name.lower() in seen:
                message = f"column `{column.name}` occurs twice"
                self._faults.append(refusal(self._text, column.offset, message))
            seen.add(column.name.lower())
        if len(columns) > COLUMNS_MAX:
            raise refusal(self._text, columns[-1].offset, f"more than {COLUMNS_MAX} columns")

    def _options(self) -> tuple[Option, ...]:
        if not self._take_keyword("WITH"):
            return ()
        self._symbol("(", "options, as in WITH (deadline = '10s')")
        options, _ = self._elements(self._option)
        self._symbol(")", "`,` and a further option, or `)`")
        return tuple(options)

    def _option(self) -> Option:
        offset = self._offset()
        name = self._name("an option's name").lower()
        self._symbol("=", f"`{name} = 'value'`")
        token = self._peek()
        is_value = token is not None and (
            token.token_type in (TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER)
            or token.text.lower() in ("true", "false")
        )
        if token is None or not is_value:
            raise self._refusal(f"wanted a value in quotes, as in {name} = '…'")
        self._next += 1
        written = self._text[token.start : token.end + 1]
        return Option(name, token.text, offset, token.start, written)

    def _name(self, what: str) -> str:
        token = self._peek()
        if token is None or token.token_type in _VALUES or not token.text[:1].isidentifier():
            raise self._refusal(f"wanted {what}")
        if re.fullmatch(NAME_PATTERN, token.text) is None:
            raise self._refusal(
                f"wanted {what} of letters a-z, digits and _, at most {NAME_LENGTH_MAX} of them"
            )
        self._next += 1
        return token.text

    def _column_name(self) -> str:
        """A word, or anything in backticks."""
        token = self._peek()
        if token is None or token.token_type is not TokenType.IDENTIFIER:
            return self._name("a column's name, in backticks if it is no word")
        fault = name_fault(token.text)
        if fault is not None:
            raise self._refusal(fault)
        self._next += 1
        return token.text

    def _symbol(self, symbol: str, what: str) -> None:
        if not self._take_symbol(symbol):
            raise self._refusal(f"wanted `{symbol}`: {what}" if symbol == "(" else f"wanted {what}")

    def _take_symbol(self, symbol: str) -> bool:
        is_symbol = self._is_next(symbol)
        self._next += is_symbol
        return is_symbol

    def _is_next(self, symbol: str) -> bool:
        token = self._peek()
        return token is not None and token.token_type not in _NO_KEYWORDS and token.text == symbol

    def _take_keyword(self, keyword: str) -> bool:
        token = self._peek()
        is_keyword = token is not None and token.token_type not in _NO_KEYWORDS
        is_keyword = is_keyword and token is not None and token.text.upper() == keyword
        self._next += is_keyword
        return is_keyword

    def _peek(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _offset(self) -> int:
        token = self._peek()
        return token.start if token is not None else self._tokens[-1].end + 1

    def _statement_text(self) -> str:
        return self._text[self._tokens[0].start : self._tokens[-1].end + 1]

    def _refusal(self, message: str) -> QueryRefused:
        return refusal(self._text, self._offset(), message)


_VALUES = (TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER)
_NO_KEYWORDS = (*_VALUES, TokenType.IDENTIFIER)
"""What is in quotes or backticks is no word and no sign of ours."""
