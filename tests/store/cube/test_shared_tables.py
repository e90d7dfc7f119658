"""Cubes that nobody opens again may share their tables: each is as it would be alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_kit import QUERY, SOURCE, Clock, CubeUser

from headwater.edge.outputs import Forget, MarkAcked
from headwater.edge.record import EdgeRecord
from headwater.errors import StoreError
from headwater.store.cube.cube_schema import CUBE_SCHEMA
from headwater.store.cube.retention import RetentionConfig
from headwater.store.disk import ScratchDisk
from headwater.store.manifest import Manifest
from headwater.store.tables import Tables

RECORD = EdgeRecord(first_pane=0)
LIMITS = RetentionConfig(retention_s=25.0)
LOADED = ((1, 1),)


@pytest.fixture
def pair(tmp_path: Path, clock: Clock) -> Iterator[tuple[CubeUser, CubeUser]]:
    """Two cubes with the same query and source, and panes 0 and 1 of their own numbers."""
    tables, disk = Tables(), ScratchDisk()
    users = [
        CubeUser(tmp_path / name, clock, disk=disk, tables=tables, retention=LIMITS)
        for name in ("paris", "rome")
    ]
    for number, user in enumerate(users, start=1):
        user.install()
        for pane in (0, 1):
            user.commit((pane, "/a", 10 * number + pane))
            user.make_updates(pane, sent=True)
    yield users[0], users[1]
    for user in users:
        user.cube.close()


def loaded(user: CubeUser) -> list[int]:
    """What the panes have that can still be loaded."""
    found = []
    for pane in (0, 1):
        try:
            found += user.cube.rows(QUERY, pane, LOADED).column(1).to_pylist()
        except StoreError:
            continue
    return found


def delete_and_fail(manifest: Manifest) -> None:
    with manifest.transaction():
        manifest.run("DELETE FROM panes")
        manifest.run("DELETE FROM nowhere")


def test_each_has_its_own_rows_under_the_same_names(pair: tuple[CubeUser, CubeUser]) -> None:
    one, other = pair
    assert (loaded(one), loaded(other)) == ([10, 11], [20, 21])
    assert one.cube.cuts.state(SOURCE).id != other.cube.cuts.state(SOURCE).id


def test_each_counts_what_is_its_own(pair: tuple[CubeUser, CubeUser]) -> None:
    one, other = pair
    other.commit((5, "/a", 1))
    counts = one.cube.status(), other.cube.status()
    assert [each.panes for each in counts] == [2, 3]
    assert [each.waiting_rows for each in counts] == [0, 1]
    assert counts[0].segment_bytes < counts[1].segment_bytes


def test_what_one_forgets_the_other_has(pair: tuple[CubeUser, CubeUser]) -> None:
    one, other = pair
    one.cube.write([Forget(QUERY)])
    assert (loaded(one), loaded(other)) == ([], [20, 21])
    assert [each.cube.status().segments for each in pair] == [0, 2]


def test_retention_takes_what_is_old_of_one_cube(
    pair: tuple[CubeUser, CubeUser], clock: Clock
) -> None:
    one, other = pair
    run = one.cube.retention(now_s=clock.now_s + 30.0)
    assert run.declined == ((QUERY, 0), (QUERY, 1))
    assert (loaded(one), loaded(other)) == ([], [20, 21])


def test_retention_counts_the_bytes_of_one_cube(tmp_path: Path, clock: Clock) -> None:
    tables, disk = Tables(), ScratchDisk()
    users = [CubeUser(tmp_path / name, clock, disk=disk, tables=tables) for name in ("a", "b")]
    for user in users:
        user.install()
        user.commit((0, "/a", 1))
    used = users[0].cube.status().segment_bytes
    users[0].cube._retention = RetentionConfig(retention_bytes=used)
    assert users[0].cube.retention(now_s=clock.now_s).dropped == 0
    for user in users:
        user.cube.close()


def test_a_new_life_of_one_doubts_its_own_acknowledgements_alone(
    pair: tuple[CubeUser, CubeUser],
) -> None:
    for each in pair:
        each.cube.write([MarkAcked(QUERY, ((0, 1),), 0, RECORD)])
    pair[0].cube.live_anew(pair[0].cube.incarnation)
    assert [each.cube.status().unacked_panes for each in pair] == [2, 0]


def test_what_fails_at_one_is_undone_there_and_nowhere_else(
    pair: tuple[CubeUser, CubeUser],
) -> None:
    one, other = pair
    with pytest.raises(StoreError, match="no such table"):
        delete_and_fail(one.cube.manifest)
    other.commit((1, "/b", 3))
    assert [each.cube.status().panes for each in pair] == [2, 2]


def test_the_tables_are_there_until_the_last_leaves(tmp_path: Path) -> None:
    tables = Tables()
    first, second = (
        Manifest.open(tmp_path / name, CUBE_SCHEMA, disk=ScratchDisk(), tables=tables)
        for name in ("a", "b")
    )
    assert first.all("SELECT * FROM panes") == second.all("SELECT * FROM panes") == []
    first.close()
    assert second.all("SELECT * FROM panes") == []
    second.close()
    third = Manifest.open(tmp_path / "c", CUBE_SCHEMA, disk=ScratchDisk(), tables=tables)
    assert third.all("SELECT * FROM panes") == []
    third.close()
