"""The agents' wall clocks, which can be stepped while they run.

libfaketime stands between an agent, its JVM and the C library: it adds to the time of day what a
file says, so a step is a new file. The monotonic clock is left alone, as a step of a real clock
leaves it, and so are the times of files, which the kernel stamps: they are right, as on a server
whose clock is.

The file is looked at every other second and not at each call: libfaketime parses it without a lock,
and a JVM's threads that parse at once end their process.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

LIBRARY = "vendor/libfaketime/src/libfaketime.so.1"
"""In the package ``libfaketime`` of PyPI."""
PROBE_S, PROBE_TOLERANCE_S, PROBE_S_MAX = 3_600.0, 60.0, 30.0
SEEN_S_MAX = 2.1
"""A step is seen by a process after this time at the latest."""
PROBE = "import time; print(time.time(), time.monotonic())"


class Clocks:
    """One file for each agent. ``heard`` is told of every step, to know what it may cost."""

    def __init__(self, directory: Path, library: Path) -> None:
        self._directory = directory
        self._library = library
        self.heard: Callable[[str, float], None] = lambda name, by_s: None
        self._off: dict[str, float] = {}
        directory.mkdir(parents=True, exist_ok=True)

    @classmethod
    def find(cls, directory: Path) -> Clocks | str:
        """The clocks, or why this machine can't have them."""
        package = importlib.util.find_spec("libfaketime")
        if package is None or package.origin is None:
            return "libfaketime is not installed (pip install --requirement requirements.lock)"
        library = Path(package.origin).parent / LIBRARY
        if not library.exists():
            return f"{library}: libfaketime has no library for this system"
        trouble = probe(library)
        return trouble or cls(directory, library)

    def environment(self, name: str) -> dict[str, str]:
        """What a process needs so that its clock, and its children's, can be stepped."""
        if name not in self._off:
            self._write(name, 0.0)
        return environment(self._library, self._path(name))

    def set(self, name: str, by_s: float) -> None:
        """Let the clock be so far ahead of the true time (negative: behind), from now on."""
        if by_s != self._off.get(name, 0.0):
            self.heard(name, by_s)
            self._write(name, by_s)

    def set_right(self) -> list[str]:
        """All of them; returns whose were wrong."""
        wrong = [name for name, by_s in self._off.items() if by_s]
        for name in wrong:
            self.set(name, 0.0)
        return wrong

    def _write(self, name: str, by_s: float) -> None:
        """Whole at every moment: a file that is missing or torn means the right time."""
        self._off[name] = by_s
        hidden = self._directory / f".{name}"
        hidden.write_text(f"{by_s:+.3f}\n")
        hidden.rename(self._path(name))

    def _path(self, name: str) -> Path:
        return self._directory / name


def environment(library: Path, file: Path) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # else a JVM's timed waits return at once
        "NO_FAKE_STAT": "1",
    }


def probe(library: Path) -> str:
    """Why the library does not do what we need; empty where it does."""
    with tempfile.TemporaryDirectory(prefix="chaos-clock-") as scratch:
        file = Path(scratch) / "clock"
        file.write_text(f"{PROBE_S:+.3f}\n")
        right = _clocks_of({})
        stepped = _clocks_of(environment(library, file))
    if right is None or stepped is None:
        return "a process with libfaketime does not run here"
    wall_s, steady_s = (late - early for late, early in zip(stepped, right, strict=True))
    if abs(wall_s - PROBE_S) > PROBE_TOLERANCE_S or abs(steady_s) > PROBE_TOLERANCE_S:
        return (
            f"libfaketime: wanted the wall clock moved by {PROBE_S:.0f} s and the steady one not, "
            f"got {wall_s:.0f} s and {steady_s:.0f} s"
        )
    return ""


def _clocks_of(more: dict[str, str]) -> tuple[float, float] | None:
    """(time of day, monotonic) as a new process sees them."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=PROBE_S_MAX,
        check=False,
    )
    if done.returncode:
        return None
    wall_s, steady_s = map(float, done.stdout.split())
    return wall_s, steady_s
