"""Where Spark is not followed to the letter: each entry of the guide's table, held to the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.write.write_program import SETTINGS

HOUSE = Path(__file__).resolve().parents[2]
SOURCE = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, status INT, bytes BIGINT)
WITH (format = 'csv', path = 'a.log', time = 'ts');
"""
WINDOW = "window(ts, '1 minute')"


def asked(select: str) -> Query:
    text = f"{SOURCE} CREATE STREAM s AS {select};"
    (query,) = queries_in(text)
    return query


def refused(select: str) -> str:
    with pytest.raises(QueryRefused) as error:
        asked(select)
    return str(error.value)


def test_every_entry_of_the_table_names_a_test_that_is_there() -> None:
    page = (HOUSE / "docs" / "guide" / "sql.md").read_text("utf-8")
    table = page.partition("## Where Spark is not followed to the letter")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        (named,) = re.findall(r"`(tests/[\w/.]+(?:::\w+)?)` \|$", row)
        file, _, function = named.partition("::")
        assert f"def {function}" in (HOUSE / file).read_text("utf-8"), row


def test_a_sum_is_wide_until_it_is_finished() -> None:
    program = asked(f"SELECT sum(bytes) AS s FROM access GROUP BY {WINDOW}").program
    assert [one.type for one in program.partials] == ["decimal(38,0)"]
    assert [one.type for one in program.output] == ["bigint"]


def test_order_and_limit_hold_for_each_window() -> None:
    select = "SELECT domain, count(*) AS n FROM access GROUP BY {}, domain ORDER BY n LIMIT 3"
    program = asked(select.format(WINDOW)).program
    assert "PARTITION BY `window` ORDER BY n" in program.root_sql
    assert "PARTITION BY `window` ORDER BY n" in program.central_sql


def test_ties_are_broken_by_the_remaining_columns() -> None:
    select = f"SELECT domain, count(*) AS n FROM access GROUP BY {WINDOW}, domain"
    assert "ORDER BY n DESC, domain" in asked(f"{select} ORDER BY n DESC LIMIT 3").program.root_sql
    assert "ORDER BY domain, n" in asked(f"{select} LIMIT 3").program.root_sql


def test_a_name_that_means_two_things_is_refused() -> None:
    select = f"SELECT status, sum(bytes) AS domain FROM access GROUP BY {WINDOW}, status, domain"
    said = refused(f"{select} HAVING domain > 3")
    assert "give the alias another name" in said


@pytest.mark.parametrize("call", ["now()", "rand()", "current_date()", "input_file_name()"])
def test_time_chance_and_place_are_refused(call: str) -> None:
    said = refused(f"SELECT {call} AS x, count(*) AS n FROM access GROUP BY {WINDOW}")
    assert "sites would not agree" in said


@pytest.mark.parametrize("call", ["first(domain)", "last(domain)"])
def test_what_depends_on_the_order_of_reading_is_refused(call: str) -> None:
    said = refused(f"SELECT {call} AS x FROM access GROUP BY {WINDOW}")
    assert "order in which records are read" in said


@pytest.mark.parametrize("call", ["median(bytes)", "percentile(bytes, 0.5)"])
def test_exact_percentiles_are_refused(call: str) -> None:
    said = refused(f"SELECT {call} AS x FROM access GROUP BY {WINDOW}")
    assert "needs all values in one place" in said


def test_windows_have_fixed_lengths() -> None:
    shape = "SELECT count(*) AS n FROM access GROUP BY window(ts, {})"
    assert "of fixed size" in refused(shape.format("'1 month'"))
    assert "at least 100 milliseconds" in refused(shape.format("'1 second', '990 milliseconds'"))
    assert "at most 10000" in refused(shape.format("'1 day', '1 second'"))


def test_settings_are_the_same_everywhere() -> None:
    program = asked(f"SELECT count(*) AS n FROM access GROUP BY {WINDOW}").program
    assert program.settings == SETTINGS
    assert dict(SETTINGS)["spark.sql.ansi.enabled"] == "true"
    assert dict(SETTINGS)["spark.sql.session.timeZone"] == "UTC"


def test_two_strings_side_by_side_are_refused() -> None:
    said = refused(f"SELECT 'a' 'b' AS x, count(*) AS n FROM access GROUP BY {WINDOW}")
    assert "two strings side by side" in said


def test_operators_on_bits_want_brackets() -> None:
    said = refused(f"SELECT max(status | bytes + 1) AS x FROM access GROUP BY {WINDOW}")
    assert "write brackets" in said


def test_a_stream_has_a_window() -> None:
    said = refused("SELECT domain, count(*) AS n FROM access GROUP BY domain")
    assert "a stream answers by windows" in said


def test_the_window_orders_nothing() -> None:
    """Each has an answer of its own, and they come one after the other."""
    select = f"SELECT window, domain, count(*) AS n FROM access GROUP BY {WINDOW}, domain"
    plain = asked(select).program
    assert asked(f"{select} ORDER BY window DESC").program.root_sql == plain.root_sql
    by_both = asked(f"{select} ORDER BY window, n DESC LIMIT 3").program
    assert by_both.root_sql == asked(f"{select} ORDER BY n DESC LIMIT 3").program.root_sql
    alias = f"SELECT {WINDOW} AS w, count(*) AS n FROM access GROUP BY w"
    assert asked(f"{alias} ORDER BY 1").program.root_sql == asked(alias).program.root_sql
    rows = f"SELECT {WINDOW} AS w, domain FROM access"
    assert asked(f"{rows} ORDER BY w, domain").program.root_sql == (
        asked(f"{rows} ORDER BY domain").program.root_sql
    )


@pytest.mark.parametrize(
    ("call", "stated"),
    [
        ("any_value(status)", "MIN(status)"),
        ("min_by(domain, status)", "NAMED_STRUCT('__by', status, '__value', domain)"),
        ("collect_list(status)", "SORT_ARRAY(COLLECT_LIST(status))"),
        ("mode(status)", "MODE(status, TRUE)"),
    ],
)
def test_what_one_spark_leaves_open_is_stated(call: str, stated: str) -> None:
    """The reference is asked for the value that is promised."""
    program = asked(f"SELECT {call} AS x FROM access GROUP BY {WINDOW}").program
    assert stated in program.central_sql


def test_top_k_counts_all_values() -> None:
    shape = f"SELECT {{}} AS x FROM access GROUP BY {WINDOW}"
    assert not asked(shape.format("approx_top_k(status, 3)")).bounds
    assert "it takes no size of a sketch" in refused(shape.format("approx_top_k(status, 3, 1000)"))


def test_percentiles_are_near_in_value() -> None:
    shape = f"SELECT {{}} AS x FROM access GROUP BY {WINDOW}"
    (bounded,) = asked(shape.format("percentile_approx(bytes, 0.5)")).bounds.columns
    assert bounded.bound.size == 0.01
    said = refused(shape.format("percentile_approx(bytes, 0.5, 10000)"))
    assert "an accuracy in ranks from 1 to 1114" in said
