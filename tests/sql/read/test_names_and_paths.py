"""Names in backticks and paths into records, and that neither leads around a site's levels."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import changed, queries_in

from headwater.agent.input.declarations import SourceDeclaration, read_declarations
from headwater.algebra.rows.columns import Column
from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.query import Query
from headwater.plan.sources.column_names import path_steps, path_text
from headwater.plan.sources.source import Source
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.compile import parse_script
from headwater.sql.types.declared_types import declared_type, element_type, field_types

JSON = "format = 'json', path = '*.json'"


def source_text(columns: str, options: str = f"{JSON}, time = 'ts'") -> str:
    return f"CREATE SOURCE s ({columns}) WITH ({options})"


def source_of(columns: str, options: str = f"{JSON}, time = 'ts'") -> Source:
    (source,) = parse_script(source_text(columns, options)).sources
    return source


def query_of(columns: str, select: str, options: str = f"{JSON}, time = 'ts'") -> Query:
    text = f"{source_text(columns, options)}; CREATE STREAM q AS {select}"
    (query,) = queries_in(text)
    return query


ODD = "`@timestamp` TIMESTAMP, `user-agent` STRING, `a``b` INT, `größe.x` BIGINT, `,` INT"
ODD_SELECT = """
    SELECT `user-agent`, sum(`a``b`) AS `the sum`, max(`GRÖSSE.x`), count_if(`,` > 1)
    FROM s WHERE `user-agent` <> 'x' GROUP BY window(`@timestamp`, '1 minute'), `user-agent`
""".replace("GRÖSSE", "größe")


def test_a_name_in_backticks_is_any_name_through_all_of_a_query() -> None:
    query = query_of(ODD, ODD_SELECT, f"{JSON}, time = '@timestamp'")
    names = ["@timestamp", "user-agent", "a`b", "größe.x", ","]
    assert [column.name for column in query.program.source.columns] == names
    assert query.program.source.time_column == "@timestamp"
    assert set(query.program.columns_used) == set(names)
    output = ["user-agent", "the sum", "max_größe.x", "column_4"]
    assert [column.name for column in query.program.output] == output
    assert "SUM(`a``b`)" in query.program.site_sql
    check_query(query)


@pytest.mark.parametrize(
    "columns", ["`a\nb` INT", "`` INT", "`" + "x" * 101 + "` INT", "`__x` INT", "`Window` INT"]
)
def test_a_name_that_can_t_be_shown_or_is_taken_is_refused(columns: str) -> None:
    with pytest.raises(QueryRefused):
        source_of(f"ts TIMESTAMP, {columns}")


def test_a_backticked_word_is_no_word_of_ours() -> None:
    source = source_of("ts TIMESTAMP, `path` STRING PATH 'p'")
    assert source.path_of("path") == ("p",)
    assert source_of("ts TIMESTAMP, path STRING").path_of("path") == ("path",)


@pytest.mark.parametrize(
    ("path", "steps", "text"),
    [
        ("geo.country", ("geo", "country"), "geo.country"),
        ("tags[0]", ("tags", 0), "tags[0]"),
        ("a[1][2].b", ("a", 1, 2, "b"), "a[1][2].b"),
        ("m['a b'].c", ("m", "a b", "c"), "m.`a b`.c"),
        ("`a.b`", ("a.b",), "`a.b`"),
        ("@x.y-z", ("@x", "y-z"), "@x.y-z"),
    ],
)
def test_a_path_is_names_and_indexes(path: str, steps: tuple[str | int, ...], text: str) -> None:
    assert path_steps(path) == steps
    assert path_text(steps) == text
    assert path_steps(text) == steps


@pytest.mark.parametrize(
    "path",
    ["", ".a", "a.", "a..b", "[0]", "a[", "a[x]", "a[-1]", "a.*", "a['b?']", "a b", "$.a", "a[*]",
     "a" + ".b" * 30, "a[99999999]"],
)  # fmt: skip
def test_what_is_no_path_is_refused(path: str) -> None:
    if path == "$.a":  # a name like any other
        assert path_steps(path) == ("$", "a")
        return
    with pytest.raises(QueryRefused):
        source_of(f"ts TIMESTAMP, x STRING PATH '{path}'")


def test_a_path_is_only_for_json() -> None:
    with pytest.raises(QueryRefused, match="leads into JSON"):
        source_of("ts TIMESTAMP, x STRING PATH 'a.b'", "format='csv', path='*', time='ts'")


@pytest.mark.parametrize(
    "paths",
    [
        (("x", "a..b"),),
        (("x", "a['b']"),),
        (("x", "a"), ("x", "b")),
        (("other", "a"),),
        (),
        (("x", "$..*"),),
        (("x", "a'b.c'd"),),
    ],
)
def test_paths_from_the_wire_are_checked(paths: tuple[tuple[str, str], ...]) -> None:
    query = query_of(
        "ts TIMESTAMP, x STRING PATH 'a'", "SELECT count(x) FROM s GROUP BY window(ts, '1 minute')"
    )
    check_query(query)
    forged = msgspec.structs.replace(query.program.source, paths=paths)
    with pytest.raises(QueryRefused, match="source"):
        check_query(changed(query, source=forged))


COLUMNS = "ts TIMESTAMP, country STRING PATH 'geo.country', ssn STRING PATH 'person.ssn'"
LEVELS = {"ts": "free", "country": "free", "ssn": "denied"}


def policy(columns: str = COLUMNS, levels: dict[str, str] = LEVELS) -> Policy:
    declared = [SourceDeclaration(source_text(columns), levels)]
    return Policy(declared=read_declarations(declared, data="/data"))


def asking(columns: str, item: str) -> Query:
    return query_of(columns, f"SELECT {item} AS x FROM s GROUP BY window(ts, '1 minute')")


def test_a_query_that_reads_as_declared_is_admitted() -> None:
    check_query(asking("ts TIMESTAMP, country STRING PATH 'geo.country'", "max(country)"), policy())


@pytest.mark.parametrize(
    ("columns", "item"),
    [
        ("ts TIMESTAMP, ssn STRING PATH 'person.ssn'", "max(ssn)"),
        ("ts TIMESTAMP, country STRING PATH 'person.ssn'", "max(country)"),
        ("ts TIMESTAMP, country STRING", "max(country)"),
        ("ts TIMESTAMP, person STRING", "max(person)"),
        ("ts TIMESTAMP, country STRUCT<ssn: STRING> PATH 'person'", "count(country)"),
        ("ts TIMESTAMP, other STRING PATH 'person.ssn'", "max(other)"),
        ("ts TIMESTAMP, Country STRING PATH 'person.ssn'", "max(country)"),
        ("ts TIMESTAMP PATH 'person.ssn', country STRING PATH 'geo.country'", "max(country)"),
        ("ts TIMESTAMP, `person.ssn` STRING", "max(`person.ssn`)"),
    ],
)
def test_no_path_and_no_name_leads_to_what_is_denied(columns: str, item: str) -> None:
    with pytest.raises(QueryRefused):
        check_query(asking(columns, item), policy())


@pytest.mark.parametrize(
    "outer", ["person STRING", "p STRING PATH 'person'", "s STRING PATH 'person.ssn'"]
)
def test_a_column_that_holds_a_denied_one_keeps_the_agent_from_starting(outer: str) -> None:
    name = outer.split()[0]
    with pytest.raises(ConfigurationError, match="holds column ssn"):
        policy(f"{COLUMNS}, {outer}", {**LEVELS, name: "free"})
    policy(f"{COLUMNS}, {outer}", {**LEVELS, name: "denied"})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ARRAY<INT>", "array<int>"),
        ("map<STRING, array<double>>", "map<string,array<double>>"),
        ("struct<a: int, b: struct<c: string>>", "struct<a:int,b:struct<c:string>>"),
        ("STRUCT<`x y`: INT>", "struct<`x y`:int>"),
        ("VARCHAR(5)", "varchar(5)"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("INTERVAL DAY TO SECOND", "interval day to second"),
        ("binary", "binary"),
        ("array<text>", None),
        ("map<int, int>", None),
        ("struct<a: int, A: int>", None),
        ("struct<>", None),
        ("varchar(0)", None),
        ("array<" * 20 + "int" + ">" * 20, None),
    ],
)
def test_types_of_columns_have_one_name(text: str, name: str | None) -> None:
    assert declared_type(text) == name
    if name is not None:
        assert source_of(f"ts TIMESTAMP, x {text}").columns[1] == Column("x", name)


def test_a_nested_type_comes_apart() -> None:
    assert element_type("map<string,array<double>>") == "array<double>"
    assert field_types("struct<a:int,`x y`:map<string,int>>") == {
        "a": "int",
        "x y": "map<string,int>",
    }
    assert field_types("int") == {}


@pytest.mark.parametrize(
    ("columns", "format_", "outer", "inner"),
    [
        ("ts TIMESTAMP, request STRING, path STRING", "nginx", "request", "path"),
        ("ts TIMESTAMP, MESSAGE STRING, message2 STRING", "journald", "", ""),
        ("ts TIMESTAMP, `_PID` STRING, pid INT", "journald", "_PID", "pid"),
    ],
)
def test_a_named_format_has_no_way_around_a_level_either(
    columns: str, format_: str, outer: str, inner: str
) -> None:
    text = source_text(columns, f"format = '{format_}', path = '*'")
    names = [column.name for column in source_of(columns, f"format='{format_}', path='*'").columns]
    levels = {name: "denied" if name == inner else "free" for name in names}
    if not inner:
        read_declarations([SourceDeclaration(text, levels)], data="/data")
        return
    with pytest.raises(ConfigurationError, match=f"column {outer} is free, and holds"):
        read_declarations([SourceDeclaration(text, levels)], data="/data")


def test_a_query_may_leave_out_columns_of_a_named_format_and_may_not_add_any() -> None:
    options = "format = 'nginx', path = '*.log'"
    statement = f"CREATE SOURCE s WITH ({options})"
    levels = {column.name: "free" for column in parse_script(statement).sources[0].columns}
    declared = read_declarations(
        [SourceDeclaration(statement, {**levels, "client": "denied"})], data="/data"
    )
    select = "SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute')"
    check_query(query_of("status INT, ts TIMESTAMP", select, options), Policy(declared=declared))
    for columns, item in (
        ("ts TIMESTAMP, client STRING", "max(client)"),
        ("ts TIMESTAMP, status STRING", "max(status)"),
    ):
        asked = query_of(columns, select.replace("count(*)", item), options)
        with pytest.raises(QueryRefused):
            check_query(asked, Policy(declared=declared))
    other = query_of("ts TIMESTAMP", select, options.replace("nginx", "apache"))
    with pytest.raises(QueryRefused, match="its format is apache"):
        check_query(other, Policy(declared=declared))
