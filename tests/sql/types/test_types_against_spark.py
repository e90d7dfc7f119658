"""The types that the front end promises are the types that Spark gives.

Every rule is asked for every type of column, and Spark's analyser is asked the same. What the
front end admits, Spark must admit with the same type; what it refuses, Spark may admit.
"""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import parse_expression
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS, Function, takes
from headwater.sql.types.type_rules import TIMES, is_number

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "yes": "boolean",
    "tiny": "tinyint",
    "small": "smallint",
    "whole": "int",
    "big": "bigint",
    "single": "float",
    "twice": "double",
    "money": "decimal(10,2)",
    "huge": "decimal(38,0)",
    "fine": "decimal(38,18)",
    "word": "string",
    "raw": "binary",
    "day_": "date",
    "ts": "timestamp",
}
NUMBERS = [name for name, type_name in COLUMNS.items() if is_number(type_name)]
LITERALS = ["7", "-12", "3000000000", "1.50", "0.05", "1e3", "NULL"]


@pytest.fixture
def analyser(spark: "SparkSession") -> Iterator["SparkSession"]:
    schema = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    spark.createDataFrame([], schema).createOrReplaceTempView("typed")
    yield spark
    spark.catalog.dropTempView("typed")


def promised(expression: str) -> str | None:
    """The front end's word; None where it refuses."""
    try:
        return type_of(parse_expression(expression), column_type)
    except Objection:
        return None


def column_type(node: exp.Column) -> str:
    return COLUMNS[node.name]


def differences(analyser: "SparkSession", expressions: list[str]) -> list[str]:
    """What Spark sees otherwise. One statement asks for all; only a failure asks one by one."""
    admitted = [(text, found) for text in expressions if (found := promised(text)) is not None]
    assert admitted, "nothing was admitted, so nothing was compared"
    asked = ", ".join(f"{text} AS c{index}" for index, (text, _) in enumerate(admitted))
    try:
        fields = analyser.sql(f"SELECT {asked} FROM typed").schema.fields
    except Exception:
        return [wrong for text, found in admitted if (wrong := refused_by(analyser, text, found))]
    return [
        f"{text}: promised {found}, Spark gives {field.dataType.simpleString()}"
        for (text, found), field in zip(admitted, fields, strict=True)
        if field.dataType.simpleString() != found
    ]


def refused_by(analyser: "SparkSession", text: str, found: str) -> str | None:
    try:
        given = analyser.sql(f"SELECT {text} FROM typed").schema.fields[0].dataType.simpleString()
    except Exception as error:
        return f"{text}: promised {found}, Spark refuses: {str(error)[:120]}"
    return None if given == found else f"{text}: promised {found}, Spark gives {given}"


@pytest.mark.spark
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%", "DIV"])
def test_arithmetic_has_the_type_that_spark_gives_it(
    analyser: "SparkSession", operator: str
) -> None:
    operands = NUMBERS + LITERALS
    pairs = [f"{left} {operator} {right}" for left, right in product(operands, operands)]
    assert differences(analyser, pairs) == []


@pytest.mark.spark
@pytest.mark.parametrize(
    "form", ["coalesce({0}, {1})", "CASE WHEN yes THEN {0} ELSE {1} END", "greatest({0}, {1}, {0})"]
)
def test_values_that_meet_have_the_type_that_spark_gives_them(
    analyser: "SparkSession", form: str
) -> None:
    operands = [*COLUMNS, *LITERALS]
    pairs = [form.format(left, right) for left, right in product(operands, operands)]
    assert differences(analyser, pairs) == []


@pytest.mark.spark
@pytest.mark.parametrize(
    "form",
    ["{0} = {1}", "{0} <=> {1}", "{0} IN ({1}, {0})", "{0} BETWEEN {1} AND {0}", "{0} <= {1}"],
)
def test_what_may_be_compared_spark_compares(analyser: "SparkSession", form: str) -> None:
    pairs = [form.format(left, right) for left, right in product(COLUMNS, [*COLUMNS, *LITERALS])]
    assert differences(analyser, pairs) == []


@pytest.mark.spark
@pytest.mark.parametrize("form", ["CAST({0} AS {1})", "TRY_CAST({0} AS {1})"])
def test_casts_are_those_of_spark(analyser: "SparkSession", form: str) -> None:
    types = [*COLUMNS.values(), "decimal", "numeric(4)", "long", "byte"]
    casts = [form.format(name, type_name) for name, type_name in product(COLUMNS, types)]
    assert differences(analyser, casts) == []


@pytest.mark.spark
def test_every_listed_function_has_the_type_that_spark_gives_it(analyser: "SparkSession") -> None:
    calls = [call for function in FUNCTIONS.values() for call in calls_of(function)]
    casts = [f"{name}({column})" for name, column in product(CAST_FUNCTIONS, COLUMNS)]
    assert differences(analyser, calls + casts) == []
    uncalled = [
        name for name in FUNCTIONS if not any(promised(c) for c in calls_of(FUNCTIONS[name]))
    ]
    assert uncalled == []


def calls_of(function: Function) -> Iterator[str]:
    """Calls with every number of arguments, each argument in turn of every type that it takes."""
    if not function.kinds:
        yield f"{function.name}()"
        return
    counts = range(max(function.required, 1), len(function.kinds) + 1 + 2 * function.repeats)
    for count in counts:
        usual = [columns_for(function.kind_of(index))[0] for index in range(count)]
        for index in range(count):
            for name in columns_for(function.kind_of(index)):
                yield call(function, [*usual[:index], name, *usual[index + 1 :]])


def columns_for(kind: str) -> list[str]:
    if kind == "literal":
        return ["1", "0", "-2", "5"]
    preferred = {"any": ["word"], "int": ["whole"], "bigint": ["big"], "moment": ["ts"]}
    names = [name for name, type_name in COLUMNS.items() if takes(kind, type_name)]
    return preferred.get(kind, []) + names


def call(function: Function, arguments: list[str]) -> str:
    """Some functions want literals where others want columns; Spark says so when it analyses."""
    literals = {
        "trunc": {1: "'month'"},
        "date_trunc": {0: "'hour'"},
        "encode": {1: "'utf-8'"},
        "decode": {1: "'utf-8'"},
        "format_string": {0: "'%s'"},
        "lpad": {1: "5"},
        "rpad": {1: "5"},
        "repeat": {1: "5"},
        "space": {0: "5"},
        "replace": {2: "'x'"},
        "regexp_replace": {2: "'x'"},
        "date_format": {1: "'yyyy'"},
        "from_unixtime": {1: "'yyyy'"},
        "to_date": {1: "'yyyy'"},
        "to_timestamp": {1: "'yyyy'"},
        "try_to_timestamp": {1: "'yyyy'"},
        "to_unix_timestamp": {1: "'yyyy'"},
        "unix_timestamp": {1: "'yyyy'"},
    }.get(function.name, {})
    return f"{function.name}({', '.join(literals.get(i, a) for i, a in enumerate(arguments))})"


@pytest.mark.spark
def test_times_bits_and_patterns_have_the_types_that_spark_gives_them(
    analyser: "SparkSession",
) -> None:
    integers = [name for name in NUMBERS if COLUMNS[name].endswith("int")]
    expressions = [
        *(
            f"{left} {sign} {right}"
            for sign in "&|^"
            for left, right in product(integers, integers)
        ),
        *(f"~{name}" for name in integers),
        *(f"-{name}" for name in NUMBERS),
        *(f"{name} + INTERVAL '1' HOUR" for name in COLUMNS if COLUMNS[name] in TIMES),
        "ts - INTERVAL '2' DAY",
        "word || word || 'x'",
        r"word LIKE 'a%'",
        r"word LIKE 'a/%' ESCAPE '/'",
        r"word RLIKE '\\d+'",
        "word NOT LIKE 'a'",
        "word ILIKE 'a'",
        "NOT yes AND yes OR yes IS TRUE",
        "word IS NOT NULL",
        "CASE whole WHEN 1 THEN 'a' WHEN 2 THEN NULL END",
        "DATE '2026-01-01'",
        "TIMESTAMP '2026-01-01 00:00:00'",
        "1.5D",
        "7L",
        "if(yes, whole, big)",
        "CAST('1' AS INT) + 1",
    ]
    assert differences(analyser, expressions) == []
