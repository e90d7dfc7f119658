"""How many bytes of files Spark has read since it started, from what Hadoop counts of each stream.

A batch may be hundreds of megabytes, and nothing of it counts before it is committed: whoever waits
for it is shown this meanwhile. Spark's own figures of a stage come with the end of a task, which
may be half of a batch; a session on this machine's cores showed none before. Hadoop's are of the
moment. They count all that is read by way of it, so whoever shows them knows how much there is.
"""

from __future__ import annotations

from pyspark.sql import SparkSession


def bytes_scanned(session: SparkSession) -> int:
    """Of all file systems, compressed files as they lie on the disk."""
    jvm = session.sparkContext._jvm
    assert jvm is not None, "a session has a JVM"
    found = jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()
    return sum(int(found.get(number).getBytesRead()) for number in range(found.size()))
