"""Lines in which every field has its width."""

from __future__ import annotations

import msgspec

from headwater.spark.lines.fields import FIELDS, LINE, literal


class FixedFields(msgspec.Struct, frozen=True):
    """Fields side by side, in characters; blanks around a value are not part of it. The last field
    may be cut short, since editors drop blanks at the end of a line."""

    names: tuple[str, ...]
    widths: tuple[int, ...]
    null: str = ""
    is_empty_null: bool = True

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        return LINE

    def text(self, name: str) -> str:
        at = self.names.index(name)
        start = 1 + sum(self.widths[:at])
        text = f"trim(substring({FIELDS}, {start}, {self.widths[at]}))"
        return f"nullif({text}, {literal(self.null)})" if self.null else text

    def is_malformed(self) -> str:
        """Blanks count as the beginning of the last field, and not beyond its end."""
        least, most = sum(self.widths[:-1]), sum(self.widths)
        is_short = f"char_length({FIELDS}) <= {least}"
        return f"({is_short} OR char_length(rtrim({FIELDS})) > {most})"

    def fault(self) -> str:
        least, most = sum(self.widths[:-1]), sum(self.widths)
        came = f"char_length({FIELDS})"
        came = f"if({came} <= {least}, {came}, char_length(rtrim({FIELDS})))"
        return f"concat('wanted {least + 1} to {most} characters, got ', {came})"

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
