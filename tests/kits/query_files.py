"""Files of queries, each with its plan and its rows, and the records that they are about.

A file has queries one below the other, with a blank line between them::

    # what it shows
    SELECT …
    plan:
      site   the SQL of the sites
      merge  what travels, and by which rule it merges
      root   the SQL of the root
    rows:
      12:00:00 | …

Text before SELECT that begins with WITH stands in the statement before AS. ``HEADWATER_REWRITE=1``
writes plans and rows anew; the difference is for review.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from headwater.plan.query import Query

COLUMNS = {
    "id": "BIGINT",
    "ts": "TIMESTAMP",
    "domain": "STRING",
    "path": "STRING",
    "status": "INT",
    "bytes": "BIGINT",
    "ms": "DOUBLE",
    "ratio": "DOUBLE",
    "price": "DECIMAL(10,2)",
    "cached": "BOOLEAN",
    "day": "DATE",
    "tags": "STRING",
}
SOURCE = (
    f"CREATE SOURCE hits ({', '.join(f'{name} {one}' for name, one in COLUMNS.items())})\n"
    "WITH (format = 'json', path = '*.json', time = 'ts');\n"
)
SITES = {"lima": 18, "oslo": 30, "quito": 6, "turku": 0}
"""With how many records each; the last has no file."""
BEGIN = datetime(2026, 5, 1, 12, tzinfo=UTC)
Record = dict[str, Any]


def records() -> dict[str, list[Record]]:
    """By site; the same at every call."""
    chance = random.Random(20260501)
    numbers = iter(range(1, 1_000))
    return {site: [_record(next(numbers), chance) for _ in range(n)] for site, n in SITES.items()}


def _record(number: int, chance: random.Random) -> Record:
    return {
        "id": number,
        "ts": BEGIN + timedelta(milliseconds=250 * chance.randrange(400)),
        "domain": chance.choice(["a.example", "a.example", "b.example", "日本.example", None]),
        "path": chance.choice(["/", "/a", "/a/b", "", "/É", None]),
        "status": chance.choice([200, 200, 200, 301, 404, 500, None]),
        "bytes": chance.choice([0, 17, 512, 4_096, 2**40, None]),
        "ms": chance.choice([1.5, 2.25, 0.125, 17.0, None]),
        "ratio": chance.choice([0.0, -0.0, math.nan, math.inf, -1.5, 2.5, None]),
        "price": chance.choice([Decimal("0.00"), Decimal("1.25"), Decimal("-3.10"), None]),
        "cached": chance.choice([True, False, None]),
        "day": chance.choice([date(2024, 2, 29), date(2026, 5, 1), date(1969, 12, 31), None]),
        "tags": chance.choice(["x", "x y", "y z x", "", None]),
    }


def counted_records() -> list[Record]:
    """Those of all sites, each with its site and what that has read before it: ``__site``,
    ``__row`` and ``__byte``."""
    counted = []
    for site, found in records().items():
        row = byte = 0
        for one in (one for part in range(2) for one in found[part::2]):
            counted.append({**one, "__site": site, "__row": row, "__byte": byte})
            row, byte = row + 1, byte + len(f"{_line(one)}\n".encode())
    return counted


def write_sites(directory: Path) -> None:
    """One folder for each site, with two files where there are records."""
    for site, found in records().items():
        folder = directory / site
        folder.mkdir(parents=True)
        for part in range(2 if found else 0):
            lines = [f"{_line(one)}\n" for one in found[part::2]]
            (folder / f"{part}.json").write_text("".join(lines), "utf-8")


def _line(record: Record) -> str:
    return json.dumps({name: _written(value) for name, value in record.items()})


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "nan": "NaN"}[str(value)]
    return str(value) if isinstance(value, date | Decimal) else value


class Told(msgspec.Struct, frozen=True):
    """A query as its file has it."""

    title: str
    options: str
    select: str
    plan: tuple[str, ...]
    rows: tuple[str, ...]

    @property
    def window(self) -> str:
        """Where it stands in WITH."""
        found = re.search("window = '(.+?)'", self.options)
        return found[1] if found else ""

    @property
    def is_ordered(self) -> bool:
        """ORDER BY within brackets is that of a rank or a list, not that of the rows."""
        outside, within = self.select, 1
        while within:
            outside, within = re.subn(r"\([^()]*\)", "", outside)
        return "ORDER BY" in outside

    def statement(self, name: str) -> str:
        return f"CREATE STREAM {name} {self.options} AS {self.select};"

    def __str__(self) -> str:
        head = [f"# {self.title}", *([self.options] if self.options else []), self.select]
        plan = [f"  {line}" for line in self.plan]
        rows = [f"  {line}" for line in self.rows] or ["  none"]
        return "\n".join([*head, "plan:", *plan, "rows:", *rows])


def read_file(path: Path) -> list[Told]:
    return [_told(block) for block in path.read_text("utf-8").strip().split("\n\n")]


def _told(block: str) -> Told:
    title, _, rest = block.partition("\n")
    assert title.startswith("# "), f"a query begins with what it shows: {block[:80]}"
    text, _, below = rest.partition("\nplan:\n")
    options, _, select = (
        text.strip().rpartition("SELECT") if text.startswith("WITH (") else ("", "", "")
    )
    select = f"SELECT{select}" if select else text.strip()
    plan, _, rows = below.partition("\nrows:\n")
    told = [line.removeprefix("  ") for line in rows.splitlines()]
    return Told(
        title.removeprefix("# "),
        options.strip(),
        select,
        tuple(line.removeprefix("  ") for line in plan.splitlines()),
        () if told == ["none"] else tuple(told),
    )


def plan_of(query: Query) -> tuple[str, ...]:
    program = query.program
    merges = [f"{one.name} {one.type} by {one.merge}" for one in program.partials]
    return (
        f"site   {program.site_sql}",
        f"merge  {', '.join(merges) or 'nothing beside the keys'}",
        f"root   {program.root_sql}",
    )


def rows_text(
    windows: Mapping[Any, Iterable[Sequence[Any]]], *, is_ordered: bool
) -> tuple[str, ...]:
    """By the start of the window; in an order of their own unless one was asked for."""
    lines = []
    for start, rows in sorted(windows.items()):
        of = f"{start:%H:%M:%S}" if isinstance(start, datetime) else str(start)
        texts = [" | ".join([of, *map(shown, row)]) for row in rows]
        lines += texts if is_ordered else sorted(texts)
    return tuple(lines)


def shown(value: Any) -> str:
    """Doubles to nine digits, and zero without its sign."""
    match value:
        case None:
            return "NULL"
        case float():
            return f"{value + 0.0:.9g}" if math.isfinite(value) else str(value)
        case Fraction():
            return shown(float(value)) if value.denominator % 3 == 0 else f"{float(value):g}"
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S") + (
                f".{value.microsecond:06d}" if value.microsecond else ""
            )
        case dict():
            return "{" + ", ".join(f"{name}: {shown(one)}" for name, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(shown, value)) + "]"
        case str():
            return repr(value)
    return str(value)
