"""What a site does not read is seen where people look: in ``streams`` and ``why``, at the root."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
from feeder_kit import Host

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.control.control import ControlDesk
from headwater.agent.control.operator_client import run_statements
from headwater.agent.input.declarations import SourceDeclaration
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.agent.view.stream_lines import UNREAD_SITES_SHOWN, unread_text
from headwater.algebra.words.site_state import SiteState, Unread
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.roster import Roster, Site

ROSTER = Roster(1, tuple(Site(n, name) for n, name in enumerate(("hub", "oslo"))), "hub")
TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING) WITH (format = 'csv', path = '*', time = 'ts');
CREATE STREAM pages AS SELECT page, count(*) AS n FROM hits
GROUP BY window(ts, '5 seconds'), page;
"""
SEEN_S_MAX = 120.0


def agent(
    world: MemoryWorld, directory: Path, site: str, declared: tuple[SourceDeclaration, ...] = ()
) -> SiteRuntime:
    """With files, and a Spark that never comes to a batch."""
    (directory / site / "data").mkdir(parents=True)
    stores = SiteStores(directory / site / "state", site=site, clock=time.time)
    sources = SourcesConfig(data=str(directory / site / "data"), declared=declared, poll_s=0.05)
    settings = RuntimeSettings(sources=sources)
    edge = msgspec.structs.replace(settings.node.edge, tally_every_s=0.1)
    node = msgspec.structs.replace(settings.node, edge=edge)
    return SiteRuntime(
        site=site,
        roster=ROSTER,
        settings=msgspec.structs.replace(settings, node=node),
        stores=stores,
        network=world.network(site, Codec(stores.book.schema)),
        now_s=time.time,
        admit=admit_with(PolicyConfig(), sources),
        host=cast(Any, Host()),
    )


async def until(desk: ControlDesk, is_so: Callable[[str], bool], column: str = "unread") -> str:
    """What ``streams`` says of what is not read, or in another column, once it is so."""
    end_s = time.monotonic() + SEEN_S_MAX
    while True:
        lines = (await desk.handle("streams", {}))["streams"]
        text = str(lines[0][column]) if lines else ""
        if lines and is_so(text):
            return text
        assert time.monotonic() < end_s, f"streams says {text!r}"
        await asyncio.sleep(0.02)


def test_streams_and_why_at_the_root_tell_what_another_site_does_not_read(tmp_path: Path) -> None:
    async def run() -> None:
        world = MemoryWorld()
        agents = {site.name: agent(world, tmp_path, site.name) for site in ROSTER.sites}
        (tmp_path / "oslo" / "data" / "old.log.zip").write_bytes(b"?")
        desks = {name: ControlDesk() for name in agents}
        try:
            for name, runtime in agents.items():
                await runtime.start()
                desks[name].open(runtime)
            await run_statements(desks["hub"].handle, TEXT, world.operator)
            said = await until(desks["hub"], lambda text: text != "")
            assert said.startswith("oslo: 1 file is not read: old.log.zip (")
            assert await until(desks["oslo"], lambda text: text != "") == said
            why = await desks["hub"].handle("why", {"stream": "pages", "window": "newest"})
            assert said in why["text"]
            (told,) = why["value"]["unread"]
            assert (told["site"], told["unread"][0]) == ("oslo", 1)
            (tmp_path / "oslo" / "data" / "old.log.zip").unlink()
            await until(desks["hub"], lambda text: text == "")
        finally:
            for runtime in agents.values():
                await runtime.stop()

    asyncio.run(asyncio.wait_for(run(), 3 * SEEN_S_MAX))


def test_streams_and_why_at_the_root_tell_where_no_file_matches(tmp_path: Path) -> None:
    async def run() -> None:
        world = MemoryWorld()
        agents = {site.name: agent(world, tmp_path, site.name) for site in ROSTER.sites}
        (tmp_path / "hub" / "data" / "hit.csv").touch()
        (tmp_path / "oslo" / "data" / "hits.log").touch()
        desks = {name: ControlDesk() for name in agents}
        try:
            for name, runtime in agents.items():
                await runtime.start()
                desks[name].open(runtime)
            text = TEXT.replace("'*'", "'hit*.csv'")
            await run_statements(desks["hub"].handle, text, world.operator)
            said = "oslo: no file matches 'hit*.csv'; nearest: hits.log"
            assert await until(desks["hub"], lambda text: text != "", "remarks") == said
            assert await until(desks["oslo"], lambda text: text != "", "remarks") == said
            why = await desks["hub"].handle("why", {"stream": "pages", "window": "newest"})
            assert said in why["text"]
            assert "feeder: no file" in agents["oslo"].notice_counts
            assert "feeder: no file" not in agents["hub"].notice_counts
            (tmp_path / "oslo" / "data" / "hits.csv").touch()
            await until(desks["hub"], lambda text: text == "", "remarks")
        finally:
            for runtime in agents.values():
                await runtime.stop()

    asyncio.run(asyncio.wait_for(run(), 3 * SEEN_S_MAX))


def test_what_a_site_refuses_of_its_declared_sources_is_seen_at_the_root(tmp_path: Path) -> None:
    """And in ``streams`` at the site; the other site has declared nothing."""
    declared = SourceDeclaration(
        "CREATE SOURCE hits (ts TIMESTAMP, client STRING) "
        "WITH (format = 'csv', path = 'web/*.log', time = 'ts')",
        {"ts": "free", "client": "denied"},
    )
    renamed = TEXT.replace("'*'", "'**/*.log'")
    asked = TEXT.replace("page", "client").replace("hits", "more").replace("pages", "clients")
    asked = asked.replace("'*'", "'web/a.log'")

    async def run() -> None:
        world = MemoryWorld()
        agents = {
            "hub": agent(world, tmp_path, "hub"),
            "oslo": agent(world, tmp_path, "oslo", (declared,)),
        }
        desks = {name: ControlDesk() for name in agents}
        try:
            for name, runtime in agents.items():
                await runtime.start()
                desks[name].open(runtime)
            await run_statements(desks["hub"].handle, renamed + asked, world.operator)
            for stream, words in (
                ("pages", "write it as it is declared: CREATE SOURCE hits (ts TIMESTAMP, client"),
                ("clients", "column 'client' of source hits has level denied at this site: no que"),
            ):
                await until_said(desks["oslo"], stream, "refused at oslo: ", words)
                await until_told(agents["hub"], stream, words)
            own = asked.replace("more", "mine").replace("clients", "own")
            (told,) = (await run_statements(desks["oslo"].handle, own, world.operator)).installed
            assert "not read here: refused at oslo: column 'client'" in told.refused
        finally:
            for runtime in agents.values():
                await runtime.stop()

    asyncio.run(asyncio.wait_for(run(), 3 * SEEN_S_MAX))


async def until_told(root: SiteRuntime, stream: str, words: str) -> None:
    """By the site's own state, from which answers and ``why`` are made."""
    end_s = time.monotonic() + SEEN_S_MAX
    (query_id,) = (one for one in root.node.peer.live_queries() if one.startswith(stream))
    answering = root.node.root(query_id)
    assert answering is not None
    while 1 not in answering.table.views or words not in answering.table.views[1].state.message:
        assert time.monotonic() < end_s, answering.table.views
        await asyncio.sleep(0.02)


async def until_said(desk: ControlDesk, stream: str, *words: str) -> None:
    end_s = time.monotonic() + SEEN_S_MAX
    while True:
        lines = (await desk.handle("streams", {}))["streams"]
        said = [str(line["trouble"]) for line in lines if line["stream"] == stream]
        if said and all(word in said[0] for word in words):
            return
        assert time.monotonic() < end_s, f"streams says {said}"
        await asyncio.sleep(0.02)


def test_of_many_sites_the_first_are_named_and_the_rest_are_counted() -> None:
    unread = Unread.of(4, [("a.zip", "can't be expanded")])
    names = {number: f"s{number}" for number in range(UNREAD_SITES_SHOWN + 2)}
    views = {
        number: _Thing(
            state=SiteState(
                query="q@a#1", ordinal=number, incarnation=1, number=1, first_pane=0, unread=unread
            )
        )
        for number in names
    }
    root = _Thing(table=_Thing(names=names, views=views))
    runtime = _Thing(node=_Thing(root=lambda _: root))
    text = unread_text(cast(Any, runtime), cast(Any, _Thing(id="q@a#1")))
    assert text.count("a.zip") == UNREAD_SITES_SHOWN
    assert text.endswith("; and 8 at 2 more sites")


class _Thing:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
