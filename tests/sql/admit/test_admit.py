"""SQL from the wire is checked by the site: only what the compiler writes gets through."""

from typing import Any

import msgspec
import pytest
import query_kit
from hypothesis import given, settings
from hypothesis import strategies as st
from query_kit import queries_in

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.columns import Column, FirstRows, OrderTerm, Partial
from headwater.errors import QueryRefused
from headwater.plan.query import Query, Timing
from headwater.sql.admit.admit import Policy, check_query

TEXT = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGINT, secret STRING)
WITH (format = 'csv', path = 'access/*.log', time = 'ts');
CREATE STREAM plain AS
SELECT domain, sum(bytes) AS total FROM access WHERE bytes > 0
GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM ranked AS
SELECT upper(domain) AS d, count(*) FILTER (WHERE bytes > 1) AS n, avg(bytes) AS mean FROM access
GROUP BY window(ts, '30 seconds', '10 seconds'), d HAVING n > 1 ORDER BY max(bytes) DESC LIMIT 3;
"""
PLAIN, RANKED = queries_in(TEXT, at="hub", begin="earliest")
FORMER = query_kit.changed(
    RANKED,
    root_sql=RANKED.program.root_sql.replace("count_1", "SUM(count_1)")
    .replace("sum_2", "SUM(sum_2)")
    .replace("count_3", "SUM(count_3)")
    .replace("max_4", "MAX(max_4)")
    .replace("FROM panes WHERE", "FROM panes GROUP BY `window`, d HAVING"),
)
"""As 0.3 wrote it."""
EVERYONE = Policy()
SPLIT = "EXPLODE(SPLIT(domain, ' '))"
DEEPER = "SELECT `window` FROM "


def changed(query: Query = PLAIN, **changes: Any) -> Query:
    return query_kit.changed(query, **changes)


def rewritten(old: str, new: str, query: Query = PLAIN) -> Query:
    """The site part with a piece replaced."""
    assert old in query.program.site_sql
    return changed(query, site_sql=query.program.site_sql.replace(old, new))


def rerooted(old: str, new: str, query: Query = RANKED) -> Query:
    assert old in query.program.root_sql
    return changed(query, root_sql=query.program.root_sql.replace(old, new))


@pytest.mark.parametrize("query", [PLAIN, RANKED, FORMER], ids=["plain", "ranked", "former"])
def test_what_the_compiler_writes_is_admitted(query: Query) -> None:
    check_query(query, EVERYONE)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(query), type=Query)
    check_query(again, EVERYONE)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (rewritten("domain,", "REFLECT('java.lang.Runtime', 'x') AS domain,"), "runs code"),
        (rewritten("domain,", "JAVA_METHOD('a', 'b') AS domain,"), "runs code"),
        (rewritten("domain,", "CAST(RAND() AS STRING) AS domain,"), "rand depends on the time"),
        (rewritten("domain,", "`UPPER`(domain) AS domain,"), "is not available"),
        (rewritten("domain,", "(SELECT secret FROM records) AS domain,"), "subqueries are not"),
        (rewritten("FROM records", "FROM csv.`/etc/passwd`"), "only the view records"),
        (rewritten("FROM records", "FROM parquet.records"), "only the view records"),
        (rewritten("FROM records", "FROM records AS r"), "only the view records"),
        (rewritten("FROM records", "FROM other"), "only the view records may be read, not other"),
        (rewritten("FROM records", "FROM RANGE(10)"), "only the view records"),
        (rewritten("FROM records", "FROM records CROSS JOIN records"), "not admitted: joins"),
        (rewritten("FROM records", "FROM records LATERAL VIEW EXPLODE(x) t AS y"), "no column x"),
        (rewritten("FROM records", f"FROM records LATERAL VIEW {SPLIT} t AS y"), "__view_1 AS y"),
        (rewritten("FROM records", f"FROM records LATERAL VIEW {SPLIT} __view_1 AS ts"), "wanted"),
        (rewritten("FROM records", "FROM records LATERAL VIEW STACK(1, 2) __view_1 AS y"), "takes"),
        (rewritten("FROM records", "FROM records, LATERAL (SELECT 1 AS y) AS t"), "not the"),
        (rewritten("GROUP BY 1, 2", "GROUP BY 1, 2 LIMIT 5"), "not admitted: limit"),
        (rewritten("GROUP BY 1, 2", "GROUP BY 1, 2 UNION ALL SELECT 1, 2, 3"), "wanted one SELECT"),
        (rewritten("GROUP BY 1, 2", "GROUP BY 1"), "wanted GROUP BY the pane and all keys"),
        (rewritten("GROUP BY 1, 2", "GROUP BY CUBE (1, 2)"), "wanted GROUP BY"),
        (rewritten("SELECT ", "SELECT DISTINCT "), "not admitted: distinct"),
        (rewritten("SELECT ", "SELECT /*+ REPARTITION(9999) */ "), "hints are not available"),
        (rewritten("SELECT ", "SELECT /* x */ "), "not the canonical writing"),
        (rewritten("SELECT ", "select "), "not the canonical writing"),
        (rewritten("GROUP BY 1, 2", "GROUP BY 1, 2; DROP TABLE x"), "wanted one statement, got 2"),
        (changed(site_sql="DROP TABLE x"), "wanted one SELECT, got Drop"),
        (changed(site_sql="SELECT 'x"), "does not end"),
        (rewritten("domain,", "'${env:HOME}' AS domain,"), "${ is not available"),
        (rewritten("domain,", "secret AS domain,"), "declared to read ['bytes', 'domain', 'ts']"),
        (rewritten("domain,", "nothing AS domain,"), "there is no column nothing"),
        (rewritten("domain,", "records.domain AS domain,"), "there is no column records.domain"),
        (rewritten("domain,", "bytes AS domain,"), "key domain: declared string, but it is bigint"),
        (rewritten("domain,", "domain AS other,"), "wanted columns ['pane', 'domain', 'sum_1']"),
        (rewritten("DIV 10000000", "DIV 1000"), "wanted the pane UNIX_MICROS(ts) DIV 10000000"),
        (rewritten("NOT ts IS NULL AND ", ""), "wanted WHERE NOT ts IS NULL first"),
        (rewritten("SUM(CAST(bytes AS DECIMAL(38, 0)))", "SUM(bytes)"), "declared decimal(38,0)"),
        (rewritten("SUM(CAST(bytes AS DECIMAL(38, 0)))", "AVG(bytes)"), "avg does not merge"),
        (rewritten("SUM(CAST(bytes AS DECIMAL(38, 0)))", "ABS(bytes)"), "wanted an aggregate"),
        (
            rewritten("SUM(CAST(bytes AS DECIMAL(38, 0)))", "MAX(CAST(bytes AS DECIMAL(38, 0)))"),
            "max does not merge by sum",
        ),
        (rewritten("SUM(CAST(bytes AS DECIMAL(38, 0)))", "SUM(domain)"), "sum takes a number"),
        (rewritten("bytes > 0", "bytes"), "AND takes boolean"),
    ],
)
def test_a_site_part_that_the_compiler_would_not_write_is_refused(
    query: Query, message: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(query, EVERYONE)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (rerooted("FROM panes", "FROM csv.`/etc/passwd`"), "only the view panes"),
        (rerooted("FROM panes", "FROM records"), "only the view panes may be read, not records"),
        (rerooted("count_1", "REFLECT('a', 'b')"), "runs code"),
        (rerooted("count_1", "COUNT(*)"), "* stands only in count(*)"),
        (rerooted("count_1", "SUM(count_1)"), "sum"),
        (rerooted("count_1", "count_9"), "there is no column count_9"),
        (rerooted("count_1 > 1", "count_1"), "HAVING: declared boolean"),
        (rerooted("SUM(count_1)", "REFLECT('a', 'b')", FORMER), "runs code"),
        (rerooted("SUM(count_1)", "COUNT(*)", FORMER), "does not merge partials"),
        (rerooted("SUM(count_1)", "SUM(count_9)", FORMER), "there is no column count_9"),
        (rerooted("<= 3", "<= 3 AND RAND() < 0.5"), "rand depends on"),
        (rerooted("ROW_NUMBER()", "RANK()"), "wanted ROW_NUMBER() OVER"),
        (rerooted("ROW_NUMBER()", "SUM(1)"), "wanted *, ROW_NUMBER() OVER"),
        (rerooted("PARTITION BY `window`", "PARTITION BY d"), "wanted ROW_NUMBER() OVER"),
        (rerooted("__order_1 DESC", "UUID() DESC"), "uuid depends on"),
        (
            rerooted("GROUP BY `window`, d", "GROUP BY `window`, UPPER(d)", FORMER),
            "wanted GROUP BY keys, got",
        ),
        (rerooted("ORDER BY `window`, __rank", "ORDER BY RAND()"), "rand depends on"),
        (rerooted("SELECT *,", "SELECT *, 1 AS x,"), "wanted *, ROW_NUMBER() OVER"),
        (rerooted("`window`, d, n, mean FROM", "`window`, d, n FROM"), "wanted columns"),
        (changed(root_sql="SELECT 1 AS x"), "only the view panes may be read, not nothing"),
        (
            changed(RANKED, root_sql=f"{DEEPER}({DEEPER}({DEEPER}({RANKED.program.root_sql})))"),
            "wanted a subquery only to order",
        ),
        (changed(RANKED, output=RANKED.program.output[:-1]), "root part: wanted columns"),
        (
            changed(RANKED, output=(*RANKED.program.output[:-1], Column("mean", "int"))),
            "wanted columns",
        ),
    ],
)
def test_a_root_part_that_the_compiler_would_not_write_is_refused(
    query: Query, message: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(query, EVERYONE)
    assert message in str(caught.value)


def source(**changes: Any) -> Query:
    return changed(source=msgspec.structs.replace(PLAIN.program.source, **changes))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (changed(id=msgspec.structs.replace(PLAIN.id, name="a b")), "'a b' is not a name"),
        (changed(keys=(Column("pane", "string"),)), "'pane' is not a name, or is taken"),
        (changed(keys=(Column("x\ny", "string"),)), "y' is not a name"),
        (changed(keys=(Column("__site", "string"),)), "'__site' is not a name"),
        (changed(partials=(Partial("p", "array<text>", "sum"),)), "no column has type"),
        (changed(keys=(), partials=()), "wanted 1 to 1000 columns, got 0"),
        (changed(output=(Column("window", "string"),)), "'window' is not a name, or is taken"),
        (changed(text="x" * 200_001), "a text is longer than 200000 characters"),
        (changed(window=WindowSpec(1000, 1000)), "wanted panes of at least 100000 us"),
        (changed(timing=Timing(deadline_s=float("nan"))), "wanted lengths of time from 0"),
        (changed(timing=Timing(disorder_s=-1.0)), "wanted lengths of time from 0"),
        (changed(settings=()), "settings: wanted {'spark.sql.ansi.enabled': 'true'"),
        (changed(settings=(*PLAIN.program.settings, ("spark.jars", "x"))), "settings: wanted"),
        (source(name="a.b"), "'a.b' is not a name"),
        (source(time_column="domain"), "wanted a time column of type timestamp"),
        (source(path="../../etc/passwd"), "is not admitted"),
        (source(path="file:///etc/passwd"), "is not admitted"),
        (source(options=(("pattern", "x"),)), "option 'pattern' is not admitted"),
        (source(options=(("header", "true"), ("header", "true"))), "option 'header' occurs twice"),
        (
            source(options=(("malformed_max", "-1"),)),
            "wanted a share of the lines or a number of them",
        ),
        (source(options=(("quote", "x" * 2000),)), "or is too long"),
        (source(format="regex", options=(("pattern", "(x)"),)), "1 groups for 4 columns"),
        (source(format="regex", options=(("record_start", "(?=x)"),)), "a record_start is made of"),
        (source(format="regex", options=(("record_start", "x" * 201),)), "at most 200 characters"),
        (source(options=(("record_start", "x"),)), "option 'record_start' is not admitted"),
    ],
)
def test_parts_that_do_not_agree_are_refused(query: Query, message: str) -> None:
    decoded = msgspec.convert(msgspec.to_builtins(query), Query)
    with pytest.raises(QueryRefused) as caught:
        check_query(decoded, EVERYONE)
    assert message in str(caught.value)


def test_a_policy_may_refuse_installers() -> None:
    check_query(PLAIN, Policy(installers=("hub",)))
    with pytest.raises(QueryRefused, match="queries of 'hub' are not admitted here"):
        check_query(PLAIN, Policy(installers=("paris",)))


def test_a_state_query_has_a_begin_where_a_site_reads_it() -> None:
    (query,) = queries_in(
        TEXT.partition("CREATE STREAM")[0] + "CREATE STREAM s AS SELECT domain, count(*) AS n "
        "FROM access GROUP BY last_rows(5, every => '1 second'), domain;",
        at="hub",
        ends=True,
    )
    check_query(query)
    with pytest.raises(QueryRefused, match="the last 5 rows: wanted a begin"):
        check_query(query, EVERYONE)
    check_query(changed(query, begin_pane=0, end_pane=9), EVERYONE)
    (rows,) = queries_in(
        TEXT.partition("CREATE STREAM")[0] + "CREATE STREAM s AS SELECT domain FROM access "
        "GROUP BY last_rows(5, every => '1 second'), domain;",
        at="hub",
    )
    first = FirstRows(3, (OrderTerm("domain"),))
    with pytest.raises(QueryRefused, match="got the first of each pane"):
        check_query(changed(rows, first=first))


@settings(max_examples=400)
@given(st.data())
def test_a_text_with_a_change_anywhere_is_refused_or_harmless(data: st.DataObject) -> None:
    """Whatever passes reads one view, by listed functions: nothing else is ever run."""
    which = data.draw(st.sampled_from(["site_sql", "root_sql"]))
    query = data.draw(st.sampled_from([PLAIN, RANKED]))
    text = getattr(query.program, which)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 8))
    new = data.draw(
        st.sampled_from(["", " ", "(", ")", "'", "`", "--", "/*", ";", "*", "1", "secret", "."])
        | st.text(max_size=6)
    )
    mutated = text[:at] + new + text[at + cut :]
    try:
        check_query(changed(query, **{which: mutated}), EVERYONE)
    except QueryRefused:
        return
    view = "records" if which == "site_sql" else "panes"
    assert mutated.count("FROM ") == text.count("FROM ")
    assert f"FROM {view}" in mutated
    assert "secret" not in mutated


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/".join(["**", "a"] * 5), "5 ** with something between them; at most 4"),
        ("/".join(["*"] * 17), "17 folders and files that are patterns; at most 16"),
        ("a" + "*a" * 9 + ".log", "9 stars in one name; at most 8"),
        ("x" * 1001, "is not admitted"),
    ],
)
def test_a_path_with_too_many_patterns_is_refused(path: str, message: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(source(path=path), EVERYONE)
    assert message in str(caught.value)


def test_a_path_may_say_any_depth_as_often_as_it_likes_in_a_row() -> None:
    check_query(source(path="**/" * 32 + "*.log"), EVERYONE)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (rewritten("domain,", "REPEAT(domain, 700000000) AS domain,"), "copies of the record"),
        (rewritten("bytes > 0", "DATE_FORMAT(ts, 'YYYY') > 'a'"), "'Y' is no letter"),
        (source(options=(("timestamp_format", "YYYY"),)), "'Y' is no letter of a pattern"),
    ],
)
def test_what_would_grow_or_fail_every_batch_is_refused_from_the_wire_too(
    query: Query, message: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(query, EVERYONE)
    assert message in str(caught.value)
