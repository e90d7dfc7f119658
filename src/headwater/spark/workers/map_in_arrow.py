"""``DataFrame.mapInArrow`` without pandas.

PySpark's own asks for pandas before it does anything, and then makes no use of it; and it takes
whichever session is active in the thread, where we mean the frame's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.classic.column import _to_seq
from pyspark.sql.types import StructType
from pyspark.sql.udf import _wrap_function
from pyspark.util import PythonEvalType

FUNCTION = "org.apache.spark.sql.execution.python.UserDefinedPythonFunction"

Mapped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_in_arrow(frame: DataFrame, function: Mapped, schema: StructType) -> DataFrame:
    """``function`` runs in a worker, over the batches of a partition."""
    session = frame.sparkSession
    context = session.sparkContext
    jvm: Any = context._jvm
    assert jvm is not None, "a session has a JVM"
    made = getattr(jvm, FUNCTION)(
        "map_in_arrow",
        _wrap_function(context, function, schema),
        session._jsparkSession.parseDataType(schema.json()),
        PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
        True,  # it is deterministic
        [],
        [],
    )
    columns = [frame._jdf.col(name) for name in frame.columns]
    column = made.apply(_to_seq(context, columns))
    return DataFrame(frame._jdf.mapInArrow(column, False, None), session)
