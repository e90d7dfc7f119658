"""The proxies: what a cut, a stall and a heal do to a connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from chaos.links import Links, Way

TIMEOUT_S = 10.0
SHORT_S = 0.3
"""How long silence is listened to; nothing waits for it to be long enough."""


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server that sends back what it gets, each connection in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(TIMEOUT_S)


def _serve(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_echo, args=(connection,), daemon=True).start()


def _echo(connection: socket.socket) -> None:
    with connection:
        try:
            while data := connection.recv(100):
                connection.sendall(data)
        except OSError:
            return


@pytest.fixture
def links() -> Iterator[Links]:
    links = Links()
    yield links
    links.close()


@pytest.fixture
def client(links: Links, echo_port: int) -> Iterator[socket.socket]:
    """A connection through the proxy that has been used once."""
    with socket.create_connection(("127.0.0.1", links.open("a", target_port=echo_port))) as client:
        client.settimeout(TIMEOUT_S)
        assert _ask(client, b"hello") == b"hello"
        yield client


def _ask(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    return client.recv(100)


def _is_silent(client: socket.socket) -> bool:
    client.settimeout(SHORT_S)
    try:
        client.recv(100)
    except TimeoutError:
        return True
    finally:
        client.settimeout(TIMEOUT_S)
    return False


def test_a_cut_link_loses_its_connections_and_refuses_new_ones(
    links: Links, client: socket.socket
) -> None:
    address = client.getpeername()
    links.cut("a")
    assert _ended(client)
    with socket.create_connection(address, TIMEOUT_S) as other:
        assert _ended(other)
    links.heal("a")
    with socket.create_connection(address, TIMEOUT_S) as other:
        assert _ask(other, b"again") == b"again"


def _ended(client: socket.socket) -> bool:
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("ways", [(), (Way.IN,), (Way.OUT,)], ids=["both", "in", "out"])
def test_a_stalled_link_passes_nothing_on_until_it_is_healed(
    links: Links, client: socket.socket, ways: tuple[Way, ...]
) -> None:
    links.stall("a", *ways)
    client.sendall(b"wait")
    assert _is_silent(client)
    assert links.connection_count("a") == 1
    links.heal("a")
    assert client.recv(100) == b"wait"


def test_a_dead_agent_looks_dead_through_its_proxy(links: Links) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with socket.create_connection(("127.0.0.1", links.open("a", target_port=port))) as client:
        client.settimeout(TIMEOUT_S)
        assert _ended(client)
