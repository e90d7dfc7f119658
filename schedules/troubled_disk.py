"""A disk whose every call may fail, may be the last one of a life, and may be forgotten.

*Failing*: a trouble names verbs, part of a path, an error, a share of the calls and how many calls
or how long; several can be at work. *Dying*: a countdown over all calls and all statements of
SQLite; the process ends before or after the call that it runs out at. *Forgetting*: with a process
nothing is lost, but when the power goes, bytes that were not synced and entries of directories that
were not synced may be lost, too.

File times come from the virtual clock and have a grain of two seconds, as on the coarsest file
systems in use; a real file system would show when the test ran.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import sqlite3
import stat as stat_bits
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.store.disk import Disk
from schedules.story import Story
from schedules.turns import FOREVER_S, Turns

WRITING = frozenset(
    {"make_directory", "write_new", "write_all", "sync_file", "sync_directory", "rename", "link"}
)
OPENING = frozenset({"open", "scan", "read_file"})
READING = OPENING | {"stat", "stat_open", "read_at", "entry_stat"}
SQL_WRITING = frozenset({"sql_commit", "sql_change"})
SQL = SQL_WRITING | {"sql_read", "sql_begin", "sql_open"}
GRAIN_NS = 2_000_000_000
SLOW_S_MAX = 0.4


@dataclass
class Trouble:
    """Calls that fail."""

    verbs: frozenset[str]
    code: int
    place: str = ""
    """Part of the path; empty: everywhere."""
    share: float = 1.0
    calls: int = 1 << 60
    """So many failures, then it is over."""
    until_s: float = FOREVER_S
    """Of the schedule's steady clock."""

    def __str__(self) -> str:
        verbs = "/".join(sorted(self.verbs)) if len(self.verbs) < 4 else f"{len(self.verbs)} verbs"
        return f"{errno.errorcode[self.code]} for {verbs} at {self.place or 'any place'}"


class TroubledDisk(Disk):
    """One for a schedule: it outlives the lives of the agent."""

    def __init__(self, turns: Turns, chance: random.Random, story: Story, home: Path) -> None:
        self.troubles: list[Trouble] = []
        self.dies_in: int | None = None
        """Calls until the process dies; None: it does not."""
        self.slow_share = 0.0
        """How many calls take their time, in which everybody else goes on."""
        self.call_count = 0
        self.failed_s = float("-inf")
        """When a call failed last, on the steady clock."""
        self.times_ns: dict[int, int] = {}
        """By inode: when a log file was changed last."""
        self.closed_for_good: set[int] = set()
        """Inodes of log files that nobody has opened, and of which a link was refused."""
        self._opened: set[int] = set()
        self.looked_steps: dict[int, int] = {}
        """By inode: the step at which an open file was looked at last."""
        self._watched: dict[Path, Callable[[Path, int], None]] = {}
        self.unsynced = Unsynced(home, chance)
        self.connections: list[Connection] = []
        self._turns = turns
        self._chance = chance
        self._story = story

    def watch(self, directory: Path, looked_at: Callable[[Path, int], None]) -> None:
        """To be told of every file in it whose length is asked for."""
        self._watched[directory] = looked_at

    # What befalls a call

    def before(self, verb: str, place: object) -> None:
        if self.slow_share and self._chance.random() < self.slow_share:
            self._turns.sleep(self._chance.random() * SLOW_S_MAX)
        else:
            self._turns.pause()
        if self._story.has_calls:
            self._story.tell(f"  {verb} {place}")
        self._step_to_death(verb, place)
        trouble = self._trouble(verb, str(place))
        if trouble is not None:
            code = trouble.code
            if verb.startswith("sql"):
                raise _sql_error(code)
            raise OSError(code, os.strerror(code), str(place))

    def _step_to_death(self, verb: str, place: object) -> None:
        self.call_count += 1
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in <= 0:
                self.die(f"{verb} {place}")

    def die(self, where: str) -> None:
        self.dies_in = None
        self._story.tell(f"KILLED at {where}")
        self._turns.kill()

    def _trouble(self, verb: str, place: str) -> Trouble | None:
        now_s = self._turns.steady.now_s
        self.troubles = [one for one in self.troubles if one.calls > 0 and one.until_s > now_s]
        for one in self.troubles:
            if verb in one.verbs and one.place in place and self._chance.random() < one.share:
                one.calls -= 1
                self.failed_s = now_s
                self._story.count(f"fault: {errno.errorcode[one.code]}")
                self._story.tell(f"{verb} {place} fails: {errno.errorcode[one.code]}")
                return one
        return None

    # The verbs

    def make_directory(self, path: Path) -> None:
        if not path.is_dir():
            self.before("make_directory", path)
        super().make_directory(path)

    def write_new(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        self.before("write_new", path)
        self.unsynced.written(path)
        super().write_new(path, pieces)

    def write_all(self, handle: int, data: bytes | memoryview) -> None:
        """Half of it may be on the disk when it fails, or when the process dies."""
        half = len(data) // 2
        if half and self._chance.random() < 0.1:
            os.write(handle, memoryview(data)[:half])
            data = memoryview(data)[half:]
        self.before("write_all", handle)
        super().write_all(handle, data)

    def sync_file(self, path: Path) -> None:
        self.before("sync_file", path)
        self.unsynced.file_synced(path)

    def sync_directory(self, path: Path) -> None:
        self.before("sync_directory", path)
        self.unsynced.directory_synced(path)

    def sync_files(self, paths: list[Path]) -> None:
        for path in paths:
            self.sync_file(path)

    def rename(self, old: Path, new: Path) -> None:
        self.before("rename", old)
        super().rename(old, new)
        self.unsynced.renamed(old, new)

    def link(self, old: Path | str, new: Path) -> None:
        try:
            self.before("link", new)
        except OSError:
            with contextlib.suppress(OSError):
                self.closed_for_good |= {os.stat(old).st_ino} - self._opened
            raise
        super().link(old, new)
        self.closed_for_good.discard(os.stat(new).st_ino)
        self.unsynced.linked(new)

    def remove(self, path: Path) -> None:
        self.before("remove", path)
        super().remove(path)
        self.unsynced.removed(path)

    def read_file(self, path: Path) -> bytes:
        self.before("read_file", path)
        return super().read_file(path)

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        self.before("scan", directory)
        found: list[Any] = [Entry(entry, self) for entry in super().scan(directory)]
        self._chance.shuffle(found)
        return found

    def stat(self, path: Path | str) -> os.stat_result:
        self.before("stat", path)
        status = super().stat(path)
        looked_at = self._watched.get(Path(path).parent)
        if looked_at is not None:
            looked_at(Path(path), status.st_size)
        return self.dated(status)

    def stat_link(self, path: Path | str) -> os.stat_result:
        self.before("stat", path)
        return self.dated(os.lstat(path))

    def open(self, path: Path | str) -> int:
        self.before("open", path)
        handle = super().open(path)
        self._opened.add(os.fstat(handle).st_ino)
        self.closed_for_good.discard(os.fstat(handle).st_ino)
        return handle

    def was_opened(self, inode: int) -> bool:
        return inode in self._opened

    def is_new(self, inode: int) -> None:
        """It is that of a file that has been made now; it may have been another's."""
        self.closed_for_good.discard(inode)
        self._opened.discard(inode)

    def stat_open(self, handle: int) -> os.stat_result:
        self.before("stat_open", handle)
        status = super().stat_open(handle)
        self.looked_steps[status.st_ino] = self._turns.step
        return self.dated(status)

    def read_at(self, handle: int, count: int, offset: int) -> bytes:
        self.before("read_at", handle)
        return super().read_at(handle, count, offset)

    def dated(self, status: os.stat_result) -> Any:
        """The same with times of the virtual clock."""
        return Status(status, self.times_ns.get(status.st_ino, 0))

    # SQLite

    def connect(self, path: Path | str, **options: Any) -> Connection:
        self.before("sql_open", path)
        connection = Connection(sqlite3.connect(path, **options), self, str(path))
        self.connections.append(connection)
        return connection

    def abandon(self, *, loses_power: bool) -> None:
        """The process is dead: what it held is let go, what was not synced may be lost."""
        for connection in self.connections:
            with contextlib.suppress(sqlite3.Error):
                connection.real.close()
        self.connections.clear()
        if loses_power:
            self.unsynced.lose(self._story)
        else:
            self.unsynced.forget()


class Status:
    """As much of ``os.stat_result`` as is used."""

    def __init__(self, real: os.stat_result, time_ns: int) -> None:
        self.st_mode, self.st_dev, self.st_ino = real.st_mode, real.st_dev, real.st_ino
        self.st_size, self.st_nlink = real.st_size, real.st_nlink
        self.st_mtime_ns = self.st_ctime_ns = time_ns // GRAIN_NS * GRAIN_NS
        self.st_mtime = self.st_ctime = self.st_mtime_ns / 1e9

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Status) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Entry:
    """As much of ``os.DirEntry`` as is used; a look at it can fail like every other call."""

    def __init__(self, real: os.DirEntry[str], disk: TroubledDisk) -> None:
        self.name, self.path = real.name, real.path
        self._real = real
        self._disk = disk

    def inode(self) -> int:
        return self._real.inode()

    def is_symlink(self) -> bool:
        return self._real.is_symlink()

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._real.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._real.is_file(follow_symlinks=follow_symlinks)

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        self._disk.before("entry_stat", self.path)
        call = os.stat if follow_symlinks else os.lstat
        return self._disk.dated(call(self.path))


class Connection:
    """A connection of SQLite whose statements can fail; what is not named is the real one's."""

    def __init__(self, real: sqlite3.Connection, disk: TroubledDisk, path: str) -> None:
        self.real = real
        self._disk = disk
        self._path = path

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        verb = _sql_verb(sql)
        if verb == "sql_commit":
            return self._commit()
        self._disk.before(verb, f"{self._path} {sql[:40]}")
        return self.real.execute(sql, values)

    def _commit(self) -> sqlite3.Cursor:
        """An error of the disk may come before the commit or, worse, after it."""
        try:
            self._disk.before("sql_commit", self._path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL and self._disk._chance.random() < 0.5:
                self.real.execute("COMMIT")
            raise
        done = self.real.execute("COMMIT")
        self._disk._turns.pause()
        self._disk._step_to_death("after sql_commit", self._path)
        return done

    def executemany(self, sql: str, values: Iterable[Any]) -> sqlite3.Cursor:
        self._disk.before("sql_change", f"{self._path} {sql[:40]}")
        return self.real.executemany(sql, values)

    @property
    def in_transaction(self) -> bool:
        return self.real.in_transaction

    def close(self) -> None:
        self.real.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def _sql_verb(sql: str) -> str:
    word = sql.split(None, 1)[0].upper()
    if word == "COMMIT":
        return "sql_commit"
    if word in ("BEGIN", "ROLLBACK"):  # SQLite rolls back by itself when it can't write
        return f"sql_{word.lower()}"
    return "sql_read" if word in ("SELECT", "PRAGMA") else "sql_change"


def _sql_error(code: int) -> sqlite3.OperationalError:
    if code in (errno.ENOSPC, errno.EDQUOT):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
    elif code in (errno.EMFILE, errno.EACCES):
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    else:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


class Unsynced:
    """What a power cut may take back: changes of directories since their last sync, in order, and
    the bytes of files that were not synced."""

    def __init__(self, home: Path, chance: random.Random) -> None:
        self._home = str(home)
        self._chance = chance
        self._entries: dict[Path, list[tuple[str, Callable[[], None]]]] = {}
        """By directory: how each change is undone."""
        self._bytes: set[Path] = set()

    def written(self, path: Path) -> None:
        self._bytes.add(path)
        self._note(path.parent, f"{path.name} was made", lambda: path.unlink(missing_ok=True))

    def file_synced(self, path: Path) -> None:
        self._bytes.discard(path)

    def directory_synced(self, directory: Path) -> None:
        self._entries.pop(directory, None)

    def renamed(self, old: Path, new: Path) -> None:
        if old in self._bytes:
            self._bytes.discard(old)
            self._bytes.add(new)

        def undo() -> None:
            with contextlib.suppress(FileNotFoundError):
                os.rename(new, old)

        self._note(new.parent, f"{old.name} became {new.name}", undo)

    def linked(self, new: Path) -> None:
        self._note(new.parent, f"{new.name} was linked", lambda: new.unlink(missing_ok=True))

    def removed(self, path: Path) -> None:
        self._bytes.discard(path)

    def _note(self, directory: Path, what: str, undo: Callable[[], None]) -> None:
        if str(directory).startswith(self._home):
            self._entries.setdefault(directory, []).append((what, undo))

    def lose(self, story: Story) -> None:
        """A file system keeps the order of changes: the last ones go."""
        for path in sorted(self._bytes):
            if path.exists() and stat_bits.S_ISREG(path.stat().st_mode):
                kept = self._chance.randrange(path.stat().st_size + 1)
                os.truncate(path, kept)
                story.tell(f"the power cut leaves {kept} bytes of {path.name}")
        for directory in sorted(self._entries):
            changes = self._entries[directory]
            for what, undo in reversed(changes[self._chance.randrange(len(changes) + 1) :]):
                story.tell(f"the power cut takes back that {what}")
                undo()
        self.forget()

    def forget(self) -> None:
        self._entries.clear()
        self._bytes.clear()
