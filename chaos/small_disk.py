"""A disk that can be filled: a file system of a few megabytes in memory, under one agent's state.

Mounting needs privileges. Without them there is no such disk, and ``mount`` says why.
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

SIZE = "64m"
FILLER = "filler"
FILL_BYTES = 1 << 20


class SmallDisk:
    """Mounted at a directory until ``unmount``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @classmethod
    def mount(cls, directory: Path) -> SmallDisk | str:
        """The disk, or why there is none."""
        directory.mkdir(parents=True, exist_ok=True)
        options = f"size={SIZE},mode=0755"
        command = ["mount", "-t", "tmpfs", "-o", options, "headwater-chaos", str(directory)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"no mount on this system: {error.strerror}"
        if done.returncode:
            return f"can't mount: {done.stderr.strip()}"
        return cls(directory)

    def fill(self) -> int:
        """Take all the room there is, to the last byte; returns how much that was."""
        block, taken = bytes(FILL_BYTES), 0
        with (self._directory / FILLER).open("ab", buffering=0) as file:
            while block:
                try:
                    taken += file.write(block)
                except OSError:
                    block = block[: len(block) // 2]
        return taken

    def free(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self._directory / FILLER).unlink()

    def unmount(self) -> None:
        """Also while somebody still looks at it."""
        subprocess.run(["umount", "--lazy", str(self._directory)], check=False)
