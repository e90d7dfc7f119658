"""One life of a site's process: the real node, and the shell that does what it wants.

The shell executes the node's effects in their order, each durably before the next, and tells the
node what came of them, as an agent's does. When the life ends, everything in here is gone: the
node, the batch that runs, and every effect that was not yet executed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.algebra.incarnation import CHANCE_BITS, incarnation_above
from headwater.algebra.summary import Merger, Rows
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.record import SetAside
from headwater.edge.report import BatchReport
from headwater.edge.shedding.choose_skip import Ahead, Skip
from headwater.node import effects as do
from headwater.node.node import Node
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Message
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswer
from headwater.sim.records.admits import in_sample
from headwater.sim.records.bag import Bag
from headwater.sim.records.ledger_disk import LedgerDisk
from headwater.sim.tuning import Pace
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.inbox import Inbox
from headwater.sim.world.network import Network
from headwater.sim.world.past_spark import RETRY_S
from headwater.sim.world.spark import SiteSpark

if TYPE_CHECKING:
    from headwater.sim.world.site import SimulatedSite, SiteWatcher

TICK_S_MIN = 0.001
"""No node is ticked more often, as no agent's loop would."""


LOOKED_S = 0.05
"""Between a question's look at what is there and its reading."""


class Surroundings(NamedTuple):
    """What all sites of a world share."""

    queue: EventQueue
    network: Network
    merger: Merger
    pace: Pace
    random: Random
    is_finite: bool


READING_BEGINS = object()
"""The shell's own effect: all that was restored is in place."""


class Life:
    """Ends by ``end``; whatever of it is still in the queue of events then does nothing."""

    def __init__(
        self, site: SimulatedSite, node: Node, *, around: Surroundings, watcher: SiteWatcher
    ) -> None:
        disk = self.disk = site.disk
        self.node = node
        self.spark: SiteSpark | None = None
        self.is_over = False
        self.is_behind = False
        """What is executed now was wanted some time ago: something before it took its time."""
        self.inbox: Inbox | None = None
        """Where everything waits for its turn, while the machine is slow."""
        self.crash_after: int | None = None
        """Effects that are still executed; then ``crash`` is called."""
        self.crash: Callable[[], None] = self.end
        self._site = site
        self._name = site.name
        self._clock = site.clock
        self._around = around
        self._watcher = watcher
        self._effects: deque[Any] = deque()
        self._is_working = False
        self._is_waiting = False
        self._tick_s = float("inf")
        self._tick_waits = False
        """A tick stands in the line of a slow machine."""
        self._stores: dict[do.Store, object] = {
            "network": self,
            "cube": disk.cube,
            "site": self,
            "answers": self,
            "commands": disk,
            "people": self,
        }

    def begin(self) -> None:
        """Do what follows from restoring, then read: a batch must have every installed query."""
        self._effects.extend(self.node.take())
        self._effects.append(READING_BEGINS)
        self.tick()

    def end(self) -> None:
        self.is_over = True
        if self.inbox is not None:
            self.inbox.is_closed = True
        if self.spark is not None:
            self.spark.is_dead = True

    # ---- what the world tells the node

    def slow_down(self, factor: float) -> None:
        """Everything takes so many times as long from now on; 0: it takes no time again. What
        waits then is handled at once, in its order."""
        if self.inbox is not None:
            self.inbox.factor = factor
        elif factor:
            self.inbox = Inbox(self._around.queue, factor)

    def _take_turn(self, handle: Callable[[], None], *, sender: str = "") -> bool:
        """On a slow machine it waits for its turn; else False, and it is to be done now."""
        if self.inbox is None:
            return False
        if self.inbox.is_idle:
            self.inbox = None
            return False
        self.inbox.put(handle, sender=sender)
        return True

    def _tell(self, hear: Callable[..., object], *what: Any, sender: str = "", **more: Any) -> None:
        """``sender``: this is a sign of life of that neighbour."""
        if self.inbox is None or not self._take_turn(
            partial(self.told, hear, *what, **more), sender=sender
        ):
            self.told(hear, *what, **more)

    def told(self, hear: Callable[..., object], *what: Any, **more: Any) -> None:
        """The node hears something now, and what it wants then is done."""
        if not self.is_over:
            hear(*what, now_s=self._clock.now_s(), **more)
            self.work()

    def linked(self, peer: str) -> None:
        self._tell(self.node.link_up, peer, sender=peer)

    def unlinked(self, peer: str, unsent: Sequence[Message]) -> None:
        self._tell(self.node.link_down, peer, unsent=unsent)

    def receive(self, sender: str, message: Message) -> None:
        self._tell(self.node.receive, sender, message, sender=sender)

    def load(self, peer: str, load: LinkLoad) -> None:
        self._tell(self.node.link_load, peer, load)

    def batch_committed(self, report: BatchReport) -> None:
        self._tell(self.node.batch_committed, report)

    def tick(self) -> None:
        """Planned for a time; another one may have been planned for an earlier time since. A
        process has one loop that ticks: while a tick waits for its turn, there is no second."""
        if self.is_over or self._around.queue.now_s < self._tick_s < float("inf"):
            return
        self._tick_s = float("inf")
        if self._tick_waits:
            return
        self._tick_waits = self.inbox is not None and self._take_turn(self._tick)
        if not self._tick_waits:
            self._tick()

    def offset_us(self, query: str) -> int:
        """What a batch that begins now adds to the times of this query's records."""
        return self.node.edge.offset_us(query)

    def skips(self, source: str, ahead: Ahead, pace: ReadingPace) -> Mapping[str, Skip]:
        """What its queries skip of what waits."""
        return self.node.edge.shedding.skips(source, ahead, pace, now_s=self._clock.now_s())

    def hear_aside(self, query: str, aside: SetAside) -> None:
        self.told(self.node.edge.shedding.hear, query, aside)

    def begin_late(self, query: str) -> None:
        """A reading of the past has begun without this query."""
        self.told(self._begin_late, query)

    def _begin_late(self, query: str, *, now_s: float) -> None:
        self.node.edge.begin_late(query, at_s=now_s)

    def _tick(self) -> None:
        self._tick_waits = False
        now_s, was_s = self._clock.now_s(), self.node.ahead_s
        if self.node.wall_clock(self._clock.ahead_s(), now_s=now_s) and self.spark is not None:
            self.spark.clock_was_set(was_s=was_s)
        for query in self.disk.installs:
            self.node.edge.set_step(query, self._site.step)
        over = self.disk.questions_over(self._name, wall_s=self._clock.wall_s())
        if over:
            self.node.end_questions(over, now_s=now_s)
        self.node.tick(now_s=now_s)
        self.work()

    # ---- effects, one after the other

    def work(self) -> None:
        """Execute what the node wants, in order, until it wants no more or something takes time."""
        if self._is_working:
            return
        self._is_working = True
        effects, disk = self._effects, self.disk
        while not self.is_over and not self._is_waiting:
            if not effects:
                effects.extend(self.node.take())
                if not effects:
                    self.is_behind = False
                    break
            is_prompt = not (disk.is_full or disk.delay_s)
            if is_prompt or not _is_durable(effects[0]) or not self._must_wait():
                self._execute_next()
        self._is_working = False
        if not self.is_over:
            self._plan_tick()

    def _execute_next(self) -> None:
        effect = self._effects.popleft()
        if effect is READING_BEGINS:
            self._begin_reading()
        else:
            self._execute(effect)
        if self.crash_after is not None:
            self.crash_after -= 1
            if self.crash_after <= 0:
                self.crash()

    def _execute(self, effect: Any) -> None:
        self._watcher.executing(self._site, effect)
        store, method, _, told = do.WORK[type(effect)]
        at = self.disk.ledgers[effect.query] if store == "ledger" else self._stores[store]
        came = getattr(at, method)(effect)
        if told:
            getattr(self.node, told)(came, now_s=self._clock.now_s())

    def _must_wait(self) -> bool:
        """A full disk is tried again; a slow one takes its time, once for each effect."""
        if self.disk.is_full:
            self._is_waiting = self.is_behind = True
            self._around.queue.after(RETRY_S, self._resume, False)
        elif self.disk.delay_s:
            self._is_waiting = self.is_behind = True
            self._around.queue.after(self.disk.delay_s, self._resume, True)
        return self._is_waiting

    def _resume(self, is_done: bool) -> None:
        if self.is_over:
            return
        self._is_waiting = False
        if is_done:
            self._execute_next()
        self.work()

    def _plan_tick(self) -> None:
        queue = self._around.queue
        due_s = self._clock.true_s(self.node.next_deadline_s())
        due_s = max(due_s, queue.now_s + TICK_S_MIN)
        if due_s < self._tick_s:
            self._tick_s = due_s
            queue.at(due_s, self.tick)

    # ---- the network

    def transmit(self, effect: do.Transmit) -> None:
        network = self._around.network
        if not network.send(self._name, effect.to, effect.message, effect.lane_priority):
            self._around.queue.after(0.0, self._return_unsent, effect)

    def _return_unsent(self, effect: do.Transmit) -> None:
        """The link closed while the effect waited behind a slow disk: surely not written."""
        if not self.is_over and not self._around.network.is_linked(self._name, effect.to):
            self.unlinked(effect.to, [effect.message])

    def dial(self, effect: do.Dial) -> None:
        self._around.network.dial(self._name, effect.site)

    def hang_up(self, effect: do.Hangup) -> None:
        self._around.network.hang_up(self._name, effect.site)

    # ---- what the site reads

    def load_rows(self, send: do.LoadAndSend) -> None:
        rows = self.disk.cube.rows(send.query, send.pane, send.updates)
        self._watcher.loaded(self._site, send, rows)
        self.node.loaded(send, rows, now_s=self._clock.now_s())

    def install(self, effect: do.Installed) -> None:
        """A new query is in batches a moment later, and until then nothing else is done."""
        if effect.query.reads_cube:
            after_s = self._around.random.uniform(*self._around.pace.batch_s)
            self._around.queue.after(after_s, self._ask, effect.query)
            return
        self.disk.cube.states.begin(effect.query)
        if effect.is_new:
            self._is_waiting = self.is_behind = True
            after_s = self._around.random.uniform(*self._around.pace.install_s)
            self._around.queue.after(after_s, self._read_from, effect.query)
        elif self.spark is not None:
            self.spark.queries[str(effect.query.id)] = effect.query

    def _ask(self, question: Query) -> None:
        """Once a record of it is written, and there is room for what it gets."""
        if self.is_over or str(question.id) not in self.disk.installs:
            return
        if not self.disk.may_be_asked(question):
            self._around.queue.after(RETRY_S, self._ask, question)
            return
        found = self.disk.look(question, retention_s=self._around.pace.retention_s)
        if found is None:
            self._around.queue.after(LOOKED_S, self._read_asked, question)
        else:
            self._tell(self.node.asked, found)

    def _read_asked(self, question: Query) -> None:
        """What was seen a moment ago, whatever has gone meanwhile."""
        if self.is_over or str(question.id) not in self.disk.installs:
            return
        if self.disk.may_be_asked(question):
            self._tell(self.node.asked, self.disk.ask(question))
        else:
            self._around.queue.after(RETRY_S, self._ask, question)

    def alter(self, effect: do.Altered) -> None:
        self.disk.cube.settings[effect.query] = effect.settings

    def _read_from(self, query: Query) -> None:
        if self.is_over or self.spark is None:
            return
        self._is_waiting = False
        self.spark.queries[str(query.id)] = query
        now_s = self._clock.now_s()
        self.node.read_from(str(query.id), at_s=now_s, now_s=now_s)
        self.work()

    def _begin_reading(self) -> None:
        if self.spark is not None:
            self.spark.start()

    def withdraw(self, effect: do.Withdrawn) -> None:
        if self.spark is not None:
            self.spark.queries.pop(effect.query, None)

    def live_anew(self, effect: do.LiveAnew) -> int:
        incarnation = self._incarnation_above(effect.above)
        self.disk.cube.live_anew(incarnation, born_s=self._clock.wall_s())
        self.disk.incarnation = incarnation
        return incarnation

    def _incarnation_above(self, above: int) -> int:
        return incarnation_above(above, chance=self._around.random.getrandbits(CHANCE_BITS))

    # ---- what the site answers

    def begin_answers(self, effect: do.AnswersBegun) -> None:
        query = effect.query
        if str(query.id) not in self.disk.ledgers:
            self.disk.ledgers[str(query.id)] = LedgerDisk(query, self._around.merger)

    def end_answers(self, effect: do.AnswersEnded) -> None:
        self.disk.ledgers.pop(effect.query, None)

    def suspend_answers(self, effect: do.AnswersSuspended) -> None:
        """Nobody here takes more than its share."""

    def rise_above(self, effect: do.RiseAbove) -> int:
        self.disk.root_incarnation = self._incarnation_above(effect.above)
        return self.disk.root_incarnation

    def all_answered(self, effect: do.Ended) -> None:
        """The checkers see for themselves."""

    def answer(self, effect: do.Answer) -> None:
        takes_s = self._around.random.uniform(*self._around.pace.answer_s)
        self._around.queue.after(takes_s, self._publish, effect)

    def _publish(self, answer: do.Answer) -> None:
        """Results and ledger in one step; until then a crash leaves nothing of the answer."""
        if self.is_over or answer.query not in self.disk.ledgers:
            return
        if self.disk.is_full:
            self._around.queue.after(RETRY_S, self._publish, answer)
            return
        failed = None
        if self._around.random.random() < self._around.pace.answer_fails_share:
            failed = "executor lost"
        elif not self._has_pieces(answer):
            failed = "a query that it is made of was removed"
        else:
            self._store_answer(answer)
        self.node.answered(answer, now_s=self._clock.now_s(), failed=failed)
        self.work()

    def _has_pieces(self, answer: do.Answer) -> bool:
        """Of a level the ledgers of all queries that its windows are made of."""
        made_of = {one.query for request in answer.requests for one in request.pieces}
        return made_of <= self.disk.ledgers.keys()

    def _store_answer(self, answer: do.Answer) -> None:
        ledger = self.disk.ledgers[answer.query]
        rows = {
            request.window: self._rows_of(request, ledger, answer.kept_through)
            for request in answer.requests
        }
        self._watcher.published(self._site, answer, rows)
        ledger.publish(answer)

    def _rows_of(self, request: WindowAnswer, ledger: LedgerDisk, kept_through: int) -> Rows:
        """Of a level also what other queries have."""
        if not request.pieces:
            return ledger.rows(request.panes, kept_through=kept_through)
        found = [
            self.disk.ledgers[one.query].rows(one.panes, kept_through=one.kept_through)
            for one in request.pieces
            if one.query in self.disk.ledgers
        ]
        rows: Bag = self._around.merger.merge(found)
        level = ledger.query.stands_for
        has_sample = level is not None and level.coarsening.halvings > 0
        return in_sample(ledger.query, rows) if has_sample else rows

    # ---- people

    def notice(self, effect: Notice) -> None:
        """They read the transcript."""


def _is_durable(effect: Any) -> bool:
    return effect is not READING_BEGINS and do.WORK[type(effect)].is_durable
