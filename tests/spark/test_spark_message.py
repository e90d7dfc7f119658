"""Which errors of Spark may be those of one group, and which are nobody's but Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    PySparkException,
    SparkRuntimeException,
)

from headwater.spark.spark_message import is_of_a_value, reduced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FromJava(Py4JJavaError):  # type: ignore[misc]
    """As it arrives where PySpark knows no class for it; without a JVM to ask."""

    def __init__(self, *causes: str) -> None:
        Exception.__init__(self)
        self._causes = causes

    def __str__(self) -> str:
        causes = "\n".join(f"Caused by: {cause}\n\tat some.Place" for cause in self._causes)
        return (
            f"An error occurred while calling o1.x.\n: org.apache.spark.SparkException: \n{causes}"
        )


@pytest.mark.parametrize(
    "error",
    [
        ArithmeticException("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"),
        ArithmeticException("integer overflow"),
        DateTimeException("Invalid date"),
        SparkRuntimeException("[INVALID_INDEX_OF_ZERO] The index 0 is invalid. SQLSTATE: 22003"),
        PySparkException("[INCONSISTENT_BEHAVIOR_CROSS_VERSION.X] a pattern. SQLSTATE: 42K0B"),
        FromJava("java.util.IllegalFormatConversionException: d != java.lang.String"),
        FromJava("org.apache.spark.SparkException: Job aborted", "java.time.DateTimeException: x"),
    ],
)
def test_a_value_that_spark_refuses_may_be_a_groups(error: Exception) -> None:
    assert is_of_a_value(error)


@pytest.mark.parametrize(
    "error",
    [
        AnalysisException("[UNRESOLVED_COLUMN] no column. SQLSTATE: 42703"),
        SparkRuntimeException("[UNABLE_TO_ACQUIRE_MEMORY] no memory. SQLSTATE: 53200"),
        PySparkException("[INTERNAL_ERROR] a bug. SQLSTATE: XX000"),
        PySparkException("Job 7 cancelled"),
        FromJava("java.lang.OutOfMemoryError: Java heap space"),
        FromJava("java.lang.InterruptedException"),
        FromJava("java.lang.IllegalArgumentException: requirement failed"),
        FromJava("java.lang.ArithmeticException: x", "java.lang.OutOfMemoryError: Metaspace"),
        ConnectionError("the JVM is gone"),
    ],
)
def test_plans_memory_and_a_jvm_that_is_gone_are_no_groups(error: Exception) -> None:
    assert not is_of_a_value(error)


SECRET = "Ada Lovelace, 10.0.0.7"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ArithmeticException(f"[X_Y.Z] {SECRET} SQLSTATE: 22012"), "[X_Y.Z] SQLSTATE: 22012;"),
        (ArithmeticException(f"{SECRET} overflow"), "ArithmeticException;"),
        (FromJava(f"java.lang.ArithmeticException: {SECRET}"), "java.lang.ArithmeticException;"),
        (FromJava(f"org.apache.spark.X: [A_B] {SECRET}"), "[A_B];"),
        (FromJava(f"java.io.IOException: [not a name] {SECRET}"), "java.io.IOException;"),
        (ValueError(f"{SECRET}\n[LIKE_A_NAME] {SECRET}"), "ValueError;"),
    ],
)
def test_what_leaves_a_site_names_the_error_and_no_value(error: Exception, name: str) -> None:
    assert reduced(error).startswith(name)
    assert "Ada" not in reduced(error)
    assert "10.0" not in reduced(error)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "SELECT CAST(v AS INT) FROM (SELECT concat('Ada ', id) v FROM range(3))",
            "[CAST_INVALID_INPUT] in CAST(v AS INT) SQLSTATE: 22018;",
        ),
        (
            "SELECT to_timestamp(concat('Ada ', id), 'yyyy') FROM range(2)",
            "[CANNOT_PARSE_TIMESTAMP] SQLSTATE: 22007;",
        ),
    ],
)
def test_the_part_of_the_statement_is_told(spark: SparkSession, sql: str, told: str) -> None:
    with pytest.raises(PySparkException) as raised:
        spark.sql(sql).toArrow()
    assert "Ada" in str(raised.value)
    assert reduced(raised.value).startswith(told)
    assert "Ada" not in reduced(raised.value)
