"""The JVM under Spark: found, started, kept, watched, ended, and who is suspected when it dies.

Open ``session`` first, then ``keeper``.

It may touch what ``spark`` may, and of the rooms beside it ``cluster``.
"""
