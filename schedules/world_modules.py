"""The modules through which an agent touches the world, replaced for the length of a schedule.

The code of an agent says ``time.monotonic()``, ``threading.RLock()``, ``secrets.token_hex()``,
``sqlite3.connect()``. Instead of handing a clock, a lock and a die to every place, each module of
``headwater`` gets stand-ins under these names. What it imports otherwise stays real.
"""

from __future__ import annotations

import contextlib
import random
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import structlog

from schedules.locks import ScheduledThreading
from schedules.story import Story
from schedules.troubled_disk import TroubledDisk
from schedules.turns import Turns

START_S = 1_700_000_000.0
"""The wall clock when a schedule begins; a whole number of every window."""


class VirtualTime(ModuleType):
    def __init__(self, turns: Turns) -> None:
        super().__init__("time")
        self.time = lambda: START_S + turns.steady.now_s
        self.time_ns = lambda: round(self.time() * 1e9)
        self.monotonic = lambda: turns.steady.now_s
        self.monotonic_ns = lambda: round(turns.steady.now_s * 1e9)
        self.perf_counter = self.monotonic
        self.sleep = turns.sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class SeededSecrets(ModuleType):
    def __init__(self, chance: random.Random) -> None:
        super().__init__("secrets")
        self.randbits = chance.getrandbits
        self.randbelow = chance.randrange
        self.choice = chance.choice
        self.token_bytes = lambda count=32: chance.randbytes(count)
        self.token_hex = lambda count=32: chance.randbytes(count).hex()

    def __getattr__(self, name: str) -> Any:
        return getattr(secrets, name)


class TroubledSqlite(ModuleType):
    def __init__(self, disk: TroubledDisk) -> None:
        super().__init__("sqlite3")
        self.connect = disk.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(sqlite3, name)


@contextlib.contextmanager
def replaced(
    turns: Turns, disk: TroubledDisk, chance: random.Random, story: Story
) -> Iterator[None]:
    """Everything that ``headwater`` does inside happens in the schedule's own world."""
    stand_ins: dict[ModuleType, ModuleType] = {
        time: VirtualTime(turns),
        threading: ScheduledThreading(turns),
        secrets: SeededSecrets(chance),
        sqlite3: TroubledSqlite(disk),
    }
    changed: list[tuple[ModuleType, str, ModuleType]] = []
    for name, module in list(sys.modules.items()):
        if not name.startswith("headwater.") or module is None:
            continue
        for attribute, value in list(vars(module).items()):
            if isinstance(value, ModuleType) and value in stand_ins:
                changed.append((module, attribute, value))
                setattr(module, attribute, stand_ins[value])
    logging = structlog.get_config()
    structlog.configure(processors=[story.logged])
    try:
        yield
    finally:
        structlog.configure(**logging)
        for module, attribute, value in changed:
            setattr(module, attribute, value)
