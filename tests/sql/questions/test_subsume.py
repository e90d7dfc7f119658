"""Whether a stream's panes have what a question asks: yes with how, or no with what is missing."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.plan.query import Query
from headwater.sql.questions.subsume import subsume, why_not

SOURCE = """
CREATE SOURCE requests (at TIMESTAMP, domain STRING, status INT, bytes BIGINT, ms DOUBLE,
                        tags ARRAY<STRING>)
WITH (format = 'json', path = '*.json', time = 'at');
"""
NOW_US = 1_800_000_000_000_000
ASKED = "begin = '2026-05-01', extent = '1 hour', window = '1 hour every 10 minutes'"
HITS = (
    "SELECT window.start, domain, status, ms, upper(domain) AS big, count(*) AS n, "
    "sum(bytes) AS b, avg(ms) AS m FROM requests WHERE bytes > 0 AND domain IS NOT NULL "
    "GROUP BY window(at, '10 seconds'), domain, status, ms, upper(domain) "
    "HAVING n > 3 ORDER BY n DESC"
)
KEPT = "FROM requests WHERE domain IS NOT NULL AND (bytes > 0)"


def compiled(select: str, *, options: str = "", source: str = SOURCE) -> Query:
    options = f"WITH ({options})" if options else ""
    (query,) = queries_in(
        f"{source} CREATE STREAM s {options} AS {select};", at="home", now_us=NOW_US
    )
    return query


def asked(select: str, options: str = ASKED) -> Query:
    return compiled(select, options=options)


STREAM = compiled(HITS)


@pytest.mark.parametrize(
    ("select", "sql"),
    [
        (f"SELECT count(*) {KEPT}", "SELECT pane, count_1 FROM cube"),
        (
            f"SELECT status, sum(bytes), count(*) {KEPT} AND domain = 'a' GROUP BY status",
            "SELECT pane, status, sum_2 AS sum_1, count_1 AS count_2 FROM cube "
            "WHERE (domain = 'a')",
        ),
        (
            f"SELECT upper(domain) AS d, avg(ms) {KEPT} GROUP BY upper(domain)",
            "SELECT pane, big AS d, sum_3 AS sum_1, count_4 AS count_2 FROM cube",
        ),
        (
            f"SELECT status DIV 100 AS k, count(*) {KEPT} AND (status = 1 OR domain LIKE 'a%') "
            "AND status < 9 GROUP BY status DIV 100",
            "SELECT pane, CAST(status DIV 100 AS BIGINT) AS k, count_1 FROM cube "
            "WHERE (status = 1 OR domain LIKE 'a%') AND (status < 9)",
        ),
    ],
)
def test_what_the_panes_have_is_computed_of_their_columns(select: str, sql: str) -> None:
    part = subsume(asked(select), STREAM)
    assert part.sql == sql
    assert part.panes == 60
    is_plain = "WHERE" not in sql and "CAST" not in sql
    assert (part.columns is not None) == is_plain


@pytest.mark.parametrize(
    ("select", "missing"),
    [
        ("SELECT count(*) FROM requests", "has only records with NOT domain IS NULL"),
        ("SELECT count(*) FROM requests WHERE bytes > 1 AND domain IS NOT NULL", "bytes > 0"),
        (f"SELECT max(bytes) {KEPT}", r"does not compute MAX\(bytes\)"),
        (f"SELECT sum(bytes) FILTER (WHERE status = 1) {KEPT}", "does not compute SUM"),
        (f"SELECT bytes, count(*) {KEPT} GROUP BY bytes", "grouped by bytes, which s has not"),
        (f"SELECT count(*) {KEPT} AND bytes < 9", "keeps records by bytes < 9, which s has not"),
        (f"SELECT count(*) {KEPT} AND ms < 9", "an expression of ms, which is a number with"),
        (f"SELECT count(DISTINCT domain) {KEPT}", "growing states"),
        (f"SELECT count(*) {KEPT} AND at > '2026-05-01'", "keeps records by at > "),
        (
            "SELECT tag, count(*) FROM requests LATERAL VIEW explode(tags) t AS tag "
            "WHERE bytes > 0 AND domain IS NOT NULL GROUP BY tag",
            "other LATERAL VIEWs",
        ),
    ],
)
def test_what_the_panes_lack_is_said(select: str, missing: str) -> None:
    import re

    why = why_not(asked(select), STREAM)
    assert why is not None
    assert re.search(missing, why), why


@pytest.mark.parametrize(
    ("stream", "missing"),
    [
        (compiled(HITS.replace("'10 seconds'", "'7 seconds'")), "no whole runs of them"),
        (
            compiled(HITS, source=SOURCE.replace("'*.json'", "'other.json'")),
            "another one, or one that is defined otherwise",
        ),
        (compiled(HITS, options="time = 'age'"), "by their age"),
        (
            compiled(
                HITS.replace("'10 seconds'", "'20 seconds', '10 seconds'"),
                options="fidelity = 'area 50 %, random'",
            ),
            "not drawn all",
        ),
        (
            compiled(
                "SELECT domain, status, ms FROM requests WHERE bytes > 0 AND domain IS NOT NULL "
                "ORDER BY domain, status, ms LIMIT 3",
                options="window = '10 seconds'",
            ),
            "first rows",
        ),
    ],
)
def test_streams_whose_panes_are_of_another_kind_are_not_asked(stream: Query, missing: str) -> None:
    why = why_not(asked(f"SELECT count(*) {KEPT}"), stream)
    assert why is not None
    assert missing in why


def test_the_levels_of_a_stream_are_not_asked_for_most_of_their_panes_are_empty() -> None:
    full, level = queries_in(
        f"{SOURCE} CREATE STREAM s WITH (degrade = 'coarsen(time, 30 s)') AS "
        "SELECT domain, count(*) AS n FROM requests GROUP BY window(at, '10 seconds'), domain;",
        at="home",
        now_us=NOW_US,
    )
    question = asked("SELECT count(*) FROM requests")
    assert "sites sent in the place of finer ones" in (why_not(question, level) or "")
    assert "may give up something" in (why_not(question, full) or "")


def test_having_order_and_limit_of_an_answer_do_not_count() -> None:
    """Cubes lie before them, and so do the root's finishing columns."""
    having = compiled(HITS.replace("n > 3", "n > 1000"))
    assert subsume(asked(f"SELECT count(*) {KEPT}"), having) == subsume(
        asked(f"SELECT count(*) {KEPT}"), STREAM
    )


def test_a_statement_that_is_not_what_sites_run_is_not_believed() -> None:
    """Whoever asks could else have another expression computed than the site has admitted."""
    question = asked(f"SELECT count(*) {KEPT}")
    program = msgspec.structs.replace(
        question.program, text=question.program.text.replace("count(*)", "count(ms)")
    )
    why = why_not(msgspec.structs.replace(question, program=program), STREAM)
    assert why is not None
    assert "compiled by another version" in why
