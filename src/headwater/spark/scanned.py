"""How far the jobs that run now have read, from what Spark knows of its stages anyway.

A batch may be hundreds of megabytes, and nothing of it counts before it is committed: whoever waits
for it is shown this meanwhile. Spark learns it when a task ends and with each heartbeat of an
executor (``HEARTBEAT``).
"""

from __future__ import annotations

import msgspec
from pyspark.sql import SparkSession

HEARTBEAT = ("spark.executor.heartbeatInterval", "2s")
"""For a run that somebody watches; ten seconds is Spark's own figure."""


class Scanned(msgspec.Struct, frozen=True):
    bytes: int = 0
    lines: int = 0


def scanned_now(session: SparkSession) -> Scanned:
    """Of the stage that has read most: the stages of one batch that run side by side read the same
    chunks."""
    stages = session.sparkContext._jsc.sc().statusStore().activeStages()
    found = [stages.apply(number) for number in range(stages.size())]
    read = [Scanned(int(one.inputBytes()), int(one.inputRecords())) for one in found]
    return max(read, key=lambda one: one.bytes, default=Scanned())
