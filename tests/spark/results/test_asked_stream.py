"""A question from a Spark session: the command is run once, and its answer is what is read."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from headwater.spark.results.asked_stream import asked_stream
from headwater.spark.results.results_layout import ResultsUnreadable
from headwater.spark.results.results_source import HeadwaterResults

ANSWERED = '{"estimate":{}}\n{"header":{"stream":"ask_0a1b2c3d"},"rows":[]}\n'
FLAGS = ("--logs", "--open")
ASKED = {
    "ask": "SELECT count(*) FROM hits",
    "since": "2h",
    "federation": "fed",
    "logs": "true",
    "open": "true",
}


def commands(monkeypatch: pytest.MonkeyPatch, *, code: int = 0, out: str = ANSWERED) -> list[Any]:
    run: list[Any] = []

    def stand_in(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        run.append(command)
        return subprocess.CompletedProcess(command, code, out, "headwater: it was refused")

    monkeypatch.setattr(subprocess, "run", stand_in)
    return run


def test_the_command_is_run_with_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    run = commands(monkeypatch)
    assert asked_stream(ASKED) == "ask_0a1b2c3d"
    (command,) = run
    assert command[1:5] == ["-m", "headwater.cli", "ask", "SELECT count(*) FROM hits"]
    assert command[5:] == ["--yes", "-o", "json", "--since", "2h", "--federation", "fed", *FLAGS]


def test_it_is_asked_once_for_a_frame(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = commands(monkeypatch)
    source = HeadwaterResults({**ASKED, "path": str(tmp_path)})
    assert {source._request().stream, source._request().stream} == {"ask_0a1b2c3d"}
    assert len(run) == 1


def test_what_the_command_says_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    commands(monkeypatch, code=2, out="")
    with pytest.raises(
        ResultsUnreadable, match="got what the command says: headwater: it was refused"
    ):
        asked_stream(ASKED)
    commands(monkeypatch, out='{"estimate":{}}\n')
    with pytest.raises(ResultsUnreadable, match="got none"):
        asked_stream(ASKED)


def test_a_question_is_no_stream(tmp_path: Path) -> None:
    source = HeadwaterResults({**ASKED, "path": str(tmp_path)})
    with pytest.raises(ResultsUnreadable, match="asked once"):
        source.streamReader(None)  # type: ignore[arg-type]
