"""A disk that fails under a running agent: strace makes some of its system calls return errors.

Nothing of the agent is changed, and what SQLite and Arrow call in C fails like what Python calls.
Only some calls of a kind fail, so that what was begun is also left half done; but a directory that
can't be listed stays so, for whoever looks twice would hardly meet it. ``write`` never fails: it is
the agent's log as well, and what it has to say is wanted.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from enum import Enum
from pathlib import Path

ATTACH_S_MAX = 10.0
DETACH_S_MAX = 10.0
LOOK_EVERY_S = 0.05
PROBE = """
import contextlib, os, time
while True:
    with contextlib.suppress(OSError):
        os.getcwd()
    time.sleep(0.01)
"""


class Trouble(Enum):
    """(what people call it, system calls, error, which calls fail)."""

    SYNC = ("syncs fail", "fsync,fdatasync", "EIO", "1+2")
    WRITE = ("no room for SQLite", "pwrite64", "ENOSPC", "2+3")
    READ = ("reads fail", "pread64", "EIO", "2+5")
    LIST = ("directories can't be listed", "getdents64", "EIO", "1+")
    OPEN = ("too many open files", "openat", "EMFILE", "3+7")
    RENAME = ("files can't be renamed or linked", "rename,link,linkat", "EIO", "1+2")

    def __str__(self) -> str:
        return str(self.value[0])


class FailingDisk:
    """From ``begin`` to ``end``, under one process."""

    def __init__(self, tracer: subprocess.Popen[bytes], record: Path) -> None:
        self._tracer = tracer
        self._record = record

    @classmethod
    def begin(cls, pid: int, trouble: Trouble, record: Path) -> FailingDisk | str:
        """The trouble, or why there is none."""
        _, calls, error, when = trouble.value
        return cls._trace(pid, record, calls, f"error={error}:when={when}")

    @classmethod
    def _trace(cls, pid: int, record: Path, calls: str, fault: str) -> FailingDisk | str:
        """Returns once strace holds the process."""
        strace = shutil.which("strace")
        if strace is None:
            return "the command strace is not installed"
        options = ["-e", f"trace={calls}"]
        for call in calls.split(","):
            options += ["-e", f"inject={call}:{fault}"]
        with record.with_suffix(".said").open("w+b") as said:
            tracer = subprocess.Popen(
                [strace, "-f", "-o", str(record), *options, "-p", str(pid)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            deadline_s = time.monotonic() + ATTACH_S_MAX
            while not _is_traced(pid) and tracer.poll() is None and time.monotonic() < deadline_s:
                time.sleep(LOOK_EVERY_S)
            if _is_traced(pid):
                return cls(tracer, record)
            tracer.kill()
            tracer.wait()
            said.seek(0)
            return f"strace can't attach: {said.read().decode(errors='replace').strip()[:200]}"

    def end(self) -> int:
        """Returns how many calls failed."""
        if self._tracer.poll() is None:
            self._tracer.send_signal(signal.SIGINT)
        try:
            self._tracer.wait(DETACH_S_MAX)
        except subprocess.TimeoutExpired:
            self._tracer.kill()
            self._tracer.wait()
        return self._record.read_text(errors="replace").count("(INJECTED)")


def why_not() -> str:
    """Why no disk can be made to fail here; empty where it can."""
    with tempfile.TemporaryDirectory(prefix="chaos-strace-") as scratch:
        process = subprocess.Popen([sys.executable, "-c", PROBE])
        try:
            found = FailingDisk._trace(
                process.pid, Path(scratch) / "trace", "getcwd", "error=ENOENT"
            )
            if isinstance(found, str):
                return found
            time.sleep(LOOK_EVERY_S * 4)
            return "" if found.end() else "strace attaches, but injects nothing"
        finally:
            process.kill()
            process.wait()


def _is_traced(pid: int) -> bool:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("TracerPid:"):
                return line.split()[1] != "0"
    return False
