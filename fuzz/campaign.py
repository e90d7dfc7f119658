"""One target, a seed and a budget of CPU time, in a process of its own that may die.

A decoder in C++ can crash, loop or reserve all memory, and the campaign must outlive it and know
the input. So the child writes each input into shared memory before it tries it, counts as it goes,
and the parent watches: a child that dies or stands still has found something.
"""

import hashlib
import mmap
import os
import random
import resource
import signal
import struct
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from fuzz.mutate import INPUT_BYTES_MAX
from fuzz.targets import TARGETS, Target

HANG_S = 10.0
"""Of CPU: on a busy machine a child may wait for long and be well."""
ASLEEP_S = 120.0
"""A child that neither works nor waits for a processor nor gets on."""
WATCH_EVERY_S = 0.02
CHILD_MEMORY_BYTES = 8 << 30
FINDS_MAX = 20
"""A target that is this broken is reported and left."""
CRASHERS = Path(__file__).parent / "crashers"

Draw = Callable[[], bytes]
"""The next input."""

_STATE = struct.Struct("=QQI")
"""Inputs tried, inputs accepted, length of the input under trial."""
_DRAWING = (1 << 32) - 1
"""In place of the length: the next input is drawn."""


class Campaign(msgspec.Struct):
    """What came of it."""

    target: str
    seed: int
    tried: int = 0
    accepted: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    """Of the children: on a busy machine, less than the seconds."""
    finds: list[str] = []

    def __str__(self) -> str:
        rate = self.tried / max(self.seconds, 1e-9)
        return (
            f"{self.target:<13} seed {self.seed}  {self.tried:>9,} inputs  {rate:>7,.0f}/s  "
            f"{self.accepted:>8,} accepted  {len(self.finds)} finds  {self.cpu_s:,.0f} CPU s"
        )


def run_campaign(
    name: str, *, seed: int, seconds: float, say: Callable[[str], None] = print
) -> Campaign:
    """Old crashers first, then mutations until so many seconds of CPU are spent: on a busy machine
    that takes longer, and is worth as much."""
    campaign = Campaign(name, seed)
    target = TARGETS[name]
    good = target.good()
    assert all(map(target.run, good)), f"{name}: a good input is refused"
    replay(name)
    started_s, cpu_s = time.monotonic(), _children_cpu_s()
    life = 0
    while len(campaign.finds) < FINDS_MAX:
        left_s = seconds - (_children_cpu_s() - cpu_s)
        if left_s <= 0.0:
            break
        draws = partial(target.draw, good, random.Random(f"{name}:{seed}:{life}"))
        find = _one_life(campaign, draws, cpu_s=left_s)
        if find is not None:
            campaign.finds.append(find)
            say(f"{name}: {find}")
        life += 1
    campaign.seconds = time.monotonic() - started_s
    campaign.cpu_s = _children_cpu_s() - cpu_s
    return campaign


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def replay(name: str) -> int:
    """Every input that ever broke this target must be harmless now."""
    found = sorted((CRASHERS / name).glob("*.bin"))
    for path in found:
        TARGETS[name].run(path.read_bytes())
    return len(found)


def _one_life(campaign: Campaign, draw: Draw, *, cpu_s: float) -> str | None:
    shared = mmap.mmap(-1, _STATE.size + INPUT_BYTES_MAX)
    child = os.fork()
    if child == 0:
        _live(TARGETS[campaign.target], draw, shared, cpu_s)
    status = _watch(child, shared)
    tried, accepted, length = _STATE.unpack_from(shared)
    campaign.tried += tried
    campaign.accepted += accepted
    if status == 0:
        return None
    if length == _DRAWING:
        return f"{_cause(status)} while an input was drawn, after {tried}"
    data = shared[_STATE.size : _STATE.size + length]
    return f"{_cause(status)} after {tried} inputs: {_save(campaign.target, data)}"


def _live(target: Target, draw: Draw, shared: mmap.mmap, cpu_s: float) -> None:
    """The child: never returns. Exit code 1 is an error that is no refusal."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES))
    tried = accepted = 0
    try:
        until_s = time.process_time() + cpu_s
        while time.process_time() < until_s:
            _STATE.pack_into(shared, 0, tried, accepted, _DRAWING)
            data = draw()
            _STATE.pack_into(shared, 0, tried, accepted, len(data))
            shared[_STATE.size : _STATE.size + len(data)] = data
            accepted += target.run(data)
            tried += 1
        _STATE.pack_into(shared, 0, tried, accepted, 0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _watch(child: int, shared: mmap.mmap) -> int:
    """The child's status; 0 when it ended well. A child that stands still is killed."""
    seen, seen_s, seen_cpu_s = -1, _awake_s(child), 0.0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        tried, cpu_s = _STATE.unpack_from(shared)[0], _cpu_s(child)
        if tried != seen:
            seen, seen_s, seen_cpu_s = tried, _awake_s(child), cpu_s
        elif cpu_s - seen_cpu_s > HANG_S or _awake_s(child) - seen_s > ASLEEP_S:
            os.kill(child, signal.SIGKILL)
        time.sleep(WATCH_EVERY_S)


def _awake_s(child: int) -> float:
    """A clock that stands still while the child has work and others have the processors."""
    try:
        waited_ns = int(Path(f"/proc/{child}/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        waited_ns = 0
    return time.monotonic() - waited_ns / 1e9


def _cpu_s(child: int) -> float:
    """What it has used; where the system does not say so, the clock stands for it."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cause(status: int) -> str:
    if os.WIFSIGNALED(status):
        which = signal.Signals(os.WTERMSIG(status))
        return "it stood still" if which is signal.SIGKILL else f"it died of {which.name}"
    return "an error that is no refusal"


def _save(target: str, data: bytes) -> Path:
    directory = CRASHERS / target
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{hashlib.blake2b(data, digest_size=6).hexdigest()}.bin"
    path.write_bytes(data)
    return path
