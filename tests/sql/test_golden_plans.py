"""Plans as text: a statement, and what becomes of it at the site, at the root, and in one Spark.

Beside the statements that were written for this, every file of the gallery and of the conformance
tests has its plans in ``golden/of_files``. ``HEADWATER_REWRITE=1 pytest tests/sql`` writes them all
anew; the difference is for review.
"""

import os
from pathlib import Path

import pytest
from query_kit import queries_in

from headwater.plan.query import Query
from headwater.sql.compile import question_of
from headwater.sql.read.sql_text import pretty
from headwater.sql.write.judge_groups import write_left_out_sql, write_tolerant_sql

GOLDEN = Path(__file__).parent / "golden"
OF_FILES = GOLDEN / "of_files"
HOUSE = Path(__file__).resolve().parents[2]
FILES = sorted([*HOUSE.glob("examples/*/*.sql"), *HOUSE.glob("tests/conformance/*.sql")])
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
    (query,) = queries_in(SOURCE + statement, at="hub", begin="earliest")
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}_{path.stem}")
def test_the_streams_of_a_file_are_split_as_they_were(path: Path) -> None:
    queries = queries_in(path.read_text("utf-8"), at="hub", begin="earliest")
    found = "\n\n".join(map(plans_of, queries)) + "\n"
    golden = OF_FILES / f"{path.parent.name}_{path.stem}.sql"
    if os.environ.get("HEADWATER_REWRITE"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text("utf-8")


def plans_of(query: Query) -> str:
    program, question = query.program, question_of(query)
    texts = {
        "site": program.site_sql,
        "root": program.root_sql,
        "central": program.central_sql,
        "central, without groups that fail": write_tolerant_sql(question),
        "central, how many groups fail": write_left_out_sql(question),
    }
    partials = ", ".join(f"{one.name} {one.type} {one.merge}" for one in program.partials)
    sections = [f"-- {query.id.name}: {partials}"]
    return "\n".join(sections + [f"-- {name}\n{text}" for name, text in texts.items()])


def test_every_file_has_its_plans_and_no_plan_is_left_of_a_file_that_is_gone() -> None:
    wanted = {f"{path.parent.name}_{path.stem}.sql" for path in FILES}
    assert wanted == {path.name for path in OF_FILES.iterdir()}
