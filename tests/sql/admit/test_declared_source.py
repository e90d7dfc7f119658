"""A query reads a declared source as it is declared, and of a column what its level lets out."""

from __future__ import annotations

import pytest
from query_kit import changed, queries_in

from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.admit.column_levels import Level
from headwater.sql.admit.declared_source import DeclaredSource
from headwater.sql.compile import parse_script

COLUMNS = "ts TIMESTAMP, site STRING, client STRING, bytes BIGINT, ok BOOLEAN"
CSV = "format = 'csv', path = 'a.log', time = 'ts'"
JSON = "format = 'json', path = 'a.log', time = 'ts'"
LEVELS = {"ts": "free", "site": "free", "client": "denied", "bytes": "aggregated", "ok": "free"}
FREELY = "site, count(*) AS n FROM s GROUP BY window(ts, '10 seconds'), site"


def declared(options: str = CSV, columns: str = COLUMNS, **levels: str) -> DeclaredSource:
    (source,) = parse_script(f"CREATE SOURCE hits ({columns}) WITH ({options})").sources
    chosen = {**LEVELS, **levels}
    return DeclaredSource(
        source, tuple((one.name, Level(chosen.get(one.name, "free"))) for one in source.columns)
    )


def asking(select: str = FREELY, options: str = CSV, columns: str = COLUMNS) -> list[Query]:
    text = f"CREATE SOURCE s ({columns}) WITH ({options}); CREATE STREAM q AS SELECT {select};"
    return queries_in(text, at="hub", begin="earliest")


def refusal(query: Query, *sources: DeclaredSource) -> str:
    with pytest.raises(QueryRefused) as caught:
        check_query(query, Policy(declared=sources))
    return str(caught.value)


def test_a_source_under_a_name_of_its_own_is_read_as_it_is_declared() -> None:
    (query,) = asking()
    check_query(query, Policy(declared=(declared(),)))


@pytest.mark.parametrize(
    ("options", "columns", "message"),
    [
        (CSV, COLUMNS.replace("client", "visitor"), "column 3 is called visitor, not client"),
        (CSV, COLUMNS.replace("client", "Client"), "column 3 is called Client, not client"),
        (CSV, COLUMNS.replace("client", "`CLIENT`"), "column 3 is called CLIENT, not client"),
        (
            CSV,
            "ts TIMESTAMP, client STRING, site STRING, bytes BIGINT, ok BOOLEAN",
            "column 2 is called client, not site",
        ),
        (CSV, "ts TIMESTAMP, site STRING", "it has 2 columns, not 5"),
        (CSV, COLUMNS + ", more STRING", "it has 6 columns, not 5"),
        (CSV, COLUMNS.replace("BIGINT", "STRING"), "column bytes is string, not bigint"),
        (CSV.replace("csv", "tsv"), COLUMNS, "its format is tsv, not csv"),
        (JSON, COLUMNS, "its format is json, not csv"),
        (CSV + ", delimiter = ';'", COLUMNS, "its option delimiter is ';', not ','"),
        (CSV + ", header = 'true'", COLUMNS, "its option header is 'true', not 'false'"),
        (CSV + ", quote = 'x'", COLUMNS, "its option escape is 'x', not '\"'"),
        (CSV + ", quote = ''", COLUMNS, "its option escape is '', not '\"'"),
        (CSV + ", escape = 'x'", COLUMNS, "its option escape is 'x', not '\"'"),
        (CSV + ", null_value = '-'", COLUMNS, "its option null_value is '-', not ''"),
        (CSV + ", timestamp_format = 'epoch_s'", COLUMNS, "_format is 'epoch_s', not 'iso'"),
        (CSV + ", date_format = 'yyyy'", COLUMNS, "its option date_format is 'yyyy', not 'iso'"),
        (
            r"format = 'regex', path = 'a.log', time = 'ts', pattern = r'(.*?),(.*?),(.*)'",
            "ts TIMESTAMP, site STRING, rest STRING",
            "its format is regex, not csv",
        ),
    ],
)
def test_a_csv_file_read_in_another_way_is_refused_with_the_declared_form(
    options: str, columns: str, message: str
) -> None:
    select = "count(*) AS n FROM s GROUP BY window(ts, '10 seconds')"
    (query,) = asking(select, options, columns)
    said = refusal(query, declared())
    assert message in said
    assert "write it as it is declared: CREATE SOURCE hits (ts TIMESTAMP, site STRING" in said


def test_what_holds_anyway_may_be_said() -> None:
    options = (
        CSV
        + """, header = 'false', delimiter = ',', quote = '"', escape = '"',
        null_value = '', future_tolerance = '2 minutes', malformed_max = '5%'"""
    )
    (query,) = asking(options=options)
    check_query(query, Policy(declared=(declared(),)))
    (plain,) = asking()
    check_query(plain, Policy(declared=(declared(options),)))


def test_what_is_declared_has_to_be_said_where_it_does_not_hold_anyway() -> None:
    own = declared(CSV + ", timestamp_format = 'epoch_s'")
    assert "its option timestamp_format is 'iso', not 'epoch_s'" in refusal(asking()[0], own)


def test_in_a_tsv_file_nothing_is_quoted_unless_it_is_said() -> None:
    tsv = CSV.replace("csv", "tsv")
    (query,) = asking(options=tsv + ", quote = '', escape = ''")
    check_query(query, Policy(declared=(declared(tsv),)))
    (quoted,) = asking(options=tsv + ", quote = '\"'")
    assert "its option escape is '\"', not ''" in refusal(quoted, declared(tsv))


def test_another_time_column_is_refused() -> None:
    columns = COLUMNS + ", seen TIMESTAMP"
    options = CSV.replace("'ts'", "'seen'")
    select = FREELY.replace("ts", "seen")
    (query,) = asking(select, options, columns)
    assert "its time is seen, not ts" in refusal(query, declared(columns=columns))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("ts TIMESTAMP, site STRING, Client STRING", "it has no column Client"),
        ("ts TIMESTAMP, site STRING, clients STRING", "it has no column clients"),
        ("ts TIMESTAMP, site STRING, bytes STRING", "column bytes is string, not bigint"),
    ],
)
def test_a_json_column_is_known_by_its_own_name_alone(columns: str, message: str) -> None:
    (query,) = asking(options=JSON, columns=columns)
    assert message in refusal(query, declared(JSON))


def test_of_json_columns_may_be_left_out_and_come_in_another_order() -> None:
    (query,) = asking(options=JSON, columns="site STRING, ts TIMESTAMP")
    check_query(query, Policy(declared=(declared(JSON),)))


PATTERN = r"format = 'regex', path = 'a.log', time = 'ts', pattern = r'(\S+) (\S+)'"


@pytest.mark.parametrize(
    ("pattern", "columns"),
    [
        (r"(\S+) (\S+)", "ts TIMESTAMP, other STRING"),
        (r"(\S+) ([^ ]+)", "ts TIMESTAMP, site STRING"),
        (r"(\S+)( \S+)", "ts TIMESTAMP, site STRING"),
    ],
)
def test_another_pattern_or_other_names_for_its_groups_are_refused(
    pattern: str, columns: str
) -> None:
    options = PATTERN.replace(r"(\S+) (\S+)", pattern)
    select = "count(*) AS n FROM s GROUP BY window(ts, '10 seconds')"
    (query,) = asking(select, options, columns)
    own = declared(PATTERN, "ts TIMESTAMP, site STRING")
    assert "declares as source hits" in refusal(query, own)
    (query,) = asking(select, PATTERN, "ts TIMESTAMP, site STRING")
    check_query(query, Policy(declared=(own,)))


WINDOW = "window(ts, '10 seconds')"


@pytest.mark.parametrize(
    "select",
    [
        f"client, count(*) AS n FROM s GROUP BY {WINDOW}, client",
        f"upper(`client`) AS site, count(*) AS n FROM s GROUP BY {WINDOW}, upper(CLIENT)",
        f"count(client) AS n FROM s GROUP BY {WINDOW}",
        f"count_if(client = 'x') AS n FROM s GROUP BY {WINDOW}",
        f"max(client) AS n FROM s GROUP BY {WINDOW}",
        f"sum(length(client)) AS n FROM s GROUP BY {WINDOW}",
        f"count(*) AS n FROM s WHERE client = 'x' GROUP BY {WINDOW}",
        f"count(*) AS n FROM s WHERE s.client LIKE 'x%' GROUP BY {WINDOW}",
        f"count(*) FILTER (WHERE client = 'x') AS n FROM s GROUP BY {WINDOW}",
        f"count(*) AS n FROM s GROUP BY {WINDOW} HAVING max(client) > 'x'",
        f"count(*) AS n FROM s AS t GROUP BY {WINDOW} ORDER BY max(t.client) LIMIT 1",
        f"CASE WHEN client = 'x' THEN 1 ELSE 0 END AS k, count(*) AS n FROM s GROUP BY {WINDOW}, k",
        f"count(*) AS n FROM s WHERE client IS NULL GROUP BY {WINDOW}",
        f"concat(site, client) AS k, count(*) AS n FROM s GROUP BY {WINDOW}, 1",
    ],
)
def test_a_denied_column_is_read_by_nothing(select: str) -> None:
    (query,) = asking(select)
    said = refusal(query, declared())
    assert "column 'client' of source hits has level denied" in said
    assert "no query may read it here" in said


@pytest.mark.parametrize(
    ("select", "use"),
    [
        (f"bytes, count(*) AS n FROM s GROUP BY {WINDOW}, bytes", "as a key"),
        (f"bytes DIV 10 AS k, count(*) AS n FROM s GROUP BY {WINDOW}, k", "as a key"),
        (f"min(bytes) AS n FROM s GROUP BY {WINDOW}", "in MIN(bytes)"),
        (f"max(bytes + 1) AS n FROM s GROUP BY {WINDOW}", "in MAX(bytes + 1)"),
        (f"bool_or(bytes > 5) AS n FROM s GROUP BY {WINDOW}", "in BOOL_OR(bytes > 5)"),
        (f"bool_and(bytes > 5) AS n FROM s GROUP BY {WINDOW}", "in BOOL_AND(bytes > 5)"),
        (f"max(bytes) FILTER (WHERE ok) AS n FROM s GROUP BY {WINDOW}", "in MAX(bytes)"),
        (f"count(*) FILTER (WHERE bytes > 5) AS n FROM s GROUP BY {WINDOW}", "in FILTER"),
        (f"count(*) AS n FROM s WHERE bytes > 5 GROUP BY {WINDOW}", "in WHERE"),
        (f"count(*) AS n FROM s GROUP BY {WINDOW} HAVING max(bytes) > 5", "in MAX(bytes)"),
        (f"avg(bytes) AS n FROM s GROUP BY {WINDOW} ORDER BY min(bytes)", "in MIN(bytes)"),
        (
            f"percentile_approx(1, 0.5) FILTER (WHERE bytes > 5) AS n FROM s GROUP BY {WINDOW}",
            "in FILTER",
        ),
        (
            f"percentile_approx(bytes, 0.5) AS n, count(DISTINCT bytes) AS m FROM s "
            f"GROUP BY {WINDOW}",
            "where its values travel, as in DISTINCT",
        ),
    ],
)
def test_an_aggregated_column_leaves_by_counts_and_sums_alone(select: str, use: str) -> None:
    (query,) = asking(select)
    said = refusal(query, declared())
    assert "column 'bytes' of source hits has level aggregated" in said
    assert "only counts, sums, averages and other moments may take it" in said
    assert said.endswith(f"and the query has it {use}")


@pytest.mark.parametrize(
    "select",
    [
        f"site, sum(bytes) AS n FROM s GROUP BY {WINDOW}, site",
        f"avg(bytes) AS n FROM s GROUP BY {WINDOW}",
        f"count(bytes) AS n, count_if(bytes > 5) AS m FROM s GROUP BY {WINDOW}",
        f"sum(bytes * 8) FILTER (WHERE ok) AS n FROM s WHERE site = 'x' GROUP BY {WINDOW}",
        f"avg(bytes) AS n FROM s GROUP BY {WINDOW} HAVING sum(bytes) > 5 ORDER BY count(bytes)",
        f"max(ts) AS n, min(site) AS m FROM s GROUP BY {WINDOW}",
        f"percentile_approx(bytes, 0.5) AS n FROM s GROUP BY {WINDOW}",
        f"percentile_approx(bytes, 0.5) FILTER (WHERE ok) AS n, percentile_approx(bytes * 8, "
        f"array(0.1, 0.9), 0.05) AS m FROM s GROUP BY {WINDOW}",
    ],
)
def test_what_the_levels_allow_is_admitted(select: str) -> None:
    (query,) = asking(select)
    check_query(query, Policy(declared=(declared(),)))


def test_a_key_that_only_looks_like_a_slot_needs_a_free_column() -> None:
    """The text must be that of a histogram with the error that the plan names."""
    (query,) = asking(f"percentile_approx(bytes, 0.5) AS n FROM s GROUP BY {WINDOW}")
    program = query.program
    finer = program.site_sql.replace(" / 2.0000", " / 0.0000")
    assert finer != program.site_sql
    forged = changed(query, site_sql=finer)
    assert "has it where its values travel" in refusal(forged, declared())


def test_the_time_places_records_in_panes_where_it_may_not_leave_as_it_is() -> None:
    own = declared(ts="aggregated")
    check_query(asking()[0], Policy(declared=(own,)))
    (query,) = asking(f"max(ts) AS n FROM s GROUP BY {WINDOW}")
    assert "has it in MAX(ts)" in refusal(query, own)
    (query,) = asking(f"count(*) AS n FROM s WHERE ts IS NOT NULL GROUP BY {WINDOW}")
    assert "has it in WHERE" in refusal(query, own)


def test_a_sum_of_decimals_is_a_sum_though_its_type_is_widened() -> None:
    columns = COLUMNS + ", price DECIMAL(10, 2)"
    own = declared(columns=columns, price="aggregated")
    (query,) = asking(f"sum(price) AS n FROM s GROUP BY {WINDOW}", columns=columns)
    assert "CAST(SUM(price)" in query.program.site_sql
    check_query(query, Policy(declared=(own,)))


def test_levels_hold_for_every_column_of_an_expression() -> None:
    own = declared(client="free", site="aggregated")
    (query,) = asking(f"concat(client, site) AS k, count(*) AS n FROM s GROUP BY {WINDOW}, k")
    assert "column 'site' of source hits has level aggregated" in refusal(query, own)


def test_levels_hold_for_every_part_of_a_stream() -> None:
    text = f"""CREATE SOURCE s ({COLUMNS}) WITH ({CSV});
    CREATE STREAM q WITH (roots = 'a, b') AS SELECT {{}};"""

    def parts(select: str) -> list[Query]:
        return queries_in(text.format(select), begin="earliest")

    own = declared(ts="aggregated")
    for query in parts(FREELY):
        assert query.part is not None
        check_query(query, Policy(declared=(own,)))
    for query in parts(FREELY.replace("GROUP", "WHERE bytes > 5 GROUP")):
        assert "has it in WHERE" in refusal(query, own)


def test_a_query_that_hides_what_it_reads_is_refused_before_levels_are_asked() -> None:
    (query,) = asking()
    hidden = changed(query, site_sql=query.program.site_sql.replace("site,", "client AS site,", 1))
    assert "but it reads" in refusal(hidden, declared())


def test_a_long_statement_is_cut_in_the_refusal() -> None:
    columns = COLUMNS + "".join(f", c{n} STRING" for n in range(200))
    (query,) = asking()
    assert len(refusal(query, declared(columns=columns))) < 1400


HEADED = CSV + ", header = 'true'"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("ts TIMESTAMP, secret BIGINT", "it has no column secret"),
        ("ts TIMESTAMP, Client STRING", "it has no column Client"),
        ("ts TIMESTAMP, client BIGINT", "column client is bigint, not string"),
    ],
)
def test_below_a_header_no_other_name_leads_to_a_column(columns: str, message: str) -> None:
    select = "count(*) AS n FROM s GROUP BY window(ts, '10 seconds')"
    (query,) = asking(select, HEADED, columns)
    assert message in refusal(query, declared(HEADED))


def test_below_a_header_columns_may_be_left_out_and_stand_in_any_order() -> None:
    select = "sum(bytes) AS n FROM s GROUP BY window(ts, '10 seconds')"
    (query,) = asking(select, HEADED, "bytes BIGINT, ts TIMESTAMP")
    check_query(query, Policy(declared=(declared(HEADED),)))


def test_records_over_several_lines_begin_as_they_are_declared() -> None:
    """A trace that became records of its own would show what belongs to a protected column."""
    regex = "format = 'regex', path = 'a.log', time = 'ts', pattern = r'(.*)(.*)(.*)(.*)(.*)'"
    started = regex + r", record_start = r'\d{4}-'"
    (query,) = asking(options=started)
    check_query(query, Policy(declared=(declared(started),)))
    (query,) = asking(options=regex)
    assert r"its option record_start is not set, not '\\d{4}-'" in refusal(query, declared(started))
    (query,) = asking(options=started.replace("{4}", "{2}"))
    assert "its option record_start is" in refusal(query, declared(started))
