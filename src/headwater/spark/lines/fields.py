"""How a line of each format comes apart into fields, each of them text: as Spark SQL.

A ``Fields`` takes a line apart in one expression, which becomes a column of its own so that it runs
once, and says the rest of that column. Expressions are texts, because a batch is planned anew each
time: one statement is one call to the JVM, while the same built from columns takes hundreds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

LINE = "value"
"""The column that Spark's text reader yields."""
HEAD = "__head"
"""The number of the header that a line is below, among those of the batch."""
PARSED = "__parsed"
FIELDS = "__fields"
CORRUPT = "__corrupt"


class Fields(Protocol):
    @property
    def is_empty_null(self) -> bool:
        """Whether an empty text stands for NULL in a column of strings."""

    def before(self) -> Sequence[str]:
        """Columns that ``of_line`` refers to, each an expression AS a name that begins with
        ``PARSED``."""

    def of_line(self) -> str:
        """The line taken apart: what the column ``FIELDS`` is."""

    def text(self, name: str) -> str:
        """The text of one field; NULL where there is none."""

    def is_malformed(self) -> str:
        """Whether the line as such is malformed: true or false, never NULL."""

    def fault(self) -> str:
        """Why it is, for people, where it is: a text without any value of the line."""

    def needs_head(self) -> bool:
        """Whether any of these expressions refers to the column ``HEAD``."""

    def is_passed_over(self) -> str | None:
        """Whether a line with text is no record and not malformed either; None: no such line."""


def literal(text: str) -> str:
    """A string as Spark's parser reads it back.

    >>> print(literal("it's \\\\d"))
    'it\\'s \\\\d'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """
    >>> quoted("user-agent"), quoted("a`b")
    ('`user-agent`', '`a``b`')
    """
    return f"`{name.replace('`', '``')}`"


def option_map(options: Mapping[str, str]) -> str:
    pairs = (literal(text) for pair in options.items() for text in pair)
    return f"map({', '.join(pairs)})"
