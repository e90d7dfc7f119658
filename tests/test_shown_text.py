"""What people see holds nothing that a terminal obeys, wherever it came from."""

from __future__ import annotations

import doctest
import io
import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import shown_text
from headwater.cli import main as command_line
from headwater.cli.commands import operator_commands
from headwater.cli.show.output import Listing, OutputFormat, log_warnings_only, print_listing, say
from headwater.errors import HeadwaterError
from headwater.shown_text import REPLACED, escaped_json, shown, shown_line, shown_within
from headwater.spark.jvm.jvm import Voice

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

TITLE = "a\x1b]0;all is well\x07b"
"""Would set the title of the operator's window."""
HOSTILE = {
    "an escape": TITLE,
    "a bell": "\x07",
    "a backspace": "12\x08",
    "C1, which is an escape in one character": "\x9b31m",
    "a deleted character": "\x7f",
    "an override of direction": "\u202egpj.exe",
    "an isolate": "\u2066",
    "a mark of direction": "\u200f",
    "a return": "real\rfake",
    "half of a pair": "\ud800",
}
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(shown_text).failed == 0


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("form", [OutputFormat.TABLE, OutputFormat.CSV, OutputFormat.JSON])
def test_no_form_hands_a_terminal_what_it_would_obey(text: str, form: OutputFormat) -> None:
    if form is OutputFormat.JSON and "\ud800" in text:
        return  # no value that came as UTF-8 has one, and JSON's encoder refuses it
    out = Terminal()
    print_listing(
        Listing((f"name{text}", "n"), [(text, 1), ((text, "x"), 2)], title=text), form, out
    )
    # Rich itself writes escapes for bold heads; what came from outside has none of its own.
    printed = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert not OBEYED.search(printed.replace("\r\n", "\n")), printed


def test_json_means_what_it_meant() -> None:
    out = io.StringIO()
    row = ("\x9b31m\u202e\x1b", 1)
    print_listing(Listing(("v", "n"), [row]), OutputFormat.JSON, out)
    assert json.loads(out.getvalue()) == {"v": row[0], "n": 1}


def test_csv_in_a_pipe_is_left_as_it_is() -> None:
    out = io.StringIO()
    print_listing(Listing(("v",), [(TITLE,)]), OutputFormat.CSV, out)
    assert TITLE in out.getvalue()


def test_a_value_can_not_pass_for_a_line_of_its_own() -> None:
    assert shown_line("x\n  lhr: exact") == "x   lhr: exact"
    assert shown("two\nlines\tand a tab") == "two\nlines\tand a tab"


@given(st.text())
def test_showing_twice_changes_nothing_more(text: str) -> None:
    assert not OBEYED.search(shown(text))
    assert shown(shown(text)) == shown(text)
    assert "\n" not in shown_line(text)
    assert len(shown(text)) == len(text)


@given(st.text(st.characters(codec="utf-8")))
def test_escaped_json_is_the_same_value(text: str) -> None:
    assert json.loads(escaped_json(json.dumps({"v": text}, ensure_ascii=False))) == {"v": text}


def test_texts_are_found_however_deep_they_stand() -> None:
    value = {"a\x1b": [("b\x1b", {"c": "d\x1b"})], "n": 1}
    assert shown_within(value) == {
        f"a{REPLACED}": [(f"b{REPLACED}", {"c": f"d{REPLACED}"})],
        "n": 1,
    }


def test_errors_and_words_about_the_work_are_clean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise HeadwaterError(f"no stream {TITLE}")

    say(TITLE)
    monkeypatch.setattr(command_line, "app", refuse)
    with pytest.raises(SystemExit):
        command_line.main(["why", "x"])
    assert not OBEYED.search(capsys.readouterr().err)


def test_the_log_of_commands_for_people_is_clean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import structlog

    log_warnings_only()
    structlog.get_logger().warning("file not read", path=TITLE)
    structlog.get_logger().warning("input not read", path="told.csv")
    printed = capsys.readouterr().err
    assert "file not read" in printed
    assert "told.csv" not in printed, "the command says it itself, in the end"
    assert not OBEYED.search(printed), "no colours either where no terminal is"


def test_the_agents_log_is_json_that_a_terminal_does_not_obey() -> None:
    from headwater.agent.process import _json

    text = _json({"text": f"{TITLE}\x9b\u202e"})
    assert not OBEYED.search(text)
    assert json.loads(text)["text"] == f"{TITLE}\x9b\u202e"


def test_an_answers_head_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    header = {
        "start_us": 0,
        "end_us": 1,
        "revision": 1,
        "covered": 1,
        "expected": 2,
        "missing": [("fra", "failed", f"{TITLE}\nlhr: exact", ())],
    }
    operator_commands.show_answer(header, ({"host": TITLE},), OutputFormat.TABLE)
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "revision 1" in printed.splitlines()[0]
    assert "lhr: exact" in printed.splitlines()[0], "not in a line of its own"
    assert not OBEYED.search(printed)


@pytest.mark.spark
def test_sparks_own_log_is_clean(running_spark: RunningSpark) -> None:
    voice: Voice = running_spark._jvm._voice
    assert voice.log is not None
    size = voice.log.stat().st_size
    logs = running_spark.session.sparkContext._jvm.org.apache.logging.log4j.LogManager
    logs.getLogger("headwater.test").error(f"the value {TITLE}\u202e is wrong")
    with voice.log.open("rb") as file:
        file.seek(size)
        written = file.read().decode()
    assert "the value a?]0;all is well?b? is wrong" in written
    assert not OBEYED.search(written)
