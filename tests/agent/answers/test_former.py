"""Former queries: what their published headers still tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from store_kit import envelope_of, query_of
from tests.agent.control.test_parts import BY_ONE, Agents, run_with

from headwater.plan.query import Query
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter


def publish(results: Path, query: Query, *windows: int, revision: int = 1) -> None:
    writer = ResultsWriter(results / query.id.name)
    for window in windows:
        envelope = envelope_of(query, window, revision=revision, final=False)
        writer.publish([Published(envelope, None)])


def test_what_was_replaced_or_removed_is_listed_with_its_windows_and_place(tmp_path: Path) -> None:
    """Windows of 30 s, one every 10 s; one of them was answered twice."""

    async def story(agents: Agents) -> None:
        results = tmp_path / "hub" / "results"
        publish(results, query_of("pages", 1), 7, 8, 9)
        publish(results, query_of("pages", 1), 8, revision=2)
        publish(results, query_of("gone", 5), 7)
        await agents.run("hub", BY_ONE)
        reply = await agents.ask("hub", "streams", former=True)
        former: dict[str, Any] = {one["id"]: one for one in reply["former"]}
        assert sorted(former) == ["gone@home#5", "pages@home#1"]
        pages = former["pages@home#1"]
        assert (pages["stream"], pages["windows"]) == ("pages", 3)
        assert (pages["first"], pages["newest"]) == ("1970-01-01T00:01:10Z", "1970-01-01T00:01:30Z")
        assert pages["results"] == str(results / "pages")
        assert pages["ended"].startswith("1970-01-01T00:")
        (line,) = reply["streams"]
        assert (line["stream"], line["former"], line["answered"]) == ("pages", 1, 0)
        assert (await agents.ask("hub", "streams"))["former"] == ()
        assert (await agents.ask("oslo", "streams", former=True))["former"] == ()

    run_with(tmp_path, story)


@pytest.mark.parametrize("asked", [{}, {"former": True}])
def test_a_federation_without_a_past_has_no_former_streams(
    tmp_path: Path, asked: dict[str, bool]
) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        reply = await agents.ask("hub", "streams", **asked)
        assert reply["former"] == ()
        assert reply["streams"][0]["former"] == 0

    run_with(tmp_path, story)
