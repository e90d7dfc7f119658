"""The follower against a model of log writers: each line that was there at a poll, exactly once.

The writers append whole and half lines, rotate by renaming and by copying (inside and outside the
glob), truncate, overwrite, remove and make files; in between the follower polls, batches are
committed, the process ends and starts again, the spool's disk fills up. Every line is unique, so
what comes out is compared as sets, and nothing may come out twice.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from store_kit import SOURCE, Clock, CubeUser, FaultyDisk

from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import FollowConfig, Start

GLOB = "*.log*"
FILES = ("a.log", "b.log", "c.log")
CONFIG = FollowConfig(
    cut_bytes_max=256, line_bytes_max=120, poll_bytes_max=4096, held_files_max=3, linger_s=1e6
)
files = st.sampled_from(FILES)


class HastyDisk(FaultyDisk):
    """Does not wait for the platter: no power fails in this test, and there is much to do."""

    def sync_files(self, paths: list[Path]) -> None:
        self._maybe("sync_files", paths)

    def sync_directory(self, path: Path) -> None:
        self._maybe("sync_directory", path)


class LogWriters(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="follow"))
        self.logs = self.top / "logs"
        self.logs.mkdir()
        self.clock = Clock()
        self.disk = HastyDisk()
        self.user = CubeUser(self.top / "cube", self.clock, disk=self.disk)
        self.follower: LogFollower | None = None
        self.number = 0
        self.rotated = 0
        self.batch = 0
        self.owed: set[bytes] = set()
        """Lines that were in a matching file at a poll."""
        self.excused: set[bytes] = set()
        """Lines before the start, and lines that a poll could not spool and that were truncated
        away before the next one."""
        self.unspooled: set[bytes] = set()
        self.written: set[bytes] = set()
        self.got: list[bytes] = []

    # The writers

    def line(self) -> bytes:
        self.number += 1
        line = b"%06d " % self.number + b"x" * (self.number * 7 % 60) + b"\n"
        self.written.add(line)
        return line

    def append(self, name: str, data: bytes) -> None:
        with (self.logs / name).open("ab") as file:
            file.write(data)

    @initialize(count=st.integers(0, 3), start=st.sampled_from(list(Start)))
    def begin(self, count: int, start: Start) -> None:
        self.append("a.log", b"".join(self.line() for _ in range(count)))
        self.start = start
        self.open()
        self.poll_now()
        if start is Start.END:
            self.excused |= self.owed

    def open(self) -> None:
        self.user.cube.manifest.run("PRAGMA synchronous = OFF")
        self.follower = LogFollower(
            self.user.cube.cuts,
            self.user.glob(self.logs, GLOB),
            source=SOURCE,
            start=self.start,
            config=CONFIG,
        )
        self.epoch = self.user.cube.cuts.begin_epoch(SOURCE)

    @rule(name=files, count=st.integers(1, 6))
    def write_lines(self, name: str, count: int) -> None:
        self.append(name, b"".join(self.line() for _ in range(count)))

    @rule(name=files)
    def write_half_a_line(self, name: str) -> None:
        self.number += 1
        self.append(name, b"%06d half " % self.number)

    @rule(name=files)
    def write_a_line_that_is_too_long(self, name: str) -> None:
        self.number += 1
        self.append(name, b"%06d " % self.number + b"y" * 300 + b"\n")

    @rule(name=files, inside=st.booleans(), anew=st.booleans())
    def rotate_by_renaming(self, name: str, inside: bool, anew: bool) -> None:
        if (self.logs / name).exists():
            (self.logs / name).rename(self.rotated_name(name, inside=inside))
            if anew:
                (self.logs / name).touch()

    def rotated_name(self, name: str, *, inside: bool) -> Path:
        self.rotated += 1
        return self.logs / (f"{name}.{self.rotated}" if inside else f"old-{self.rotated}")

    @rule(name=files, inside=st.booleans(), polls=st.booleans(), more=st.booleans())
    def rotate_by_copying(self, name: str, inside: bool, polls: bool, more: bool) -> None:
        """A poll may fall between the copy and the truncation."""
        path = self.logs / name
        if path.exists() and b"half" not in path.read_bytes():
            shutil.copyfile(path, self.rotated_name(name, inside=inside))
            if polls:
                self.poll_now()
            self.cut_file(path, 0)
            if more:
                self.append(name, self.line())

    @rule(name=files, keep=st.floats(0, 1))
    def truncate(self, name: str, keep: float) -> None:
        path = self.logs / name
        if path.exists():
            self.cut_file(path, int(path.stat().st_size * keep))

    def cut_file(self, path: Path, size: int) -> None:
        self.excused |= self.unspooled
        with path.open("r+b") as file:
            file.truncate(size)

    @rule(name=files)
    def overwrite_with_as_many_bytes(self, name: str) -> None:
        path = self.logs / name
        size = path.stat().st_size if path.exists() else 0
        if size >= 20:
            self.excused |= self.unspooled
            self.number += 1
            head = b"%06d " % self.number
            data = head + b"z" * min(60, size - len(head) - 1)
            data += b"\n" + b"w" * (size - len(data) - 1)
            self.written.add(data.split(b"\n")[0] + b"\n")
            with path.open("r+b") as file:
                file.write(data)

    @rule(name=files)
    def remove(self, name: str) -> None:
        (self.logs / name).unlink(missing_ok=True)

    # The follower

    @rule()
    def poll(self) -> None:
        self.poll_now()

    def poll_now(self) -> None:
        assert self.follower is not None
        present = set()
        for path in self.logs.glob(GLOB):
            data = path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            present |= {line for line in whole.splitlines(keepends=True) if len(line) <= 121}
        self.clock.now_s += 1
        poll = self.follower.poll(now_s=self.clock())
        self.owed |= present
        self.unspooled = present if not poll.is_clean else set()

    @rule()
    def poll_on_a_full_disk(self) -> None:
        self.disk.fail["write_new"] = errno.ENOSPC
        self.poll_now()
        self.disk.fail.clear()

    @rule()
    def poll_on_a_failing_disk(self) -> None:
        self.disk.fail["sync_directory"] = errno.EIO
        self.poll_now()
        self.disk.fail.clear()

    @rule(bytes_max=st.integers(1, 600))
    def commit(self, bytes_max: int) -> None:
        chunks = self.user.cube.cuts.pending(SOURCE, bytes_max=bytes_max)
        if chunks:
            self.got += [
                line for chunk in chunks for line in chunk.path.read_bytes().splitlines(True)
            ]
            self.batch += 1
            self.user.cube.commit_batch(
                Batch(SOURCE, self.epoch, self.batch, chunks[-1].cut), SiteOutcome()
            )

    @rule()
    def restart(self) -> None:
        assert self.follower is not None
        self.follower.close()
        self.user.reopen()
        self.open()

    @precondition(lambda self: self.follower is not None)
    @rule()
    def nothing_comes_twice(self) -> None:
        assert len(self.got) == len(set(self.got))

    def teardown(self) -> None:
        try:
            if self.follower is not None:
                self.settle()
        finally:
            if self.follower is not None:
                self.follower.close()
            self.user.cube.close()
            shutil.rmtree(self.top)

    def settle(self) -> None:
        for _ in range(20):
            self.poll_now()
            if not self.unspooled:
                break
        while self.user.cube.cuts.pending(SOURCE):
            self.commit(1 << 20)
        twice = sorted({line for line in self.got if self.got.count(line) > 1})
        assert not twice, f"read twice: {twice}"
        missing = self.owed - self.excused - set(self.got)
        assert not missing, f"never read: {sorted(missing)}"


TestFollowerAgainstLogWriters = LogWriters.TestCase
# Without shrinking: a failure is told by its steps at once, not after minutes of disk work.
TestFollowerAgainstLogWriters.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)
