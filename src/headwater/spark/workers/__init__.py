"""Large batches of delimited and JSON lines, parsed by Arrow in Spark's Python workers: whole
columns, and every line that it is not sure of given back to the JVM.

What comes of a batch is the same either way. Open ``worker_lines`` first.

It may touch what ``spark`` may, and of the rooms beside it ``cluster``, ``jvm``, ``lines`` and
``site``.
"""
