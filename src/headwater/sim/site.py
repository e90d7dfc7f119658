"""One simulated site: the real node, and a shell around it made of a disk, a Spark and a log.

The shell does what an agent's does. It executes the node's effects in their order, each durably
before the next, and tells the node what came of them. A crash throws away the node, the batch that
runs, and every effect that was not yet executed; a start makes a node from what the disk has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from headwater.edge.report import BatchReport
from headwater.node import effects as do
from headwater.node.node import Node
from headwater.overlay.messages import Message
from headwater.plan.command import Command, Install
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswered
from headwater.sim.bag import Bag
from headwater.sim.disk import Disk, LedgerDisk
from headwater.sim.event_queue import Clock, EventQueue
from headwater.sim.log import Log
from headwater.sim.network import Network
from headwater.sim.scenario import Pace
from headwater.sim.spark import RETRY_S, SiteSpark
from headwater.sim.truth import SiteTruth

TICK_S_MIN = 0.001
"""No node is ticked more often, as no agent's loop would."""


class Watcher(Protocol):
    """Who looks on: checkers, counters and the transcript. They never change anything."""

    def executing(self, site: SimulatedSite, effect: Any) -> None:
        """Called before each effect, in the state of the disk before it."""

    def loaded(self, site: SimulatedSite, send: do.LoadAndSend, rows: Bag | None) -> None: ...

    def published(self, site: SimulatedSite, answer: do.Answer, rows: dict[int, Bag]) -> None: ...

    def crashed(self, site: SimulatedSite, *, loses_disk: bool) -> None: ...


class Surroundings:
    """What all sites of a world share."""

    def __init__(
        self,
        queue: EventQueue,
        network: Network,
        watcher: Watcher,
        *,
        pace: Pace,
        random: Random,
        is_finite: bool,
    ) -> None:
        self.queue = queue
        self.network = network
        self.watcher = watcher
        self.pace = pace
        self.random = random
        self.is_finite = is_finite


class SimulatedSite:
    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        log: Log,
        truth: SiteTruth,
        around: Surroundings,
        make_disk: Callable[[], Disk],
        make_node: Callable[[Disk], Node],
        has_data: bool,
    ) -> None:
        self.name = name
        self.clock = clock
        self.log = log
        self.truth = truth
        self.disk = make_disk()
        self.node: Node | None = None
        self.spark: SiteSpark | None = None
        self.life = 0
        """Counts processes; 0 before the first."""
        self.has_data = has_data
        self._around = around
        self._make_disk = make_disk
        self._make_node = make_node
        self._effects: deque[Any] = deque()
        self._is_working = False
        self._is_waiting = False
        self._tick_s = float("inf")
        self._crash_after: int | None = None
        self._crash: Callable[[], None] = lambda: None
        self._stalled_until_s = self._failing_until_s = 0.0
        self._actions: dict[type, Callable[[Any], None]] = {
            do.Transmit: self._transmit,
            do.Dial: lambda dial: around.network.dial(name, dial.site),
            do.Hangup: lambda hangup: around.network.hang_up(name, hangup.site),
            do.Cut: self._cut,
            do.Remember: lambda effect: self.disk.cube.remember(effect.query, effect.record),
            do.MarkSent: lambda effect: self.disk.cube.mark_sent(effect.query, effect.updates),
            do.MarkAcked: lambda effect: self.disk.cube.mark_acked(effect),
            do.MarkUnacked: lambda effect: self.disk.cube.mark_unacked(effect.query),
            do.Expire: lambda e: self.disk.cube.expire(e.query, e.panes, e.record),
            do.Forget: lambda effect: self.disk.cube.forget(effect.query),
            do.LoadAndSend: self._load,
            do.Keep: lambda effect: self._ledger(effect.query).keep(effect.kept),
            do.KeepState: lambda effect: self._ledger(effect.query).keep_state(effect),
            do.Trim: self._trim,
            do.Answer: self._answer,
            do.KeepCommand: self._keep_command,
            do.KeepVector: self._keep_vector,
            do.Installed: self._installed,
            do.Withdrawn: self._withdrawn,
            do.AnswersBegun: self._begin_ledger,
            do.AnswersEnded: self._end_ledger,
            do.Ended: lambda effect: None,
            do.Notice: lambda effect: None,
        }

    # ---- lives

    def too_late(self, query: Query) -> int:
        return self.truth.too_late.get(str(query.id), 0)

    @property
    def is_up(self) -> bool:
        return self.node is not None

    def start(self) -> None:
        if self.is_up:
            return
        self.life += 1
        around = self._around
        if self.disk.incarnation not in self.truth.incarnations:
            self.truth.incarnations.append(self.disk.incarnation)
            self.truth.born_s.append(self.disk.born_s)
        cube = self.disk.cube
        if not cube.is_begun:
            cube.is_begun = True
            length = self.log.grow(around.queue.now_s)
            cube.found = cube.committed = 0 if around.is_finite else length
        if self.has_data:
            self.spark = SiteSpark(
                around.queue, self.clock, self.log, self.disk, self.truth,
                pace=around.pace, random=around.random, tell=self._tell_batch,
                is_finite=around.is_finite,
            )
            self.spark.stalled_until_s = self._stalled_until_s
            self.spark.failing_until_s = self._failing_until_s
            self.spark.start()
        self.node = self._make_node(self.disk)
        self._tick_s = float("inf")
        self._tick(self.life)

    def crash(self, *, power: bool, loses_disk: bool, after_effects: int) -> None:
        """Now, or in the midst of what the node wants done next: after so many effects of it."""
        if not self.is_up:
            return
        self._crash_after = after_effects
        self._crash = lambda: self._end(power=power, loses_disk=loses_disk)
        if after_effects == 0:
            self._crash()

    def end_pending_crash(self) -> None:
        """A crash whose effects never came happens now, at the latest before the next start."""
        if self._crash_after is not None:
            self._crash()

    def _end(self, *, power: bool, loses_disk: bool) -> None:
        self._around.watcher.crashed(self, loses_disk=loses_disk)
        self._crash_after = None
        self.node = None
        if self.spark is not None:
            self.spark.is_dead = True
        self.spark = None
        self._effects.clear()
        self._is_waiting = False
        self._around.network.crash(self.name, power=power)
        if loses_disk:
            self.disk = self._make_disk()

    # ---- what the world tells the node

    def linked(self, peer: str) -> None:
        if self.node is not None:
            self.node.link_up(peer, now_s=self.clock.now_s())
            self._work()

    def unlinked(self, peer: str, unsent: list[Message]) -> None:
        if self.node is not None:
            self.node.link_down(peer, unsent=unsent, now_s=self.clock.now_s())
            self._work()

    def receive(self, sender: str, message: Message) -> None:
        if self.node is not None:
            self.node.receive(sender, message, now_s=self.clock.now_s())
            self._work()

    def load(self, peer: str, queued_bytes: int) -> None:
        if self.node is not None:
            self.node.link_load(peer, queued_bytes=queued_bytes, now_s=self.clock.now_s())
            self._work()

    def command(self, command: Command) -> None:
        if self.node is not None:
            self.node.command(command, now_s=self.clock.now_s())
            self._work()

    def _tell_batch(self, report: BatchReport) -> None:
        if self.node is not None:
            self.node.batch_committed(report, now_s=self.clock.now_s())
            self._work()

    def _tick(self, life: int) -> None:
        if life != self.life or self.node is None or self._around.queue.now_s < self._tick_s < 1e17:
            return
        self._tick_s = float("inf")
        self.node.tick(now_s=self.clock.now_s())
        self._work()

    def clock_stepped(self) -> None:
        """Deadlines are read anew, as an agent's loop does that wakes at least every second."""
        if self.is_up:
            self._tick_s = float("inf")
            self._around.queue.after(TICK_S_MIN, self._tick, self.life)

    # ---- effects

    def _work(self) -> None:
        """Execute what the node wants, in order, until it wants no more or the disk makes wait."""
        if self._is_working:
            return
        self._is_working = True
        try:
            while self.node is not None and not self._is_waiting:
                self._effects.extend(self.node.take())
                if not self._effects:
                    break
                self._execute_next()
        finally:
            self._is_working = False
        if self.node is not None:
            self._plan_tick()

    def _execute_next(self) -> None:
        effect = self._effects[0]
        if type(effect) in DURABLE and self._must_wait():
            return
        self._effects.popleft()
        self._around.watcher.executing(self, effect)
        self._actions[type(effect)](effect)
        if self._crash_after is not None:
            self._crash_after -= 1
            if self._crash_after <= 0:
                self._crash()

    def _must_wait(self) -> bool:
        """A full disk is tried again; a slow one takes its time, once for each effect."""
        if self.disk.is_full:
            self._is_waiting = True
            self._around.queue.after(RETRY_S, self._resume, self.life, False)
        elif self.disk.delay_s:
            self._is_waiting = True
            self._around.queue.after(self.disk.delay_s, self._resume, self.life, True)
        return self._is_waiting

    def _resume(self, life: int, is_done: bool) -> None:
        if life != self.life or not self._is_waiting:
            return
        self._is_waiting = False
        if is_done and self._effects:
            effect = self._effects.popleft()
            self._around.watcher.executing(self, effect)
            self._actions[type(effect)](effect)
        self._work()

    def _plan_tick(self) -> None:
        assert self.node is not None
        queue = self._around.queue
        due_s = self.clock.true_s(self.node.next_deadline_s())
        due_s = max(due_s, queue.now_s + TICK_S_MIN)
        if due_s < self._tick_s:
            self._tick_s = due_s
            queue.at(due_s, self._tick, self.life)

    def _transmit(self, effect: do.Transmit) -> None:
        network = self._around.network
        if not network.send(self.name, effect.to, effect.message, effect.lane_priority):
            self._around.queue.after(0.0, self._return_unsent, self.life, effect)

    def _return_unsent(self, life: int, effect: do.Transmit) -> None:
        """The link closed while the effect waited behind a slow disk: surely not written."""
        if life == self.life and not self._around.network.is_linked(self.name, effect.to):
            self.unlinked(effect.to, [effect.message])

    def _cut(self, effect: do.Cut) -> None:
        assert self.node is not None
        done = self.disk.cube.cut(effect, now_s=self.clock.now_s())
        self.node.updates_cut(done, now_s=self.clock.now_s())

    def _load(self, send: do.LoadAndSend) -> None:
        assert self.node is not None
        rows = self.disk.cube.rows(send.query, send.pane, send.updates) if send.updates else None
        self._around.watcher.loaded(self, send, rows)
        self.node.loaded(send, rows, now_s=self.clock.now_s())

    def _ledger(self, query: str) -> LedgerDisk:
        return self.disk.ledgers.setdefault(query, LedgerDisk())

    def _begin_ledger(self, effect: do.AnswersBegun) -> None:
        self._ledger(str(effect.query.id))

    def _end_ledger(self, effect: do.AnswersEnded) -> None:
        self.disk.ledgers.pop(effect.query, None)

    def _trim(self, effect: do.Trim) -> None:
        query = self.disk.installs[effect.query].query
        self._ledger(effect.query).trim(effect.done_through, query)

    def _answer(self, effect: do.Answer) -> None:
        takes_s = self._around.random.uniform(*self._around.pace.answer_s)
        self._around.queue.after(takes_s, self._publish, self.life, effect)

    def _publish(self, life: int, answer: do.Answer) -> None:
        """Results and ledger in one step; until then a crash leaves nothing of the answer."""
        if life != self.life or self.node is None or answer.query not in self.disk.ledgers:
            return
        if self.disk.is_full:
            self._around.queue.after(RETRY_S, self._publish, life, answer)
            return
        if self._around.random.random() < self._around.pace.answer_fails_share:
            self.node.answered(answer, now_s=self.clock.now_s(), failed="executor lost")
            self._work()
            return
        ledger = self.disk.ledgers[answer.query]
        rows = {
            request.window: ledger.rows(request.panes, kept_through=answer.kept_through)
            for request in answer.requests
        }
        self._around.watcher.published(self, answer, rows)
        done = tuple(
            WindowAnswered(one.window, one.revision, answer.kept_through, one.envelope)
            for one in answer.requests
        )
        ledger.publish(done)
        self.node.answered(answer, now_s=self.clock.now_s())
        self._work()

    def _keep_command(self, effect: do.KeepCommand) -> None:
        self.disk.vector = dict(effect.vector)
        if isinstance(effect.command, Install):
            self.disk.installs[str(effect.command.query.id)] = effect.command
        else:
            self.disk.installs.pop(str(effect.command.id), None)

    def _keep_vector(self, effect: do.KeepVector) -> None:
        self.disk.vector = dict(effect.vector)

    def _installed(self, effect: do.Installed) -> None:
        if self.spark is not None:
            self.spark.queries[str(effect.query.id)] = effect.query

    def _withdrawn(self, effect: do.Withdrawn) -> None:
        if self.spark is not None:
            self.spark.queries.pop(effect.query, None)

    # ---- troubles

    def stall(self, until_s: float) -> None:
        self._stalled_until_s = max(self._stalled_until_s, until_s)
        if self.spark is not None:
            self.spark.stalled_until_s = self._stalled_until_s

    def fail_queries(self, until_s: float) -> None:
        self._failing_until_s = max(self._failing_until_s, until_s)
        if self.spark is not None:
            self.spark.failing_until_s = self._failing_until_s


DURABLE = frozenset(
    {
        do.Cut, do.Remember, do.MarkSent, do.MarkAcked, do.MarkUnacked, do.Expire, do.Forget,
        do.Keep, do.KeepState, do.Trim, do.KeepCommand, do.KeepVector, do.AnswersBegun,
        do.AnswersEnded,
    }
)
"""Effects that write to the disk."""
