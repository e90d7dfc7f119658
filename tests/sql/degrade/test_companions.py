"""The levels of a stream's time: queries beside it, with longer windows."""

from __future__ import annotations

import pytest

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.tolerance import Finally
from headwater.errors import QueryRefused
from headwater.plan.degrading.companion import level_fault
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query
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
        (", error = '1 % of total'", "coarsen(time, 5 s)", "an error, a threshold, rounds"),
        ("", "coarsen(time, 5 s), threshold(n, 1 % of total)", "an error, a threshold, rounds"),
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


def test_a_key_is_not_coarsened_yet_and_that_is_said() -> None:
    with pytest.raises(QueryRefused, match="this version can't do that"):
        compiled(degrade="coarsen(url, upper(url))")
