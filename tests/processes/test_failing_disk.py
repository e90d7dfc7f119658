"""Calls of a running process that fail for a while, and then do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from chaos.failing_disk import FailingDisk, Trouble, why_not

CODE = """
import os, sys
directory = sys.argv[1]
file = os.open(os.path.join(directory, "file"), os.O_CREAT | os.O_RDWR)
calls = {
    "SYNC": lambda: os.fsync(file),
    "WRITE": lambda: os.pwrite(file, b"x", 0),
    "READ": lambda: os.pread(file, 1, 0),
    "LIST": lambda: os.listdir(directory),
    "OPEN": lambda: os.close(os.open(directory, os.O_RDONLY)),
    "RENAME": lambda: os.rename(os.path.join(directory, "file"), os.path.join(directory, "file")),
}
for name in sys.stdin:
    errors = set()
    for _ in range(40):
        try:
            calls[name.strip()]()
        except OSError as error:
            errors.add(os.strerror(error.errno))
    print("; ".join(sorted(errors)) or "none", flush=True)
"""
SAID = {
    Trouble.SYNC: "Input/output error",
    Trouble.WRITE: "No space left on device",
    Trouble.READ: "Input/output error",
    Trouble.LIST: "Input/output error",
    Trouble.OPEN: "Too many open files",
    Trouble.RENAME: "Input/output error",
}


@pytest.fixture(scope="module")
def _strace() -> None:
    trouble = why_not()
    if trouble:
        pytest.skip(trouble)


@pytest.mark.usefixtures("_strace")
@pytest.mark.parametrize("trouble", list(Trouble))
def test_calls_fail_while_the_disk_does(trouble: Trouble, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", CODE, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def tried() -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{trouble.name}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    try:
        assert tried() == "none"
        failing = FailingDisk.begin(process.pid, trouble, tmp_path / "record")
        assert isinstance(failing, FailingDisk), failing
        assert tried() == SAID[trouble]
        failed = failing.end()
        assert failed == 40 if trouble is Trouble.LIST else 0 < failed < 40
        assert tried() == "none"
    finally:
        process.communicate("")


def test_a_process_that_is_gone_can_not_be_troubled(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    found = FailingDisk.begin(process.pid, Trouble.SYNC, tmp_path / "record")
    assert isinstance(found, str)


def test_without_strace_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert why_not() == "the command strace is not installed"
