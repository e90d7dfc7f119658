"""Nobody else on the machine reads a site's state; its answers only where that was asked for."""

import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.agent.query_book import QueryBook
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.disk import Disk
from headwater.store.owner_alone import ReadableDisk, Readers, make_own, owner_alone


@pytest.fixture(autouse=True)
def _usual_umask():
    """That of most people's shells: others may read."""
    former = os.umask(0o022)
    yield
    os.umask(former)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_a_disk_makes_is_its_owners_alone(tmp_path: Path):
    Disk().make_directory(tmp_path / "own")
    Disk().write_new(tmp_path / "own" / "file", [b"private"])
    assert (mode(tmp_path / "own"), mode(tmp_path / "own" / "file")) == (0o700, 0o600)


def test_a_cube_its_manifest_and_its_lock_are_their_owners_alone(tmp_path: Path):
    book = QueryBook()
    cube = Cube.open(
        tmp_path / "cube", site="fra", facts=QueryFacts(book.merger), clock=lambda: 0.0
    )
    try:
        files = [path for path in (tmp_path / "cube").rglob("*") if path.is_file()]
        wide = {path.name: oct(mode(path)) for path in files if mode(path) & 0o077}
        assert len(files) >= 3
        assert wide == {}
        assert mode(tmp_path / "cube") == 0o700
    finally:
        cube.close()


def test_within_owner_alone_everything_is_and_afterwards_nothing_has_changed(tmp_path: Path):
    with owner_alone():
        pa.OSFile(str(tmp_path / "within"), "wb").close()
    pa.OSFile(str(tmp_path / "after"), "wb").close()
    assert (mode(tmp_path / "within"), mode(tmp_path / "after")) == (0o600, 0o644)


def wide_state(directory: Path) -> None:
    """As an agent of an earlier version left it."""
    (directory / "cube" / "chunks").mkdir(parents=True)
    (directory / "results" / "pages").mkdir(parents=True)
    for name in ("cube/manifest", "cube/chunks/1", "spark.log", "results/pages/rows-1.parquet"):
        (directory / name).write_text("lines")


def test_a_directory_that_was_open_to_others_is_closed_and_named(tmp_path: Path):
    state = tmp_path / "state"
    wide_state(state)
    found = make_own(state, results=state / "results")
    assert found == [state, state / "cube", state / "results", state / "spark.log"]
    assert [path for path in (state, *state.rglob("*")) if mode(path) & 0o077] == []
    assert make_own(state, results=state / "results") == [], "what is closed is not named again"


def test_a_log_that_the_follower_keeps_alive_keeps_its_writers_mode(tmp_path: Path):
    state, log = tmp_path / "state", tmp_path / "access.log"
    log.write_text("a line\n")
    (state / "cube").mkdir(parents=True)
    os.link(log, state / "cube" / "kept")
    make_own(state, results=state / "results")
    assert mode(log) == 0o644


def test_nothing_outside_is_changed_by_way_of_a_link(tmp_path: Path):
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    (state / "cube").mkdir(parents=True)
    elsewhere.write_text("somebody's")
    (state / "cube" / "link").symlink_to(elsewhere)
    make_own(state, results=state / "results")
    assert mode(elsewhere) == 0o644


@pytest.mark.parametrize(
    ("readers", "way", "directory", "file"),
    [(Readers.GROUP, 0o710, 0o750, 0o640), (Readers.ALL, 0o711, 0o755, 0o644)],
)
def test_answers_can_be_opened_to_others_and_nothing_else_is(
    tmp_path: Path, readers: Readers, way: int, directory: int, file: int
):
    state = tmp_path / "state"
    wide_state(state)
    make_own(state, results=state / "results", readers=readers)
    with owner_alone():
        disk = ReadableDisk(readers)
        disk.make_directory(state / "results" / "hosts")
        disk.write_new(state / "results" / "hosts" / "rows-1.parquet", [b"rows"])
    assert mode(state) == way
    assert {mode(path) for path in (state / "results").rglob("*") if path.is_dir()} == {directory}
    assert {mode(path) for path in (state / "results").rglob("*") if path.is_file()} == {file}
    closed = [state / "cube", *(state / "cube").rglob("*"), state / "spark.log"]
    assert [path for path in closed if mode(path) & 0o077] == []


def test_answers_that_were_open_are_closed_when_that_is_not_asked_for_any_more(tmp_path: Path):
    state = tmp_path / "state"
    wide_state(state)
    make_own(state, results=state / "results", readers=Readers.ALL)
    assert make_own(state, results=state / "results") == [state, state / "results"]
    assert [path for path in (state, *state.rglob("*")) if mode(path) & 0o077] == []
