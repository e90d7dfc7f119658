"""The keeper of the JVM: there is one, or there will be one again, and nobody keeps a dead one.

Whoever works with Spark takes a *lease* of the session and gives it back. That makes the two ends
of a JVM one case:

* It **died**. The lease is over; what was waiting for an answer gets an error, because the sockets
  are closed. How it died is told in one sentence, with the queries that were at work.
* It is **replaced**, because what piles up in every long-lived JVM has come near a limit. New
  leases are refused, the holders finish the batch or the answer that is under way and let go.

Then the old JVM is ended for sure, and a new one is started, after a pause that doubles while JVMs
die young. Nothing is lost by either: what was read is what the cubes say is committed, so streams
begin a new epoch, and the root asks for its answers again.

A JVM that runs but does not answer is ended by the keeper: it would hold up everybody for ever. So
is one whose cluster has let it down: a master that is started anew may not know our application,
which then waits for executors that nobody will give it, or has its context ended by the master.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import structlog

from headwater.errors import HeadwaterError, SparkDown, SparkFailed
from headwater.spark.jvm.alone import Alone
from headwater.spark.jvm.jvm_end import (
    JvmDied,
    JvmEnd,
    JvmNotStarted,
    JvmReplaced,
    JvmStarted,
    SparkEvent,
    let_down,
    overdue,
    stuck,
)
from headwater.spark.jvm.lease import Lease, Work
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.jvm.vitals import Vitals, collect_garbage, read_vitals
from headwater.spark.spark_message import SPARK_ERRORS

log = structlog.get_logger()

ORDINARY = (*SPARK_ERRORS, HeadwaterError)
"""Errors that a JVM tells while it lives."""


class KeeperLimits(msgspec.Struct, frozen=True):
    look_s: float = 0.25
    """How often the keeper looks whether it is to end. A death is noticed at once."""
    vitals_every_s: float = 10.0
    answer_s_max: float = 120.0
    """A JVM that has not told its vitals for so long is stuck. Collections of a full heap take
    seconds, and an overloaded machine may stop everything for a minute."""
    drain_s_max: float = 60.0
    """How long holders may take to let go before the JVM is ended under them."""
    restart_s_min: float = 1.0
    restart_s_max: float = 60.0
    """The pause before a start doubles from the one to the other while JVMs die young."""
    steady_s: float = 600.0
    """A JVM that lived so long did not die young; nor is one replaced sooner again."""
    gone_s: float = 0.5
    """How long the end of the process may come after the end of its sockets."""
    executors_s_max: float = 60.0
    """How long work may wait on a cluster that gives no executor at all."""


class SparkStatus(msgspec.Struct, frozen=True):
    """For metrics; safe to ask for from any thread."""

    is_up: bool
    deaths: dict[str, int]
    """By cause."""
    replacements: int
    failed_starts: int
    leases: int
    vitals: Vitals | None
    """As they were at the last look."""


class SparkKeeper:
    """Safe to use from any thread; the JVM itself is touched by the keeper's own alone."""

    def __init__(
        self,
        start: Callable[[], RunningSpark],
        *,
        told: Callable[[SparkEvent], None] = lambda _: None,
        suspected: Callable[[Work], bool] = lambda _: False,
        limits: KeeperLimits = KeeperLimits(),  # noqa: B008 - it is frozen
        vitals: Callable[[RunningSpark], Vitals] = read_vitals,
        collect: Callable[[RunningSpark], None] = collect_garbage,
    ) -> None:
        """``told`` is called by the keeper's thread, in the order of events. What is ``suspected``
        of ending JVMs has one for itself."""
        self._start = start
        self._told = told
        self._suspected = suspected
        self._alone = Alone()
        self._limits = limits
        self._read_vitals = vitals
        self._collect = collect
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._running: RunningSpark | None = None
        self._generation = 0
        self._leases: set[Lease] = set()
        self._works: list[tuple[RunningSpark, Work]] = []
        self._why_down = "Spark has not been started yet"
        self._deaths: Counter[str] = Counter()
        self._replacements = 0
        self._failed_starts = 0
        self._vitals: Vitals | None = None
        self._began_s = time.monotonic()
        self._young_ends = 0
        self._bare_since_s: float | None = None
        """Since when there has been work and no executor for it."""
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="spark-keeper", daemon=True)

    def open(self, *, is_patient: bool = False) -> None:
        """Start the first JVM, and keep one from then on. Raises where the first does not start.

        ``is_patient``: what Spark's own failure prevents is told and tried again, like every later
        start. A cluster may be away when an agent starts, and an agent is more than its Spark.
        """
        try:
            self._take(self._start())
        except SparkFailed as error:
            if not is_patient:
                raise
            self._not_started(error, self._limits.restart_s_min)
        self._thread.start()

    def close(self) -> None:
        """End the JVM; nothing is started any more."""
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join(self._limits.drain_s_max)
        running = self._withdraw("Spark is being stopped")
        if running is not None:
            running.stop()

    def lease(self) -> Lease:
        with self._lock:
            if self._running is None:
                raise SparkDown(self._why_down)
            lease = Lease(self, self._running, self._generation)
            self._leases.add(lease)
            return lease

    def status(self) -> SparkStatus:
        with self._lock:
            return SparkStatus(
                is_up=self._running is not None,
                deaths=dict(self._deaths),
                replacements=self._replacements,
                failed_starts=self._failed_starts,
                leases=len(self._leases),
                vitals=self._vitals,
            )

    def condemn(self, running: RunningSpark, waited_s: float) -> None:
        """It does not answer. The keeper finds it dead and does the rest."""
        with self._lock:
            if running is not self._running:
                return
        running.kill(stuck(waited_s))

    def end_of(self, running: RunningSpark) -> JvmEnd | None:
        """How it ended, if it has, or is just about to: its sockets are closed first."""
        return running.end() if running.ends_within(self._limits.gone_s) else None

    # For leases

    def let_go(self, lease: Lease) -> None:
        with self._changed:
            self._leases.discard(lease)
            self._changed.notify_all()

    @contextlib.contextmanager
    def work_under_way(self, running: RunningSpark, work: Work) -> Iterator[None]:
        with self._alone.at_work(alone=self._suspected(work)):
            yield from self._counted((running, work))

    def _counted(self, entry: tuple[RunningSpark, Work]) -> Iterator[None]:
        running = entry[0]
        with self._lock:
            self._works.append(entry)
        try:
            yield
        except ORDINARY:
            self._done(entry)
            raise
        except BaseException:
            # The sockets of a dying JVM close before the process is gone.
            if not running.ends_within(self._limits.gone_s):
                self._done(entry)
            raise
        else:
            self._done(entry)

    def _done(self, entry: tuple[RunningSpark, Work]) -> None:
        with self._lock:
            if entry in self._works:
                self._works.remove(entry)

    # The keeper's thread

    def _keep(self) -> None:
        """No exception may end it: without it a JVM that dies stays dead."""
        while not self._is_closing.is_set():
            try:
                if self._running is None:
                    self._start_again()
                else:
                    self._watch(self._running)
            except Exception:
                log.exception("the keeper of Spark is in trouble, and goes on")
                self._is_closing.wait(self._limits.restart_s_min)

    def _watch(self, running: RunningSpark) -> None:
        """Until it has ended, or has been replaced, or we are to end."""
        look_s = time.monotonic()
        asker = ThreadPoolExecutor(1, thread_name_prefix="spark-vitals")
        try:
            while not self._is_closing.is_set():
                if running.ends_within(self._limits.look_s):
                    self._bury(running)
                    return
                if time.monotonic() < look_s + self._limits.vitals_every_s:
                    continue
                near = self._look(running, asker)
                look_s = time.monotonic()
                if near is not None and self._lived_s() >= self._limits.steady_s:
                    self._replace(running, near)
                    return
        finally:
            asker.shutdown(wait=False, cancel_futures=True)

    def _lived_s(self) -> float:
        return time.monotonic() - self._began_s

    def _look(self, running: RunningSpark, asker: ThreadPoolExecutor) -> str | None:
        """Which limit is near. What a collection frees does not count, so there is one first."""
        try:
            vitals = self._ask(running, asker)
            self._end_if_let_down(running, vitals)
            if vitals.near() is None:
                return None
            return self._ask(running, asker, self._collect).near()
        except Exception as error:  # it is dying, or was ended for not answering: that is seen next
            log.warning("Spark does not tell its vitals", error=repr(error)[:500])
            return None

    def _end_if_let_down(self, running: RunningSpark, vitals: Vitals) -> None:
        """By its cluster. What is killed here is found dead by the next look."""
        now_s, limit_s = time.monotonic(), self._limits.executors_s_max
        is_bare = vitals.executors == 0 and bool(self._works)
        self._bare_since_s = (self._bare_since_s or now_s) if is_bare else None
        if vitals.is_stopped:
            running.kill(let_down("the cluster has ended Spark's context"))
        elif self._bare_since_s is not None and now_s >= self._bare_since_s + limit_s:
            running.kill(let_down(f"its cluster gave no executors for {limit_s:.0f} s"))

    def _ask(
        self,
        running: RunningSpark,
        asker: ThreadPoolExecutor,
        first: Callable[[RunningSpark], None] = lambda _: None,
    ) -> Vitals:
        def ask() -> Vitals:
            first(running)
            return self._read_vitals(running)

        asked = asker.submit(ask)
        try:
            vitals = asked.result(self._limits.answer_s_max)
        except TimeoutError:
            self.condemn(running, self._limits.answer_s_max)
            raise
        with self._lock:
            self._vitals = vitals
        return vitals

    def _bury(self, running: RunningSpark) -> None:
        end = running.end()
        with self._lock:
            at_work = tuple(work for of, work in self._works if of is running)
        assert end is not None, "it has ended"
        self._withdraw(str(end))
        with self._lock:
            self._deaths[end.cause] += 1
            is_young = self._lived_s() < self._limits.steady_s
            self._young_ends = self._young_ends + 1 if is_young else 0
        self._tell(JvmDied(end, at_work))
        self._drain(running)
        running.stop()

    def _replace(self, running: RunningSpark, near: str) -> None:
        why = f"Spark is being replaced, because {near}"
        log.info("replaces its JVM", why=near)
        self._withdraw(why)
        if not self._drain(running):
            # Stopped in order, its jobs would fail as if they had failed by themselves.
            running.kill(overdue(self._limits.drain_s_max))
        running.stop()
        with self._lock:
            self._replacements += 1
            self._young_ends = 0
        self._tell(JvmReplaced(near))

    def _tell(self, event: SparkEvent) -> None:
        """Whoever is told may be in trouble; what is left to do here is done all the same."""
        try:
            self._told(event)
        except Exception:
            log.exception("an event of Spark could not be told", text=event.text)

    def _drain(self, running: RunningSpark) -> bool:
        """Whether all holders let go in time."""
        with self._changed:
            is_free = self._changed.wait_for(lambda: not self._leases, self._limits.drain_s_max)
            if not is_free:
                log.warning("holders of Spark do not let go", leases=len(self._leases))
                self._leases.clear()
            self._works = [entry for entry in self._works if entry[0] is not running]
            return is_free

    def _withdraw(self, why: str) -> RunningSpark | None:
        """No new leases, and those that are out are over."""
        with self._lock:
            running, self._running = self._running, None
            self._why_down = why
            for lease in self._leases:
                lease.is_over = True
            return running

    def _start_again(self) -> None:
        limits = self._limits
        pause_s = min(
            limits.restart_s_min * 2 ** max(0, self._young_ends - 1), limits.restart_s_max
        )
        if self._young_ends and self._is_closing.wait(pause_s):
            return
        try:
            running = self._start()
        except Exception as error:
            self._not_started(error, min(2 * pause_s, limits.restart_s_max))
            return
        if self._is_closing.is_set():
            running.stop()
            return
        self._take(running)
        self._tell(JvmStarted(self._generation))

    def _not_started(self, error: Exception, pause_s: float) -> None:
        with self._lock:
            self._failed_starts += 1
            self._young_ends += 1
            self._why_down = f"Spark did not start: {error}"[:500]
        self._tell(JvmNotStarted(str(error)[:500], pause_s))

    def _take(self, running: RunningSpark) -> None:
        with self._lock:
            self._bare_since_s = None
            self._began_s = time.monotonic()
            self._generation += 1
            self._running = running
            self._vitals = None
