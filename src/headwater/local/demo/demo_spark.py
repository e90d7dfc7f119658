"""The demo's Spark: while its JVM comes up, the rest of the demo is imported.

Those imports take a third as long as Spark's start (1.7 s of a processor beside 4.8 s), and whoever
runs the demo waits for both.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.store.owner_alone import owner_alone

REST = "headwater.local.demo.demo"


@contextmanager
def demo_spark() -> Iterator[tuple[Path, RunningSpark]]:
    """A directory that goes when the demo ends, and a Spark with its log in it."""
    with owner_alone(), tempfile.TemporaryDirectory(prefix="headwater-demo-") as directory:
        threading.Thread(target=import_module, args=(REST,), daemon=True).start()
        spark = start_session(SparkConfig(directory=directory, log=f"{directory}/spark.log"))
        try:
            yield Path(directory), spark
        finally:
            spark.stop()
