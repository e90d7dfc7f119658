"""Columns by the names of a header: in any order, with others between, differently in each file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headwater.algebra.rows.columns import Column
from headwater.plan.sources.source import Source, SourceFormat
from headwater.spark.lines.delimited import delimited
from headwater.spark.lines.fields import HEAD, LINE
from headwater.spark.lines.headers import Layout, layout_of
from headwater.spark.lines.parse import Parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = "2026-05-01T12:00:00Z"
BAD = "bad"


def source(format_: SourceFormat = SourceFormat.CSV, **options: str) -> Source:
    columns = (Column("ts", "timestamp"), Column("name", "string"), Column("n", "int"))
    said = tuple({"header": "true", **options}.items())
    return Source("s", columns, format_, "*", "ts", said)


def parsed(
    spark: SparkSession,
    files: Sequence[tuple[str, Sequence[str]]],
    of: Source | None = None,
    *,
    is_quote_free: bool = False,
) -> list[Any]:
    """For files, each a header and lines: name and number of each record, or ``BAD``."""
    headers = tuple(dict.fromkeys(header for header, _ in files))
    rows = [(line, headers.index(header)) for header, lines in files for line in lines]
    lines = pa.array([line for line, _ in rows], pa.string())
    heads = pa.array([head for _, head in rows], pa.int32())
    spark.createDataFrame(pa.table({LINE: lines, HEAD: heads})).createOrReplaceTempView("lines")
    parser = Parser(of or source(), (frozenset(["name", "n"]),), is_quote_free, headers)
    found = spark.sql(parser.typed_sql("lines")).toArrow().to_pylist()
    return [BAD if row["__bad_0"] else (row["name"], row["n"]) for row in found]


@pytest.mark.parametrize(
    ("header", "layout"),
    [
        ("ts,name,n", Layout(3, (0, 1, 2))),
        ("N,x,Name,TS", Layout(4, (3, 2, 0))),
        ('\ufeff"ts", "name" , n,', Layout(4, (0, 1, 2))),
        ("ts,name", Layout(-1, fault="the header of this file lacks column `n`")),
        ("ts,n,N,name", Layout(-1, fault="the header of this file has more than one column `n`")),
        ("ts,name,n,x,x", Layout(5, (0, 1, 2))),
        ("", Layout(-1, fault="the header of this file is not known")),
    ],
)
def test_a_header_says_where_each_column_stands(header: str, layout: Layout) -> None:
    assert layout_of(header, ["ts", "name", "n"], delimited(source())) == layout


def test_a_header_with_bytes_of_another_encoding_is_said_to_have_them() -> None:
    fault = layout_of("ts,name,n\ufffd", ["ts", "name", "n€"], delimited(source())).fault
    assert fault.startswith(
        "the header of this file lacks column `n€`, and has bytes that are not of"
    )
    assert "encoding = " in fault


@pytest.mark.spark
@pytest.mark.parametrize("is_quote_free", [False, True])
def test_one_header_gives_the_columns_by_name_and_is_no_record(
    spark: SparkSession, is_quote_free: bool
) -> None:
    lines = ["n,more,name,ts", f"1,x,a,{T}", "", f"2,x,b,{T}", "n,more,name,ts", f"3,x,{T}"]
    found = parsed(spark, [("n,more,name,ts", lines)], is_quote_free=is_quote_free)
    assert found == [("a", 1), ("b", 2), BAD]


@pytest.mark.spark
@pytest.mark.parametrize("is_quote_free", [False, True])
def test_each_file_is_read_by_its_own_header(spark: SparkSession, is_quote_free: bool) -> None:
    files = [
        ("ts,name,n", [f"{T},a,1", "n,name,ts"]),
        ("n,name,ts", [f"2,b,{T}", "n,name,ts", "ts,name,n"]),
        ("n,ts,x,name", [f"3,{T},,c"]),
        ("n,ts,x", [f"4,{T},d", "n,ts,x"]),
    ]
    found = parsed(spark, files, is_quote_free=is_quote_free)
    assert found == [("a", 1), BAD, ("b", 2), BAD, ("c", 3), BAD]


@pytest.mark.spark
def test_quoted_lines_have_as_many_fields_as_their_own_header(spark: SparkSession) -> None:
    files = [
        ("ts,name,n", [f'{T},"a,1",1', f'{T},"a,1",1,2', f"{T},plain,7"]),
        ("n,x,y,name,ts", [f'2,,"z,","b ""2""",{T}', f'"2",b,{T}']),
    ]
    assert parsed(spark, files) == [("a,1", 1), BAD, ("plain", 7), ('b "2"', 2), BAD]


@pytest.mark.spark
def test_a_quoted_value_may_have_line_breaks_in_it(spark: SparkSession) -> None:
    lines = [f'{T},"two\nlines, three\r\n""words""",1', f'{T},"\n",2', f"{T},a,3"]
    found = parsed(spark, [("ts,name,n", lines)])
    assert found == [('two\nlines, three\r\n"words"', 1), ("\n", 2), ("a", 3)]


def test_headers_alike_cost_no_more_than_columns_in_order() -> None:
    """No CASE over the header where all of them say the same."""
    one = Parser(source(), (frozenset(["n"]),), True, ("n,name,ts",)).typed_sql("lines")
    assert HEAD not in one
    assert "CASE" not in one
    two = Parser(source(), (frozenset(["n"]),), True, ("n,name,ts", "N,NAME,TS"))
    text = two.typed_sql("lines")
    assert "get(__fields, 0)" in text
    assert "size(__fields) <> 3" in text
