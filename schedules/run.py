"""One schedule: a plan, a site in as many lives as it takes, and the verdict."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from headwater.errors import HeadwaterError
from headwater.plan.query import Query
from headwater.store.cube.retention import RetentionConfig
from headwater.store.lock import DirectoryLock
from schedules.checker import Causes, Checker, Published, Violation
from schedules.logs import Logs
from schedules.plan import (
    Kind,
    Operation,
    Plan,
    disk_trouble,
    draw_plan,
    full_trouble,
    input_trouble,
    scan_trouble,
    spark_trouble,
    sql_trouble,
)
from schedules.queries import DIRECTORIES, SOURCES
from schedules.site import Site, parts_replaced
from schedules.stand_ins import SparkTrouble, StandInSpark
from schedules.story import Story
from schedules.troubled_disk import TroubledDisk
from schedules.turns import Killed, Stuck, Turns
from schedules.virtual_loop import VirtualLoop
from schedules.world_modules import START_S, replaced

SETTLE_S_MAX = 120.0
"""After the last trouble every window must be final within this."""
LIVES_MAX = 60
RESTART_S = 1.0
LOOK_S = 0.2
"""How often an agent's supervisor looks at it."""
CALM_S = 3.0
"""How long after a failed call an agent may still end of it."""
OF_THE_DISK = ("StoreError", "StoreBroken", "DiskFull", "DiskTrouble", "OSError", "SegmentDamaged")
"""Errors by which an agent may end while its disk fails."""
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Outcome(msgspec.Struct):
    seed: int
    kinds: tuple[str, ...]
    violations: list[Violation]
    counts: Counter[str]
    story: list[str]
    operations: int = 0
    kills: int = 0
    lives: int = 0
    calls: int = 0
    answers: int = 0
    lines: int = 0
    virtual_s: float = 0.0

    @property
    def is_good(self) -> bool:
        return not self.violations

    @property
    def faults(self) -> int:
        return sum(n for what, n in self.counts.items() if what.startswith(("fault", "spark")))

    def report(self) -> str:
        said = "\n".join(f"  {one}" for one in self.violations[:8])
        more = len(self.violations) - 8
        return (
            f"seed {self.seed} ({', '.join(self.kinds)}): {len(self.violations)} violations\n{said}"
            + (f"\n  and {more} more" if more > 0 else "")
            + f"\n  again: python -m schedules --kinds {','.join(self.kinds) or ','} "
            + f"--from {self.seed} --seeds 1 --story"
        )


def run_schedule(
    seed: int,
    kinds: Sequence[Kind] | None = None,
    *,
    is_told: bool = False,
    has_calls: bool = False,
) -> Outcome:
    """The schedule of this seed, with the kinds of trouble that it draws, or with these."""
    plan = draw_plan(seed, kinds)
    with arrow_alone(), tempfile.TemporaryDirectory(prefix="schedule-", dir=SCRATCH) as scratch:
        world = World(plan, Path(scratch), Story(is_whole=is_told, has_calls=has_calls))
        try:
            return world.run()
        finally:
            world.close()


class World:
    def __init__(self, plan: Plan, directory: Path, story: Story) -> None:
        seed = plan.seed
        self.plan = plan
        self.directory = directory / "site"
        self.data = directory / "data"
        self.story = story
        self.turns = Turns(random.Random(f"turns {seed}"), switch_share=plan.switch_share)
        self.story.follow(self.turns)
        self.disk = TroubledDisk(
            self.turns, random.Random(f"disk {seed}"), self.story, self.directory
        )
        self.disk.slow_share = plan.slow_share
        self.chance = random.Random(f"world {seed}")
        self.logs = {
            source: Logs(
                source,
                self.data / DIRECTORIES[source],
                disk=self.disk,
                turns=self.turns,
                chance=self.chance,
                story=self.story,
                now_s=START_S,
            )
            for source in SOURCES
        }
        self.published = Published(self.directory / "results")
        self.causes = Causes(
            has_retention=Kind.RETENTION in plan.kinds, has_damage=Kind.DAMAGE in plan.kinds
        )
        self.violations: list[Violation] = []
        self.site: Site | None = None
        self.spark_trouble = SparkTrouble()
        self.kills = self.lives = 0
        self.queries: dict[str, Query] = {}
        """Every query that was commanded."""
        self._loop: VirtualLoop | None = None
        self._is_over = False
        """The troubles are."""
        self._healed_s = 0.0
        self._began_s = 0.0
        """Of this life, on the steady clock."""
        self._loses_power = False
        self._damage: list[Callable[[], None]] = []
        self._is_restarting = False
        self._locks: list[DirectoryLock] = []
        """Held by the process; the kernel frees them when it dies."""

    def close(self) -> None:
        self.turns.close()

    @property
    def now_s(self) -> float:
        return START_S + self.turns.steady.now_s

    def run(self) -> Outcome:
        secrets = random.Random(f"secrets {self.plan.seed}")
        with (
            replaced(self.turns, self.disk, secrets, self.story),
            parts_replaced(self._polled, self._locks),
        ):
            self.turns.start(self._outside, "world", is_outside=True)
            try:
                self._live_on()
            except Stuck as error:
                self._violated("nothing stands still", str(error))
        self.published.read_on()
        self._check()
        return self._outcome()

    # Life after life

    def _live_on(self) -> None:
        while self.lives < LIVES_MAX:
            self.lives += 1
            is_ended = self._live()
            if isinstance(self.turns.died_of, Stuck):
                raise self.turns.died_of
            if is_ended:
                return
            for logs in self.logs.values():
                logs.restarted(self.now_s)
            self.turns.sleep(RESTART_S)
            for damage in self._damage:
                damage()
            self._damage.clear()
        self._violated("the agent comes up", f"not within {LIVES_MAX} lives")

    def _live(self) -> bool:
        """One life of the process; True: the schedule is over."""
        self._began_s = self.turns.steady.now_s
        loop = self._loop = VirtualLoop(self.turns)
        asyncio.set_event_loop(loop)
        try:
            return loop.run_until_complete(self._serve())
        except Killed:
            self.kills += 1
            return False
        finally:
            self._bury(loop)

    async def _serve(self) -> bool:
        spark = StandInSpark(self.turns, self.chance, self.story)
        spark.trouble = self.spark_trouble
        try:
            site = Site(
                self.directory,
                disk=self.disk,
                spark=spark,
                now_s=lambda: self.now_s,
                retention=self._retention(),
                cache_bytes_max=self.plan.cache_bytes_max,
            )
            await site.start()
        except (HeadwaterError, OSError) as error:
            self._ended(f"does not start: {type(error).__name__}: {error}")
            return False
        self.site = site
        if not self.queries:
            self._command(lambda: self._install(SOURCES[0], "first", self.plan.range_s))
        while not self._is_settled():
            await asyncio.sleep(LOOK_S)
            if site.runtime.failure:
                self._ended(site.runtime.failure)
                return False
            if self._is_restarting:
                self._is_restarting = False
                self.story.tell("the agent is stopped in order")
                await site.stop()
                return False
        self._note_live(site)
        await site.stop()
        return True

    def _bury(self, loop: VirtualLoop) -> None:
        """What is left of a life is let go, as the kernel does it."""
        if self.site is not None:
            self.causes.failed.update(self.site.spark.failed_batches)
        site, self.site = self.site, None
        self.turns.is_dead = True
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            _close(task.get_coro())
        self.turns.bury()
        self._loop = None
        asyncio.set_event_loop(None)
        loop.close()
        if site is not None:
            for followed in site.runtime.feeder.followed.values():
                with contextlib.suppress(BaseException):
                    followed.input.close()
        for lock in self._locks:
            lock.release()
        self._locks.clear()
        self.disk.abandon(loses_power=self._loses_power)
        self._loses_power = False
        self.disk.dies_in = None

    def _ended(self, why: str) -> None:
        """The agent ended by itself; whoever supervises it starts it anew."""
        self.story.tell(f"ENDED {why}")
        self.story.count("the agent ended by itself")
        is_of_disk = any(name in why for name in OF_THE_DISK)
        since_s = self._began_s if "opened anew" in why else self.turns.steady.now_s - CALM_S
        if not is_of_disk or self.disk.failed_s < since_s:
            self._violated("the agent ends only with its disk", why)
        elif "stopped: DiskFull" in why:
            self._violated("a full disk ends nobody", why)

    def _retention(self) -> RetentionConfig:
        if Kind.RETENTION not in self.plan.kinds:
            return RetentionConfig()
        if self.plan.is_small:
            return RetentionConfig(retention_bytes=12_000)
        return RetentionConfig(retention_s=12.0)

    def _polled(self, source: str, poll: Callable[[], Any]) -> Any:
        began, started_s, logs = self.turns.step, self.now_s, self.logs[source]
        logs.poll_begins()
        result = poll()
        logs.polled(
            began,
            started_s,
            is_clean=result.is_clean,
            is_behind=bool(result.stalled),
            twice_bytes=result.twice_bytes,
        )
        return result

    # The end

    def _is_settled(self) -> bool:
        if not self._is_over:
            return False
        if self.now_s > self._healed_s + SETTLE_S_MAX:
            return True
        self.published.read_on()
        return all(self._is_final(query) for query in self._live_queries())

    def _live_queries(self) -> list[Query]:
        return [] if self.site is None else self.site.live()

    def _is_final(self, query: Query) -> bool:
        newest = self.published.newest(str(query.id))
        windows = Checker(query, self.logs[query.source_name]).due_windows(self._healed_s)
        return all(w in newest and newest[w].envelope.final for w in windows)

    def _note_live(self, site: Site) -> None:
        self.live = {str(query.id) for query in site.live()}

    def _check(self) -> None:
        if self.turns.died_of is not None:
            error = self.turns.died_of
            self._violated("threads live", f"{type(error).__name__}: {error}")
        live = getattr(self, "live", set())
        for name, query in self.queries.items():
            checker = Checker(query, self.logs[query.source_name])
            self.violations += checker.check(self.published.of(name))
            if name in live:
                newest = self.published.newest(name)
                self.violations += checker.check_end(newest, self.causes, through_s=self._healed_s)

    def _violated(self, rule: str, text: str) -> None:
        self.story.tell(f"VIOLATION {rule}: {text}")
        self.violations.append(Violation(rule, text))

    def _outcome(self) -> Outcome:
        return Outcome(
            seed=self.plan.seed,
            kinds=tuple(str(kind) for kind in self.plan.kinds),
            violations=self.violations,
            counts=self.story.counts,
            story=list(self.story.lines),
            operations=len(self.plan.operations),
            kills=self.kills,
            lives=self.lives,
            calls=self.disk.call_count,
            answers=len(self.published.answers),
            lines=sum(len(logs.lines) for logs in self.logs.values()),
            virtual_s=self.turns.steady.now_s,
        )

    # What the world does

    def _outside(self) -> None:
        self.turns.sleep(2.0)
        for operation in self.plan.operations:
            self.turns.sleep(operation.pause_s)
            self._do(operation)
        self._heal()

    def _heal(self) -> None:
        self.disk.troubles.clear()
        self.disk.dies_in = None
        self.spark_trouble = SparkTrouble()
        if self.site is not None:
            self.site.spark.trouble = self.spark_trouble
        for logs in self.logs.values():
            logs.come_back()
        self._healed_s = self.now_s
        self._is_over = True
        self.story.tell("everything is healed")

    def _do(self, operation: Operation) -> None:
        logs, now_s = self.logs[operation.source], self.turns.steady.now_s
        own, input_ = str(self.directory), str(logs.directory)
        amount = operation.amount
        self.story.count(f"operation: {operation.act}")
        match operation.act:
            case "append":
                logs.append(1 + int(amount * 6))
            case "append to another":
                logs.append(1 + int(amount * 3), name="other.log")
            case "append late":
                logs.append(1, age_s=1.0 + amount * 12.0)
            case "append in two":
                logs.append(1 + int(amount * 3), in_two=True)
            case "rotate":
                logs.rotate(is_matching=operation.flag)
            case "copy and truncate":
                self._vanish(lambda: logs.copy_and_truncate(is_matching=operation.flag))
            case "replace":
                logs.replace(count=int(amount * 4))
            case "truncate":
                self._vanish(logs.truncate)
            case "copy":
                logs.copy()
            case "compress":
                self._vanish(logs.compress)
            case "remove rotated":
                self._vanish(logs.remove_rotated)
            case "twins":
                logs.twins()
            case "leave":
                self._vanish(lambda: logs.leave(leaves_empty=operation.flag))
            case "come back":
                logs.come_back()
            case "scan fails":
                self._trouble(scan_trouble(operation, now_s, input_))
            case "input fails":
                self._trouble(input_trouble(operation, now_s, input_))
            case "disk fails once":
                self._trouble(disk_trouble(operation, now_s, own, once=True))
            case "disk fails for a while":
                self._trouble(disk_trouble(operation, now_s, own, once=False))
            case "full":
                self._trouble(full_trouble(operation, now_s, own))
            case "sql fails":
                self._trouble(sql_trouble(operation, now_s, own))
            case "kill soon" | "lose power soon":
                self._kill_soon(operation)
            case "restart":
                self._is_restarting = self.site is not None
            case "spark misbehaves":
                self._spark(spark_trouble(operation))
            case "spark behaves":
                self._spark(SparkTrouble())
            case "install":
                self._command(lambda: self._install(operation.source, operation.word, 4))
            case "remove":
                self._command(lambda: self._remove(operation.word))
            case "install again":
                self._command(lambda: self._remove(operation.word))
                self.turns.sleep(amount * 0.6 if operation.flag else 0.0)
                self._command(lambda: self._install(operation.source, operation.word, 4))
            case "damage a segment":
                self._damage.append(lambda: self._damage_segment(amount))
                self._kill_soon(operation)
            case "damage the ledger":
                self._damage.append(lambda: self._damage_ledger(amount))
                self._kill_soon(operation)
            case _:
                raise AssertionError(f"nobody knows how to {operation.act}")

    def _vanish(self, act: Callable[[], None]) -> None:
        self.causes.has_vanished = True
        act()

    def _trouble(self, trouble: Any) -> None:
        self.causes.has_trouble = True
        self.story.tell(f"trouble: {trouble}")
        self.disk.troubles.append(trouble)

    def _kill_soon(self, operation: Operation) -> None:
        """At one of the next calls of the disk; at once if there is none for some time."""
        self.causes.has_trouble = True
        self._loses_power = operation.act == "lose power soon"
        self.disk.dies_in = 1 + int(operation.amount * 120)
        self.story.tell(f"{operation.act}: in {self.disk.dies_in} calls")

    def _spark(self, trouble: SparkTrouble) -> None:
        self.story.tell(f"spark: {trouble}")
        self.spark_trouble = trouble
        if self.site is not None:
            self.site.spark.trouble = trouble

    def _command(self, command: Callable[[], None]) -> None:
        """An operator's, on the agent's event loop; who finds no agent goes away."""

        def obey() -> None:
            try:
                command()
            except HeadwaterError as error:
                self.story.tell(f"the operator is told: {error}")

        if self._loop is not None and self.site is not None:
            self._loop.call_soon_threadsafe(obey)

    def _install(self, source: str, name: str, range_s: int) -> None:
        assert self.site is not None, "asked of a site that is up"
        query = self.site.install(source, name=name, range_s=range_s)
        self.queries[str(query.id)] = query
        self.story.tell(f"{query.id} is installed on {source}, from pane {query.begin_pane}")

    def _remove(self, name: str) -> None:
        assert self.site is not None, "asked of a site that is up"
        self.story.tell(f"{self.site.remove(name)} is removed")

    # Damage, while the process is down

    def _damage_segment(self, amount: float) -> None:
        directory = self.directory / "cube" / "segments"
        names = sorted(directory.glob("*.parquet")) if directory.is_dir() else []
        if names:
            path = names[int(amount * 7919) % len(names)]
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0x40
            path.write_bytes(data)
            self.story.tell(f"a bit of {path.name} flips")
            self.story.count("fault: a segment is damaged")

    def _damage_ledger(self, amount: float) -> None:
        path = self.directory / "ledger" / "ledger.sqlite"
        if not path.exists():
            return
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            rows = connection.execute(
                "SELECT query, number, pane, data FROM summaries WHERE has_rows = 1 "
                "ORDER BY query, number"
            ).fetchall()
            if rows:
                query, number, pane, data = rows[int(amount * 7919) % len(rows)]
                flipped = bytes([*data[:40], data[40] ^ 0x40, *data[41:]])
                connection.execute(
                    "UPDATE summaries SET data = ? WHERE query = ? AND number = ?",
                    (flipped, query, number),
                )
                self.story.tell(f"a byte of summary {number} of {query}, pane {pane}, changes")
                self.story.count("fault: a summary is damaged")


def _close(coroutine: Any) -> None:
    """Also what was handed to one that never began: nobody will await it."""
    frame = coroutine.cr_frame
    if frame is not None and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
        for value in list(frame.f_locals.values()):
            if inspect.iscoroutine(value):
                _close(value)
    with contextlib.suppress(BaseException):
        coroutine.close()


@contextlib.contextmanager
def arrow_alone() -> Iterator[None]:
    """Arrow's own threads cost more than they save on tables of some rows."""
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        yield
    finally:
        pa.set_cpu_count(before)
