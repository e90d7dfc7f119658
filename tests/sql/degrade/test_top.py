"""The largest groups alone: who can have them, and what ``explain`` says of it."""

from __future__ import annotations

import pytest

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Largest
from headwater.errors import QueryRefused
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.degradation import OperatorKind
from headwater.plan.query import Query
from headwater.sql.alter import merged_options, settings_with, written_options
from headwater.sql.alter_statement import read_settings
from headwater.sql.compile import compile_statements
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE r (url STRING, tags ARRAY<STRING>, ms DOUBLE, size INT, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def compiled(
    options: str = "degrade = 'top(100, hits)'",
    shown: str = "count(*) AS hits",
    *,
    key: str = "url",
    window: str = "window(ts, '2 seconds')",
    rest: str = "",
) -> Query:
    (query, *_) = compile_statements(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        f"SELECT {key}, {shown} FROM r GROUP BY {key}, {window}{rest};",
        root="a",
        installer="a",
        next_counter=1,
    )
    return query


def test_all_of_each_column_may_stay_and_it_is_one_level() -> None:
    shown = "count(*) AS hits, sum(abs(size)) AS bytes, avg(ms) AS mean"
    query = compiled("degrade = 'top(100, HITS)', finally = 'exact'", shown)
    tolerance, plan = query.tolerates, query.degrades
    assert tolerance is not None
    assert plan is not None
    assert tolerance.top == Largest("hits", 100)
    assert [(one.column, one.form, one.size) for one in tolerance.columns] == [
        ("hits", ErrorForm.TOTAL, 1.0),
        ("bytes", ErrorForm.TOTAL, 1.0),
        ("mean", ErrorForm.VALUE, 1.0),
    ]
    assert tolerance.is_by_link
    assert tolerance.keeps_nothing
    assert tolerance.finally_ is Finally.EXACT
    assert [(one.kind, one.levels) for one in plan.operators] == [(OperatorKind.TOP, (100.0,))]
    assert query.round_count == 1
    assert query.needs == ("degrade top", *(one for one in query.needs if one != "degrade top"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"options": "degrade = 'top(0, hits)'"}, "wanted 1 to 100000 groups"),
        ({"options": "degrade = 'top(100, url)'"}, "`url` is no count or sum"),
        ({"options": "degrade = 'top(100, bytes)'", "shown": "sum(size) AS bytes"}, "is no count"),
        ({"window": "window(ts, '4 seconds', '2 seconds')"}, "in windows that do not overlap"),
        ({"rest": " HAVING count(*) > 3"}, "over groups that are all shown"),
        ({"shown": "count(*) AS hits, max(ms) AS slowest"}, "nobody could say"),
        ({"shown": "count(*) AS hits, count(DISTINCT ms) AS kinds"}, "states that grow"),
        ({"key": "tags"}, "neither structs nor arrays"),
        ({"options": "degrade = 'top(9, hits)', error = '1 %'"}, "wanted it without error"),
        (
            {"options": "degrade = 'top(9, hits), threshold(hits, 1 %)'"},
            "wanted it without threshold",
        ),
        ({"options": "degrade = 'top(9, hits), coarsen(time, 10 s)'"}, "levels can't be had"),
    ],
)
def test_who_can_not_have_them_is_told_why(given: dict[str, str], words: str) -> None:
    with pytest.raises(QueryRefused, match=words):
        compiled(**given)


def test_settings_bring_them_and_take_them_away() -> None:
    query = compiled("deadline = '9 s'")
    asked = read_settings("degrade = 'top(5, hits)', finally = 'exact'")
    settings = settings_with(
        query, merged_options(written_options(query.program.text), asked), known_sites=()
    )
    assert settings.tolerance is not None
    assert settings.tolerance.top == Largest("hits", 5)
    assert settings.owes_rest
    assert Settings.of(query).tolerance is None


def test_explain_says_what_the_root_asks_for() -> None:
    told = explain(compiled("degrade = 'top(100, hits)'"))
    assert "1. top(100, hits)" in told
    assert "so that the first 100 rows by hits are exact" in told
