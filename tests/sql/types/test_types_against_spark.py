"""The types that the front end promises are the types that Spark gives.

Every rule is asked for every type of column, and Spark's analyser is asked the same. What the
front end admits, Spark must admit with the same type; what it refuses, Spark may admit.
"""

from collections.abc import Iterator
from itertools import product, starmap
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.algebra.rows.columns import Column
from headwater.plan.sources.source import Source, SourceFormat
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import parse_expression
from headwater.sql.resolve.resolve_names import Names
from headwater.sql.types.check_functions import WRITTEN_ANEW
from headwater.sql.types.expression_types import UNITS, type_of
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS, OPERATORS, Function, takes
from headwater.sql.types.lambda_types import FORMS
from headwater.sql.types.refused_functions import ADVICE, TIME_CHANCE_PLACE, UNSAFE
from headwater.sql.types.result_types import PARTS
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
    "tags": "array<string>",
    "nums": "array<int>",
    "bigs": "array<bigint>",
    "grid": "array<array<int>>",
    "vector": "array<float>",
    "people": "array<struct<name:string,age:int>>",
    "counts": "map<string,bigint>",
    "names": "map<int,string>",
    "place": "struct<city:string,zip:int>",
    "span": "interval day to second",
    "months": "interval year to month",
    "local": "timestamp_ntz",
}
SOURCE = Source("typed", tuple(starmap(Column, COLUMNS.items())), SourceFormat.JSON, "*", "ts")
NAMES = Names(SOURCE, "typed")
NUMBERS = [name for name, type_name in COLUMNS.items() if is_number(type_name)]
FORMATS = {"timestamp": "'yyyy'", "date": "'yyyy'", "binary": "'hex'"}
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
        return type_of(
            NAMES.resolved(parse_expression(expression), {}, alias_first=False), column_type
        )
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
    calls = [call for forms in FUNCTIONS.values() for form in forms for call in calls_of(form)]
    casts = [f"{name}({column})" for name, column in product(CAST_FUNCTIONS, COLUMNS)]
    assert differences(analyser, calls + casts) == []
    uncalled = [
        str(form)
        for forms in FUNCTIONS.values()
        for form in forms
        if not any(promised(call) for call in calls_of(form))
    ]
    assert uncalled == []


def calls_of(function: Function) -> Iterator[str]:
    """Calls with every number of arguments, each argument in turn of every type that it takes."""
    if not function.kinds:
        yield f"{function.name}()"
        return
    counts = range(max(function.required, 1), len(function.kinds) + 1 + 2 * function.repeats)
    for count in counts:
        usual = [columns_for(function.kind_of(0))[0]]
        usual += [columns_for(function.kind_of(n), usual[0])[0] for n in range(1, count)]
        for index in range(count):
            for name in columns_for(function.kind_of(index), usual[0]):
                yield call(function, [*usual[:index], name, *usual[index + 1 :]])


def columns_for(kind: str, first: str = "") -> list[str]:
    if kind == "literal":
        return ["1", "0", "-2", "5"]
    if kind == "quoted":
        return ["'x'"]
    if kind == "flag":
        return ["TRUE"]
    if kind == "variant":
        return ["parse_json(word)"]
    preferred = {
        **{kind: ["word"] for kind in ("any", "hashable", "plain", "orderable", "texts")},
        "int": ["whole"],
        "bigint": ["big"],
        "moment": ["ts"],
        "exact": ["whole"],
    }
    beside = COLUMNS.get(first, "void")
    names = [name for name, type_name in COLUMNS.items() if takes(kind, type_name, beside)]
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
        **{f"kll_sketch_get_quantile_{one}": {1: "0.5"} for one in ("bigint", "double", "float")},
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
        "to_timestamp_ltz": {1: "'yyyy'"},
        "to_timestamp_ntz": {1: "'yyyy'"},
        "printf": {0: "'%s'"},
        "from_json": {1: "'a INT, b ARRAY<STRING>, c MAP<STRING, STRUCT<d: DATE>>'"},
        "from_csv": {1: "'a INT, b DECIMAL(10, 2), c STRING'"},
        "schema_of_json": {0: """'{"a": [1]}'"""},
        "schema_of_csv": {0: "'1,x'"},
        "variant_get": {1: "'$.a'", 2: "'decimal(10,2)'"},
        "try_variant_get": {1: "'$.a'", 2: "'timestamp'"},
        "to_number": {1: "'999,999.99'"},
        "try_to_number": {1: "'$099D9'"},
        "to_char": {1: FORMATS.get(COLUMNS.get(arguments[0], ""), "'999'")},
        "to_varchar": {1: FORMATS.get(COLUMNS.get(arguments[0], ""), "'999'")},
        "to_binary": {1: "'hex'"},
        "try_to_binary": {1: "'utf-8'"},
        "date_part": {0: "'day'" if "months" not in arguments else "'month'"},
        "datepart": {0: "'second'" if "months" not in arguments else "'year'"},
        "array_join": {1: "','", 2: "'-'"},
        "regexp_extract_all": {1: "'a'", 2: "0"},
        "named_struct": {0: "'a'", 2: "'b'"},
        "map_from_entries": {0: "map_entries(counts)"},
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


NESTED = [
    "tags[0]", "people[0].name", "counts['a']", "names[1]", "place.city", "place['zip']",
    "array(1, 2.5, NULL)", "array(whole, big)", "map('a', 1, 'b', 2L)", "map(whole, money)",
    "named_struct('a', 1, 'b', tags)", "array(array(1), nums)", "array(place, place)",
    "coalesce(nums, bigs)", "CASE WHEN yes THEN nums ELSE array(1.5) END", "nums = bigs",
    "place = place", "tags < tags", "place IN (place, NULL)", "nums <=> nums",
    "CAST(nums AS ARRAY<STRING>)", "CAST(place AS STRUCT<x: STRING, y: BIGINT>)",
    "CAST(counts AS MAP<STRING, DOUBLE>)", "CAST(nums AS STRING)", "CAST(place AS STRING)",
    "TRY_CAST(tags AS ARRAY<INT>)", "CAST(word AS INTERVAL DAY TO SECOND)", "CAST(local AS DATE)",
    "CAST(span AS STRING)", "CAST(ts AS TIMESTAMP_NTZ)",
]  # fmt: skip
LAMBDAS = [
    "transform(nums, x -> x + 1)",
    "transform(nums, (x, i) -> x * i * 1.5)",
    "transform(people, p -> p.age)",
    "transform(people, p -> named_struct('n', p.name, 'a', 1L))",
    "filter(tags, t -> t LIKE 'a%')",
    "filter(nums, (x, i) -> x > i)",
    "exists(nums, x -> x > whole)",
    "forall(people, p -> p.age > 17)",
    "aggregate(nums, 0, (sum, x) -> sum + x)",
    "reduce(bigs, 0L, (sum, x) -> sum + x)",
    "aggregate(nums, 0.5D, (sum, x) -> sum + x, sum -> CAST(sum AS STRING))",
    "aggregate(nums, named_struct('n', 0, 'm', 0), (s, x) -> named_struct('n', s.n + 1, 'm', x))",
    "array_sort(nums, (a, b) -> CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END)",
    "zip_with(nums, tags, (x, t) -> concat(t, CAST(x AS STRING)))",
    "map_filter(counts, (k, v) -> v > 1)",
    "transform_keys(counts, (k, v) -> length(k))",
    "transform_values(counts, (k, v) -> v / 2)",
    "map_zip_with(counts, counts, (k, v, w) -> coalesce(v, 0) + coalesce(w, 0))",
    "transform(grid, row -> aggregate(row, 0, (sum, x) -> sum + x))",
    "transform(grid, row -> transform(row, x -> x * 2))",
    "size(filter(tags, t -> t = word))",
]
MOMENTS = ["day_", "ts", "local", "span", "months"]
LENGTHS = [
    "INTERVAL 5 MINUTES",
    "INTERVAL '1' DAY",
    "INTERVAL 2 WEEKS",
    "INTERVAL '1 02:30' DAY TO MINUTE",
    "INTERVAL '1-6' YEAR TO MONTH",
    "INTERVAL 3 MONTHS",
    "INTERVAL '1.5' SECOND",
    "INTERVAL '-2' HOURS",
    "INTERVAL 20 MILLISECONDS",
]


@pytest.mark.spark
def test_nested_values_and_lambdas_have_the_types_that_spark_gives_them(
    analyser: "SparkSession",
) -> None:
    assert [text for text in NESTED + LAMBDAS if promised(text) is None] == []
    assert differences(analyser, NESTED + LAMBDAS) == []


@pytest.mark.spark
def test_intervals_have_the_types_that_spark_gives_them(analyser: "SparkSession") -> None:
    moved = [f"{m} {sign} {i}" for m, sign, i in product(MOMENTS, "+-", [*LENGTHS, *MOMENTS])]
    moved += [f"{length} + {moment}" for moment, length in product(MOMENTS, LENGTHS)]
    moved += [f"{span} * {n}" for span, n in product([*LENGTHS, "span", "months"], ["2", "twice"])]
    moved += [f"{span} / {n}" for span, n in product([*LENGTHS, "span", "months"], ["2", "whole"])]
    moved += [f"{one} + {other}" for one, other in product(LENGTHS, LENGTHS)]
    moved += [f"-{length}" for length in LENGTHS] + ["day_ + 1", "day_ - whole", "day_ + tiny"]
    moved += [f"{one} < {other}" for one, other in product(LENGTHS, LENGTHS)]
    parts = [name for names in PARTS.values() for name in names]
    moved += [f"extract({part} FROM {moment})" for part, moment in product(parts, MOMENTS)]
    moved += [f"timestampadd({unit}, whole, {m})" for unit, m in product(UNITS, ["ts", "day_"])]
    moved += [f"timestampdiff({unit}, ts, {m})" for unit, m in product(UNITS, ["ts", "day_"])]
    moved += ["dateadd(DAY, 1, ts)", "datediff(HOUR, ts, ts)", "date_diff(MONTH, day_, day_)"]
    assert differences(analyser, moved) == []


@pytest.mark.spark
def test_every_function_of_spark_is_on_a_list(spark: "SparkSession") -> None:
    """Available, refused with advice, or refused as unsafe: none is forgotten, none is on two."""
    known = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    available = {*FUNCTIONS, *FORMS, *CAST_FUNCTIONS, *OPERATORS, *AGGREGATES, *WRITTEN_ANEW}
    available |= {"window", "session_window"}
    unsafe = {*TIME_CHANCE_PLACE, *UNSAFE}
    assert len(known) > 500
    assert [name for name in known if name not in available | unsafe | set(ADVICE)] == []
    assert sorted(available & unsafe) == sorted(available & set(ADVICE)) == []
    assert sorted(unsafe & set(ADVICE)) == []
    assert [name for name in FUNCTIONS if name not in known] == []
