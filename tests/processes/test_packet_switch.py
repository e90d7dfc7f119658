"""The network between namespaces: what lines, cuts and heals do, and that nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from chaos.namespaces import Namespaces, Unavailable, open_namespaces
from chaos.packet_switch import Line

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

LINES = {
    "near": Line(delay_s=0.01, rate_bits_s=8e6),
    "far": Line(delay_s=0.04, rate_bits_s=1e6),
    "other": Line(delay_s=0.01, rate_bits_s=8e6),
}
ROUND_TRIP_S = 2 * (0.01 + 0.04)
BYTES = 50_000
ECHO = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 7000))
print("ready", flush=True)
while True:
    data, sender = server.recvfrom(2000)
    server.sendto(data, sender)
"""
ASK = """
import socket, sys, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(float(sys.argv[2]))
began_s = time.monotonic()
count = int(sys.argv[3])
for _ in range(count):
    client.sendto(bytes(1000), (sys.argv[1], 7000))
for _ in range(count):
    client.recv(2000)
print(time.monotonic() - began_s)
"""
WAIT_S_MAX = 120.0
SILENCE_S = 0.5
"""How long silence is listened to; nothing waits for it to be long enough."""


@pytest.fixture(scope="module")
def namespaces() -> Iterator[Namespaces]:
    try:
        with open_namespaces(LINES) as namespaces, echoing(namespaces, ["far", "other"]):
            yield namespaces
    except Unavailable as reason:
        pytest.skip(f"no network namespaces here: {reason}")


@contextmanager
def echoing(namespaces: Namespaces, names: Sequence[str]) -> Iterator[None]:
    echoes = []
    for name in names:
        code = [sys.executable, "-c", ECHO, namespaces.address[name]]
        echo = subprocess.Popen(namespaces.command(name, code), stdout=subprocess.PIPE)
        echoes.append(echo)
        assert echo.stdout is not None
        assert echo.stdout.readline() == b"ready\n"
    try:
        yield
    finally:
        for echo in echoes:
            echo.kill()
            echo.communicate()


def ask(
    namespaces: Namespaces, name: str, *, wait_s: float = WAIT_S_MAX, packets: int = 1
) -> float | None:
    """How long an echo takes from ``near`` to this one and back; None: it never came."""
    code = [sys.executable, "-c", ASK, namespaces.address[name], wait_s, packets]
    done = subprocess.run(
        namespaces.command("near", code), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or "TimeoutError" in done.stderr, done.stderr
    return float(done.stdout) if done.returncode == 0 else None


def test_a_packet_takes_as_long_as_the_lines_at_both_ends(namespaces: Namespaces) -> None:
    took_s = ask(namespaces, "far")
    assert took_s is not None
    assert took_s >= ROUND_TRIP_S


def test_packets_follow_each_other_at_the_rate_of_the_slower_line(namespaces: Namespaces) -> None:
    packets = BYTES // 1_000
    took_s = ask(namespaces, "far", packets=packets)
    assert took_s is not None
    assert took_s >= 8 * BYTES / LINES["far"].rate_bits_s


def test_who_is_cut_off_hears_nothing_until_it_is_healed(namespaces: Namespaces) -> None:
    namespaces.switch.cut("far")
    assert ask(namespaces, "far", wait_s=SILENCE_S) is None
    assert ask(namespaces, "other") is not None
    namespaces.switch.heal()
    assert ask(namespaces, "far") is not None


def test_two_that_are_parted_still_reach_the_others(namespaces: Namespaces) -> None:
    namespaces.switch.part("near", "other")
    assert ask(namespaces, "other", wait_s=SILENCE_S) is None
    assert ask(namespaces, "far") is not None
    namespaces.switch.heal()
    assert ask(namespaces, "other") is not None


def test_a_packet_to_nobody_is_dropped(namespaces: Namespaces) -> None:
    code = [sys.executable, "-c", ASK, "10.77.0.99", SILENCE_S, 1]
    done = subprocess.run(
        namespaces.command("near", code), capture_output=True, text=True, check=False
    )
    assert "TimeoutError" in done.stderr


def test_nothing_stays_behind_not_even_what_still_runs(namespaces: Namespaces) -> None:
    with open_namespaces({"alone": Line(delay_s=0.0, rate_bits_s=1e9)}) as others:
        sleeper = subprocess.Popen(others.command("alone", ["sleep", 60]))
        deadline_s = time.monotonic() + WAIT_S_MAX
        while sleeper.pid not in others.process_ids("alone"):
            assert time.monotonic() < deadline_s, "it never entered its namespace"
            time.sleep(0.01)
    assert sleeper.wait(WAIT_S_MAX) != 0
    assert not any(name.endswith("-alone") for name in _namespaces())
    assert any(name.endswith("-near") for name in _namespaces()), "others' are left alone"


def _namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()
