"""``headwater run`` of a file that runs already: nothing begins anew unasked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from query_kit import queries_in

from headwater.agent.control import control_api as api
from headwater.agent.control import operator_client
from headwater.cli import main, reach
from headwater.cli.commands import run_command
from headwater.errors import ConfigurationError, HeadwaterError

HEAD = "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = '*.csv', time = 'ts');\n"
COUNT = "SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');\n"
FILE = f"{HEAD}CREATE STREAM a AS\n{COUNT}CREATE STREAM b AS\n{COUNT}"


def running(stream: str) -> api.Installed:
    return api.Installed(stream, f"{stream}@fra#1", "fra", "2026-05-04T12:00:00Z", 2)


def compared(stream: str, state: api.Standing) -> api.Compared:
    text = f"CREATE STREAM {stream} AS\n{COUNT}"
    if state == api.Standing.NEW:
        return api.Compared(stream, state, text)
    former = text.replace("minute", "hour") if state == api.Standing.CHANGED else text
    return api.Compared(
        stream,
        state,
        text,
        former,
        (running(stream),),
        begins="with the window from 2026-05-04T13:00:00Z",
        results=(f"/fed/fra/state/results/{stream}",),
        settings="deadline = '9 s'",
    )


class Federation:
    """An agent of which only the answers to ``compare`` and ``run`` are known."""

    def __init__(self, **states: api.Standing) -> None:
        self._states = states
        self.installed: list[str] = []
        """The texts that were run."""
        self.refused: dict[str, str] = {}
        self.altered: list[tuple[str, str, bool]] = []

    def ask(self, federation: Any, site: Any, name: str, request: Any, reply: Any) -> Any:
        assert name == api.COMPARE
        return api.ComparedReply(tuple(compared(*item) for item in self._states.items()))

    def command(self, federation: Any, site: Any, give: Callable[..., Any]) -> Any:
        return give(None, None)

    def run_statements(self, ask: Any, text: str, signature: Any) -> api.RunReply:
        self.installed.append(text)
        found = [name for name in self._states if f"CREATE STREAM {name} " in text]
        new = [
            api.Installed(name, f"{name}@fra#9", "fra", "…", 2, refused=self.refused.get(name, ""))
            for name in found
        ]
        return api.RunReply(tuple(new))

    def alter_stream(
        self, ask: Any, stream: str, settings: str, signature: Any, *, is_whole: bool
    ) -> tuple[api.Altered, ...]:
        self.altered.append((stream, settings, is_whole))
        return (api.Altered(stream, f"{stream}@fra#1", 2, settings, "2026-05-04 12:00:00 UTC", 3),)


Run = Callable[..., tuple[int, str, str, Federation]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*options: str, **states: api.Standing) -> tuple[int, str, str, Federation]:
        refused, text = states.pop("refused", ""), str(states.pop("text", FILE))
        federation = Federation(**states)
        federation.refused = {"b": refused}
        monkeypatch.setattr(reach, "ask", federation.ask)
        monkeypatch.setattr(reach, "command", federation.command)
        monkeypatch.setattr(operator_client, "run_statements", federation.run_statements)
        monkeypatch.setattr(operator_client, "alter_stream", federation.alter_stream)
        file = tmp_path / "queries.sql"
        file.write_text(text)
        with pytest.raises(SystemExit) as ended:
            main.main(["run", str(file), *options])
        return int(ended.value.code or 0), *capsys.readouterr(), federation

    return run


def answered(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Somebody sits at a terminal."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(run_command.typer, "confirm", lambda *_, **__: answer == "y")


def test_a_file_that_runs_as_it_is_changes_nothing(run: Run) -> None:
    code, out, err, federation = run(a=api.Standing.SAME, b=api.Standing.SAME)
    assert (code, federation.installed) == (0, [])
    assert "a runs as it is written, as a@fra#1, and goes on" in err
    assert "nothing is changed" in err
    assert [json.loads(line)["change"] for line in out.splitlines()] == ["unchanged", "unchanged"]


def test_what_the_asked_agent_refuses_is_said_and_is_no_success(run: Run) -> None:
    reason = "not read here: refused at fra: the [policy] of fra does not let olga install it"
    code, out, err, _ = run(a=api.Standing.NEW, b=api.Standing.NEW, refused=reason)
    assert code == run_command.EXIT_REFUSED_HERE
    assert f"b@fra#9 is installed, and the agent that took it refuses its part: {reason}" in err
    assert "a@fra#9 is installed" not in err
    told = {json.loads(line)["stream"]: json.loads(line)["refused"] for line in out.splitlines()}
    assert told == {"a": "", "b": reason}


def test_what_has_changed_is_refused_where_nobody_can_be_asked(run: Run) -> None:
    code, out, err, federation = run(a=api.Standing.SAME, b=api.Standing.CHANGED)
    assert (code, out, federation.installed) == (main.EXIT_REFUSED, "", [])
    assert "-SELECT count(*) AS n FROM s GROUP BY window(ts, '1 hour');" in err
    assert "+SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');" in err
    assert "b@fra#1 ends now" in err
    assert "begins with the window from 2026-05-04T13:00:00Z" in err
    assert "stay in /fed/fra/state/results/b" in err
    assert "there is no terminal to ask on; nothing is changed" in err
    assert "headwater run --replace" in err


def test_replace_installs_what_has_changed_and_only_that(run: Run) -> None:
    code, out, err, federation = run("--replace", a=api.Standing.SAME, b=api.Standing.CHANGED)
    assert code == 0
    (text,) = federation.installed
    assert "CREATE STREAM b" in text
    assert "CREATE STREAM a" not in text
    assert "b has changed. If it is replaced" in err, "it is shown all the same"
    assert [json.loads(line)["change"] for line in out.splitlines()] == [
        "unchanged",
        "replaces b@fra#1",
    ]


def test_a_stream_that_was_added_to_a_file_comes_beside_the_others(run: Run) -> None:
    code, out, err, federation = run(a=api.Standing.SAME, b=api.Standing.NEW)
    assert (code, len(federation.installed)) == (0, 1)
    assert "CREATE STREAM a" not in federation.installed[0]
    assert "has changed" not in err
    assert json.loads(out.splitlines()[-1])["change"] == "installed"


@pytest.mark.parametrize(("answer", "code", "count"), [("y", 0, 1), ("n", 1, 0)])
def test_at_a_terminal_it_is_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, count: int
) -> None:
    answered(monkeypatch, answer)
    ended, _, err, federation = run(a=api.Standing.CHANGED)
    assert (ended, len(federation.installed)) == (code, count)
    assert ("nothing is changed" in err) == (answer == "n")


def test_statements_that_may_not_be_read_are_not_shown() -> None:
    hidden = api.Compared("a", api.Standing.CHANGED, "text", "", (running("a"),), begins="with x")
    text = run_command.difference(hidden, "f.sql")
    assert "you may not read this stream" in text
    assert "---" not in text


def test_all_parts_of_a_stream_say_what_they_replace() -> None:
    former = compared("a", api.Standing.CHANGED)
    part = api.Installed("a_north", "a_north@fra#9", "fra", "…", 2, part="1 of 2 of a")
    other = api.Installed("b", "b@fra#9", "fra", "…", 2)
    assert run_command._with_former(part, [former]).change == "replaces a@fra#1"
    assert run_command._with_former(other, [former]) == other


def test_where_the_statements_come_from_the_terminal_nobody_is_asked_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered(monkeypatch, "y")
    with pytest.raises(ConfigurationError, match="no terminal to ask on"):
        run_command._ask_to_replace([compared("a", api.Standing.CHANGED)], Path("-"))


def test_a_file_with_several_faults_is_refused_with_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The agent that is asked names the first."""
    text = FILE.replace("'1 minute'", "'1 month'")

    def refuse(*_: Any) -> None:
        queries_in(text, at="fra")

    assert run_of(tmp_path, monkeypatch, text, refuse) == main.EXIT_REFUSED
    said = capsys.readouterr().err
    assert "2 faults" in said
    assert "line 3:" in said
    assert "line 5:" in said


def test_a_refusal_that_is_not_about_the_statements_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise HeadwaterError("olga is a viewer, who changes nothing")

    assert run_of(tmp_path, monkeypatch, FILE.replace("'1 minute'", "'1 month'"), refuse)
    said = capsys.readouterr().err
    assert "olga is a viewer" in said
    assert "faults" not in said


def run_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, refuse: Callable[..., Any]
) -> int:
    monkeypatch.setattr(reach, "ask", refuse)
    file = tmp_path / "queries.sql"
    file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main.main(["run", str(file)])
    return int(ended.value.code or 0)


def test_one_that_differs_in_settings_alone_goes_on_with_them(run: Run) -> None:
    code, out, err, federation = run(a=api.Standing.ALTERED, b=api.Standing.SAME)
    assert (code, federation.installed) == (0, [])
    assert federation.altered == [("a", "deadline = '9 s'", True)]
    assert "a is altered in settings alone: a@fra#1 goes on, and is not replaced" in err
    assert "2026-05-04 12:00:00 UTC" in out
    changes = [json.loads(line).get("change") for line in out.splitlines()]
    assert changes == [None, "unchanged", "altered"]


def test_statements_that_alter_are_given_behind_the_others(run: Run) -> None:
    alter = "ALTER STREAM b SET (error = '1 %', deadline = '9 s');"
    code, _, _, federation = run(a=api.Standing.NEW, b=api.Standing.SAME, text=f"{FILE}{alter}")
    assert code == 0
    assert "ALTER" not in federation.installed[0]
    assert federation.altered == [("b", "error = '1 %', deadline = '9 s'", False)]


def test_nothing_of_a_file_is_done_where_a_setting_in_it_can_not_be_altered(run: Run) -> None:
    alters = "ALTER STREAM b SET (error = '1 %'); ALTER STREAM b SET (widnow = '1 s');"
    code, _, err, federation = run(a=api.Standing.NEW, text=f"{FILE}{alters}")
    assert code != 0
    assert "no setting `widnow`" in err
    assert (federation.installed, federation.altered) == ([], [])


def test_a_file_of_alterations_alone_installs_nothing(run: Run) -> None:
    code, _, err, federation = run(text="ALTER STREAM b SET (error = 'none');")
    assert (code, federation.installed) == (0, [])
    assert federation.altered == [("b", "error = 'none'", False)]
    assert "b goes on" in err


def test_an_alteration_that_is_not_as_it_must_be_is_refused_with_its_place(run: Run) -> None:
    code, _, err, federation = run(text="ALTER STREAM b WITH (error = 'none');")
    assert code != 0
    assert "wanted SET (option = 'value', …) behind the name" in err
    assert federation.altered == []
