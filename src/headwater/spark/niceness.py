"""How nice a process is to others, and to whom.

Linux may group processes by session and weigh the groups first (``sched_autogroup``): within one, a
niceness counts; among groups, that of the group. A JVM has a session of its own, so that Ctrl-C
does not reach it, and with it a group that has forgotten who started it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def be_nice(least: int) -> None:
    """This process, and its group where that is its own: of a session that somebody else leads the
    rest is not ours to slow down. It never becomes less nice than it is."""
    if least > _of(0):
        os.setpriority(os.PRIO_PROCESS, 0, least)
    if os.getsid(0) == os.getpid():
        _tell_group(os.getpid(), _of(0))


def hand_on_niceness(pid: int) -> None:
    """A child in a session of its own has inherited it; its group has not."""
    if _of(0) > 0:
        _tell_group(pid, _of(0))


def _of(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


def _tell_group(pid: int, niceness: int) -> None:
    """Where there are no such groups, or they are not ours to change, niceness alone counts."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
