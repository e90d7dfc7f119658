"""Which panes are under a question, so that retention passes over them.

Pins are in memory: what a question has been given is rows of its own, and a process that starts
anew asks its cube anew. A pin ends with its question, or when its time is over, whoever forgot it.
"""

from __future__ import annotations

import threading

import msgspec


class Pin(msgspec.Struct, frozen=True):
    query: int
    """The stream's number in the cube."""
    first: int
    last: int
    bytes: int
    until_s: float


class Pins:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._pins: dict[str, Pin] = {}
        self._lock = threading.Lock()

    def put(self, question: str, pin: Pin) -> None:
        with self._lock:
            self._pins[question] = pin

    def end(self, question: str) -> None:
        with self._lock:
            self._pins.pop(question, None)

    def bytes(self, *, now_s: float, beside: str = "") -> int:
        """What all questions, ``beside`` this one, hold."""
        return sum(pin.bytes for name, pin in self._living(now_s=now_s).items() if name != beside)

    def holds(self, query: int, pane: int, *, now_s: float) -> bool:
        return any(
            pin.query == query and pin.first <= pane <= pin.last
            for pin in self._living(now_s=now_s).values()
        )

    def _living(self, *, now_s: float) -> dict[str, Pin]:
        with self._lock:
            if any(pin.until_s <= now_s for pin in self._pins.values()):
                self._pins = {n: pin for n, pin in self._pins.items() if pin.until_s > now_s}
            return self._pins
