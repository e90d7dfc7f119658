"""Which agents of a local federation run, whoever started them.

Process ids are used again, so a number in a file proves nothing. An agent is known by one of two
things. The lock of its state directory, which it has open: so also one that was started by hand is
found. And, before it has taken that lock, what ``up`` wrote down of it: its process id together
with when the system says that this process began, which no other process of that number shares.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tomllib
from pathlib import Path

import msgspec

from headwater.store.lock import LOCK_NAME
from headwater.store.owner_alone import owner_alone

RUNNING_FILE = "running.json"
CONFIGURATION = "agent.toml"
STATE = "state"
"""The state directory of a configuration that names none."""


class Running(msgspec.Struct):
    """Agents by name, with their processes."""

    pids: dict[str, int]
    begun: dict[str, int] = {}
    """When each of them began, in the system's ticks since it was started."""


def running(directory: Path) -> Running:
    """The agents of this directory that run, in the order of their names."""
    written = _written(directory)
    found: dict[str, int] = {}
    for name in sorted({*written.pids, *_configured(directory)}):
        pid = holder_of(lock_of(directory, name))
        if pid is None and _is_as_written(directory, name, written):
            pid = written.pids[name]
        if pid is not None:
            found[name] = pid
    return Running(found, {name: begun_at(pid) or 0 for name, pid in found.items()})


def write_down(directory: Path, alive: Running) -> None:
    begun = {name: begun_at(pid) or 0 for name, pid in alive.pids.items()}
    with owner_alone():
        (directory / RUNNING_FILE).write_bytes(msgspec.json.encode(Running(alive.pids, begun)))


def forget(directory: Path) -> None:
    """None of them runs any more."""
    (directory / RUNNING_FILE).unlink(missing_ok=True)


def state_of(directory: Path, name: str) -> Path:
    """The state directory of an agent, as its configuration has it."""
    place = directory / name
    try:
        text = (place / CONFIGURATION).read_text(encoding="utf-8")
        named = tomllib.loads(text).get("directory", STATE)
    except (OSError, ValueError):
        return place / STATE  # the agent itself says what is wrong with its configuration
    return place / str(named)


def lock_of(directory: Path, name: str) -> Path:
    return state_of(directory, name) / "cube" / LOCK_NAME


def holder_of(lock: Path) -> int | None:
    """The process that is written in this file, if it is the one that has it open. None: nobody, or
    somebody else's process that we may not look at."""
    try:
        pid = int(lock.read_text(encoding="ascii"))
        wanted = lock.stat()
        handles = [Path(f"/proc/{pid}/fd", handle) for handle in os.listdir(f"/proc/{pid}/fd")]
    except (OSError, ValueError):
        return None
    is_open = any(_is_file(handle, wanted) for handle in handles)
    return pid if is_open and is_alive(pid) else None


def is_alive(pid: int) -> bool:
    """It is there, and no zombie."""
    fields = _stat_of(pid)
    return bool(fields) and fields[0] not in "ZX"


def begun_at(pid: int) -> int | None:
    """Ticks from the start of the system to that of the process; None: there is no such process."""
    fields = _stat_of(pid)
    return int(fields[19]) if fields else None


def send(pid: int, which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, which)


def _is_file(handle: Path, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(handle.stat(), wanted)
    except OSError:
        return False  # closed while we look


def _configured(directory: Path) -> list[str]:
    return [path.parent.name for path in directory.glob(f"*/{CONFIGURATION}")]


def _written(directory: Path) -> Running:
    try:
        return msgspec.json.decode((directory / RUNNING_FILE).read_bytes(), type=Running)
    except (OSError, msgspec.DecodeError):
        return Running({})


def _is_as_written(directory: Path, name: str, written: Running) -> bool:
    pid = written.pids.get(name)
    if pid is None or not is_alive(pid):
        return False
    if name in written.begun:
        return begun_at(pid) == written.begun[name]
    return _is_agent_of(directory / name / CONFIGURATION, pid)


def _is_agent_of(configuration: Path, pid: int) -> bool:
    """By its command line: versions before wrote down nothing else."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        where = Path(os.readlink(f"/proc/{pid}/cwd"))
        named = [where / os.fsdecode(one) for one in command if one.endswith(b"/agent.toml")]
        return any(path.resolve() == configuration.resolve() for path in named)
    except OSError:
        return False


def _stat_of(pid: int) -> list[str]:
    """What the system says of a process, from its state on; empty: there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
