"""How much may wait at a site, and for how long: as options of a stream."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from headwater.errors import QueryRefused
from headwater.plan.degrading.degradation import Degradation
from headwater.plan.query import Query
from headwater.sql.alter import settings_with
from headwater.sql.compile import compile_statements
from headwater.sql.write.explain import explain

TIME = "degrade = 'coarsen(time, 5 s)'"


def compiled(options: str) -> Query:
    return compile_statements(
        "CREATE SOURCE log (url STRING, ts TIMESTAMP) "
        "WITH (format = 'json', path = '*.json', time = 'ts');"
        f"CREATE STREAM hits WITH ({options}) AS "
        "SELECT url, count(*) AS n FROM log GROUP BY window(ts, '1 second'), url;",
        root="a",
        installer="a",
        next_counter=7,
    )[0]


def plan_of(options: str) -> Degradation:
    found = compiled(options).degrades
    assert found is not None
    return found


def test_a_size_and_an_age_beside_levels_of_time() -> None:
    plan = plan_of(f"{TIME}, backlog_bytes = '16 MB', backlog_age = '5 min'")
    assert (plan.backlog_bytes, plan.backlog_age_s) == (16_000_000, 300.0)
    assert plan.is_beyond(16_000_001, 0.0)
    assert plan.is_beyond(0, 301.0)
    assert not plan.is_beyond(16_000_000, 300.0)


def test_none_is_none() -> None:
    plan = plan_of(f"{TIME}, backlog_age = 'none'")
    assert (plan.backlog_age_s, plan.bounds_backlog) == (UNSET, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("backlog_age = '5 min'", "wanted degrade = 'coarsen.time"),
        ("degrade = 'threshold(n, 1 % of total)', backlog_bytes = '1 MB'", "can have: coarsen"),
        (f"{TIME}, backlog_bytes = '16'", "wanted a size .* got '16'"),
        (f"{TIME}, backlog_bytes = '0 MB'", "wanted a size"),
        (f"{TIME}, backlog_age = 'soon'", "wanted at least 1 s.* got 'soon'"),
        (f"{TIME}, backlog_age = '0.2 s'", "wanted at least 1 s.* got '0.2 s'"),
    ],
)
def test_what_can_not_be_had_is_refused_with_what_can(options: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said):
        compiled(options)


def test_they_are_altered_while_the_stream_runs() -> None:
    query = compiled(TIME)
    written = (("degrade", "'coarsen(time, 5 s)'"), ("backlog_age", "'60 s'"))
    altered = settings_with(query, written, known_sites=())
    assert altered.degradation is not None
    assert altered.degradation.backlog_age_s == 60.0


@pytest.mark.parametrize("name", ["backlog_bytes", "backlog_age_s"])
def test_whoever_has_written_it_it_is_more_than_nothing(name: str) -> None:
    plan = plan_of(TIME)
    wrong = Degradation(plan.operators, **{name: 0})
    assert f"{name}: wanted more than 0, got 0" in str(wrong.fault())


def test_explain_says_when_it_happens() -> None:
    (line,) = (
        one
        for one in explain(compiled(f"{TIME}, backlog_age = '60 s'")).splitlines()
        if "oldest" in one
    )
    assert "where something waits for longer than 60 s, the oldest panes leave a site" in line
