"""Which failures of a job are the cluster's: no query and no chunk is to blame for them.

A query whose batch fails has its panes declined, and a chunk that can't be read is set aside: both
are right where the same would happen again, and both would lose records for an executor that was
killed, a master that was restarted, a mount that went away. Such a batch fails as a whole, nothing
of it is committed, and it comes again.
"""

from __future__ import annotations

import re

from pyspark import SparkContext

from headwater.errors import SparkFailed
from headwater.spark.cluster.cluster import is_cluster
from headwater.spark.spark_message import is_of_a_value, message_of

OF_PROCESSES = re.compile(
    r"ExecutorLostFailure|executor \S+ exited|Executor heartbeat timed out|Worker lost|"
    r"SparkContext (?:was|has been) shut ?down|stopped SparkContext|"
    r"Master removed our application|cluster looks down|error from cluster scheduler|"
    r"FetchFailed|TaskResultLost|Failed to connect to|Connection (?:refused|reset)|"
    r"no more replicas|Could not find CoarseGrained"
)
"""An executor, the master or the way between them is gone, after Spark's own tries."""
OF_FILES = re.compile(
    r"FileNotFoundException|NoSuchFileException|FILE_NOT_EXIST|No such file|AccessDenied|"
    r"Permission denied|Stale file handle|Input/output error|No space left"
)
"""What was put into the shared directory is not there for a task; here it is, or was."""


def is_of_the_cluster(text: str) -> bool:
    """
    >>> is_of_the_cluster("Job aborted …: ExecutorLostFailure (executor 1 exited caused by …)")
    True
    >>> is_of_the_cluster("[CAST_INVALID_INPUT] The value 'x' … SQLSTATE: 22018")
    False
    """
    return bool(OF_PROCESSES.search(text) or OF_FILES.search(text))


def raise_if_of_the_cluster(error: Exception) -> None:
    """Raises ``SparkFailed``. With a local master there is no cluster to blame."""
    context = SparkContext._active_spark_context
    if context is None or not is_cluster(context.master) or is_of_a_value(error):
        return
    if is_of_the_cluster(str(error)):
        raise SparkFailed(f"the cluster failed a batch, which comes again: {message_of(error)}")
