"""A start of Spark that is given up leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from headwater.errors import SparkFailed
from headwater.spark.jvm import session
from headwater.spark.jvm.session import Began, RunningSpark, SparkConfig
from headwater.spark.jvm.starting import StartingSpark

WAIT_S_MAX = 60.0


def _is_waiting(thread: int) -> bool:
    """Whether it is within ``StartingSpark.running``, and asleep there."""
    frame = sys._current_frames()[thread]
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return "running" in names and names[0] in ("wait", "_wait_for_tstate_lock")


def test_a_signal_to_whoever_waits_for_a_start_ends_its_jvm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes: list[subprocess.Popen[bytes]] = []
    main = threading.get_ident()

    def start(config: SparkConfig, *, began: Began) -> RunningSpark:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        processes.append(process)
        began(process)
        while not _is_waiting(main):
            pass
        os.kill(os.getpid(), signal.SIGINT)
        process.wait(WAIT_S_MAX)
        raise SparkFailed("its JVM is gone")

    monkeypatch.setattr(session, "start_session", start)
    with pytest.raises(KeyboardInterrupt), StartingSpark(SparkConfig()) as starting:
        starting.running()
    (process,) = processes
    try:
        assert process.poll() == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
