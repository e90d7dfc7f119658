"""Lines that are JSON objects, taken apart by the names in them."""

from __future__ import annotations

import msgspec

from headwater.plan.column_names import Step, json_path
from headwater.spark.fields import CORRUPT, FIELDS, LINE, literal, option_map, quoted


class JsonFields(msgspec.Struct, frozen=True):
    """One JSON object a line. Values are taken as text, so that all formats convert alike. What
    lies deeper is taken from the text of the value that it lies in; what is not there is NULL."""

    paths: tuple[tuple[str, tuple[Step, ...]], ...]
    """For each column, where its value is."""
    is_empty_null: bool = False

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        names = dict.fromkeys(str(steps[0]) for _, steps in self.paths)
        schema = ", ".join(f"{quoted(name)} STRING" for name in (*names, CORRUPT))
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        return f"from_json({LINE}, {literal(schema)}, {option_map(options)})"

    def text(self, name: str) -> str:
        first, *rest = dict(self.paths)[name]
        whole = f"{FIELDS}.{quoted(str(first))}"
        return f"get_json_object({whole}, {literal(json_path(rest))})" if rest else whole

    def is_malformed(self) -> str:
        """NULL instead of an object is what a line with only a JSON null or blanks yields."""
        return f"({FIELDS} IS NULL OR {FIELDS}.{CORRUPT} IS NOT NULL)"

    def fault(self) -> str:
        return literal("wanted a JSON object in one line")

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
