"""One agent as a process: opened, ready, at work until it is told to end.

The order at the start matters. The directory's lock comes first, so that a second agent fails
before it has touched anything. A JVM that a killed agent has left behind is ended before a new one
is started, for it might still commit batches. The network opens last, when there is something to
say.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

import msgspec
import structlog

from headwater.agent.admission import admit_with
from headwater.agent.certificate_watch import CertificateWatch
from headwater.agent.clock import SiteClock
from headwater.agent.config import AgentConfig, load_roster
from headwater.agent.control import ControlDesk
from headwater.agent.metrics import serve_metrics
from headwater.agent.replanning import keep_planned
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.errors import ConfigurationError
from headwater.net.certs import CertFiles
from headwater.net.codec import Codec
from headwater.net.tls import Credentials
from headwater.net.tls_network import TlsNetwork
from headwater.plan.roster import Roster
from headwater.spark.jvm import JvmIdentity, end_jvm
from headwater.spark.root_part import RootSpark
from headwater.spark.session import RunningSpark, SparkConfig, start_session
from headwater.spark.site_host import SiteHost
from headwater.store.retention import RetentionConfig

log = structlog.get_logger()

READY = "ready"
JVM = "jvm.json"
JVM_END_S_MAX = 20.0
"""How long a left-behind JVM may take to end before it is ended by force."""
LOOK_EVERY_S = 0.5
EXIT_TO_BE_RESTARTED = 75
"""sysexits' EX_TEMPFAIL: try again."""


def run_agent(config: AgentConfig) -> None:
    """Run until SIGTERM or SIGINT; SIGHUP reads certificates and deny list again."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_json),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    asyncio.run(_run(config))


def _json(value: object, **_: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


async def _run(config: AgentConfig) -> None:
    federation, roster = load_roster(Path(config.roster))
    site = roster.site(config.site)
    directory = Path(config.directory)
    clock = SiteClock()
    settings = RuntimeSettings.of(config)
    stores = SiteStores(
        directory, site=config.site, clock=clock.now_s,
        retention=RetentionConfig(config.cube.retention_s, config.cube.retention_bytes),
        spool_bytes_max=config.sources.spool_bytes_max,
    )  # fmt: skip
    (directory / READY).unlink(missing_ok=True)
    spark, host = None, None
    try:
        spark = await asyncio.to_thread(_start_spark, config, directory)
        if spark is not None and site.has_data:
            host = SiteHost(
                spark.session, directory / "spark", batch_bytes_max=config.sources.batch_bytes_max
            )
        desk = ControlDesk()
        files = CertFiles(Path(config.tls.ca), Path(config.tls.certificate), Path(config.tls.key))
        credentials = Credentials(files, deny=Path(config.tls.deny))
        network = TlsNetwork(
            site=config.site,
            roster=roster,
            credentials=credentials,
            codec=Codec(stores.book.schema),
            listen=(config.listen.host, config.listen.port) if site.dialable else None,
            control=desk.handle,
            notify=lambda kind, text: log.info("network", kind=kind, text=text),
        )
        runtime = SiteRuntime(
            site=config.site,
            roster=roster,
            settings=settings,
            stores=stores,
            network=network,
            now_s=clock.now_s,
            ahead_s=clock.ahead_s,
            admit=admit_with(config.policy, config.sources),
            host=host,
            root_spark=RootSpark(spark.session) if spark is not None else None,
        )
        desk.open(runtime)
        watch = CertificateWatch(credentials.paths, network.reload)
        await _serve(runtime, spark, config, roster, federation, watch)
    finally:
        if host is not None:
            await asyncio.to_thread(host.stop)
        if spark is not None:
            await asyncio.to_thread(spark.stop)
            (directory / JVM).unlink(missing_ok=True)
        with contextlib.suppress(Exception):
            stores.close()


async def _serve(
    runtime: SiteRuntime,
    spark: RunningSpark | None,
    config: AgentConfig,
    roster: Roster,
    federation: str,
    certificates: CertificateWatch,
) -> None:
    ends = asyncio.Event()
    loop = asyncio.get_running_loop()
    for which in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(which, ends.set)
    loop.add_signal_handler(signal.SIGHUP, certificates.reload)
    await runtime.start()
    if config.metrics_port is not None:
        serve_metrics(runtime, config.metrics_port)
    (Path(config.directory) / READY).write_text(f"{os.getpid()}\n")
    log.info(
        "ready", site=config.site, federation=federation, sites=len(roster.sites),
        incarnation=runtime.stores.cube.incarnation,
    )  # fmt: skip
    watches = [
        asyncio.create_task(_end_with(runtime, spark)),
        asyncio.create_task(certificates.run()),
        asyncio.create_task(keep_planned(runtime)),
    ]
    await ends.wait()
    for watch in watches:
        watch.cancel()
    log.info("stopping", site=config.site)
    await runtime.stop()


async def _end_with(runtime: SiteRuntime, spark: RunningSpark | None) -> None:
    """An agent whose Spark or whose loop has died does nothing and would look healthy for ever.

    It ends at once, so that whoever supervises it starts it anew. Nothing is put in order before:
    a dead Spark answers no call, and the stores are made for being left at any moment.
    """
    while not runtime.failure and (spark is None or spark.is_alive()):
        await asyncio.sleep(LOOK_EVERY_S)
    log.error("ends", site=runtime.site, why=runtime.failure or "its Spark has ended by itself")
    os._exit(EXIT_TO_BE_RESTARTED)


def _start_spark(config: AgentConfig, directory: Path) -> RunningSpark | None:
    _end_left_behind(directory)
    if config.spark.mode == "none":
        return None
    running = start_session(
        SparkConfig(
            master=config.spark.master,
            memory=config.spark.memory,
            settings=tuple(config.spark.settings.items()),
            directory=str(directory / "spark"),
            log=str(directory / "spark.log"),
        )
    )
    (directory / JVM).write_bytes(msgspec.json.encode(running.jvm))
    return running


def _end_left_behind(directory: Path) -> None:
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
