"""A site reads the past for queries that come late: beside the live reading, and each line once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from feeder_kit import Site, Stream, running, until, with_site

from headwater.edge.outputs import Forget, Remember
from headwater.edge.record import UNDECIDED, EdgeRecord
from headwater.plan.query import Query
from headwater.plan.readings import past_reading


def late(site: Site, counter: int, *, begin_pane: int | None = 7) -> Query:
    """A query that comes late, with its record as the edge writes it."""
    query = site.query(counter, begin_pane=begin_pane)
    reads_past = msgspec.UNSET if begin_pane is None else True
    query = msgspec.structs.replace(query, reads_past=reads_past, unit_last=counter)
    remember(site, query, past=UNDECIDED if begin_pane is None else past_reading(query))
    return query


def remember(site: Site, query: Query, *, past: str) -> None:
    record = EdgeRecord(first_pane=0, source=query.source_name, past=past)
    site.cube.write([Remember(str(query.id), record)])


async def read_all(site: Site, stream: Stream) -> list[str]:
    source = stream.stream.source
    for _ in range(100):
        stream.batch()
        await asyncio.sleep(0.01)
        state = site.cube.cuts.state(source)
        if state.committed_cut == state.last_cut and stream.batches.read:
            break
    return stream.batches.read


def queries_of(site: Site, source: str, *, first_cut: int) -> list[str]:
    found = site.feeder.followed[source].queries
    return [id_ for id_ in found if site.feeder.inbox.reads(source, id_, first_cut=first_cut)]


@with_site
async def test_what_was_read_before_it_came_is_read_for_it_alone(site: Site) -> None:
    first = await site.first_cut("a", "b")
    live = site.stream()
    assert await read_all(site, live) == ["a", "b"]
    query = late(site, 2)
    await site.feeder.install(query, is_new=True)
    reading = past_reading(query)
    assert site.cube.cuts.pasts_of("weblog")[reading].after_cut == 1
    site.write("c")
    await site.until_cut("weblog", 2)
    await site.until_cut(reading, 1)
    assert await read_all(site, site.stream(reading)) == ["a", "b"]
    assert queries_of(site, reading, first_cut=1) == [str(query.id)]
    assert queries_of(site, "weblog", first_cut=1) == [str(first.id)]
    assert queries_of(site, "weblog", first_cut=2) == [str(first.id), str(query.id)]
    await until(lambda: site.reports[-1].source == reading and site.reports[-1].ended)


@with_site
async def test_a_past_that_nobody_awaits_any_more_is_forgotten_when_that_is_written(
    site: Site,
) -> None:
    await site.first_cut("a")
    await read_all(site, site.stream())
    query = late(site, 2)
    await site.feeder.install(query, is_new=True)
    reading = past_reading(query)
    await site.until_cut(reading, 1)
    await read_all(site, site.stream(reading))
    await asyncio.sleep(0.1)
    assert reading in site.feeder.followed, "the record says that it awaits it"
    remember(site, query, past="")
    await until(lambda: reading not in site.cube.cuts.names())
    assert set(site.feeder.followed) == {"weblog"}
    assert queries_of(site, "weblog", first_cut=2) == ["hits@home#1", str(query.id)]


@with_site
async def test_queries_of_one_unit_share_one_past_and_another_unit_has_its_own(site: Site) -> None:
    await site.first_cut("a")
    await read_all(site, site.stream())
    two = [msgspec.structs.replace(late(site, counter), unit_last=3) for counter in (2, 3)]
    for query in two:
        remember(site, query, past=past_reading(query))
        await site.feeder.install(query, is_new=True)
    other = late(site, 4)
    await site.feeder.install(other, is_new=True)
    assert set(site.feeder.followed) == {"weblog", "weblog~home.3", "weblog~home.4"}
    assert set(site.feeder.followed["weblog~home.3"].queries) == {str(one.id) for one in two}


@with_site
async def test_removing_the_query_ends_the_past(site: Site) -> None:
    await site.first_cut("a")
    query = late(site, 2)
    await site.feeder.install(query, is_new=True)
    await until(lambda: past_reading(query) in site.cube.cuts.names())
    site.feeder.withdraw(str(query.id))
    site.cube.write([Forget(str(query.id))])
    await until(lambda: site.cube.cuts.names() == ("weblog",))
    assert set(site.feeder.followed) == {"weblog"}


@with_site
async def test_the_earliest_of_a_source_that_is_read_already_is_its_past(site: Site) -> None:
    await site.first_cut("a")
    query = late(site, 2, begin_pane=None)
    await site.feeder.install(query, is_new=True)
    assert past_reading(query) in site.feeder.followed


def test_a_restart_takes_the_past_up_or_begins_what_was_only_written(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(tmp_path) as site:
            await site.first_cut("a")
            await read_all(site, site.stream())
            begun, written = late(site, 2), late(site, 3)
            await site.feeder.install(begun, is_new=True)
            await site.until_cut(past_reading(begun), 1)
        async with running(tmp_path) as site:
            for query in (site.query(1), begun, written):
                await site.feeder.install(query, is_new=False)
            for query in (begun, written):
                await site.until_cut(past_reading(query), 1)
                assert await read_all(site, site.stream(past_reading(query))) == ["a"]

    asyncio.run(run())


def test_a_past_that_was_over_before_a_restart_is_not_read_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(tmp_path) as site:
            await site.first_cut("a")
            await read_all(site, site.stream())
            query = late(site, 2)
            await site.feeder.install(query, is_new=True)
            await site.until_cut(past_reading(query), 1)
            await read_all(site, site.stream(past_reading(query)))
            await asyncio.sleep(0.05)
            site.feeder._pasts.end = lambda: None  # type: ignore[method-assign]  # a kill comes before
            remember(site, query, past="")
        async with running(tmp_path) as site:
            for one in (site.query(1), query):
                await site.feeder.install(one, is_new=False)
            await until(lambda: site.cube.cuts.names() == ("weblog",))
            assert set(site.feeder.followed) == {"weblog"}

    asyncio.run(run())
