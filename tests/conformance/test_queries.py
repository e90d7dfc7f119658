"""Every query of ``queries/``: what it means in plain Python, what the split gives, what one Spark
gives, and what its file says, are the same rows; and its plan is the one that its file shows.

All are answered by one run over four sites. ``reference`` knows neither Spark nor our compiler.
What one Spark gives stays the same while its version and the rows of the files do, so a fifth of
the queries is asked of it at every run, and all of them by ``make long``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import query_files
from query_files import Told, plan_of, read_file, rows_text
from query_kit import queries_in
from reference import answer

from headwater.algebra.rows.equality import is_same_value
from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query
from headwater.plan.query import Query
from long_runs import IS_LONG

FILES = sorted(Path(__file__).with_name("queries").glob("*.txt"))
TOLD = {f"{path.stem}_{n:02d}": one for path in FILES for n, one in enumerate(read_file(path), 1)}
TEXT = query_files.SOURCE + "\n".join(one.statement(name) for name, one in TOLD.items())
IS_REWRITTEN = bool(os.environ.get("HEADWATER_REWRITE"))
OF_ONE_SPARK = [*TOLD] if IS_LONG or IS_REWRITTEN else [*TOLD][::5]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Rows = dict[Any, list[list[Any]]]
"""By the start of a window: a time, or a number."""


@pytest.fixture(scope="module")
def queries() -> dict[str, Query]:
    found = queries_in(TEXT, at="hub", begin="earliest", known_sites=())
    return {query.id.name: query for query in found}


@pytest.fixture(scope="module")
def meant() -> dict[str, Rows]:
    """The rows of each query, by plain Python."""
    answer.COLUMNS.update(name.lower() for name in query_files.COLUMNS)
    all_of = query_files.counted_records()
    return {
        name: {
            window.start: [[*row.values()] for row in rows]
            for window, rows in answer.answers(one.select, all_of, window=one.window).items()
        }
        for name, one in TOLD.items()
    }


def test_there_are_two_hundred_queries_each_with_a_title_of_its_own() -> None:
    assert len(TOLD) >= 200
    assert len({one.title for one in TOLD.values()}) == len(TOLD)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans_and_rows_are_those_of_the_file(
    path: Path, queries: Mapping[str, Query], meant: Mapping[str, Rows]
) -> None:
    found = []
    for number, one in enumerate(read_file(path), 1):
        name = f"{path.stem}_{number:02d}"
        rows = rows_text(meant[name], is_ordered=one.is_ordered)
        found.append(Told(one.title, one.options, one.select, plan_of(queries[name]), rows))
    if IS_REWRITTEN:
        path.write_text("\n\n".join(map(str, found)) + "\n", "utf-8")
    assert read_file(path) == found


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("queries") / "sites"
    query_files.write_sites(directory)
    return directory


@pytest.fixture(scope="module")
def federated(spark_house, sites: Path) -> dict[str, StreamResult]:
    found = try_query(TEXT, sites, spark=spark_house.running())
    return {one.query.id.name: one for one in found}


@pytest.fixture(scope="module")
def unlike(spark_house, sites: Path, federated: dict[str, StreamResult]) -> dict[str, str | None]:
    text = query_files.SOURCE + "\n".join(TOLD[name].statement(name) for name in OF_ONE_SPARK)
    central = try_central(text, sites, spark=spark_house.running())
    return differences([federated[name] for name in OF_ONE_SPARK], central)


@pytest.mark.spark
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", TOLD)
def test_the_split_gives_what_the_query_means(
    name: str, federated: dict[str, StreamResult], meant: dict[str, Rows]
) -> None:
    found = rows_of(federated[name])
    wanted = meant[name]
    assert found.keys() == wanted.keys()
    near = [bound_of(federated[name].query, column) for column in columns_of(federated[name])]
    for window, rows in wanted.items():
        assert difference(found[window], rows, near) is None, TOLD[name].title


@pytest.mark.spark
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", OF_ONE_SPARK)
def test_one_spark_gives_the_same(name: str, unlike: dict[str, str | None]) -> None:
    assert unlike[name] is None, TOLD[name].title


def columns_of(result: StreamResult) -> list[str]:
    return [name for one in result.windows[:1] for name in one.rows.column_names]


def bound_of(query: Query, column: str) -> float:
    """How far a value may be from what is meant; the sites are few, so likely bounds hold."""
    bounded = query.bounds.of(column)
    return 0.0 if bounded is None else bounded.bound.size


def rows_of(result: StreamResult) -> Rows:
    """By the start of their window, in their order."""
    return {
        one.start_us if result.query.counted else EPOCH + timedelta(microseconds=one.start_us): [
            [*row.values()] for row in one.rows.to_pylist()
        ]
        for one in result.windows
    }


def difference(
    found: list[list[Any]], wanted: list[list[Any]], near: Sequence[float] = ()
) -> str | None:
    """As bags; numbers of the reference are rounded to the scale that the answer has. ``near``:
    of each column, the share of the value by which it may be off."""
    left = [*wanted]
    for row in found:
        same = next((one for one in left if is_same_row(row, one, near)), None)
        if same is None:
            return f"the answer has {row}, wanted one of {left}"
        left.remove(same)
    return f"the answer lacks {left}" if left else None


def is_same_row(found: list[Any], wanted: list[Any], near: Sequence[float] = ()) -> bool:
    shares = near or [0.0] * len(found)
    return len(found) == len(wanted) and all(map(is_within, found, wanted, shares))


def is_within(found: Any, wanted: Any, share: float) -> bool:
    if isinstance(found, dict) and isinstance(wanted, dict) and share:
        return all(is_within(found[name], wanted[name], share) for name in wanted)
    if isinstance(found, list) and isinstance(wanted, list) and share:
        return len(found) == len(wanted) and all(
            is_within(f, w, share) for f, w in zip(found, wanted, strict=True)
        )
    if not share or found is None or wanted is None or not math.isfinite(wanted):
        return is_same(found, wanted)
    last = {int: 1.0, Decimal: 0.01}.get(type(found), 0.0)
    return abs(float(found) - float(wanted)) <= share * abs(wanted) + last / 2


def is_same(found: Any, wanted: Any) -> bool:
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(is_same(found[n], wanted[n]) for n in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(is_same, found, wanted))
    if isinstance(found, Decimal) and wanted is not None:
        unit = Decimal(1).scaleb(found.as_tuple().exponent)
        return abs(Decimal(wanted.numerator) / Decimal(wanted.denominator) - found) <= unit / 2
    if isinstance(found, float) and wanted is not None:
        return is_same_value(found, float(wanted))
    return bool(found == wanted)


def test_a_value_that_differs_is_a_difference() -> None:
    """The comparison itself can fail."""
    assert difference([[1, 2.0]], [[1, 2.0]]) is None
    assert difference([[1, 2.0]], [[1, 2.1]]) is not None
    assert difference([[1, 2.0]], [[1, 2.0], [3, 4.0]]) is not None
    assert difference([[Decimal("0.33")]], [[1]]) is not None
    assert difference([[1, 2.0]], [[1, 2.1]], [0.0, 0.05]) is None
    assert difference([[1, 2.0]], [[1, 2.2]], [0.0, 0.05]) is not None
