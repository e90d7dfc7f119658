"""Which failures of a job are a full disk's: no query and no chunk is to blame for them.

Spark writes what does not fit its memory, and what tasks hand to each other, into its directory. A
query that fails there would have its panes declined for ever, and a chunk would be set aside, for a
disk on which somebody makes room a minute later. Such a batch fails as a whole, and comes again.
"""

from __future__ import annotations

import re

from headwater.errors import SparkFailed
from headwater.spark.spark_message import is_of_a_value, message_of

NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")
"""In the words of the operating system, which Java repeats."""


def raise_if_of_the_disk(error: Exception) -> None:
    """Raises ``SparkFailed``.

    >>> value = "[CAST_INVALID_INPUT] 'No space left on device' … SQLSTATE: 22018"
    >>> raise_if_of_the_disk(ValueError(value))
    >>> raise_if_of_the_disk(ValueError("No space left on device"))
    Traceback (most recent call last):
    headwater.errors.SparkFailed: Spark's disk is full, it is tried again: No space left on device
    """
    if NO_ROOM.search(str(error)) and not is_of_a_value(error):
        raise SparkFailed(
            f"Spark's disk is full, it is tried again: {message_of(error)}"
        ) from error
