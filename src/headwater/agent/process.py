"""One agent as a process: opened, ready, at work until it is told to end.

The order at the start matters. Certificates and the signed roster are read before anything is
opened: without them there is nothing to do. Of what is opened the directory's lock comes first, so
that a second agent fails before it has touched anything. A JVM that a killed agent has left behind
is ended before a new one is started, for it might still commit batches. The network opens last,
when there is something to say.

A JVM that dies later is replaced (``agent_spark``) and does not end the agent.
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
from headwater.agent.agent_spark import JVM as JVM
from headwater.agent.agent_spark import AgentSpark, end_left_behind
from headwater.agent.care.certificate_watch import CertificateWatch
from headwater.agent.clock import SiteClock
from headwater.agent.config import AgentConfig
from headwater.agent.control.audit import AuditLog
from headwater.agent.control.control import ControlDesk
from headwater.agent.control.front_desk import FrontDesk
from headwater.agent.control.rights import Rights
from headwater.agent.metrics import serve_metrics
from headwater.agent.replanning import keep_planned
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import RESULTS, SiteStores
from headwater.errors import ConfigurationError
from headwater.net.identity.certs import CertFiles
from headwater.net.identity.identity import Role
from headwater.net.identity.signed_roster import RosterTrust, SignedRoster, load_signed_roster
from headwater.net.identity.tls import Credentials
from headwater.net.network import NetLimits
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.plan.notice import Notice
from headwater.plan.roster import Site
from headwater.shown_text import escaped_json
from headwater.store.cube.retention import RetentionConfig
from headwater.store.owner_alone import UMASK, make_own

log = structlog.get_logger()

READY = "ready"
LOOK_EVERY_S = 0.5
EXIT_TO_BE_RESTARTED = 75
"""sysexits' EX_TEMPFAIL: try again."""


def run_agent(config: AgentConfig) -> None:
    """Run until SIGTERM or SIGINT; SIGHUP reads certificates and deny list again."""
    os.umask(UMASK)
    config.host.settle_in()
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
    return escaped_json(msgspec.json.encode(value, enc_hook=str).decode())


async def _run(config: AgentConfig) -> None:
    credentials = credentials_of(config)
    clock = SiteClock()
    signed = take_roster(config, credentials, now_s=clock.now_s())
    roster = signed.roster
    site = roster.site(config.site)
    _check_credentials(credentials, site)
    config.require_budgets(roster)
    directory = Path(config.directory)
    settings = RuntimeSettings.of(config)
    _keep_to_owner(config)
    stores = SiteStores(
        directory,
        site=config.site,
        clock=clock.now_s,
        retention=RetentionConfig(config.cube.retention_s, config.cube.retention_bytes),
        growing_rows_max=config.cube.growing_rows_max,
        summary_bytes_max=config.cube.summary_bytes_max,
        spool_bytes_max=config.sources.spool_bytes_max,
        readers=config.results_readers,
    )
    (directory / READY).unlink(missing_ok=True)
    desk = ControlDesk()
    spark = _agent_spark(config, clock, desk)
    try:
        if spark is not None:
            await asyncio.to_thread(spark.open)
            credentials.reload()  # Spark took its time, and nobody has watched the files
        network = TlsNetwork(
            site=config.site,
            roster=roster,
            roster_digest=signed.digest,
            credentials=credentials,
            codec=Codec(
                stores.book.schema, taker_of=stores.book.taker, ordinals_max=roster.ordinals
            ),
            listen=(config.listen.host, config.listen.port) if site.dialable else None,
            limits=NetLimits(queue_s_max=config.overlay.queue_s_max),
            budgets=config.links.budgets,
            control=_front_desk(desk, config).handle,
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
            admit=admit_with(config.policy, config.sources, site=config.site),
            host=spark.host() if spark is not None and site.has_data else None,
            root_spark=spark.root() if spark is not None else None,
            spark=spark,
        )
        desk.open(runtime)

        def reload() -> None:
            network.reload()
            runtime.renewed()

        watch = CertificateWatch(credentials.paths, reload)
        await _serve(runtime, config, signed, watch)
    finally:
        if spark is not None:
            await asyncio.to_thread(spark.close)
        with contextlib.suppress(Exception):
            stores.close()


def credentials_of(config: AgentConfig) -> Credentials:
    files = CertFiles(Path(config.tls.ca), Path(config.tls.certificate), Path(config.tls.key))
    return Credentials(files, deny=Path(config.tls.deny))


def take_roster(config: AgentConfig, credentials: Credentials, *, now_s: float) -> SignedRoster:
    """Before anything is opened: without a roster that an operator signed no agent starts."""
    signed = load_signed_roster(Path(config.roster), RosterTrust.of_agent(credentials))
    log.info(
        "roster",
        version=signed.roster.version,
        signed_by=signed.by.uri,
        signed_at_s=signed.signed_at_s,
        holds_from_s=signed.holds_from_s,
        digest=signed.digest.hex(),
    )
    if signed.holds_from_s > now_s:
        text = "it is taken at the start all the same; compare this machine's clock"
        log.warning("early roster", text=text, early_s=signed.holds_from_s - now_s)
    return signed


def _front_desk(desk: ControlDesk, config: AgentConfig) -> FrontDesk:
    return FrontDesk(
        desk.handle,
        Rights(config.policy.operators, site=config.site),
        AuditLog(Path(config.directory)),
        compiled=desk.compiled,
        live=desk.live,
    )


def _keep_to_owner(config: AgentConfig) -> None:
    """Before anything is opened there: a former version let others on this machine read it."""
    directory = Path(config.directory)
    wide = make_own(directory, results=directory / RESULTS, readers=config.results_readers)
    if wide:
        log.warning("closed to others", paths=[str(path) for path in wide])


def _check_credentials(credentials: Credentials, site: Site) -> None:
    """What the network can't know by itself: what the roster says, and what nobody would notice."""
    if credentials.identity.role is Role.RELAY and site.has_data:
        raise ConfigurationError(
            f"certificate of {site.name}: it is a relay's, which originates nothing, and the "
            f"roster gives {site.name} data; issue one with: headwater certs site, or say "
            "has_data = false in the roster"
        )
    if credentials.missing_deny is not None:
        text = "nobody is denied; if that is meant, put an empty file there"
        log.warning("no deny list", path=str(credentials.missing_deny), text=text)


def _agent_spark(config: AgentConfig, clock: SiteClock, desk: ControlDesk) -> AgentSpark | None:
    """None: this agent only carries. A JVM of a former configuration is ended all the same."""
    if config.spark.mode == "none":
        end_left_behind(Path(config.directory))
        return None
    loop = asyncio.get_running_loop()

    def tell(notice: Notice) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the log has it
            loop.call_soon_threadsafe(desk.note, notice)

    def blame(query_id: str, why: str) -> None:
        with contextlib.suppress(RuntimeError):  # the next life has the book, too
            loop.call_soon_threadsafe(desk.suspend, query_id, why)

    def blame_root(query_id: str, why: str) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(desk.suspend_answers, query_id, why)

    return AgentSpark(config, now_s=clock.now_s, tell=tell, blame=blame, blame_root=blame_root)


async def _serve(
    runtime: SiteRuntime, config: AgentConfig, signed: SignedRoster, certificates: CertificateWatch
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
        "ready",
        site=config.site,
        federation=signed.federation,
        sites=len(signed.roster.sites),
        incarnation=runtime.stores.cube.incarnation,
    )
    watches = [
        asyncio.create_task(_end_with(runtime)),
        asyncio.create_task(certificates.run()),
        asyncio.create_task(keep_planned(runtime)),
    ]
    await ends.wait()
    for watch in watches:
        watch.cancel()
    log.info("stopping", site=config.site)
    await runtime.stop()


async def _end_with(runtime: SiteRuntime) -> None:
    """An agent whose loop has died does nothing and would look healthy for ever.

    It ends at once, so that whoever supervises it starts it anew. Nothing is put in order before:
    the stores are made for being left at any moment.
    """
    while not runtime.failure:
        await asyncio.sleep(LOOK_EVERY_S)
    log.error("ends", site=runtime.site, why=runtime.failure)
    os._exit(EXIT_TO_BE_RESTARTED)
