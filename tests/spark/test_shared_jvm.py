"""The tests' own JVM: a test that kills it fails, at once, and alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os, signal, threading, time

def kill(running):
    os.kill(running.jvm.pid, signal.SIGKILL)

def test_before(spark):
    assert spark.range(3).count() == 3

def test_the_one_that_waits(running_spark):
    kill(running_spark)
    began_s = time.monotonic()
    try:
        threading.Event().wait(200)
    finally:
        print("waited less than a minute:", time.monotonic() - began_s < 60)

def test_after(spark):
    assert spark.range(4).count() == 4

def test_without_spark():
    pass
"""
QUIETLY = """
import os, signal

def test_that_does_not_notice(running_spark):
    os.kill(running_spark.jvm.pid, signal.SIGKILL)
    assert running_spark.ends_within(60)

def test_in_the_next(spark):
    assert spark.range(5).count() == 5
"""


@pytest.mark.spark
@pytest.mark.processes
def test_a_dead_jvm_fails_the_one_test_that_killed_it_at_once(tmp_path: Path) -> None:
    conftest = Path(__file__).parents[1] / "conftest.py"
    (tmp_path / "conftest.py").write_text(conftest.read_text())
    (tmp_path / "test_first.py").write_text(TESTS)
    (tmp_path / "test_second.py").write_text(QUIETLY)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-rN", str(tmp_path)],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    outcomes = dict(re.findall(r"::(test_\w+) (PASSED|FAILED|ERROR)", run.stdout))
    assert outcomes == {
        "test_before": "PASSED",
        "test_the_one_that_waits": "FAILED",
        "test_after": "PASSED",
        "test_without_spark": "PASSED",
        "test_that_does_not_notice": "FAILED",
        "test_in_the_next": "PASSED",
    }, run.stdout + run.stderr
    assert "waited less than a minute: True" in run.stdout
    assert "the JVM was killed (SIGKILL)" in run.stdout
    assert "its last words" in run.stdout
