"""What befalls a site in one schedule, drawn from its seed: operations with pauses between them."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from schedules.queries import SOURCES
from schedules.stand_ins import SparkTrouble
from schedules.troubled_disk import OPENING, READING, SQL, SQL_WRITING, WRITING, Trouble

ACTIVE_S = (16.0, 40.0)
"""How long the world is troubled; then everything is healed."""
SPARK_TROUBLES = (
    "repeats",
    "repeats",
    "dies_before",
    "dies_after",
    "fails_query",
    "fails_batch",
    "no_start",
    "stop_raises",
    "root_fails",
)
SWITCH_SHARES = (0.0, 0.02, 0.1, 0.4)
SLOW_SHARES = (0.0, 0.0, 0.003, 0.02)
"""Of the calls of the disk: a commit that takes a while is what other threads run into."""
CACHES = (None, None, 0, 4_096)


class Kind(StrEnum):
    """A kind of trouble. Logs that grow, and now and then rotate, are always there."""

    ROTATION = "rotation"
    """Logs are rotated in all ways: renamed, copied and emptied, compressed, removed."""
    REPLACING = "replacing"
    """A log is replaced by a new file of the same content and more."""
    EMPTYING = "emptying"
    """A log is emptied where it is, with all that was not read yet."""
    COPIES = "copies"
    """Copies are made beside a log, and files that look alike and are not."""
    DIRECTORIES = "directories"
    """The directory of a source goes and comes back."""
    INPUT = "input"
    """Looking at logs and reading them fails for a while."""
    DISK = "disk"
    """Calls of the store's disk fail, one or for a while."""
    FULL = "full"
    """There is no room for a while."""
    SQL = "sql"
    """Statements and commits of SQLite fail."""
    KILL = "kill"
    """The process ends between any two calls, and starts again."""
    POWER = "power"
    """So it does, and what was not synced is lost."""
    SPARK = "spark"
    """Batches come late, twice, or not; streams die; queries and answers fail."""
    QUERIES = "queries"
    """Queries are installed and removed, in quick succession too."""
    DAMAGE = "damage"
    """Bytes of segments and ledger rows change while the process is down."""
    RETENTION = "retention"
    """The cube keeps little, and not for long."""


class Operation(msgspec.Struct, frozen=True):
    """One step of the world: after ``pause_s``, ``act`` with what was drawn for it."""

    pause_s: float
    act: str
    source: str = SOURCES[0]
    amount: float = 0.0
    flag: bool = False
    word: str = ""


class Plan(msgspec.Struct, frozen=True):
    seed: int
    kinds: tuple[Kind, ...]
    operations: tuple[Operation, ...]
    switch_share: float
    slow_share: float
    cache_bytes_max: int | None
    range_s: int
    """Of the first query's windows."""
    is_small: bool
    """Whether the cube has a bound that is reached by bytes rather than by age."""


def draw_plan(seed: int, kinds: Sequence[Kind] | None = None) -> Plan:
    chance = random.Random(f"plan {seed}")
    drawn = _draw_kinds(chance)
    chosen = drawn if kinds is None else tuple(kinds)
    return Plan(
        seed=seed,
        kinds=chosen,
        operations=tuple(_draw_operations(chance, chosen)),
        switch_share=chance.choice(SWITCH_SHARES),
        slow_share=chance.choice(SLOW_SHARES),
        cache_bytes_max=chance.choice(CACHES),
        range_s=chance.choice((4, 8)),
        is_small=chance.random() < 0.5,
    )


def _draw_kinds(chance: random.Random) -> tuple[Kind, ...]:
    """Few kinds at a time: two that meet are more telling than all at once."""
    count = chance.choice((1, 1, 2, 2, 2, 3, 4))
    return tuple(sorted(chance.sample(list(Kind), count)))


def _draw_operations(chance: random.Random, kinds: Sequence[Kind]) -> list[Operation]:
    active_s = chance.uniform(*ACTIVE_S)
    operations, now_s = [], 0.0
    weights = {act: weight for kind in kinds for act, weight in ACTS[kind].items()}
    weights = {**COMMON, **weights}
    # What is damaged in both places is gone, and an answer that has it can't be revised.
    weights.pop(chance.choice(("damage a segment", "damage the ledger")), None)
    while now_s < active_s:
        pause_s = chance.expovariate(1.4)
        now_s += pause_s
        (act,) = chance.choices(list(weights), list(weights.values()))
        operations.append(
            Operation(
                pause_s=pause_s,
                act=act,
                source=SOURCES[0] if chance.random() < 0.75 else SOURCES[1],
                amount=chance.random(),
                flag=chance.random() < 0.5,
                word=chance.choice(("first", "second", "third")),
            )
        )
    return operations


COMMON = {"append": 10.0, "append to another": 2.0, "append late": 1.0, "rotate": 0.7}
ACTS: dict[Kind, dict[str, float]] = {
    Kind.ROTATION: {
        "rotate": 2.0,
        "copy and truncate": 1.0,
        "compress": 0.7,
        "remove rotated": 0.7,
        "append in two": 1.0,
    },
    Kind.REPLACING: {"replace": 2.0},
    Kind.EMPTYING: {"truncate": 0.8},
    Kind.COPIES: {"copy": 0.5, "twins": 1.0},
    Kind.DIRECTORIES: {"leave": 1.0, "come back": 1.5, "scan fails": 1.0},
    Kind.INPUT: {"input fails": 5.0},
    Kind.DISK: {"disk fails once": 5.0, "disk fails for a while": 1.0},
    Kind.FULL: {"full": 1.5},
    Kind.SQL: {"sql fails": 4.0},
    Kind.KILL: {"kill soon": 1.2, "restart": 0.4},
    Kind.POWER: {"lose power soon": 1.2},
    Kind.SPARK: {"spark misbehaves": 4.0, "spark behaves": 0.5},
    Kind.QUERIES: {"install": 1.5, "remove": 0.8, "install again": 1.5},
    Kind.DAMAGE: {"damage a segment": 0.8, "damage the ledger": 0.8},
    Kind.RETENTION: {},
}


def input_trouble(operation: Operation, now_s: float, directory: str) -> Trouble:
    """Of the directory of a source, for one call or for some seconds."""
    pick = _picker(operation)
    alone = [frozenset({verb}) for verb in ("open", "read_at", "scan", "entry_stat")]
    verbs = pick((READING, OPENING, *alone))
    code = pick((errno.EIO, errno.EMFILE, errno.EACCES))
    if operation.flag:
        return Trouble(verbs, code, directory, calls=pick((1, 1, 2, 5)))
    return Trouble(
        verbs, code, directory, until_s=now_s + pick((2.0, 5.0, 15.0)), share=pick((1.0, 0.5))
    )


def scan_trouble(operation: Operation, now_s: float, directory: str) -> Trouble:
    pick = _picker(operation)
    code = pick((errno.EIO, errno.EMFILE, errno.EACCES))
    return Trouble(
        frozenset({"scan"}),
        code,
        directory,
        calls=pick((1, 2, 3)),
        until_s=now_s + pick((2.0, 10.0)),
    )


def disk_trouble(operation: Operation, now_s: float, directory: str, *, once: bool) -> Trouble:
    """Of the site's own directory."""
    pick = _picker(operation)
    syncing, renaming = frozenset({"sync_file", "sync_directory"}), frozenset({"rename"})
    loading = frozenset({"read_file"})
    verbs = pick((WRITING | READING, WRITING, READING, renaming, syncing, loading, OPENING))
    code = pick((errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EACCES))
    if once:
        return Trouble(verbs, code, directory, calls=pick((1, 1, 2)), share=pick((1.0, 0.2)))
    return Trouble(verbs, code, directory, share=pick((1.0, 0.3)), until_s=now_s + pick((2.0, 6.0)))


def full_trouble(operation: Operation, now_s: float, directory: str) -> Trouble:
    pick = _picker(operation)
    return Trouble(
        WRITING | SQL_WRITING,
        errno.ENOSPC,
        directory,
        share=pick((1.0, 1.0, 0.3)),
        until_s=now_s + pick((1.0, 4.0, 12.0)),
    )


def sql_trouble(operation: Operation, now_s: float, directory: str) -> Trouble:
    pick = _picker(operation)
    commit = frozenset({"sql_commit"})
    verbs: frozenset[str] = pick((commit, commit, SQL_WRITING, SQL))
    code = pick((errno.ENOSPC, errno.ENOSPC, errno.EIO))
    if code == errno.ENOSPC:
        verbs &= SQL_WRITING
    if operation.flag:
        return Trouble(verbs, code, directory, calls=pick((1, 1, 2, 4)), share=pick((1.0, 0.2)))
    place = f"{directory}/{pick(('cube', 'cube', 'ledger', 'commands'))}"
    return Trouble(
        verbs & SQL_WRITING, errno.ENOSPC, place, share=pick((0.2, 0.5)), until_s=now_s + 8.0
    )


def spark_trouble(operation: Operation) -> SparkTrouble:
    pick = _picker(operation)
    trouble = SparkTrouble(
        delay_s=pick((0.0, 0.5, 3.0)),
        root_delay_s=pick((0.0, 0.0, 1.0)),
        start_s=pick((0.0, 0.0, 2.0)),
    )
    for _ in range(3):
        name = pick(SPARK_TROUBLES)
        setattr(trouble, name, pick((0.2, 0.5)))
    return trouble


def _picker(operation: Operation) -> Callable[[Sequence[Any]], Any]:
    chance = random.Random(f"{operation.amount}")
    return chance.choice
