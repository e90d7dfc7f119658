"""What operators did: who, when, from where, what, and with which outcome; written down here.

Each agent writes down what it was asked. Changes have a file of their own, so that nobody can push
them out by asking much or by trying what is refused. Both files are bounded: a full one is put
aside under a number, and the oldest of those is removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import structlog

from headwater.net.control.control import Caller

log = structlog.get_logger()

DIRECTORY = "audit"
CHANGES, OTHERS = "changes", "others"
FILE_BYTES_MAX = 4 << 20
FILES_MAX = 4
"""Of each kind, the one that is written among them."""
WHAT_CHARACTERS_MAX = 2_000
"""Of what was asked, and of the outcome; a longer one is cut."""

DONE = "done"


class Entry(msgspec.Struct, frozen=True):
    at_s: float
    """By the agent's clock."""
    who: str
    """The URI in the certificate."""
    serial: str
    """The certificate's, in hexadecimal, as a deny list wants it."""
    address: str
    asked: str
    """The request's name."""
    what: str
    """Its payload, as JSON."""
    outcome: str


def entry(
    caller: Caller, asked: str, payload: dict[str, Any], *, outcome: str, at_s: float
) -> Entry:
    what = msgspec.json.encode(payload, enc_hook=repr).decode()
    who = caller.identity
    return Entry(
        at_s,
        who.uri,
        f"{who.serial:x}",
        caller.address,
        asked[:80],
        _shortened(what),
        _shortened(outcome),
    )


class AuditLog:
    """Written by one agent, a line at a time."""

    def __init__(self, directory: Path, *, file_bytes_max: int = FILE_BYTES_MAX) -> None:
        self._directory = directory / DIRECTORY
        self._file_bytes_max = file_bytes_max

    def add(self, one: Entry, *, is_change: bool) -> None:
        """A disk that refuses costs the line, which then is in the agent's log, and no request."""
        path = self._directory / f"{CHANGES if is_change else OTHERS}.jsonl"
        line = msgspec.json.encode(one) + b"\n"
        try:
            self._make_room(path, len(line))
            handle = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            log.error("not written to the audit log", error=str(error), **msgspec.to_builtins(one))

    def _make_room(self, path: Path, size_bytes: int) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists() or path.stat().st_size + size_bytes <= self._file_bytes_max:
            return
        for number in range(FILES_MAX - 1, 0, -1):
            older = path if number == 1 else _numbered(path, number - 1)
            if older.exists():
                older.replace(_numbered(path, number))


def read_audit(directory: Path) -> list[Entry]:
    """All that is written down, oldest first. A line that is damaged is left out and said."""
    found = [one for path in _files(directory / DIRECTORY) for one in _entries(path)]
    return sorted(found, key=lambda one: one.at_s)


def _files(directory: Path) -> list[Path]:
    return sorted(path for kind in (CHANGES, OTHERS) for path in directory.glob(f"{kind}.jsonl*"))


def _entries(path: Path) -> Iterator[Entry]:
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            yield msgspec.json.decode(line, type=Entry)
        except msgspec.MsgspecError as error:
            log.warning("audit log: a line is damaged", at=f"{path}:{number}", why=str(error))


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _shortened(text: str) -> str:
    return text if len(text) <= WHAT_CHARACTERS_MAX else text[: WHAT_CHARACTERS_MAX - 1] + "…"
