"""The levels of a stream's time: queries beside it, with longer windows."""

from __future__ import annotations

import msgspec
import pytest

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.tolerance import Finally
from headwater.errors import QueryRefused
from headwater.local.trial.kept_back import level_lines
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.companion import (
    determined_names,
    is_coarser,
    is_level_name,
    level_fault,
)
from headwater.plan.query import Query
from headwater.root.said.envelope import LeftOut, LeftOutGroup
from headwater.sql.admit.admit import check_query
from headwater.sql.alter import merged_options, settings_with, written_options
from headwater.sql.alter_statement import read_settings
from headwater.sql.compile import compile_statements, numbered, question_of
from headwater.sql.tree.nodes import Grouped, the
from headwater.sql.write.explain import explain
from headwater.sql.write.write_central_sql import write_central_sql
from headwater.sql.write.write_site_sql import write_site_sql

SOURCE = (
    "CREATE SOURCE log (url STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = '*.json', time = 'ts');"
)


def compiled(
    *,
    degrade: str = "coarsen(time, 5 s, 10 s)",
    length: str = "1 second",
    more: str = "",
    ends: bool = False,
) -> list[Query]:
    return compile_statements(
        f"{SOURCE} CREATE STREAM hits WITH (degrade = '{degrade}'{more}) AS "
        f"SELECT url, count(*) AS n FROM log GROUP BY window(ts, '{length}'), url;",
        root="a",
        installer="a",
        next_counter=7,
        ends=ends,
    )


def test_each_length_is_a_query_that_stands_for_the_stream() -> None:
    full, *levels = compiled()
    assert [one.id.name for one in levels] == ["hits_5_seconds", "hits_10_seconds"]
    assert [one.window.range_us for one in levels] == [5 * MICROS, 10 * MICROS]
    assert [level_fault(full, one) for one in levels] == [None, None]
    assert {one.unit for one in (full, *levels)} == {(9, "a")}


def test_they_go_by_the_number_that_the_stream_gets() -> None:
    full, level, _ = numbered(compiled(), 20)
    assert level.stands_for is not None
    assert (str(full.id), level.stands_for.of) == ("hits@a#20", "hits@a#20")


def test_sites_admit_them_and_who_does_not_know_levels_declines() -> None:
    for one in compiled():
        check_query(one)
    assert "levels" in tuple(compiled()[1].needs or ())


def test_the_reference_of_a_level_has_its_windows() -> None:
    level = compiled()[1]
    assert the(question_of(level), Grouped).window == level.window


def test_what_follows_is_said_by_the_option() -> None:
    assert [one.stands_for.finally_ for one in compiled()[1:] if one.stands_for] == [
        Finally.BOUNDED,
        Finally.BOUNDED,
    ]
    (_, level, _) = compiled(more=", finally = 'exact'")
    assert level.stands_for is not None
    assert level.stands_for.finally_ is Finally.EXACT


ALL_OF_IT = "coarsen(time, 5 s, 10 s), threshold(n, 1 % of total), sample(url, 1/4)"


def test_a_threshold_stands_among_levels_and_each_of_them_may_keep_back_by_it() -> None:
    full, *levels = compiled(degrade=ALL_OF_IT, more=", finally = 'exact'")
    assert full.degrades is not None
    assert [one.id.name for one in levels] == [
        "hits_5_seconds",
        "hits_10_seconds",
        "hits_10_seconds_sample_of_url_1_in_2",
        "hits_10_seconds_sample_of_url_1_in_4",
    ]
    assert [full.degrades.companion_at(step) for step in range(9)] == [0, 1, 2, 2, 2, 2, 2, 3, 4]
    assert [level_fault(full, one) for one in levels] == [None] * 4
    assert {one.tolerates for one in levels} == {full.tolerates}
    assert full.tolerates is not None
    assert full.tolerates.is_by_link
    for one in (full, *levels):
        check_query(one)


@pytest.mark.parametrize(
    "degrade",
    [
        "threshold(n, 1 % of total), coarsen(time, 5 s)",
        "coarsen(url, upper(url)), threshold(n, 1 %)",
        "threshold(n, 1 % of total), sample(url, 1/2)",
    ],
)
def test_a_threshold_may_stand_anywhere_among_them(degrade: str) -> None:
    full, *levels = compiled(degrade=degrade)
    assert [level_fault(full, one) for one in levels] == [None]


def test_what_levels_keep_back_by_is_settled_with_them() -> None:
    full, *_ = compiled(degrade=ALL_OF_IT)
    with pytest.raises(QueryRefused, match="other settings install none"):
        altered(full, f"degrade = '{ALL_OF_IT.replace('1 %', '2 %')}'")
    assert altered(full, f"degrade = '{ALL_OF_IT}', deadline = '20 s'").tolerance == full.tolerates
    assert altered(full, "degrade = 'none'").tolerance is None


def test_an_input_that_ends_has_none() -> None:
    assert [one.id.name for one in compiled(ends=True)] == ["hits"]


@pytest.mark.parametrize(
    ("more", "degrade", "why"),
    [
        (", error = '1 % of total'", "coarsen(time, 5 s)", "an error beside it"),
        (
            ", error = '1 % of total'",
            "coarsen(time, 5 s), threshold(n, 2 % of total)",
            "an error beside it",
        ),
        ("", "coarsen(time, 5 s), threshold(n, 500)", "write it as a share, such as 1 % of total"),
        ("", "coarsen(time, 5 s), top(10, n)", "top beside it"),
        (
            ", staleness = '20 s', rounds = '4'",
            "coarsen(time, 5 s)",
            "rounds, by which groups leave",
        ),
        (", fidelity = 'area 80 %'", "coarsen(time, 5 s)", "a demand (fidelity)"),
        (", begin = 'earliest'", "coarsen(time, 5 s)", "a begin in the past"),
        (", extent = '1 hour'", "coarsen(time, 5 s)", "an extent"),
        (", time = 'age'", "coarsen(time, 5 s)", "by age"),
    ],
)
def test_what_coarser_panes_can_not_be_had_with_is_refused(
    more: str, degrade: str, why: str
) -> None:
    with pytest.raises(QueryRefused, match="levels can't be had with") as refused:
        compiled(more=more, degrade=degrade)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "degrade", ["coarsen(time, 5 s)", "coarsen(url, upper(url))", "sample(url, 1/4)"]
)
def test_several_roots_have_none_and_hear_why_and_what_they_can_have(degrade: str) -> None:
    with pytest.raises(QueryRefused, match="name one in `root`") as refused:
        compiled(degrade=degrade, more=", roots = 'a, b'")
    can_have = "this stream can have: threshold(n, 1 % of total), top(100, n)"
    assert can_have in str(refused.value)


def test_a_refusal_of_levels_names_what_is_left() -> None:
    with pytest.raises(QueryRefused, match=r"can have: threshold\(n, 1 %") as refused:
        compiled(more=", fidelity = 'area 80 %'")
    assert "sample" not in str(refused.value)


def altered(query: Query, options: str) -> Settings:
    written = merged_options(written_options(query.program.text), read_settings(options))
    return settings_with(query, written, known_sites=())


@pytest.mark.parametrize(
    ("degrade", "settings", "why"),
    [
        ("none", "degrade = 'coarsen(time, 5 s)'", "other settings install none"),
        ("threshold(n, 5)", "degrade = 'coarsen(time, 5 s)'", "other settings install none"),
        (
            "coarsen(time, 5 s, 10 s)",
            "degrade = 'coarsen(time, 5 s)'",
            "wanted coarsen(time, 5 s, 10 s), got coarsen(time, 5 s)",
        ),
        ("coarsen(time, 5 s)", "degrade = 'threshold(n, 5)'", "no error and no threshold"),
        ("coarsen(time, 5 s)", "degrade = 'none', error = '5'", "no error and no threshold"),
        ("coarsen(time, 5 s)", "finally = 'exact'", "`finally` can't change"),
    ],
)
def test_settings_neither_make_nor_change_the_streams_beside_it(
    degrade: str, settings: str, why: str
) -> None:
    full, *_ = compiled(degrade=degrade)
    with pytest.raises(QueryRefused, match="install a new stream, or run the changed") as refused:
        altered(full, settings)
    assert why in str(refused.value)


def test_levels_are_left_and_come_back_by_settings() -> None:
    full, *_ = compiled(degrade="coarsen(time, 5 s)", more=", finally = 'exact'")
    assert altered(full, "degrade = 'none'").degradation is None
    same = altered(full, "degrade = 'coarsen(time, 5 seconds)', deadline = '20 s'")
    assert same.degradation is not None
    assert same.follows


DOMAIN = 'coarsen(url, substring_index(url, "/", 1))'


def test_a_coarser_key_is_a_query_that_shows_it_where_the_key_was() -> None:
    full, level = compiled(degrade=DOMAIN)
    assert level.id.name == "hits_by_coarser_url"
    assert level.window == full.window
    assert level.program.output == full.program.output
    assert [one.name for one in full.program.keys] == ["url", "coarser_url"]
    assert [one.name for one in level.program.keys] == ["url"]
    assert "coarser" not in full.program.root_sql + full.program.central_sql, "it is not shown"
    assert level_fault(full, level) is None
    for one in (full, level):
        check_query(one)


def test_each_halving_is_a_query_that_thins_to_the_next() -> None:
    full, *levels = compiled(degrade="sample(url, 1/4)")
    assert [one.id.name for one in levels] == [
        "hits_sample_of_url_1_in_2",
        "hits_sample_of_url_1_in_4",
    ]
    plans = [one.stands_for for one in levels]
    assert [plan and (plan.coarsening.halvings, plan.sampled) for plan in plans] == [
        (1, "url"),
        (2, "url"),
    ]
    assert [plan and [(t.column, t.partial) for t in plan.totals] for plan in plans] == [
        [("n", "count_1")]
    ] * 2
    assert is_coarser(levels[1], levels[0])
    assert not is_coarser(levels[0], levels[1])
    assert {level_fault(full, one) for one in levels} == {None}


def test_levels_of_several_operators_come_one_behind_the_other() -> None:
    _, *levels = compiled(degrade=f"coarsen(time, 5 s, 10 s), {DOMAIN}")
    assert [one.id.name for one in levels] == [
        "hits_5_seconds",
        "hits_10_seconds",
        "hits_10_seconds_by_coarser_url",
    ]
    assert is_coarser(levels[2], levels[0])


def test_a_level_of_its_own_text_is_the_same_query() -> None:
    _, *levels = compiled(degrade=f"{DOMAIN}, coarsen(time, 5 s)")
    for one in levels:
        assert write_site_sql(question_of(one)) == one.program.site_sql
        assert write_central_sql(question_of(one)) == one.program.central_sql


def test_levels_of_keys_are_left_and_come_back_by_settings() -> None:
    full, _ = compiled(degrade=DOMAIN)
    left = merged_options(written_options(full.program.text), read_settings("degrade = 'none'"))
    settings = settings_with(full, left, known_sites=("a",))
    assert settings.degradation is None
    back = merged_options(left, read_settings(f"degrade = '{DOMAIN}'"))
    again = settings_with(full, back, known_sites=("a",)).degradation
    assert again == full.degrades


@pytest.mark.parametrize(
    ("degrade", "why"),
    [
        ("coarsen(url, length(url))", "wanted string, which `url` is, got int; write CAST"),
        ("coarsen(url, upper(url)), sample(url, 1/2)", "sample another key"),
        ("coarsen(url, no_such(url))", "always gives the same, got `no_such`"),
        ("sample(url, 1/512)", "not below 1/256; got '1/512'"),
        ("sample(url, 1/256), coarsen(time, 5 s)", "at most 8 levels of time, key and sample"),
    ],
)
def test_what_a_key_can_not_have_is_refused(degrade: str, why: str) -> None:
    with pytest.raises(QueryRefused, match="degrade") as caught:
        compiled(degrade=degrade)
    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["k", "K", "url"])
def test_a_key_goes_by_what_select_calls_it_too(name: str) -> None:
    queries = compile_statements(
        f"{SOURCE} CREATE STREAM hits WITH (degrade = 'coarsen(k, upper({name}))') AS "
        "SELECT url AS k, count(*) AS n FROM log GROUP BY window(ts, '1 second'), url;",
        root="a",
        installer="a",
        next_counter=7,
    )
    assert [one.id.name for one in queries] == ["hits", "hits_by_coarser_url"]
    assert "UPPER(url)" in queries[0].program.site_sql


def test_what_slides_is_said_to_and_not_that_its_key_is_none() -> None:
    with pytest.raises(QueryRefused, match="wanted windows of time that do not slide") as caught:
        compiled(degrade="sample(url, 1/2)", length="10 seconds', '1 second")
    assert "equal values" not in str(caught.value)


@pytest.mark.parametrize("key", ["CAST(length(url) AS DOUBLE)", "site()"])
def test_a_key_that_may_be_equal_and_differ_has_no_levels(key: str) -> None:
    with pytest.raises(QueryRefused, match="equal values are equal to every function"):
        compile_statements(
            f"{SOURCE} CREATE STREAM hits WITH (degrade = 'sample(k, 1/2)') AS "
            f"SELECT {key} AS k, count(*) AS n FROM log GROUP BY window(ts, '1 second'), {key};",
            root="a",
            installer="a",
            next_counter=7,
        )


def test_beside_levels_a_staleness_is_a_deadline_and_panes_leave_at_their_closes() -> None:
    full, level = compiled(degrade="coarsen(time, 5 s)", more=", staleness = '20 s'")
    assert full.round_count == level.round_count == 1
    assert full.timing.deadline_s == level.timing.deadline_s == 20.0
    assert level_fault(full, level) is None


def test_explain_says_that_levels_are_answered_beside_the_stream() -> None:
    told = explain(compiled(degrade=f"{DOMAIN}, coarsen(time, 5 s, 10 s)")[0])
    one = "one level estimated to leave 30 % of the bytes of the one before"
    assert f"1. {DOMAIN}, {one}" in told
    assert "2. coarsen(time, 5 s, 10 s), in 2 levels, each estimated to leave 60 %" in told
    assert told.count("answered in a stream beside this one") == 2


def test_a_trial_says_what_would_have_played_a_part() -> None:
    (line,) = level_lines(compiled(degrade=f"{DOMAIN}, coarsen(time, 5 s)", ends=True)[0])
    assert "nothing is given up in a trial" in line
    assert line.endswith(f"{DOMAIN} in 1, coarsen(time, 5 s) in 1")
    assert list(level_lines(compiled(degrade="none")[0])) == []


def test_explain_says_of_a_level_whose_rows_it_has() -> None:
    told = explain(compiled(degrade="sample(url, 1/2)")[1])
    assert "is what hits is sent at where the way is too narrow (sample(url) to 1 in 2)" in told
    assert "its rows are made of those of hits, and this text is run nowhere" in told


def test_nobody_is_shown_what_levels_go_by() -> None:
    full, first, last = compiled(degrade=f"coarsen(time, 5 s), {DOMAIN}")
    assert determined_names(full) == determined_names(first) == {"coarser_url"}
    assert determined_names(last) == set()
    keys = {"url": "a.de/x", "coarser_url": "a.de"}
    left_out = LeftOut(1, named=(LeftOutGroup(keys, "it overflows"),))
    assert (
        left_out.without_keys(determined_names(full))
        .text()
        .endswith(": url = a.de/x: it overflows")
    )


def shrunk(*, more: str = "", degrade: str = "coarsen(time, 5 s), shrink(users)") -> list[Query]:
    return compile_statements(
        "CREATE SOURCE log (url STRING, usr STRING, ts TIMESTAMP) "
        "WITH (format = 'json', path = '*.json', time = 'ts');"
        f"CREATE STREAM visits WITH (degrade = '{degrade}'{more}) AS SELECT url, count(*) AS n, "
        "approx_count_distinct(usr, 0.02) AS users FROM log GROUP BY window(ts, '1 second'), url;",
        root="a",
        installer="a",
        next_counter=7,
    )


def test_each_size_of_a_sketch_is_a_query_with_a_rule_and_a_bound_of_its_own() -> None:
    full, *levels = shrunk()
    assert [one.id.name for one in levels] == [
        "visits_5_seconds",
        "visits_5_seconds_with_smaller_users_1024",
        "visits_5_seconds_with_smaller_users_256",
    ]
    assert all(is_level_name(one.id.name, "visits") for one in levels)
    rules = [[p.merge for p in one.program.partials] for one in (full, *levels)]
    assert rules == [["sum", f"hll_{n}"] for n in (12, 12, 10, 8)]
    sizes = [one.bounds.columns[0].bound.size for one in (full, *levels)]
    assert sizes == pytest.approx([0.0325, 0.0325, 0.0649, 0.13], rel=0.01)
    assert [level_fault(full, one) for one in levels] == [None] * 3
    for one in (full, *levels):
        check_query(one)
    assert "HLL_SKETCH_AGG(IF(usr IS NULL, NULL, XXHASH64(usr)), 8)" in write_site_sql(
        question_of(levels[-1])
    )
    assert [is_coarser(levels[2], levels[1]), is_coarser(levels[1], levels[2])] == [True, False]


def test_a_sketch_that_is_not_smaller_is_no_level() -> None:
    full, _, level, _ = shrunk()
    assert level.stands_for is not None
    for lg_k in (3, 12, 13, 200):
        rows = msgspec.structs.replace(level.stands_for.coarsening, lg_k=lg_k)
        other = msgspec.structs.replace(level.stands_for, coarsening=rows)
        assert level_fault(full, msgspec.structs.replace(level, companion=other)) is not None
