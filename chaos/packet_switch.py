"""The network between namespaces: every packet delayed, paced and, where a line is cut, dropped.

This kernel has no netem, so the network is a thread of ours. Each namespace has one TUN device,
whose packets we read here, hold for as long as the lines at both ends take, and write to the
device that their destination address belongs to::

    namespace a                         switch                          namespace b
    TUN ──► rate of a's line, delay of a ──► core ──► rate of b's line, delay of b ──► TUN

A cut drops without a word, as a cable that somebody dug up does: connections stay open and nothing
comes. The devices belong to the thread and vanish with it.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import os
import selectors
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TUN_SET_IFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
DEVICE = "tun0"
"""What the device is called in each namespace."""
PACKET_BYTES_MAX = 65_536
PACKETS_PER_READ = 64
QUEUE_S_MAX = 0.5
"""A line has a queue of so much, at its rate; what does not fit is dropped, as by a router."""
LOOK_S_MAX = 0.2
IPV4_DESTINATION = slice(16, 20)


@dataclass(frozen=True)
class Line:
    """How a namespace is connected, each way."""

    delay_s: float
    rate_bits_s: float


class _Port:
    """One namespace's end: its device, and when its line is free, each way."""

    def __init__(self, name: str, device: int, line: Line) -> None:
        self.name = name
        self.device = device
        self.line = line
        self.free_s = {"up": 0.0, "down": 0.0}

    def through_s(self, way: str, size_bytes: int, now_s: float) -> float | None:
        """When a packet that comes to the line now has passed it; None: its queue is full."""
        begin_s = max(now_s, self.free_s[way])
        if begin_s - now_s > QUEUE_S_MAX:
            return None
        self.free_s[way] = begin_s + 8 * size_bytes / self.line.rate_bits_s
        return self.free_s[way] + self.line.delay_s


class PacketSwitch:
    """``open``, then ``cut``, ``part`` and ``heal`` at any time from any thread, then ``close``."""

    def __init__(self, tun: Path) -> None:
        """``tun`` is the device node through which TUN devices are made."""
        self._tun = tun
        self._cut: frozenset[str] = frozenset()
        self._parted: frozenset[frozenset[str]] = frozenset()
        self._stops = threading.Event()
        self._is_open = threading.Event()
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None
        self._ports: dict[bytes, _Port] = {}
        self._order = itertools.count()
        self.passed = 0
        self.lost_to_cuts = 0
        self.lost_to_queues = 0

    def open(self, ends: Mapping[str, tuple[Path, bytes, Line]]) -> None:
        """``ends``: for each name its namespace, its IPv4 address and its line."""
        self._thread = threading.Thread(
            target=self._run, args=(ends,), name="packet-switch", daemon=True
        )
        self._thread.start()
        self._is_open.wait()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self._stops.set()
        if self._thread is not None:
            self._thread.join()

    def cut(self, name: str) -> None:
        """Nothing goes to this one or comes from it."""
        self._cut |= {name}

    def part(self, one: str, other: str) -> None:
        """Nothing goes between these two, in either direction."""
        self._parted |= {frozenset((one, other))}

    def heal(self) -> None:
        self._cut, self._parted = frozenset(), frozenset()

    # In the thread, which alone may leave the namespace of the process.

    def _run(self, ends: Mapping[str, tuple[Path, bytes, Line]]) -> None:
        try:
            for name, (namespace, address, line) in ends.items():
                _enter(namespace)
                self._ports[address] = _Port(name, _tun_device(self._tun), line)
        except OSError as error:
            self._failure = error
        finally:
            self._is_open.set()
        try:
            if self._failure is None:
                self._switch()
        finally:
            for port in self._ports.values():
                os.close(port.device)

    def _switch(self) -> None:
        due: list[tuple[float, int, _Port, bytes, bool]] = []
        with selectors.DefaultSelector() as selector:
            for port in self._ports.values():
                selector.register(port.device, selectors.EVENT_READ, port)
            while not self._stops.is_set():
                wait_s = due[0][0] - time.monotonic() if due else LOOK_S_MAX
                for key, _ in selector.select(min(max(wait_s, 0.0), LOOK_S_MAX)):
                    self._take_in(key.data, due)
                while due and due[0][0] <= time.monotonic():
                    self._move_on(due)

    def _take_in(self, sender: _Port, due: list[tuple[float, int, _Port, bytes, bool]]) -> None:
        for _ in range(PACKETS_PER_READ):
            try:
                packet = os.read(sender.device, PACKET_BYTES_MAX)
            except OSError:
                return
            receiver = self._ports.get(packet[IPV4_DESTINATION])
            if packet[0] >> 4 != 4 or receiver is None:
                continue
            if self._is_cut(sender.name, receiver.name):
                self.lost_to_cuts += 1
                continue
            self._hold(due, sender, "up", receiver, packet)

    def _move_on(self, due: list[tuple[float, int, _Port, bytes, bool]]) -> None:
        """The first packet has passed the sender's line, or the receiver's as well."""
        _, _, receiver, packet, is_through = heapq.heappop(due)
        if not is_through:
            self._hold(due, receiver, "down", receiver, packet)
            return
        try:
            os.write(receiver.device, packet)
            self.passed += 1
        except OSError:
            self.lost_to_queues += 1

    def _hold(
        self,
        due: list[tuple[float, int, _Port, bytes, bool]],
        at: _Port,
        way: str,
        receiver: _Port,
        packet: bytes,
    ) -> None:
        through_s = at.through_s(way, len(packet), time.monotonic())
        if through_s is None:
            self.lost_to_queues += 1
            return
        heapq.heappush(due, (through_s, next(self._order), receiver, packet, way == "down"))

    def _is_cut(self, one: str, other: str) -> bool:
        is_off = one in self._cut or other in self._cut
        return is_off or frozenset((one, other)) in self._parted


def _enter(namespace: Path) -> None:
    """Move the calling thread, and no other, to a network namespace."""
    handle = os.open(namespace, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, f"entering {namespace}: {os.strerror(number)}")
    finally:
        os.close(handle)


def _tun_device(tun: Path) -> int:
    """A new TUN device in the thread's namespace."""
    handle = os.open(tun, os.O_RDWR | os.O_NONBLOCK)
    try:
        request = struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI)
        fcntl.ioctl(handle, TUN_SET_IFF, request)
    except OSError:
        os.close(handle)
        raise
    return handle
