"""One network namespace for each agent of a run, joined by a switch that delays and cuts.

::

    namespace home          namespace relay1       …       each: lo, tun0 10.77.0.n/24
         └───────────── packet switch ───┘                 nothing else: no route to the machine

Addresses are the same in every run, because nothing outside sees them; the namespaces' names carry
the process id. Nothing of the machine's own network is touched. Whatever runs in our namespaces is
ours, so all of it is ended when they are torn down.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path

from chaos.packet_switch import DEVICE, Line, PacketSwitch

NETWORK = IPv4Address("10.77.0.0")
TUN = Path("/dev/net/tun")
TUN_DEVICE = (10, 200)
"""Its major and minor number, for machines that have the driver and not the node."""
COMMAND_S_MAX = 30.0
END_S_MAX = 10.0
LOOK_EVERY_S = 0.05


class Unavailable(Exception):
    """This machine can't have namespaces like these; the message says why."""


class Namespaces:
    """Made by ``open_namespaces``."""

    def __init__(self, lines: Mapping[str, Line], tun: Path) -> None:
        run = f"hw{os.getpid()}{secrets.token_hex(2)}"
        self._full = {name: f"{run}-{name}" for name in lines}
        self._lines = lines
        self.address = {name: NETWORK + number for number, name in enumerate(lines, start=1)}
        self.switch = PacketSwitch(tun)

    def command(self, name: str, arguments: Sequence[object]) -> list[str]:
        """The command line that runs these arguments in a namespace; its process id is theirs."""
        return ["ip", "netns", "exec", self._full[name], *map(str, arguments)]

    def process_ids(self, name: str) -> list[int]:
        return [int(pid) for pid in _ip("netns", "pids", self._full[name]).split()]

    def open(self) -> None:
        for full in self._full.values():
            _ip("netns", "add", full)
        self.switch.open(
            {
                name: (Path("/run/netns") / full, self.address[name].packed, self._lines[name])
                for name, full in self._full.items()
            }
        )
        for name, full in self._full.items():
            _ip("-n", full, "link", "set", "lo", "up")
            _ip("-n", full, "addr", "add", f"{self.address[name]}/24", "dev", DEVICE)
            _ip("-n", full, "link", "set", DEVICE, "up")

    def close(self) -> None:
        """Also after an ``open`` that failed half way."""
        here = set(_ip("netns", "list").split())
        ours = {name: full for name, full in self._full.items() if full in here}
        deadline_s = time.monotonic() + END_S_MAX
        while (left := [pid for name in ours for pid in self.process_ids(name)]) and (
            time.monotonic() < deadline_s
        ):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_EVERY_S)
        self.switch.close()
        for full in ours.values():
            _ip("netns", "delete", full)


@contextlib.contextmanager
def open_namespaces(lines: Mapping[str, Line]) -> Iterator[Namespaces]:
    """Namespaces of these names, gone with all that runs in them when the block ends.

    Raises ``Unavailable``.
    """
    with tempfile.TemporaryDirectory(prefix="headwater-tun-") as scratch:
        namespaces = Namespaces(lines, _tun_node(Path(scratch)))
        try:
            try:
                namespaces.open()
            except OSError as error:
                raise Unavailable(str(error)) from error
            yield namespaces
        finally:
            namespaces.close()


def _tun_node(scratch: Path) -> Path:
    if os.geteuid() != 0:
        raise Unavailable("network namespaces and TUN devices need root")
    if shutil.which("ip") is None:
        raise Unavailable("the command ip (iproute2) is not installed")
    if TUN.exists():
        return TUN
    node = scratch / "tun"
    try:
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(*TUN_DEVICE))
    except OSError as error:
        raise Unavailable(f"{TUN} is missing and can't be made: {error.strerror}") from error
    return node


def _ip(*arguments: str) -> str:
    done = subprocess.run(
        ["ip", *arguments], capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False
    )
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
