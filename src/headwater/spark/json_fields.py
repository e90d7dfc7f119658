"""Lines that are JSON objects, taken apart by the names in them."""

from __future__ import annotations

import msgspec

from headwater.spark.fields import CORRUPT, FIELDS, LINE, literal, option_map, quoted


class JsonFields(msgspec.Struct, frozen=True):
    """One JSON object a line. Values are taken as text, so that all formats convert alike."""

    names: tuple[str, ...]
    is_empty_null: bool = False

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        schema = ", ".join(f"{quoted(name)} STRING" for name in (*self.names, CORRUPT))
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        return f"from_json({LINE}, {literal(schema)}, {option_map(options)})"

    def text(self, name: str) -> str:
        return f"{FIELDS}.{quoted(name)}"

    def is_malformed(self) -> str:
        """NULL instead of an object is what a line with only a JSON null or blanks yields."""
        return f"({FIELDS} IS NULL OR {FIELDS}.{CORRUPT} IS NOT NULL)"

    def fault(self) -> str:
        return literal("wanted a JSON object in one line")

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None
