"""A federation of real agent processes on this machine: made, started, found and stopped.

``headwater up`` writes a directory that is all there is to it: a roster, which it signs with the
operator's key that it has made, one configuration for each site, certificates, state, logs. So the
same directory shows how a real deployment is laid out, and ``down`` needs nothing but what is in it
to find the agents that run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from headwater.errors import ConfigurationError, HeadwaterError
from headwater.local.federation_files import ROSTER, ROSTER_TEXT
from headwater.local.held_file import end_holder, held
from headwater.local.local_processes import (
    Running,
    begun_at,
    forget,
    is_alive,
    running,
    send,
    state_of,
    write_down,
)
from headwater.local.site_labels import SiteLabels, not_said, require_known, with_labels
from headwater.net.identity.certs import CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.roster_text import read_roster_text, roster_toml
from headwater.net.identity.signed_roster import (
    RosterTrust,
    SignedRoster,
    issue_roster,
    load_roster_text,
    load_signed_roster,
)
from headwater.plan.roster import Roster, Site
from headwater.store.owner_alone import owner_alone

READY_S_MAX = 240.0
"""Five Spark agents on two cores need 95 s to their first batch; slower machines exist."""
STOP_S_MAX = 20.0
SPARK_AGENT_BYTES = 900 << 20
"""About what one agent with its lean Spark takes; see the benchmarks."""
STARTER_FILE = "starter.lock"
OPERATOR = "operator"
NOBODY_DENIED = "# serials of certificates that are refused, one a line\n"


@contextlib.contextmanager
def starting(directory: Path) -> Iterator[None]:
    """Around laying out and starting: who comes meanwhile is told, and ``stop`` finds us."""
    _make(directory)
    with held(directory / STARTER_FILE, doing="starts its agents"):
        yield


def _make(directory: Path) -> None:
    try:
        with owner_alone():
            directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{directory}: wanted a directory, which can't be made: {error.strerror}; name another"
        ) from error


def lay_out(
    directory: Path, *, site_count: int, relays: int = 0, labels: SiteLabels | None = None
) -> Roster:
    """Write roster, configurations and certificates; an existing layout is kept as it is, but for
    a roster that nobody has signed yet."""
    if (directory / ROSTER_TEXT).exists() and not (directory / ROSTER).exists():
        with owner_alone():
            sign_laid_out(directory)
    if (directory / ROSTER).exists():
        return laid_out_roster(directory).roster
    if site_count < 1:
        raise ConfigurationError(f"up: wanted at least one site, got {site_count}")
    roster = _roster(site_count, relays, labels or {})
    federation = directory.resolve().name
    read_roster_text(roster_toml(federation, roster).encode())  # refused before anything is made
    _make(directory)
    with owner_alone():
        _lay_out(directory, federation, roster)
    return roster


def not_laid_out(
    roster: Roster, *, site_count: int | None, relays: int | None, labels: SiteLabels | None = None
) -> str:
    """What a federation that is there already has not, of what was asked for; empty: nothing."""
    has_sites = sum(site.has_data for site in roster.sites)
    has_relays = len(roster.sites) - has_sites
    asked = ((site_count, has_sites, "sites"), (relays, has_relays, "relays"))
    other = [f"--{what} {wanted}" for wanted, has, what in asked if wanted not in (None, has)]
    other += not_said(roster.sites, labels or {})
    if not other:
        return ""
    return (
        f"this federation was laid out with sites: {has_sites}, relays: {has_relays}, and stays "
        f"so: {' '.join(other)} is for a new one; name another directory, or change "
        f"its {ROSTER_TEXT}"
    )


def _roster(site_count: int, relays: int, labels: SiteLabels) -> Roster:
    ports = _free_ports(site_count + relays)
    sites = tuple(
        Site(
            ordinal=n,
            name=f"site{n + 1}" if n < site_count else f"relay{n - site_count + 1}",
            host="127.0.0.1",
            port=ports[n],
            has_data=n < site_count,
        )
        for n in range(site_count + relays)
    )
    require_known(labels, [site.name for site in sites])
    sites = tuple(with_labels(site, labels) for site in sites)
    return Roster(version=1, sites=sites, home=sites[0].name)


def _lay_out(directory: Path, federation: str, roster: Roster) -> None:
    authority = create_authority(directory / "certs", federation)
    issue(authority, Role.OPERATOR, OPERATOR)
    (directory / "certs" / "denied").write_text(NOBODY_DENIED)
    for site in roster.sites:
        role = Role.SITE if site.has_data else Role.RELAY
        issue(authority, role, site.name, hosts=(site.host,))
        (directory / site.name / "data").mkdir(parents=True, exist_ok=True)
        (directory / site.name / "agent.toml").write_text(_agent_toml(site))
    write_roster(directory, federation, roster)


def write_roster(directory: Path, federation: str, roster: Roster) -> None:
    """As text for people, and signed for agents by the operator of the layout."""
    (directory / ROSTER_TEXT).write_text(roster_toml(federation, roster))
    sign_laid_out(directory)


def sign_laid_out(directory: Path) -> None:
    held = directory / "certs"
    files = CertFiles(held / "ca.pem", held / f"{OPERATOR}.pem", held / f"{OPERATOR}.key")
    issue_roster(directory / ROSTER_TEXT, directory / ROSTER, files, at_s=time.time())


def laid_out_roster(directory: Path) -> SignedRoster:
    """By the CA of the layout: the operator's certificate may have ended since."""
    trust = RosterTrust.of_ca(directory / "certs" / "ca.pem")
    return load_signed_roster(directory / ROSTER, trust)


def start(directory: Path, *, say: Callable[[str], None]) -> Running:
    """Start the agents of the layout that do not run, and wait until each answers.

    Those that run are left alone: to bring back one that died, nobody has to stop the others.
    """
    roster = laid_out_roster(directory).roster
    _tell_unsigned_changes(directory, roster, say)
    alive = running(directory)
    absent = [site for site in roster.sites if site.name not in alive.pids]
    for name, pid in alive.pids.items():
        say(f"{name} runs already (process {pid}) and is left alone")
    if absent:
        say(_cost(absent))
    else:
        say(f"all {len(alive.pids)} agents run already; stop them with: headwater down {directory}")
    for site in absent:
        alive.pids[site.name] = start_agent(directory, site.name)
        write_down(directory, alive)  # at once: what is not written down, nobody stops
    _await_ready(directory, {site.name for site in absent}, alive, say)
    return alive


def _tell_unsigned_changes(directory: Path, signed: Roster, say: Callable[[str], None]) -> None:
    """What somebody is still writing keeps no agent from coming back."""
    text = directory / ROSTER_TEXT
    try:
        is_signed = not text.exists() or load_roster_text(text).roster == signed
    except ConfigurationError as error:
        say(f"{error}; agents read {ROSTER}, as it was signed")
        return
    if not is_signed:
        say(
            f"{text} says something else than {ROSTER}, which agents read; to sign it: headwater "
            f"certs roster {text} --operator {directory / 'certs'}"
        )


def start_agent(directory: Path, name: str) -> int:
    """Start one agent of the layout; returns its process id."""
    return spawn_agent(directory, name).pid


def spawn_agent(directory: Path, name: str) -> subprocess.Popen[bytes]:
    """One agent of the layout as a process of its own; its output goes to ``agent.log``."""
    with owner_alone():
        log = open(directory / name / "agent.log", "ab")  # noqa: SIM115 - the child keeps it
    os.fchmod(log.fileno(), 0o600)
    command = [sys.executable, "-m", "headwater.cli", "agent", "--config"]
    with log:
        return subprocess.Popen(
            [*command, str(directory / name / "agent.toml")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def stop(directory: Path, *, say: Callable[[str], None]) -> None:
    """Ask all agents of the directory to end, whoever started them, and end those that do not.

    Whoever is starting them is ended first, or would start the next one behind us.
    """
    starter = end_holder(directory / STARTER_FILE)
    if starter is not None:
        say(f"ended the process that was starting them ({starter})")
    alive = running(directory)
    for name, pid in alive.pids.items():
        say(f"stopping {name} (process {pid})")
        send(pid, signal.SIGTERM)
    deadline_s = time.monotonic() + STOP_S_MAX
    while _same(alive) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    for name, pid in _same(alive).items():
        say(f"{name} has not ended within {STOP_S_MAX:.0f} s and is killed (process {pid})")
        send(pid, signal.SIGKILL)
    if not alive.pids:
        say(f"no agent of {directory} runs")
    forget(directory)


def _same(alive: Running) -> dict[str, int]:
    """Of these, the ones that are still there."""
    return {
        name: pid
        for name, pid in alive.pids.items()
        if is_alive(pid) and begun_at(pid) == alive.begun[name]
    }


def _await_ready(
    directory: Path, started: Collection[str], alive: Running, say: Callable[[str], None]
) -> None:
    """An agent is ready when its ``ready`` file names its process."""
    waiting = set(started)
    deadline_s = time.monotonic() + READY_S_MAX
    while waiting and time.monotonic() < deadline_s:
        for name in sorted(waiting):
            pid = alive.pids[name]
            if not is_alive(pid):
                tail = (directory / name / "agent.log").read_text(errors="replace")[-2000:]
                raise HeadwaterError(f"{name}: the agent ended before it was ready:\n{tail}")
            if is_ready(directory, name, pid):
                say(f"{name} is ready (process {pid})")
                waiting.discard(name)
        time.sleep(0.1)
    if waiting:
        raise HeadwaterError(
            f"not ready after {READY_S_MAX:.0f} s: {sorted(waiting)}; see their agent.log"
        )


def is_ready(directory: Path, name: str, pid: int) -> bool:
    """True once the agent with this process id has said so."""
    try:
        return (state_of(directory, name) / "ready").read_text().strip() == str(pid)
    except FileNotFoundError:
        return False


def _cost(sites: Collection[Site]) -> str:
    """Of starting these."""
    agents = "1 agent" if len(sites) == 1 else f"{len(sites)} agents"
    spark_count = sum(site.has_data for site in sites)
    need_gb = spark_count * SPARK_AGENT_BYTES / 1e9
    cores = os.cpu_count() or 1
    have_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / 1e9
    text = (
        f"{agents}, {spark_count} with a Spark of their own: "
        f"about {need_gb:.1f} GB of {have_gb:.1f} GB free memory, on {cores} cores"
    )
    if spark_count > cores:
        text += (
            f"\nwarning: {spark_count} Sparks on {cores} cores starve each other: expect a slow "
            "start and late windows; use fewer sites, or --relays"
        )
    if need_gb > have_gb:
        text += "\nwarning: not enough free memory; agents may be ended by the system"
    return text


def _agent_toml(site: Site) -> str:
    mode = "local" if site.has_data else "none"
    return (
        f'site = "{site.name}"\n'
        f'roster = "../{ROSTER}"\n'
        f'directory = "state"\n\n'
        f"[listen]\n"
        f'host = "{site.host}"\n'
        f"port = {site.port}\n\n"
        f"[tls]\n"
        f'ca = "../certs/ca.pem"\n'
        f'certificate = "../certs/{site.name}.pem"\n'
        f'key = "../certs/{site.name}.key"\n'
        f'deny = "../certs/denied"\n\n'
        f"[spark]\n"
        f'mode = "{mode}"\n'
        f'master = "local[1]"\n\n'
        f"[sources]\n"
        f'data = "data"\n'
    )


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
