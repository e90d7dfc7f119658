"""An archive of Spark's classes, made once at set-up, that halves the time to the first answer.

Java can store the classes that a program loaded, parsed and verified, and map them at the next
start (class-data sharing). The JVM checks the archive against its own build and the class path
and silently goes without if they do not match, so a stale archive costs nothing but time. Several
agents on one machine share its pages.

``python -m headwater.spark.archive`` makes it: it starts Spark, runs the kinds of jobs that an
agent runs, and lets the JVM write the archive (about 170 MB) when it ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark

from headwater.spark.java import Java, find_java

REHEARSAL_LINES = 2_000


def archive_path(java: Java) -> Path:
    """In the Python environment that holds this Spark; ``HEADWATER_ARCHIVE`` puts it elsewhere."""
    elsewhere = os.environ.get("HEADWATER_ARCHIVE")
    if elsewhere:
        return Path(elsewhere)
    name = f"spark-{pyspark.__version__}-java-{java.build}.jsa"
    return Path(sys.prefix) / "share" / "headwater" / name


def make_archive() -> Path:
    """Rehearse and write; the place where ``start_session`` will look."""
    from headwater.spark.rehearsal import rehearse
    from headwater.spark.session import SparkConfig, session_settings, start_session

    del session_settings
    java = find_java()
    path = archive_path(java)
    path.parent.mkdir(parents=True, exist_ok=True)
    running = start_session(SparkConfig(), record_archive=path)
    rehearse(running.session)
    running.stop()
    return path
