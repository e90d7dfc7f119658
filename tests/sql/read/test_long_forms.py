"""Forms of Spark SQL that are read as the longer one that they mean."""

import pytest

from headwater.sql.read.sql_text import canonical, parse, sql_of


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a LIKE ANY ('x', 'y')", "(a LIKE 'x' OR a LIKE 'y')"),
        ("a ILIKE SOME ('x')", "(a ILIKE 'x')"),
        ("a LIKE ALL ('x', b)", "(a LIKE 'x' AND a LIKE b)"),
        ("a NOT LIKE ANY ('x', 'y')", "(NOT a LIKE 'x' OR NOT a LIKE 'y')"),
        ("NOT a LIKE ANY ('x', 'y')", "NOT (a LIKE 'x' OR a LIKE 'y')"),
        ("decode(a, 1, 'x')", "CASE WHEN a <=> 1 THEN 'x' END"),
        (
            "decode(a, 1, 'x', NULL, 'y', 'z')",
            "CASE WHEN a <=> 1 THEN 'x' WHEN a <=> NULL THEN 'y' ELSE 'z' END",
        ),
        ("decode(a, 'utf-8')", "DECODE(a, 'utf-8')"),
        ("window_time(window)", "TIMESTAMPADD(MICROSECOND, -1, window.end)"),
        ("window_time(ts)", "WINDOW_TIME(ts)"),
    ],
)
def test_a_short_form_is_read_as_the_long_one(written: str, read: str) -> None:
    assert canonical(written) == canonical(read)
    assert canonical(canonical(written)) == canonical(written)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("FROM r, LATERAL explode(tags) AS t(tag)", "FROM r LATERAL VIEW explode(tags) t AS tag"),
        (
            "FROM r CROSS JOIN LATERAL explode(tags) AS t(tag) JOIN LATERAL explode(t.tag) u(b)",
            "FROM r LATERAL VIEW explode(tags) t AS tag LATERAL VIEW explode(t.tag) u AS b",
        ),
    ],
)
def test_a_generator_beside_the_source_is_a_view(written: str, read: str) -> None:
    assert sql_of(parse(f"SELECT 1 {written}")) == sql_of(parse(f"SELECT 1 {read}"))


@pytest.mark.parametrize(
    "join",
    [
        "JOIN s ON true",
        ", LATERAL explode(a) t(b), s",
        "JOIN LATERAL explode(a) t(b) ON b = 1",
        "LEFT JOIN LATERAL explode(a) t(b)",
    ],
)
def test_a_join_stays_one(join: str) -> None:
    assert parse(f"SELECT 1 FROM r {join}").args.get("laterals") is None
