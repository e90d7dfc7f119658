"""One site at work: the pure node, and the world that it is driven in.

::

    network ──messages──► node ──effects──► stores, network, Spark
    feeder  ──reports───►  │
    clock   ──ticks─────►  └─ answers ──► AnswerRunner ──► results ──► watchers

Everything that touches the node happens on one event loop, so the node needs no locks. The loop
below has no decisions in it: it ticks, takes what the node wants done, and does it.

There is no half-dead agent. What looks after one thing now and then (a source, trees, certificates)
tells of its trouble and tries again. What the node itself raises is a mistake of ours, and its
state can't be trusted any more: ``failure`` says it in a sentence, and the process ends with it,
for a new start takes up what is on the disk.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import structlog

from headwater.agent.agent_spark import AgentSpark
from headwater.agent.answers.answer_runner import AnswerRunner, LeftOuts
from headwater.agent.answers.answers_shell import AnswersShell
from headwater.agent.asking.asked_results import forget_answers
from headwater.agent.asking.log_questions import LogQuestions
from headwater.agent.asking.question_ends import QuestionEnds
from headwater.agent.asking.site_questions import SiteQuestions
from headwater.agent.budget_book import BudgetBook
from headwater.agent.effects import EffectRunner, NetworkShell
from headwater.agent.input.asides import Shedding
from headwater.agent.input.feeder import Feeder
from headwater.agent.input.fill_places import fill_places
from headwater.agent.input.site_shell import SiteShell
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.agent.threads import SiteThreads, done_by
from headwater.errors import ConfigurationError, StoreBroken, StoreError, UnreadableRow
from headwater.net.network import Network
from headwater.node import effects as fx
from headwater.node.node import Node
from headwater.overlay.messages import Message
from headwater.placement.plan_trees import plan_trees
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Command, Install
from headwater.plan.duty import Admit, Duty
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.root.outputs import RootKept
from headwater.spark.asked.cube_job import CubeSpark
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost

log = structlog.get_logger()
T = TypeVar("T")

NOTICES_MAX = 200
"""Notices that are kept to be shown."""
RETENTION_EVERY_S = 60.0
SOON_S = 1e-6
"""After a read: any later one is wanted."""


def federation_trees(roster: Roster, settings: RuntimeSettings) -> tuple[Tree, ...]:
    """On which commands travel: the same at every agent."""
    return plan_trees(roster, root=roster.home, branching=settings.branching, count=settings.trees)


class SiteRuntime:
    """Made for one life of a site: ``start``, then ``stop`` in peace, or ``kill`` like a crash."""

    def __init__(
        self,
        *,
        site: str,
        roster: Roster,
        settings: RuntimeSettings,
        stores: SiteStores,
        network: Network,
        now_s: Callable[[], float],
        admit: Admit,
        host: SiteHost | None = None,
        root_spark: RootSpark | None = None,
        spark: AgentSpark | None = None,
        ahead_s: Callable[[], float] = lambda: 0.0,
        trees: Sequence[Tree] | None = None,
        threads: SiteThreads | None = None,
    ) -> None:
        """Without ``host`` the site reads nothing, without ``root_spark`` it answers nothing;
        ``spark`` is for views and metrics. ``now_s`` is steady, and ``ahead_s`` how far the wall
        clock is ahead of it. Sites of one process share their ``trees`` and ``threads``."""
        self.site = site
        self.roster = roster
        self.stores = stores
        self.network = network
        self.spark = spark
        self.settings = settings
        self.now_s = now_s
        self._ahead_s = ahead_s
        self.trees = trees or federation_trees(roster, settings)
        """The federation's own, on which commands travel: the same at every agent."""
        self.node = Node(
            site=site,
            roster=roster,
            trees=self.trees,
            config=settings.node,
            merger_of=stores.book.merger_of,
            incarnation=stores.cube.incarnation,
            root_incarnation=stores.ledger.incarnation,
            root_start=stores.ledger.start_count,
            born_s=stores.cube.born_s,
            made_s=stores.cube.made_s,
            admit=admit if spark is None else _unless_suspended(admit, spark.suspended_roots()),
            signatures=network.signatures,
        )
        self.link_load = partial(self._tell, self.node.link_load)
        self.message = partial(self._tell, self.node.receive)
        """By a ``NetworkHandler``, as ``link_up`` and ``link_down``."""
        network.share_by(self.node.peer.shares)
        self.budgets = BudgetBook(site, roster, settings.node.budgets, link_count=settings.trees)
        self.budgets_change = asyncio.Lock()
        """Held while one is looked at and written down."""
        self.notices: deque[Notice] = deque(maxlen=NOTICES_MAX)
        self.notice_counts: Counter[str] = Counter()
        self.failure = ""
        """Why this site no longer works; empty while it does."""
        self.answer_count = 0
        """Publications of this life."""
        self.left_out_count = 0
        """Groups that they lack, because they can't be computed."""
        self.watchers: set[Callable[[Query, int], None]] = set()
        """Called with each publication."""
        self._threads = threads or SiteThreads(site)
        self.feeder = Feeder(
            site,
            stores.cube,
            settings.sources,
            host=host,
            now_s=now_s,
            wall_s=self.wall_s,
            report=partial(self._tell, self.node.batch_committed),
            read_from=lambda query_id, at_s: self._tell(self.node.read_from, query_id, at_s=at_s),
            begin_late=lambda query_id, at_s: self.node.edge.begin_late(query_id, at_s=at_s),
            read_past=lambda query_id, is_read: self.node.edge.read_past(query_id, is_read=is_read),
            offset_us=self.node.edge.offset_us,  # asked by Spark's threads
            next_wanted_s=self._next_wanted_s,
            future_tolerance_s=settings.node.edge.future_tolerance_s,
            future_keep_s=settings.node.edge.future_keep_s or settings.node.retention_s,
            notice=lambda kind, text: self.note("feeder", kind, text),
            unread=partial(self._tell, self.node.input_unread),
            remarked=partial(self._tell, self.node.input_remarks),
            poller=self._threads.poller,
            shedding=Shedding(
                lambda *what: self.node.edge.shedding.skips(*what, now_s=self.now_s()),
                partial(self._tell, self.node.edge.shedding.hear),
                partial(self._tell, self.node.edge.shedding.give_up),
            ),
            filled=partial(fill_places, site=roster.site(site), query_of=stores.book.query),
        )
        self.questions = SiteQuestions(
            site,
            stores.cube,
            stores.book,
            settings.ask,
            spark=None if host is None else CubeSpark(host.spark),
            live=lambda query_id: query_id in self.node.peer.live_queries(),
            listed_bytes=self.feeder.listed_bytes,
            told=lambda found: self._tell(self.node.asked, found),
            note=lambda kind, text: self.note("ask", kind, text),
            now_s=now_s,
        )
        self._log_questions = LogQuestions(
            stores.cube,
            settings.ask,
            self.questions.turns,
            begin=lambda query, is_new: self.feeder.install(query, is_new=is_new),
            withdraw=self.feeder.withdraw,
            listed_bytes=self.feeder.listed_bytes,
            told=lambda found: self._tell(self.node.asked, found),
            note=lambda kind, text: self.note("ask", kind, text),
        )
        self.question_ends = QuestionEnds(site)
        writer = self._threads.writer
        self._site = SiteShell(
            self.node,
            stores,
            self.feeder,
            self.questions,
            self._log_questions,
            writer=writer,
            now_s=now_s,
            note=self.note,
        )
        self._answers = AnswersShell(
            self.node,
            stores.ledger,
            None if root_spark is None else self._answer_runner(root_spark),
            spark,
            writer=writer,
            told=self._answered,
            note=self.note,
        )
        self.ended = self._answers.ended
        """Queries whose every window is final and published."""
        self.can_answer = root_spark is not None
        """False: a relay without Spark, which may have been named as a root all the same."""
        self._runner = EffectRunner(
            self.node,
            {
                "network": NetworkShell(network),
                "cube": stores.cube,
                "site": self._site,
                "ledger": stores.ledger,
                "answers": self._answers,
                "commands": stores.commands,
                "people": self,
            },
            writer=writer,
            now_s=now_s,
        )
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._retained_s = now_s()

    def _answer_runner(self, root_spark: RootSpark) -> AnswerRunner:
        return AnswerRunner(
            self.stores,
            root_spark,
            workers=self._threads.answers,
            told=self._answered,
            published=self._published,
            damaged=self._found_damaged,
            noted=lambda query, text: self.note("root", "windows differ", f"{query.id}: {text}"),
        )

    async def start(self) -> None:
        """Take up what the disk has, open the network, begin to work."""
        await self.take_up()
        await self.join()
        self.begin()

    async def take_up(self) -> None:
        """What the disk has."""
        stores = self.stores
        ledgers, unread = self._ledgers()
        self.node.restore(
            commands=stores.commands.live(),
            counts=stores.commands.counts(),
            cube=stores.cube.restore(),
            ledgers=ledgers,
            aside=stores.commands.set_aside(),
            unread_records=stores.cube.unread(),
            unread_ledgers=unread,
            now_s=self.now_s(),
        )
        self._restore_budgets()
        await self._do_effects(self.node.take())
        self.feeder.inbox.commanded = self.node.peer.commanded()

    def take_budget(self, budget: SiteBudget) -> None:
        """An operator has commanded it, and it is on the disk."""
        self.budgets.take(budget)
        self._use_budgets()

    def _restore_budgets(self) -> None:
        """What was commanded in former lives, if it is still an operator's and can be kept."""
        signatures, good = self.network.signatures, []
        for one in self.stores.commands.budgets():
            if signatures.is_command_of(one.operator, one, is_counted=True):
                good.append(one)
            else:
                text = f"the budget of {one.to or 'all links'}, commanded by {one.operator[:80]!r}"
                self.note("agent", "budget left alone", f"{text}: no signature holds")
        for fault in self.budgets.restore(good):
            self.note("agent", "budget left alone", fault)
        self._use_budgets()

    def _use_budgets(self) -> None:
        present = self.budgets.present
        self.network.use_budgets(present)
        self.node.peer.use_budgets(present)

    def _ledgers(self) -> tuple[list[RootKept], dict[str, str]]:
        """Of all queries that are answered here; and those that can't be read, and why."""
        found, unread = [], {}
        for query_id in self.stores.ledger.queries():
            try:
                found.append(self.stores.ledger.restore(query_id))
            except UnreadableRow as error:
                unread[query_id] = f"{error}; headwater resume begins the stream anew"
        return found, unread

    async def join(self) -> None:
        """From here on the others can reach it."""
        await self.network.start(self)

    def begin(self) -> None:
        """To work: to read, dial and answer."""
        self._tasks = [
            asyncio.create_task(self._guarded(self._drive, "node")),
            asyncio.create_task(self._guarded(self.feeder.run, "feeder")),
        ]

    async def stop(self) -> None:
        """End in order: no new input, then no new words, then the stores."""
        await self.rest()
        await self.feeder.stop()
        await self._answers.stop()
        await self.network.stop()
        await self._threads.beside(self._close)

    async def kill(self) -> None:
        """End as a crash would: nothing that is not yet on the disk gets there."""
        await self.rest()
        await self.feeder.stop()
        await self.network.stop()
        await self._answers.stop()
        await self._threads.beside(self._close)

    async def rest(self) -> None:
        """Nothing of its own accord any more."""
        await self.questions.stop()
        await self._log_questions.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def _close(self) -> None:
        self._threads.close()
        self.stores.close()

    # What operators and views ask

    def wall_s(self) -> float:
        """The time of day, as the node believes it."""
        return self.now_s() + self.node.ahead_s

    def command(self, command: Command) -> None:
        """Give a command that an operator has signed, or, where all sites are one process, has not
        yet. Raises ``ConfigurationError`` where it is refused."""
        if command.proof is None and self.network.operator is not None:
            command = self.network.operator.sign(command)
        if isinstance(command, Install):
            self.stores.book.add_if_sound(command.query)
        problem = self._tell(self.node.command, command)
        if problem is not None:
            raise ConfigurationError(f"refused: {problem}")

    def replan(self, install: Install) -> None:
        """New trees for a query that is answered here."""
        self._tell(self.node.replan, install)

    def renewed(self) -> None:
        """The agent's certificate may be another one from now on."""
        self._tell(self.node.renewed)

    def suspend(self, query_id: str, why: str) -> None:
        """The query takes more than its share of this site."""
        self._tell(self.node.suspend, query_id, why)

    def suspend_answers(self, query_id: str, why: str) -> None:
        """The query's root part takes more than its share of this agent."""
        self._tell(self.node.suspend_answers, query_id, why)

    def troubles(self) -> dict[str, str]:
        """What does not work at this site now and is tried again, and why."""
        found = {f"source {name}": why for name, why in self.feeder.troubles().items()}
        if self._runner.trouble:
            found["writing"] = self._runner.trouble
        if self._site.load_trouble:
            found["reading rows"] = self._site.load_trouble
        return found

    def next_counter(self) -> int:
        return self.stores.commands.next_counter(self.site)

    # What the network tells (NetworkHandler)

    def link_up(self, site: str) -> None:
        self._tell(self.node.link_up, site)

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        self._tell(self.node.link_down, site, unsent=unsent)

    # The loop

    async def _drive(self) -> None:
        while True:
            self._wake.clear()
            self.stores.refuse_if_broken()
            now_s = self.now_s()
            self.node.wall_clock(self._ahead_s(), now_s=now_s)
            self.node.tick(now_s=now_s)
            effects = self.node.take()
            if effects:
                await self._do_effects(effects)
                # Others come to their turn, and what was sent arrives, before there is room anew.
                await asyncio.sleep(0)
                if self.node.is_wanted(now_s=self.now_s()):
                    continue
            self._answers.mend(now_s=now_s)
            self._end_questions(now_s)
            await self._retain(now_s)
            due_s = self.node.next_deadline_s() - self.now_s()
            pause_s = min(max(due_s, 0.001), self.settings.tick_s_max)
            await self._woken_within(pause_s)

    async def _woken_within(self, pause_s: float) -> None:
        """A timer that wakes us is less work than a timeout around the waiting, and there is one
        for each drive of each site."""
        timer = asyncio.get_running_loop().call_later(pause_s, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _do_effects(self, effects: Sequence[fx.Effect]) -> None:
        """What is commanded counts for readers once it is on the disk; it is found before, for
        more may be heard meanwhile."""
        has_commands = any(isinstance(effect, fx.CommandWrite) for effect in effects)
        commanded = self.node.peer.commanded() if has_commands else self.feeder.inbox.commanded
        await self._runner.run(effects)
        self.feeder.inbox.commanded = commanded

    def _end_questions(self, now_s: float) -> None:
        live = self.node.peer.live_queries()
        ended = self.question_ends.due(live, now_s=now_s, wall_s=self.wall_s())
        if ended:
            self._tell(self.node.end_questions, ended)
            names = {one.query.id.name for one in live.values()}
            results = self.stores.results_directory
            self._threads.writer.submit(lambda: forget_answers(results, live=names))

    async def _retain(self, now_s: float) -> None:
        """Let the cube go of what is too old or too much; what was not sent is declined."""
        if now_s - self._retained_s < RETENTION_EVERY_S:
            return
        self._retained_s = now_s
        try:
            retained = await done_by(
                self._threads.writer, lambda: self.stores.cube.retention(now_s=now_s)
            )
        except StoreBroken:
            raise
        except StoreError as error:
            self.note("disk", "retention waits", f"{error}; it is tried again")
            return
        self.questions.pinned_panes += retained.pinned
        if retained.declined:
            self.node.rows_gone(retained.declined, now_s=self.now_s())

    def _tell(self, hear: Callable[..., T], *what: Any, **more: Any) -> T:
        """The node hears something; what follows from it is done by the loop."""
        try:
            heard = hear(*what, now_s=self.now_s(), **more)
        except Exception as error:
            self._end_with("node", error)
            raise
        self._wake.set()
        return heard

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
        """A bug in the loop must be seen, not swallowed by a task nobody awaits."""
        try:
            await work()
        except Exception as error:
            self._end_with(what, error)
            raise

    def _end_with(self, what: str, error: Exception) -> None:
        """What was raised ends the agent: see above. The first reason is the one to show."""
        log.exception("stopped", site=self.site, part=what)
        reason = f"{self.site}: the {what} stopped: {type(error).__name__}: {error}"
        self.failure = self.failure or reason

    # What comes back

    def notice(self, effect: Notice) -> None:
        """What the node has to say to people."""
        self.note(effect.part, effect.kind, effect.text)

    def note(self, part: str, kind: str, text: str) -> None:
        """Show something to people, and count it."""
        self.notices.append(Notice(part, kind, text))
        self.notice_counts[f"{part}: {kind}"] += 1
        log.info("notice", site=self.site, part=part, kind=kind, text=text)

    def _next_wanted_s(self, source: str, after_s: float) -> float:
        """While the clock is doubted all is read as it comes: when it is believed panes may close
        at once, by the newest read that there was."""
        if self.node.is_clock_doubted:
            return after_s + SOON_S
        return self.node.edge.next_wanted_s(source, after_s=after_s, now_s=self.now_s())

    def _answered(self, answer: fx.Answer, failure: str | None, left_out: LeftOuts) -> None:
        self.left_out_count += sum(one.count for one in left_out.values())
        self._tell(self.node.answered, answer, failed=failure, left_out=left_out)

    def _found_damaged(self, query_id: str) -> None:
        self._answers.to_mend.add(query_id)
        self._wake.set()

    def _published(self, query: Query, seq: int) -> None:
        self.answer_count += 1
        for watcher in tuple(self.watchers):
            watcher(query, seq)


def _unless_suspended(admit: Admit, suspended: Mapping[str, str]) -> Admit:
    """A root part that ended JVMs in a former life of the agent is not begun again."""

    def admit_also(query: Query, duty: Duty, operator: str) -> str | None:
        is_over = duty is Duty.ANSWER and str(query.id) in suspended
        return suspended[str(query.id)] if is_over else admit(query, duty, operator)

    return admit_also
