"""``demo --keep`` waits for the first answers of the agents that it leaves, and not for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.agent.control.control_api import StreamLine, StreamsReply
from headwater.cli import reach
from headwater.cli.commands import demo_command


def reply(*answered: int) -> StreamsReply:
    lines = [StreamLine(f"s{n}", f"s{n}@a#1", "a", "5 s", one) for n, one in enumerate(answered)]
    return StreamsReply(tuple(lines))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes only while somebody sleeps."""
    now = [0.0]

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return now[0]

        @staticmethod
        def sleep(pause_s: float) -> None:
            now[0] += pause_s

    monkeypatch.setattr(demo_command, "time", Clock)


def asked(monkeypatch: pytest.MonkeyPatch, replies: list[StreamsReply]) -> list[Any]:
    """How often was asked; the last reply is given for ever."""
    seen: list[Any] = []

    def ask(*arguments: Any) -> StreamsReply:
        seen.append(arguments)
        return replies[min(len(seen), len(replies)) - 1]

    monkeypatch.setattr(reach, "ask", ask)
    return seen


@pytest.mark.usefixtures("clock")
def test_it_waits_until_every_question_has_an_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = asked(monkeypatch, [reply(), reply(0, 0), reply(3, 0), reply(4, 1)])
    demo_command._await_answers(Path("run"))
    assert len(seen) == 4
    said = capsys.readouterr().err
    assert "1 of 2 questions are answered" in said
    assert "still at it" not in said


@pytest.mark.usefixtures("clock")
def test_where_answers_take_too_long_it_says_how_to_see_them_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = asked(monkeypatch, [reply(3, 0)])
    demo_command._await_answers(Path("run"))
    assert len(seen) == demo_command.ANSWER_S_MAX / demo_command.LOOK_EVERY_S
    assert "headwater watch top_domains" in capsys.readouterr().err
