"""Literals by which every batch would fail are refused before anything is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.sources.time_patterns import pattern_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import parse_expression
from headwater.sql.types.literal_checks import check_literals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOUND = [
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "yyyyMMdd", "dd/MMM/yyyy:HH:mm:ss Z", "MMMM d, y", "h:mm a",
    "yyyy[-MM[-dd]]", "HH 'o''clock'", "D", "DDD", "yyyy G", "kk:mm", "KK:mm a", "VV", "O", "OOOO",
    "xxx", "z", "L", "ss.SSSSSSSSS", "'quoted [ { text'", "yyyyyy", "..:-/ ,;!", "[yyyy", "XXXXX",
    "ZZZZZ",
]  # fmt: skip
ONLY_WRITTEN = ["EEEE", "EEE, d MMM", "Q", "qqq", "F"]
BAD = [
    "YYYY-MM-dd", "yyyy-MM-dd B", "foo", "MMMMM", "ddd", "HHH", "SSSSSSSSSS", "'open", "yyyy]",
    "{yyyy}", "yyyy#", "w", "W", "u", "e", "c", "A", "n", "N", "p", "VVV", "OO", "aa", "yyyyyyy",
    "GGGGG", "EEEEE", "QQQQQ", "FF", "XXXXXX", "zzzzz", "DDDD", "mmm", "bad", "",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SOUND + ONLY_WRITTEN)
def test_a_sound_pattern_of_time_is_admitted(pattern: str) -> None:
    assert pattern_fault(pattern) is None
    assert (pattern_fault(pattern, is_read=True) is None) == (pattern in SOUND)


@pytest.mark.parametrize("pattern", BAD)
def test_a_bad_pattern_of_time_is_refused(pattern: str) -> None:
    assert pattern_fault(pattern) is not None


@pytest.mark.spark
def test_patterns_are_sound_where_spark_takes_them(spark: SparkSession) -> None:
    """Written and read, over a row, since Spark looks at them only when it runs."""

    def works(sql: str) -> bool:
        try:
            spark.sql(
                f"SELECT {sql} FROM (SELECT timestamp_seconds(id + 1e9) AS t, "
                "CAST(id AS STRING) AS s FROM range(1))"
            ).collect()
        except Exception:
            return False
        return True

    def quoted(pattern: str) -> str:
        return "'" + pattern.replace("'", "\\'") + "'"

    taken = [p for p in SOUND + ONLY_WRITTEN if works(f"date_format(t, {quoted(p)})")]
    assert taken == SOUND + ONLY_WRITTEN
    assert [p for p in SOUND if not works(f"try_to_timestamp(s, {quoted(p)})")] == []
    unread = [p for p in ONLY_WRITTEN if not works(f"try_to_timestamp(s, {quoted(p)})")]
    assert unread == ONLY_WRITTEN
    wrongly = [p for p in BAD if p and works(f"date_format(t, {quoted(p)})")]
    assert wrongly == []


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("date_format(ts, 'YYYY')", "'Y' is no letter"),
        ("date_format(ts, host)", "a pattern is a literal"),
        ("from_unixtime(n, 'bad')", "is not Spark's"),
        ("to_date(host, 'EEEE')", "only for writing"),
        ("to_timestamp(host, 'yyyy-MM-dd B')", "'B' is no letter"),
        ("host RLIKE '(a'", "a group ( is not closed"),
        ("regexp_like(host, '[a')", "a class [ is not closed"),
        ("regexp_replace(host, '*a', '')", "'*' repeats nothing"),
        ("regexp_count(host, 'a)')", "a ) that closes nothing"),
        ("regexp_extract(host, '(a)', 2)", "group 2 of a pattern with 1 groups"),
        ("regexp_extract(host, 'a')", "group 1 of a pattern with 0 groups"),
        ("encode(host, 'latin-9')", "charset 'latin-9'"),
        ("from_utc_timestamp(ts, 'over there')", "is no time zone"),
        ("next_day(ts, 'someday')", "is no day of the week"),
        ("split_part(host, '.', 0)", "numbered from 1"),
        ("elt(3, 'a', 'b')", "value 3 of 2"),
        ("format_string('%q', n)", "is no conversion"),
        ("format_string('100%', n)", "is no conversion"),
        ("format_string('%s %s', n)", "2 values are written, 1 given"),
        ("format_string('%3$s', n)", "3 values are written, 1 given"),
        (r"host LIKE 'a\\b'", "stands before %, _ or itself"),
        ("host LIKE 'a/b' ESCAPE '/'", "stands before %, _ or itself"),
    ],
)
def test_a_literal_by_which_every_batch_would_fail_is_refused(sql: str, message: str) -> None:
    with pytest.raises(Objection) as caught:
        check_literals(parse_expression(sql))
    assert message in caught.value.message


@pytest.mark.parametrize(
    "sql",
    [
        "date_format(ts, 'yyyy-MM-dd HH:00')",
        "host RLIKE '^(?:GET|POST) (/[^ ?]*)[?]?.*$'",
        r"regexp_extract(host, '\\[([^]]+)\\]', 1)",
        "regexp_extract(host, '(?<user>[a-z]+)@', 1)",
        "regexp_replace(host, '[]a]+', '')",
        "regexp_extract(host, 'a', 0)",
        "host LIKE '100/%' ESCAPE '/'",
        r"host LIKE '\\_a%'",
        "format_string('%05.1f%% of %2$s%n', n, host)",
        "from_utc_timestamp(ts, 'Europe/Oslo')",
        "from_utc_timestamp(ts, '+02:00')",
        "next_day(ts, 'Mon')",
        "elt(2, 'a', 'b')",
        "decode(encode(host, 'UTF-8'), 'utf-8')",
    ],
)
def test_sound_literals_pass(sql: str) -> None:
    check_literals(parse_expression(sql))


@pytest.mark.parametrize("option", ["timestamp_format", "date_format"])
def test_a_source_whose_times_cannot_be_read_is_refused(option: str) -> None:
    text = f"""
    CREATE SOURCE hits (ts TIMESTAMP, d DATE)
    WITH (format = 'csv', path = 'a.log', time = 'ts', {option} = 'YYYY-MM-dd');
    CREATE STREAM n AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '5 seconds');
    """
    with pytest.raises(QueryRefused, match="'Y' is no letter of a pattern"):
        queries_in(text, at="oslo")
