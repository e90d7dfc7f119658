"""``validate``: every fault of a file at once, each with its place; and warnings."""

from __future__ import annotations

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.sql.validate.finding import Severity
from headwater.sql.validate.validate import all_faults, validate

SOURCE = """CREATE SOURCE access (
  ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, ms DOUBLE, geo STRUCT<country: STRING>
) WITH (format = 'json', path = 'access/*.log', time = 'ts');
"""


W = "window(ts, '1 minute')"


def found(text: str) -> list[tuple[str, str]]:
    """What is underlined, and the first words that are said of it."""
    lines = text.splitlines()
    findings = validate(text)
    places = [
        lines[one.line - 1][one.column - 1 : one.end_column - 1]
        if one.line == one.end_line
        else lines[one.line - 1][one.column - 1 :]
        for one in findings
    ]
    return [(place, one.message) for place, one in zip(places, findings, strict=True)]


def underlined(text: str) -> list[str]:
    return [place for place, _ in found(text)]


def test_a_sound_file_has_no_findings() -> None:
    stream = "CREATE STREAM s AS SELECT domain, count(*) AS n FROM access"
    assert validate(f"{SOURCE}{stream} GROUP BY window(ts, '1 minute'), domain;") == []


def test_all_faults_of_a_file_are_found_at_once() -> None:
    text = """
CREATE SOURCE access (
  ts TIMESTAMP, domain STRING, status INT, bytes BIGNT, ms DOUBLE
) WITH (format = 'csv', path = 'access/*.log', time = 'ts', delimeter = ',');

CREATE STREAM busy WITH (deadlin = '10 s', disorder = 'soon') AS
SELECT domian, uper(hst) AS h, rand() AS m, sum(domain) + avg(mss) AS x, count(*) AS n
FROM acces
WHERE staus < 400 AND domain LIKE 3
GROUP BY window(ts, '1 minute', '7 hours'), domian
HAVING nn > 10 AND count(*) > 5
ORDER BY request DESC, n
LIMIT 0;

CREATE STREM y AS SELECT 1;
"""
    assert underlined(text) == [
        "BIGNT",
        "delimeter",
        "deadlin",
        "'soon'",
        "domian",
        "uper(hst)",
        "hst",
        "rand()",
        "sum(domain)",
        "mss",
        "acces",
        "staus",
        "3",
        "'7 hours'",
        "domian",
        "nn",
        "request",
        "0",
        "STREM",
    ]


def test_what_hangs_on_a_fault_is_not_found_wrong_because_of_it() -> None:
    """Neither what reads a broken column or alias, nor what is grouped by a broken key."""
    text = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGNT)
WITH (format = 'csv', path = 'a.log', time = 'ts');
CREATE STREAM s AS
SELECT upper(domain) AS d, sum(bytes) AS b, rand() AS r, count(*) AS n FROM access
WHERE bytes > 10
GROUP BY window(ts, '1 minute'), uper(domain)
HAVING r > 'x' AND b < 3
ORDER BY r;
"""
    assert underlined(text) == ["BIGNT", "rand()", "uper(domain)"]


def test_a_stream_whose_source_is_not_understood_is_named() -> None:
    text = """
CREATE SOURCE access (ts TIMESTAMP, x INT) WITH (format = 'cvs', path = 'a.log', time = 'ts');
CREATE STREAM s WITH (root = '', deadline = 'x') AS
SELECT y FROM access GROUP BY window(ts, '1 s');
"""
    findings = validate(text)
    assert [one.severity for one in findings] == [Severity.FAULT, Severity.NOTE]
    assert "did you mean `csv`?" in findings[0].message
    assert "not looked at further" in findings[1].message


def test_faults_of_two_streams_are_both_found() -> None:
    text = f"""{SOURCE}
CREATE STREAM a AS SELECT domin, count(*) AS n FROM access GROUP BY window(ts, '1 minute'), domin;
CREATE STREAM b AS SELECT domain, count(*) AS n FROM access GROUP BY domain;
CREATE STREAM b AS SELECT count(*) AS n FROM access GROUP BY window(ts, '1 minute');
"""
    said = [message for _, message in found(text)]
    assert sum("no column `domin`" in one for one in said) == 2
    assert sum("is missing" in one for one in said) == 1
    assert sum("`b` is made twice" in one for one in said) == 1


def test_a_text_that_does_not_end_is_one_fault() -> None:
    (only,) = validate(f"{SOURCE} CREATE STREAM a AS SELECT 'x")
    assert "does not end" in only.message


def test_nothing_at_all_is_a_fault() -> None:
    assert [one.severity for one in validate("")] == [Severity.FAULT]


def test_the_place_is_underlined_for_people() -> None:
    text = f"{SOURCE}CREATE STREAM s AS\n\tSELECT domian FROM access GROUP BY window(ts, '1 s');"
    (only,) = validate(text)
    assert only.text(text).splitlines()[1:] == [
        "   SELECT domian FROM access GROUP BY window(ts, '1 s');",
        "          ^^^^^^",
    ]
    assert (only.line, only.column, only.end_line, only.end_column) == (5, 9, 5, 15)
    assert only.statement == "s"


def test_a_percentile_within_a_group_is_one_fault() -> None:
    select = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p FROM access"
    text = f"{SOURCE}CREATE STREAM s AS {select} GROUP BY window(ts, '1 minute');"
    (only,) = validate(text)
    assert "write percentile_approx(ms, 0.5)" in only.message


def test_a_growing_state_of_sessions_is_underlined() -> None:
    select = "SELECT domain, count(*) AS n, collect_set(upper(domain)) AS c FROM access"
    text = f"{SOURCE}CREATE STREAM s AS {select} GROUP BY session_window(ts, '1 minute'), domain;"
    (only,) = validate(text)
    assert "sessions have no growing states" in only.message
    assert underlined(text) == ["upper(domain)"]


WARNED = {
    "a key that is a timestamp": (
        "SELECT ts, count(*) AS n FROM access GROUP BY window(ts, '1 minute'), ts",
        "ts",
        "is a timestamp",
    ),
    "a key that is a double": (
        "SELECT ms, count(*) AS n FROM access GROUP BY window(ts, '1 minute'), ms",
        "ms",
        "write round(ms, 2)",
    ),
    "LIMIT without ORDER BY": (
        "SELECT domain, count(*) AS n FROM access GROUP BY window(ts, '1 minute'), domain LIMIT 5",
        "5",
        "with ORDER BY",
    ),
    "LIMIT by the window alone": (
        "SELECT domain, count(*) AS n FROM access GROUP BY window(ts, '1 minute'), domain "
        "ORDER BY window LIMIT 5",
        "5",
        "with ORDER BY",
    ),
    "a comparison with NULL": (
        "SELECT count(*) AS n FROM access WHERE domain = NULL GROUP BY window(ts, '1 minute')",
        "domain",
        "write IS NULL",
    ),
}


@pytest.mark.parametrize("what", WARNED)
def test_what_is_probably_wrong_is_a_warning(what: str) -> None:
    select, place, said = WARNED[what]
    text = f"{SOURCE}CREATE STREAM s AS {select};"
    queries_in(text)
    (only,) = validate(text)
    assert only.severity is Severity.WARNING
    assert said in only.message
    assert underlined(text) == [place]


def test_a_key_that_is_cut_to_the_hour_is_no_warning() -> None:
    select = "SELECT date_trunc('HOUR', ts) AS h, count(*) AS n FROM access"
    group = "GROUP BY window(ts, '1 day'), date_trunc('HOUR', ts)"
    assert validate(f"{SOURCE}CREATE STREAM s AS {select} {group};") == []


def test_a_deadline_before_any_site_has_closed_is_a_warning() -> None:
    stream = "CREATE STREAM s WITH (deadline = '1 s', disorder = '5 s') AS SELECT count(*) AS n"
    (only,) = validate(f"{SOURCE}{stream} FROM access GROUP BY window(ts, '1 minute');")
    assert "raise deadline or lower disorder" in only.message


def test_a_source_that_nobody_reads_is_a_warning() -> None:
    other = SOURCE.replace("access (", "other (")
    stream = "CREATE STREAM s AS SELECT count(*) AS n FROM access GROUP BY window(ts, '1 minute');"
    (only,) = validate(SOURCE + other + stream)
    assert "no stream of this file reads source `other`" in only.message


def test_a_refusal_names_the_other_faults_too() -> None:
    text = f"{SOURCE}CREATE STREAM s AS SELECT a, b FROM access GROUP BY window(ts, '1 minute');"
    with pytest.raises(QueryRefused) as refused:
        queries_in(text)
    assert "2 faults" in str(all_faults(text, refused.value))
    assert "no column `b`" in str(all_faults(text, refused.value))


def test_faults_inside_a_subquery_have_their_own_places() -> None:
    """What hangs on a broken subquery is not found wrong because of it."""
    text = SOURCE + (
        "CREATE STREAM s AS\n"
        "WITH errors AS (SELECT ts, upper(domian) AS d, bytes FROM access WHERE statsu > 499)\n"
        "SELECT d, n FROM (\n"
        "  SELECT d, count(*) AS n, sum(bites) AS b FROM errors\n"
        "  GROUP BY window(ts, '1 minute'), d\n"
        ") WHERE n > 3 ORDER BY m LIMIT 5;"
    )
    assert [place for place, _ in found(text)] == ["domian", "statsu", "bites", "m"]
    assert found(text)[-1][1] == "no column `m` in the subquery; columns: d, n, b"


@pytest.mark.parametrize(
    ("stream", "places"),
    [
        ("SELECT domain, upper(domain) AS u, coalesce(ms, 0) AS c FROM access", ["domain"]),
        ("SELECT DISTINCT ON (domain) domain, ts FROM access", ["domain"]),
        (
            "SELECT domain, count(*) AS n FROM access "
            "GROUP BY window(ts, '1 hour'), session_window(ts, '5 minutes'), domain",
            ["session_window(ts, '5 minutes')"],
        ),
        (
            "SELECT domain, count(*) AS n FROM access "
            "GROUP BY ROLLUP (window(ts, '1 hour'), domain)",
            ["window(ts, '1 hour')"],
        ),
    ],
)
def test_a_fault_is_said_once_and_where_it_stands(stream: str, places: list[str]) -> None:
    assert underlined(f"{SOURCE}CREATE STREAM s AS {stream};") == places


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("count(DISTINCT *)", "count(DISTINCT a, b)"),
        ("any_value(domain) IGNORE NULLS", "leave it out"),
        ("collect_list(DISTINCT domain)", "collect_set(x)"),
        ("max(ts) - min(ts)", "timestampdiff(SECOND"),
    ],
)
def test_what_spark_has_and_we_have_otherwise_comes_with_what_to_write(
    call: str, advice: str
) -> None:
    stream = f"CREATE STREAM s AS SELECT {call} AS x FROM access GROUP BY window(ts, '1 hour');"
    ((_, message),) = found(f"{SOURCE}{stream}")
    assert advice in message
    assert "#call" not in message


@pytest.mark.parametrize(
    "select",
    [
        "k, v, count(*) AS n FROM access JOIN other o ON access.domain = o.k GROUP BY {W}, k, v",
        "tag, count(*) AS n FROM access LEFT JOIN LATERAL f(domain) t(tag) GROUP BY {W}, tag",
        "x.domain FROM access x, access y WHERE x.ms = y.ms GROUP BY {W}, x.domain ORDER BY y.ms",
    ],
)
def test_of_a_join_nothing_is_said_but_that_there_are_none(select: str) -> None:
    text = f"{SOURCE}CREATE STREAM s AS SELECT {select.replace('{W}', W)};"
    (message,) = [one.message for one in validate(text)]
    assert message.startswith("joins are not available")


def test_a_key_that_can_t_be_one_is_said_once() -> None:
    text = (
        f"{SOURCE}CREATE STREAM s AS SELECT map(domain, 1) AS m, count(*) FROM access GROUP BY {W}"
    )
    (message,) = [one.message for one in validate(f"{text}, map(domain, 1);")]
    assert message.startswith("`MAP(domain, 1)` has a map in it")


def test_a_text_that_is_called_as_a_column_is_warned_of() -> None:
    text = f'{SOURCE}CREATE STREAM s AS SELECT "domain", count(*) AS n FROM access GROUP BY {W}, 1;'
    (found_,) = validate(text)
    assert found_.severity is Severity.WARNING
    assert found_.message.startswith("'domain' is a text here, the same in every row")


@pytest.mark.parametrize(
    "stream",
    [
        "s WITH (window = '1 minute') AS SELECT domain, count(*) AS n FROM access GROUP BY ALL",
        "s WITH (window = '1m') AS SELECT domain, count(*) AS n FROM access GROUP BY window, 1",
        f"s AS SELECT {W} AS w, geo.country, sum(ms) AS b FROM access GROUP BY ALL HAVING b > 1",
        "s WITH (window = '1m') AS SELECT window_time(window) t, domain FROM access GROUP BY ALL",
        f"s AS SELECT named_struct('a', Domain).a AS a, count(*) AS n FROM access GROUP BY {W}, 1",
        f"s AS SELECT concat(domain, status, ts) AS a, count(*) AS n FROM access GROUP BY {W}, 1",
    ],
)
def test_what_is_natural_to_write_is_sound(stream: str) -> None:
    assert validate(f"{SOURCE}CREATE STREAM {stream};") == []
