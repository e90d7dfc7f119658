"""How much is enough: ``fidelity``, ``finally = 'enough'`` and ``below``."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.demand import ALL, Chance, Demand
from headwater.algebra.remainders.tolerance import Finally
from headwater.errors import QueryRefused
from headwater.local.trial.demand_lines import demand_lines
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.needs import FIDELITY, RANDOM
from headwater.sql.validate.validate import validate
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)
SLIDING = "'10 seconds', '1 second'"


def compiled(options: str, window: str = SLIDING, *, ends: bool = False) -> Query:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        f"SELECT word, count(*) AS n FROM r GROUP BY word, window(ts, {window});",
        ends=ends,
    )
    return query


def test_without_a_fidelity_a_plan_is_what_it_was() -> None:
    query = compiled("disorder = '1 s'")
    assert query.demand is msgspec.UNSET
    assert b"demand" not in msgspec.json.encode(FlatQuery.of(query))
    assert FIDELITY not in (query.needs or ())


@pytest.mark.parametrize(
    ("options", "demand"),
    [
        ("fidelity = 'area 80 %'", Demand(area=80_000)),
        ("fidelity = 'Area 0.5%'", Demand(area=500)),
        ("fidelity = 'panes 40 %, sites 100 %'", Demand(panes=40_000, sites=ALL)),
        ("fidelity = 'sites 100 %, panes 40 %'", Demand(panes=40_000, sites=ALL)),
        ("fidelity = 'panes 40 %'", Demand(panes=40_000, sites=ALL)),
        ("fidelity = 'sites 60 %'", Demand(panes=ALL, sites=60_000)),
        (
            "fidelity = 'panes 100 %, sites 60 %', finally = 'enough', below = 'silent'",
            Demand(panes=ALL, sites=60_000, is_final=True, is_silent=True),
        ),
        ("fidelity = 'area 80 %', finally = 'exact', below = 'answer'", Demand(area=80_000)),
        ("fidelity = 'area 50 %, random'", Demand(area=50_000, chance=Chance.ALIKE, scaled=("n",))),
        (
            "fidelity = 'Random  Apart, area 50 %'",
            Demand(area=50_000, chance=Chance.APART, scaled=("n",)),
        ),
    ],
)
def test_options_say_what_is_enough(options: str, demand: Demand) -> None:
    query = compiled(options)
    assert query.demand == demand
    assert FIDELITY in (query.needs or ())
    assert FlatQuery.of(query).query() == query, "it travels"


def test_before_there_is_enough_an_error_holds_as_ever() -> None:
    query = compiled("error = '1 % of total', fidelity = 'area 80 %', finally = 'enough'")
    assert query.tolerates is not None
    assert query.tolerates.finally_ is Finally.BOUNDED
    assert query.demanded is not None
    assert query.demanded.is_final


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("fidelity = 'area 0 %'", "wanted more than 0 % of area and at most 100 %"),
        ("fidelity = 'area 101 %'", "wanted more than 0 % of area and at most 100 %"),
        ("fidelity = 'area -5 %'", "wanted more than 0 % of area"),
        ("fidelity = 'area 12.3456 %'", "at most 3 digits behind the point"),
        ("fidelity = 'area 80'", "wanted a share, got 'area 80'; write 'area 80 %'"),
        ("fidelity = ''", "wanted a share, got ''"),
        ("fidelity = 'pains 40 %'", "got `pains`; did you mean `panes`?"),
        ("fidelity = 'area 80 %, sites 40 %'", "wanted an area, or panes and sites, got both"),
        ("fidelity = 'sites 80 %, sites 40 %'", "`sites` has two shares; write one"),
        ("fidelity = 'area 95 %, random'", "95 % drawn by chance is all of a window that has 10"),
        ("fidelity = 'panes 50 %, random'", "write 'area 50 %, random', or leave random out"),
        ("fidelity = 'random'", "a random choice is of an area"),
        ("fidelity = 'area 5 %, random, random apart'", "`random` and `random apart`; write one"),
        ("fidelity = 'panes 5 %'", "5 % of the panes is less than one pane: a window has 10"),
        ("finally = 'enough'", "nothing says what is enough; add fidelity = 'area 80 %'"),
        ("below = 'silent'", "nothing says what is enough"),
        ("fidelity = 'area 80 %', below = 'quiet'", "wanted 'answer' or 'silent', got 'quiet'"),
        ("finally = 'soon'", "wanted 'exact', 'bounded' or 'enough', got 'soon'"),
        ("fidelity = 'area 80 %', finally = 'bounded'", "nothing is kept back"),
    ],
)
def test_what_cannot_be_met_is_refused_with_its_place(options: str, told: str) -> None:
    with pytest.raises(QueryRefused, match=r"line 1:\d+") as refused:
        compiled(options)
    assert told in str(refused.value)


def test_a_window_of_one_pane_has_no_share_of_its_panes() -> None:
    with pytest.raises(QueryRefused, match="a window has only one; write area or sites"):
        compiled("fidelity = 'panes 40 %'", "'10 seconds'")
    assert compiled("fidelity = 'sites 40 %'", "'10 seconds'").demanded is not None


def test_a_window_of_one_pane_has_nothing_to_draw_from() -> None:
    with pytest.raises(QueryRefused, match="only one pane; leave random out, or write a window"):
        compiled("fidelity = 'area 40 %, random'", "'10 seconds'")


def test_who_does_not_know_of_chance_declines() -> None:
    assert RANDOM in (compiled("fidelity = 'area 40 %, random'").needs or ())
    earliest = compiled("fidelity = 'area 40 %'")
    assert RANDOM not in (earliest.needs or ())
    assert b"chance" not in msgspec.json.encode(FlatQuery.of(earliest))


def test_counts_and_sums_are_scaled_and_nothing_else_is() -> None:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH (fidelity = 'area 40 %, random') AS "
        "SELECT word, count(*) AS n, sum(length(word)) AS size, count_if(word > 'm') AS late, "
        "avg(length(word)) AS mean, max(word) AS last, count(DISTINCT word) AS words, "
        f"count(*) + 1 AS more FROM r GROUP BY word, window(ts, {SLIDING});"
    )
    assert query.demanded is not None
    assert query.demanded.scaled_columns == ("n", "size", "late")
    text = explain(query)
    assert "takes area 40 %, random (4 of each 10 panes) of a window" in text
    assert "has n, size, late beside it as all records are estimated to have it" in text


def test_sessions_are_cut_by_a_draw_and_that_is_said_and_nothing_of_them_is_scaled() -> None:
    text = (
        f"{SOURCE} CREATE STREAM s WITH (fidelity = 'area 40 %, random') AS "
        "SELECT word, count(*) AS n FROM r GROUP BY word, session_window(ts, '30 seconds');"
    )
    (query,) = queries_in(text)
    assert query.demanded is not None
    assert query.demanded.scaled_columns == ()
    assert "sessions that reach into panes which were not drawn are cut there" in explain(query)
    assert "random leaves out panes, and sessions go over several" in str(validate(text))


def test_no_panes_are_drawn_of_states_and_the_advice_is_none_that_they_can_not_follow() -> None:
    with pytest.raises(QueryRefused, match="leave random out: a state is of the last rows") as why:
        queries_in(
            f"{SOURCE} CREATE STREAM s WITH (fidelity = 'area 40 %, random') AS "
            "SELECT word, count(*) AS n FROM r GROUP BY word, last_rows(5, every => '1 second');"
        )
    assert "slides" not in str(why.value)


def test_a_demand_that_nobody_can_mean_makes_no_query() -> None:
    with pytest.raises(ValueError, match="wanted an area, or panes and sites"):
        msgspec.structs.replace(compiled("disorder = '1 s'"), demand=Demand())


def test_explain_says_what_is_enough_and_what_follows_from_it() -> None:
    text = explain(compiled("fidelity = 'panes 35 %', finally = 'enough', below = 'silent'"))
    assert "takes panes 35 %, sites 100 % (4 of 10 panes) of a window for enough" in text
    assert "an answer that has enough is final" in text
    assert "has no rows, only a header" in text
    assert "needs option fidelity" in text


def test_of_an_input_that_ends_answers_are_made_of_all() -> None:
    query = compiled("fidelity = 'area 80 %', finally = 'enough'", ends=True)
    assert query.awaited_demand is None
    by_chance = compiled("fidelity = 'area 40 %, random'", ends=True)
    assert by_chance.draw is None
    assert "4 of each 10 panes are drawn" in next(demand_lines(by_chance))
    assert "answers are made of all of it" in explain(query)
    (line,) = demand_lines(query)
    assert line.startswith("s: all sites were read to their end, so its fidelity played no part")
