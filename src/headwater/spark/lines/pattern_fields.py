"""Lines taken apart by a regular expression."""

from __future__ import annotations

import msgspec

from headwater.spark.lines.fields import FIELDS, LINE, literal

MARK = "\x01"
"""Stands between the groups of a pattern; a line that has one itself does not match."""

LINE_WANTED = "wanted a line that the pattern matches from end to end"
RECORD_WANTED = "wanted a record whose lines the pattern matches from end to end"
GOING_ON = "; if it goes on with the record before it, as a trace does, say record_start"


class PatternFields(msgspec.Struct, frozen=True):
    """Groups of a regular expression that matches the line from end to end.

    Spark has no function that yields all groups of a match, and ``regexp_extract`` would match
    once for each column. Instead the line is replaced by its groups with marks between them, and
    split at the marks: one match for each line.
    """

    names: tuple[str, ...]
    pattern: str
    groups: tuple[tuple[int, ...], ...]
    """For each of the names: the groups of which at most one has its text."""
    null: str = ""
    is_empty_null: bool = True
    wanted: str = LINE_WANTED
    """Of what does not match, for people."""
    is_over_lines: bool = False
    """A record may be several lines: a dot stands for what is between them, too."""

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        texts = ("".join(f"${number}" for number in numbers) for numbers in self.groups)
        marked = "".join(f"{MARK}{text}" for text in texts)
        whole = rf"{'(?s)' if self.is_over_lines else ''}\A(?:{self.pattern})\z"
        replaced = f"regexp_replace({LINE}, {literal(whole)}, {literal(marked)})"
        has_mark = f"contains({LINE}, {literal(MARK)})"
        return f"if({has_mark}, NULL, split({replaced}, {literal(MARK)}, -1))"

    def text(self, name: str) -> str:
        text = f"get({FIELDS}, {1 + self.names.index(name)})"
        return f"nullif({text}, {literal(self.null)})" if self.null else text

    def is_malformed(self) -> str:
        """Text before the first mark is what an unmatched line leaves."""
        size = f"size({FIELDS}) <> {1 + len(self.names)}"
        return f"coalesce({size} OR get({FIELDS}, 0) <> '', true)"

    def fault(self) -> str:
        return literal(self.wanted)

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
