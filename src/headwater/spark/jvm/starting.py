"""Spark on its way up while something else is done: its start takes seconds of the JVM's.

The start can be given up at any moment: then its JVM is ended, which ends the start, and nothing of
either is left.
"""

from __future__ import annotations

import subprocess
import threading
from types import TracebackType

from headwater.spark.jvm import session
from headwater.spark.jvm.session import RunningSpark, SparkConfig

GIVE_UP_S_MAX = 30.0
"""A start whose JVM is gone ends at once; beyond, its thread is left to itself."""


class StartingSpark:
    """Begun when it is made. Used in a ``with`` block, by the end of which Spark has ended, whether
    or not it was ever up."""

    def __init__(self, config: SparkConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_given_up = False
        self._running: RunningSpark | None = None
        self._error: BaseException | None = None
        self._is_done = threading.Event()
        """Not the thread's own word: of one whose ``join`` a signal interrupted, Python 3.11 says
        that it has ended (bpo-45274), and its JVM would be left behind."""
        threading.Thread(target=self._start, name="spark-start", daemon=True).start()

    def running(self) -> RunningSpark:
        """Waits until it is up. Raises what its start raised."""
        self._is_done.wait()
        if self._error is not None:
            raise self._error
        assert self._running is not None, "a start ends with a Spark or with an error"
        return self._running

    def __enter__(self) -> StartingSpark:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_done.is_set():
            self._give_up()
        if self._running is not None:
            self._running.stop()

    def _give_up(self) -> None:
        with self._lock:
            self._is_given_up = True
            if self._process is not None:
                self._process.kill()
        self._is_done.wait(GIVE_UP_S_MAX)

    def _start(self) -> None:
        try:
            self._running = session.start_session(self._config, began=self._began)
        except BaseException as error:  # told to whoever asks for it
            self._error = error
        finally:
            self._is_done.set()

    def _began(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._process = process
            if self._is_given_up:
                process.kill()
