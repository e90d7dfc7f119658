"""What ``try`` says of budgets, weights, backlogs and levels: they play no part, and would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from query_kit import queries_in

from headwater.local.trial import demand_lines
from headwater.local.trial.demand_lines import link_lines, wants_sizes, with_sizes
from headwater.local.trial.results import StreamResult
from headwater.local.trial.sent_bytes import SentBytes, SentLevel
from headwater.plan.query import Query
from headwater.spark.jvm.session import RunningSpark

SPARK = cast(RunningSpark, object())
SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, url STRING) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""


def asked(options: str) -> Query:
    text = f"""{SOURCE}
        CREATE STREAM h {f"WITH ({options})" if options else ""} AS
        SELECT url, count(*) AS n FROM hits GROUP BY window(ts, '5 seconds'), url;"""
    return queries_in(text)[0]


def sizes(*panes: int, levels: tuple[SentLevel, ...] = ()) -> SentBytes:
    rows = tuple((1, size) for size in panes)
    return SentBytes("h", "5 seconds", 1, 1_000_000, 1.0, rows, 3, pane_s=5.0, levels=levels)


def test_a_stream_that_asks_for_nothing_is_told_nothing() -> None:
    query = asked("")
    assert not wants_sizes(query)
    assert list(link_lines(query, None)) == []


@pytest.mark.parametrize(
    ("panes", "said"),
    [
        ((9_000, 30_000), "1 of 2 panes of sites would take longer than they last"),
        (
            (9_000, 20_000),
            "each of 2 panes of a site fits into it, and the largest takes 32 kbit/s",
        ),
    ],
)
def test_a_budget_is_held_against_what_panes_take(panes: tuple[int, ...], said: str) -> None:
    query = asked("budget = '48 kbit/s'")
    assert wants_sizes(query)
    (line,) = link_lines(query, sizes(*panes))
    assert line.startswith("h: a trial has no links, so its budget of 48 kbit/s played no part; ")
    assert said in line


def test_a_part_of_a_budget_is_for_control() -> None:
    """48 kbit/s over five seconds are 30,000 bytes, and not all of them are a pane's."""
    (line,) = link_lines(asked("budget = '48 kbit/s'"), sizes(29_900))
    assert "1 of 1 panes of sites would take longer" in line


def test_weight_and_backlog_are_said_to_wait_for_a_link_that_is_full() -> None:
    options = "weight = 2, degrade = 'coarsen(time, 10 s)', backlog_age = '5 min'"
    weight, backlog = link_lines(asked(options), sizes(10))
    assert "2 times as much as a stream of weight 1" in weight
    assert "after an outage something waits for longer than 300 s" in backlog


def test_each_level_is_told_with_what_it_would_leave() -> None:
    query = asked("degrade = 'coarsen(time, 10 s)'")
    assert wants_sizes(query)
    level = SentLevel("h_10_seconds", "coarsen(time, 10 s) at level 1", 600)
    (line,) = link_lines(query, sizes(400, 600, levels=(level,)))
    assert line == (
        "h: at coarsen(time, 10 s) at level 1 sites would send 60% of the bytes (h_10_seconds)"
    )


def test_only_streams_that_ask_for_it_are_told_with_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, other = asked("budget = '48 kbit/s'"), asked("")
    read: list[tuple[str, Path]] = []

    def measured(text: str, sites: Path, scratch: Path, spark: Any) -> list[SentBytes]:
        assert scratch.is_dir()
        assert spark() is SPARK
        read.append((text, sites))
        return [sizes(10)]

    monkeypatch.setattr(demand_lines, "sent_bytes", measured)
    results = [StreamResult(asking, ()), StreamResult(other, ())]
    first, second = with_sizes(results, "text", tmp_path, SPARK)
    assert read == [("text", tmp_path)]
    assert first.sizes == sizes(10)
    assert second.sizes is None
