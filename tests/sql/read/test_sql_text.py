"""SQL in and out: what is read is what is written again."""

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headwater.sql.read.sql_text import (
    NESTING_MAX,
    Unreadable,
    column,
    name_sql,
    offset_of,
    parse,
    parse_expression,
    sql_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "text",
    [
        "SUBSTR(a, 1, 2)",
        "NVL(a, b)",
        "IF(a > 1, 2, 3)",
        "DATE_ADD(d, 1)",
        "TO_DATE(s, 'yyyy-MM-dd')",
        "CAST(a AS DECIMAL(10, 2))",
        "TRY_CAST(a AS INT)",
        "COUNT(*) FILTER(WHERE a > 1)",
        "CASE WHEN a THEN b ELSE c END",
        "UNIX_MICROS(ts) DIV 10 - 1",
        "a RLIKE '\\\\d+'",
        "NOT a IS NULL AND NOT b IN (1, 2)",
    ],
)
def test_functions_keep_their_names_and_canonical_text_stays(text: str) -> None:
    assert sql_of(parse_expression(text)) == text


def test_every_call_is_a_node_with_its_own_name() -> None:
    tree = parse("SELECT sum(a), upper(b), window(ts, '1s'), no_such_thing(1) FROM t")
    names = [call.this for call in tree.find_all(exp.Anonymous)]
    assert sorted(names) == ["no_such_thing", "sum", "upper", "window"]


@given(st.text(max_size=20).filter(lambda text: "${" not in text))
def test_any_string_survives_being_written_and_read(text: str) -> None:
    written = sql_of(exp.Literal.string(text))
    read = parse_expression(written)
    assert isinstance(read, exp.Literal)
    assert read.name == text
    assert sql_of(read) == written


@pytest.mark.spark
def test_spark_reads_our_strings_as_we_mean_them(spark: "SparkSession") -> None:
    texts = [
        "plain", "it's", 'say "x"', "a\\b", "\\d+\\", "tab\t line\n return\r", "%_\\%\\_", "é𝄞",
        "\x00\x01\x1a", "\\u0041", "'' \\'", "--x /* y */ ;", "$ {y} :z", "\b\f\v",
    ]  # fmt: skip
    asked = ", ".join(f"{sql_of(exp.Literal.string(text))} AS c{i}" for i, text in enumerate(texts))
    assert list(spark.sql(f"SELECT {asked}").collect()[0]) == texts


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("SELECT 'abc", 7, "does not end"),
        ("SELECT a b c", 11, "not expected here"),
        ("SELECT (1", 8, "wanted `)` here"),
        ("SELECT 1; SELECT 2", 0, "wanted one statement, got 2"),
        ("SELECT 'it''s'", 11, "two strings side by side"),
        ("SELECT /*+ X */ 1", 7, "hints are not available"),
        ("SELECT " + "(" * (NESTING_MAX + 1), 7 + NESTING_MAX, "nest deeper"),
        ("SELECT " + "NOT " * 5000 + "a", 0, "not understood"),
        ("SELECT a" + " + a" * 20_000, None, "longer than"),
        ("SELECT 'a${env:PATH}'", 9, "${ is not available"),
        ("", 0, "wanted one statement"),
    ],
)
def test_what_is_no_statement_says_where(text: str, offset: int | None, message: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(message)) as caught:
        parse(text)
    assert offset is None or caught.value.offset == offset


@given(st.text(alphabet="ab'`\"\\()-*/;,.\n 1=<>!|&%@#$[]{}", max_size=30))
def test_garbage_is_read_or_refused_never_worse(text: str) -> None:
    try:
        tree = parse(f"SELECT {text}")
    except Unreadable as error:
        offset = error.offset
    else:
        offset = 0
        assert sql_of(tree)
    assert 0 <= offset <= len(text) + 8


def test_names_are_quoted_where_they_must_be() -> None:
    assert name_sql("domain") == "domain"
    assert name_sql("end") == "`end`"
    assert name_sql("a`b") == "`a``b`"
    assert sql_of(column("start", "window")) == "`window`.start"


def test_a_node_knows_its_place() -> None:
    tree = parse("SELECT a,\n  upper(bb)")
    call = tree.find(exp.Anonymous)
    assert call is not None
    assert offset_of(call) == 12
    assert offset_of(exp.Null()) is None
