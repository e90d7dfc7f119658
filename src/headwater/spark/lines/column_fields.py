"""Rows of files that have columns of their own: Parquet, ORC, Avro."""

from __future__ import annotations

import msgspec

from headwater.plan.sources.column_names import Step
from headwater.spark.lines.fields import quoted


class ColumnFields(msgspec.Struct, frozen=True):
    """A row has its columns already, in the types of its file. What the file has not is NULL."""

    paths: tuple[tuple[str, tuple[Step, ...]], ...]
    """For each declared column, where its value is."""
    types: tuple[tuple[str, str], ...]
    """Of the file's own columns, in any case of letters: those that there are."""
    is_empty_null: bool = False

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        raise AssertionError("a row is no line")

    def text(self, name: str) -> str:
        """The value, in its own type."""
        first, *rest = dict(self.paths)[name]
        if self._type(str(first)) is None:
            return "CAST(NULL AS STRING)"
        found = quoted(str(first))
        for step in rest:
            found += f"[{step}]" if isinstance(step, int) else f".{quoted(step)}"
        return found

    def type_of(self, name: str) -> str:
        """The file's own; empty where it is not known, of what lies deeper."""
        first, *rest = dict(self.paths)[name]
        return "" if rest else (self._type(str(first)) or "string")

    def _type(self, column: str) -> str | None:
        return next((type_ for name, type_ in self.types if name.lower() == column.lower()), None)

    def is_malformed(self) -> str:
        return "false"

    def fault(self) -> str:
        return "CAST(NULL AS STRING)"

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
