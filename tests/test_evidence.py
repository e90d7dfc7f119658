"""The figures: each is made by an experiment, and its numbers are there and named on the page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from experiments.__main__ import HELPERS

HOUSE = Path(__file__).resolve().parents[1]
EVIDENCE = HOUSE / "docs" / "evidence"
EXPERIMENTS = sorted(
    path for path in (HOUSE / "experiments").glob("*.py") if path.stem not in HELPERS
)


def tables_of(experiment: Path) -> list[str]:
    """The names of the files of numbers that it writes."""
    nodes = ast.walk(ast.parse(experiment.read_text()))
    calls = (one for one in nodes if isinstance(one, ast.Call))
    written = [one for one in calls if getattr(one.func, "id", "") == "write_csv"]
    return [f"{ast.literal_eval(call.args[0])}.csv" for call in written]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda path: path.stem)
def test_an_experiment_says_what_it_is_and_has_written_its_numbers(experiment: Path) -> None:
    assert ast.get_docstring(ast.parse(experiment.read_text()))
    tables = tables_of(experiment)
    assert tables, "write_csv is not called: a figure has numbers"
    missing = [name for name in tables if not (EVIDENCE / name).exists()]
    assert missing == [], f"run python -m experiments {experiment.stem}"


def test_every_table_of_numbers_is_an_experiments_and_is_named_on_the_page() -> None:
    written = {name for experiment in EXPERIMENTS for name in tables_of(experiment)}
    assert {path.name for path in EVIDENCE.glob("*.csv")} == written
    named = re.findall(r"\]\((\w+\.csv)\)", (EVIDENCE / "README.md").read_text())
    assert written - set(named) == set()
