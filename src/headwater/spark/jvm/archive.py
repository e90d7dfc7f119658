"""An archive of Spark's classes, made once at set-up, that halves the time to the first answer.

Java can store the classes that a program loaded, parsed and verified, and map them at the next
start (class-data sharing). The JVM checks the archive against its own build and the class path
and silently goes without if they do not match, so a stale archive costs nothing but time. Several
agents on one machine share its pages.

``python -m headwater.spark.jvm.make_archive`` makes it: Spark starts, the kinds of jobs that an
agent runs are rehearsed, and the JVM writes the archive (about 160 MB) when it ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark

from headwater.spark.jvm.java import Java


def archive_path(java: Java) -> Path:
    """In the Python environment that holds this Spark; ``HEADWATER_ARCHIVE`` puts it elsewhere."""
    elsewhere = os.environ.get("HEADWATER_ARCHIVE")
    if elsewhere:
        return Path(elsewhere)
    name = f"spark-{pyspark.__version__}-java-{java.build}.jsa"
    return Path(sys.prefix) / "share" / "headwater" / name
