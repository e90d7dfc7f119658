"""Plans as text: a statement, and what becomes of it at the site, at the root, and in one Spark.

``HEADWATER_REWRITE=1 pytest tests/plan`` writes the files anew; the difference is for review.
"""

import os
from pathlib import Path

import pytest

from headwater.plan.query import Query
from headwater.sql.compile import compile_statements
from headwater.sql.read.sql_text import pretty

GOLDEN = Path(__file__).parent / "golden"
SECTIONS = ("statement", "site", "root", "central")
SOURCE = """
CREATE SOURCE access (
  ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, ms DOUBLE, price DECIMAL(10,2), ok BOOLEAN
) WITH (format = 'csv', path = 'access/*.log', time = 'ts');
"""


def read(path: Path) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- ") and line[3:] in SECTIONS:
            section = line[3:]
            found[section] = []
        else:
            found[section].append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def planned(statement: str) -> Query:
    (query,) = compile_statements(
        SOURCE + statement, root="hub", installer="hub", next_counter=1, begin="earliest"
    )
    return query


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.sql")), ids=lambda path: path.stem)
def test_a_statement_is_split_as_the_file_says(path: Path) -> None:
    wanted = read(path)
    query = planned(wanted["statement"])
    found = {
        "statement": wanted["statement"],
        "site": pretty(query.program.site_sql),
        "root": pretty(query.program.root_sql),
        "central": pretty(query.program.central_sql),
    }
    if os.environ.get("HEADWATER_REWRITE"):
        text = "\n\n".join(f"-- {name}\n{found[name]}" for name in SECTIONS)
        path.write_text(text + "\n", encoding="utf-8")
    assert found == wanted or os.environ.get("HEADWATER_REWRITE")


def test_there_are_golden_plans() -> None:
    assert len(list(GOLDEN.glob("*.sql"))) >= 10
