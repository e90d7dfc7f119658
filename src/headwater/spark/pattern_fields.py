"""Lines taken apart by a regular expression."""

from __future__ import annotations

import msgspec

from headwater.spark.fields import FIELDS, LINE, literal

MARK = "\x01"
"""Stands between the groups of a pattern; a line that has one itself does not match."""


class PatternFields(msgspec.Struct, frozen=True):
    """Groups of a regular expression that matches the line from end to end.

    Spark has no function that yields all groups of a match, and ``regexp_extract`` would match
    once for each column. Instead the line is replaced by its groups with marks between them, and
    split at the marks: one match for each line.
    """

    names: tuple[str, ...]
    pattern: str
    groups: tuple[int, ...]
    is_empty_null: bool = True

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        marked = "".join(f"{MARK}${number}" for number in self.groups)
        whole = rf"\A(?:{self.pattern})\z"
        replaced = f"regexp_replace({LINE}, {literal(whole)}, {literal(marked)})"
        has_mark = f"contains({LINE}, {literal(MARK)})"
        return f"if({has_mark}, NULL, split({replaced}, {literal(MARK)}, -1))"

    def text(self, name: str) -> str:
        return f"get({FIELDS}, {1 + self.names.index(name)})"

    def is_malformed(self) -> str:
        """Text before the first mark is what an unmatched line leaves."""
        size = f"size({FIELDS}) <> {1 + len(self.names)}"
        return f"coalesce({size} OR get({FIELDS}, 0) <> '', true)"

    def fault(self) -> str:
        return literal("wanted a line that the pattern matches from end to end")

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
