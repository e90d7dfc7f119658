"""What the guide says that one can type: read as the command reads it, and prepared by an agent."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.agent.asking.asked_agents import AskedAgents, run_asked, until
from typer.testing import CliRunner

from headwater.agent.control.operator_client import prepared_question, run_statements
from headwater.cli.commands import ask_command

HOUSE = Path(__file__).resolve().parents[3]
GUIDE = HOUSE / "docs" / "guide" / "ask.md"
COMMANDS = re.findall(r"^headwater ask .*$", GUIDE.read_text("utf-8"), re.MULTILINE)
DAY = "2026-05-04"
"""Of the page's times: no site keeps panes that long."""
SHOPS = (HOUSE / "examples" / "shops" / "sales.sql").read_text("utf-8")


def requests_of(commands: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command would have prepared, had it gone on."""
    found: list[Any] = []

    class Stopped:
        def __init__(self, _: object, __: object, request: Any) -> None:
            found.append(request)
            raise typer.Exit

    monkeypatch.setattr(ask_command, "_Asking", Stopped)
    app = typer.Typer()
    ask_command.add_to(app)
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command)[2:])
        assert result.exit_code == 0, (command, result.output)
    return found


def test_its_questions_are_prepared_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
    requests = requests_of([one.replace(DAY, yesterday) for one in COMMANDS], monkeypatch)
    assert len(requests) == len(COMMANDS) == 5

    async def story(agents: AskedAgents) -> None:
        hub = agents.runtimes["hub"]
        await run_statements(agents.desks["hub"].handle, SHOPS, agents.world.operator)
        await until(lambda: len(hub.node.peer.live_queries()) == 2)
        asked = []
        for request in requests:
            request = request if request.sites == "" else _here(request)
            asked.append(await prepared_question(agents.desks["hub"].handle, request))
        assert [one.query.reads_cube for one in asked] == [True] * 4 + [False]
        assert asked[-1].prepared.why_not == ("revenue does not compute MAX(quantity)",)

    run_asked(tmp_path, story)


def _here(request: Any) -> Any:
    import msgspec

    assert request.sites == "site*", "as a federation of this machine calls them"
    return msgspec.structs.replace(request, sites="o*")
