"""In which order a site has read its records, as columns beside the lines of a batch.

The text reader has no number of a line. But the files of a batch are links of our own making, whose
names are in the order of cuts (``lines``); Spark says of each line which file it is of, and which
block of it where a file is read by several tasks; and within a block lines come in their order, so
that a number which rises in each task tells the rest. The three together depend on the files alone:
whoever reads the same chunks again, with as many tasks as there may be, finds the same order.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.spark.lines.fields import LINE

FILE = "__file"
BLOCK = "__block"
TURN = "__turn"
ORDER = (FILE, BLOCK, TURN)
"""Of a site's lines, by these columns."""
LENGTH = "__length"
"""The bytes of a line in UTF-8, and one for its end, whatever it ends with in its file."""
LINE_END_BYTES = 1


def with_order(lines: DataFrame, *, has_lines: bool) -> DataFrame:
    """What Spark has read, with ``ORDER``, and ``LENGTH`` where it is lines."""
    columns = [
        F.col("_metadata.file_name").alias(FILE),
        F.col("_metadata.file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(TURN),
    ]
    if has_lines:
        columns.append((F.octet_length(LINE) + LINE_END_BYTES).cast("bigint").alias(LENGTH))
    return lines.select("*", *columns)
