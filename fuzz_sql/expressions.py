"""Random expressions of a wanted type, as trees that can be made smaller.

The grammar is a table: for each type the forms that yield it, in which ``{name}`` stands for an
expression of that type. No form fails for a record, because one that does fails the whole query,
with one Spark as with many: what can overflow is tried, what divides divides by a literal.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

import msgspec

INTEGER_TYPES = ("tinyint", "smallint", "int", "bigint")
ORDERED = ("int", "bigint", "string", "date", "timestamp", "decimal(10,2)", "double")
ANY = ("boolean", "tinyint", *ORDERED)
NESTED = ("array<int>", "array<string>", "map<string,int>")

FORMS: dict[str, tuple[str, ...]] = {
    "boolean": (
        "({boolean} AND {boolean})", "({boolean} OR {boolean})", "(NOT {boolean})",
        "({int} < {int})", "({bigint} >= {int})", "({string} = {string})", "({double} > {double})",
        "({string} LIKE '%a%')", "({string} IN ('a', '', {string}))", "({any} IS NULL)",
        "({any} IS NOT NULL)", "({int} BETWEEN -7 AND {int})", "({date} <= {date})",
        "({decimal(10,2)} < {decimal(20,4)})", "isnan({double})", "startswith({string}, {string})",
        "({string} <=> {string})", "coalesce({boolean}, false)", "({double} = {double})",
        "({timestamp} > {timestamp})", "({string} RLIKE '^[a-z]')", "({boolean} <=> {boolean})",
        "array_contains({array<int>}, {int})", "exists({array<string>}, x -> x = {string})",
        "map_contains_key({map<string,int>}, {string})", "({array<int>} = {array<int>})",
    ),
    "tinyint": ("coalesce({tinyint}, 5Y)", "nullif({tinyint}, 7Y)"),
    "smallint": ("coalesce({smallint}, 5S)", "nullif({smallint}, {smallint})"),
    "int": (
        "length({string})", "({int} % 5)", "hour({timestamp})", "dayofweek({date})",
        "year({timestamp})", "bit_count({bigint})", "ascii({string})", "instr({string}, {string})",
        "coalesce({int}, {int})", "try_add({int}, {int})", "try_multiply({int}, {int})",
        "CASE WHEN {boolean} THEN {int} WHEN {boolean} THEN {int} END", "pmod({int}, 7)",
        "if({boolean}, {int}, {int})", "greatest({int}, {int})", "datediff({date}, {date})",
        "({int} & {int})", "shiftright({int}, 2)", "hash({string}, {int})",
        "size({array<int>})", "cardinality({map<string,int>})", "get({array<int>}, 0)",
        "try_element_at({map<string,int>}, {string})", "array_max({array<int>})",
        "size(filter({array<int>}, x -> x > {int}))",
    ),
    "bigint": (
        "CAST({int} AS BIGINT)", "unix_micros({timestamp})", "unix_seconds({timestamp})",
        "crc32({string})", "try_add({bigint}, {int})", "({bigint} DIV 3)", "({bigint} % 100)",
        "xxhash64({any}, {string})", "coalesce({bigint}, 0)", "least({bigint}, {bigint})",
        "({bigint} ^ {bigint})", "nullif({bigint}, 1L)",
        "array_position({array<string>}, {string})",
    ),
    "float": ("coalesce({float}, CAST(1.5 AS FLOAT))", "nanvl({float}, CAST(2 AS FLOAT))"),
    "double": (
        "coalesce({double}, 0D)", "nanvl({double}, 1.5D)", "({double} / 2)", "(- {double})",
        "abs({double})", "if({boolean}, {double}, 1.5D)", "nullif({double}, 0D)",
        "CAST({float} AS DOUBLE)", "CAST({tinyint} AS DOUBLE)", "greatest({double}, 1.5D)",
    ),
    "steady": ("({steady} + 1)", "coalesce({steady}, 2.5D)", "CAST({tinyint} AS DOUBLE)"),
    "string": (
        "upper({string})", "lower({string})", "trim({string})", "reverse({string})",
        "concat({string}, {string})", "substr({string}, 1, 2)", "coalesce({string}, '')",
        "CASE WHEN {boolean} THEN {string} ELSE 'x' END", "lpad({string}, 3, '*')",
        "CAST({int} AS STRING)", "date_format({timestamp}, 'yyyy-MM-dd HH')", "left({string}, 1)",
        "replace({string}, 'a', 'bb')", "nullif({string}, '')", "CAST({double} AS STRING)",
        "CAST({decimal(10,2)} AS STRING)", "initcap({string})",
        "({string} || '-' || {string})", "repeat({string}, 2)", "CAST({date} AS STRING)",
        "array_join({array<string>}, '-', '?')", "try_element_at({array<string>}, -1)",
    ),
    "binary": ("CAST({string} AS BINARY)",),
    "date": (
        "date({timestamp})", "last_day({timestamp})", "coalesce({date}, DATE'2026-03-29')",
        "trunc({timestamp}, 'MONTH')", "nullif({date}, DATE'1969-12-31')",
    ),
    "timestamp": (
        "date_trunc('HOUR', {timestamp})", "date_trunc('MINUTE', {timestamp})",
        "from_utc_timestamp({timestamp}, 'Europe/Berlin')",
        "to_utc_timestamp({timestamp}, 'America/New_York')",
        "coalesce({timestamp}, TIMESTAMP'2026-10-25 01:30:00')",
    ),
    "decimal(10,2)": ("coalesce({decimal(10,2)}, 0.50BD)", "CAST({tinyint} AS DECIMAL(10,2))"),
    "decimal(20,4)": ("CAST({decimal(10,2)} AS DECIMAL(20,4))",),
    "decimal(38,0)": ("CAST({int} AS DECIMAL(38,0))", "CAST({bigint} AS DECIMAL(38,0))"),
    "array<int>": (
        "array_sort({array<int>})", "array_distinct({array<int>})", "array({int}, {int})",
        "transform({array<int>}, x -> try_add(x, 1))", "map_values({map<string,int>})",
        "slice({array<int>}, 1, 2)", "concat({array<int>}, {array<int>})",
        "filter({array<int>}, x -> x IS NOT NULL)", "coalesce({array<int>}, array(5))",
    ),
    "array<string>": (
        "split({string}, 'a')", "array_compact({array<string>})", "map_keys({map<string,int>})",
        "transform({array<string>}, x -> upper(x))", "array_union({array<string>}, array('a'))",
        "reverse({array<string>})",
    ),
    "map<string,int>": (
        "map_filter({map<string,int>}, (k, v) -> v > 0)", "map('a', {int}, 'é', 5)",
        "transform_values({map<string,int>}, (k, v) -> length(k))",
    ),
}  # fmt: skip

LITERALS: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false"),
    "tinyint": ("3Y",),
    "smallint": ("300S",),
    "int": ("0", "7", "404"),
    "bigint": ("5L", "0L"),
    "float": ("CAST(2.5 AS FLOAT)",),
    "double": ("1.5D", "0D"),
    "steady": ("2.5D",),
    "string": ("'a'", "''", "'日本'"),
    "binary": ("CAST('a' AS BINARY)",),
    "date": ("DATE'2026-03-29'",),
    "timestamp": ("TIMESTAMP'2026-03-29 01:00:00'",),
    "decimal(10,2)": ("CAST(1.25 AS DECIMAL(10,2))",),
    "decimal(20,4)": ("CAST(1.25 AS DECIMAL(20,4))",),
    "decimal(38,0)": ("CAST(3 AS DECIMAL(38,0))",),
    "array<int>": ("array(1, 2)",),
    "array<string>": ("array('a', '')",),
    "map<string,int>": ("map('a', 1)",),
}
HOLE = re.compile(r"\{([\w(),<>]+)\}")


class Made(msgspec.Struct, frozen=True):
    """An expression: a form with its holes filled."""

    type: str
    form: str
    parts: tuple[Made, ...] = ()

    def __str__(self) -> str:
        parts = iter(self.parts)
        return HOLE.sub(lambda _: str(next(parts)), self.form)

    def size(self) -> int:
        return 1 + sum(part.size() for part in self.parts)

    def smaller(self) -> Iterator[Made]:
        """A literal, each part that has its type, and itself with one part made smaller."""
        literal = Made(self.type, LITERALS[self.type][0])
        if self.parts:
            yield literal
        yield from (part for part in self.parts if part.type == self.type)
        for place, part in enumerate(self.parts):
            for less in part.smaller():
                parts = (*self.parts[:place], less, *self.parts[place + 1 :])
                yield msgspec.structs.replace(self, parts=parts)


def draw_expression(
    type_name: str, columns: Mapping[str, str], chance: random.Random, *, depth: int = 2
) -> Made:
    """Of columns, by name with their types, literals and forms that nest so deep."""
    own = [name for name, one in columns.items() if one == type_name]
    if depth > 0 and chance.random() < (0.35 if own else 0.8):
        form = chance.choice(FORMS[type_name])
        holes = [chance.choice(ANY) if hole == "any" else hole for hole in HOLE.findall(form)]
        parts = (draw_expression(hole, columns, chance, depth=depth - 1) for hole in holes)
        return Made(type_name, form, tuple(parts))
    if own and chance.random() < 0.92:
        return Made(type_name, chance.choice(own))
    return Made(type_name, chance.choice(LITERALS[type_name]))
