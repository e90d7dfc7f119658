"""What the control desk understands, and what it says of windows."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from home_agent import alone
from store_kit import envelope_of, query_of

from headwater.agent.control.control import ControlDesk
from headwater.agent.control.why import window_named
from headwater.agent.stores import SiteStores
from headwater.agent.time_text import iso
from headwater.errors import ConfigurationError
from headwater.plan.command import Install
from headwater.plan.query import Query
from headwater.plan.sources.time_formats import CALENDAR_US
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter


def test_a_window_is_named_by_its_number_or_by_a_time_in_it() -> None:
    """Windows of 30 s, one every 10 s::

    window 360  |---------|---------|---------|          03:00:00 is 10800 s, window 1080
                01:00:00
    """
    query = query_of()
    assert window_named(query, "1080") == 1080
    assert window_named(query, "-3") == -3
    assert window_named(query, "1970-01-01T03:00:00Z") == 1080
    assert window_named(query, "1970-01-01 03:00:09.5") == 1080, "the newest that it lies in"
    assert window_named(query, "1970-01-01T03:00:00+01:00") == 720


def test_what_is_neither_a_number_nor_a_time_is_refused_with_what_is_wanted() -> None:
    with pytest.raises(ConfigurationError, match="wanted a time like 09:10 or 2026"):
        window_named(query_of(), "yesterday")


@pytest.mark.parametrize("text", ["99999999999999", "-99999999999999", "9" * 5_000])
def test_a_window_beyond_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="not between the years 1 and 9999"):
        window_named(query_of(), text)


def test_the_first_and_last_windows_of_the_calendar_can_be_shown() -> None:
    """Windows of 30 s, one every 10 s."""
    query = query_of()
    for number in (CALENDAR_US[0] // 10_000_000, CALENDAR_US[1] // 10_000_000 - 4):
        assert window_named(query, str(number)) == number
        assert iso(query.window.window_start_us(number))
        assert iso(query.window.window_end_us(number))


def asked_why(directory: Path, query: Query, *windows: int | str, done_through: int) -> list[Any]:
    """The replies of an agent that answers this query and is done with the panes below."""

    async def run() -> list[Any]:
        stores = SiteStores(directory / "state", site="home", clock=time.time)
        results = stores.results_directory / query.id.name
        final = envelope_of(query, 7, revision=3, final=True)
        ResultsWriter(results).publish([Published(final, None)])
        runtime = alone(stores)
        await runtime.start()
        try:
            runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
            root = runtime.node.root(str(query.id))
            assert root is not None
            root.windows.resume(done_through)
            desk = ControlDesk()
            desk.open(runtime)
            requests = [{"stream": query.id.name, "window": str(window)} for window in windows]
            return [await desk.handle("why", request) for request in requests]
        finally:
            await runtime.stop()

    return asyncio.run(run())


def test_why_of_a_window_that_the_root_no_longer_keeps_says_since_when_it_is_final(
    tmp_path: Path,
) -> None:
    query = msgspec.structs.replace(query_of(), begin_pane=4)
    kept, lost, begin = asked_why(tmp_path, query, 7, 8, 2, done_through=100)
    assert "final, revision 3" in kept["text"]
    assert "It is final since 1970-01-01 00:20:34.500000 UTC" in kept["text"]
    assert (kept["value"]["status"], kept["value"]["revision"]) == ("final", 3)
    assert "no answer of it is kept" in lost["text"]
    assert "its first window is 4" in begin["text"]


def test_a_relay_without_spark_that_was_named_as_root_says_so(tmp_path: Path) -> None:
    """The roster does not tell who has Spark, so the install is taken; it would wait for ever."""
    (why,) = asked_why(tmp_path, query_of(), 7, done_through=0)
    assert "it is not answered here: this agent has no Spark" in why["text"]


def test_a_time_without_a_day_is_the_last_one() -> None:
    """Windows of 30 s, one every 10 s; it is 12:00 of the second day."""
    query, noon_us = query_of(), 36 * 3600 * 1_000_000
    today, yesterday = (
        window_named(query, "1970-01-02T09:10"),
        window_named(query, "1970-01-01T12:01"),
    )
    assert window_named(query, "09:10", now_us=noon_us) == today
    assert window_named(query, "9:10:00", now_us=noon_us) == today
    assert window_named(query, "12:01", now_us=noon_us) == yesterday
    with pytest.raises(ConfigurationError, match="wanted a time"):
        window_named(query, "25:00", now_us=noon_us)


def test_last_is_the_last_answer_and_says_so_where_there_is_none(tmp_path: Path) -> None:
    query = msgspec.structs.replace(query_of(), begin_pane=4)
    with pytest.raises(ConfigurationError, match="no window has an answer yet") as refused:
        asked_why(tmp_path, query, "last", done_through=0)
    assert "headwater why hits" in str(refused.value)
