"""Seeded schedules for the real follower: log writers, a failing disk, kills, mounts, restarts.

``run_schedule(seed)`` makes a directory of logs, lets writers do to it what log writers, rotation
and people do, and polls in between with the real follower, spool and manifest. Every call of the
disk and every statement of the manifest can fail or be the last one before the process is killed
(an exception that nobody catches; then everything is opened anew). Every line is unique.

What is checked, after each poll:

- a clean poll has registered every whole line that was in a matching file, but for what was there
  before the source began;
- no poll is clean while a directory can't be listed, or a file system that held files is away;
- what was registered twice is no more than what polls said might be, and is in cuts that are marked
  as doubtful, also where the poll that decided so was killed before it could say anything.

At the end the trouble stops, and after a while the polls must be clean.

A seed gives the same schedule everywhere. So the disk shows neither the inode numbers nor the times
of the file system that the test happens to run on: numbers are drawn, those of removed files again
and again, and on each file system on its own; times are counted.

    python tests/kits/follow_schedules.py 1 5000
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headwater.errors import StoreError
from headwater.store.cube.cube_schema import CUBE_SCHEMA
from headwater.store.disk import Disk
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.listing import Glob
from headwater.store.follow.poll import FollowConfig, Poll, Start
from headwater.store.input.cuts import CutLog
from headwater.store.input.spool import Spool
from headwater.store.manifest import Manifest

SOURCE = "weblog"
STEPS = 45
SETTLING_POLLS_MAX = 30
LINE_BYTES_MAX = 150
CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EACCES)
LONG_AGO_NS = 1_000_000_000 * 1_000_000_000
FAR_AHEAD_NS = 4_000_000_000 * 1_000_000_000
"""Files of this time never count as settled, however long the test takes."""
TICK_NS = 1_000_000
COARSE_GRAIN_TICKS = 8
"""So many changes in a row may leave the same time, where files do not settle."""
HOME_DEVICE = 1
VOLUME_DEVICE = 1 << 40
INODE_AGAIN_RATE = 0.6
"""How often a new file gets the number of one that was removed, if there is any."""
CONFIG = FollowConfig(
    cut_bytes_max=400, line_bytes_max=LINE_BYTES_MAX, poll_bytes_max=6_000, held_files_max=4
)


class Killed(BaseException):
    """The process ends here."""


class Status:
    """A stat result whose device, inode and times are those of the simulated world."""

    def __init__(self, real: os.stat_result, device: int, inode: int) -> None:
        self.st_dev = device
        self.st_ino = inode
        self.st_size = real.st_size
        self.st_mode = real.st_mode
        self.st_mtime_ns = real.st_mtime_ns
        self.st_ctime_ns = real.st_mtime_ns


class Entry:
    """An entry of a directory, with the inode number of the simulated world."""

    def __init__(self, real: os.DirEntry[str], inode: int) -> None:
        self.name, self.path = real.name, real.path
        self.is_symlink, self.is_dir, self.is_file = real.is_symlink, real.is_dir, real.is_file
        self._inode = inode

    def inode(self) -> int:
        return self._inode


class Inodes:
    """The inode numbers of the simulated world.

    A hard link keeps every file that ever had a number, so the real file system gives out no inode
    twice, and a file is known by its real one. A number is free again once that link is the only
    one, and nobody has the file open.
    """

    def __init__(self, chance: random.Random, kept: Path) -> None:
        self._chance = chance
        self._kept = kept
        self._numbers: dict[int, tuple[bool, int]] = {}
        """By real inode: whether it is on the volume, and its number there."""
        self._others: dict[str, int] = {}
        kept.mkdir()

    def born(self, path: Path, *, on_volume: bool, opened: set[int]) -> None:
        """A writer has made the file, or written to one that has its number already."""
        real = os.stat(path).st_ino
        if real in self._numbers:
            return
        mine = {ino: n for ino, (volume, n) in self._numbers.items() if volume == on_volume}
        taken = {n for ino, n in mine.items() if self._is_alive(ino, opened)}
        free = sorted(set(mine.values()) - taken)
        again = bool(free) and self._chance.random() < INODE_AGAIN_RATE
        number = self._chance.choice(free) if again else max(mine.values(), default=100) + 1
        self._numbers[real] = (on_volume, number)
        os.link(path, self._kept / str(real))

    def _is_alive(self, real: int, opened: set[int]) -> bool:
        return real in opened or os.stat(self._kept / str(real)).st_nlink > 1

    def number(self, path: str, real: int) -> int:
        """Directories, and what no writer of logs has made, are known by their paths."""
        if real in self._numbers:
            return self._numbers[real][1]
        return self._others.setdefault(path, 1_000_000 + len(self._others))


class ScheduleDisk(Disk):
    """Fails and kills as it is told, and shows a volume under a device number of its own."""

    def __init__(self, chance: random.Random, top: Path) -> None:
        self.fault_rate = 0.0
        self.calls_left: int | None = None
        """So many more calls, then the process is killed."""
        self.faults = 0
        self.blind = 0
        """Of the faults, those by which a directory or a file could not be seen."""
        self.denied: set[int] = set()
        """Inodes of files that may not be opened."""
        self.broken: set[str] = set()
        """Directories that can't be listed."""
        self.mount_point = str(top / "logs" / "disk")
        self.parked = str(top / "parked" / "volume")
        self.device = VOLUME_DEVICE
        self.is_mounted = False
        self.handles: set[int] = set()
        self._chance = chance
        self._inodes = Inodes(chance, top / "kept")

    def step(self, path: object = "") -> None:
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                raise Killed
        if self.fault_rate and self._chance.random() < self.fault_rate:
            self.faults += 1
            code = self._chance.choice(CODES)
            raise OSError(code, os.strerror(code), str(path))

    def see(self, path: object) -> None:
        before = self.faults
        try:
            self.step(path)
        finally:
            self.blind += self.faults - before

    def born(self, path: Path) -> None:
        """Called by writers for what they have made."""
        opened = {os.fstat(handle).st_ino for handle in self.handles}
        on_volume = self._is_on_volume(os.path.realpath(path))
        self._inodes.born(path, on_volume=on_volume, opened=opened)

    def _is_on_volume(self, path: str) -> bool:
        inside = self.mount_point if self.is_mounted else self.parked
        return path == inside or path.startswith((inside + "/", self.parked + "/"))

    def _status(self, path: str, real: os.stat_result) -> Any:
        device = self.device if self._is_on_volume(path) else HOME_DEVICE
        return Status(real, device, self._inodes.number(path, real.st_ino))

    def stat(self, path: Path | str) -> os.stat_result:
        self.see(path)
        return self._status(os.path.realpath(path), os.stat(path))  # type: ignore[no-any-return]

    def stat_link(self, path: Path | str) -> os.stat_result:
        self.step(path)
        return self._status(str(path), os.lstat(path))  # type: ignore[no-any-return]

    def stat_open(self, handle: int) -> os.stat_result:
        self.step(handle)
        path = os.readlink(f"/proc/self/fd/{handle}")
        return self._status(path, os.fstat(handle))  # type: ignore[no-any-return]

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        self.see(directory)
        if str(directory) in self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(directory))
        entries = sorted(super().scan(directory), key=lambda entry: entry.name)
        return [
            Entry(entry, self._inodes.number(entry.path, entry.inode()))  # type: ignore[misc]
            for entry in entries
        ]

    def open(self, path: Path | str) -> int:
        self.step(path)
        handle = super().open(path)
        if os.fstat(handle).st_ino in self.denied:
            os.close(handle)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        self.handles.add(handle)
        return handle

    def close(self, handle: int) -> None:
        self.handles.discard(handle)
        super().close(handle)

    def read_at(self, handle: int, count: int, offset: int) -> bytes:
        self.step(handle)
        return super().read_at(handle, count, offset)

    def link(self, old: Path | str, new: Path) -> None:
        self.step(old)
        if self._status(os.path.realpath(old), os.stat(old)).st_dev >= VOLUME_DEVICE:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(old))
        super().link(old, new)

    def remove(self, path: Path) -> None:
        self.step(path)
        super().remove(path)

    def write_new(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        self.step(path)
        super().write_new(path, pieces)
        if self.calls_left == 0:
            raise Killed

    def sync_files(self, paths: list[Path]) -> None:
        self.step(paths)

    def sync_directory(self, path: Path) -> None:
        self.step(path)


class Schedule:
    """One world and one follower."""

    def __init__(self, seed: int, *, has_archives: bool = False) -> None:
        """``has_archives``: what is in compressed files is checked, too; others' seeds stay what
        they were."""
        self.seed = seed
        self.has_archives = has_archives
        self.chance = random.Random(seed)
        self.top = Path(os.path.realpath(tempfile.mkdtemp(prefix="schedule")))
        self.logs = self.top / "logs"
        for name in ("logs/web", "logs/disk", "parked", "elsewhere", "archive"):
            (self.top / name).mkdir(parents=True)
        self.disk = ScheduleDisk(self.chance, self.top)
        self.start = self.chance.choice(list(Start))
        self.pattern = self.chance.choice(("*.log*", "web/*.log*", "*/*.log*", "**/*.log*"))
        self.is_quiet = self.chance.random() < 0.7
        self.has_edits = self.chance.random() < 0.5
        self.now_s = 1_000.0
        self.tick = 0
        self.number = 0
        self.steps: list[str] = []
        self.got: Counter[bytes] = Counter()
        self.excused: set[bytes] = set()
        self.excused_beginnings: tuple[bytes, ...] = ()
        """Of lines that were half written when the source began."""
        self.old_files: set[int] | None = None
        """Real inodes of what was there when the source began; None: not all was in sight then, so
        that more may be old."""
        self.twice_bytes = 0
        self.unmarked_bytes = 0
        """That may be registered twice in cuts that are not marked."""
        self.doubted: set[bytes] = set()
        """Lines in cuts that are marked as doubtful."""
        self.last_cut = 0
        self.volume_had_files = False
        self.volume_away_s: float | None = None
        self.clean_polls = 0
        self.kills = 0
        self.open()

    # The process

    def open(self) -> None:
        self.manifest = Manifest.open(self.top / "manifest.sqlite", CUBE_SCHEMA)
        self.manifest.run("PRAGMA synchronous = OFF")
        rate, self.disk.fault_rate = self.disk.fault_rate, 0.0
        spool = Spool(self.top / "spool", disk=self.disk)
        self.cuts = CutLog(self.manifest, spool, disk=self.disk)
        self.follower = LogFollower(
            self.cuts,
            Glob(self.logs, self.pattern, disk=self.disk),
            source=SOURCE,
            start=self.start,
            config=CONFIG,
        )
        self.disk.fault_rate = rate
        run, run_many = self.manifest.run, self.manifest.run_many

        def run_step(*arguments: Any) -> Any:
            self.statement()
            return run(*arguments)

        def run_many_step(*arguments: Any) -> Any:
            self.statement()
            return run_many(*arguments)

        self.manifest.run = run_step  # type: ignore[method-assign]
        self.manifest.run_many = run_many_step  # type: ignore[method-assign]

    def statement(self) -> None:
        if self.disk.calls_left is not None:
            self.disk.calls_left -= 1
            if self.disk.calls_left < 0:
                raise Killed

    def shut(self) -> None:
        """As the kernel does it: handles are closed, nothing else happens."""
        self.disk.calls_left = None
        for handle in list(self.disk.handles):
            os.close(handle)
        self.disk.handles.clear()
        self.manifest.close()

    def restart(self) -> None:
        self.shut()
        self.open()

    def commit(self) -> None:
        """All that is registered is committed, and what Spark will not ask for again is freed."""
        state = self.cuts.state(SOURCE)
        with self.manifest.transaction():
            self.cuts.commit_cut(state, state.last_cut)

    # Polls, and what is checked

    def poll(self, *, after_s: float = 1.0) -> Poll | None:
        self.now_s += after_s
        present = self.present()
        was_begun = self.cuts.state(SOURCE).is_begun
        poll: Poll | None = None
        try:
            poll = self.follower.poll(now_s=self.now_s)
        except Killed:
            self.kills += 1
            self.steps.append("killed")
            self.restart()
        except StoreError as error:
            self.steps.append(f"poll failed: {error}")
        before = sum(self.got.values())
        self.collect()
        if not was_begun and self.cuts.state(SOURCE).is_begun:
            self.begun(present)
        if poll is None:
            # What a killed poll had to say nobody heard.
            self.twice_bytes += 1 << 40 if sum(self.got.values()) > before else 0
        else:
            self.heard(poll)
        self.check_twice()
        if poll is not None and poll.is_clean:
            self.check_clean(present)
        self.note_volume(poll)
        return poll

    def begun(self, present: dict[str, set[bytes]]) -> None:
        """What is there is left out, or else read however alike."""
        if self.start is Start.END:
            if not self.disk.blind and not self.hidden():
                self.old_files = {os.stat(path).st_ino for path in present}
            for path in present:
                self.excuse(Path(path))
        else:
            copies = Counter(line for lines in present.values() for line in lines)
            copied_bytes = sum(len(line) * (n - 1) for line, n in copies.items())
            self.twice_bytes += copied_bytes
            self.unmarked_bytes += copied_bytes

    def may_be_old(self, path: Path) -> bool:
        """Whether it can have been there before: its lines may be left out if that is said."""
        is_late = str(path).startswith(self.disk.mount_point)
        if self.old_files is None or is_late or not path.exists():
            return True
        return os.stat(path).st_ino in self.old_files

    def excuse(self, path: Path) -> None:
        data = content_of(path)
        self.excused |= set(whole_lines(data))
        rest = data[data.rfind(b"\n") + 1 :]
        if rest:
            self.excused_beginnings += (rest,)

    def heard(self, poll: Poll) -> None:
        told = getattr(poll, "told", ())
        self.twice_bytes += getattr(poll, "twice_bytes", 0)
        for path, what in told:
            if "begun after" in what and self.may_be_old(Path(path)):
                self.excuse(Path(path))
        shown = "clean" if poll.is_clean else "not clean"
        self.steps.append(f"polled: {shown}, {poll.cuts} cuts {dict(told)} {dict(poll.refused)}")

    def collect(self) -> None:
        """Count what has been registered since the last time."""
        state = self.cuts.state(SOURCE)
        rows = self.manifest.all(
            "SELECT chunk, origin, first_byte, end_byte, is_doubtful FROM cuts "
            "WHERE source = ? AND cut > ? AND chunk IS NOT NULL",
            (state.id, self.last_cut),
        )
        for chunk, origin, first, end, is_doubtful in rows:
            self.steps.append(f"  registered {origin} {first} to {end}")
            data = (self.cuts.spool.directory / chunk).read_bytes()
            is_whole = data.endswith(b"\n") or ".gz" in origin  # its last line needs no end
            assert is_whole, f"half a line in {chunk}"
            self.got.update(data.splitlines(keepends=True))
            self.doubted |= set(data.splitlines(keepends=True)) if is_doubtful else set()
        self.last_cut = state.last_cut

    def check_twice(self) -> None:
        twice = {line: count for line, count in self.got.items() if count > 1}
        extra = sum(len(line) * (count - 1) for line, count in twice.items())
        assert extra <= self.twice_bytes, f"read twice, and not said: {sorted(twice)[:5]}"
        unmarked = {line: n for line, n in twice.items() if line not in self.doubted}
        extra = sum(len(line) * (count - 1) for line, count in unmarked.items())
        assert extra <= self.unmarked_bytes, f"read twice, and not marked: {sorted(unmarked)[:5]}"

    def check_clean(self, present: dict[str, set[bytes]]) -> None:
        self.clean_polls += 1
        assert not self.hidden(), f"clean, though {self.hidden()} can't be listed"
        away = self.volume_away_s
        if away is not None and self.volume_had_files:
            assert self.now_s - away >= 86_400, "clean, though a file system is away"
        wanted = set().union(*present.values()) if present else set()
        missing = {
            line
            for line in wanted - set(self.got) - self.excused
            if not line.startswith(self.excused_beginnings)
        }
        assert not missing, f"clean, and not read: {sorted(missing)[:5]}"

    def hidden(self) -> list[str]:
        """Directories of the pattern that can't be listed now."""
        wanted = [str(path) for path in self.directories()]
        if not self.logs.exists() or (self.pattern.startswith("web/") and not wanted):
            return [str(self.logs)]
        if "*" in os.path.dirname(self.pattern):
            wanted.append(str(self.logs))
        return [path for path in wanted if path in self.disk.broken]

    def note_volume(self, poll: Poll | None) -> None:
        if self.disk.is_mounted:
            self.volume_away_s = None
            present = self.present()
            # Of archives that were there before nothing is missed.
            has_files = any(
                lines - self.excused if path.endswith(".gz") else lines
                for path, lines in present.items()
                if path.startswith(self.disk.mount_point)
            )
            # Files that a poll surely saw must be missed; those that are gone while the volume is
            # there need not be: also a poll that was not clean may have seen that.
            is_seen = poll is not None and poll.is_clean
            self.volume_had_files = has_files and (is_seen or self.volume_had_files)
        elif self.volume_away_s is None:
            self.volume_away_s = self.now_s

    # What is there

    def directories(self) -> list[Path]:
        if not self.logs.exists():
            return []
        parts = os.path.dirname(self.pattern)
        found = [self.logs] if parts in ("", "**") else []
        if parts in ("*", "**", "web"):
            found += sorted(path for path in self.logs.iterdir() if path.is_dir())
        return [p for p in found if parts != "web" or p.name == "web"]

    def files(self) -> list[Path]:
        """All that match, compressed ones left out."""
        return [
            path
            for directory in self.directories()
            for path in sorted(directory.iterdir())
            if ".log" in path.name and path.is_file() and not path.name.endswith(".gz")
        ]

    def present(self) -> dict[str, set[bytes]]:
        files = [*self.files(), *(self.archives() if self.has_archives else ())]
        return {str(path): set(whole_lines(content_of(path))) for path in files}

    def archives(self) -> list[Path]:
        return [
            path
            for directory in self.directories()
            for path in sorted(directory.iterdir())
            if ".log" in path.name and path.is_file() and path.name.endswith(".gz")
        ]

    # The writers

    def line(self) -> bytes:
        self.number += 1
        pad = b"x" * self.chance.choice((0, 3, 20, 100))
        return b"%06d %s\n" % (self.number, pad)

    def lines(self, most: int = 8) -> bytes:
        return b"".join(self.line() for _ in range(self.chance.randint(1, most)))

    def write(self, path: Path, data: bytes, mode: str = "ab") -> None:
        with path.open(mode) as file:
            file.write(data)
        self.stamp(path)

    def stamp(self, path: Path) -> None:
        """The time of a change, in the past where files are to be taken for settled."""
        self.tick += 1
        at_ns = LONG_AGO_NS + self.tick * TICK_NS
        if not self.is_quiet:
            at_ns = FAR_AHEAD_NS + self.tick // COARSE_GRAIN_TICKS * TICK_NS
        os.utime(path, ns=(at_ns, at_ns))
        self.disk.born(path)

    def some_file(self) -> Path | None:
        files = self.files()
        path = self.chance.choice(files) if files else None
        self.steps.append(f"  {path}")
        return path

    def new_path(self, directory: Path | None = None) -> Path | None:
        directories = self.directories()
        if not directories:
            return None
        self.number += 1
        return (directory or self.chance.choice(directories)) / f"n{self.number}.log"

    def do_append(self) -> None:
        path = self.some_file()
        if path is not None:
            self.write(path, self.lines())

    def do_make(self) -> None:
        path = self.new_path()
        if path is not None:
            self.write(path, self.lines(30))

    def do_half_a_line(self) -> None:
        path = self.some_file()
        if path is not None:
            self.number += 1
            self.write(path, b"%06d half " % self.number)

    def do_rotate(self) -> None:
        path = self.some_file()
        if path is not None:
            self.number += 1
            inside = self.chance.random() < 0.5
            name = f"{path.name}.{self.number}" if inside else f"old-{self.number}"
            path.rename(path.with_name(name))
            if self.chance.random() < 0.7:
                self.write(path, self.lines())

    def do_copytruncate(self) -> None:
        path = self.some_file()
        if path is not None:
            self.copy(path)
            if self.chance.random() < 0.4:
                self.poll()
            if path.exists():
                self.write(path, b"", "r+b")
                os.truncate(path, 0)
                self.stamp(path)
                if self.chance.random() < 0.5:
                    self.write(path, self.lines())

    def copy(self, path: Path) -> Path:
        self.number += 1
        target = path.with_name(f"{path.name}.{self.number}")
        shutil.copyfile(path, target)
        self.stamp(target)
        return target

    def do_copy(self) -> None:
        path = self.some_file()
        if path is not None:
            target = self.copy(path)
            if self.chance.random() < 0.5:
                self.write(target, self.lines())

    def do_replace(self) -> None:
        """As rsync does: the same and more, in a new inode under the same name."""
        path = self.some_file()
        if path is not None:
            self.replace(path, path.read_bytes() + self.lines())

    def do_edit(self) -> None:
        """As ``sed -i`` does: a line in the middle is another one now."""
        path = self.some_file()
        if path is not None and self.has_edits:
            lines = path.read_bytes().splitlines(keepends=True)
            if lines:
                # Of another length: prints can't tell what is between their stretches.
                lines[self.chance.randrange(len(lines))] = self.line()[:-1] + b" edited\n"
                edited = b"".join(lines) + self.lines(2)
                self.replace(path, edited)
                # Renamed or copied before the next poll, it is not known for what it is.
                self.twice_bytes += len(edited)
                self.unmarked_bytes += len(edited)

    def replace(self, path: Path, data: bytes) -> None:
        target = path.with_name(f".{path.name}.new")
        self.write(target, data, "wb")
        target.rename(path)

    def do_truncate(self) -> None:
        path = self.some_file()
        if path is not None:
            os.truncate(path, int(path.stat().st_size * self.chance.random()))
            self.stamp(path)

    def do_remove(self) -> None:
        path = self.some_file()
        if path is not None:
            path.unlink()

    def do_compress(self) -> None:
        path = self.some_file()
        if path is not None and not path.is_symlink():
            target = path.with_name(f"{path.name}.gz")
            data = gzip.compress(path.read_bytes(), mtime=0)
            if self.has_archives:
                self.compress(path, target, data)
            else:
                target.write_bytes(data)
            path.unlink()

    def compress(self, path: Path, target: Path, data: bytes) -> None:
        """With the time of what was compressed, as a rule; and seen when half is written, at
        times."""
        target.unlink(missing_ok=True)
        if self.chance.random() < 0.3:
            self.write(target, data[: self.chance.randrange(len(data))], "wb")
            self.poll()
        self.write(target, data, "wb")
        if self.chance.random() < 0.7 and path.exists():
            status = path.stat()
            os.utime(target, ns=(status.st_mtime_ns, status.st_mtime_ns))
        if self.chance.random() < 0.3:
            self.poll()

    def some_archive(self) -> Path | None:
        files = self.archives()
        path = self.chance.choice(files) if files else None
        self.steps.append(f"  {path}")
        return path

    def also_rename_archive(self) -> None:
        path = self.some_archive()
        if path is not None:
            self.number += 1
            inside = self.chance.random() < 0.7
            name = f"n.log.{self.number}.gz" if inside else f"old-{self.number}.gz"
            path.rename(path.with_name(name))

    def also_remove_archive(self) -> None:
        path = self.some_archive()
        if path is not None:
            path.unlink()

    def also_append_member(self) -> None:
        path = self.some_archive()
        if path is not None and content_of(path)[-1:] in (b"", b"\n"):
            self.write(path, gzip.compress(self.lines(), mtime=0))

    def also_make_archive(self) -> None:
        path = self.new_path()
        if path is not None:
            data = gzip.compress(self.lines(30), mtime=0)
            self.compress(path, path.with_name(f"{path.name}.gz"), data)

    def also_keep_both(self) -> None:
        path = self.some_file()
        if path is not None and not path.is_symlink():
            data = gzip.compress(path.read_bytes(), mtime=0)
            self.compress(path, path.with_name(f"{path.name}.gz"), data)

    def do_symlink(self) -> None:
        path = self.new_path()
        if path is not None:
            target = self.top / "elsewhere" / path.name
            self.write(target, self.lines())
            path.symlink_to(target)

    def do_new_folder(self) -> None:
        if self.logs.exists():
            self.number += 1
            folder = self.logs / f"day{self.number}"
            folder.mkdir()
            self.write(folder / f"n{self.number}.log", self.lines(30))

    def do_remove_folder(self) -> None:
        folders = [path for path in self.folders() if path.name.startswith("day")]
        if folders:
            shutil.rmtree(self.chance.choice(folders))

    def folders(self) -> list[Path]:
        if not self.logs.exists():
            return []
        return sorted(path for path in self.logs.iterdir() if path.is_dir())

    def do_move_folder(self) -> None:
        """Away, or back."""
        folders = [path for path in self.folders() if path.name != "disk"]
        away = sorted((self.top / "archive").iterdir())
        if away and self.chance.random() < 0.6 and self.logs.exists():
            path = self.chance.choice(away)
            if not (self.logs / path.name).exists():
                path.rename(self.logs / path.name)
        elif folders:
            path = self.chance.choice(folders)
            if not (self.top / "archive" / path.name).exists():
                path.rename(self.top / "archive" / path.name)

    def do_mount(self) -> None:
        """Mount the volume, or unmount it; its device number may be another the next time."""
        if not self.logs.exists():
            return
        point, parked = Path(self.disk.mount_point), Path(self.disk.parked)
        if self.disk.is_mounted:
            point.rename(parked)
            point.mkdir()
        elif not any(point.iterdir()):
            point.rmdir()
            if not parked.exists():
                parked.mkdir()
                self.write(parked / "v.log", self.lines(30))
            parked.rename(point)
            self.disk.device += self.chance.random() < 0.3
        else:
            return
        self.disk.is_mounted = not self.disk.is_mounted
        self.volume_away_s = None
        if not self.disk.is_mounted and self.volume_away_s is None:
            self.volume_away_s = self.now_s

    def do_hide_all(self) -> None:
        """The source's directory vanishes, or is there again."""
        aside = self.top / "aside"
        if aside.exists():
            aside.rename(self.logs)
        elif not self.disk.is_mounted:
            self.logs.rename(aside)

    def do_break_directory(self) -> None:
        if self.disk.broken:
            self.disk.broken.clear()
        elif self.directories():
            self.disk.broken.add(str(self.chance.choice([self.logs, *self.directories()])))

    def do_deny(self) -> None:
        path = self.some_file()
        if self.disk.denied:
            self.disk.denied.clear()
        elif path is not None:
            self.disk.denied.add(path.stat().st_ino)

    def do_poll(self) -> None:
        self.poll()

    def do_poll_with_faults(self) -> None:
        self.disk.fault_rate = self.chance.choice((0.02, 0.1, 0.4))
        self.poll()
        self.disk.fault_rate = 0.0

    def do_poll_and_kill(self) -> None:
        self.disk.calls_left = self.chance.randint(0, 120)
        self.poll()
        self.disk.calls_left = None

    def do_restart(self) -> None:
        self.restart()

    def do_commit(self) -> None:
        self.commit()

    def do_wait(self) -> None:
        self.poll(after_s=61.0)

    # The run

    def run(self) -> None:
        self.do_make()
        if self.chance.random() < 0.3:
            self.do_mount()
        actions = self.actions()
        names = list(actions)
        weights = [WEIGHTS.get(name, 2) for name in names]
        for _ in range(STEPS):
            name = self.chance.choices(names, weights)[0]
            self.steps.append(name)
            actions[name]()
        self.settle()

    def actions(self) -> dict[str, Callable[[], None]]:
        found = {name[3:]: getattr(self, name) for name in sorted(dir(self)) if name[:3] == "do_"}
        if self.has_archives:
            names = [name for name in sorted(dir(self)) if name.startswith("also_")]
            found |= {name.removeprefix("also_"): getattr(self, name) for name in names}
        return found

    def settle(self) -> None:
        """The trouble is over: everything is there, and polls become clean."""
        self.steps.append("settle")
        self.disk.denied.clear()
        self.disk.broken.clear()
        if (self.top / "aside").exists():
            self.do_hide_all()
        for path in sorted((self.top / "archive").iterdir()):
            if path.name == "web" and not (self.logs / "web").exists():
                path.rename(self.logs / "web")
        if Path(self.disk.parked).exists() and not any(Path(self.disk.mount_point).iterdir()):
            self.do_mount()
        for count in range(SETTLING_POLLS_MAX):
            # What can't come back is given up in the end.
            poll = self.poll(after_s=90_000.0 if count == SETTLING_POLLS_MAX // 2 else 20.0)
            self.commit()
            if poll is not None and poll.is_clean:
                break
        else:
            raise AssertionError(f"polls do not become clean: {poll}")
        self.restart()
        held = [p.name for p in (self.top / "spool").iterdir() if p.name.startswith("held")]
        assert not held, f"links that nobody needs: {held}"

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.shut()
        shutil.rmtree(self.top, ignore_errors=True)

    def __str__(self) -> str:
        options = (self.pattern, str(self.start), self.is_quiet, self.has_edits)
        shown = "\n  ".join(self.steps).replace(f"{self.top}/", "")
        return f"seed {self.seed} {options}\n  {shown}"


WEIGHTS = {
    "append": 10,
    "make": 4,
    "poll": 12,
    "poll_with_faults": 4,
    "poll_and_kill": 4,
    "commit": 1,
    "hide_all": 1,
    "wait": 1,
    "replace": 3,
}


def content_of(path: Path) -> bytes:
    """Nothing of one that is gone, or only half written."""
    data = path.read_bytes() if path.exists() else b""
    if not path.name.endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError):
        return b""


def whole_lines(data: bytes) -> Iterator[bytes]:
    whole = data[: data.rfind(b"\n") + 1]
    return (line for line in whole.splitlines(keepends=True) if len(line) <= LINE_BYTES_MAX + 1)


def run_schedule(seed: int, *, has_archives: bool = False) -> Schedule:
    """Raises ``AssertionError`` with all steps when something that must hold does not."""
    schedule = Schedule(seed, has_archives=has_archives)
    try:
        schedule.run()
    except AssertionError as error:
        raise AssertionError(f"{error}\n{schedule}") from error
    finally:
        schedule.close()
    return schedule


def main() -> None:
    """``FIRST COUNT [archives]``: run these seeds, and say which of them failed."""
    first, count = (int(word) for word in sys.argv[1:3])
    has_archives = "archives" in sys.argv[3:]
    failed = []
    clean = kills = faults = 0
    for seed in range(first, first + count):
        try:
            done = run_schedule(seed, has_archives=has_archives)
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__} {str(error).splitlines()[0][:300]}")
        else:
            clean, kills = clean + done.clean_polls, kills + done.kills
            faults += done.disk.faults
    print(f"{count} schedules, {len(failed)} failed: {failed[:50]}")
    print(f"{clean} clean polls, {faults} failed calls, {kills} kills")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
