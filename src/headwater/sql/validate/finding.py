"""One thing to say of a file of statements: where, how far it goes, and what.

::

    line 4:8: no column `domian` in source `access`; did you mean `domain`? columns: ts, domain
      SELECT domian, count(*)
             ^^^^^^
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from sqlglot.tokenizer_core import Token, TokenType

from headwater.sql.read.refusal import LINE_SHOWN
from headwater.sql.read.sql_text import Unreadable, tokens_of


class Severity(StrEnum):
    FAULT = "fault"
    """It can't be run."""
    WARNING = "warning"
    """It can, and is probably not what was meant."""
    NOTE = "note"
    """It was not looked at any further."""


class Finding(msgspec.Struct, frozen=True, order=True):
    """Lines and columns count from 1, in characters, as editors do; the end is behind the last."""

    line: int
    column: int
    end_line: int
    end_column: int
    severity: Severity
    message: str
    statement: str = ""
    """The name of the source or stream that it is about."""

    def text(self, of: str) -> str:
        """For people: the sentence, and the line with the place underlined."""
        line = of.splitlines()[self.line - 1] if of.splitlines()[self.line - 1 :] else ""
        line = line.replace("\t", " ")
        first = max(0, self.column - 1 - LINE_SHOWN // 2)
        end = self.end_column - 1 if self.end_line == self.line else len(line)
        length = max(1, min(end, first + LINE_SHOWN) - self.column + 1)
        said = "" if self.severity is Severity.FAULT else f"{self.severity}: "
        underline = " " * (self.column - 1 - first) + "^" * length
        shown = line[first : first + LINE_SHOWN].rstrip()
        return f"line {self.line}:{self.column}: {said}{self.message}\n  {shown}\n  {underline}"


class Places:
    """Of one text: from offsets to what an editor underlines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(at + 1 for at, sign in enumerate(text) if sign == "\n")]
        try:
            self._tokens: Sequence[Token] = tokens_of(text)
        except Unreadable:
            self._tokens = ()
        self._offsets = [token.start for token in self._tokens]

    def finding(
        self, offset: int, severity: Severity, message: str, statement: str = ""
    ) -> Finding:
        offset = max(0, min(offset, len(self._text)))
        end = max(offset, min(self._end_of(offset), len(self._text)))
        return Finding(
            *self._place(offset), *self._place(end), severity, message, statement=statement
        )

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _end_of(self, offset: int) -> int:
        """Behind the word that stands there: with its dots where it is a path, up to its closing
        bracket where it is a call."""
        at = bisect_right(self._offsets, offset) - 1
        if at < 0 or self._tokens[at].end < offset:
            return offset + 1
        while self._kind(at + 1) is TokenType.DOT and at + 2 < len(self._tokens):
            at += 2
        is_word = self._text[self._tokens[at].start : self._tokens[at].start + 1].isidentifier()
        if is_word and self._kind(at + 1) is TokenType.L_PAREN:
            at = self._closing(at + 1)
        return self._tokens[at].end + 1

    def _closing(self, at: int) -> int:
        depth = 0
        for position in range(at, len(self._tokens)):
            kind = self._kind(position)
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if not depth or kind is TokenType.SEMICOLON:
                return position
        return at

    def _kind(self, at: int) -> TokenType | None:
        return self._tokens[at].token_type if at < len(self._tokens) else None
