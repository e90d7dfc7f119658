"""Who takes part, in which process, and how each agent is configured: laid out on the disk.

Each process has agents of one kind, so that what one costs can be read off the process. The two
roots have a process of their own: one is stopped and given a slow disk, the other must not mind.
"""

from __future__ import annotations

import random
import socket
from itertools import islice
from pathlib import Path

import msgspec

from headwater.agent.config import (
    AgentConfig,
    ListenConfig,
    SourcesConfig,
    SparkSettings,
    TlsConfig,
)
from headwater.edge.config import EdgeConfig
from headwater.local.up import OPERATOR, ROSTER, write_roster
from headwater.net.identity.certs import CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.overlay.config import OverlayConfig
from headwater.plan.roster import Roster, Site
from headwater.root.config import RootConfig

HOME, BESIDE = "home", "beside"
"""The root that gets into trouble, and the one that answers another stream meanwhile."""
ROOTS = (HOME, BESIDE)
RELAY, GENERATOR = "relay", "generator"
"""How names begin."""
HOST = "127.0.0.1"
SUMMARY_LIFE_S = 10.0
"""30 s in the field; shorter here, so that repairs come within a run. So are the two below. What
finds failures and ways around them is as in the field, and so are all budgets."""
NET_DIST_CEILING_S = 2.5
SEAL_EVERY_S = 5.0


PORTS = range(10_000, 32_000)
"""Below those that the system gives to whoever dials: they must still be free when agents open."""


class Party(msgspec.Struct, frozen=True):
    """One process: ``names`` are its agents."""

    name: str
    names: tuple[str, ...]
    has_data: bool = False


class Crowd(msgspec.Struct, frozen=True):
    """How many of what."""

    relay_processes: int = 4
    generator_processes: int = 4
    agents_per_process: int = 25
    disk_s: float = 0.2
    """What a sync or a commit takes on the root's disk while that is slow."""

    def parties(self) -> list[Party]:
        found = [Party(name, (name,)) for name in ROOTS]
        for kind, count in ((RELAY, self.relay_processes), (GENERATOR, self.generator_processes)):
            found += [self._party(kind, number) for number in range(count)]
        return found

    def _party(self, kind: str, number: int) -> Party:
        first = number * self.agents_per_process
        numbers = range(first, first + self.agents_per_process)
        names = tuple(f"{kind}{one + 1:03d}" for one in numbers)
        return Party(f"{kind}s{number + 1}", names, has_data=kind == GENERATOR)

    @property
    def generators(self) -> list[str]:
        return [name for party in self.parties() if party.has_data for name in party.names]

    @property
    def agents(self) -> int:
        """Without the roots."""
        return (self.relay_processes + self.generator_processes) * self.agents_per_process


def lay_out(directory: Path, crowd: Crowd) -> Roster:
    """Certificates, the roster, and a directory for each agent's data."""
    parties = crowd.parties()
    names = [(name, party) for party in parties for name in party.names]
    ports = _free_ports(len(names))
    roster = Roster(
        version=1,
        home=HOME,
        sites=tuple(
            Site(
                ordinal=ordinal,
                name=name,
                host=HOST,
                port=ports[ordinal],
                region=party.name,
                has_data=party.has_data,
            )
            for ordinal, (name, party) in enumerate(names)
        ),
    )
    directory.mkdir(parents=True)
    authority = create_authority(directory / "certs", directory.name)
    issue(authority, Role.OPERATOR, OPERATOR)
    for site in roster.sites:
        issue(authority, Role.SITE, site.name, hosts=(site.host,))
        data(directory, site.name).mkdir(parents=True)
    write_roster(directory, directory.name, roster)
    return roster


def data(directory: Path, name: str) -> Path:
    return directory / name / "data"


def results(directory: Path, name: str, stream: str) -> Path:
    return directory / name / "state" / "results" / stream


def operator_files(directory: Path) -> CertFiles:
    return _files(directory, OPERATOR)


def config_of(directory: Path, site: Site) -> AgentConfig:
    files = _files(directory, site.name)
    return AgentConfig(
        site=site.name,
        directory=str(directory / site.name / "state"),
        roster=str(directory / ROSTER),
        listen=ListenConfig(site.host, site.port),
        tls=TlsConfig(str(files.ca), str(files.cert), str(files.key), str(directory / "denied")),
        spark=SparkSettings(mode="none"),
        sources=SourcesConfig(data=str(data(directory, site.name)), poll_s=5.0),
        overlay=OverlayConfig(summary_life_s=SUMMARY_LIFE_S, net_dist_ceiling_s=NET_DIST_CEILING_S),
        edge=EdgeConfig(summary_life_s=SUMMARY_LIFE_S, seal_every_s=SEAL_EVERY_S),
        root=RootConfig(summary_life_s=SUMMARY_LIFE_S),
    )


def _files(directory: Path, name: str) -> CertFiles:
    held = directory / "certs"
    return CertFiles(held / "ca.pem", held / f"{name}.pem", held / f"{name}.key")


def _free_ports(count: int) -> list[int]:
    drawn = random.SystemRandom().sample(PORTS, len(PORTS))
    ports = list(islice(filter(_is_free, drawn), count))
    assert len(ports) == count, f"wanted {count} free ports, got {len(ports)}"
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind((HOST, port))
        except OSError:
            return False
    return True
