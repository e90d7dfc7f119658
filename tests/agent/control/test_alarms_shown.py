"""``headwater alarms`` at an agent: what its roots have kept, and the lies that it has met."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
from home_agent import alone
from store_kit import query_of

from headwater.agent.control import control_api as api
from headwater.agent.control.control import ControlDesk
from headwater.agent.runtime import SiteRuntime
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.messages import CommandsKnown
from headwater.plan.command import Count, Install
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site

ROSTER = Roster(1, (Site(0, "home"), Site(1, "lhr")), "home")
ESCAPE = "it was never cut \x1b]0;owned\x07"


def asked(directory: Path, *names: str) -> list[Any]:
    """What the desk of an agent says to these requests, after an alarm of lhr and a leap."""
    query = msgspec.structs.replace(query_of(), begin_pane=4)

    async def run() -> list[Any]:
        runtime = runtime_of(directory)
        await runtime.start()
        try:
            runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
            raise_alarm(runtime, query)
            leap = Count(installer="lhr", number=1 << 52, revision=1)
            runtime.node.receive("lhr", CommandsKnown((leap,), ()), now_s=runtime.now_s())
            for _ in range(200):
                await asyncio.sleep(0.01)
                if runtime.stores.ledger.alarms():
                    break
            desk = ControlDesk()
            desk.open(runtime)
            payload = {"stream": query.id.name, "window": "4"}
            return [await desk.handle(name, payload if name == api.WHY else {}) for name in names]
        finally:
            await runtime.stop()

    return asyncio.run(run())


def runtime_of(directory: Path) -> SiteRuntime:
    return alone(directory / "state", roster=ROSTER)


def raise_alarm(runtime: SiteRuntime, query: Query) -> None:
    """In a state of lhr, about a pane that the root was told to be empty."""
    root, query_id = runtime.node.root(str(query.id)), str(query.id)
    assert root is not None
    now_s = runtime.now_s()
    alarm = Alarm.of(AlarmKind.NEVER_CUT, query_id, 1, (4, 4), ESCAPE, ["hub"])
    root.receive_states(
        [SiteState(query=query_id, ordinal=1, incarnation=7, number=1, first_pane=4)], now_s=now_s
    )
    root.receive(Summary(query=query_id, pane=4, coverage=Coverage.of_empty(1, 7)), now_s=now_s)
    root.receive_states(
        [
            SiteState(
                query=query_id, ordinal=1, incarnation=7, number=2, first_pane=4, alarms=(alarm,)
            )
        ],
        now_s=now_s,
    )
    runtime.node.tick(now_s=now_s)


def test_alarms_of_streams_and_lies_are_listed_with_their_counts(tmp_path: Path) -> None:
    (reply,) = asked(tmp_path, api.ALARMS)
    found = msgspec.convert(reply, api.AlarmsReply)
    assert found.asked == "home"
    lines = {line.kind: line for line in found.alarms}
    alarm, leap = lines["never cut"], lines["leap"]
    assert (alarm.stream, alarm.site, alarm.panes, alarm.count) == ("hits", "lhr", "4", 1)
    assert alarm.carriers == ("hub",)
    assert (leap.stream, leap.site, leap.count) == ("", "lhr", 1)
    assert "a leap from #0" in leap.text
    year = time.strftime("%Y", time.gmtime())
    assert all(line.last.startswith(year) for line in found.alarms)


def test_streams_and_why_tell_of_an_alarm_of_theirs(tmp_path: Path) -> None:
    streams, why = asked(tmp_path, api.STREAMS, api.WHY)
    assert [line["alarms"] for line in streams["streams"]] == [1]
    assert "alarm of lhr (never cut): it was never cut �]0;owned�" in why["text"]


def test_after_a_restart_and_the_removal_of_the_stream_its_alarms_are_still_there(
    tmp_path: Path,
) -> None:
    asked(tmp_path)

    async def run() -> Any:
        runtime = runtime_of(tmp_path)
        runtime.stores.ledger.forget(str(query_of().id))
        await runtime.start()
        try:
            desk = ControlDesk()
            desk.open(runtime)
            return await desk.handle(api.ALARMS, {})
        finally:
            await runtime.stop()

    assert [line["kind"] for line in asyncio.run(run())["alarms"]] == ["never cut"]
