"""The SQL that judges groups: what it keeps of the root part, and what it wraps."""

import pytest
from query_kit import queries_in

from headwater.plan.query import Query
from headwater.sql.compile import question_of
from headwater.sql.read.sql_text import parse
from headwater.sql.write.judge_groups import (
    NotJudged,
    write_left_out_sql,
    write_tolerant_sql,
    write_verdict_sql,
)

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT, price DECIMAL(10,2))
WITH (format = 'csv', path = '*.csv', time = 'ts');
"""


def compiled(select: str) -> Query:
    (query,) = queries_in(f"{SOURCE} CREATE STREAM s AS {select};", at="r")
    return query


def test_every_item_is_judged_inside_the_call_that_catches() -> None:
    query = compiled("SELECT domain, 1 / count(*) AS x FROM hits GROUP BY window(ts, '1s'), domain")
    assert write_verdict_sql(query.program.root_sql) == (
        "SELECT __group, NOT __mark IS NULL AS is_rejected FROM (SELECT __group, "
        "TRY_TO_BINARY(CASE WHEN TRUE THEN CONCAT('k', CAST(XXHASH64("
        "`window`, domain, 1 / count_1) AS STRING)) ELSE 'r' END, 'utf-8') AS __mark "
        "FROM panes) "
        "WHERE __mark IS NULL OR __mark = X'72'"
    )


def test_having_decides_before_the_items_are_looked_at() -> None:
    query = compiled(
        "SELECT domain, 1 / count(*) AS x FROM hits GROUP BY window(ts, '1s'), domain "
        "HAVING count(*) > 0"
    )
    assert "CASE WHEN count_1 > 0 THEN CONCAT" in write_verdict_sql(query.program.root_sql)


def test_what_is_ordered_by_and_not_selected_is_judged_too() -> None:
    query = compiled(
        "SELECT domain FROM hits GROUP BY window(ts, '1s'), domain "
        "ORDER BY 1 / sum(bytes) DESC LIMIT 3"
    )
    verdict = write_verdict_sql(query.program.root_sql)
    assert "XXHASH64(`window`, domain, 1 / CAST(sum_1 AS BIGINT))" in verdict
    assert "LIMIT" not in verdict
    assert "ROW_NUMBER" not in verdict


def test_a_root_part_that_merges_panes_itself_is_judged_as_it_was() -> None:
    former = "SELECT `window`, domain, 1 / SUM(count_1) AS x FROM panes GROUP BY `window`, domain"
    verdict = write_verdict_sql(f"{former} HAVING SUM(count_1) > 0")
    assert "CASE WHEN SUM(count_1) > 0 THEN CONCAT" in verdict
    assert "FROM panes GROUP BY __group, `window`, domain)" in verdict


def test_a_root_part_of_another_form_is_not_judged() -> None:
    with pytest.raises(NotJudged, match="wanted SELECT … FROM panes, got"):
        write_verdict_sql("SELECT nothing FROM elsewhere")


def test_the_reference_finds_its_groups_over_records_and_not_over_partials() -> None:
    query = compiled(
        "SELECT domain AS d, sum(bytes) FILTER (WHERE bytes > 0) AS b, avg(price) AS a, "
        "max(bytes) AS m FROM hits WHERE bytes < 9 GROUP BY window(ts, '1s'), domain "
        "HAVING b > 1 ORDER BY sum(price) LIMIT 2"
    )
    question = question_of(query)
    for text in (write_tolerant_sql(question), write_left_out_sql(question)):
        parse(text)
        assert "sum_1" not in text
        assert (
            "CAST(TRY_SUM(CAST(bytes AS DECIMAL(38, 0))) FILTER(WHERE bytes > 0) AS BIGINT)" in text
        )
        assert "TRY_AVG(price)" in text
        assert "TRY_MAX" not in text
        assert "WHERE NOT ts IS NULL AND (bytes < 9) GROUP BY WINDOW(ts, '1 second'), do" in text
    assert "ROW_NUMBER" in write_tolerant_sql(question)


def test_a_column_of_the_reference_is_computed_only_of_groups_in_the_answer() -> None:
    """Spark may compute columns before HAVING is looked at, and one would divide by zero."""
    query = compiled(
        "SELECT 10 / count(bytes) AS x FROM hits GROUP BY window(ts, '1s') HAVING count(bytes) > 1"
    )
    column, _ = write_tolerant_sql(question_of(query)).split(" THEN 10 / COUNT(bytes) END AS x")
    assert column.endswith("<> X'72')")
