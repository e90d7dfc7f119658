"""A cluster under a site or a root: what is set for it, and what is refused before anything starts.

With a local master, driver and tasks are one process on one disk. On a cluster they are many, on
several machines, and three things change. Tasks see only what lies in a directory that all machines
share (``shared``). What they say to each other crosses a network, so it is authenticated and
encrypted, with AES-GCM and without falling back to less; only on loopback may it be plain. And
batches are large, or nobody would take a cluster for them: Spark plans them as they run.

The secret of a standalone cluster comes from a file of its owner's. It goes to the JVM through the
gateway, which is a socket with a secret of its own: a command line can be read by everybody.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path

import msgspec
import pyspark

from headwater.errors import ConfigurationError, SparkFailed

STANDALONE = "spark://"
SHUFFLE_PARTITIONS = 64
"""What a shuffle is cut into at most; Spark joins those that turn out small."""
CLUSTER = {"spark.sql.adaptive.enabled": "true", "spark.locality.wait": "0s"}
"""All executors are as near to a shared directory, so none is waited for."""
ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.authEngineVersion": "2",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.network.crypto.saslFallback": "false",
}
"""Of all connections between master, workers, executors and driver: the same at each of them."""
SPILLED = {"spark.io.encryption.enabled": "true"}
"""What executors write to disks of their own: their key comes over an encrypted connection."""
SECRET = "spark.authenticate.secret"
SECRET_CHARACTERS_MIN = 16
IS_PRIVATE = re.compile(r"(?i)secret|password|passphrase|token|access[.]?key|credential")
DIAL_S_MAX = 5.0
PORT = 7077


class Network(msgspec.Struct, frozen=True):
    """How a master is reached, and by what it is protected."""

    master: str
    secret_file: str | None = None

    @property
    def hosts(self) -> tuple[tuple[str, int], ...]:
        """Of a standalone master and those that stand by; none where something else is asked.

        >>> Network("spark://a:7077,b:7078").hosts, Network("yarn").hosts
        ((('a', 7077), ('b', 7078)), ())
        """
        if not self.master.startswith(STANDALONE):
            return ()
        places = self.master.removeprefix(STANDALONE).split(",")
        pairs = [place.strip().rpartition(":") for place in places]
        return tuple(
            (host.strip("[]"), int(port)) if host and port.isdigit() else (port, PORT)
            for host, _, port in pairs
        )

    @property
    def is_loopback(self) -> bool:
        return bool(self.hosts) and all(_is_loopback(host) for host, _ in self.hosts)

    def settings(self) -> dict[str, str]:
        """YARN and Kubernetes make a secret for each application by themselves."""
        if self.hosts and self.secret_file is None:
            return {}
        return {**ENCRYPTED, **SPILLED}


def is_cluster(master: str) -> bool:
    """
    >>> is_cluster("local[*]"), is_cluster("spark://10.0.0.5:7077"), is_cluster("yarn")
    (False, True, True)
    """
    return not master.startswith("local")


def is_private(name: str) -> bool:
    """Whether a setting's value is nobody's business: it is kept off command lines.

    >>> is_private("spark.ssl.rpc.keyStorePassword"), is_private("spark.cores.max")
    (True, False)
    """
    return IS_PRIVATE.search(name) is not None


def refuse_unfit(network: Network, settings: Mapping[str, str], *, shared: str | None) -> None:
    """Before a JVM is started for it. ``settings`` are all that it would be started with."""
    where = f"[spark] master = {network.master!r}"
    if shared is None:
        raise ConfigurationError(
            f"{where}: wanted a directory that this machine and all executors see, for what passes "
            "between them, got none; name one with shared = …"
        )
    if network.is_loopback:
        return
    if settings.get("spark.authenticate") != "true":
        raise ConfigurationError(
            f"{where}: wanted a cluster that knows who talks to it, got no secret; put the "
            "cluster's into a file for the agent's user alone and name it with secret = …"
        )
    if not _is_encrypted(settings):
        raise ConfigurationError(
            f"{where}: wanted encrypted connections, got settings that turn them off; leave "
            "spark.network.crypto.enabled alone, or set spark.ssl.rpc.enabled and its keystores"
        )


def refuse_open(given: Mapping[str, str]) -> None:
    """With a local master: an operator's settings must not open what everybody here can reach."""
    opened = sorted(
        name for name, value in ENCRYPTED.items() if given.get(name, value).strip() != value
    )
    if opened:
        raise ConfigurationError(
            f"spark settings: {opened} open Spark's ports to everybody on this machine; remove them"
        )


def make_private(directory: Path) -> None:
    """A directory of our own within the shared one, which others may be able to write to."""
    where = f"[spark] shared: {directory.parent}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise ConfigurationError(
                f"{where}: {directory.name} there belongs to somebody else; wanted this agent's "
                "own directory: remove it"
            )
        directory.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(
            f"{where}: wanted a directory that this agent can write to: {error.strerror}"
        ) from error


def read_secret(path: str) -> str:
    """The cluster's secret. Raises where others can read it, too, or it is none."""
    where = f"[spark] secret: {path}"
    try:
        mode = Path(path).stat().st_mode
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{where}: can't be read, name a file of the agent's user: {error}"
        ) from error
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigurationError(
            f"{where}: wanted a file for its owner alone, got mode {stat.S_IMODE(mode):o}; "
            f"run `chmod 600 {path}`"
        )
    if len(text) < SECRET_CHARACTERS_MIN:
        raise ConfigurationError(
            f"{where}: wanted at least {SECRET_CHARACTERS_MIN} characters, got {len(text)}; "
            "`openssl rand -hex 32` makes a good one"
        )
    return text


def refuse_unreachable(network: Network) -> None:
    """Spark itself would try for a minute, and then say that its context is stopped."""
    reasons = [_why_unreachable(host, port) for host, port in network.hosts]
    if reasons and all(reasons):
        raise SparkFailed(
            f"{network.master} does not answer ({'; '.join(filter(None, reasons))}): start the "
            "master, or mend spark.master in agent.toml"
        )


def not_taken(master: str, text: str) -> str:
    """A master that refuses an application says nothing to it; its context is stopped."""
    return (
        f"{master} did not take this application ({text}): look at the logs of its master and "
        f"workers; wanted one that runs Spark {pyspark.__version__}, and its secret in the file "
        "that [spark] secret names"
    )


def _why_unreachable(host: str, port: int) -> str | None:
    try:
        with contextlib.closing(socket.create_connection((host, port), DIAL_S_MAX)):
            return None
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"


def _is_encrypted(settings: Mapping[str, str]) -> bool:
    return "true" in (
        settings.get("spark.network.crypto.enabled"),
        settings.get("spark.ssl.rpc.enabled"),
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
