"""A value has a size that is known before anything runs; what may become too large is refused."""

from __future__ import annotations

import pytest

from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import parse_expression
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.value_sizes import check_sizes


def objection(sql: str) -> str:
    """What is said of an expression; empty: nothing."""
    try:
        check_sizes(parse_expression(sql))
    except Objection as found:
        return found.message
    return ""


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("max(length(repeat(host, 700000000)))", "700000000 copies of the record"),
        ("repeat(host, 257)", "257 copies"),
        ("repeat(repeat(host, 100), 100)", "10000 copies"),
        ("repeat('0123456789', 200000)", "2000000 bytes"),
        ("repeat(host, n)", "takes an integer literal as argument 2"),
        ("repeat(host, 9" + "9" * 5000 + ")", "copies of the record"),
        ("space(700000000)", "700000000 bytes"),
        ("space(n)", "takes an integer literal as argument 1"),
        ("lpad(host, 700000000, 'x')", "2800000000 bytes"),
        ("rpad(host, n, 'x')", "takes an integer literal as argument 2"),
        ("format_string('%700000000s', host)", "at most 1000"),
        ("format_string('%.700000000f', n)", "at most 1000"),
        ("format_string(host, host)", "takes a literal as argument 1"),
        ("format_string('" + "%1$s" * 300 + "', host)", "300 copies"),
        ("concat(" + ", ".join(["host"] * 300) + ")", "300 copies"),
        ("host" + " || host" * 300, "257 copies"),
        ("replace(host, '', path)", "takes a literal as argument 3"),
        ("replace(host, 'a', '" + "x" * 300 + "')", "300 copies"),
        ("regexp_replace(host, '', path)", "takes a literal as argument 3"),
        ("regexp_replace(host, '(?=(.*))', '$1')", "looks ahead or behind"),
        ("regexp_replace(host, '.', '" + "x" * 300 + "')", "300 copies"),
        ("hex(hex(hex(hex(hex(hex(hex(hex(hex(host)))))))))", "512 copies"),
        ("CASE WHEN n > 0 THEN repeat(host, 999) END", "999 copies"),
        ("coalesce(repeat(host, 999), '')", "999 copies"),
        ("CAST(repeat(host, 999) AS BINARY)", "999 copies"),
        ("repeat(host, 999) LIKE 'a%'", "999 copies"),
        ("host IN (repeat(path, 999))", "999 copies"),
    ],
)
def test_what_may_become_too_large_is_refused(sql: str, message: str) -> None:
    assert message in objection(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "repeat(host, 3)",
        "repeat('-', 80)",
        "repeat(host, -3)",
        "lpad(host, 20, '0')",
        "rpad(host, 20)",
        "space(8)",
        "format_string('%08d %s', n, host)",
        "concat(" + ", ".join(f"c{n}" for n in range(600)) + ")",
        "concat_ws('/', host, path, agent)",
        "regexp_replace(regexp_replace(regexp_replace(url, '[0-9]+', '{n}'), 'x', '{h}'), 'y', '')",
        "regexp_replace(path, '^/([^/]+)/.*', '$1')",
        "replace(host, 'www.', '')",
        "replace(host, 'www.')",
        "upper(trim(lower(host)))",
        "base64(sha2(host, 256))",
        "substring(host, 1, n)",
        "CASE WHEN n > 0 THEN host ELSE path END || '!'",
    ],
)
def test_what_people_write_passes(sql: str) -> None:
    assert objection(sql) == ""


def test_typing_an_expression_looks_at_its_size() -> None:
    """So it holds for the compiler and for everyone who admits."""
    with pytest.raises(Objection, match="copies of the record"):
        type_of(parse_expression("length(repeat(host, 999))"), lambda _: "string")


TYPES = {"tags": "array<string>", "nums": "array<int>", "m": "map<string,string>", "n": "int"}


def lambda_objection(sql: str) -> str:
    try:
        type_of(parse_expression(sql), lambda node: TYPES.get(node.name, "string"))
    except Objection as found:
        return found.message
    return ""


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("transform(tags, t -> host)", "has `host` in it for each element"),
        ("transform(tags, t -> tags)", "has `tags` in it for each element"),
        ("transform_values(m, (k, v) -> concat(v, host))", "has `host` in it for each element"),
        ("transform(tags, t -> repeat(t, 300))", "300 copies"),
        ("transform(tags, t -> lpad(t, 999))", "copies of the record"),
        ("aggregate(tags, '', (s, t) -> s || s)", "begins with a text or an array"),
        ("aggregate(nums, array(1), (xs, x) -> concat(xs, xs))", "begins with a text or an ar"),
        ("sequence(1, 1000000000)", "bytes"),
        ("sequence(1, n)", "takes an integer literal as argument 2"),
        ("array_repeat(host, 1000000)", "1000000 copies"),
        ("array_insert(tags, 900000000, 'x')", "bytes"),
        ("array_insert(tags, -900000000, 'x')", "bytes"),
        ("array_join(tags, host)", "takes a literal as argument 2"),
        ("concat_ws(host, tags)", "takes a literal as argument 1"),
        ("regexp_extract_all(host, '(?=(.*))', 1)", "looks ahead or behind"),
        ("transform(tags, a -> transform(tags, b -> exists(tags, c -> c = b)))", "at most 2 deep"),
    ],
)
def test_an_array_may_not_multiply_a_record_by_a_record(sql: str, message: str) -> None:
    assert message in lambda_objection(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "transform(tags, t -> upper(t) || '!')",
        "filter(tags, t -> t = host)",
        "exists(tags, t -> host LIKE concat(t, '%'))",
        "transform(nums, x -> x * n)",
        "transform(tags, t -> named_struct('tag', t, 'n', n))",
        "aggregate(nums, 0, (sum, x) -> sum + x)",
        "aggregate(nums, named_struct('n', 0, 'm', 0D), (s, x) -> named_struct('n', x, 'm', s.m))",
        "sequence(0, 23)",
        "array_join(transform(tags, t -> trim(t)), ', ')",
    ],
)
def test_what_people_write_with_arrays_passes(sql: str) -> None:
    if ".m)" in sql:
        sql = sql.replace("s.m)", "s['m'])")
    assert lambda_objection(sql) == ""
