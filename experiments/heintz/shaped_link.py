"""Agents in network namespaces joined by a bridge, one of them behind a link that ``tbf`` shapes.

::

    home ── eth0 ──┐
    relay ─ eth0 ──┼── bridge
    far ─── eth0 ──┘
             └ tbf, both ways

The namespaces are ours alone: no route leads from them to the machine, and whatever runs in them is
ended when they are torn down.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address

NETWORK = IPv4Address("10.78.0.0")
DEVICE = "eth0"
HUB = "hub"
BURST = "4kb"
QUEUE = "400ms"
"""What waits in the shaper; more is dropped, as by a modem."""
COMMAND_S_MAX = 30.0
END_S_MAX = 10.0


class Unavailable(Exception):
    """This machine can't have such namespaces; the message says why."""


class ShapedLink:
    """Made by ``open_shaped_link``."""

    def __init__(self, names: Sequence[str]) -> None:
        run = f"hw{os.getpid()}{secrets.token_hex(2)}"
        self._full = {name: f"{run}{name}" for name in (*names, HUB)}
        self.address = {name: NETWORK + n for n, name in enumerate(names, start=1)}

    def command(self, name: str, arguments: Sequence[object]) -> list[str]:
        return ["ip", "netns", "exec", self._full[name], *map(str, arguments)]

    def open(self) -> None:
        for full in self._full.values():
            _run("ip", "netns", "add", full)
        hub = self._full[HUB]
        _run("ip", "-n", hub, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", hub, "link", "set", "br0", "up")
        for name, address in self.address.items():
            own = self._full[name]
            ends = ("link", "add", DEVICE, "netns", own, "type", "veth", "peer", "name", name)
            _run("ip", *ends, "netns", hub)
            _run("ip", "-n", hub, "link", "set", "dev", name, "master", "br0", "up")
            _run("ip", "-n", own, "link", "set", "lo", "up")
            _run("ip", "-n", own, "addr", "add", f"{address}/24", "dev", DEVICE)
            _run("ip", "-n", own, "link", "set", DEVICE, "up")

    def shape(self, name: str, *, kbit_s: int, queue: str = QUEUE) -> None:
        """Anew, too, while it carries."""
        for namespace, device in ((name, DEVICE), (HUB, name)):
            tbf = ("tbf", "rate", f"{kbit_s}kbit", "burst", BURST, "latency", queue)
            _run("tc", "-n", self._full[namespace], "qdisc", "replace", "dev", device, "root", *tbf)

    def sent_bytes(self, name: str) -> int:
        """Through the shaper, towards the others, since it was made."""
        told = _run("tc", "-n", self._full[name], "-s", "-j", "qdisc", "show", "dev", DEVICE)
        return int(next(one["bytes"] for one in json.loads(told) if one["kind"] == "tbf"))

    def close(self) -> None:
        """Also after an ``open`` that failed half way."""
        here = set(_run("ip", "netns", "list").split())
        ours = [full for full in self._full.values() if full in here]
        deadline_s = time.monotonic() + END_S_MAX
        while (left := _processes(ours)) and time.monotonic() < deadline_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for full in ours:
            _run("ip", "netns", "delete", full)


@contextlib.contextmanager
def open_shaped_link(names: Sequence[str], shaped: str, *, kbit_s: int) -> Iterator[ShapedLink]:
    """``shaped``: whose link it is. Raises ``Unavailable``."""
    if os.geteuid() != 0:
        raise Unavailable("network namespaces need root")
    for command in ("ip", "tc"):
        if shutil.which(command) is None:
            raise Unavailable(f"the command {command} (iproute2) is not installed")
    link = ShapedLink(names)
    try:
        try:
            link.open()
            link.shape(shaped, kbit_s=kbit_s)
        except OSError as error:
            raise Unavailable(str(error)) from error
        yield link
    finally:
        link.close()


def _processes(namespaces: Sequence[str]) -> list[int]:
    told = (_run("ip", "netns", "pids", full) for full in namespaces)
    return [int(pid) for text in told for pid in text.split()]


def _run(*arguments: str) -> str:
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False
    )
    if done.returncode:
        raise OSError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
