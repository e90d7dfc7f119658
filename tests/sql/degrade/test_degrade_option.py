"""``degrade``: what a stream may give up, and what it can't have."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.degradation import OperatorKind
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit import needs
from headwater.sql.alter import merged_options
from headwater.sql.degrade import can_be_had
from headwater.sql.read.statements import Option

SOURCE = (
    "CREATE SOURCE r (url STRING, ms DOUBLE, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


@pytest.fixture(autouse=True)
def all_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    every = frozenset(OperatorKind)
    monkeypatch.setattr(can_be_had, "WHOLE", every)
    monkeypatch.setattr(needs, "KNOWN", needs.KNOWN | {f"degrade {kind}" for kind in every})


def compiled(
    degrade: str, *, length: str = "1 second", shown: str = "count(*) AS hits", more: str = ""
) -> Query:
    query, *_ = queries_in(
        f"{SOURCE} CREATE STREAM s WITH (degrade = '{degrade}') AS "
        f"SELECT url, {shown} FROM r GROUP BY url, window(ts, '{length}'){more};"
    )
    return query


def operators(query: Query) -> list[tuple[str, tuple[float, ...], str]]:
    assert query.degrades is not None
    return [(one.kind, one.levels, one.column) for one in query.degrades.operators]


def test_all_levels_of_all_operators_are_read_in_order() -> None:
    assert operators(compiled("coarsen(time, 5 s, 10 seconds), sample(url, 1/2)")) == [
        ("coarsen time", (5e6, 10e6), ""),
        ("sample", (1 / 2,), "url"),
    ]
    assert operators(compiled("threshold(hits, 1 % of total)")) == [
        ("threshold", (1 / 64, 1 / 16, 1 / 4, 1.0), "hits")
    ]
    assert operators(compiled("top(9, hits)")) == [("top", (9.0,), "hits")]
    assert operators(compiled("sample(url, 1/16)")) == [
        ("sample", (1 / 2, 1 / 4, 1 / 8, 1 / 16), "url")
    ]


def test_a_coarser_key_is_an_expression_of_the_key() -> None:
    query = compiled('coarsen(url, regexp_extract(url, r"^[^,/]*", 0))')
    assert query.degrades is not None
    (key,) = query.degrades.operators
    assert (key.column, key.expression) == ("url", "REGEXP_EXTRACT(url, '^[^,/]*', 0)")


def test_without_it_a_plan_is_what_it_was() -> None:
    query = compiled("none")
    assert query.degrades is None
    assert b"degradation" not in msgspec.json.encode(FlatQuery.of(query))
    assert b"degradation" not in msgspec.json.encode(Settings.of(query))


def test_it_survives_the_wire_and_is_a_setting() -> None:
    query = compiled("coarsen(time, 5 s)")
    sent = msgspec.msgpack.encode(FlatQuery.of(query))
    assert msgspec.msgpack.decode(sent, type=FlatQuery).query() == query
    settings = Settings.of(query)
    assert settings.degradation == query.degrades
    assert settings.on(compiled("none")).degrades == query.degrades


def test_a_site_that_can_not_do_an_operator_declines_the_stream() -> None:
    assert "degrade sample" in tuple(compiled("sample(url, 1/2)").needs)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("", "wanted operators, got ''"),
        ("drop(url)", "wanted operators, got 'drop(url)'"),
        ("sampel(url, 1/2)", "did you mean `sample`?"),
        ("threshold(hits, 1 %", "got 'threshold(hits, 1 %'; write `threshold` with all its"),
        ("shrink", "got 'shrink'; write `shrink` with all its brackets; operators: "),
        ("sample(url, 1/3)", "samples are halves of halves"),
        ("sample(url, 2/4)", "samples are halves of halves"),
        ("sample(url, 1/1)", "samples are halves of halves"),
        ("sample(hits, 1/2)", "`hits` is no key"),
        ("coarsen(time, 5 kg)", "'5 kg' is no length of time"),
        ("coarsen(time, 6 s)", "coarse ones are 5 seconds, 10 seconds"),
        ("coarsen(time, 1 s)", "coarse ones are 5 seconds, 10 seconds"),
        ("coarsen(time, 10 s, 5 s)", "each length once, the shortest first"),
        ("coarsen(url, concat(url, ms))", "of `url` alone, got columns ms, url"),
        ("coarsen(url, 7)", "of `url` alone, got columns none"),
        ("coarsen(url, concat(url, uuid()))", "always gives the same, got `uuid`"),
        ("threshold(hits)", "wanted threshold(column, 1 % of total)"),
        ("threshold(url, 1 %)", "`url` is no count or sum"),
        ("threshold(hits, 1 kg)", "wanted a bound, got '1 kg'"),
        ("threshold(hits, 1 of total)", "wanted a share of the total"),
        ("sample(url, 1/2), coarsen(time, 5 s), sample(url, 1/4)", "twice; write the least share"),
        ("coarsen(time, 5 s), coarsen(time, 10 s)", "twice; write all its lengths in one"),
        ("threshold(hits, 1 %), threshold(hits, 2 %)", "got it twice; write one of them"),
        ("top(0, hits)", "wanted 1 to 100000 groups"),
        ("top(10, url)", "`url` is no count or sum"),
        ("shrink(url)", "wanted a column that is an approx_count_distinct"),
    ],
)
def test_what_a_stream_can_not_have_is_refused(asked: str, why: str) -> None:
    with pytest.raises(QueryRefused, match=r"line 1:\d+") as caught:
        compiled(asked)
    assert why in str(caught.value)


def test_a_refusal_names_what_can_be_had() -> None:
    with pytest.raises(QueryRefused, match="this stream can have: ") as caught:
        compiled("coarsen(time, 6 s)")
    assert (
        "coarsen(time, 5 seconds, 10 seconds, 30 seconds), coarsen(url, …), "
        "threshold(hits, 1 % of total), sample(url, 1/16), top(100, hits)" in str(caught.value)
    )


@pytest.mark.parametrize(
    ("shown", "levels"),
    [
        ("approx_count_distinct(ms) AS m", (1 / 2, 1 / 4)),
        ("hll_sketch_agg(url, 7) AS m", (1 / 2,)),
        ("hll_sketch_agg(url, 5) AS m", None),
        ("approx_percentile(ms, 0.5) AS m", None),
        ("approx_count_distinct(ms) + 1 AS m", None),
        ("count(DISTINCT ms) AS m", None),
    ],
)
def test_sketches_of_distinct_values_can_be_made_smaller_and_no_others(
    shown: str, levels: tuple[float, ...] | None
) -> None:
    if levels is None:
        with pytest.raises(QueryRefused, match="other sketches are not made smaller") as refused:
            compiled("shrink(m)", shown=shown)
        assert "this stream can have: coarsen(time" in str(refused.value)
        return
    assert operators(compiled("shrink(m)", shown=shown)) == [("shrink", levels, "m")]


def test_a_threshold_on_an_average_is_refused() -> None:
    with pytest.raises(QueryRefused, match="`mean` is no count or sum"):
        compiled("threshold(mean, 1 %)", shown="avg(ms) AS mean")


def test_a_pane_that_no_hierarchy_divides_can_not_be_coarsened() -> None:
    with pytest.raises(QueryRefused, match="not put together in time"):
        compiled("coarsen(time, 14 s)", length="7 seconds")


def test_an_operator_that_is_not_whole_yet_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(can_be_had, "WHOLE", frozenset({OperatorKind.SAMPLE}))
    with pytest.raises(QueryRefused, match="can't do that from the site to the answer") as caught:
        compiled("top(5, hits)")
    assert str(caught.value).splitlines()[0].endswith("this stream can have: sample(url, 1/16)")


def test_it_may_be_altered_and_taken_away() -> None:
    first = (("degrade", "'sample(url, 1/2)'"),)
    other = Option("degrade", "coarsen(time, 5 s)", 0, 0, "'coarsen(time, 5 s)'")
    none = Option("degrade", "none", 0, 0, "'none'")
    assert merged_options(first, [other]) == (("degrade", "'coarsen(time, 5 s)'"),)
    assert merged_options(first, [none]) == ()
