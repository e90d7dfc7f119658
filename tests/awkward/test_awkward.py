"""Awkward files, by every way that there is: the records that are in them, and nothing silent.

Each way reads the cases of a dialect at one site, so that their malformed lines are counted
together; a line that is taken wrongly is a record too many or too few. ``make long`` also reads
each case at a site of its own, and follows files that are all there when it begins: those that grow
are read by the same follower, and whole files by the finite input.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import CASES, FOLDED, Case
from ways import Found, by_following, by_one_spark, by_try, expected_of, write

from headwater.spark.site import standing_objects
from headwater.spark.site.standing_objects import StandingObjects
from headwater.spark.workers import readings, worker_lines
from headwater.spark.workers.worker_lines import LineWorkers
from long_runs import IS_LONG

pytestmark = pytest.mark.spark

SECONDS_MAX = 600


@pytest.fixture
def by_workers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Python workers get all that they could ever get, however little; grows by the formats."""
    monkeypatch.setattr(worker_lines, "WORKERS_BYTES_MIN", 0)
    monkeypatch.setattr(readings, "GIVEN_BACK_MAX", 1.0)
    read: list[str] = []
    noted = LineWorkers.parser

    def parser(self: LineWorkers, *given: Any, **more: Any) -> Any:
        found = noted(self, *given, **more)
        read.extend([] if found is None else [found.source.name])
        return found

    def failed(self: LineWorkers, why: str) -> None:
        raise AssertionError(why)

    monkeypatch.setattr(LineWorkers, "parser", parser)
    monkeypatch.setattr(LineWorkers, "failed", failed)
    return read


@pytest.fixture
def by_reader(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Spark's own reader of JSON gets all that it could ever get; grows by the formats."""
    monkeypatch.setattr(standing_objects, "GIVEN_BACK_MAX", 1.0)
    read: set[str] = set()
    noted = StandingObjects.parser

    def parser(self: StandingObjects, *given: Any, **more: Any) -> Any:
        found = noted(self, *given, **more)
        read.update(() if found is None else [found.source.name])
        return found

    monkeypatch.setattr(StandingObjects, "parser", parser)
    return read


@pytest.fixture(scope="module")
def taken() -> set[str]:
    """The dialects that workers take, once one way has found them; the others go no other way."""
    return set()


def differing(
    found: dict[str, Found], *, is_live: bool = False, cases: Sequence[Case] = CASES
) -> dict[str, str]:
    """By case, in words; long texts are cut."""
    different = {}
    for case in cases:
        wanted, came = expected_of(case, is_live=is_live), found[case.name]
        if wanted != came:
            lacks, has = wanted.records - came.records, came.records - wanted.records
            different[case.name] = (
                f"lacks {str(dict(lacks))[:200]}, has {str(dict(has))[:200]}, malformed: wanted "
                f"{wanted.malformed}, got {came.malformed}"
            )
    return different


def told(different: dict[str, str]) -> str:
    return "\n".join(f"{name}: {what}" for name, what in different.items())


def test_there_are_at_least_sixty_cases_each_with_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.mark.timeout(SECONDS_MAX)
def test_a_finite_input(spark_house, tmp_path: Path, by_reader: set[str]) -> None:
    """With plans that are compiled, as an agent has them."""
    write(FOLDED, tmp_path)
    found = by_try(spark_house.running(is_compiled=True), FOLDED, tmp_path)
    different = differing(found, cases=FOLDED)
    assert different == {}, told(different)
    assert by_reader >= {"objects", "objects_text", "paths", "array"}


@pytest.mark.skipif(not IS_LONG, reason="139 sites; the malformed lines of each are for make long")
@pytest.mark.timeout(SECONDS_MAX)
def test_a_finite_input_with_a_site_for_each_case(
    spark_house, tmp_path: Path, by_reader: set[str]
) -> None:
    write(CASES, tmp_path)
    different = differing(by_try(spark_house.running(), CASES, tmp_path))
    assert different == {}, told(different)
    assert by_reader >= {"objects", "objects_text", "paths", "array"}


@pytest.mark.timeout(SECONDS_MAX)
def test_one_spark_over_all_files(spark_house, tmp_path: Path) -> None:
    write(CASES, tmp_path)
    different = differing(by_one_spark(spark_house.running(), CASES, tmp_path))
    assert different == {}, told(different)


@pytest.mark.timeout(SECONDS_MAX)
@pytest.mark.parametrize("is_grown", [False, True] if IS_LONG else [True])
def test_files_that_are_followed(spark_house, tmp_path: Path, is_grown: bool) -> None:
    found = by_following(spark_house.running(), FOLDED, tmp_path, is_grown=is_grown)
    different = differing(found, is_live=True, cases=FOLDED)
    assert different == {}, told(different)


@pytest.mark.timeout(SECONDS_MAX)
def test_a_finite_input_by_workers(
    spark_house, tmp_path: Path, by_workers: list[str], taken: set[str]
) -> None:
    write(FOLDED, tmp_path)
    found = by_try(spark_house.running(), FOLDED, tmp_path)
    different = differing(found, cases=FOLDED)
    assert different == {}, told(different)
    taken.update(by_workers)
    assert len(taken) > 10, by_workers


@pytest.mark.timeout(SECONDS_MAX)
def test_files_that_grow_by_workers(
    spark_house, tmp_path: Path, by_workers: list[str], taken: set[str]
) -> None:
    cases = [case for case in FOLDED if case.dialect in taken or not taken]
    found = by_following(spark_house.running(), cases, tmp_path, is_grown=True)
    different = differing(found, is_live=True, cases=cases)
    assert different == {}, told(different)
    assert len(set(by_workers)) > 10, by_workers


def test_a_record_that_is_not_there_is_told() -> None:
    """The comparison itself can fail."""
    found = {case.name: expected_of(case) for case in CASES}
    assert differing(found) == {}
    found["plain"].records.clear()
    found["crlf"] = found["crlf"]._replace(malformed=1)
    assert list(differing(found)) == ["plain", "crlf"]
