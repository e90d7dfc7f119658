"""Rows of which columns were made already, and lines that were given back, in one view.

Python workers make them (``worker_lines``), or Spark's own reader (``standing_objects``).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.reading.strict.strict_kinds import TEXT
from headwater.reading.strict.strict_lines import COLUMN
from headwater.spark.lines.fields import LINE, Fields
from headwater.spark.lines.json_fields import JsonFields


class Made(msgspec.Struct, frozen=True):
    """What there is to be read instead of lines."""

    view: str
    kinds: tuple[tuple[str, str], ...]
    """By the name of the column: what was made of its field. They have numbers in this order."""


class MadeFields(msgspec.Struct, frozen=True):
    """A row has its columns, or its line: one of both is NULL. So whatever is said of the fields of
    a line is NULL for a row with columns, and needs nothing but to be filled in."""

    of_lines: Fields
    kinds: tuple[tuple[str, str], ...]
    """Of ``Made``."""

    @property
    def is_empty_null(self) -> bool:
        return self.of_lines.is_empty_null

    def columns(self) -> list[str]:
        """Of the view, those that the rest refers to."""
        return [LINE, *(f"{COLUMN}{number}" for number in range(len(self.kinds)))]

    def vouched(self, name: str, of_text: str) -> str:
        """See ``JsonFields``: a row with columns has no line whose digits might be lost."""
        if not isinstance(self.of_lines, JsonFields):
            return of_text
        return self.of_lines.vouched(name, of_text)

    def value(self, name: str, of_text: str) -> str:
        """In its type; ``of_text`` is the same of the text."""
        column, kind = self._made(name)
        return of_text if kind == TEXT else f"coalesce({column}, {of_text})"

    def _made(self, name: str) -> tuple[str, str]:
        number = [one for one, _ in self.kinds].index(name)
        return f"{COLUMN}{number}", self.kinds[number][1]

    def before(self) -> Sequence[str]:
        return self.of_lines.before()

    def of_line(self) -> str:
        return self.of_lines.of_line()

    def text(self, name: str) -> str:
        column, kind = self._made(name)
        text = self.of_lines.text(name)
        return f"coalesce({column}, {text})" if kind == TEXT else text

    def is_malformed(self) -> str:
        return f"({LINE} IS NOT NULL AND {self.of_lines.is_malformed()})"

    def fault(self) -> str:
        return self.of_lines.fault()

    def needs_head(self) -> bool:
        return self.of_lines.needs_head()

    def is_passed_over(self) -> str | None:
        return self.of_lines.is_passed_over()
