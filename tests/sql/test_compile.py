"""From a file of statements to queries: what each part of the text becomes."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_kit import queries_in

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.columns import Column
from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.query import Query, QueryId, Timing
from headwater.plan.sources.source import SourceFormat
from headwater.sql.compile import compile_statements, numbered, parse_script
from headwater.sql.types.functions import FUNCTIONS

S = 1_000_000
SOURCE = """
-- Access logs, as every site writes them.
CREATE SOURCE Access (ts TIMESTAMP, domain STRING, status INT, bytes LONG, price NUMERIC(10, 2))
WITH (format = 'CSV', path = 'access/*.log', time = 'TS', header = true, delimiter = ';');
"""
SELECT = "SELECT domain, count(*) AS hits FROM access GROUP BY window(ts, '10 seconds'), domain"


def compiled(
    stream: str = SELECT, *, options: str = "", now_us: int = 0, begin: str = "now"
) -> Query:
    with_ = f"WITH ({options})" if options else ""
    (query,) = compile_statements(
        f"{SOURCE} CREATE STREAM s {with_} AS {stream};",
        root="hub",
        installer="paris",
        next_counter=4,
        now_us=now_us,
        begin=begin,
    )
    return query


def test_a_source_is_a_schema_and_how_it_is_read() -> None:
    (source,) = parse_script(SOURCE).sources
    assert (source.name, source.format, source.path) == ("Access", SourceFormat.CSV, "access/*.log")
    assert source.time_column == "ts"
    assert source.columns == (
        Column("ts", "timestamp"),
        Column("domain", "string"),
        Column("status", "int"),
        Column("bytes", "bigint"),
        Column("price", "decimal(10,2)"),
    )
    assert source.options == (("delimiter", ";"), ("header", "true"))
    assert source.text.startswith("CREATE SOURCE Access")
    assert source.text.endswith("delimiter = ';')")


def test_a_pattern_keeps_its_backslashes() -> None:
    (source,) = parse_script(
        r"CREATE SOURCE a (client STRING, ts TIMESTAMP) WITH (format = 'regex', path = '*', "
        r"time = 'ts', pattern = r'(\S+) \[([^\]]+)\]', timestamp_format = 'dd/MMM/yyyy')"
    ).sources
    assert dict(source.options)["pattern"] == r"(\S+) \[([^\]]+)\]"
    assert dict(source.options)["timestamp_format"] == "dd/MMM/yyyy"


def test_named_groups_may_come_in_any_order() -> None:
    (source,) = parse_script(
        r"CREATE SOURCE a (client STRING, ts TIMESTAMP) WITH (format = 'regex', path = '*', "
        r"time = 'ts', pattern = '(?<ts>\\S+) (?<client>\\S+)')"
    ).sources
    assert dict(source.options)["pattern"] == r"(?<ts>\S+) (?<client>\S+)"


def test_a_query_is_named_and_numbered_by_its_installer() -> None:
    text = f"{SOURCE} CREATE STREAM a AS {SELECT}; CREATE STREAM b AS {SELECT};"
    queries = compile_statements(text, root="hub", installer="paris", next_counter=9)
    assert [query.id for query in queries] == [QueryId("a", "paris", 9), QueryId("b", "paris", 10)]
    assert queries[1].program.text == f"CREATE STREAM b AS {SELECT}"
    assert {query.root for query in queries} == {"hub"}


def test_sources_may_come_from_elsewhere() -> None:
    (source,) = parse_script(SOURCE).sources
    (query,) = queries_in(f"CREATE STREAM s AS {SELECT}", known_sources={"access": source})
    assert query.program.source == source


def test_a_file_with_sources_alone_has_no_queries() -> None:
    assert queries_in(SOURCE) == []


def test_options_become_timing_and_places() -> None:
    query = compiled(
        options="deadline = '4s', disorder = '500ms', lateness = '1h', revise_every = '2s', "
        "revise_for = '7d', root = 'oslo', sites = 'a, b ,a', time = 'age'"
    )
    assert (query.time, compiled().time) == ("age", "event")
    assert query.timing == Timing(
        deadline_s=4.0, disorder_s=0.5, lateness_s=3600.0, revise_every_s=2.0, revise_for_s=604800.0
    )
    assert (query.root, query.sites) == ("oslo", ("a", "b"))
    assert compiled().timing == Timing()
    assert compiled().sites == ()


def test_a_query_begins_with_the_first_window_after_the_slack() -> None:
    """Installed at 1000 s, it reaches the sites by 1015 s; windows of 30 s slide by 20 s."""
    stream = "SELECT count(*) FROM access GROUP BY window(ts, '30s', '20s')"
    query = compiled(stream, now_us=1000 * S)
    assert query.begin_pane is not None
    assert query.window.pane_start_us(query.begin_pane) == 1020 * S
    assert query.window.panes_of(51).start == query.begin_pane


def test_begin_may_be_earliest_or_a_moment() -> None:
    assert compiled(options="begin = 'earliest'").begin_pane is None
    assert compiled(begin="earliest").begin_pane is None
    assert compiled(options="begin = 'now'", begin="earliest", now_us=5 * S).begin_pane == 2
    query = compiled(options="begin = '1970-01-01 00:00:25'", begin="earliest")
    assert query.begin_pane == 3
    assert compiled(begin="1970-01-01 00:00:25").begin_pane == 3


def test_a_begin_that_has_passed_has_sites_read_the_past() -> None:
    late = compiled(options="begin = '1970-01-01 00:00:25'", now_us=100 * S)
    assert (late.begin_pane, late.reads_past, late.wants_past) == (3, True, True)
    ago = compiled(options="begin = '75 seconds ago'", now_us=100 * S)
    assert (ago.begin_pane, ago.reads_past) == (3, True)
    early = compiled(options="begin = '1970-01-01 00:01:50'", now_us=100 * S)
    assert (early.begin_pane, early.reads_past, early.wants_past) == (11, msgspec.UNSET, False)
    assert compiled(options="begin = 'earliest'").wants_past


def test_an_extent_ends_behind_the_last_window_that_fits() -> None:
    slides = "SELECT count(*) FROM access GROUP BY window(ts, '30s', '20s')"
    query = compiled(slides, options="begin = '1970-01-01 00:01:00', extent = '75 seconds'")
    assert query.begin_pane is not None
    assert query.window.pane_start_us(query.begin_pane) == 60 * S
    assert query.ends_at is not None
    assert query.window.pane_end_us(query.ends_at - 1) == 130 * S
    assert query.needs == ("option extent",)
    assert compiled().ends_at is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("begin = 'a while ago'", "is no length of time before now; write '2 hours ago'"),
        ("begin = '1 day ago', time = 'age'", "by age a begin in the past can't be"),
        ("extent = '5 seconds'", "wanted an extent of one window (10 seconds) or longer"),
        ("extent = 'long'", "is no length of time"),
        ("begin = 'earliest', extent = '1 day'", "nobody knows where it would end"),
    ],
)
def test_a_begin_or_an_extent_that_can_not_be_is_refused(options: str, words: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options=options, now_us=10**15)
    assert words in str(refused.value)


def test_a_window_may_slide_and_start_aside() -> None:
    query = compiled("SELECT count(*) FROM access GROUP BY window(ts, '1 min', '20s', '-5s')")
    assert query.window == WindowSpec(60 * S, 20 * S, 15 * S)


def test_only_the_columns_that_are_used_are_read() -> None:
    assert compiled().program.columns_used == ("ts", "domain")
    stream = (
        "SELECT sum(price) FILTER (WHERE status > 1) AS x FROM access "
        "WHERE bytes > 0 GROUP BY window(ts, '10s')"
    )
    assert compiled(stream).program.columns_used == ("ts", "status", "bytes", "price")


def test_names_are_found_without_regard_to_case() -> None:
    query = compiled("SELECT A.DOMAIN, MAX(Bytes) FROM ACCESS a GROUP BY Window(TS, '10s'), Domain")
    assert query.program.site_sql.endswith(
        "AS pane, domain, MAX(bytes) AS max_1 FROM records WHERE NOT ts IS NULL GROUP BY 1, 2"
    )
    assert [column.name for column in query.program.output] == ["DOMAIN", "max_Bytes"]


def test_columns_without_a_name_get_one() -> None:
    query = compiled(
        "SELECT window.start, domain, count(*), sum(bytes), max(bytes) + 1, upper(domain) "
        "FROM access GROUP BY window(ts, '10s'), domain"
    )
    names = [column.name for column in query.program.output]
    assert names == ["start", "domain", "count", "sum_bytes", "column_5", "column_6"]


def test_the_window_itself_is_first_whether_it_is_selected_or_not() -> None:
    selected = compiled("SELECT count(*) AS n, window FROM access GROUP BY window(ts, '10s')")
    silent = compiled("SELECT count(*) AS n FROM access GROUP BY window(ts, '10s')")
    assert selected.program.output == silent.program.output == (Column("n", "bigint"),)
    assert selected.program.root_sql == silent.program.root_sql


def test_the_same_aggregate_is_computed_once() -> None:
    query = compiled(
        "SELECT sum(bytes) AS a, SUM( bytes ) + 1 AS b, avg(bytes) AS c, count(bytes) AS d "
        "FROM access GROUP BY window(ts, '10s') HAVING sum(bytes) > 0 ORDER BY avg(bytes)"
    )
    assert [partial.name for partial in query.program.partials] == ["sum_1", "count_2"]


def test_a_query_travels_as_data() -> None:
    query = compiled(options="begin = 'earliest'")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(query), type=Query) == query


def test_compiling_again_gives_the_same_query() -> None:
    assert compiled() == compiled()


def test_there_are_enough_functions_to_work_with() -> None:
    assert len(FUNCTIONS) >= 150


def assert_compiled_or_refused(stream: str) -> None:
    """Whatever is refused is refused with its line."""
    try:
        queries = queries_in(stream)
    except QueryRefused as error:
        found = str(error)
    else:
        found = f"line {len(queries)}"
    assert found.startswith("line ")


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    stream = f"{SOURCE} CREATE STREAM s AS SELECT {text} FROM access GROUP BY window(ts, '10s')"
    assert_compiled_or_refused(stream)


WORDS = (
    "SELECT FROM access GROUP BY window(ts,'10s') domain bytes count(*) sum(bytes) , ( ) + - * "
    "AND OR NOT IN LIKE 'x' 1 2.5 AS a HAVING ORDER LIMIT CASE WHEN THEN END IS NULL = > || "
    "FILTER (WHERE ) DESC upper(domain) CAST( AS INT) DISTINCT OVER JOIN UNION"
)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=20))
def test_any_jumble_of_words_is_compiled_or_refused(parts: list[str]) -> None:
    stream = f"{SOURCE} CREATE STREAM s AS SELECT {' '.join(parts)}"
    assert_compiled_or_refused(stream)


@pytest.mark.parametrize("begin", ["later", ""])
def test_a_default_begin_that_is_none_is_refused(begin: str) -> None:
    with pytest.raises(ConfigurationError, match="begin: wanted earliest or now or a point"):
        compiled(begin=begin)


def test_a_query_by_age_begins_by_the_clock_of_its_root_where_that_is_known() -> None:
    stream = (
        "CREATE STREAM s WITH (root = '{root}', time = '{time}') AS "
        "SELECT count(*) AS n FROM access GROUP BY window(ts, '10 seconds');"
    )

    def begin(root: str, time: str) -> int | None:
        (query,) = queries_in(
            SOURCE + stream.format(root=root, time=time),
            now_us=0,
            slack_us=0,
            root_now_us={"b": 70_000_000}.get,
        )
        return query.begin_pane

    assert (begin("b", "age"), begin("b", "event"), begin("a", "age")) == (7, 0, 0)


def test_the_number_of_a_command_is_in_nothing_else_of_a_query() -> None:
    text = SOURCE + "".join(
        f"CREATE STREAM {name} AS SELECT count(*) AS n FROM access GROUP BY window(ts, '1s');"
        for name in ("one", "two")
    )
    first, later = (
        compile_statements(text, root="a", installer="a", next_counter=n) for n in (1, 40)
    )
    assert numbered(first, 40) == later
    assert [(query.id.counter, query.unit_last) for query in later] == [(40, 41), (41, 41)]
