"""Looking at processes: who is whose child, and who is still there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

JAVA = "java"
STATE, PARENT, SESSION = 0, 1, 3
"""Fields of ``/proc/PID/stat``, counted after the name."""


def java_children(parent: int) -> list[int]:
    """The JVMs that a process started and that have not ended."""
    return [
        pid for pid, name, fields in _living() if int(fields[PARENT]) == parent and name == JAVA
    ]


def session_members(sessions: set[int]) -> dict[int, str]:
    """Processes of these sessions: agents and JVMs lead one each, and their children stay in it."""
    found = {}
    for pid, _, fields in _living():
        if int(fields[SESSION]) in sessions:
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                found[pid] = command.decode(errors="replace")
    return found


def _living() -> Iterator[tuple[int, str, list[str]]]:
    """(process id, name, the fields after it) of all but the dead."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            head, _, rest = (path / "stat").read_text(errors="replace").rpartition(")")
            fields = rest.split()
            if fields[STATE] not in "ZX":
                yield int(path.name), head.partition("(")[2], fields
