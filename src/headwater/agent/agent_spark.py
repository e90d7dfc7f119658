"""The Spark of one agent: its keeper, the host of its sources, its root part, and its history.

An agent outlives its JVMs. What a death means for others is little: streams begin a new epoch and
answers are asked for again. What it means for people is written down and shown.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from headwater.agent.care.death_book import Death, DeathBook
from headwater.agent.config import AgentConfig
from headwater.errors import ConfigurationError
from headwater.plan.notice import Notice
from headwater.plan.over_limit import OVER_LIMIT
from headwater.spark.cluster.cluster import is_cluster
from headwater.spark.jvm.jvm import JvmIdentity, end_jvm
from headwater.spark.jvm.jvm_end import JvmDied, JvmNotStarted, JvmReplaced, SparkEvent
from headwater.spark.jvm.keeper import KeeperLimits, SparkKeeper, SparkStatus
from headwater.spark.jvm.lease import BATCH, ROOT_PART
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.root.root_part import RootSpark
from headwater.spark.rows.handover import HandoverPlace
from headwater.spark.site.site_host import SiteHost

log = structlog.get_logger()

JVM = "jvm.json"
BLAMED = OVER_LIMIT + "the JVM ended twice while it was at work, the last time with it alone: {}"
BLAMED_ROOT = OVER_LIMIT + "its root part ended the JVM twice, the last time alone at work: {}"
JVM_END_S_MAX = 20.0
"""How long a left-behind JVM may take to end before it is ended by force."""


class AgentSpark:
    """Opened before the agent is ready, closed when it ends."""

    def __init__(
        self,
        config: AgentConfig,
        *,
        now_s: Callable[[], float],
        tell: Callable[[Notice], None],
        limits: KeeperLimits | None = None,
        blame: Callable[[str, str], None] = lambda query_id, why: None,
        blame_root: Callable[[str, str], None] = lambda query_id, why: None,
    ) -> None:
        """``tell`` is called by the keeper's thread, and so are ``blame`` and ``blame_root``, with
        a query whose site part, or root part, ends the JVM and why it is thought to."""
        self._config = config
        self._directory = Path(config.directory)
        self._now_s = now_s
        self._tell = tell
        self._blame = {BATCH: blame, ROOT_PART: blame_root}
        self._book = DeathBook(self._directory)
        self._keeper = SparkKeeper(
            self._start,
            told=self._told,
            suspected=self._book.is_suspected,
            limits=limits or KeeperLimits(),
        )
        self._host: SiteHost | None = None

    def open(self) -> None:
        """Raises where no JVM comes up; takes seconds. A cluster that is away is waited for."""
        end_left_behind(self._directory)
        self._clear_shared()
        self._keeper.open(is_patient=is_cluster(self._config.spark.master))

    def host(self) -> SiteHost:
        """Reads the site's sources; ended by ``close``."""
        self._host = SiteHost(
            self._keeper,
            self._directory / "spark",
            batch_bytes_max=self._config.sources.batch_bytes_max,
            batch_rows_max=self._config.sources.batch_rows_max,
            shared=shared_directory(self._config),
            limits=self._config.sources.batch_limits,
            job_s_max=self._config.spark.query_batch_s_max,
            suspicion=self._book,
        )
        return self._host

    def root(self) -> RootSpark:
        place = shared_directory(self._config) or self._directory / "spark"
        return RootSpark(
            self._keeper,
            handover=HandoverPlace(place / "handover"),
            job_s_max=self._config.spark.answer_s_max,
            suspicion=self._book,
            suspect_s_max=self._config.spark.query_batch_s_max,
        )

    def close(self) -> None:
        if self._host is not None:
            self._host.stop()
        self._keeper.close()
        self._clear_shared()
        (self._directory / JVM).unlink(missing_ok=True)

    def _clear_shared(self) -> None:
        """What a former life left there, and what this one leaves: nobody needs it."""
        shared = shared_directory(self._config)
        if shared is not None:
            shutil.rmtree(shared, ignore_errors=True)

    # For views and metrics, from any thread

    def status(self) -> SparkStatus:
        return self._keeper.status()

    def deaths_of(self, query_id: str) -> tuple[Death, ...]:
        """Deaths in which this query was at work here, oldest first."""
        return self._book.of_query(query_id)

    def suspended_roots(self) -> dict[str, str]:
        """Queries that are not answered here any more, and why."""
        return self._book.suspended()

    def suspend_root(self, query_id: str, why: str) -> None:
        """A write: the next life of the agent does not begin with it either."""
        self._book.suspend(query_id, why)

    def forget_root(self, query_id: str) -> None:
        """The query was removed."""
        self._book.forget(query_id)

    @property
    def trouble_count(self) -> int:
        return 0 if self._host is None else self._host.trouble_count

    # For the keeper

    def _start(self) -> RunningSpark:
        settings = self._config.spark
        shared = shared_directory(self._config)
        running = start_session(
            SparkConfig(
                master=settings.master,
                memory=settings.memory,
                settings=tuple(settings.settings.items()),
                directory=str(self._directory / "spark"),
                log=str(self._directory / "spark.log"),
                shared=None if shared is None else str(shared),
                secret=settings.secret,
            )
        )
        try:
            (self._directory / JVM).write_bytes(msgspec.json.encode(running.jvm))
        except BaseException:
            running.stop()  # nobody would know of it, and a process can have one session only
            raise
        return running

    def _told(self, event: SparkEvent) -> None:
        if isinstance(event, JvmDied):
            blamed = self._book.add(event, at_s=self._now_s())
            if blamed is not None:
                text = BLAMED if blamed.what == BATCH else BLAMED_ROOT
                self._blame[blamed.what](blamed.query, text.format(event.text))
        kind, is_bad = kind_of(event)
        (log.error if is_bad else log.info)("spark", kind=kind, text=event.text)
        self._tell(Notice("spark", kind, event.text))


def shared_directory(config: AgentConfig) -> Path | None:
    """This agent's own, below the one that it shares with executors, and maybe with other agents.

    Each life of the agent has the same one, so that what a former life left is found and removed.
    """
    if config.spark.shared is None or not is_cluster(config.spark.master):
        return None
    place = f"{socket.gethostname()} {Path(config.directory).absolute()}"
    mark = hashlib.sha256(place.encode()).hexdigest()[:12]
    return Path(config.spark.shared) / f"headwater-{config.site}-{mark}"


def kind_of(event: SparkEvent) -> tuple[str, bool]:
    """(kind of its notice, whether it is trouble)."""
    match event:
        case JvmDied():
            return f"died: {event.end.cause}", True
        case JvmNotStarted():
            return "not started", True
        case JvmReplaced():
            return "replaced", False
        case _:
            return "started", False


def end_left_behind(directory: Path) -> None:
    """A killed agent's JVM may still be at work; it must be gone before another one reads."""
    try:
        identity = msgspec.json.decode((directory / JVM).read_bytes(), type=JvmIdentity)
    except FileNotFoundError:
        return
    except msgspec.DecodeError:
        (directory / JVM).unlink()
        return
    if not end_jvm(identity, wait_s=JVM_END_S_MAX):
        raise ConfigurationError(
            f"{directory}: a JVM of an earlier agent (process {identity.pid}) does not end; "
            "end it by hand"
        )
    (directory / JVM).unlink(missing_ok=True)
