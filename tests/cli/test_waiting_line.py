"""What a command waits for: one line on a terminal, one sentence in a file."""

from __future__ import annotations

import io

import pytest

from headwater.agent.control.control_api import WaitEvent
from headwater.cli.show.waiting_line import CLEAR, WaitingLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_replaced_and_cleared() -> None:
    out = Terminal()
    with WaitingLine(out) as waiting:
        waiting.show(WaitEvent("waiting for a"))
        waiting.show(WaitEvent("waiting for b"))
        waiting.clear()
        waiting.clear()
    assert out.getvalue() == f"{CLEAR}waiting for a{CLEAR}waiting for b{CLEAR}"


def test_a_line_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out = Terminal()
    with WaitingLine(out) as waiting:
        waiting.show(WaitEvent("waiting for a window of many words"))
    assert out.getvalue() == f"{CLEAR}waiting for a wind…{CLEAR}"


def test_a_file_gets_the_first_sentence_and_how_it_ended() -> None:
    out = io.StringIO()
    with WaitingLine(out) as waiting:
        for text in ("waiting for a", "waiting for b", "waiting for c"):
            waiting.show(WaitEvent(text))
        waiting.show(WaitEvent("a@fra#1 was removed", has_ended=True))
    assert out.getvalue() == "waiting for a\na@fra#1 was removed\n"


def test_words_of_others_can_t_move_the_cursor() -> None:
    out = Terminal()
    with WaitingLine(out) as waiting:
        waiting.show(WaitEvent("it lacks \x1b[2J"))
    assert "\x1b[2J" not in out.getvalue()
