"""Finite input: complete files, each once, without copying."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from store_kit import SOURCE, CubeUser, FaultyDisk

from headwater.errors import StoreError
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow import listing
from headwater.store.input.finite import FiniteInput

Open = Callable[..., CubeUser]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    directory = tmp_path / "logs"
    directory.mkdir()
    (directory / "a.csv").write_bytes(b"1\n2")
    (directory / "b.csv.gz").write_bytes(gzip.compress(b"3\n"))
    (directory / "empty.csv").touch()
    (directory / "other.txt").write_bytes(b"no\n")
    return directory


def finite(user: CubeUser, logs: Path, disk: FaultyDisk | None = None) -> FiniteInput:
    return FiniteInput(user.cube.cuts, user.glob(logs, "*.csv*", disk=disk), source=SOURCE)


def commit_all(user: CubeUser) -> object:
    state = user.cube.cuts.state(SOURCE)
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    return user.cube.commit_batch(Batch(SOURCE, epoch, 0, state.last_cut), SiteOutcome())


def test_all_files_are_registered_at_once_as_links_that_keep_their_suffix(
    open_cube: Open, logs: Path
) -> None:
    user = open_cube()
    poll = finite(user, logs).poll(now_s=5.0)
    chunks = user.cube.cuts.pending(SOURCE)
    assert (poll.cuts, poll.is_clean, poll.report) == (2, True, None)
    assert [Path(chunk.origin).name for chunk in chunks] == ["a.csv", "b.csv.gz"]
    assert [chunk.path.suffix for chunk in chunks] == [".csv", ".gz"]
    assert all(os.path.samefile(chunk.path, chunk.origin) for chunk in chunks)
    assert user.cube.status().spool_bytes == 0


def test_files_with_nothing_in_them_are_counted_and_not_registered(
    open_cube: Open, logs: Path
) -> None:
    (logs / "nothing.csv.gz").write_bytes(gzip.compress(b""))
    (logs / "no.csv.gz").write_bytes(b"no gzip")
    user = open_cube()
    source = finite(user, logs)
    poll = source.poll(now_s=5.0)
    assert (poll.files, poll.empty) == (3, 2)
    assert "no.csv.gz" in [Path(one.origin).name for one in user.cube.cuts.pending(SOURCE)]
    assert source.poll(now_s=6.0).empty == 2


def test_removing_the_files_afterwards_takes_nothing_away(open_cube: Open, logs: Path) -> None:
    user = open_cube()
    finite(user, logs).poll(now_s=5.0)
    (logs / "a.csv").unlink()
    user.reopen()
    assert user.cube.cuts.pending(SOURCE)[0].path.read_bytes() == b"1\n2"


def test_it_ends_when_all_is_committed_and_not_before(open_cube: Open, logs: Path) -> None:
    user = open_cube()
    one = finite(user, logs)
    assert one.poll(now_s=5.0).report is None
    report = commit_all(user)
    assert report.ended  # type: ignore[attr-defined]
    idle = one.poll(now_s=9.0).report
    assert idle is not None
    assert (idle.ended, idle.read_through_s) == (True, 9.0)


def test_what_appears_after_the_first_poll_is_not_part_of_it(open_cube: Open, logs: Path) -> None:
    user = open_cube()
    finite(user, logs).poll(now_s=5.0)
    (logs / "late.csv").write_bytes(b"4\n")
    user.reopen()
    assert finite(user, logs).poll(now_s=6.0).cuts == 0
    assert len(user.cube.cuts.pending(SOURCE)) == 2


def test_an_empty_directory_has_ended_at_once(open_cube: Open, tmp_path: Path) -> None:
    user = open_cube()
    (tmp_path / "empty").mkdir()
    report = finite(user, tmp_path / "empty").poll(now_s=5.0).report
    assert report is not None
    assert report.ended


def test_where_no_link_can_be_made_the_files_own_path_is_used_and_never_removed(
    open_cube: Open, logs: Path, faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    faulty_disk.fail["link"] = errno.EXDEV
    finite(user, logs, faulty_disk).poll(now_s=5.0)
    assert user.cube.cuts.pending(SOURCE)[0].path == logs / "a.csv"
    commit_all(user)
    user.cube.cuts.begin_epoch(SOURCE)
    user.cube.cuts.forget_source(SOURCE)
    assert (logs / "a.csv").exists()


def test_a_file_that_grows_while_it_waits_is_not_lost(
    open_cube: Open, logs: Path, faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    faulty_disk.fail["link"] = errno.EXDEV
    finite(user, logs).poll(now_s=5.0)
    with (logs / "a.csv").open("a") as file:
        file.write("more\n")
    assert len(user.cube.cuts.pending(SOURCE)) == 2
    assert not user.cube.cuts.state(SOURCE).losses


def test_a_full_disk_registers_nothing_and_the_next_poll_does(
    open_cube: Open, logs: Path, faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    one = finite(user, logs, faulty_disk)
    faulty_disk.fail["sync_directory"] = errno.ENOSPC
    poll = one.poll(now_s=5.0)
    assert poll.stalled
    assert (poll.cuts, poll.report) == (0, None)
    assert not any("file" in path.name for path in user.cube.cuts.spool.directory.iterdir())
    faulty_disk.fail.clear()
    assert one.poll(now_s=6.0).cuts == 2


def test_more_files_than_can_be_listed_are_not_all_of_the_input(
    open_cube: Open, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FILES_MAX", 1)
    user = open_cube()
    poll = finite(user, logs).poll(now_s=5.0)
    assert not poll.is_clean
    assert "files match" in poll.stalled
    assert user.cube.cuts.pending(SOURCE) == []


class ReplacingDisk(FaultyDisk):
    """Somebody replaces each file between the look at it and the link to it."""

    def link(self, old: Path | str, new: Path) -> None:
        other = Path(f"{old}.new")
        other.write_bytes(b"another\n")
        other.replace(old)
        super().link(old, new)


def test_a_file_that_is_replaced_before_it_is_linked_is_not_linked(
    open_cube: Open, logs: Path
) -> None:
    user = open_cube(disk=ReplacingDisk())
    finite(user, logs).poll(now_s=5.0)
    assert list((user.directory / "spool").iterdir()) == []


def test_a_source_stays_what_it_was_opened_as(open_cube: Open, logs: Path) -> None:
    user = open_cube()
    user.cube.cuts.open_source(SOURCE)
    with pytest.raises(StoreError, match="growing"):
        finite(user, logs)


def test_an_absent_directory_is_not_an_empty_one(open_cube: Open, tmp_path: Path) -> None:
    user = open_cube()
    one = finite(user, tmp_path / "nowhere")
    poll = one.poll(now_s=5.0)
    assert (poll.is_clean, poll.report) == (False, None)
    assert "nowhere" in poll.stalled
    (tmp_path / "nowhere").mkdir()
    (tmp_path / "nowhere" / "a.csv").write_bytes(b"1\n")
    assert one.poll(now_s=6.0).cuts == 1


@pytest.mark.parametrize("verb", ["scan", "open"])
@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE])
def test_what_can_not_be_read_now_makes_the_poll_come_again(
    open_cube: Open, logs: Path, faulty_disk: FaultyDisk, verb: str, code: int
) -> None:
    user = open_cube()
    one = finite(user, logs, faulty_disk)
    faulty_disk.fail[verb] = code
    poll = one.poll(now_s=5.0)
    assert os.strerror(code) in poll.stalled
    assert (poll.is_clean, poll.cuts, poll.report) == (False, 0, None)
    faulty_disk.fail.clear()
    assert one.poll(now_s=6.0).cuts == 2


def test_a_file_that_may_not_be_read_is_counted_as_lost(
    open_cube: Open, logs: Path, faulty_disk: FaultyDisk
) -> None:
    user = open_cube()
    faulty_disk.fail["open"] = errno.EACCES
    poll = finite(user, logs, faulty_disk).poll(now_s=5.0)
    assert poll.report is not None
    assert (poll.report.ended, poll.cuts) == (True, 0)
    assert poll.report.lost_bytes == sum(path.stat().st_size for path in logs.glob("*.csv*"))
    assert {reason for _, reason in poll.refused} == {os.strerror(errno.EACCES)}


def test_a_symlinked_file_is_linked_to_itself_and_keeps_its_suffix(
    open_cube: Open, logs: Path, tmp_path: Path
) -> None:
    user = open_cube()
    target = tmp_path / "blob"
    target.write_bytes(gzip.compress(b"5\n"))
    (logs / "c.csv.gz").symlink_to(target)
    finite(user, logs).poll(now_s=5.0)
    chunk = user.cube.cuts.pending(SOURCE)[-1]
    assert not chunk.path.is_symlink()
    target.unlink()
    assert gzip.decompress(chunk.path.read_bytes()) == b"5\n"
    assert chunk.path.suffix == ".gz"


def test_a_symlinked_file_that_can_not_be_linked_keeps_the_suffix_of_its_name(
    open_cube: Open, logs: Path, tmp_path: Path, faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    faulty_disk.fail["link"] = errno.EXDEV
    (tmp_path / "blob").write_bytes(gzip.compress(b"5\n"))
    (logs / "c.csv.gz").symlink_to(tmp_path / "blob")
    finite(user, logs, faulty_disk).poll(now_s=5.0)
    assert user.cube.cuts.pending(SOURCE)[-1].path == logs / "c.csv.gz"
