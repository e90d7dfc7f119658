"""A source that comes and goes, at the worst of moments: each life of it stands alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from feeder_kit import SITE, Gate, Site, names, running, until, with_site

from headwater.agent import patience
from headwater.agent.input.declarations import SourceDeclaration
from headwater.errors import DiskFull, DiskTrouble, EpochOver, SparkFailed, StoreBroken, StoreError
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.jvm.lease import Work
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.site_host import SiteHost
from headwater.spark.unreadable import Unreadable
from headwater.store.follow.follow import LogFollower

BATCHES_MAX = 5


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at the next look."""
    monkeypatch.setattr(patience, "PAUSE_S_MIN", 0.0)


def failing(times: int, error: Exception, call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that fails so many times before it works."""
    left = [times]

    def tried(*args: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return call(*args, **more)

    return tried


def slow_polls(monkeypatch: pytest.MonkeyPatch, source: str, gate: Gate) -> None:
    """The next poll of this source waits at the gate, in its thread."""
    poll, is_over = LogFollower.poll, [False]

    def gated(self: LogFollower, *, now_s: float) -> Any:
        if self.source == source and not is_over[0]:
            is_over[0] = True
            gate.pass_through()
        return poll(self, now_s=now_s)

    monkeypatch.setattr(LogFollower, "poll", gated)


# Removed and installed again


@with_site
async def test_a_source_that_comes_back_at_once_is_committed_again(site: Site) -> None:
    """The host looks every 0.25 s; its stream does not notice what happened in between."""
    stream = site.stream()
    query = await site.first_cut("a", "b")
    stream.batch()
    assert site.cube.cuts.state("weblog").committed_cut == 1
    site.feeder.withdraw(str(query.id))
    await site.install(2)
    site.write("c")
    await until(lambda: site.cube.cuts.state("weblog").last_cut == 1)
    for _ in range(BATCHES_MAX):
        stream.batch()
    assert site.cube.cuts.state("weblog").committed_cut == 1, "refused for ever"
    assert stream.batches.read[-1] == "c"


@with_site
async def test_a_batch_of_a_former_life_commits_nothing_in_the_new_one(site: Site) -> None:
    stream, gate = site.stream(), Gate()
    query = await site.first_cut("old")
    stream.batches.meanwhile = gate.pass_through
    batch = asyncio.create_task(asyncio.to_thread(stream.batch))
    await until(gate.came.is_set)
    site.feeder.withdraw(str(query.id))
    await site.install(2)
    site.write("new")
    await until(lambda: site.cube.cuts.state("weblog").last_cut == 1)
    gate.open()
    await batch
    assert site.cube.cuts.state("weblog").committed_cut == 0, "these lines were not read"
    assert site.feeder.followed["weblog"].record_count == 0
    stream.batch()
    assert site.cube.cuts.state("weblog").committed_cut == 1
    assert stream.batches.read == ["old", "new"]


@with_site
async def test_a_chunk_that_could_not_be_read_is_set_aside_in_its_own_life_only(site: Site) -> None:
    query = await site.first_cut("old")
    epoch = site.feeder.inbox.new_epoch("weblog")
    site.feeder.withdraw(str(query.id))
    await site.install(2)
    site.write("new")
    await until(lambda: site.cube.cuts.state("weblog").last_cut == 1)
    with pytest.raises(EpochOver):
        site.feeder.inbox.quarantine("weblog", 1, "damaged", epoch=epoch)
    assert not site.cube.cuts.state("weblog").losses
    newer = site.feeder.inbox.new_epoch("weblog")
    assert newer > epoch, "a number of an epoch is never used again"
    with pytest.raises(EpochOver):
        site.feeder.inbox.quarantine("weblog", 1, "damaged", epoch=epoch)
    with pytest.raises(EpochOver):
        _commit(site, epoch)
    assert not site.cube.cuts.state("weblog").losses
    site.feeder.inbox.quarantine("weblog", 1, "damaged", epoch=newer)
    assert site.cube.cuts.state("weblog").losses


@with_site
async def test_a_finite_input_whose_last_chunk_is_set_aside_has_ended(site: Site) -> None:
    """No batch follows that would say so, and all of its files have been looked at."""
    site.write("damaged")
    query = msgspec.structs.replace(site.query(1), ends=True)
    await site.feeder.install(query, is_new=True)
    await site.until_cut("weblog", 1)
    followed = site.feeder.followed["weblog"]
    await until(lambda: followed.is_quiet)
    epoch = site.feeder.inbox.new_epoch("weblog")
    await asyncio.to_thread(site.feeder.inbox.quarantine, "weblog", 1, "damaged", epoch=epoch)
    await until(lambda: followed.has_ended)
    assert followed.is_quiet


@pytest.mark.parametrize(
    "error", [DiskFull("no room"), DiskTrouble("I/O error"), KeyError("a mistake of ours")]
)
@with_site
async def test_a_chunk_that_can_not_be_set_aside_now_does_not_end_the_stream(
    site: Site, error: Exception
) -> None:
    stream = site.stream()
    await site.first_cut("a")
    (chunk,) = site.feeder.inbox.pending("weblog", after_cut=None, bytes_max=1)

    def unreadable() -> None:
        raise Unreadable([(SITE, chunk, "damaged")])

    stream.batches.meanwhile = unreadable
    site.cube.cuts.quarantine = failing(  # type: ignore[method-assign]
        1, error, site.cube.cuts.quarantine
    )
    stream.batch()
    stream.stream._trouble_until_s.clear()
    stream.batch()
    assert site.cube.cuts.state("weblog").losses


@pytest.mark.parametrize("what", ["sources", "pending", "offset_us"])
@with_site
async def test_one_site_whose_inbox_fails_does_not_stop_the_others(site: Site, what: str) -> None:
    stream = site.stream()
    await site.first_cut("a")
    good = site.feeder.inbox

    class Bad:
        def __getattr__(self, name: str) -> Any:
            if name == what:
                raise KeyError("gone")
            return getattr(good, name)

    stream.stream._sites = lambda: {"bad": Bad(), SITE: good}
    stream.batch()
    assert site.cube.cuts.state("weblog").committed_cut == 1


@with_site
async def test_an_offer_that_fails_is_made_again(site: Site) -> None:
    """The JVM refuses one call and lives on: an offer that is not out must not count as out."""
    stream, offered = site.stream(), list[str]()
    stream.stream._stream = cast(Any, SimpleNamespace(isActive=True, stop=lambda: None))
    stream.offer = failing(  # type: ignore[method-assign]
        1, RuntimeError("o7.addData: OutOfMemoryError"), lambda: offered.append("again")
    )
    await site.first_cut("a")
    with pytest.raises(RuntimeError, match="OutOfMemoryError"):
        stream.stream.step()
    stream.stream.step()
    assert offered == ["again"]
    stream.batch()
    assert site.cube.cuts.state("weblog").committed_cut == 1


@with_site
async def test_a_source_that_is_made_anew_between_its_chunks_and_its_epoch_keeps_its_lines(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunks of the former life must not be committed under an epoch of the new one."""
    stream, gate, pending = site.stream(), Gate(), site.feeder.inbox.pending
    query = await site.first_cut("old")
    stream.stream._offer()

    def gated(source: str, *, after_cut: int | None, bytes_max: int) -> Any:
        found = pending(source, after_cut=after_cut, bytes_max=bytes_max)
        if not gate.came.is_set():
            gate.pass_through()
        return found

    def read(batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        return [SiteOutcome() for _ in batches]

    monkeypatch.setattr(stream.batches, "run", read)
    monkeypatch.setattr(site.feeder.inbox, "pending", gated)
    batch = asyncio.create_task(asyncio.to_thread(stream.stream._batch, 0, 0))
    await until(gate.came.is_set)
    site.feeder.withdraw(str(query.id))
    await site.install(2)
    site.write("new")
    await until(lambda: site.cube.cuts.state("weblog").last_cut == 1)
    gate.open()
    await batch
    assert site.cube.cuts.state("weblog").committed_cut == 0


@with_site
async def test_a_stream_that_is_retired_during_a_batch_commits_nothing_of_it(site: Site) -> None:
    stream = site.stream()
    await site.first_cut("a")
    stream.batches.meanwhile = stream.stream.retire
    stream.batch()
    assert stream.batches.read == ["a"]
    assert site.cube.cuts.state("weblog").committed_cut == 0


@with_site
async def test_each_life_of_a_stream_has_epochs_of_its_own_and_says_what_it_is_at(
    site: Site,
) -> None:
    stream, works = site.stream(), list[Work]()

    def at_work(work: Work) -> Any:
        works.append(work)
        return contextlib.nullcontext()

    stream.stream._at_work = at_work
    await site.first_cut("a")
    stream.batch()
    assert works == [Work("batch", ("hits@home#1",))]
    epochs = [stream.stream._epoch(life, SITE, site.feeder.inbox) for life in (1, 1, 2)]
    assert epochs[0] == epochs[1] < epochs[2]


@with_site
async def test_what_a_batch_of_a_former_life_reported_is_not_told_any_more(site: Site) -> None:
    """It was committed, and the source removed before the event loop heard of it."""
    query = await site.first_cut("a")
    epoch = site.feeder.inbox.new_epoch("weblog")
    site.reports.clear()
    _commit(site, epoch)
    site.feeder.withdraw(str(query.id))
    await until(lambda: not site.cube.cuts.names())
    assert site.reports == []


# A new source is looked at, and read beside


@with_site
async def test_an_install_does_not_wait_until_what_is_there_is_read(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent does nothing else until the install is done."""
    gate = Gate()
    site.write("there before")
    slow_polls(monkeypatch, "weblog", gate)
    install = asyncio.create_task(site.install(1, begin_pane=None))
    await until(gate.came.is_set)
    begun, poll = list(site.begun), site.feeder.followed["weblog"].poll
    gate.open()
    await install
    assert begun == ["hits@home#1"], "it waits for the files to be read"
    assert poll is None, "they are read at once"
    await site.until_cut("weblog", 1)


# Removed while something is under way


@with_site
async def test_a_life_that_was_never_opened_leaves_its_predecessor_to_be_closed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    query = await site.first_cut("a")
    former = site.feeder.followed["weblog"].input
    assert isinstance(former, LogFollower)
    slow_polls(monkeypatch, "weblog", gate)
    await until(gate.came.is_set)
    site.feeder.withdraw(str(query.id))
    again = asyncio.create_task(site.install(2))
    await asyncio.sleep(0)
    site.feeder.withdraw("hits@home#2")
    gate.open()
    await again
    await until(lambda: not site.cube.cuts.names())
    assert len(former._watch.open_files) == 0


@with_site
async def test_a_query_that_is_removed_before_its_source_begins_is_never_begun(site: Site) -> None:
    site.data.rmdir()
    query = await site.install(1)
    await site.install(2)
    site.feeder.withdraw(str(query.id))
    site.data.mkdir()
    await until(lambda: site.begun)
    assert site.begun == ["hits@home#2"]


@with_site
async def test_a_query_is_removed_while_another_source_is_polled(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    await site.install(1, "first")
    second = await site.install(2, "second")
    slow_polls(monkeypatch, "first", gate)
    await until(gate.came.is_set)
    site.feeder.withdraw(str(second.id))
    gate.open()
    site.write("a", source="first")
    await site.until_cut("first", 1)
    await until(lambda: site.cube.cuts.names() == ("first",))


@with_site
async def test_a_source_that_was_replaced_while_it_awaited_its_turn_is_not_polled_any_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the poll of the former life writes into the new one, which is read from its end on."""
    gate = Gate()
    await site.install(1, "first")
    second = await site.install(2, "second")
    slow_polls(monkeypatch, "first", gate)
    await until(gate.came.is_set)
    site.feeder.withdraw(str(second.id))
    again = asyncio.create_task(site.install(3, "second"))
    await asyncio.sleep(0)
    site.write("written before the source came back", source="second")
    gate.open()
    await again
    site.write("a", source="first")
    await site.until_cut("first", 1)
    assert site.feeder.inbox.pending("second", after_cut=None, bytes_max=1) == []
    assert [kind for kind, _ in site.notices if kind != "no file"] == []


@with_site
async def test_a_poll_under_way_ends_before_its_source_is_forgotten(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    query = await site.install(1)
    former = site.cube.cuts.state("weblog")
    slow_polls(monkeypatch, "weblog", gate)
    await until(gate.came.is_set)
    site.write("read by the poll that is under way")
    site.feeder.withdraw(str(query.id))
    again = asyncio.create_task(site.install(2))
    await asyncio.sleep(0)
    assert site.cube.cuts.state("weblog") is former, "it is still being polled"
    gate.open()
    await again
    assert site.cube.cuts.state("weblog") is not former
    assert site.cube.cuts.state("weblog").last_cut == 0, "read from its end on"
    assert site.begun == ["hits@home#1", "hits@home#2"]


@with_site
async def test_a_source_that_is_removed_while_it_is_opened_leaves_nothing_behind(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, opens = Gate(), site.cube.cuts.open_source

    def slow(name: str, *, ends: bool = False) -> Any:
        gate.pass_through()
        return opens(name, ends=ends)

    monkeypatch.setattr(site.cube.cuts, "open_source", slow)
    install = asyncio.create_task(site.install(1))
    await until(gate.came.is_set)
    site.feeder.withdraw("hits@home#1")
    gate.open()
    await install
    await until(lambda: not site.cube.cuts.names())
    assert names(site.feeder.inbox.sources()) == set()


@with_site
async def test_no_batch_is_committed_while_its_source_is_forgotten(site: Site) -> None:
    query = await site.first_cut("a")
    epoch = site.feeder.inbox.new_epoch("weblog")
    gate = Gate()
    commit = site.cube.commit_batch

    def slow(*batch: Any, **more: Any) -> Any:
        gate.pass_through()
        return commit(*batch, **more)

    site.cube.commit_batch = slow  # type: ignore[method-assign]
    told = asyncio.create_task(asyncio.to_thread(_commit, site, epoch))
    await until(gate.came.is_set)
    site.feeder.withdraw(str(query.id))
    for _ in range(BATCHES_MAX):
        await asyncio.sleep(0.01)
        assert site.cube.cuts.names() == ("weblog",)
    gate.open()
    await told
    await until(lambda: not site.cube.cuts.names())
    assert not [one for one in site.reports if one.queries], "of a source that is gone"


@with_site
async def test_no_epoch_begins_while_its_source_is_forgotten(site: Site) -> None:
    """It would be of one life here and of another one in the cube."""
    query = await site.install(1)
    gate, begin = Gate(), site.cube.cuts.begin_epoch

    def slow(source: str) -> int:
        gate.pass_through()
        return begin(source)

    site.cube.cuts.begin_epoch = slow  # type: ignore[method-assign]
    begun = asyncio.create_task(asyncio.to_thread(site.feeder.inbox.new_epoch, "weblog"))
    await until(gate.came.is_set)
    site.feeder.withdraw(str(query.id))
    again = asyncio.create_task(site.install(2))
    for _ in range(BATCHES_MAX):
        await asyncio.sleep(0.01)
        assert not again.done(), "it was forgotten, and made anew, under the epoch"
    gate.open()
    await begun
    await again
    assert site.cube.cuts.state("weblog").epoch == 0, "nothing has begun in the new life"


def _commit(site: Site, epoch: int) -> None:
    site.feeder.inbox.commit(Batch("weblog", epoch, 0, 1), SiteOutcome(records=1))


# What fails is tried again


@with_site
async def test_a_full_disk_at_the_opening_is_waited_for_and_shown(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens = site.cube.cuts.open_source
    full = DiskFull("manifest: no room")
    monkeypatch.setattr(site.cube.cuts, "open_source", failing(3, full, opens))
    await site.install(1)
    assert site.feeder.troubles() == {"weblog": "manifest: no room"}
    assert names(site.feeder.inbox.sources()) == set(), "there is nothing to be read yet"
    assert site.begun == [], "panes that begin meanwhile are not answered for"
    site.write("a")
    await until(lambda: site.begun)
    assert site.begun == ["hits@home#1"]
    assert site.feeder.troubles() == {}
    assert names(site.feeder.inbox.sources()) == {"weblog"}
    assert [kind for kind, _ in site.notices] == ["in trouble"] * 3
    site.write("b")
    await site.until_cut("weblog", 1)


def test_a_restored_query_whose_source_opens_late_does_not_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its panes since the last life are read from where they were, and not declined."""

    async def run() -> None:
        async with running(tmp_path) as site:
            query = await site.install(1)
        async with running(tmp_path) as site:
            opens = site.cube.cuts.open_source
            refused = failing(2, StoreError("EIO"), opens)
            monkeypatch.setattr(site.cube.cuts, "open_source", refused)
            await site.feeder.install(query, is_new=False)
            await site.install(2)
            await until(lambda: site.begun)
            assert site.begun == ["hits@home#2"]

    asyncio.run(run())


@pytest.mark.parametrize("error", [StoreError("EIO"), KeyError("a mistake of ours")], ids=repr)
@with_site
async def test_what_one_source_raises_does_not_stop_the_others(
    site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    await site.install(1, "bad")
    await site.install(2, "good")
    poll = LogFollower.poll

    def sometimes(self: LogFollower, *, now_s: float) -> Any:
        if self.source == "bad" and is_bad[0]:
            raise error
        return poll(self, now_s=now_s)

    is_bad = [True]
    monkeypatch.setattr(LogFollower, "poll", sometimes)
    await until(lambda: "bad" in site.feeder.troubles())
    site.write("a", source="good")
    await site.until_cut("good", 1)
    assert any("source bad" in text for _, text in site.notices)
    is_bad[0] = False
    site.write("b", source="bad")
    await site.until_cut("bad", 1)
    await until(lambda: not site.feeder.troubles())


@with_site
async def test_a_source_is_opened_anew_only_when_its_former_life_is_forgotten(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = await site.first_cut("before")
    forget = site.cube.cuts.forget_source
    full = DiskFull("no room")
    monkeypatch.setattr(site.cube.cuts, "forget_source", failing(3, full, forget))
    site.feeder.withdraw(str(query.id))
    await site.install(2)
    assert site.feeder.troubles() == {"weblog": "no room"}
    assert names(site.feeder.inbox.sources()) == set()
    await until(lambda: "hits@home#2" in site.begun)
    assert site.cube.cuts.state("weblog").last_cut == 0, "read from its end on"
    assert site.feeder.troubles() == {}


def test_what_the_former_process_did_not_forget_is_forgotten_by_the_next(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(tmp_path) as site:
            await site.install(1, "left")
            kept = await site.install(2, "kept")
        site = Site(tmp_path)
        await site.feeder.install(kept, is_new=False)
        task = asyncio.create_task(site.feeder.run())
        await until(lambda: site.cube.cuts.names() == ("kept",))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await site.feeder.stop()
        site.cube.close()

    asyncio.run(run())


def test_a_store_that_must_be_opened_anew_ends_the_feeder(tmp_path: Path) -> None:
    async def run() -> None:
        site = Site(tmp_path)
        await site.install(1)
        site.write("a")
        task = asyncio.create_task(site.feeder.run())
        await site.until_cut("weblog", 1)
        epoch = site.feeder.inbox.new_epoch("weblog")

        def broken(*batch: Any, **more: Any) -> Any:
            raise StoreBroken("a commit of which nobody knows whether it happened")

        site.cube.commit_batch = broken  # type: ignore[method-assign]
        with pytest.raises(StoreBroken):
            await asyncio.to_thread(_commit, site, epoch)
        with pytest.raises(StoreBroken, match="nobody knows"):
            await asyncio.wait_for(task, 120)
        await site.feeder.stop()
        site.cube.close()

    asyncio.run(run())


# What is told


@with_site
async def test_a_poll_that_finds_no_room_is_shown_as_trouble_until_there_is_some(
    site: Site,
) -> None:
    await site.install(1)
    spool = site.cube.cuts.spool
    room, spool.bytes_max = spool.bytes_max, 0
    site.write("a")
    await until(lambda: "weblog" in site.feeder.troubles())
    spool.bytes_max = room
    await site.until_cut("weblog", 1)
    await until(lambda: not site.feeder.troubles())


def test_records_are_fenced_by_the_time_of_day(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(tmp_path, wall_s=lambda: 7_000.0) as site:
            await site.install(1)
            assert site.feeder.inbox.fence("weblog") == Fence.at(
                7_000.0, tolerance_s=5.0, keep_s=1e6
            )

    asyncio.run(run())


@with_site
async def test_input_that_ends_has_ended_when_a_later_poll_was_clean(site: Site) -> None:
    """A second file with the same line may be a copy: for a while it is not read."""
    await site.first_cut("a")
    (site.data / "weblog2.log").write_text("a\n")
    _commit(site, site.feeder.inbox.new_epoch("weblog"))
    await until(lambda: not site.cube.cuts.state("weblog").is_clean)
    site.feeder.end_input()
    count = len(site.reports)
    await until(lambda: len(site.reports) > count + 3)
    assert not any(report.ended for report in site.reports)
    site.write("b", source="weblog2")
    await site.until_cut("weblog", 3)
    site.stream().batch()  # of the line that may be a copy's
    site.stream().batch()
    await until(lambda: site.reports[-1].ended)


@with_site
async def test_what_the_last_poll_before_the_end_of_input_saw_is_not_the_end(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    await site.first_cut("a")
    slow_polls(monkeypatch, "weblog", gate)
    await until(gate.came.is_set)
    site.write("b")
    site.feeder.end_input()
    _commit(site, site.feeder.inbox.new_epoch("weblog"))
    await asyncio.sleep(0)
    assert not any(report.ended for report in site.reports), "b is not read"
    gate.open()
    await site.until_cut("weblog", 2)


@with_site
async def test_a_source_is_offered_when_all_queries_of_its_file_are_there(site: Site) -> None:
    site.feeder.inbox.commanded = {"home": 0}
    query = msgspec.structs.replace(site.query(1), unit_last=2)
    await site.feeder.install(query, is_new=True)
    assert names(site.feeder.inbox.sources()) == set()
    site.feeder.inbox.commanded = {"home": 2}
    assert names(site.feeder.inbox.sources()) == {"weblog"}


# The host's queries


@with_site
async def test_a_query_that_another_site_has_removed_at_the_host_is_handed_over_again(
    site: Site,
) -> None:
    await site.install(1)
    await until(lambda: SITE in site.host.inboxes)
    site.host.queries.clear()
    await site.install(2, "other")
    await until(lambda: set(site.host.queries) == {"hits@home#1", "hits@home#2"})


@with_site
async def test_a_removed_query_is_removed_at_the_host(site: Site) -> None:
    query = await site.install(1)
    assert list(site.host.queries) == ["hits@home#1"]
    site.feeder.withdraw(str(query.id))
    assert site.host.queries == {}


def test_a_host_that_sites_share_keeps_a_query_until_the_last_one_removes_it(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with running(tmp_path) as site:
            query = site.query(1)
            host = SiteHost(None, tmp_path / "host")  # type: ignore[arg-type]
            try:
                boxes = {name: ListedQueries(str(query.id)) for name in ("x", "y")}
                for name, box in boxes.items():
                    host.install(query)
                    host.serve(name, box)  # type: ignore[arg-type]
                for name, left in (("x", 1), ("y", 0)):
                    boxes[name].ids.clear()
                    host.remove(str(query.id))
                    assert len(host._queries) == left
            finally:
                host.stop()

    asyncio.run(run())


class ListedQueries:
    """An inbox without a source."""

    def __init__(self, *ids: str) -> None:
        self.ids = set(ids)

    def sources(self) -> list[Any]:
        return []

    def runs(self, query_id: str) -> bool:
        return query_id in self.ids


@with_site
async def test_a_stream_whose_batches_fail_says_why_until_one_does_not(site: Site) -> None:
    stream = site.stream()
    await site.first_cut("a")
    stream.batches.run = failing(1, SparkFailed("no such pattern"), stream.batches.run)
    with pytest.raises(SparkFailed):
        stream.batch()
    assert stream.stream.trouble == "no such pattern"
    stream.stream._cuts = None  # as a new life of the stream has it
    stream.batch()
    assert stream.stream.trouble == ""


def test_suspected_queries_run_apart_and_are_told_to_have_survived(tmp_path: Path) -> None:
    class Suspects:
        lived: list[str] = []

        def suspects(self) -> set[str]:
            return {"q2@home#2"}

        def survived(self, query_id: str) -> None:
            self.lived.append(query_id)

    async def run() -> None:
        async with running(tmp_path) as site:
            stream, works, ran = site.stream(), [], []
            queries = [await site.install(number) for number in (1, 2, 3)]
            ids = [str(query.id) for query in queries]
            suspicion = Suspects()
            suspicion.suspects = lambda: {ids[1]}  # type: ignore[method-assign]
            stream.stream._suspicion = suspicion

            def at_work(work: Work) -> contextlib.AbstractContextManager[None]:
                works.append(work.queries)
                return contextlib.nullcontext()

            stream.stream._at_work = at_work
            run = stream.batches.run
            stream.batches.run = lambda batches: (
                ran.append([str(q.id) for q in batches[0].queries]) or run(batches)
            )
            site.write("a")
            await site.until_cut("weblog", 1)
            stream.batch()
            assert works == [(ids[0], ids[2]), (ids[1],)]
            assert ran == [[ids[0], ids[2]], [ids[1]]]
            assert suspicion.lived == [ids[1]]
            assert site.cube.cuts.state("weblog").committed_cut == 1

    asyncio.run(run())


def test_a_link_to_a_declared_file_is_not_read_though_the_path_names_it(tmp_path: Path) -> None:
    declared = SourceDeclaration(
        "CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = 'hits.csv', time = 'ts')",
        {"ts": "free"},
    )

    async def run() -> None:
        async with running(tmp_path, declared=(declared,)) as site:
            (site.data / "hits.csv").write_text("secret\n")
            (site.data / "weblog-2.log").symlink_to(site.data / "hits.csv")
            site.write("plain")
            await site.install(1, begin_pane=None)
            await until(lambda: site.feeder.unread("weblog").count == 1)
            (name, reason), *_ = site.feeder.unread("weblog").named
            assert name == "weblog-2.log"
            assert "a file of the source hits" in reason
            stream = site.stream()
            stream.batch()
            assert stream.batches.read == ["plain"]

    asyncio.run(run())
