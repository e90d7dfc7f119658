"""``headwater up --watch``: agents that end are started again, with a pause that grows.

An agent that ends at once would be started for ever, a Spark each time, so every end within a
minute doubles the pause before the next start, up to a minute. Who has run for longer than that is
well, and begins anew with the shortest. ``Keeper`` decides, and knows neither clock nor process.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec

from headwater.local.held_file import end_holder, held
from headwater.local.local_processes import running, write_down
from headwater.local.up import start_agent

PAUSE_S_MIN = 1.0
PAUSE_S_MAX = 60.0
WELL_AFTER_S = 60.0
LOOK_EVERY_S = 0.5
WATCHER_FILE = "watcher.lock"


class Ended(msgspec.Struct, frozen=True):
    """It is not there any more, and is started again after a pause."""

    name: str
    pause_s: float


class Begin(msgspec.Struct, frozen=True):
    """It is to be started now."""

    name: str


class _Kept:
    def __init__(self) -> None:
        self.ends_in_a_row = 0
        self.begun_s: float | None = None
        """When it was first seen; None: it is down."""
        self.due_s: float | None = None
        """When it is started again; None: it is up."""


class Keeper:
    """Tells of each agent when it ended and when to start it again. Driven by ``look``."""

    def __init__(self, names: Collection[str]) -> None:
        self._kept = {name: _Kept() for name in names}

    def look(self, alive: Collection[str], *, now_s: float) -> Iterator[Ended | Begin]:
        """``alive`` are those that run now."""
        for name, kept in self._kept.items():
            if name in alive:
                self._see(kept, now_s)
            elif kept.due_s is None:
                pause_s = min(PAUSE_S_MIN * 2.0**kept.ends_in_a_row, PAUSE_S_MAX)
                kept.ends_in_a_row += 1
                kept.begun_s, kept.due_s = None, now_s + pause_s
                yield Ended(name, pause_s)
            elif now_s >= kept.due_s:
                kept.due_s = None
                kept.begun_s = now_s
                yield Begin(name)

    @staticmethod
    def _see(kept: _Kept, now_s: float) -> None:
        kept.due_s = None  # somebody else may have started it
        if kept.begun_s is None:
            kept.begun_s = now_s
        if now_s - kept.begun_s >= WELL_AFTER_S:
            kept.ends_in_a_row = 0


def keep(directory: Path, *, say: Callable[[str], None]) -> None:
    """Watch the agents that run now, until somebody interrupts; they go on without us."""
    with held(directory / WATCHER_FILE, doing="watches its agents"):
        pids = dict(running(directory).pids)
        keeper = Keeper(pids)
        try:
            say(f"watching {len(pids)} agents; Ctrl-C ends watching, and they go on")
            while True:
                _look_after(directory, keeper, pids, say)
                time.sleep(LOOK_EVERY_S)
        except KeyboardInterrupt:
            say(_farewell(directory))
        except SystemExit:
            say(_farewell(directory))
            raise


def _farewell(directory: Path) -> str:
    """Whether agents go on."""
    count = len(running(directory).pids)
    if not count:
        return f"no longer watching; no agent runs; start them with: headwater up {directory}"
    agents = "1 agent goes on" if count == 1 else f"{count} agents go on"
    return f"no longer watching; {agents}; stop with: headwater down {directory}"


def _look_after(
    directory: Path, keeper: Keeper, pids: dict[str, int], say: Callable[[str], None]
) -> None:
    alive = running(directory)
    ends = {name: _how_it_ended(pid) for name, pid in pids.items() if name not in alive.pids}
    pids.update(alive.pids)
    for event in keeper.look(alive.pids, now_s=time.monotonic()):
        name = event.name
        if isinstance(event, Ended):
            how = ends.get(name, "ended")
            say(
                f"{name} {how} (process {pids[name]}); it is started again in {event.pause_s:g} s; "
                f"see {directory / name / 'agent.log'}"
            )
            continue
        pids[name] = alive.pids[name] = start_agent(directory, name)
        write_down(directory, alive)
        say(f"{name} is started (process {pids[name]})")


def _how_it_ended(pid: int) -> str:
    """Known of our own children alone, who would otherwise stay as zombies."""
    try:
        reaped, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return "ended"
    if not reaped:
        return "ended"
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def end_watcher(directory: Path, *, say: Callable[[str], None]) -> None:
    """Before agents are stopped: whoever watches would start them again."""
    pid = end_holder(directory / WATCHER_FILE)
    if pid is not None:
        say(f"ended the process that watched them ({pid})")
