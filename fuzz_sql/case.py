"""A case: records and where they are, and a query over them in pieces that can be left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pyarrow as pa

from fuzz_sql.expressions import Made
from fuzz_sql.values import spark_type
from headwater.algebra.rows.types import arrow_type

TIME = "ts"


class World(msgspec.Struct, frozen=True):
    """Records of all sites."""

    columns: dict[str, str]
    """By name, beside the time."""
    rows: tuple[tuple[Any, ...], ...]
    """The time first, then the columns."""
    parts: tuple[int, ...]
    """For each record the part that it is in: one batch of one site."""

    @property
    def types(self) -> dict[str, str]:
        return {TIME: "timestamp"} | {n: spark_type(one) for n, one in self.columns.items()}

    @property
    def source(self) -> str:
        columns = ", ".join(f"{name} {one}" for name, one in self.types.items())
        return (
            f"CREATE SOURCE r ({columns}) WITH (format = 'json', path = '*.json', time = '{TIME}');"
        )

    def table(self) -> pa.Table:
        schema = pa.schema([(name.strip("`"), arrow_type(one)) for name, one in self.types.items()])
        columns = zip(*self.rows, strict=True) if self.rows else [() for _ in schema]
        arrays = [
            pa.array(list(values), field.type)
            for values, field in zip(columns, schema, strict=True)
        ]
        return pa.table(arrays, schema=schema)

    def with_rows(self, kept: Iterable[int]) -> World:
        numbers = list(kept)
        rows, parts = [self.rows[n] for n in numbers], [self.parts[n] for n in numbers]
        return msgspec.structs.replace(self, rows=tuple(rows), parts=tuple(parts))


class Case(msgspec.Struct, frozen=True):
    seed: int
    """Of which it was drawn, and by which its parts are merged."""
    world: World
    window: str
    """As GROUP BY has it; of rows, as WITH has it."""
    keys: tuple[Made, ...]
    items: tuple[Made, ...]
    """Over aggregates and keys; of rows, over columns."""
    of_rows: bool = False
    """Without aggregates, and so without keys."""
    is_distinct: bool = False
    where: Made | None = None
    having: Made | None = None
    order: tuple[str, ...] = ()
    """Of ``k0`` …, the keys, and ``c0`` …, the items."""
    limit: int | None = None
    rank: str | None = None
    """What QUALIFY asks of a rank."""

    @property
    def select(self) -> str:
        shown = [f"{key} AS k{n}" for n, key in enumerate(self.keys)]
        shown += [f"{item} AS c{n}" for n, item in enumerate(self.items)]
        lines = [f"SELECT {'DISTINCT ' if self.is_distinct else ''}{', '.join(shown)}", "FROM r"]
        lines += [] if self.where is None else [f"WHERE {self.where}"]
        if not self.of_rows:
            lines.append(f"GROUP BY {', '.join([self.window, *map(str, self.keys)])}")
        lines += [] if self.having is None else [f"HAVING {self.having}"]
        lines += [] if self.rank is None else [f"QUALIFY {self.rank}"]
        lines += [f"ORDER BY {', '.join(self.order)}"] if self.order else []
        lines += [] if self.limit is None else [f"LIMIT {self.limit}"]
        return "\n".join(lines)

    @property
    def text(self) -> str:
        options = f" WITH (window = '{self.window}')" if self.of_rows else ""
        return f"{self.world.source}\nCREATE STREAM s{options} AS\n{self.select};\n"

    def __str__(self) -> str:
        """For whoever looks for the fault: the statements, and every record with its part."""
        pairs = sorted(zip(self.world.parts, self.world.rows, strict=True), key=lambda one: one[0])
        records = "\n".join(f"  part {part}: {', '.join(map(repr, row))}" for part, row in pairs)
        return f"seed {self.seed}\n{self.text}records:\n{records or '  none'}"
