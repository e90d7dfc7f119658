"""A threshold: what it means to what sites keep back, and what ``explain`` says of it."""

from __future__ import annotations

import pytest
from query_kit import queries_in

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.errors import QueryRefused
from headwater.plan.altered.settings import Settings
from headwater.plan.query import Query
from headwater.sql.alter import merged_options, settings_with, written_options
from headwater.sql.alter_statement import read_settings
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE r (url STRING, ms DOUBLE, size INT, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def compiled(options: str, shown: str = "count(*) AS hits", having: str = "") -> Query:
    (query, *_) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        f"SELECT url, {shown} FROM r GROUP BY url, window(ts, '2 seconds'){having};"
    )
    return query


def test_nothing_is_kept_back_before_the_link_asks_for_it() -> None:
    tolerance = compiled("degrade = 'threshold(hits, 1 % of total)'").tolerates
    assert tolerance is not None
    assert tolerance.is_by_link
    assert tolerance.raised(0.0).keeps_nothing
    assert [one.size for one in tolerance.raised(0.25).columns] == [0.0025]
    assert [one.size for one in tolerance.raised(1.0).columns] == [0.01]


def test_all_of_the_other_columns_may_stay_and_what_they_lack_is_stated() -> None:
    shown = "count(*) AS hits, sum(abs(size)) AS bytes, avg(ms) AS mean"
    tolerance = compiled("degrade = 'threshold(hits, 1 % of total)'", shown).tolerates
    assert tolerance is not None
    found = [(one.column, one.form, one.size) for one in tolerance.columns]
    assert found == [
        ("hits", ErrorForm.TOTAL, 0.01),
        ("bytes", ErrorForm.TOTAL, 1.0),
        ("mean", ErrorForm.VALUE, 1.0),
    ]


@pytest.mark.parametrize(
    "shown", ["max(ms) AS slowest", "sum(size) AS bytes", "count(DISTINCT ms) AS members"]
)
def test_a_column_of_which_nobody_could_say_what_it_lacks_refuses_it(shown: str) -> None:
    with pytest.raises(QueryRefused, match="nobody could say by how much it is off"):
        compiled("degrade = 'threshold(hits, 1 % of total)'", f"count(*) AS hits, {shown}")


@pytest.mark.parametrize(
    ("shown", "is_offered"),
    [
        ("sum(size) AS bytes", False),
        ("approx_count_distinct(ms, 0.02) AS users", False),
        ("max(ms) AS slowest", False),
        ("sum(abs(size)) AS bytes, avg(ms) AS mean", True),
    ],
)
def test_a_refusal_offers_what_keeps_groups_back_only_where_all_columns_say_what_they_lack(
    shown: str, is_offered: bool
) -> None:
    with pytest.raises(QueryRefused, match="this stream can have: coarsen") as refused:
        compiled("degrade = 'coarsen(time, 3 s)'", f"count(*) AS hits, {shown}")
    assert ("threshold(hits, 1 % of total)" in str(refused.value)) is is_offered
    assert ("top(100, hits)" in str(refused.value)) is is_offered


def test_beside_an_error_it_begins_at_the_bound_of_its_column() -> None:
    query = compiled("error = '0.1 % of total', degrade = 'threshold(hits, 1 % of total)'")
    tolerance = query.tolerates
    assert tolerance is not None
    assert not tolerance.is_by_link
    sizes = [tolerance.raised(part).columns[0].size for part in (0.0, 1 / 16, 0.25, 1.0)]
    assert sizes == [0.001, 0.001, 0.0025, 0.01]


@pytest.mark.parametrize("limit", ["500", "0.05 % of total", "1 %"])
def test_beside_an_error_its_limit_has_the_same_form_and_is_above_it(limit: str) -> None:
    with pytest.raises(QueryRefused, match="begins at the bound of its column"):
        compiled(f"error = '0.1 % of total', degrade = 'threshold(hits, {limit})'")


def test_an_answer_that_leaves_rows_out_can_not_have_one() -> None:
    said = r"here HAVING may leave groups out; this stream can have: coarsen"
    with pytest.raises(QueryRefused, match=said):
        compiled("degrade = 'threshold(hits, 1 % of total)'", having=" HAVING count(*) > 10")


def test_explain_names_operators_in_order_and_what_they_are_estimated_to_leave() -> None:
    told = explain(compiled("degrade = 'threshold(hits, 1 % of total)', finally = 'exact'"))
    assert "gives up in this order" in told
    assert "1. threshold(hits, 1 % of total), in 4 levels, each estimated to leave 70 %" in told
    assert "what was not sent follows when there is room" in told
    assert "keeps back groups within" not in told


def altered(query: Query, options: str) -> Settings:
    written = merged_options(written_options(query.program.text), read_settings(options))
    return settings_with(query, written, known_sites=())


def test_a_stream_that_runs_can_be_given_one_and_be_freed_of_it() -> None:
    plain = compiled("deadline = '5 s'")
    given = altered(plain, "degrade = 'threshold(hits, 2 % of total)'")
    assert given.degradation is not None
    assert given.tolerance is not None
    assert given.tolerance.is_by_link
    assert given.on(plain).degrades == given.degradation
    freed = altered(compiled("degrade = 'threshold(hits, 1 % of total)'"), "degrade = 'none'")
    assert (freed.degradation, freed.tolerance) == (None, None)


def test_what_a_way_had_no_room_for_follows_where_that_is_asked() -> None:
    options = "degrade = 'coarsen(time, 10 s)'"
    for finally_, follows in (("exact", True), ("bounded", False)):
        plan = compiled(f"{options}, finally = '{finally_}'").degrades
        assert plan is not None
        assert plan.follows is follows
