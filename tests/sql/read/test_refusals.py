"""What can't be run is refused with the place, the reason, and what can be done instead."""

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused

SOURCE = """\
CREATE SOURCE access (ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, ms DOUBLE,
                      price DECIMAL(10,2), ok BOOLEAN)
WITH (format = 'csv', path = 'access/*.log', time = 'ts');
"""
W = "GROUP BY window(ts, '10s')"


def refused(text: str) -> str:
    with pytest.raises(QueryRefused) as caught:
        queries_in(text, at="hub", known_sites=("hub", "paris"))
    return str(caught.value)


def refused_select(select: str) -> str:
    return refused(f"{SOURCE}CREATE STREAM s AS\n{select};")


def test_a_refusal_shows_the_line_and_points_at_the_place() -> None:
    assert refused_select(f"SELECT domian, count(*) FROM access {W}") == (
        "line 5:8: no column `domian` in source `access`; did you mean `domain`? "
        "columns: ts, domain, status, bytes, ms, price, ok\n"
        "  SELECT domian, count(*) FROM access GROUP BY window(ts, '10s');\n"
        "         ^"
    )


@pytest.mark.parametrize(
    ("select", "place", "message"),
    [
        # Names.
        ("SELECT count(*) FROM acess {W}", "22", "no source `acess`; did you mean `access`?"),
        ("SELECT count(*) FROM s {W}", "22", "`s` is a stream; a stream reads a source"),
        ("SELECT x.domain FROM access {W}, 1", "8", "no source and no column `x`; sources: access"),
        ("SELECT access.domain FROM access a {W}, 1", "8", "no source and no column `access`; sou"),
        ("SELECT window.middle FROM access {W}", "8", "write window.start or window.end"),
        ("SELECT count(*) AS n, max(ms) AS n FROM access {W}", "23", "two columns are called `n`"),
        ("SELECT count(*) AS __n FROM access {W}", "8", "names that begin with __ are taken"),
        ("SELECT count(*) AS window FROM access {W}", "8", "`window` names the window"),
        ("SELECT count(*) AS `a\tb` FROM access {W}", "20", "signs that can't be printed"),
        ("SELECT max(ms) AS ms FROM access {W} HAVING ms > 1", "68", "also the alias of `MAX(ms)`"),
        # Windows.
        ("SELECT count(*) FROM access GROUP BY domain", "38",
         "a stream answers by windows of time: GROUP BY window(ts, '10 seconds') or "),
        ("SELECT count(*) FROM access", "8", "a stream answers by windows of time"),
        ("SELECT count(*) FROM access {W}, window(ts, '20s')", "57", "two windows; write one"),
        ("SELECT window(ts, '20s') AS w FROM access {W}", "8", "another window than the one in"),
        ("SELECT count(*) FROM access GROUP BY window(ts, '1 month')", "49",
         "a length of fixed size in quotes: '10s', '10 seconds'"),
        ("SELECT count(*) FROM access GROUP BY window(ts, '10s', '20s')", "56",
         "the slide is longer than the window"),
        ("SELECT count(*) FROM access GROUP BY window(ts, '10s', '5s', '6s')", "62",
         "the start must be shorter than the slide"),
        ("SELECT count(*) FROM access GROUP BY window(ts, '1h', '7ms')", "38",
         "only 1 millisecond in common"),
        ("SELECT count(*) FROM access GROUP BY window(ts, '300d', '1s')", "38", "at most 10000"),
        ("SELECT count(*) FROM access GROUP BY window(domain, '10s')", "45",
         "windows are over the time column of the source: window(ts, "),
        ("SELECT count(*) FROM access GROUP BY window(ts)", "38", "window takes a time, a length"),
        ("SELECT count(*) FROM access GROUP BY session_window(ts)", "38",
         "session_window takes a time and a gap: session_window(ts, '30 minutes')"),
        ("SELECT count(*) FROM access GROUP BY session_window(domain, '10s')", "53",
         "windows are over the time column of the source: session_window(ts, "),
        ("SELECT count(*) FROM access GROUP BY session_window(ts, '1ms')", "57", "a gap of 1 mill"),
        ("SELECT count(*) FROM access GROUP BY session_window(ts, bytes)", "57",
         "session_window takes a gap of fixed size in quotes"),
        ("SELECT count(*) FROM access GROUP BY session_window(ts, '9s'), window(ts, '1s')", "64",
         "two windows"),
        ("SELECT session_window, count(*) FROM access GROUP BY session_window(ts, '9s')", "8",
         "session_window"),
        ("SELECT window.start FROM access GROUP BY session_window(ts, '9s'), domain", "8",
         "of a session write session_window.start or session_window.end"),
        # Kinds of SELECT.
        ("SELECT count(*) FROM access JOIN b ON a = c {W}", "34", "joins are not available"),
        ("SELECT count(*) FROM access, b {W}", "30", "joins are not available"),
        ("SELECT count(*) FROM (SELECT 1) {W}", "30", "FROM is missing; wanted SELECT domain"),
        ("SELECT count(*) FROM (SELECT domain FROM access) {W}", "66", "no column `ts` in the sub"),
        ("SELECT x.ts FROM (SELECT ts FROM access) y {W}", "8", "no `x` here; names: y"),
        ("SELECT count(*) FROM (SELECT domain, count(*) AS n FROM access {W}, 1) GROUP BY n", "104",
         "a subquery with groups may finish, filter, rank and order them; grouping again"),
        ("SELECT sum(n) AS m FROM (SELECT count(*) AS n FROM access {W})", "8", "grouping again"),
        ("SELECT d FROM (SELECT domain AS d FROM access LIMIT 3)", "23", "a subquery has no LIMIT"),
        ("SELECT n + 1 AS n FROM (SELECT count(*) AS n FROM access {W}) ORDER BY n", "95",
         "`n` is a column of the subquery and also an alias"),
        ("WITH RECURSIVE a AS (SELECT 1) SELECT ts FROM a", "16", "WITH RECURSIVE is not"),
        ("WITH a(x) AS (SELECT ts FROM access) SELECT x FROM a", "6", "can't be renamed in WITH"),
        # Ranks.
        ("SELECT domain, row_number() OVER (ORDER BY domain) AS n FROM access {W}, 1", "16",
         "a rank is within a window: PARTITION BY window"),
        ("SELECT domain, rank() OVER (PARTITION BY window) AS n FROM access {W}, 1", "16",
         "ORDER BY is missing"),
        ("SELECT rank() OVER (PARTITION BY window ORDER BY ms) + 1 AS n FROM access {W}, ms", "8",
         "a rank stands alone among the columns"),
        ("SELECT window(ts, '9s'), ms FROM access QUALIFY ms > 1", "49", "QUALIFY is about ranks"),
        ("SELECT sum(ms) OVER (PARTITION BY window ORDER BY ms) AS n FROM access", "8",
         "row_number, rank and dense_rank are available"),
        ("SELECT window(ts, '9s'), ms, rank() OVER (PARTITION BY window ORDER BY ms) AS ms "
         "FROM access", "72", "`ms` is no name, or is taken; give the rank another one"),
        ("SELECT window(ts, '9s'), ms FROM access QUALIFY rank() OVER (PARTITION BY window "
         "ORDER BY ms)", "49", "QUALIFY takes a condition (boolean)"),
        ("SELECT window(ts, '9s'), ms, rank() OVER (PARTITION BY window ORDER BY ms) AS n, "
         "rank() OVER (PARTITION BY window ORDER BY bytes) AS N FROM access", "124",
         "`N` is no name, or is taken; give the rank another one"),
        ("SELECT window(ts, '9s'), ms, rank() OVER (PARTITION BY window ORDER BY ms ROWS BETWEEN "
         "1 PRECEDING AND CURRENT ROW) AS n FROM access", "30", "a rank has no frame and no name"),
        ("SELECT DISTINCT window(ts, '9s'), ms, rank() OVER (PARTITION BY window ORDER BY ms) AS n "
         "FROM access", "35", "DISTINCT beside ranks is not available; leave it out"),
        ("SELECT window(ts, '9s'), ms, " + ", ".join(
            f"rank() OVER (PARTITION BY window ORDER BY ms + {n}) AS n{n}" for n in range(9)
         ) + " FROM access", "486", "more than 8 ranks"),
        ("SELECT count(*) FROM csv.`/etc/passwd` {W}", "22", "by its name, nothing else"),
        ("SELECT count(*) FROM range(5) {W}", "22", "by its name, nothing else"),
        ("SELECT count(*) FROM access {W} UNION ALL SELECT 1", "1", "UNION is not available"),
        ("SELECT DISTINCT domain FROM access {W}, domain, ms ORDER BY ms", "84",
         "SELECT DISTINCT is ordered by what it shows; add this column to SELECT"),
        ("SELECT DISTINCT ON (domain) domain FROM access {W}, domain", "21", "DISTINCT ON is not"),
        ("SELECT * FROM access {W}", "8", "`*` stands for the columns of rows, where"),
        ("SELECT domain FROM access", "8", "WITH (window = '10 seconds') names one"),
        ("SELECT window(ts, '10s'), window(ts, '20s') AS w FROM access", "27", "two windows"),
        ("WITH a AS (SELECT 1) SELECT count(*) FROM a {W}", "19", "FROM is missing; wanted SELECT"),
        ("SELECT count(*) FROM access {W} LIMIT 5 OFFSET 1.5", "71", "OFFSET takes a number"),
        ("SELECT count(*) FROM access {W} LIMIT 0", "62", "LIMIT takes a number from 1 to 1000000"),
        ("SELECT count(*) FROM access TABLESAMPLE (1 PERCENT) {W}", "22", "TABLESAMPLE is not"),
        ("SELECT /*+ BROADCAST(a) */ 1 FROM access {W}", "8", "hints are not available"),
        ("SELECT count(*) FROM access {W} SORT BY 1", "64", "SORT BY is not available"),
        ("SELECT count(*) FROM access LATERAL VIEW explode(x) t {W}", "50", "no column `x` in"),
        ("SELECT count(*) FROM access LATERAL VIEW explode(ms) t {W}", "50",
         "explode takes an array or a map, got double; as in LATERAL VIEW explode(split(line, "),
        ("SELECT count(*) FROM access LATERAL VIEW upper(domain) t AS a {W}", "48",
         "LATERAL VIEW takes explode, posexplode, inline, as in"),
        ("DROP TABLE x", "1", "wanted SELECT domain, count(*) FROM access GROUP BY window"),
        ("SELECT domain, count(*) FROM access GROUP BY ALL", "1", "windows of time: GROUP BY win"),
        ("SELECT * FROM access PIVOT (sum(bytes) FOR status IN (200)) {W}", "29",
         "PIVOT is not available; write an aggregate for each value, as in sum(bytes) FILTER ("),
        ("SELECT * FROM access UNPIVOT (v FOR n IN (bytes, status)) {W}", "31",
         "UNPIVOT is not available; write LATERAL VIEW explode(map('a', a, 'b', b)) AS name, va"),
        ("SELECT domain.x FROM access {W}, 1", "8", "`domain` is string, with no `x` in it; a"),
        ("SELECT window.*, count(*) FROM access {W}", "8", "of a window: window.start, window.end"),
        ("SELECT session_window FROM access GROUP BY session_window(ts, '1m')", "8",
         "of a session write session_window.start or session_window.end"),
        ("SELECT count(*) FROM access WHERE (domain, status) = ('a', 1) {W}", "36",
         "compare one by one, as in a = 1 AND b = 2"),
        ("SELECT ts AT TIME ZONE 'CET' FROM access {W}, 1", "8", "write from_utc_timestamp(ts, "),
        ("SELECT sum(count(*)) OVER () FROM access {W}", "8",
         "For a share of the whole write GROUP BY window(…), ROLLUP (domain)"),
        ("SELECT max(struct(ms, domain)).domain FROM access {W}", "8",
         "for what goes with the maximum write max_by(x, y)"),
        ("SELECT count(*) FROM access WHERE domain LIKE ANY ('a') ESCAPE '/' {W}", "52",
         "ANY and SOME stand behind LIKE and ILIKE, with patterns in brackets and no ESCAPE"),
        ("SELECT count(*) FROM access GROUP BY window(ts, INTERVAL 1 MINUTE)", "1",
         "'7d'; got INTERVAL '1' MINUTE"),
        ("SELECT count(*) FROM access {W} FETCH FIRST 5 ROWS ONLY", "68",
         "as in LIMIT 10; got `FETCH FIRST 5 ROWS ONLY`"),
        ("SELECT count(*) FROM access {W} EMIT CHANGES", "56", "leave EMIT out: a window is"),
        ("SELECT TOP 5 domain FROM access {W}, domain", "12", "write ORDER BY … LIMIT 10 at the"),
        ("SELECT count(*) FROM access WHERE ok && ok {W}", "38", "expected here; write AND"),
        ("SELECT count(* FROM access {W}", "16", "wanted `)` here, got `FROM`"),
        ("SELECT count(*) FROM access {W}, domain WITH ROLLUP", "38",
         "WITH ROLLUP, which would have the window in it: write GROUP BY window(…), ROLLUP (…)"),
        ("SELECT count(*) FROM access {W}, (domain, status)", "58", "without brackets around"),
        ("SELECT count(*) FROM access {W}, GROUPING SETS ((window(ts, '10s'), domain))", "73",
         "the window is in every grouping set; write GROUP BY window(…), ROLLUP (…)"),
        ("SELECT count(*) FROM access {W}, domain, ROLLUP (domain)", "73",
         "the grouping set (domain) is there twice; leave one out"),
        ("SELECT count(*) FROM access {W}, CUBE (domain, status, ms, bytes, ts, ok, upper(domain))",
         "63", "CUBE takes up to 6 columns, got 7"),
        ("SELECT count(*) FROM access {W}, CUBE (domain, status), CUBE (ms, bytes, ts, ok, 1 + 1)",
         "86", "more than 64 grouping sets"),
        ("SELECT count(*) FROM access {W}, GROUPING SETS (())", "1", "without a column"),
        ("SELECT grouping(domain) FROM access {W}, domain", "8", "belongs to ROLLUP, CUBE and"),
        ("SELECT grouping(status) FROM access {W}, ROLLUP (domain)", "8", "grouping takes one of"),
        ("SELECT grouping_id(status) FROM access {W}, CUBE (domain, status)", "8",
         "grouping_id counts all columns of GROUP BY, domain, status; write grouping_id()"),
        ("SELECT count(*) FROM access WHERE grouping(domain) = 1 {W}, CUBE (domain)", "35",
         "WHERE is about single records; write HAVING"),
        # Groups and aggregates.
        ("SELECT domain, bytes FROM access {W}, domain", "16",
         "column `bytes` is neither in GROUP BY nor inside an aggregate; add it to GROUP BY, or"),
        ("SELECT count(*) FROM access {W} HAVING domain = 'x'", "63", "neither in GROUP BY"),
        ("SELECT count(*) FROM access {W} ORDER BY domain", "65", "neither in GROUP BY"),
        ("SELECT count(*) FROM access {W}, 3", "57", "GROUP BY 3: the SELECT list has columns 1"),
        ("SELECT count(*) FROM access {W} ORDER BY 2", "65", "ORDER BY 2: the SELECT list has"),
        ("SELECT count(*) FROM access {W}, count(*)", "57", "an aggregate can't be grouped by"),
        ("SELECT count(*) AS n FROM access {W}, n", "62", "an aggregate can't be grouped by"),
        ("SELECT sum(count(*)) FROM access {W}", "12", "is an aggregate within an aggregate"),
        ("SELECT stddev(DISTINCT bytes) FROM access {W}", "8",
         "stddev(DISTINCT …) is not available; DISTINCT goes with min, max,"),
        ("SELECT sum(domain) FROM access {W}", "8", "sum takes a number, got string; write sum("),
        ("SELECT sum(*) FROM access {W}", "8", "sum(*) does not exist; only count(*) does"),
        ("SELECT sum() FROM access {W}", "8", "sum() wants an argument"),
        ("SELECT max(window) FROM access {W}", "12", "not part of a record"),
        ("SELECT count(*) FROM access WHERE count(*) > 1 {W}", "35", "write HAVING for aggregates"),
        ("SELECT count(*) FILTER (WHERE bytes) FROM access {W}", "31", "takes a condition"),
        ("SELECT avg(CAST(price AS DECIMAL(38,2))) FROM access {W}", "8", "write avg(CAST("),
        ("SELECT 0$0 FROM access {W}", "10", "wanted an alias of letters a-z, digits and _"),
        # Functions.
        ("SELECT median(ms) FROM access {W}", "8", "write percentile_approx(x, 0.5), which is"),
        ("SELECT percentile_approx(ms, 1.5) FROM access {W}", "8", "takes shares from 0 to 1 as"),
        ("SELECT percentile_approx(ms, -0.5) FROM access {W}", "8", "takes shares from 0 to 1 as"),
        ("SELECT percentile_approx(ms, bytes) FROM access {W}", "8", "takes shares from 0 to 1 as"),
        ("SELECT percentile_approx(ms, 0.5, ms) FROM access {W}", "8", "a literal from 0.001 to"),
        ("SELECT percentile_approx(domain, 0.5) FROM access {W}", "8", "takes numbers and times,"),
        ("SELECT collect_list(ms) FROM access {W}", "8", "got double; write collect_list(CAST("),
        ("SELECT listagg(domain) FROM access {W}", "8", "as in listagg(x, ',')"),
        ("SELECT first(ms) FROM access {W}", "8", "first depends on the order in which records"),
        ("SELECT stddev(domain) FROM access {W}", "8", "stddev_samp takes a number, got string"),
        ("SELECT approx_count_distinct(ms, 0) FROM access {W}", "8", "from 0.0041 to 0.5"),
        ("SELECT row_number() OVER (ORDER BY ms) FROM access {W}", "8", "a rank is within a"),
        ("SELECT listagg(domain, ',') WITHIN GROUP (ORDER BY status) FROM access {W}", "52",
         "write WITHIN GROUP (ORDER BY domain), or leave it out"),
        ("SELECT listagg(domain, ',') WITHIN GROUP (ORDER BY domain DESC) FROM access {W}", "52",
         "in their own order: write WITHIN GROUP (ORDER BY domain)"),
        ("SELECT max_by(domain, ms, status) FROM access {W}", "8",
         "how many values it gives, a literal from 1 to 10000, got status"),
        ("SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY ms) FROM access {W}", "8",
         "percentile_cont needs all values in one place; write percentile_approx(ms, 0.9), which"),
        ("SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY ms DESC) FROM access {W}", "8",
         "write percentile_approx(ms, 0.1), which is within 1% of the value"),
        ("SELECT bytes >> 3 FROM access {W}, 1", "8", "write shiftright(x, 3)"),
        ("SELECT bytes << 3 FROM access {W}, 1", "8", "write shiftleft(x, 3)"),
        ("SELECT domain[0] FROM access {W}, domain", "8", "`…` is string, with nothing in it"),
        ("SELECT hll_union(hll_sketch_agg(domain), hll_sketch_agg(ms)) FROM access {W}", "8",
         "hll_union is not available in a query, whose sketches are merged"),
        ("SELECT kll_sketch_get_rank_double(kll_sketch_agg_double(ms), 3) FROM access {W}", "8",
         "write count_if(x <= 100) / count(x), which is exact"),
        ("SELECT max(ms) WITHIN GROUP (ORDER BY ms) FROM access {W}", "8",
         "WITHIN GROUP goes with listagg alone"),
        ("SELECT max(ms) FROM access WHERE ts > now() {W}", "39", "now depends on the time, place"),
        ("SELECT max(ms) FROM access WHERE ts > current_timestamp {W}", "39", "on the time"),
        ("SELECT max(ms) FROM access WHERE rand() < 1 {W}", "34", "rand depends on the time"),
        ("SELECT uuid() FROM access {W}, 1", "8", "uuid depends on the time, place or chance"),
        ("SELECT input_file_name() FROM access {W}, 1", "8", "use the record's own columns"),
        ("SELECT unix_timestamp() FROM access {W}, 1", "8", "wanted unix_timestamp(moment"),
        ("SELECT reflect('a', 'b') FROM access {W}, 1", "8", "runs code, which no site admits"),
        ("SELECT uper(domain) FROM access {W}, 1", "8", "did you mean upper or power?"),
        ("SELECT `upper`(domain) FROM access {W}, 1", "8", "is not available"),
        ("SELECT split(domain, 'x')[0][1] FROM access {W}, 1", "8", "nothing in it to reach"),
        ("SELECT explode(split(domain, 'x')) FROM access {W}, 1", "8", "write LATERAL VIEW"),
        ("SELECT max(explode(split(domain, 'x'))) FROM access {W}", "12", "LATERAL VIEW explode("),
        ("SELECT map(domain, 1) AS m FROM access {W}, m", "68", "they are no keys, and in no rows"),
        ("SELECT xpath(domain, 'a') FROM access {W}, 1", "8", "reads XML"),
        ("SELECT upper(domain, x -> x) FROM access {W}, 1", "8", "takes no lambda"),
        # Types.
        ("SELECT upper(bytes) FROM access {W}, 1", "8", "upper takes a string as argument 1, got"),
        ("SELECT ms + domain FROM access {W}, 1", "8", "write || to join strings, or a CAST"),
        ("SELECT domain || ms FROM access {W}, 1", "18", "`ms` is double; write CAST(… AS ST"),
        ("SELECT ts - ts FROM access {W}, 1", "8", "which no summary and no answer has"),
        ("SELECT ok = status FROM access {W}, 1", "8", "can't be compared; write a CAST"),
        ("SELECT coalesce(domain, status) FROM access {W}, 1", "8", "is not known; write a CAST"),
        ("SELECT CASE WHEN ok THEN 'a' ELSE 1 END FROM access {W}, 1", "18", "write a CAST"),
        ("SELECT CAST(ok AS DATE) FROM access {W}, 1", "13", "no CAST from boolean to date"),
        ("SELECT CAST(ms AS MONEY) FROM access {W}, 1", "19", "wanted a type here, such as BIGINT"),
        ("SELECT status & 1 + 2 FROM access {W}, 1", "17", "write brackets: (1 + 2)"),
        ("SELECT count(*) FROM access WHERE bytes {W}", "35", "WHERE takes a condition"),
        ("SELECT count(*) FROM access {W} HAVING max(ms)", "63", "HAVING takes a condition"),
        ("SELECT NULL AS x, count(*) FROM access {W}", "16", "NULL has no type; write CAST(NULL"),
        ("SELECT count(*) FROM access WHERE domain IN (SELECT 1) {W}", "53", "subqueries are not"),
        ("SELECT count(*) FROM access WHERE domain[0] = 1 {W}", "35", "nothing in it to reach"),
        ("SELECT ts - INTERVAL 1 DAY 2 HOURS FROM access {W}, 1", "8", "one INTERVAL for each"),
        ("SELECT ts + INTERVAL '1 2' DAY FROM access {W}, 1", "22", "this INTERVAL is not one"),
        ("SELECT ts * 2 FROM access {W}, 1", "8", "has no meaning for timestamp and int"),
        # Text.
        ("SELECT 'it''s' FROM access {W}, 1", "12", "two strings side by side"),
        ("SELECT a b c FROM access {W}", "12", "`c` was not expected here; look at what stands"),
        ("SELECT 'abc", "8", "does not end"),
        ("SELECT '${env:HOME}' FROM access {W}, 1", "9", "${ is not available"),
    ],
)  # fmt: skip
def test_a_select_that_can_t_be_run_says_why_and_what_can(
    select: str, place: str, message: str
) -> None:
    found = refused_select(select.replace("{W}", W))
    assert message in found
    assert found.startswith(f"line 5:{place}: "), found


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "there is no statement here; wanted CREATE SOURCE name"),
        ("-- only a comment", "1:1", "there is no statement here"),
        ("SELECT 1", "1:1", "wanted CREATE SOURCE name"),
        ("CREATE TABLE x (a INT)", "1:8", "or CREATE STREAM name WITH (…) AS SELECT"),
        ("CREATE SOURCE", "1:14", "wanted the source's name"),
        ("CREATE SOURCE `a-b` (x INT)", "1:15", "of letters a-z, digits and _"),
        ("CREATE SOURCE a x INT", "1:17", "wanted `(`: the columns"),
        ("CREATE SOURCE a (x TEXT)", "1:20", "column `x` has no type `TEXT`; types: boolean, "),
        ("CREATE SOURCE a (x ARRAY<TEXT>)", "1:20", "has no type `ARRAY < TEXT >`"),
        ("CREATE SOURCE a (x INT, X INT)", "1:25", "column `X` occurs twice"),
        ("CREATE SOURCE a (x INT) WITH", "1:29", "wanted `(`: options"),
        ("CREATE SOURCE a (x INT) WITH (format)", "1:37", "wanted `format = 'value'`"),
        ("CREATE SOURCE a (x INT) WITH (format = csv)", "1:40", "a value in quotes"),
        ("CREATE SOURCE a (x INT) WITH (format = 'csv' path = 'x')", "1:46", "further option"),
        ("CREATE SOURCE a (x INT) PARTITIONED", "1:25", "wanted `;` or the end"),
        ("CREATE STREAM s SELECT 1", "1:17", "or AS SELECT … behind the name, got `SELECT`"),
        ("CREATE STREAM s AS", "1:19", "wanted SELECT …"),
        ("CREATE STREAM IF NOT EXISTS s AS SELECT 1", "1:18", "leave IF NOT EXISTS out: a stream"),
        ("CREATE OR REPLACE STREAM s AS SELECT 1", "1:8", "`headwater run --replace` replaces"),
        ("DROP STREAM s", "1:1", "`headwater remove STREAM` ends a stream"),
        ("SELECT 1", "1:1", "write CREATE STREAM name AS before it"),
    ],
)
def test_a_statement_that_is_none_says_what_was_wanted(text: str, place: str, message: str) -> None:
    found = refused(text)
    assert message in found
    assert found.startswith(f"line {place}: "), found


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("ts TIMESTAMP", "path = 'x', time = 'ts'", "option `format` is missing: WITH (format ="),
        ("ts TIMESTAMP", "format = 'csb', path = 'x', time = 'ts'", "no format `csb`; did you"),
        ("ts TIMESTAMP", "format = 'csv', time = 'ts'", "option `path` is missing"),
        ("ts TIMESTAMP", "format = 'csv', path = '', time = 'ts'", "option `path` is empty"),
        ("ts TIMESTAMP", "format = 'csv', path = '../x', time = 'ts'", "the path '../x' is not"),
        ("ts TIMESTAMP", "format = 'csv', path = 's3://x', time = 'ts'", "is not admitted"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x'", "option `time` is missing"),
        ("`cs-uri-stem` STRING, date STRING", "format = 'w3c', path = 'x'",
         "format w3c has its time in date and time, which are read where they are named: add time "
         "STRING, or say time = '…'"),
        ("host STRING", "format = 'syslog', path = 'x'", "named: add ts TIMESTAMP, or say time"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x', time = 'tz'", "no column `tz`"),
        ("ts BOOLEAN", "format = 'csv', path = 'x', time = 'ts'", "declare it TIMESTAMP"),
        ("ts TIMESTAMP", "format = 'tsv', path = 'x', time = 'ts', multiline = 'true'",
         "this source has no quote; say which with quote = '\"'"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x', time = 'ts', multiline = 'true', quote = ''",
         "this source has no quote"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x', time = 'ts', multiline = 'true', quote = '§'",
         "the quote is an ASCII character, got '§'"),
        ("ts TIMESTAMP", r"format = 'csv', path = 'x', time = 'ts', record_start = r'\d'",
         "format csv has no option `record_start`"),
        ("ts TIMESTAMP", r"format = 'syslog', path = 'x', time = 'ts', record_start = r'\d*'",
         "it matches an empty line, so that every line would begin a record"),
        ("ts TIMESTAMP", r"format = 'syslog', path = 'x', time = 'ts', record_start = r'\bMay'",
         "a record_start is made of letters, ., [a-z]"),
        ("ts TIMESTAMP", r"format = 'syslog', path = 'x', time = 'ts', record_start = '\d'",
         "write record_start = r'…'"),
        ("ts TIMESTAMP", "formt = 'csv'", "no option `formt`; did you mean `format`?"),
        ("ts TIMESTAMP", "format = 'csv', format = 'csv'", "option `format` occurs twice"),
        ("ts TIMESTAMP", "format = 'json', path = 'x', time = 'ts', quote = 'x'",
         "format json has no option `quote`; options: format, path, time"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x', time = 'ts', malformed_max = 'few'",
         "wanted a share of the lines or a number of them, such as '1%'"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x', time = 'ts', delimiter = ''",
         "option `delimiter` takes 1 to 8"),
        ("ts TIMESTAMP", "format = 'csv', path = 'x', time = 'ts', header = 'maybe'",
         "no header `maybe`; headers: true, false"),
        ("ts TIMESTAMP, window INT", "format = 'csv', path = 'x', time = 'ts'",
         "`window` names the window of an answer"),
        ("ts TIMESTAMP, __x INT", "format = 'csv', path = 'x', time = 'ts'",
         "names that begin with __ are taken"),
        ("ts TIMESTAMP", "format = 'regex', path = 'x', time = 'ts'", "`pattern` is missing"),
        ("ts TIMESTAMP, n INT", r"format = 'regex', path = 'x', time = 'ts', pattern = r'(\S+)'",
         "the pattern has 1 groups for 2 columns"),
        ("ts TIMESTAMP", r"format = 'regex', path = 'x', time = 'ts', pattern = '(\S+)'",
         "write pattern = r'…'"),
    ],
)  # fmt: skip
def test_a_source_that_can_t_be_read_says_why(columns: str, options: str, message: str) -> None:
    assert message in refused(f"CREATE SOURCE a ({columns}) WITH ({options})")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("dedline = '4s'", "no option `dedline`; did you mean `deadline`? options: deadline,"),
        ("deadline = '4 parsecs'", "`4 parsecs` is no length of time; write deadline = '10s'"),
        ("time = 'arrival'", "wanted 'event' or 'age', got 'arrival'"),
        ("lateness = '1s'", "lateness is shorter than disorder"),
        ("begin = 'soon'", "`soon` is no point in time; write '2026-05-01'"),
        ("root = 'rome'", "no site `rome`; sites: hub, paris"),
        ("sites = 'paris, pariss'", "no site `pariss`; did you mean `paris`?"),
    ],
)
def test_a_stream_s_option_that_can_t_be_kept_says_why(option: str, message: str) -> None:
    text = f"{SOURCE}CREATE STREAM s WITH ({option}) AS SELECT count(*) FROM access {W}"
    assert message in refused(text)


def test_a_name_is_made_only_once() -> None:
    stream = f"CREATE STREAM s AS SELECT count(*) FROM access {W};"
    assert "`S` is made twice" in refused(SOURCE + stream + stream.replace("STREAM s", "STREAM S"))


def test_an_expression_that_nests_too_deeply_is_refused() -> None:
    deep = " || ".join(["domain"] * 3000)
    assert "nests too deeply" in refused_select(f"SELECT {deep} FROM access {W}, 1")


def test_a_long_line_is_shown_around_the_place() -> None:
    found = refused_select(f"SELECT {'1 + ' * 100} domian FROM access {W}, 1")
    line, caret = found.splitlines()[1:]
    assert len(line) <= 202
    assert line[caret.index("^") :].startswith("domian")
