"""Lines of ``name=value``: logfmt, and records of a journal's export.

A value is found by its name wherever it stands, by one search for each column that is used.
"""

from __future__ import annotations

import re

import msgspec

from headwater.spark.lines.fields import FIELDS, LINE, literal

_VALUE = r'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s"]*+)'
_PAIR = rf'[^\s="]++(?:={_VALUE})?+'


class LogfmtFields(msgspec.Struct, frozen=True):
    """``ts=… level=info msg="two words" flag``. Of a name that comes twice the first one counts."""

    null: str = ""
    is_empty_null: bool = True

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        return LINE

    def text(self, name: str) -> str:
        """Names within quoted values are passed over with them, so the search begins at the start
        of the line and goes from pair to pair."""
        key = re.escape(name)
        pattern = rf"\A\s*+(?:(?!{key}=){_PAIR}(?:\s++|\z))*+{key}=({_VALUE})"
        found = f"regexp_extract({FIELDS}, {literal(pattern)}, 1)"
        inner = f"substring({found}, 2, char_length({found}) - 2)"
        plain = f"regexp_replace({inner}, {literal(chr(92) * 2 + '(.)')}, '$1')"
        text = f"if(startswith({found}, '\\\"'), {plain}, {found})"
        return f"nullif({text}, {literal(self.null)})" if self.null else text

    def is_malformed(self) -> str:
        whole = rf"\A\s*+{_PAIR}(?:\s++{_PAIR})*+\s*+\z"
        return f"NOT regexp_like({FIELDS}, {literal(whole)})"

    def fault(self) -> str:
        return literal('it is not of the form name=value name="two words"')

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None


class JournalFields(msgspec.Struct, frozen=True):
    """A record of several lines, ``NAME=value`` each, as ``reading/journal.py`` writes them: a
    value may go on over lines, and one that is no text is told instead."""

    keys: tuple[tuple[str, str], ...]
    """For each column, the name that the journal has for it."""
    is_empty_null: bool = True

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        return LINE

    def text(self, name: str) -> str:
        pattern = rf"(?md)^{re.escape(dict(self.keys)[name])}=(.*(?:\n\x1f.*)*)$"
        found = f"regexp_extract({FIELDS}, {literal(pattern)}, 1)"
        return f"replace({found}, concat(char(10), char(31)), char(10))"

    def came(self, name: str) -> str:
        """What to tell of it."""
        return f"ltrim(char(31), {self.text(name)})"

    def string(self, name: str) -> str:
        """The text as a value: NULL where it is told what came instead of one."""
        text = self.text(name)
        return f"if(startswith({text}, char(31)), NULL, nullif({text}, ''))"

    def is_malformed(self) -> str:
        return f"NOT contains({FIELDS}, '=')"

    def fault(self) -> str:
        return "'it is no record of a journal: NAME=value in each line'"

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
