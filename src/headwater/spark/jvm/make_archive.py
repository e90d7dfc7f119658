"""Makes the archive of Spark's classes: ``python -m headwater.spark.jvm.make_archive``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from headwater.spark.jvm.archive import archive_path
from headwater.spark.jvm.java import find_java
from headwater.spark.jvm.session import SparkConfig, start_session
from headwater.spark.rehearsal import rehearse

WRITING_S_MAX = 300.0


def make_archive() -> Path:
    """Rehearse and write; a reader sees the old archive or the new one, never half of it."""
    path = archive_path(find_java())
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="headwater-archive-") as scratch:
        log = Path(scratch) / "jvm.log"
        running = start_session(
            SparkConfig(master="local[2]", directory=scratch, log=str(log)), archive_into=fresh
        )
        try:
            rehearse(running.session)
        finally:
            running.stop(wait_s=WRITING_S_MAX)
        if not fresh.exists():
            sys.exit(f"the JVM wrote no archive; the end of its log:\n{log.read_text()[-2000:]}")
    fresh.replace(path)
    return path


if __name__ == "__main__":
    make_archive()
