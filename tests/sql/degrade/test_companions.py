"""The levels of a stream's time: queries beside it, with longer windows."""

from __future__ import annotations

import pytest

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.tolerance import Finally
from headwater.errors import QueryRefused
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.companion import level_fault
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query
from headwater.sql.alter import merged_options, settings_with, written_options
from headwater.sql.alter_statement import read_settings
from headwater.sql.compile import compile_statements, numbered, question_of
from headwater.sql.tree.nodes import Grouped, the

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


def test_an_input_that_ends_has_none() -> None:
    assert [one.id.name for one in compiled(ends=True)] == ["hits"]


@pytest.mark.parametrize(
    ("more", "degrade", "why"),
    [
        (", error = '1 % of total'", "coarsen(time, 5 s)", "an error or a threshold"),
        ("", "coarsen(time, 5 s), threshold(n, 1 % of total)", "an error or a threshold"),
        (", staleness = '20 s'", "coarsen(time, 5 s)", "as under a staleness"),
        (", fidelity = 'area 80 %'", "coarsen(time, 5 s)", "a demand (fidelity)"),
        (", begin = 'earliest'", "coarsen(time, 5 s)", "a begin in the past"),
        (", extent = '1 hour'", "coarsen(time, 5 s)", "an extent"),
        (", time = 'age'", "coarsen(time, 5 s)", "by age"),
    ],
)
def test_what_coarser_panes_can_not_be_had_with_is_refused(
    more: str, degrade: str, why: str
) -> None:
    with pytest.raises(QueryRefused, match="coarser panes can't be had with") as refused:
        compiled(more=more, degrade=degrade)
    assert why in str(refused.value)


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
            "wanted coarsen(time, 5 seconds, 10 seconds), got coarsen(time, 5 seconds)",
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


def test_a_key_is_not_coarsened_yet_and_that_is_said() -> None:
    with pytest.raises(QueryRefused, match="this version can't do that"):
        compiled(degrade="coarsen(url, upper(url))")
