"""Names are durable only once their directory is synced: who makes, moves or links must do that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from store_kit import SOURCE, CubeUser, FaultyDisk, envelope_of, query_of

from headwater.store.disk import make_durably
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import Start
from headwater.store.input.finite import FiniteInput
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter

Open = Callable[..., CubeUser]


class SyncedDisk(FaultyDisk):
    """Remembers which directories were synced, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[Path] = []

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        self.synced.append(path)


@pytest.fixture
def disk() -> SyncedDisk:
    return SyncedDisk()


def test_a_directory_is_made_with_all_above_it(disk: SyncedDisk, tmp_path: Path) -> None:
    make_durably(disk, tmp_path / "a" / "b" / "c")
    assert disk.synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]


def test_a_cube_is_there_after_a_power_cut(open_cube: Open, disk: SyncedDisk) -> None:
    user = open_cube(disk=disk)
    assert {user.directory, user.directory.parent} <= set(disk.synced)


def test_a_chunk_that_is_set_aside_has_left_its_directory(
    open_cube: Open, disk: SyncedDisk
) -> None:
    user = open_cube(disk=disk)
    user.install()
    cut = user.cut_input()
    disk.synced.clear()
    user.cube.cuts.quarantine(SOURCE, cut)
    assert set(disk.synced) == {user.directory / "quarantine", user.directory / "spool"}


def test_links_to_finite_input_are_synced(
    open_cube: Open, disk: SyncedDisk, tmp_path: Path
) -> None:
    user = open_cube(disk=disk)
    (tmp_path / "a.csv").write_text("1\n")
    one = FiniteInput(user.cube.cuts, user.glob(tmp_path, "*.csv"), source=SOURCE)
    disk.synced.clear()
    assert one.poll(now_s=1.0).cuts == 1
    assert disk.synced == [user.directory / "spool"]


def test_the_link_that_keeps_unread_lines_alive_is_synced(
    open_cube: Open, disk: SyncedDisk, tmp_path: Path
) -> None:
    """There is no room for the lines, so nothing else is synced."""
    user = open_cube(disk=disk, spool_bytes_max=1)
    logs = tmp_path / "logs"
    logs.mkdir()
    follower = LogFollower(
        user.cube.cuts, user.glob(logs, "*.log"), source=SOURCE, start=Start.BEGINNING
    )
    follower.poll(now_s=1.0)
    (logs / "a.log").write_text("1\n2\n")
    disk.synced.clear()
    assert follower.poll(now_s=2.0).cuts == 0
    assert list((user.directory / "spool").iterdir()), "it is held"
    assert disk.synced == [user.directory / "spool"]


def test_a_publication_is_synced_when_it_is_prepared_shown_and_recovered(
    disk: SyncedDisk, tmp_path: Path
) -> None:
    directory = tmp_path / "hits"
    writer = ResultsWriter(directory, disk=disk)
    for step in (
        writer.recover,
        lambda: writer.prepare([Published(envelope_of(query_of(), 5), None)]),
        lambda: writer.finish(1),
    ):
        disk.synced.clear()
        step()
        assert disk.synced == [directory]
