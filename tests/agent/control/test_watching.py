"""Whoever watches a stream hears what is waited for, and when there is no more to wait for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
from store_kit import envelope_of, query_of
from tests.agent.control.test_parts import BY_ONE, Agents, run_with

from headwater.agent.control.control_api import StreamRequest
from headwater.agent.control.watching import _event, plain
from headwater.agent.view.watched_site import WatchedSite


async def watch(agents: Agents, said: list[Any], **request: Any) -> asyncio.Task[None]:
    events = await agents.ask("hub", "watch", stream="pages", **request)

    async def listen() -> None:
        async for event in events:
            said.append(event)  # noqa: PERF401 - as they come

    return asyncio.create_task(listen())


def test_a_watcher_hears_what_it_waits_for_and_that_the_stream_was_replaced(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        (first,) = (await agents.run("hub", BY_ONE))["installed"]
        said: list[Any] = []
        watching = await watch(agents, said, waits=True)
        while not said:
            await asyncio.sleep(0)
        assert said[0]["text"].startswith("waiting for the window ")
        assert "it is not answered here: this agent has no Spark" in said[0]["text"], "a trouble"
        (second,) = (await agents.run("hub", BY_ONE.replace("AS n", "AS m")))["installed"]
        await asyncio.wait_for(watching, 120)
        assert said[-1] == {
            "text": f"{first['id']} was replaced by {second['id']}: it has no more answers",
            "has_ended": True,
        }

    run_with(tmp_path, story)


def test_who_did_not_ask_for_waits_hears_answers_alone_and_the_end(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        said: list[Any] = []
        watching = await watch(agents, said)
        await agents.remove("hub", "pages")
        await asyncio.wait_for(watching, 120)
        assert said == []

    run_with(tmp_path, story)


def test_an_answer_with_a_day_beyond_pythons_years_is_shown() -> None:
    far = pa.table({"day": pa.array([5_000_000], pa.int32()).cast(pa.date32()), "n": [1]})
    reader = Mock(answer=lambda seq, envelope: far)
    event = _event(reader, 1, envelope_of(query_of(), 1), (WatchedSite("oslo", stale_s=2.0),))
    assert list(event["sites"]) == [{"site": "oslo", "stale_s": 2.0}]
    assert list(event["rows"]) == [{"day": "15659-07-15", "n": 1}]


def test_an_agent_of_before_is_not_asked_for_what_it_does_not_know() -> None:
    """It refuses fields that it does not know."""
    assert plain(StreamRequest("hits", waits=True)) == {"stream": "hits", "waits": True}
    assert plain(StreamRequest("hits", sites=True)) == {"stream": "hits", "sites": True}
