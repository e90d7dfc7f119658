"""A directory of a version that signed nothing: what does not run is said, at every start."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec

from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.roster import Roster, Site
from headwater.store.commands import COMMANDS_SCHEMA
from headwater.store.manifest import Manifest


def notices_of_a_start(directory: Path) -> list[str]:
    async def run() -> list[str]:
        stores = SiteStores(directory, site="home", clock=time.time)
        runtime = SiteRuntime(
            site="home",
            roster=Roster(1, (Site(0, "home"),), "home"),
            settings=RuntimeSettings(),
            stores=stores,
            network=MemoryWorld().network("home", Codec(stores.book.schema)),
            now_s=time.time,
            admit=lambda query, duty, operator: None,
        )
        await runtime.start()
        await runtime.stop()
        return [one.text for one in runtime.notices if one.kind == "not taken over"]

    return asyncio.run(run())


def test_streams_of_an_older_version_are_named_at_every_start(tmp_path: Path) -> None:
    assert notices_of_a_start(tmp_path) == []
    (path,) = tmp_path.rglob("commands.sqlite")
    for one in path.parent.glob("commands.sqlite*"):
        one.unlink()
    older = msgspec.structs.replace(COMMANDS_SCHEMA, migrations=COMMANDS_SCHEMA.migrations[:1])
    manifest = Manifest.open(path, older)
    with manifest.transaction():
        manifest.run("INSERT INTO installs VALUES ('hits@home#4', x'00')")
    manifest.close()
    for _ in range(2):
        (said,) = notices_of_a_start(tmp_path)
        assert said == (
            "streams of 0.1, which signed no commands, do not run: hits@home#4; "
            "install them again: headwater run FILE"
        )
