"""Where the JVM calls us: a port of ours on loopback that takes calls of our own user only.

At the end of each batch the JVM calls Python by way of py4j. We show a secret where we call the
JVM; where it calls us py4j has none to show in the mode that PySpark uses, and whoever reaches
loopback could call in its place. The kernel knows better: it lists every TCP connection of this
machine with the user who holds its other end. A caller who is not ours is closed before a word of
it is read.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from py4j.clientserver import PythonServer  # type: ignore[import-untyped]
from py4j.java_gateway import quiet_close, quiet_shutdown  # type: ignore[import-untyped]

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOOPBACK = "0100007F"
"""127.0.0.1 as the kernel writes it, alone or at the end of an address of IPv6."""
_LOCAL, _REMOTE, _USER = 1, 2, 7
CALLERS_WAITING_MAX = 5
"""As py4j has it."""


def guard_callbacks(gateway: Any) -> None:
    """Before anything has made the gateway listen."""

    def make_server(_: Any) -> GuardedServer:
        return GuardedServer(
            gateway._gateway_client,
            gateway.java_parameters,
            gateway.python_parameters,
            gateway.gateway_property,
        )

    gateway._create_callback_server = make_server


class GuardedServer(PythonServer):  # type: ignore[misc]
    def start(self) -> None:
        """py4j listens when its thread gets its turn; on a busy machine a caller may be sooner."""
        super().start()
        self.server_socket.listen(CALLERS_WAITING_MAX)

    def _create_connection(self, accepted: socket.socket, stream: Any) -> Any:
        if is_of_our_user(accepted):
            return super()._create_connection(accepted, stream)
        return _TurnedAway(accepted, self)


class _TurnedAway:
    """In the place of a connection: py4j would end its port if there were none to start."""

    def __init__(self, accepted: socket.socket, server: GuardedServer) -> None:
        self.socket = accepted
        self._server = server

    def start(self) -> None:
        self._server.connections.discard(self)
        quiet_shutdown(self.socket)
        quiet_close(self.socket)


def is_of_our_user(accepted: socket.socket) -> bool:
    """Whether the other end is held by a process of our own user. True where the system has no such
    tables."""
    ours, theirs = accepted.getsockname()[1], accepted.getpeername()[1]
    tables = [table for table in TABLES if table.exists()]
    users = [user for table in tables for user in _users(table, port=theirs, to=ours)]
    return not tables or users == [os.geteuid()]


def _users(table: Path, *, port: int, to: int) -> list[int]:
    """Who holds the connection from one port of loopback to another."""
    ends = (f"{LOOPBACK}:{port:04X}", f"{LOOPBACK}:{to:04X}")
    rows = (line.split() for line in table.read_text().splitlines()[1:])
    return [
        int(row[_USER])
        for row in rows
        if row[_LOCAL].endswith(ends[0]) and row[_REMOTE].endswith(ends[1])
    ]
