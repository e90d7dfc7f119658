"""Waiting for the end of a process without asking for it all the time.

``Popen.wait`` with a timeout asks twenty times a second for as long as it waits, and somebody waits
for the end of every JVM for as long as it lives. The kernel can tell by itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess


def ends_within(process: subprocess.Popen[bytes], wait_s: float) -> bool:
    """Whether it has ended, or does so while it is waited for."""
    if process.poll() is not None:
        return True
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # no Linux, an old one, or it has ended by now
        return _waited(process, wait_s)
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        waiting.poll(wait_s * 1e3)
    finally:
        os.close(handle)
    return process.poll() is not None


def _waited(process: subprocess.Popen[bytes], wait_s: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(wait_s)
    return process.poll() is not None
