"""Rows that are damaged on the disk: told with the cut, at once, and never as a whole pane."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from edge_site import EdgeSite
from store_kit import QUERY, CubeUser, FaultyDisk, counts_of

from headwater.algebra.words.site_state import Declined, Reason
from headwater.edge.outputs import Expire, MakeUpdates
from headwater.edge.record import EdgeRecord
from headwater.errors import DiskTrouble, RowsGone, SegmentDamaged
from headwater.store.cube.early.part_reader import UNREADABLE_TRIES_MAX
from headwater.store.image_packer import ImagePacker

Open = Callable[..., CubeUser]


def flip(path: Path) -> None:
    image = bytearray(path.read_bytes())
    image[len(image) // 2] ^= 1
    path.write_bytes(image)


@pytest.mark.parametrize("is_all_damaged", [False, True])
def test_a_pane_with_damaged_rows_is_declined_as_soon_as_it_is_cut(
    user: CubeUser, is_all_damaged: bool
) -> None:
    site = EdgeSite(user)
    user.commit((101, "/a", 1))
    (damaged,) = (user.directory / "segments").iterdir()
    flip(damaged)
    user.reopen()
    site.start(now_s=1_005.0)
    if not is_all_damaged:
        user.commit((101, "/b", 2))
    site.close(101)
    (send,) = [send for send in site.sends if send.pane == 101]
    (part,) = send.coverage.parts
    assert part.closed_at is None, "or the root would call it exact before it hears more"
    assert Declined(first=101, last=101, reason=Reason.LOST) in site.states[-1].declined
    assert dict(site.states[-1].counts)[101] == 1
    assert not [one for one in site.writes if isinstance(one, Expire)], "the others are kept"
    rows = user.cube.rows(QUERY, 101, ((1, 1),))
    assert counts_of(rows) == ({} if is_all_damaged else {"/b": 2})
    user.reopen()
    assert (
        Declined(first=101, last=101, reason=Reason.LOST) in user.cube.restore()[0].record.declined
    )


def test_a_pane_without_damage_is_told_as_whole(user: CubeUser) -> None:
    site = EdgeSite(user)
    user.commit((101, "/a", 1))
    user.reopen()
    site.start(now_s=1_005.0)
    site.close(101)
    (send,) = [send for send in site.sends if send.pane == 101]
    assert send.coverage.parts[0].closed_at == 1
    assert not any(d.reason is Reason.LOST for d in site.states[-1].declined)


# Gone for ever, or not to be read now


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.ENFILE, errno.EACCES])
def test_rows_that_can_not_be_read_now_are_there_later(
    open_cube: Open, faulty_disk: FaultyDisk, code: int
) -> None:
    user = open_cube(disk=faulty_disk)
    user.install()
    user.commit((5, "/a", 1))
    user.make_updates(5)
    user.reopen()
    faulty_disk.fail["read_file"] = code
    with pytest.raises(DiskTrouble):
        user.cube.rows(QUERY, 5, ((1, 1),))
    faulty_disk.fail.clear()
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 1}
    assert user.cube.status().damaged_segments == 0


@pytest.mark.parametrize("comes_back_as", ["nothing", "an empty directory"])
def test_rows_on_a_disk_that_is_not_mounted_are_not_damaged(
    user: CubeUser, comes_back_as: str
) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    user.reopen()
    segments, away = user.directory / "segments", user.directory / "away"
    segments.rename(away)
    if comes_back_as == "an empty directory":
        segments.mkdir()
    with pytest.raises(DiskTrouble):
        user.cube.rows(QUERY, 5, ((1, 1),))
    if segments.exists():
        segments.rmdir()
    away.rename(segments)
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 1}


def test_a_segment_that_is_gone_from_its_own_directory_is_damaged(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    user.reopen()
    for path in (user.directory / "segments").iterdir():
        path.unlink()
    with pytest.raises(SegmentDamaged):
        user.cube.rows(QUERY, 5, ((1, 1),))
    assert user.cube.status().damaged_segments == 1


def test_rows_that_retention_took_are_told_apart_from_damage(user: CubeUser) -> None:
    with pytest.raises(RowsGone, match="retention"):
        user.cube.rows(QUERY, 5, ((1, 1),))


def test_one_bad_sector_holds_a_cut_up_for_a_few_tries_and_then_costs_its_pane(
    open_cube: Open, faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    user.install()
    user.commit((5, "/a", 1))
    user.reopen()
    user.commit((5, "/b", 2))
    faulty_disk.fail["read_file"] = errno.EIO
    for _ in range(UNREADABLE_TRIES_MAX - 1):
        with pytest.raises(DiskTrouble):
            user.make_updates(5)
    (done,) = user.make_updates(5)
    assert not done.is_whole
    assert len(list((user.directory / "quarantine").iterdir())) == 1
    faulty_disk.fail.clear()
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/b": 2}
    assert user.cube.restore()[0].record.declined == (
        Declined(first=5, last=5, reason=Reason.LOST),
    )


def test_tries_that_fail_count_only_in_a_row(open_cube: Open, faulty_disk: FaultyDisk) -> None:
    """A read that works in between is of a cut that could not be written."""
    user = open_cube(disk=faulty_disk)
    user.install()
    user.commit((5, "/a", 1))
    user.reopen()
    maker, wanted = user.cube._maker, MakeUpdates(QUERY, (5,), EdgeRecord(first_pane=0), False)
    packer = ImagePacker(user.cube._rows.store)
    for _ in range(3):
        faulty_disk.fail["read_file"] = errno.EIO
        for _ in range(UNREADABLE_TRIES_MAX - 1):
            with pytest.raises(DiskTrouble):
                maker.prepare(wanted, packer)
        faulty_disk.fail.clear()
        assert not maker.prepare(wanted, packer).panes[0].is_damaged
        for segment in (user.directory / "segments").iterdir():
            user.cube._rows.store._cache.drop(segment.name)


def test_a_lack_of_handles_never_costs_a_pane(open_cube: Open, faulty_disk: FaultyDisk) -> None:
    user = open_cube(disk=faulty_disk)
    user.install()
    user.commit((5, "/a", 1))
    user.reopen()
    faulty_disk.fail["read_file"] = errno.EMFILE
    for _ in range(3 * UNREADABLE_TRIES_MAX):
        with pytest.raises(DiskTrouble):
            user.make_updates(5)
    faulty_disk.fail.clear()
    (done,) = user.make_updates(5)
    assert done.is_whole
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 1}


def test_a_segment_is_in_quarantine_durably_before_it_is_called_damaged(
    open_cube: Open, faulty_disk: FaultyDisk
) -> None:
    """Or a power cut brings it back among the others, where it is swept as nobody's."""
    user = open_cube(disk=faulty_disk)
    user.install()
    user.commit((5, "/a", 1))
    user.make_updates(5)
    for path in (user.directory / "segments").iterdir():
        flip(path)
    user.reopen()
    faulty_disk.calls.clear()
    with pytest.raises(SegmentDamaged):
        user.cube.rows(QUERY, 5, ((1, 1),))
    assert faulty_disk.calls["sync_directory"] == 2, "where it was, and where it is"
