"""When a question is about: whole steps of whole panes, and windows that lie in it wholly."""

from __future__ import annotations

import pytest
from query_kit import queries_in

from headwater.errors import ConfigurationError
from headwater.plan.query import Query
from headwater.sql.questions.asking import question_query
from headwater.sql.questions.question_text import NOW_SLACK_US, Stretch, stretch_of

S = 1_000_000
NOW_US = 1_800_000_000 * S + 7 * S
SOURCE = "CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = '*.csv', time = 'ts');"


def since(length_s: float, *, pane_s: int = 10) -> Stretch:
    return stretch_of(since_s=length_s, from_us=None, to_us=None, now_us=NOW_US, pane_us=pane_s * S)


def compiled(text: str) -> list[Query]:
    return queries_in(SOURCE + text, at="home", now_us=NOW_US)


@pytest.mark.parametrize(
    ("length_s", "pane_s", "step_s"),
    [
        (300, 10, 10),
        (3_600, 10, 20),
        (86_400, 10, 600),
        (604_800, 10, 3_600),
        (604_800, 7, 2_366),
        (5, 10, 10),
    ],
)
def test_steps_are_round_and_of_whole_panes(length_s: int, pane_s: int, step_s: int) -> None:
    found = since(length_s, pane_s=pane_s)
    assert found.step_us == step_s * S
    assert found.first_us % found.step_us == found.end_us % found.step_us == 0
    assert 0 <= found.end_us - found.first_us - length_s * S < found.step_us or length_s == 5
    assert NOW_US - NOW_SLACK_US - found.step_us < found.end_us <= NOW_US - NOW_SLACK_US


def test_nothing_later_than_what_was_asked_about_is_in_it() -> None:
    first, end = NOW_US - 1_234 * S, NOW_US - 321 * S
    found = stretch_of(since_s=None, from_us=first, to_us=end, now_us=NOW_US, pane_us=10 * S)
    assert first - found.step_us < found.first_us <= first
    assert end - found.step_us < found.end_us <= end


@pytest.mark.parametrize(
    ("from_s", "to_s", "said"),
    [
        (None, None, "wanted --since or --from"),
        (-10, -20, "no time that has passed"),
        (10, 20, "no time that has passed"),
        (-35, -31, "nothing as short"),
    ],
)
def test_a_time_that_is_none_is_refused(from_s: int | None, to_s: int | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        stretch_of(
            since_s=None,
            from_us=None if from_s is None else NOW_US + from_s * S,
            to_us=None if to_s is None else NOW_US + to_s * S,
            now_us=NOW_US,
            pane_us=10 * S,
        )


def test_a_select_without_a_window_has_one_window_of_all_that_time() -> None:
    of = since(3_600)
    query = question_query("q", "SELECT count(*) FROM hits", of, sites="", compiled=compiled)
    assert query.begin_pane is not None
    assert query.window.panes_per_window == (query.ends_at or 0) - query.begin_pane == 180
    assert query.window.pane_start_us(query.begin_pane) == of.first_us


def test_windows_of_its_own_lie_in_that_time_wholly() -> None:
    of = since(3_600)
    select = "SELECT count(*) FROM hits GROUP BY window(ts, '7 minutes')"
    query = question_query("q", select, of, sites="", compiled=compiled)
    assert query.begin_pane is not None
    assert query.window.pane_start_us(query.begin_pane) >= of.first_us
    assert query.window.pane_start_us(query.ends_at or 0) <= of.end_us
    assert (query.ends_at or 0) - query.begin_pane in (7, 8)
    for length, said in (
        ("2 hours", "ask: it is about 1 hour, less than one of its"),
        ("50 minutes", "none of its"),
    ):
        longer = select.replace("7 minutes", length)
        with pytest.raises(ConfigurationError, match=said):
            question_query("q", longer, of, sites="", compiled=compiled)
