"""Input that a site skips lies aside, is read when there is CPU to spare, and each line once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from feeder_kit import Site, Stream, names, running, until

from headwater.agent.input import asides
from headwater.agent.input.asides import Shedding
from headwater.edge.outputs import Forget, Remember
from headwater.edge.record import EdgeRecord, SetAside
from headwater.edge.shedding.choose_skip import Skip
from headwater.plan.query import Query, Shed
from headwater.plan.readings import is_aside


class Edge:
    """In place of an edge: skips what the test says, and knows what it was told."""

    def __init__(self) -> None:
        self.through: dict[str, int] = {}
        self.heard: list[tuple[str, SetAside]] = []
        self.given_up: list[str] = []

    @property
    def door(self) -> Shedding:
        return Shedding(self._skips, lambda *told: self.heard.append(told), self.given_up.append)

    def _skips(self, source: str, *_: Any) -> dict[str, Skip]:
        return {id_: Skip(through, 5, 6) for id_, through in self.through.items()}


def sheds(site: Site, counter: int = 1, *, shed: Shed = Shed.DEFER) -> Query:
    return msgspec.structs.replace(site.query(counter), shed=shed)


def remember(site: Site, query: Query, *readings: str, heard: int = 0) -> None:
    record = EdgeRecord(
        first_pane=0,
        source="weblog",
        set_aside=tuple(SetAside(one, 5, 6) for one in readings),
        aside_heard=heard,
        aside_cut=heard,
    )
    site.cube.write([Remember(str(query.id), record)])


async def known_pace(site: Site, live: Stream) -> None:
    """A batch has been read, and two polls have told how fast input comes."""
    site.write("a")
    await site.until_cut("weblog", 1)
    live.batch()
    await until(lambda: site.feeder.followed["weblog"].shed_plan.batches)
    await until(lambda: site.feeder.followed["weblog"].shed_plan.bytes_per_s is not None)


async def skipped(site: Site, edge: Edge, query: Query, live: Stream, *lines: str) -> str:
    """What is written is skipped; the name of its reading."""
    known = set(site.cube.cuts.names())
    last = site.cube.cuts.state("weblog").last_cut
    edge.through[str(query.id)] = last + 1
    site.write(*lines)
    await site.until_cut("weblog", last + 1)
    plan = site.feeder.followed["weblog"].shed_plan
    await until(lambda: any(one.through_cut == last + 1 for one in plan.skips.values()))
    live.batch()
    (reading,) = set(site.cube.cuts.names()) - known
    await until(lambda: reading in site.feeder.followed)
    return reading


async def read_all(site: Site, stream: Stream) -> list[str]:
    state = site.cube.cuts.state(stream.stream.source)
    for _ in range(100):
        stream.batch()
        await asyncio.sleep(0.01)
        if state.committed_cut == state.last_cut:
            break
    return stream.batches.read


@pytest.fixture(autouse=True)
def spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asides, "SPARE_AFTER_S", 0.0)


def run(tmp_path: Path, test: Any) -> None:
    async def tested() -> None:
        edge = Edge()
        async with running(tmp_path, shedding=edge.door) as site:
            await test(site, edge)

    asyncio.run(tested())


def test_what_is_skipped_is_not_parsed_live_and_is_read_by_itself_once(tmp_path: Path) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query = sheds(site)
        await site.feeder.install(query, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        reading = await skipped(site, edge, query, live, "b", "c")
        assert is_aside(reading)
        assert edge.heard == [(str(query.id), SetAside(reading, 5, 6, 4, 2))]
        assert reading not in names(site.feeder.inbox.sources()), "no record says so yet"
        edge.through.clear()
        site.write("d")
        await site.until_cut("weblog", 3)
        assert await read_all(site, live) == ["a", "d"]
        remember(site, query, reading, heard=99)
        assert reading in names(site.feeder.inbox.sources())
        assert await read_all(site, site.stream(reading)) == ["b", "c"]
        await until(lambda: any(r.source == reading and r.ended for r in site.reports))
        remember(site, query, heard=99)
        await until(lambda: site.cube.cuts.names() == ("weblog",))

    run(tmp_path, test)


def test_one_query_skips_and_the_other_reads_all(tmp_path: Path) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query, other = sheds(site), site.query(2)
        for one in (query, other):
            await site.feeder.install(one, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        reading = await skipped(site, edge, query, live, "b")
        assert live.batches.read == ["a", "b"]
        inbox = site.feeder.inbox
        assert not inbox.reads("weblog", str(query.id), first_cut=2)
        assert inbox.reads("weblog", str(other.id), first_cut=2)
        remember(site, query, reading, heard=99)
        assert inbox.reads(reading, str(query.id), first_cut=2)
        assert not inbox.reads(reading, str(other.id), first_cut=2)
        assert await read_all(site, site.stream(reading)) == ["b"]

    run(tmp_path, test)


@pytest.mark.parametrize("shed", [Shed.DEFER, Shed.DECLINE])
def test_what_is_over_before_another_query_has_read_it_is_not_read_live_again(
    tmp_path: Path, shed: Shed
) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query, other = sheds(site, shed=shed), site.query(2)
        for one in (query, other):
            await site.feeder.install(one, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        edge.through[str(query.id)] = 2
        site.write("b")
        await site.until_cut("weblog", 2)
        plan, inbox = site.feeder.followed["weblog"].shed_plan, site.feeder.inbox
        await until(lambda: bool(plan.skips))
        assert inbox.pending("weblog", after_cut=None, bytes_max=100), "for the other"
        await until(lambda: len(site.feeder.followed) == 2)
        remember(site, query, heard=99)
        for line in ("c", "d"):
            last = site.cube.cuts.state("weblog").last_cut
            site.write(line)
            await site.until_cut("weblog", last + 1)
        assert not inbox.reads("weblog", str(query.id), first_cut=2)
        assert inbox.reads("weblog", str(query.id), first_cut=3)
        assert await read_all(site, live) == ["a", "b", "c", "d"]
        await until(lambda: site.cube.cuts.names() == ("weblog",))

    run(tmp_path, test)


def test_what_is_over_is_not_added_to(tmp_path: Path) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query, other = sheds(site), sheds(site, 2, shed=Shed.DECLINE)
        for one in (query, other):
            await site.feeder.install(one, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        one = await skipped(site, edge, query, live, "b")
        assert site.feeder.asides._may_grow(one)
        edge.through.clear()
        two = await skipped(site, edge, other, live, "c")
        assert not site.feeder.asides._may_grow(two)
        remember(site, query, heard=99)
        await until(lambda: not site.feeder.asides._may_grow(one))
        await until(lambda: one not in site.cube.cuts.names())

    run(tmp_path, test)


def test_the_newest_is_offered_first_and_none_while_input_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query = sheds(site)
        await site.feeder.install(query, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        one = await skipped(site, edge, query, live, "b")
        edge.through.clear()
        site.write("c")
        await site.until_cut("weblog", 3)
        await read_all(site, live)
        two = await skipped(site, edge, query, live, "d")
        remember(site, query, one, two, heard=99)
        assert names(site.feeder.inbox.sources()) == {"weblog", two}
        remember(site, query, one, heard=99)
        assert names(site.feeder.inbox.sources()) == {"weblog", one}
        monkeypatch.setattr(asides, "SPARE_AFTER_S", 1e6)
        assert names(site.feeder.inbox.sources()) == {"weblog"}

    run(tmp_path, test)


def test_a_restart_tells_the_edge_of_it_first_and_what_is_over_is_forgotten(tmp_path: Path) -> None:
    async def run_twice() -> None:
        edge = Edge()
        async with running(tmp_path, shedding=edge.door) as site:
            query = sheds(site)
            await site.feeder.install(query, is_new=True)
            live = site.stream()
            await known_pace(site, live)
            one = await skipped(site, edge, query, live, "b")
            remember(site, query, one, heard=2)
        edge = Edge()
        async with running(tmp_path, shedding=edge.door) as site:
            site.query(1)
            remember(site, query, one, heard=2)
            await site.feeder.install(query, is_new=False)
            assert edge.heard == [(str(query.id), SetAside(one, 5, 6, 2, 2))]
            assert await read_all(site, site.stream(one)) == ["b"]
            remember(site, query, heard=99)
        async with running(tmp_path, shedding=Edge().door) as site:
            remember(site, query, heard=99)
            await site.feeder.install(query, is_new=False)
            await until(lambda: site.cube.cuts.names() == ("weblog",))

    asyncio.run(run_twice())


def test_removing_the_query_forgets_what_was_set_aside_for_it(tmp_path: Path) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query, other = sheds(site), site.query(2)
        for one in (query, other):
            await site.feeder.install(one, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        await skipped(site, edge, query, live, "b")
        site.feeder.withdraw(str(query.id))
        site.cube.write([Forget(str(query.id))])
        await until(lambda: site.cube.cuts.names() == ("weblog",))
        assert site.cube.status().spool_bytes <= 2

    run(tmp_path, test)


def test_for_a_query_that_awaits_its_past_nothing_is_kept_live(tmp_path: Path) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query, other = sheds(site), site.query(2)
        for one in (query, other):
            await site.feeder.install(one, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        edge.through[str(query.id)] = 2
        site.write("b")
        await site.until_cut("weblog", 2)
        followed = site.feeder.followed["weblog"]
        await until(lambda: bool(followed.shed_plan.skips))
        followed.awaiting_past = {str(other.id)}
        assert not site.feeder.inbox.pending("weblog", after_cut=None, bytes_max=100)
        followed.awaiting_past = set()
        assert site.cube.cuts.state("weblog").committed_cut == 2

    run(tmp_path, test)


@pytest.mark.parametrize("is_last", [True, False])
def test_what_is_set_aside_while_its_query_is_removed_is_nobodys(
    tmp_path: Path, is_last: bool
) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query, other = sheds(site), site.query(2)
        for one in (query,) if is_last else (query, other):
            await site.feeder.install(one, is_new=True)
        live = site.stream()
        await known_pace(site, live)
        edge.through[str(query.id)] = 2
        site.write("b")
        await site.until_cut("weblog", 2)
        await until(lambda: bool(site.feeder.followed["weblog"].shed_plan.skips))
        site.feeder.inbox.pending("weblog", after_cut=None, bytes_max=100)
        assert len(site.cube.cuts.names()) == 2
        site.feeder.withdraw(str(query.id))  # before the event loop has heard of it
        site.cube.write([Forget(str(query.id))])
        left = () if is_last else ("weblog",)
        await until(lambda: site.cube.cuts.names() == left)

    run(tmp_path, test)


def test_beyond_its_room_the_oldest_is_given_up_and_people_are_told(tmp_path: Path) -> None:
    async def test(site: Site, edge: Edge) -> None:
        query = sheds(site)
        await site.feeder.install(query, is_new=True)
        site.feeder.asides._bytes_max = 3
        live = site.stream()
        await known_pace(site, live)
        one = await skipped(site, edge, query, live, "b")
        assert edge.given_up == []
        edge.through.clear()
        site.write("c")
        await site.until_cut("weblog", 3)
        await read_all(site, live)
        await skipped(site, edge, query, live, "d")
        await until(lambda: edge.given_up == [one])
        assert [kind for kind, _ in site.notices].count("shed for good") == 1

    run(tmp_path, test)
