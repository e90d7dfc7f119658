"""Whether keys may leave before a pane's close: ``rounds``, ``error`` and ``staleness``."""

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.alter import merged_options, settings_with, written_options
from headwater.sql.alter_statement import read_settings
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def compiled(options: str, *, ends: bool = False) -> Query:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH ({options}) AS "
        "SELECT word, count(*) AS n FROM r GROUP BY word, window(ts, '10 seconds');",
        ends=ends,
    )
    return query


@pytest.mark.parametrize(
    ("options", "rounds"),
    [
        ("disorder = '1 s'", 1),
        ("error = '1 % of total'", 8),
        ("staleness = '5 s'", 8),
        ("error = '1 % of total', rounds = '4'", 4),
        ("staleness = '5 s', rounds = '32'", 10),
        ("error = '1 % of total', rounds = '1'", 1),
    ],
)
def test_options_say_into_how_many_rounds_a_pane_is_divided(options: str, rounds: int) -> None:
    """A pane of ten seconds has no more than ten."""
    assert compiled(options).round_count == rounds


def test_over_an_input_that_ends_nothing_leaves_early() -> None:
    assert compiled("error = '1 % of total'", ends=True).round_count == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("rounds = '4'", "keys leave early under an error or a staleness"),
        ("error = '1 % of total', rounds = '33'", "wanted a number from 1 to 32, got '33'"),
        ("error = '1 % of total', rounds = 'all'", "wanted a number from 1 to 32, got 'all'"),
    ],
)
def test_what_cannot_be_is_refused(options: str, told: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options)
    assert told in str(refused.value)


def test_explain_says_whether_groups_may_leave_early() -> None:
    said = "may send groups before the close, at most every 1250 milliseconds"
    assert said in explain(compiled("error = '1 % of total'"))
    assert said in explain(compiled("staleness = '5 s'"))
    assert "before the close" not in explain(compiled("error = '1 % of total', rounds = '1'"))


@pytest.mark.parametrize(
    ("installed", "altered", "rounds"),
    [
        ("disorder = '1 s'", "error = '1 % of total'", 8),
        ("disorder = '1 s'", "staleness = '9 s'", 8),
        ("staleness = '9 s'", "deadline = '9 s'", 1),
        ("staleness = '9 s'", "error = '1 % of total'", 8),
        ("error = '1 % of total'", "error = 'none'", 1),
        ("error = '1 % of total', rounds = '4'", "error = 'none'", 1),
        ("error = '1 % of total', rounds = '4'", "error = '2 % of total'", 4),
        ("error = '1 % of total', rounds = '4'", "error = 'none', staleness = '9 s'", 4),
    ],
)
def test_altered_settings_say_into_how_many_rounds_a_pane_is_divided(
    installed: str, altered: str, rounds: int
) -> None:
    query = compiled(installed)
    written = merged_options(written_options(query.program.text), read_settings(altered))
    settings = settings_with(query, written, known_sites=query.sites)
    assert settings.rounds == rounds
    assert settings.on(query).round_count == rounds
    back = settings_with(query, written_options(query.program.text), known_sites=query.sites)
    assert back.on(query).round_count == query.round_count
