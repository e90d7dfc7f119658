"""When a window is first answered: ``answer``, ``deadline`` and ``staleness``."""

import msgspec
import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.plan.query import Query

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
    ("options", "deadline_s", "waits"),
    [
        ("disorder = '1 s'", 10.0, False),
        ("answer = 'either'", 10.0, False),
        ("answer = 'Deadline', deadline = '7 s'", 7.0, True),
        ("answer = 'deadline', staleness = '7 s'", 7.0, True),
        ("answer = 'complete', revise_for = '1 hour'", 3_600.0, False),
        ("staleness = '5 s'", 5.0, False),
        ("staleness = '2.5 s', disorder = '0 s'", 2.5, False),
    ],
)
def test_options_say_when(options: str, deadline_s: float, waits: bool) -> None:
    query = compiled(options)
    assert query.timing.deadline_s == deadline_s
    assert (query.waits is True) is waits
    needed = query.needs or ()
    assert ("option answer" in needed) is waits


def test_a_finite_input_has_no_deadline_to_wait_for() -> None:
    assert compiled("answer = 'deadline'", ends=True).waits is msgspec.UNSET


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("answer = 'soon'", "wanted 'complete', 'deadline' or 'either', got 'soon'"),
        ("answer = 'complete', deadline = '5 s'", "leave out deadline, or write answer = 'either'"),
        ("answer = 'complete', staleness = '5 s'", "leave out staleness"),
        ("deadline = '5 s', staleness = '5 s'", "wanted `deadline` or `staleness`, got both"),
        (
            "staleness = '4 s'",
            "wanted more than 4 seconds, got 4 seconds: sites wait 2 seconds for records in "
            "disorder, look for them every 1 second, and 1 second are for the way",
        ),
        ("staleness = '12 s', disorder = '1 minute'", "wanted more than 62 seconds"),
    ],
)
def test_what_cannot_be_is_refused(options: str, told: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options)
    assert told in str(refused.value)
