"""Every example of the guide that answers, over sites and by one plain Spark: equal answers.

The statements of a page are one file, its sources have made-up files at three sites, and all of it
is one run. A source in a format that is not made up here has no files; its streams compile.
"""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.try_query import try_query
from headwater.plan.sources.source import Source, SourceFormat
from headwater.sql.compile import parse_script

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
PAGES = {
    "sql.md": "access",
    "recipes.md": "access",
    "fidelity.md": "access",
    "how_exact_how_soon.md": "downloads",
}
"""With the source that most of a page's streams read."""
STREAMS_MIN = 3
SITES = ("fra", "lhr", "oslo")
BEGIN = datetime(2026, 5, 1, 12, tzinfo=UTC)
RECORDS = 300
"""For each source and site, over five minutes."""
MADE = (SourceFormat.CSV, SourceFormat.TSV, SourceFormat.JSON)


def statements_of(page: str) -> str:
    """Without those that name a begin, of which one Spark over all records knows nothing."""
    text = (GUIDE / page).read_text("utf-8")
    blocks = re.findall(r"^```sql\n(.*?)^```", text, re.M | re.S)
    statements = [one.strip() for block in blocks for one in re.split(r";\n", block)]
    return ";\n".join(one for one in statements if one and "begin = " not in one)


def write_files(source: Source, folder: Path, draw: random.Random) -> None:
    path = folder / source.path.replace("**/", "").replace("*", "a")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [line_of(source, draw, n) for n in range(RECORDS)]
    if dict(source.options).get("header") == "true":
        delimiter = "\t" if source.format is SourceFormat.TSV else ","
        lines.insert(0, delimiter.join(field.name for field in source.fields))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def line_of(source: Source, draw: random.Random, number: int) -> str:
    at = BEGIN + timedelta(seconds=300 * number / RECORDS)
    values = {field.name: value_of(field.name, field.type, at, draw) for field in source.fields}
    if source.format is SourceFormat.JSON:
        return json.dumps(values)
    delimiter = "\t" if source.format is SourceFormat.TSV else ","
    return delimiter.join("" if value is None else str(value) for value in values.values())


def value_of(name: str, type_: str, at: datetime, draw: random.Random) -> object:
    if type_ == "timestamp":
        return at.strftime("%Y-%m-%d %H:%M:%S.%f")
    if type_ == "boolean":
        return draw.random() < 0.5
    if name == "status":
        return draw.choice([200, 200, 200, 304, 404, 500])
    if name == "ts":
        return round(at.timestamp() * 1000)
    if type_ in ("tinyint", "smallint", "int", "bigint"):
        return draw.randrange(2000)
    if type_ in ("float", "double") or type_.startswith("decimal"):
        return round(draw.random() * 100, 2)
    if type_.startswith("array<string"):
        return draw.sample(["red", "green", "blue"], draw.randrange(4))
    if type_.startswith(("array", "map", "struct")):
        return None
    return f"{name}{draw.randrange(1, 6)}.example"


@pytest.mark.spark
@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", [page for page in PAGES if (GUIDE / page).exists()])
def test_what_a_page_asks_is_answered_as_one_spark_answers_it(
    running_spark, tmp_path: Path, page: str
) -> None:
    text = statements_of(page)
    made = {one.name for one in parse_script(text).sources if one.format in MADE and not one.paths}
    for site in SITES:
        (tmp_path / site).mkdir()
        for source in parse_script(text).sources:
            if source.name in made:
                write_files(source, tmp_path / site, random.Random(f"{site} {source.name}"))
    federated = try_query(text, tmp_path, spark=running_spark)
    central = try_central(text, tmp_path, spark=running_spark)
    assert set(differences(federated, central).values()) == {None}
    asked = [one for one in federated if one.query.source_name == PAGES[page]]
    assert len(asked) >= STREAMS_MIN
    assert [one.query.id.name for one in asked if not one.windows] == []
