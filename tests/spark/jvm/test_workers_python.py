"""The Python of Spark's workers is looked at before Spark fails in many lines."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headwater.spark.jvm.workers_python import objection_to
from headwater.spark.results.results_layout import ResultsUnreadable
from headwater.spark.results.results_source import register


def stand_in(path: Path, command: str) -> str:
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return str(path)


def test_the_python_that_runs_this_is_fine() -> None:
    assert objection_to(sys.executable) is None


def test_another_one_with_the_same_packages_is_fine(tmp_path: Path) -> None:
    assert objection_to(stand_in(tmp_path / "python", f'exec {sys.executable} "$@"')) is None


def test_one_without_pyarrow_is_named_with_what_to_do(tmp_path: Path) -> None:
    """As the system's is where the environment was not activated."""
    bare = stand_in(tmp_path / "python3", f'exec {sys.executable} -I -S "$@"')
    told = objection_to(bare)
    assert told is not None
    assert "\n" not in told
    assert f"with {bare}, and that has no pyarrow" in told
    assert "activate the environment" in told
    assert f"set PYSPARK_PYTHON={sys.executable}" in told


@pytest.mark.parametrize(
    ("command", "said"),
    [("echo 2.7", "that is Python 2.7, while"), ("exit 3", "that has no pyarrow")],
)
def test_one_of_another_version_or_none_at_all_is_told(
    tmp_path: Path, command: str, said: str
) -> None:
    assert said in str(objection_to(stand_in(tmp_path / "python3", command)))
    assert "is not there" in str(objection_to(str(tmp_path / "nothing")))


def test_registering_refuses_in_one_sentence(tmp_path: Path) -> None:
    bare = stand_in(tmp_path / "python3", f'exec {sys.executable} -I -S "$@"')
    session = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(pythonExec=bare)))
    with pytest.raises(ResultsUnreadable, match="activate the environment"):
        register(session)
