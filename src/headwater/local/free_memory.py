"""How much memory there is here, is free here, and how much a short run may take for its heap."""

from __future__ import annotations

import re
from pathlib import Path

from headwater.errors import ConfigurationError

HEAP_MB_MIN = 512
"""Spark refuses to start with less than 450 MB that it can use."""
HEAP_MB_MAX = 4096
"""More makes the serial collector's pauses longer, and no ``try`` needs it."""
MEMORY_INFO = Path("/proc/meminfo")
CGROUPS = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
"""(limit, usage) below ``/sys/fs/cgroup``, of the second version and the first."""
CGROUP_DIRECTORY = Path("/sys/fs/cgroup")


def heap_for_a_run(free: int | None = None) -> str:
    """A heap for ``try``: half of what is free, within bounds.

    The other half is for what the JVM takes beside its heap, for Python, and for everybody else.

    >>> heap_for_a_run(3 << 30), heap_for_a_run(64 << 30)
    ('1536m', '4096m')
    """
    free = free_bytes() if free is None else free
    half_mb = (free >> 20) // 2
    if half_mb < HEAP_MB_MIN:
        raise ConfigurationError(
            f"Spark wants a heap of {HEAP_MB_MIN} MB, and half of the memory that is free here is "
            f"{half_mb} MB; free some, or take more than half with --memory {HEAP_MB_MIN}m"
        )
    return f"{min(half_mb, HEAP_MB_MAX)}m"


def checked_heap(memory: str, *, total: int | None = None) -> str:
    """The heap that was asked for, if a Spark can start with it on this machine.

    >>> checked_heap("2g", total=8 << 30)
    '2g'
    """
    if not re.fullmatch(r"[1-9]\d*[kKmMgG]", memory):
        raise ConfigurationError(f"--memory: wanted a size like 512m or 2g, got {memory!r}")
    size = int(memory[:-1]) << {"k": 10, "m": 20, "g": 30}[memory[-1].lower()]
    if size < HEAP_MB_MIN << 20:
        raise ConfigurationError(
            f"--memory {memory}: Spark does not start with a heap of less than {HEAP_MB_MIN} MB; "
            f"say --memory {HEAP_MB_MIN}m or more"
        )
    total = total_bytes() if total is None else total
    if size > total:
        raise ConfigurationError(
            f"--memory {memory}: this machine, or what it lets us have, has {total >> 20} MB; take "
            "less, or leave --memory away for half of what is free"
        )
    return memory


def total_bytes(information: Path = MEMORY_INFO, cgroup: Path = CGROUP_DIRECTORY) -> int:
    """What there is, free or not, within the container's limit."""
    return min([_amount(information, "MemTotal"), *(limit for limit, _ in _limits(cgroup))])


def free_bytes(information: Path = MEMORY_INFO, cgroup: Path = CGROUP_DIRECTORY) -> int:
    """What new processes can have without swapping, within the container's limit."""
    left = [max(0, limit - usage) for limit, usage in _limits(cgroup)]
    return min([_amount(information, "MemAvailable"), *left])


def _amount(information: Path, wanted: str) -> int:
    for line in information.read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == wanted:
            return int(value.split()[0]) << 10
    raise ConfigurationError(f"{information}: no {wanted} in it; say --memory")


def _limits(cgroup: Path) -> list[tuple[int, int]]:
    """(limit, usage) of each; nothing where there is no limit."""
    found = []
    for limit_name, usage_name in CGROUPS:
        try:
            limit = (cgroup / limit_name).read_text(encoding="ascii").strip()
            usage = int((cgroup / usage_name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        if limit.isdecimal():
            found.append((int(limit), usage))
    return found
