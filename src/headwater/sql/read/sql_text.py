"""SQL in and out of sqlglot, with every function kept by the name that it was called by.

sqlglot knows hundreds of functions as nodes of their own, and writes some of them in other words
than they were read in. That is right for translating between dialects and wrong here: what Spark
runs must be what was written and checked. So this dialect is Spark's with an empty list of
functions: every call is an ``Anonymous`` node with a name, which one list admits or doesn't, and
reading and writing again changes nothing but space and case, and the few forms that ``long_forms``
says at full length.
"""

import logging
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from headwater.sql.read.long_forms import long_form

TOKENS_MAX = 20_000
"""A text with more is refused before it is parsed."""
UNIT_FUNCTIONS = ("date_add", "dateadd", "timestampadd", "date_diff", "datediff", "timestampdiff")
"""Of three arguments, their first is the word for a unit."""
NESTING_MAX = 64
"""Brackets within brackets; sqlglot descends by recursion."""


WORD_SHOWN = 40
"""Characters of a word that a message quotes."""
_INSTEAD = {
    "EMIT": "leave EMIT out: a window is answered when it is complete, or at its deadline",
    "TOP": "for the first rows write ORDER BY … LIMIT 10 at the end",
    "FETCH": "for the first rows write ORDER BY … LIMIT 10 at the end",
    "&&": "write AND",
    "WINDOW": "there is no clause WINDOW: write PARTITION BY and ORDER BY within OVER (…)",
    "AS": "an alias stands in SELECT, and can be grouped by: SELECT window(…) AS w … GROUP BY w",
    "MOD": "write a % b, or mod(a, b)",
    "AGGREGATE": "write SELECT … GROUP BY",
}
"""Words of other dialects, and what is written here."""


class Unreadable(Exception):
    """The text is not SQL of this dialect; ``offset`` is where reading stopped."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class _ParseErrorAt(ParseError):
    offset = 0


class _Parser(SparkParser):
    STRICT_CAST = True
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT")
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    # A clause WINDOW does not exist here, so that GROUP BY window(…) is a call wherever it stands.
    QUERY_MODIFIER_PARSERS: ClassVar[dict[Any, Any]] = {
        token: parser
        for token, parser in SparkParser.QUERY_MODIFIER_PARSERS.items()
        if token is not TokenType.WINDOW
    }
    QUERY_MODIFIER_TOKENS: ClassVar[set[Any]] = set(QUERY_MODIFIER_PARSERS)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        at = token or self._curr or self._prev
        error = _ParseErrorAt(message)
        error.offset = at.start if at else 0
        raise error


class HeadwaterSql(Spark):
    Parser = _Parser


_DIALECT = HeadwaterSql()
# It warns of what it can't make sense of, and then it is refused here, with the place.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def tokens_of(text: str) -> list[Token]:
    """The tokens with their offsets in the text. Raises ``Unreadable``."""
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError as error:
        started = re.search(r"from \d+:(\d+)", str(error.__cause__))
        offset = int(started[1]) if started else error.start or 0
        raise Unreadable("a string, quoted name or comment that does not end", offset) from error
    _check_size(tokens)
    _check_adjacent_strings(tokens)
    _check_no_hints(tokens)
    return tokens


def parse_tokens(tokens: Sequence[Token], text: str) -> exp.Expr:
    """The one statement that these tokens are. Raises ``Unreadable``."""
    start = tokens[0].start if tokens else 0
    _check_no_substitution(text, start, tokens[-1].end if tokens else 0)
    try:
        statements = _DIALECT.parser().parse(list(tokens), text)
    except _ParseErrorAt as error:
        said = _as_plain_text(str(error), _around(tokens, error.offset))
        raise Unreadable(said, error.offset) from error
    except (SqlglotError, RecursionError, ValueError) as error:
        raise Unreadable("this statement is not understood", start) from error
    if len(statements) != 1 or statements[0] is None:
        raise Unreadable(f"wanted one statement, got {len(statements)}", start)
    return _plain(statements[0])


def parse(text: str) -> exp.Expr:
    """The one statement of this text. Raises ``Unreadable``."""
    return parse_tokens(tokens_of(text), text)


def canonical(expression: str) -> str:
    """The one writing of what it says."""
    return sql_of(parse_expression(expression))


def parse_expression(text: str) -> exp.Expr:
    """One expression, without a statement around it. Raises ``Unreadable``."""
    found: exp.Expr = parse(f"SELECT {text}").expressions[0]
    return found


def sql_of(node: exp.Expr) -> str:
    """The node as one line, without comments; equal trees give equal lines."""
    return node.sql(dialect=_DIALECT, comments=False)


def pretty(text: str) -> str:
    """SQL of ours in several lines, for people."""
    return parse(text).sql(dialect=_DIALECT, comments=False, pretty=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """A reference by name, quoted where the name needs it."""
    return exp.Column(this=identifier(name), table=identifier(table) if table else None)


def identifier(name: str) -> exp.Identifier:
    is_word = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
    is_plain = is_word and _DIALECT.tokenize(name)[0].token_type is TokenType.VAR
    return exp.Identifier(this=name, quoted=not is_plain)


def name_sql(name: str) -> str:
    return sql_of(identifier(name))


def named_sql(text: str, name: str) -> str:
    """An element of a SELECT list; a column that keeps its name needs no alias."""
    return text if text == name_sql(name) else f"{text} AS {name_sql(name)}"


def offset_of(node: exp.Expr) -> int | None:
    """Where the node begins in the text that it was parsed from, as far as is known."""
    if "start" in (node._meta or ()):
        return int(node.meta["start"])
    starts = [part.meta["start"] for part in node.walk() if "start" in (part._meta or ())]
    return min(starts, default=None)


def placed(new: exp.Expr, old: exp.Expr) -> exp.Expr:
    """The new node, which remembers the old one's place in the text."""
    start = offset_of(old)
    if start is not None:
        new.meta["start"] = start
    return new


def _around(tokens: Sequence[Token], offset: int) -> tuple[str, str]:
    """What stands before the place, and what came there; empty at the ends."""
    place = next((n for n, token in enumerate(tokens) if token.start >= offset), len(tokens))
    if place == len(tokens) - 1 and tokens[place].end < offset:
        place += 1
    before = tokens[place - 1].text if place else ""
    return before, tokens[place].text if place < len(tokens) else ""


def _as_plain_text(message: str, around: tuple[str, str]) -> str:
    """sqlglot's messages name its own classes where something is missing, and never what came."""
    before, came = around
    got = f"got `{came[:WORD_SHOWN]}`" if came else "got the end of the statement"
    if "missing for" in message or "Expression expected" in message:
        return f"something is missing here, or a word is at the wrong place; {got}"
    if "TYPE after CAST" in message:
        return (
            f"wanted a type here, such as BIGINT, DOUBLE, DECIMAL(10, 2), STRING, TIMESTAMP; {got}"
        )
    if "nexpected token" in message:
        word = next((one for one in (came.upper(), before.upper()) if one in _INSTEAD), "")
        instead = _INSTEAD.get(
            word, "look at what stands before it: a comma or an operator may lack"
        )
        return f"`{came[:WORD_SHOWN]}` was not expected here; {instead}"
    if message.startswith("Expecting "):
        return f"wanted `{message.removeprefix('Expecting ')}` here, {got}"
    return message[0].lower() + message[1:] if message else f"not understood here; {got}"


def _check_size(tokens: Sequence[Token]) -> None:
    if len(tokens) > TOKENS_MAX:
        raise Unreadable(f"the text is longer than {TOKENS_MAX} tokens", tokens[TOKENS_MAX].start)
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth > NESTING_MAX:
            raise Unreadable(f"brackets nest deeper than {NESTING_MAX}", token.start)


def _check_adjacent_strings(tokens: Sequence[Token]) -> None:
    """Spark reads 'it''s' as one string with a quote in it, sqlglot as two; so nobody shall."""
    for left, right in pairwise(tokens):
        if left.token_type is right.token_type is TokenType.STRING:
            raise Unreadable(
                r"two strings side by side; write \' for a quote within a string, "
                "and || to join strings",
                right.start,
            )


def _check_no_hints(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.token_type is TokenType.HINT:
            raise Unreadable(
                "hints are not available; leave it out: a site's own Spark decides how to run its "
                "part (nothing else of the file was looked at)",
                token.start,
            )


def _check_no_substitution(text: str, start: int, end: int) -> None:
    """Spark replaces ${…}, in strings too, by settings and variables of the machine it runs on."""
    found = text.find("${", start, end + 1)
    if found >= 0:
        raise Unreadable("${ is not available; write '$' || '{' for the two signs", found)


def _plain(tree: exp.Expr) -> exp.Expr:
    """r'…' and "…" as the '…' that means the same, the HOUR of ``timestampadd(HOUR, 1, ts)`` as the
    word that it is, and the forms of ``long_forms`` at full length."""

    def plain(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.RawString):
            return exp.Literal.string(node.name)
        if isinstance(node, exp.Column) and _is_unit(node):
            return exp.Var(this=node.name.upper())
        return long_form(node)

    return tree.transform(plain)


def _is_unit(node: exp.Column) -> bool:
    call = node.parent
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() not in UNIT_FUNCTIONS:
        return False
    return len(call.expressions) == 3 and call.expressions[0] is node and not node.table
