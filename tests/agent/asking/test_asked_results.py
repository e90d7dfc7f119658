"""Answers of questions that are over go after a while; those of streams stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

from headwater.agent.asking.asked_results import forget_answers


def made(results: Path, name: str, *, age_s: float) -> Path:
    path = results / name
    path.mkdir(parents=True)
    (path / "headers-1.parquet").write_bytes(b"")
    at_s = time.time() - age_s
    os.utime(path, (at_s, at_s))
    return path


def test_what_is_old_and_a_questions_goes(tmp_path: Path) -> None:
    assert forget_answers(tmp_path / "none", live=()) == []
    for name in ("ask_00000001", "ask_00000001_estimate", "ask_00000002", "ask_me", "hits"):
        made(tmp_path, name, age_s=7_200.0)
    made(tmp_path, "ask_00000003", age_s=60.0)
    gone = forget_answers(tmp_path, live={"ask_00000002"})
    assert gone == ["ask_00000001", "ask_00000001_estimate"]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["ask_00000002", "ask_00000003", "ask_me", "hits"]
