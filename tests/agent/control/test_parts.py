"""A stream with several roots at running agents: installed, listed, asked for, removed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from query_kit import queries_in

from headwater.agent.control.control import ControlDesk
from headwater.agent.control.install import plan_here
from headwater.agent.control.operator_client import remove_stream, resume_stream, run_statements
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.errors import ConfigurationError
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.roster import Roster, Site

ROSTER = Roster(1, tuple(Site(n, name) for n, name in enumerate(("hub", "oslo", "rome"))), "hub")
SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
SELECT = "SELECT page, count(*) AS n FROM hits GROUP BY window(ts, '5 seconds'), page"
BY_TWO = f"{SOURCE}CREATE STREAM pages WITH (roots = 'oslo, rome') AS {SELECT};"
BY_ONE = f"{SOURCE}CREATE STREAM pages AS {SELECT};"
HEARD_S_MAX = 120.0


class Agents:
    """Three agents without Spark, which is enough to command and to be asked."""

    def __init__(self, directory: Path) -> None:
        self.world = MemoryWorld()
        self._directory = directory
        self._runtimes: list[SiteRuntime] = []
        self.desks: dict[str, ControlDesk] = {}

    async def start(self) -> None:
        for site in ROSTER.sites:
            stores = SiteStores(self._directory / site.name, site=site.name, clock=time.time)
            runtime = SiteRuntime(
                site=site.name,
                roster=ROSTER,
                settings=RuntimeSettings(),
                stores=stores,
                network=self.world.network(site.name, Codec(stores.book.schema)),
                now_s=time.time,
                admit=lambda query, duty, operator: None,
            )
            await runtime.start()
            self._runtimes.append(runtime)
            self.desks[site.name] = ControlDesk()
            self.desks[site.name].open(runtime)
        await self.until_all_know()

    async def stop(self) -> None:
        for runtime in self._runtimes:
            await runtime.stop()

    def runtime(self, site: str) -> SiteRuntime:
        return next(one for one in self._runtimes if one.site == site)

    async def ask(self, site: str, name: str, **payload: Any) -> Any:
        return await self.desks[site].handle(name, payload)

    async def run(self, site: str, text: str) -> Any:
        """As an operator's client does."""
        reply = await run_statements(self.desks[site].handle, text, self.world.operator)
        return msgspec.to_builtins(reply)

    async def remove(self, site: str, stream: str) -> Any:
        reply = await remove_stream(self.desks[site].handle, stream, self.world.operator)
        return msgspec.to_builtins(reply)

    async def resume(self, site: str, stream: str) -> Any:
        reply = await resume_stream(self.desks[site].handle, stream, self.world.operator)
        return msgspec.to_builtins(reply)

    async def until_all_know(self, *streams: str) -> None:
        """Commands have reached everyone."""
        end_s = time.monotonic() + HEARD_S_MAX
        for site in self.desks:
            while sorted(streams) != await self._names(site):
                assert time.monotonic() < end_s, f"{site} knows {await self._names(site)}"
                await asyncio.sleep(0.02)

    async def _names(self, site: str) -> list[str]:
        reply = await self.ask(site, "streams")
        return sorted(line["stream"] for line in reply["streams"])


def run_with(directory: Path, story: Callable[[Agents], Awaitable[None]]) -> None:
    async def run() -> None:
        agents = Agents(directory)
        try:
            await agents.start()
            await story(agents)
        finally:
            await agents.stop()

    asyncio.run(asyncio.wait_for(run(), 2 * HEARD_S_MAX))


def test_a_run_says_the_parts_and_every_agent_lists_them(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        reply = await agents.run("hub", BY_TWO)
        told = [(one["stream"], one["root"], one["part"]) for one in reply["installed"]]
        assert told == [
            ("pages_part_1", "oslo", "part 1 of 2 of pages"),
            ("pages_part_2", "rome", "part 2 of 2 of pages"),
        ]
        assert len({one["begin"] for one in reply["installed"]}) == 1
        await agents.until_all_know("pages_part_1", "pages_part_2")
        lines = (await agents.ask("rome", "streams"))["streams"]
        assert [line["part"] for line in lines] == ["part 1 of 2 of pages", "part 2 of 2 of pages"]

    run_with(tmp_path, story)


def test_explain_shows_each_part_with_its_root_and_its_trees(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        first, second = (await agents.ask("hub", "explain", text=BY_TWO))["plans"]
        assert first.startswith("stream pages_part_1, part 1 of 2 of pages\n")
        assert "root    oslo" in first
        assert "PMOD(XXHASH64(page), 2) = 1" in second
        assert "tree 0 (primary): depth 1, planned by regions; below the root: hub, oslo" in second

    run_with(tmp_path, story)


def test_the_whole_is_asked_for_by_its_parts_and_a_part_at_its_root(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_TWO)
        await agents.until_all_know("pages_part_1", "pages_part_2")
        for request in ({"name": "why", "window": "newest"}, {"name": "watch"}):
            with pytest.raises(ConfigurationError) as caught:
                await agents.ask("oslo", stream="pages", **request)
            assert "ask for one of them: pages_part_1 at oslo, pages_part_2 at rome" in str(
                caught.value
            )
        sent_on = await agents.ask("oslo", "why", stream="pages_part_2", window="newest")
        assert sent_on["site"] == "rome"
        reply = await agents.ask("rome", "why", stream="pages_part_2", window="newest")
        assert reply["text"].startswith("pages_part_2, part 2 of 2 of pages, window ")
        assert reply["value"]["part"] == {"stream": "pages", "number": 2, "count": 2}

    run_with(tmp_path, story)


def test_a_stream_is_removed_as_a_whole(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_TWO)
        await agents.until_all_know("pages_part_1", "pages_part_2")
        with pytest.raises(ConfigurationError, match=r"part 1 of 2 of pages.*name 'pages'"):
            await agents.remove("hub", "pages_part_1")
        with pytest.raises(ConfigurationError, match=r"no stream 'other'; streams: \['pages'\]"):
            await agents.remove("hub", "other")
        reply = await agents.remove("rome", "pages")
        assert reply["removed"] == "pages_part_1@hub#1, pages_part_2@hub#2"
        await agents.until_all_know()

    run_with(tmp_path, story)


def test_a_stream_is_resumed_as_it_was_written_under_new_numbers(tmp_path: Path) -> None:
    """What a site declined it never takes back, so the same question begins as another query."""

    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_TWO)
        await agents.until_all_know("pages_part_1", "pages_part_2")
        reply = await agents.resume("hub", "pages")
        ids = [one["id"] for one in reply["installed"]]
        assert ids == ["pages_part_1@hub#3", "pages_part_2@hub#4"]
        await agents.until_all_know("pages_part_1", "pages_part_2")
        with pytest.raises(ConfigurationError, match="no stream 'other'"):
            await agents.resume("hub", "other")

    run_with(tmp_path, story)


def test_a_stream_installed_anew_takes_the_place_of_all_its_parts(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_TWO.replace("'oslo, rome'", "'oslo, rome, hub'"))
        await agents.until_all_know("pages_part_1", "pages_part_2", "pages_part_3")
        await agents.run("hub", BY_TWO)
        await agents.until_all_know("pages_part_1", "pages_part_2")
        await agents.run("hub", BY_ONE)
        await agents.until_all_know("pages")

    run_with(tmp_path, story)


def test_a_part_has_its_own_turn_at_the_trees() -> None:
    """The same root, so that only the turn can make a difference."""
    sites = tuple(Site(n, f"s{n}", region=f"r{n % 3}") for n in range(40))
    peer = SimpleNamespace(coordinates=dict)
    runtime = SimpleNamespace(
        roster=Roster(1, sites, "s0"), settings=RuntimeSettings(), node=SimpleNamespace(peer=peer)
    )
    queries = queries_in(BY_TWO.replace("oslo, rome", "s0, s1"), at="s0")
    (plain,) = queries_in(BY_ONE, at="s0")
    queries = [msgspec.structs.replace(query, root="s0") for query in queries]
    first, second, whole = (
        plan_here(cast(SiteRuntime, runtime), query) for query in (*queries, plain)
    )
    assert first == whole
    assert all(one != other for one, other in zip(first, second, strict=True))


def test_a_part_does_not_end_another_stream_by_its_name(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        other = BY_ONE.replace("STREAM pages", "STREAM pages_part_2")
        await agents.run("hub", other)
        with pytest.raises(ConfigurationError, match=r"'pages_part_2' \(part 2 of 2 of pages\)"):
            await agents.run("hub", BY_TWO)
        await agents.remove("hub", "pages_part_2")
        await agents.run("hub", BY_TWO)
        with pytest.raises(ConfigurationError, match="have the same name"):
            await agents.run("hub", other)

    run_with(tmp_path, story)
