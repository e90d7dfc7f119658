"""The JVM under Spark: found, started, kept, watched, ended, and who is suspected when it dies.

Open ``session`` first, then ``keeper``.
"""
