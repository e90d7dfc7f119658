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
from collections.abc import Sequence

import msgspec
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.errors import QueryRefused
from headwater.frontend.refusal import refusal
from headwater.frontend.type_rules import named_type
from headwater.plan.query import COLUMNS_MAX
from headwater.plan.sql_text import Unreadable, parse_tokens, tokens_of

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


Statement = SourceStatement | StreamStatement


def read_statements(text: str) -> list[Statement]:
    """The statements in order. Raises ``QueryRefused``."""
    try:
        tokens = tokens_of(text)
    except Unreadable as error:
        raise refusal(text, error.offset, error.message) from error
    statements = [_Reader(text, part).statement() for part in _parts(tokens) if part]
    if not statements:
        raise refusal(text, 0, f"there is no statement here; wanted {SHAPE}")
    if len(statements) > STATEMENTS_MAX:
        raise refusal(
            text, statements[STATEMENTS_MAX].offset, f"more than {STATEMENTS_MAX} statements"
        )
    return statements


def _parts(tokens: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


class _Reader:
    """Walks over the tokens of one statement."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0

    def statement(self) -> Statement:
        if self._take_word("CREATE"):
            if self._take_word("SOURCE"):
                return self._source()
            if self._take_word("STREAM"):
                return self._stream()
        raise self._refusal(f"wanted {SHAPE}")

    def _source(self) -> SourceStatement:
        name = self._name("the source's name")
        self._sign("(", "the columns, as in (ts TIMESTAMP, domain STRING)")
        columns = [self._column()]
        while self._take_sign(","):
            columns.append(self._column())
        self._sign(")", "`,` and a further column, or `)`")
        options = self._options()
        self._end()
        self._check_columns(columns)
        return SourceStatement(
            name, tuple(columns), options, self._tokens[0].start, self._statement_text()
        )

    def _stream(self) -> StreamStatement:
        name = self._name("the stream's name")
        options = self._options()
        if not self._take_word("AS"):
            raise self._refusal("wanted AS SELECT …")
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
        name = self._name("a column's name")
        words = []
        type_offset = self._offset()
        depth = 0
        while (token := self._peek()) is not None and (depth or token.text not in (",", ")")):
            depth += (token.text == "(") - (token.text == ")")
            words.append(token.text)
            self._next += 1
        type_name = named_type("".join(words))
        if type_name is None or type_name == "binary":
            raise refusal(
                self._text,
                type_offset,
                f"column `{name}` has no type `{' '.join(words)}`; types: boolean, tinyint, "
                "smallint, int, bigint, float, double, decimal(p,s), string, date, timestamp "
                "(nested data: string, and get_json_object in the query)",
            )
        return ColumnStatement(name, type_name, offset)

    def _check_columns(self, columns: Sequence[ColumnStatement]) -> None:
        seen: set[str] = set()
        for column in columns:
            if column.name.lower() in seen:
                raise refusal(self._text, column.offset, f"column `{column.name}` occurs twice")
            seen.add(column.name.lower())
        if len(columns) > COLUMNS_MAX:
            raise refusal(self._text, columns[-1].offset, f"more than {COLUMNS_MAX} columns")

    def _options(self) -> tuple[Option, ...]:
        if not self._take_word("WITH"):
            return ()
        self._sign("(", "options, as in WITH (deadline = '10s')")
        options = [self._option()]
        while self._take_sign(","):
            options.append(self._option())
        self._sign(")", "`,` and a further option, or `)`")
        return tuple(options)

    def _option(self) -> Option:
        offset = self._offset()
        name = self._name("an option's name").lower()
        self._sign("=", f"`{name} = 'value'`")
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

    def _end(self) -> None:
        if self._peek() is not None:
            raise self._refusal("wanted `;` or the end")

    def _sign(self, sign: str, what: str) -> None:
        if not self._take_sign(sign):
            raise self._refusal(f"wanted `{sign}`: {what}" if sign == "(" else f"wanted {what}")

    def _take_sign(self, sign: str) -> bool:
        token = self._peek()
        is_sign = token is not None and token.token_type not in _VALUES and token.text == sign
        self._next += is_sign
        return is_sign

    def _take_word(self, word: str) -> bool:
        token = self._peek()
        is_word = token is not None and token.token_type not in _VALUES
        is_word = is_word and token is not None and token.text.upper() == word
        self._next += is_word
        return is_word

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
