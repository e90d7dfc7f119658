from query_kit import queries_in

from headwater.sql.compile import compile_statements
from headwater.sql.write.explain import explain

TEXT = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = 'access/*.log', time = 'ts');
CREATE STREAM sizes WITH (deadline = '4s', lateness = '1h', sites = 'paris, oslo') AS
SELECT domain, avg(bytes) AS mean FROM access
GROUP BY window(ts, '30 seconds', '20 seconds', '5 seconds'), domain;
"""

WANTED = """\
stream sizes
  source  access: csv access/*.log, time ts
  window  30 seconds every 20 seconds from 5 seconds, panes of 10 seconds, 3 a window
  begin   2026-05-01 00:00:25 UTC, pane 177759362
  query   sizes@hub#7

site    paris, oslo
  reads ts, domain, bytes
  closes a pane 2 seconds after its end, seals it after 1 hour
  SELECT
    (
      UNIX_MICROS(ts) - 5000000
    ) DIV 10000000 - CAST((
      UNIX_MICROS(ts) - 5000000
    ) % 10000000 < 0 AS BIGINT) AS pane,
    domain,
    SUM(CAST(bytes AS DECIMAL(38, 0))) AS sum_1,
    COUNT(bytes) AS count_2
  FROM records
  WHERE
    NOT ts IS NULL
  GROUP BY
    1,
    2

network every relay on the way
  one row for each domain string
  sum_1 decimal(38,0) merges by sum
  count_2 bigint merges by sum

root    hub
  answers a window at the latest 4 seconds after its end; revises at most every 1 second, for 1 day
  builds a window of all its panes
  SELECT
    `window`,
    domain,
    CAST(sum_1 AS DOUBLE) / NULLIF(count_2, 0) AS mean
  FROM panes
  yields window, domain string, mean double
"""


def test_a_plan_says_what_runs_where_and_what_travels() -> None:
    (query,) = compile_statements(
        TEXT, root="hub", installer="hub", next_counter=7, now_us=1_777_593_600_000_000
    )
    assert explain(query) == WANTED


def test_a_query_over_everything_says_so() -> None:
    text = TEXT.replace(", sites = 'paris, oslo'", "").replace(", lateness = '1h'", "")
    (query,) = queries_in(text, begin="earliest")
    assert "site    every site with data" in explain(query)
    assert "begin   the earliest record" in explain(query)
    assert "seals it when the site's retention is over" in explain(query)


def test_a_plan_says_how_windows_are_built() -> None:
    def building(columns: str, window: str) -> str:
        text = TEXT.replace("'30 seconds', '20 seconds', '5 seconds'", window)
        text = text.replace("avg(bytes)", columns)
        (query,) = queries_in(text, now_us=0)
        return explain(query)

    assert "from the one before" in building("sum(bytes)", "'1 hour', '10 seconds'")
    assert "blocks of 8, 16, 32" in building("max(bytes)", "'1 hour', '10 seconds'")
    assert "of its pane\n" in building("max(bytes)", "'1 hour'")


def test_a_plan_says_that_it_puts_sessions_together() -> None:
    text = TEXT.replace(
        "window(ts, '30 seconds', '20 seconds', '5 seconds')", "session_window(ts, '1 minute')"
    )
    (query,) = queries_in(text, now_us=0)
    assert "puts sessions of up to 12 minutes together" in explain(query)
    assert "15 a window" in explain(query)
