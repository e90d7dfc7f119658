"""A machine with more to do than it can: processes that take all the processor time they get."""

from __future__ import annotations

import os
import subprocess
import sys

HOGS_PER_CORE = 3


class Hogs:
    def __init__(self) -> None:
        count = HOGS_PER_CORE * (os.cpu_count() or 1)
        command = [sys.executable, "-c", "while True: pass"]
        self._processes = [subprocess.Popen(command) for _ in range(count)]

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
