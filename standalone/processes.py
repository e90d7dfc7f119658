"""Looking at processes: whose child is who, and what all of them have cost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

TICKS_S = os.sysconf("SC_CLK_TCK")
PARENT, SESSION, USER, SYSTEM = 1, 3, 11, 12
"""Fields of ``/proc/PID/stat``, counted after the name."""


def children_of(parent: int) -> dict[int, str]:
    """Process ids and command lines."""
    return {pid: command_of(pid) for pid, fields in _living() if int(fields[PARENT]) == parent}


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def environment_mode(pid: int) -> int:
    """Who may read the environment of a process."""
    return Path(f"/proc/{pid}/environ").stat().st_mode & 0o777


def cpu_s(sessions: set[int]) -> float:
    """CPU seconds of all living processes of these sessions."""
    ticks = sum(
        int(fields[USER]) + int(fields[SYSTEM])
        for _, fields in _living()
        if int(fields[SESSION]) in sessions
    )
    return ticks / TICKS_S


def _living() -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            fields = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                yield int(path.name), fields
