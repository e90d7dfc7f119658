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

Every start of a stream is a new thread in the JVM, and py4j opens a connection for each thread that
calls Python: a socket at both ends and a thread here. It keeps them on a list until the JVM ends,
also when the thread has ended long ago. So whoever ends a stream hangs up for it.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
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
        self._calls: tuple[Any, Any] | None = None
        """The JVM's client of Python, and the connection on which it calls us."""

    def frame(self) -> DataFrame:
        """The offers as a streaming frame; its rows say nothing."""
        return DataFrame(self._stream.toDF(), self._session)

    def offer(self) -> None:
        """There are cuts to read: start a batch."""
        self._stream.addData(self._to_seq(["offer"]))

    def note_caller(self) -> None:
        """Called in each batch, in Spark's thread: remember on which connection it calls."""
        if self._calls is None:
            gateway: Any = self._session.sparkContext._gateway
            server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
            client = server.getCallbackClient()
            connection = client.getPerThreadConnection()
            if connection.isInitiatedFromClient():  # else it is our own way to the JVM
                self._calls = (client, connection)

    def hang_up(self) -> None:
        """Called when the stream has ended, and no batch of it is at work."""
        if self._calls is not None:
            client, connection = self._calls
            self._calls = None
            client.connectionStopped(connection)
            connection.shutdown()
