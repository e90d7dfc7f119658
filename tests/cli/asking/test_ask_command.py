"""``headwater ask`` at the command line: what is shown, what is asked, and how it ends."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from headwater.agent.control.control_api import AnswerEvent
from headwater.cli.commands import ask_command
from headwater.cli.show.estimate_line import Estimate, estimate_of

SELECT = "SELECT status, count(*) AS n FROM hits GROUP BY status"
ESTIMATE = Estimate(1_200_000, 38_000_000, 310_000, 9.2, 217, 212)


def header(window: int = 0, **more: Any) -> dict[str, Any]:
    start_us = window * 60_000_000
    return {
        "window": window,
        "start_us": start_us,
        "end_us": start_us + 60_000_000,
        "revision": 1,
        "expected": 2,
        "covered": 2,
        **more,
    }


ANSWERS = [
    AnswerEvent(header(0), ({"status": 200, "n": 3},)),
    AnswerEvent(header(1), ({"status": 200, "n": 4}, {"status": 404, "n": 1})),
]


class StandIn:
    """A question that is answered at once."""

    made: StandIn
    why: tuple[str, ...] = ()
    estimate: Estimate | None = ESTIMATE
    found = ANSWERS

    def __init__(self, *_: object) -> None:
        StandIn.made = self
        self.did: list[str] = []
        prepared = SimpleNamespace(
            why_not=self.why, first_us=0, end_us=86_400_000_000, step_us=3_600_000_000
        )
        query = SimpleNamespace(reads_cube=not self.why)
        self.question = SimpleNamespace(prepared=prepared, estimate=self.estimate, query=query)

    def prepare(self) -> None:
        self.did.append("prepared")

    def estimated(self) -> Estimate | None:
        self.did.append("estimated")
        return self.estimate

    def answers(self) -> list[AnswerEvent]:
        self.did.append("asked")
        return self.found

    _given: tuple[str, ...] = ()


def ask(monkeypatch: pytest.MonkeyPatch, *arguments: str, **facts: Any) -> Any:
    kind = type("Kind", (StandIn,), facts)
    ended = ask_command._Asking.ended
    monkeypatch.setattr(kind, "ended", lambda self: ended(self), raising=False)
    monkeypatch.setattr(ask_command, "_Asking", kind)
    app = typer.Typer()
    ask_command.add_to(app)
    return CliRunner().invoke(app, [SELECT, "--since", "2h", *arguments])


def test_what_it_reads_is_shown_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ask(monkeypatch, "--yes", "-o", "table")
    said = (
        "reads 1.2 M rows (38 MB) of the cubes of 217 sites, sends about 310 kB, about 9 s; "
        "5 sites have not said."
    )
    assert said in result.output
    when = "asks about 1970-01-01 00:00:00 UTC to 1970-01-02 00:00:00 UTC, in steps of 1 hour"
    assert when in result.output
    assert result.output.index(said) < result.output.index("404")
    assert StandIn.made.did == ["prepared", "estimated", "asked"]


def test_without_a_terminal_nobody_says_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ask(monkeypatch)
    assert "no terminal to ask on; go on with: --yes" in str(result.exception)
    assert StandIn.made.did == ["prepared", "estimated"]


def test_json_has_the_estimate_first(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ask(monkeypatch, "--yes", "-o", "json")
    first, *answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert (first["source"], first["estimate"]["rows"]) == ("cube", 1_200_000)
    assert [one["header"]["window"] for one in answers] == [0, 1]


def test_csv_has_one_line_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ask(monkeypatch, "--yes", "-o", "csv")
    assert result.stdout.splitlines() == ["status,n", "200,3", "200,4", "404,1"]


def test_what_no_cube_has_is_said_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Estimate(0, 7_400_000_000, 0, 0.0, 12, 11, of_logs=True)
    result = ask(monkeypatch, "--yes", "-o", "table", estimate=listed, why=("hits lacks it",))
    assert "not from cubes: hits lacks it" in result.output
    assert "reads the logs of that time" in result.output
    assert (
        "reads up to 7.4 GB of the logs of 12 sites, which is what their files have as they are "
        "listed; 1 site has not said."
    ) in " ".join(result.output.split())


def test_of_logs_the_estimate_is_their_bytes_alone() -> None:
    question = SimpleNamespace(
        estimate=SimpleNamespace(begin_pane=0, ends_at=10),
        query=SimpleNamespace(reads_cube=False),
        prepared=SimpleNamespace(group_share=1.0),
    )
    told = header(expected=10, covered=8, missing=[["a", "unknown", "", []]], missing_count=1)
    row = {"rows": 0, "bytes": 9_000, "groups": 0}
    found = estimate_of(AnswerEvent(told, (row,)), question)
    assert (found.of_logs, found.rows, found.bytes, found.said) == (True, 0, 10_000, 9)


def test_no_answer_is_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, "--yes", found=[]).exit_code == ask_command.EXIT_UNANSWERED


@pytest.mark.parametrize("arguments", [[], ["--since", "2h", "--from", "2026-05-04"]])
def test_about_when_is_said_once(arguments: list[str]) -> None:
    app = typer.Typer()
    ask_command.add_to(app)
    result = CliRunner().invoke(app, [SELECT, *arguments])
    assert "--since or --from" in str(result.exception)


def test_logs_have_no_open_panes() -> None:
    app = typer.Typer()
    ask_command.add_to(app)
    result = CliRunner().invoke(app, [SELECT, "--since", "2h", "--logs", "--open"])
    assert "wanted --open or --logs, got both" in str(result.exception)


def test_sites_that_have_not_said_count_as_those_that_have() -> None:
    question = SimpleNamespace(
        estimate=SimpleNamespace(begin_pane=0, ends_at=10),
        prepared=SimpleNamespace(group_share=0.5),
        query=SimpleNamespace(reads_cube=True),
    )
    missing = [["a", "unknown", "", []], ["b", "declined", "not installed", []]]
    told = header(expected=10, covered=8, missing=missing, missing_count=2)
    row = {"rows": 900, "bytes": 9_000, "groups": 360}
    found = estimate_of(AnswerEvent(told, (row,)), question)
    assert (found.sites, found.said, found.rows, found.bytes) == (10, 9, 1_000, 10_000)
    assert found.sends_bytes == 2_000  # 2 of the 4 groups of a site's pane, 10 bytes each
    assert estimate_of(AnswerEvent(told, ()), question).rows == 0
