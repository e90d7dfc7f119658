"""The states of a state query: made of the ring that a cube keeps, exactly once."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from store_kit import QUERY, SOURCE, CubeUser, FaultyDisk, batch_of, counts_of

from headwater.algebra.windows.last_rows import LastRows
from headwater.edge.outputs import Forget, MakeUpdates, Remember, UpdatesMade
from headwater.edge.record import EdgeRecord
from headwater.errors import DiskFull
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.cube import state_maker
from headwater.store.cube.retention import RetentionConfig
from headwater.store.cube.row_limit import RowLimit

OF = LastRows(last_n=3, begin_pane=0)
Record = tuple[int, str]
"""A record by its pane and page."""


class StateUser:
    """Reads records, numbered as Spark would, and closes panes."""

    def __init__(self, user: CubeUser, **fields: Any) -> None:
        self.user = user
        self.record = EdgeRecord(first_pane=0, **fields)
        user.cube.write([Remember(QUERY, self.record)])
        self.batch = 0

    @property
    def counted(self) -> int:
        return self.user.cube.counted(QUERY, None)  # type: ignore[arg-type]

    def outcome(self, *records: Record) -> SiteOutcome:
        rows = batch_of(*((pane, page, 1) for pane, page in records))
        numbers = pa.array(range(self.counted, self.counted + len(records)), pa.int64())
        through = self.counted + len(records)
        table = rows.append_column("__row", numbers)
        return SiteOutcome((QueryResult(QUERY, table, counted_through=through),))

    def read(self, *records: Record) -> None:
        self.commit(self.outcome(*records))

    def commit(self, outcome: SiteOutcome, *, again: bool = False) -> None:
        cube = self.user.cube
        through = cube.cuts.state(SOURCE).last_cut if again else self.user.cut_input()
        self.batch += 0 if again else 1
        batch = Batch(SOURCE, cube.cuts.state(SOURCE).epoch, self.batch, through)
        cube.commit_batch(batch, outcome)

    def close(self, *panes: int, **changes: Any) -> list[UpdatesMade]:
        self.record = msgspec.structs.replace(self.record, closed_through=max(panes) + 1, **changes)
        (made,) = self.user.cube.write([MakeUpdates(QUERY, panes, self.record, sent=True)])
        assert made is not None
        return made

    def state(self, pane: int) -> dict[str, int]:
        return counts_of(self.user.cube.rows(QUERY, pane, ((1, 1),)))

    def blocks(self) -> int:
        return int(self.user.cube.manifest.one("SELECT count(*) FROM ring")[0])


@pytest.fixture
def site(open_cube: Callable[..., CubeUser]) -> StateUser:
    return StateUser(open_cube(last_rows_of=lambda query: OF, retention=RetentionConfig(1e9)))


def test_a_state_has_the_last_records_up_to_its_end_each_group_once(site: StateUser) -> None:
    site.read((0, "a"), (0, "b"), (1, "a"), (1, "a"), (3, "c"))
    made = site.close(0, 1, 2, 3)
    assert [(one.pane, one.first_update, one.last_update) for one in made] == [
        (0, 1, 1),
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 1),
    ]
    assert [site.state(pane) for pane in range(4)] == [
        {"a": 1, "b": 1},
        {"b": 1, "a": 2},
        {"b": 1, "a": 2},
        {"a": 2, "c": 1},
    ]
    assert [one.is_same for one in made] == [False, False, True, False]
    assert all(one.is_whole for one in made)


def test_a_quiet_pane_has_the_former_rows_and_nothing_is_written_for_it(site: StateUser) -> None:
    site.read((0, "a"))
    site.close(0)
    before = site.user.cube.status()
    (made,) = site.close(1)
    assert made.is_same
    assert site.state(1) == {"a": 1}
    assert site.user.cube.status().segments == before.segments


def test_before_the_first_record_there_is_an_empty_state(site: StateUser) -> None:
    site.read((2, "a"))
    made = site.close(0, 1, 2)
    assert [(one.last_update, one.is_same) for one in made] == [(0, True), (0, True), (1, False)]


def test_a_late_record_counts_for_the_panes_that_are_open(site: StateUser) -> None:
    site.read((0, "a"), (1, "b"))
    site.close(0, 1)
    site.read((0, "c"))
    site.close(2)
    assert (site.state(1), site.state(2)) == ({"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1})


def test_a_record_of_a_later_pane_waits_for_it_whatever_is_read_after_it(site: StateUser) -> None:
    site.read((5, "z"), (0, "a"), (0, "b"), (0, "c"), (0, "d"))
    site.close(0)
    site.close(1, 2, 3, 4, 5)
    assert site.state(0) == {"b": 1, "c": 1, "d": 1}
    assert site.state(5) == {"b": 1, "c": 1, "d": 1}, "for it was read before these"
    site.read((5, "y"))
    site.close(6)
    assert site.state(6) == {"c": 1, "d": 1, "y": 1}


@pytest.mark.parametrize("restarts", [False, True])
def test_a_batch_that_comes_again_changes_nothing(site: StateUser, restarts: bool) -> None:
    outcome = site.outcome((0, "a"), (0, "b"))
    site.commit(outcome)
    if restarts:
        site.user.reopen()
    site.commit(site.outcome((0, "x"), (0, "y")), again=True)
    assert site.counted == 2
    site.close(0)
    assert site.state(0) == {"a": 1, "b": 1}


def test_what_was_not_committed_is_in_no_state(
    open_cube: Callable[..., CubeUser], faulty_disk: FaultyDisk
) -> None:
    site = StateUser(open_cube(disk=faulty_disk, last_rows_of=lambda query: OF))
    site.read((0, "a"))
    outcome = site.outcome((0, "b"))
    through, epoch = site.user.cut_input(), site.user.cube.cuts.state(SOURCE).epoch
    faulty_disk.fail["write_new"] = errno.ENOSPC
    with pytest.raises(DiskFull):
        site.user.cube.commit_batch(Batch(SOURCE, epoch, 2, through), outcome)
    faulty_disk.fail.clear()
    site.close(0)
    assert (site.state(0), site.counted) == ({"a": 1}, 1)


def test_the_ring_outlives_a_restart_and_so_does_which_states_are_the_same(site: StateUser) -> None:
    site.read((0, "a"), (0, "b"))
    site.close(0, 1)
    site.user.reopen()
    (kept,) = site.user.cube.restore()
    assert [(one.pane, one.updates, one.is_same) for one in kept.panes] == [
        (0, 1, False),
        (1, 1, True),
    ]
    site.read((2, "c"), (2, "d"))
    site.close(2)
    assert site.state(2) == {"b": 1, "c": 1, "d": 1}


def test_blocks_that_no_state_needs_go_and_many_small_ones_become_one(
    site: StateUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pane in range(20):
        site.read((pane, "a"))
        site.close(pane)
    assert site.blocks() == 3, "one record each"
    monkeypatch.setattr(state_maker, "BLOCKS_MAX", 2)
    site.read((20, "b"))
    site.close(20)
    assert site.blocks() == 1
    site.read((21, "c"))
    site.close(21)
    assert site.state(21) == {"a": 1, "b": 1, "c": 1}
    names = site.user.cube.manifest.all("SELECT name FROM segments")
    assert len(names) == site.user.cube.status().segments


def test_after_a_failed_batch_states_are_not_whole_until_enough_records_were_read(
    site: StateUser,
) -> None:
    site.read((0, "a"))
    failed = QueryResult(QUERY, failed="[DIVIDE_BY_ZERO]", touched=(1, 1))
    site.commit(SiteOutcome((failed,)))
    wholes = [one.is_whole for one in site.close(0, 1)]
    assert wholes == [True, False], "the failed batch had nothing before pane 1"
    site.read((2, "b"), (2, "c"))
    (short,) = site.close(2)
    site.read((3, "d"))
    (enough,) = site.close(3)
    assert (short.is_whole, enough.is_whole) == (False, True)
    assert not site.user.cube.manifest.all("SELECT * FROM gaps")
    site.user.reopen()
    (kept,) = site.user.cube.restore()
    assert kept.record.damaged == ((1, 2),), "also where nobody lived to tell the edge"


def test_after_lost_bytes_too(site: StateUser) -> None:
    site.read((0, "a"), (0, "b"), (0, "c"))
    (made,) = site.close(0, loss_heard=1)
    assert not made.is_whole
    site.read((1, "d"), (1, "e"), (1, "f"))
    (made,) = site.close(1)
    assert made.is_whole


def test_a_site_that_begins_late_has_whole_states_when_it_has_read_enough(
    open_cube: Callable[..., CubeUser],
) -> None:
    site = StateUser(open_cube(last_rows_of=lambda query: OF))
    site.record = msgspec.structs.replace(site.record, first_pane=4)
    site.read((4, "a"), (4, "b"))
    (made,) = site.close(4)
    site.read((5, "c"))
    (later,) = site.close(5)
    assert (made.is_whole, later.is_whole) == (False, True)


def test_records_of_a_damaged_block_are_missed(site: StateUser) -> None:
    site.read((0, "a"))
    ((name,),) = site.user.cube.manifest.all("SELECT name FROM segments")
    (path,) = site.user.directory.rglob(f"*{name}*")
    path.write_bytes(b"x" * path.stat().st_size)
    site.user.reopen()
    site.read((0, "b"))
    (made,) = site.close(0)
    assert (site.state(0), made.is_whole) == ({"b": 1}, False)


def test_a_state_with_too_many_rows_is_declined(open_cube: Callable[..., CubeUser]) -> None:
    limit = RowLimit(rows_max=2, instead="write approx_count_distinct(x)")
    site = StateUser(open_cube(last_rows_of=lambda query: OF, limit_of=lambda query: limit))
    site.read((0, "a"), (0, "b"), (0, "c"))
    (made,) = site.close(0)
    assert made.last_update == 0
    assert "a pane has 3 rows" in made.over
    site.read((1, "c"), (1, "c"))
    (made,) = site.close(1)
    assert (site.state(1), made.over) == ({"c": 3}, "")


def test_a_removed_query_leaves_nothing(site: StateUser) -> None:
    site.read((0, "a"))
    site.close(0)
    site.user.cube.write([Forget(QUERY)])
    assert (site.blocks(), site.user.cube.status().segments) == (0, 0)
