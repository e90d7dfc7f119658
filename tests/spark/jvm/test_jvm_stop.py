"""Stopping a JVM whose gateway never shuts down: the wait has an end, and the JVM is gone."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

from headwater.spark.jvm.jvm import Jvm, Voice


def test_a_gateway_that_never_shuts_down_is_not_waited_for(tmp_path: Path) -> None:
    """As where a stream holds the connection on which it calls us, until the JVM ends."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    has_ended = threading.Event()
    gateway = SimpleNamespace(shutdown=has_ended.wait)
    try:
        Jvm(process, gateway, voice=Voice.of(tmp_path / "jvm.log")).stop(wait_s=0.05)
        assert process.poll() is not None
        assert not has_ended.is_set()
    finally:
        has_ended.set()
        process.kill()
        process.wait()
