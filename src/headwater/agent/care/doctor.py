"""What is wrong with an agent's place, found before or while it runs, and what to do about it.

Each check looks at one thing and changes nothing. *wrong* is what keeps an agent from starting, or
opens it to others; *doubtful* is what will, or may. A check that fails in an unexpected way is a
finding itself: whoever calls for a doctor is in trouble already.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec
from cryptography import x509

from headwater.agent.config import AgentConfig
from headwater.agent.input.declarations import read_declarations
from headwater.agent.stores import RESULTS
from headwater.errors import HeadwaterError
from headwater.net.identity.certs import CertFiles
from headwater.net.identity.identity import Role
from headwater.net.identity.signed_roster import RosterTrust, load_roster_text, load_signed_roster
from headwater.net.identity.tls import Credentials, read_serials
from headwater.plan.roster import Roster, Site
from headwater.spark.cluster.cluster import Network, is_cluster, read_secret, refuse_unfit
from headwater.spark.jvm.java import find_java
from headwater.spark.jvm.session import SparkConfig, session_settings
from headwater.store.lock import LOCK_NAME
from headwater.store.owner_alone import OTHERS, Readers

EXPIRES_SOON_DAYS = 14.0
FREE_BYTES_MIN = 1 << 30
"""Less than this is wrong, whatever the limits are."""
FILES_OPEN_MIN = 4096
"""Two connections for each neighbour, three manifests, segments, a file for each log followed."""
DAY_S = 86_400.0
TIME_ERROR = 5
"""What the kernel says of a clock that nobody keeps."""
TIMEX_BYTES = 512
"""More than the structure has anywhere."""
WIDE_NAMED_MAX = 3


class Health(StrEnum):
    GOOD = "good"
    DOUBTFUL = "doubtful"
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True):
    check: str
    state: Health
    found: str
    to_do: str = ""


def examine(path: Path, *, now_s: Callable[[], float] = time.time) -> list[Finding]:
    """Of the agent with this configuration."""
    try:
        config = AgentConfig.load(path)
        text = load_roster_text(Path(config.roster))
        site = text.roster.site(config.site)
    except HeadwaterError as error:
        return [Finding("configuration", Health.WRONG, str(error), f"mend {path}")]
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("configuration", lambda: _configuration(config, site)),
        ("process", lambda: _process(config, path)),
        ("roster", lambda: _roster(config, now_s())),
        ("sources", lambda: _sources(config, site)),
        ("links", lambda: _links(config, text.roster)),
        ("ports", lambda: _ports(config, site)),
        ("modes", lambda: _modes(config)),
        ("certificates", lambda: _certificates(config, text.federation, site, now_s())),
        ("java", lambda: _java(config)),
        ("spark", lambda: _spark(config)),
        ("clock", _clock),
        ("disk", lambda: _disk(config)),
        ("files", lambda: _files()),
    )
    return [finding for name, check in checks for finding in _findings(name, check)]


def is_well(findings: list[Finding]) -> bool:
    return not any(one.state is Health.WRONG for one in findings)


def _findings(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except (HeadwaterError, OSError, ValueError) as error:
        yield Finding(name, Health.WRONG, str(error), "see what it names")


def _good(check: str, found: str) -> Finding:
    return Finding(check, Health.GOOD, found)


def _configuration(config: AgentConfig, site: Site) -> Iterator[Finding]:
    kind = "with data" if site.has_data else "a relay"
    yield _good("configuration", f"{config.site} is in the roster, {kind}")
    if site.has_data and config.spark.mode == "none":
        yield Finding(
            "configuration",
            Health.WRONG,
            "the roster gives this site data, and it has no Spark",
            'say mode = "local" under [spark], or has_data = false in the roster',
        )
    for folder in (config.sources.data, *config.sources.open) if site.has_data else ():
        if not os.access(folder, os.R_OK | os.X_OK):
            to_do = "make it, or let the agent's user read it"
            yield Finding("configuration", Health.DOUBTFUL, f"{folder} can't be read", to_do)


def _roster(config: AgentConfig, now_s: float) -> Iterator[Finding]:
    """By the CA alone, so that the agent's own certificate may be what is wrong."""
    trust = RosterTrust.of_ca(Path(config.tls.ca), denied=_denied(config))
    signed = load_signed_roster(Path(config.roster), trust)
    ends = "ended" if signed.by.expires_s <= now_s else "ends"
    found = (
        f"version {signed.roster.version}, signed by {signed.by.uri} on "
        f"{_utc(signed.signed_at_s)}, holds from {_utc(signed.holds_from_s)}; the certificate "
        f"{ends} on {_utc(signed.by.expires_s)}, which undoes nothing"
    )
    if signed.holds_from_s > now_s:
        to_do = "compare this machine's clock; the agent takes it when it starts"
        yield Finding("roster", Health.DOUBTFUL, f"it does not hold yet: {found}", to_do)
    else:
        yield _good("roster", found)


def _denied(config: AgentConfig) -> frozenset[int]:
    """A list that can't be read is a finding about certificates."""
    with contextlib.suppress(HeadwaterError):
        return read_serials(Path(config.tls.deny))
    return frozenset()


def _utc(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _sources(config: AgentConfig, site: Site) -> Iterator[Finding]:
    """What is declared, and what of it is open to everybody by a slip."""
    if not site.has_data:
        return
    sources = config.sources
    declared = read_declarations(sources.declared, data=sources.data)
    for one in declared:
        levels = ", ".join(f"{name} {level}" for name, level in one.levels)
        found = f"{one.name}: {one.source.format} {one.source.path} ({levels})"
        yield _good("sources", found)
    if sources.declared_only and not declared:
        found = "declared_only is set, and no source is declared: this site reads nothing"
        yield Finding("sources", Health.DOUBTFUL, found, "declare sources, or take it out")
    elif not sources.declared_only:
        free = ", ".join((sources.data, *sources.open))
        yield _good("sources", f"for free use, no column of it is protected: {free}")


def _links(config: AgentConfig, roster: Roster) -> Iterator[Finding]:
    config.require_budgets(roster)
    yield _good("links", str(config.links.budgets))


def _ports(config: AgentConfig, site: Site) -> Iterator[Finding]:
    pid = _running(config)
    if site.dialable and config.listen.port != site.port:
        yield Finding(
            "ports",
            Health.WRONG,
            f"it listens on {config.listen.port}, and others dial {site.port}",
            "let [listen] port and the roster say the same",
        )
    wanted = [(config.listen.host, config.listen.port)] if site.dialable else []
    if config.metrics_port is not None:
        wanted.append(("127.0.0.1", config.metrics_port))
    for host, port in wanted:
        yield _port(host, port, pid)
    if not wanted:
        yield _good("ports", "none are open: it dials others")


def _port(host: str, port: int, pid: int | None) -> Finding:
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        if pid is not None:
            return _good("ports", f"{host}:{port} is held, and the agent runs (process {pid})")
        to_do = f"see who has it: ss -ltnp 'sport = :{port}'"
        return Finding("ports", Health.WRONG, f"{host}:{port}: {error.strerror}", to_do)
    if pid is not None and port:
        to_do = "look at the agent's log"
        found = f"{host}:{port} is free, though the agent runs (process {pid})"
        return Finding("ports", Health.WRONG, found, to_do)
    return _good("ports", f"{host}:{port} is free")


def _process(config: AgentConfig, path: Path) -> Iterator[Finding]:
    """One that has ended is no less well placed, but who asks will want to know."""
    pid = _running(config)
    if pid is not None:
        yield _good("process", f"the agent runs (process {pid})")
    elif not _lock(config).exists():
        yield _good("process", "the agent has not run yet")
    else:
        yield Finding(
            "process",
            Health.DOUBTFUL,
            "the agent has run, and does not run now",
            f"start it: headwater agent --config {path}, or headwater up DIRECTORY where that "
            "laid it out; the end of its log says why it ended",
        )


def _lock(config: AgentConfig) -> Path:
    return Path(config.directory) / "cube" / LOCK_NAME


def _running(config: AgentConfig) -> int | None:
    """The process that holds the state's lock, if there is one."""
    try:
        pid = int(_lock(config).read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid if pid > 0 else None


def _modes(config: AgentConfig) -> Iterator[Finding]:
    directory = Path(config.directory)
    if not directory.exists():
        yield _good("modes", f"{directory} is not there yet; the agent makes it")
        return
    wide = [
        str(path) for path, may in _allowed(directory, config.results_readers) if _open(path, may)
    ]
    if wide:
        named = ", ".join(wide[:WIDE_NAMED_MAX]) + (" …" if len(wide) > WIDE_NAMED_MAX else "")
        to_do = f"start the agent, which closes it; or: chmod -R go= {directory}"
        yield Finding("modes", Health.WRONG, f"others may use {named}", to_do)
    else:
        yield _good("modes", f"{directory}: answers for {config.results_readers}, all else closed")


def _allowed(directory: Path, readers: Readers) -> Iterator[tuple[Path, int]]:
    """What lies at hand, with what others may have of it."""
    yield directory, readers.way_mode
    for path in sorted(directory.iterdir()):
        yield path, (readers.directory_mode if path.name == RESULTS else 0)


def _open(path: Path, may: int) -> bool:
    found = path.lstat()
    return not stat.S_ISLNK(found.st_mode) and bool(found.st_mode & OTHERS & ~may)


def _certificates(
    config: AgentConfig, federation: str, site: Site, now_s: float
) -> Iterator[Finding]:
    files = CertFiles(Path(config.tls.ca), Path(config.tls.certificate), Path(config.tls.key))
    credentials = Credentials(files, deny=Path(config.tls.deny))
    credentials.require_site(config.site)
    who = credentials.identity
    if who.federation != federation:
        found = f"it is of federation {who.federation}, and the roster of {federation}"
        yield Finding("certificates", Health.WRONG, found, "issue one of this federation's CA")
    if who.role is Role.RELAY and site.has_data:
        to_do = "issue one with: headwater certs site"
        found = "it is a relay's, and the roster gives this site data"
        yield Finding("certificates", Health.WRONG, found, to_do)
    yield from _issuer(files)
    yield _validity(files.cert, now_s)
    if credentials.missing_deny is not None:
        to_do = "mend deny under [tls]; or put an empty file there"
        found = f"no deny list at {credentials.missing_deny}: nobody is denied"
        yield Finding("certificates", Health.DOUBTFUL, found, to_do)
    else:
        yield _good("certificates", f"{len(credentials.denied)} certificates are denied")


def _issuer(files: CertFiles) -> Iterator[Finding]:
    """A certificate of another CA loads well, and is refused by everybody."""
    own = x509.load_pem_x509_certificate(files.cert.read_bytes())
    for authority in x509.load_pem_x509_certificates(files.ca.read_bytes()):
        try:
            own.verify_directly_issued_by(authority)
            return
        except Exception:  # one of several; that none of them fits is the finding
            continue
    found = f"{files.cert} is not signed by a CA in {files.ca}"
    yield Finding(
        "certificates", Health.WRONG, found, "put the federation's CA and certificate there"
    )


def _validity(path: Path, now_s: float) -> Finding:
    own = x509.load_pem_x509_certificate(path.read_bytes())
    left_days = (own.not_valid_after_utc.timestamp() - now_s) / DAY_S
    if own.not_valid_before_utc.timestamp() > now_s:
        to_do = "set the clock of this machine"
        return Finding("certificates", Health.WRONG, f"{path} is not valid yet", to_do)
    if left_days < 0:
        return Finding("certificates", Health.WRONG, f"{path} has expired", "issue a new one")
    if left_days < EXPIRES_SOON_DAYS:
        found = f"{path} ends in {left_days:.1f} days"
        return Finding(
            "certificates", Health.DOUBTFUL, found, "issue a new one; no restart is needed"
        )
    return _good("certificates", f"{path.name} fits its key and ends in {left_days:.0f} days")


def _java(config: AgentConfig) -> Iterator[Finding]:
    if config.spark.mode == "none":
        return
    java = find_java()
    yield _good("java", f"Java {java.build} at {java.home}")


def _spark(config: AgentConfig) -> Iterator[Finding]:
    spark = config.spark
    if spark.mode == "none":
        return
    wanted = SparkConfig(
        master=spark.master,
        settings=tuple(spark.settings.items()),
        shared=spark.shared,
        secret=spark.secret,
    )
    settings = session_settings(wanted)
    if is_cluster(spark.master):
        refuse_unfit(Network(spark.master, spark.secret), settings, shared=spark.shared)
        if spark.secret is not None:
            read_secret(spark.secret)
    if settings.get("spark.authenticate") == "true":
        yield _good("spark", f"{spark.master}: its ports are authenticated")
    else:
        to_do = "give the cluster a secret, and name its file with secret = … under [spark]"
        found = f"{spark.master}: everybody on this machine may use its ports"
        yield Finding("spark", Health.DOUBTFUL, found, to_do)


def _clock() -> Iterator[Finding]:
    state = _clock_state()
    if state is None:
        yield Finding("clock", Health.DOUBTFUL, "the system does not say whether it is kept", "")
    elif state == TIME_ERROR:
        to_do = "run chrony or systemd-timesyncd; a machine in a container has its host's clock"
        yield Finding("clock", Health.DOUBTFUL, "nobody keeps it in time", to_do)
    else:
        yield _good("clock", "it is kept in time")


def _clock_state() -> int | None:
    """What the kernel knows of the clock; None where it can't be asked."""
    try:
        asked = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return None
    state = int(asked(ctypes.create_string_buffer(TIMEX_BYTES)))
    return None if state < 0 else state


def _disk(config: AgentConfig) -> Iterator[Finding]:
    place = Path(config.directory)
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    wanted = config.sources.spool_bytes_max + config.cube.retention_bytes
    found = f"{free / 1e9:.1f} GB are free at {place}"
    if free < FREE_BYTES_MIN:
        yield Finding("disk", Health.WRONG, found, "make room, or move directory in agent.toml")
    elif free < wanted:
        to_do = (
            "make room, or lower spool_bytes_max under [sources] or retention_bytes under [cube]"
        )
        text = f"{found}; spool and cube may take {wanted / 1e9:.1f} GB together"
        yield Finding("disk", Health.DOUBTFUL, text, to_do)
    else:
        yield _good("disk", found)


def _files() -> Iterator[Finding]:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit < FILES_OPEN_MIN:
        to_do = f"raise it to {FILES_OPEN_MIN} (ulimit -n, LimitNOFILE=)"
        yield Finding(
            "files", Health.DOUBTFUL, f"{limit} may be open at once, by this shell", to_do
        )
    else:
        yield _good("files", f"{limit} may be open at once")
