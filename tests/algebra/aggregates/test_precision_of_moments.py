"""How near to the truth moments are, which exact fractions tell, and how near one Spark is.

Near 10⁹ a double has seven digits behind the point. Spark's running mean is such a double, and so
is the mean in our state: of a spread of 1, neither has more than eight digits of the variance, and
the two need not agree in more.
"""

from __future__ import annotations

import random
from fractions import Fraction
from statistics import median

import numpy as np
import pyarrow as pa
import pytest

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Partial

RUNS, RECORDS = 15, 400


class Layout:
    keys = ()
    partials = tuple(
        Partial(name, type_, "variance")
        for name, type_ in (("n", "bigint"), ("mean", "double"), ("variance", "double"))
    )


def truth(values: list[float]) -> Fraction:
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return sum(((value - mean) ** 2 for value in exact), Fraction(0)) / len(exact)


def var_pop_of_spark(values: list[float]) -> float:
    """Of one task, step by step as Spark's ``CentralMomentAgg`` has it."""
    count = mean = m2 = 0.0
    for value in values:
        count += 1
        away = value - mean
        step = away / count
        mean += step
        m2 += away * (away - step)
    return m2 / count


def var_pop_of_sites(parts: list[list[float]]) -> float:
    columns = {
        "n": [len(part) for part in parts],
        "mean": [float(np.add.accumulate(part)[-1]) / len(part) for part in parts],
        "variance": [var_pop_of_spark(part) for part in parts],
    }
    (found,) = ArrowMerger(Layout).groups([pa.table(columns)]).merged["variance"].to_pylist()
    return float(found)


def errors(seed: int, values: list[float], part_count: int) -> tuple[float, float]:
    """Relative, by the sites and by one Spark."""
    chance = random.Random(seed)
    parts: list[list[float]] = [[] for _ in range(part_count)]
    for value in values:
        chance.choice(parts).append(value)
    true = truth(values)
    found = var_pop_of_sites([part for part in parts if part]), var_pop_of_spark(values)
    sites, spark = (abs(float((Fraction(one) - true) / true)) for one in found)
    return sites, spark


@pytest.mark.parametrize("part_count", [4, 50])
def test_near_a_billion_the_sites_are_about_as_near_to_the_truth_as_one_spark(
    part_count: int,
) -> None:
    chance = random.Random(part_count)
    found = [
        errors(run, [1e9 + chance.random() for _ in range(RECORDS)], part_count)
        for run in range(RUNS)
    ]
    sites, spark = (median(side) for side in zip(*found, strict=True))
    assert sites <= 2 * spark
    assert max(error for pair in found for error in pair) < 1e-6
    assert spark > 1e-9, "one Spark has the digits that the guide says it has not"


def test_of_smaller_values_both_are_right_to_a_billionth() -> None:
    chance = random.Random(3)
    found = [
        errors(run, [chance.gauss(100.0, 15.0) for _ in range(RECORDS)], 20) for run in range(RUNS)
    ]
    assert max(error for pair in found for error in pair) < 1e-12


@pytest.mark.spark
def test_one_spark_computes_as_it_is_said_here(spark) -> None:
    chance = random.Random(7)
    values = [1e9 + chance.random() for _ in range(RECORDS)]
    frame = spark.createDataFrame(pa.table({"x": values})).coalesce(1)
    (row,) = frame.selectExpr("var_pop(x) AS v").collect()
    assert row.v == pytest.approx(var_pop_of_spark(values), rel=1e-12)
    assert row.v != pytest.approx(float(truth(values)), rel=1e-11)
