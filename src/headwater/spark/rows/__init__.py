"""Rows between Spark and Python: few through the driver, many as files.

Open ``collect`` first.

It may touch what ``spark`` may, and of the rooms beside it ``lines``.
"""
