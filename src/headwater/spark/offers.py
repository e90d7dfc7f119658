"""The stream that drives a source: it carries offers of cuts, never lines.

Spark's engine wants a source with offsets. Ours counts *offers*, "there are cuts to read", one
after the other. The lines are then read by Spark's own text reader from the chunks of the offered
cuts, without leaving the JVM (``benchmarks/reading_ways.py`` compares).

The carrier is Spark's ``MemoryStream``, a list in the driver's JVM. The public way, a streaming
data source in Python, does the same with three more processes (200 MB), seconds to start them, and
a round trip for every batch; a directory of files leaves a log that only grows. The class is
Spark's own and not for the public, so it is used here and nowhere else, and the version of Spark is
pinned. That it keeps nothing over a restart is as it should be: the cubes know what was read.

The engine asks a stream that is idle for news every ``spark.sql.streaming.pollingDelay``.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession


class OfferStream:
    """One life of one source's stream."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        jvm: Any = session._jvm
        self._to_seq = jvm.PythonUtils.toSeq
        memory_stream = jvm.org.apache.spark.sql.execution.streaming.runtime.MemoryStream
        encoder = jvm.org.apache.spark.sql.Encoders.STRING()
        self._stream = memory_stream.apply(encoder, session._jsparkSession)

    def frame(self) -> DataFrame:
        """The offers as a streaming frame; its rows say nothing."""
        return DataFrame(self._stream.toDF(), self._session)

    def offer(self) -> None:
        """There are cuts to read: start a batch."""
        self._stream.addData(self._to_seq(["offer"]))
