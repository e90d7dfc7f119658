"""``spark.read.format("headwater").option("ask", …)`` from end to end: the source's own command, at
running agents, whose published answer is what the frame has. Python stands in Spark's place, and
one process in the place of many."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.agent.asking.asked_agents import AskedAgents, run_asked
from tests.agent.asking.test_questions import BY_STATUS, give_all
from typer.testing import CliRunner

from headwater.cli import reach
from headwater.cli.main import app
from headwater.spark.results.results_layout import ResultsUnreadable
from headwater.spark.results.results_source import HeadwaterResults


class Client:
    """Of an agent whose loop is another one's."""

    def __init__(self, agents: AskedAgents, loop: asyncio.AbstractEventLoop) -> None:
        self._agents, self._loop = agents, loop
        self.signature = agents.world.operator

    def client(self) -> Client:
        return self

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def _there(self, work: Coroutine[Any, Any, Any]) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def request(self, name: str, payload: dict[str, Any]) -> Any:
        return await self._there(self._agents.desks["hub"].handle(name, payload))

    async def stream(self, name: str, payload: dict[str, Any]) -> AsyncIterator[Any]:
        events = await self.request(name, payload)
        try:
            while (event := await self._there(anext(events, None))) is not None:
                yield event
        finally:
            await self._there(events.aclose())


def in_this_process(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
    """What agents log goes to the same place, since they are in it, too."""
    done = CliRunner().invoke(app, command[3:])
    said = "\n".join(line for line in done.stdout.splitlines() if line.startswith("{"))
    words = done.stderr if done.exception is None else f"{done.stderr}{done.exception}"
    return subprocess.CompletedProcess(command, done.exit_code, said, words)


def frame_of(directory: Path, **options: str) -> list[dict[str, Any]]:
    """As Spark plans and reads it."""
    source = HeadwaterResults(
        {"path": str(directory / "hub" / "results"), "since": "10 minutes", **options}
    )
    reader = source.reader(source.schema())
    batches = [one for part in reader.partitions() for one in reader.read(part)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def asked_from_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: str
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        client = Client(agents, asyncio.get_running_loop())
        monkeypatch.setattr(reach, "find_agent", lambda federation, site: client)
        monkeypatch.setattr(subprocess, "run", in_this_process)
        found.extend(await asyncio.to_thread(frame_of, tmp_path, **options))

    run_asked(tmp_path, story)
    return found


def test_a_frame_is_the_answer_of_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = asked_from_spark(tmp_path, monkeypatch, ask=BY_STATUS)
    assert sorted((row["status"], row["count_1"]) for row in rows) == [(200, 15), (500, 3)]
    assert {(row["exact"], row["expected"], row["covered"]) for row in rows} == {(True, 3, 3)}


def test_its_headers_are_the_envelope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (header,) = asked_from_spark(
        tmp_path, monkeypatch, ask=BY_STATUS, mode="headers", sites="oslo,rome"
    )
    assert (header["expected"], header["rows"], header["trigger"]) == (2, 2, "complete")
    assert '"stream":"pages@hub#1"' in header["envelope"]


def test_a_refusal_is_told_in_the_words_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ResultsUnreadable, match="no stream reads `nothing`"):
        asked_from_spark(tmp_path, monkeypatch, ask="SELECT count(*) FROM nothing")
