"""Nobody on the machine who is not the agent: Spark's ports, and ours to which its JVM speaks."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.java_gateway import ensure_callback_server_started

from headwater.errors import ConfigurationError
from headwater.spark.jvm.session import SparkConfig, session_settings

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

LISTENS = "0A"
NOBODY = 65534
ANSWER_S_MAX = 120.0
CALL = b"c\np0\ncall\ne\n"
"""What the JVM would say to have Python run something."""
RPC_REQUEST = 3
"""The type of Spark's own messages that asks for an object to be read and an answer be given."""


def listening(pid: int) -> list[tuple[str, int]]:
    """(address as the kernel writes it, port) of every socket on which a process takes calls."""
    inodes = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(handle)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target.removeprefix("socket:[").removesuffix("]"))
    rows = [
        line.split()
        for family in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]
    ]
    places = [row[1].rpartition(":") for row in rows if row[3] == LISTENS and row[9] in inodes]
    return [(address, int(port, 16)) for address, _, port in places]


def asked(port: int, words: bytes) -> bytes:
    """What comes back before the port is silent or closes."""
    with socket.create_connection(("127.0.0.1", port), ANSWER_S_MAX) as stranger:
        stranger.sendall(words)
        stranger.shutdown(socket.SHUT_WR)
        try:
            return stranger.recv(4096)
        except ConnectionResetError:
            return b""


@pytest.mark.spark
def test_sparks_ports_are_on_loopback_and_read_no_object_of_a_stranger(
    running_spark: RunningSpark,
) -> None:
    found = listening(running_spark.jvm.pid)
    assert len(found) >= 3, "the gateway, the driver and its block manager"
    assert all(address.endswith("0100007F") for address, _ in found), found
    body = b"\xac\xed\x00\x05" + bytes(36)
    request = struct.pack(">QBQI", 21 + len(body), RPC_REQUEST, 1, len(body)) + body
    answers = [asked(port, request) for _, port in found]
    assert sum(b"AuthRpcHandler" in answer for answer in answers) == 2, answers
    assert not any(b"ObjectInputStream" in answer for answer in answers)


@pytest.mark.spark
def test_only_our_own_user_is_heard_where_the_jvm_calls_us(
    running_spark: RunningSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = running_spark.session.sparkContext._gateway
    ensure_callback_server_started(gateway)
    server = gateway._callback_server
    assert asked(server.port, CALL) != b"", "a process of our own user, as the JVM is"
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    before = set(server.connections)
    for _ in range(3):
        assert asked(server.port, CALL) == b"", "to the port, the same process is a stranger now"
    monkeypatch.undo()
    assert set(server.connections) <= before, "a stranger leaves nothing behind"
    assert asked(server.port, CALL) != b"", "and does not end the port"


@pytest.mark.spark
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may ask as somebody else")
def test_another_user_of_the_machine_is_not_heard(running_spark: RunningSpark) -> None:
    gateway = running_spark.session.sparkContext._gateway
    ensure_callback_server_started(gateway)
    words = CALL.decode().replace("\n", "\\n")
    port = gateway._callback_server.port
    script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf '{words}' >&3 && head -c 3 <&3"
    heard = [
        subprocess.run(
            ["bash", "-c", script], user=user, capture_output=True, timeout=60, check=False
        ).stdout
        for user in (NOBODY, 0)
    ]
    assert heard[0] == b""
    assert heard[1] != b""


@pytest.mark.spark
def test_no_secret_stands_on_the_command_line(running_spark: RunningSpark) -> None:
    words = Path(f"/proc/{running_spark.jvm.pid}/cmdline").read_bytes().split(b"\0")
    assert [word for word in words if b"secret" in word.lower()] == []
    conf = dict(running_spark.session.sparkContext.getConf().getAll())
    assert conf["spark.authenticate"] == "true"
    assert "spark.authenticate.secret" not in conf


@pytest.mark.spark
def test_what_spark_writes_is_its_owners_alone(running_spark: RunningSpark, tmp_path: Path) -> None:
    running_spark.session.range(3).write.parquet(f"{tmp_path}/rows")
    made = [tmp_path / "rows", *(tmp_path / "rows").iterdir()]
    assert len(made) >= 2
    assert [path.name for path in made if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("name", ["spark.authenticate", "spark.network.crypto.enabled"])
def test_settings_that_open_a_local_sparks_ports_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="open Spark's ports"):
        session_settings(SparkConfig(settings=((name, "false"),)))


def test_a_cluster_on_loopback_may_be_plain() -> None:
    settings = session_settings(SparkConfig(master="spark://127.0.0.1:7077", shared="/tmp/shared"))
    assert "spark.authenticate" not in settings
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
