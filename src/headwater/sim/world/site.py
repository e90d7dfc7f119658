"""One simulated site: what outlives its processes, and the process that runs there, if any does.

The log grows whatever happens. The disk outlives a crash, unless the fault takes it too; then a
new incarnation begins at the end of the log, as the rules say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from headwater.node import effects as do
from headwater.node.node import Node
from headwater.plan.command import Command, Install
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.records.bag import Bag
from headwater.sim.world.disk import Disk
from headwater.sim.world.event_queue import Clock
from headwater.sim.world.life import Life, Surroundings
from headwater.sim.world.log import Log
from headwater.sim.world.spark import SiteSpark

LOST_RECORDS = 3
"""Records that one loss of input takes."""


class SiteWatcher(Protocol):
    """Who looks on at all sites: checkers, counters and the transcript. They change nothing."""

    def executing(self, site: SimulatedSite, effect: Any) -> None:
        """Called before each effect, in the state of the disk before it."""

    def loaded(self, site: SimulatedSite, send: do.LoadAndSend, rows: Bag | None) -> None: ...

    def published(self, site: SimulatedSite, answer: do.Answer, rows: dict[int, Bag]) -> None: ...

    def crashed(self, site: SimulatedSite, *, loses_disk: bool) -> None: ...


class SimulatedSite:
    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        log: Log,
        truth: SiteTruth,
        around: Surroundings,
        watcher: SiteWatcher,
        make_disk: Callable[[], Disk],
        make_node: Callable[[Disk], Node],
        has_data: bool,
    ) -> None:
        self.name = name
        self.clock = clock
        self.log = log
        self.truth = truth
        self.disk = make_disk()
        self.has_data = has_data
        self.life: Life | None = None
        self.life_count = 0
        self._around = around
        self._watcher = watcher
        self._make_disk = make_disk
        self._make_node = make_node
        self._stalled_until_s = self._failing_until_s = self._longer_s = 0.0
        self._slow_factor = 0.0
        self.step = 0
        """At which of their levels its queries are sent, as who watches its links would say."""

    # ---- lives

    @property
    def is_up(self) -> bool:
        return self.life is not None

    @property
    def node(self) -> Node | None:
        return None if self.life is None else self.life.node

    def start(self) -> None:
        """A process begins with what the disk has; nothing happens where one runs."""
        if self.life is not None:
            return
        self.life_count += 1
        self.clock.begin_life()
        self._begin_disk()
        node = self._make_node(self.disk)
        life = self.life = Life(self, node, around=self._around, watcher=self._watcher)
        life.slow_down(self._slow_factor)
        if self.has_data:
            life.spark = self._make_spark(life)
        life.begin()

    def _begin_disk(self) -> None:
        """A new cube begins at the end of the log, or at its start where the input is finite."""
        if self.disk.cube.is_begun:
            self.disk.start_count += 1
            self.disk.cube.found_s = None
            return
        is_full, delay_s = self.disk.is_full, self.disk.delay_s
        self.disk = self._make_disk()
        self.disk.is_full, self.disk.delay_s = is_full, delay_s
        cube, truth = self.disk.cube, self.truth
        cube.is_begun = True
        length = self.log.grow(self._around.queue.now_s)
        cube.found = cube.committed = 0 if self._around.is_finite else length
        truth.incarnations.append(self.disk.incarnation)
        truth.born_s.append(self.disk.born_s)

    def _make_spark(self, life: Life) -> SiteSpark:
        around = self._around
        spark = SiteSpark(
            around.queue,
            self.clock,
            self.log,
            self.disk,
            self.truth,
            pace=around.pace,
            random=around.random,
            tell=life.batch_committed,
            offset_us=life.offset_us,
            ahead_s=lambda: life.node.ahead_s,
            begin_late=life.begin_late,
            skips=life.skips,
            hear_aside=life.hear_aside,
            is_finite=around.is_finite,
        )
        spark.stalled_until_s = self._stalled_until_s
        spark.failing_until_s = self._failing_until_s
        spark.longer_s = self._longer_s
        return spark

    def crash(self, *, power: bool, loses_disk: bool, after_effects: int) -> None:
        """Now, or in the midst of what the node wants done next: after so many effects of it."""
        if self.life is None:
            return
        self.life.crash_after = after_effects
        self.life.crash = lambda: self._end(power=power, loses_disk=loses_disk)
        if after_effects == 0:
            self.life.crash()

    def start_again(self) -> None:
        """After a crash; one whose effects never came happens now, before the start."""
        if self.life is not None and self.life.crash_after is not None:
            self.life.crash()
        self.start()

    def _end(self, *, power: bool, loses_disk: bool) -> None:
        assert self.life is not None, "only a life can end"
        believed_s = self.believed_s()
        self._watcher.crashed(self, loses_disk=loses_disk)
        self.life.end()
        self.life = None
        self._around.network.crash(self.name, power=power)
        if loses_disk:
            self.truth.lost_s.append(believed_s)
            self.disk = self._make_disk()

    # ---- what the world tells the process, if there is one

    def next_number(self) -> int:
        """Of a command given here, by what is on its disk."""
        count = self.disk.counts.get(self.name)
        return 1 if count is None else count.number + 1

    def command(self, command: Command) -> None:
        if self.life is not None:
            self.life.told(self.life.node.command, command)

    def replan(self, install: Install) -> None:
        if self.life is not None:
            self.life.told(self.life.node.replan, install)

    # ---- troubles

    def step_clock(self, by_s: float) -> None:
        self.log.grow(self._around.queue.now_s)
        self.clock.offset_s += by_s

    def believed_s(self) -> float:
        """What its node takes the time of day to be, or its wall clock shows while none runs."""
        if self.life is None:
            return self.clock.wall_s()
        return self.clock.now_s() + self.life.node.ahead_s

    def fill_disk(self, is_full: bool) -> None:
        self.disk.is_full = is_full

    def slow_disk(self, delay_s: float) -> None:
        self.disk.delay_s = delay_s

    def lose_input(self) -> None:
        """What nobody has read yet vanishes, as by a rotation that came too early."""
        self.log.lose_next(LOST_RECORDS)

    def stall(self, until_s: float) -> None:
        self._stalled_until_s = max(self._stalled_until_s, until_s)
        if self.life is not None and self.life.spark is not None:
            self.life.spark.stalled_until_s = self._stalled_until_s

    def straggle(self, by_s: float) -> None:
        self._longer_s = by_s
        if self.life is not None and self.life.spark is not None:
            self.life.spark.longer_s = by_s

    def slow_down(self, factor: float) -> None:
        """The machine, whatever process runs on it; 0: as fast as others."""
        self._slow_factor = factor
        if self.life is not None:
            self.life.slow_down(factor)

    def go_to_step(self, step: float) -> None:
        self.step = int(step)
        if self.life is not None:
            self.life.tick()

    def fail_queries(self, until_s: float) -> None:
        self._failing_until_s = max(self._failing_until_s, until_s)
        if self.life is not None and self.life.spark is not None:
            self.life.spark.failing_until_s = self._failing_until_s

    def replay(self) -> None:
        if self.life is not None and self.life.spark is not None:
            self.life.spark.replay()
