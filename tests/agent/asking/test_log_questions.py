"""Questions to the logs keep to the limits of questions: bytes, seconds, and how many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from tests.agent.asking.asked_agents import AskedAgents, rows_of, run_asked, until

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.asking.log_questions import LogQuestions
from headwater.edge.take_asked import Asked
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.store.cube.cube import Cube

LISTED = 1_000


class Site:
    """A site whose logs are read when it is said so."""

    def __init__(self, config: AskConfig) -> None:
        self.read: set[str] = set()
        self.begun: list[str] = []
        self.withdrawn: list[str] = []
        self.told: list[Asked] = []
        self.past: dict[str, str] = {}
        self.fault: Exception | None = None
        """Of the disk that its logs are on."""
        cube = SimpleNamespace(
            past_of=self.past.get, asked_rows=SimpleNamespace(is_made=self.read.__contains__)
        )
        self.questions = LogQuestions(
            cast(Cube, cube),
            config,
            asyncio.Semaphore(config.questions_max),
            begin=self._begin,
            withdraw=self.withdrawn.append,
            listed_bytes=self._listed_bytes,
            told=self.told.append,
            note=lambda kind, text: None,
        )

    def _listed_bytes(self, query: Query) -> int:
        if self.fault is not None:
            raise self.fault
        return LISTED

    async def _begin(self, query: Query, is_new: bool) -> None:
        self.begun.append(str(query.id))

    async def ask(self, id_: str, *, is_new: bool = True, **limits: Any) -> None:
        asked = Ask(until_us=1, **limits)
        query = cast(Query, SimpleNamespace(id=id_, asked=asked))
        await self.questions.install(query, is_new=is_new)


def told(config: AskConfig, story: Callable[[Site], Awaitable[None]]) -> None:
    async def run() -> None:
        site = Site(config)
        try:
            await asyncio.wait_for(story(site), 60)
        finally:
            await site.questions.stop()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("config", "limits"),
    [(AskConfig(bytes_max=LISTED - 1), {}), (AskConfig(), {"bytes_max": LISTED - 1})],
)
def test_files_beyond_the_least_limit_are_not_begun(
    config: AskConfig, limits: dict[str, Any]
) -> None:
    async def story(site: Site) -> None:
        await site.ask("ask_1", **limits)
        await until(lambda: site.told)
        (found,) = site.told
        assert found.refused.startswith("over its limit: its files have 1000 bytes here as they")
        assert (site.begun, site.questions.refused) == ([], 1)

    told(config, story)


@pytest.mark.parametrize(
    ("config", "limits"), [(AskConfig(seconds_max=0.05), {}), (AskConfig(), {"seconds_max": 0.05})]
)
def test_what_is_not_read_within_the_least_limit_is_withdrawn_whole(
    config: AskConfig, limits: dict[str, Any]
) -> None:
    async def story(site: Site) -> None:
        await site.ask("ask_1", **limits)
        await until(lambda: site.told)
        assert "not read within the 0.05 s" in site.told[0].refused
        assert (site.begun, site.withdrawn) == (["ask_1"], ["ask_1"])

    told(config, story)


def test_one_that_fails_fails_alone_and_says_so() -> None:
    """Else whoever asks would wait for this site until the question's end, and not hear why."""

    async def story(site: Site) -> None:
        site.fault = PermissionError("not allowed")
        await site.ask("ask_1")
        await until(lambda: site.told)
        assert site.told[0].refused == "it failed: PermissionError: not allowed"
        assert (site.begun, site.withdrawn, site.questions.refused) == ([], ["ask_1"], 1)
        site.fault = None
        await site.ask("ask_2")
        await until(lambda: site.begun)
        assert site.begun == ["ask_2"]

    told(AskConfig(questions_max=1), story)


def test_no_more_are_read_at_once_than_may_be() -> None:
    async def story(site: Site) -> None:
        for name in ("ask_1", "ask_2", "ask_3"):
            await site.ask(name)
        await until(lambda: site.begun)
        assert site.begun == ["ask_1"]
        site.read.add("ask_1")
        await until(lambda: len(site.begun) == 2)
        site.questions.withdraw("ask_2")
        await until(lambda: len(site.begun) == 3)
        assert not site.told

    told(AskConfig(questions_max=1), story)


def test_one_that_was_begun_before_a_restart_goes_on_at_once() -> None:
    """What is read live until its turn came would be lacking."""

    async def story(site: Site) -> None:
        await site.ask("ask_1")
        await until(lambda: site.begun)
        site.past["ask_2"] = "past of hits"
        await site.ask("ask_2", is_new=False)
        assert site.begun == ["ask_1", "ask_2"]

    told(AskConfig(questions_max=1), story)


def test_the_estimate_of_logs_is_what_their_files_have(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        for number, runtime in enumerate(agents.runtimes.values(), start=1):
            runtime.questions._listed_bytes = lambda query, n=number: 1_000 * n
        question = await agents.prepared("SELECT max(ts) AS last FROM hits")
        assert question.estimate is not None
        (answer,) = await agents.asked(question.estimate)
        (row,) = rows_of(answer)
        assert [value for value in row.values() if value] == [6_000]
        assert answer["header"]["covered"] == 3

    run_asked(tmp_path, story)


def test_a_limit_of_the_site_is_told_with_the_answer(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        for runtime in agents.runtimes.values():
            runtime._log_questions._listed_bytes = lambda query: 1_000
        question = await agents.prepared("SELECT max(ts) AS last FROM hits")
        limited = msgspec.structs.replace(question.query.asked, bytes_max=10)
        query = msgspec.structs.replace(question.query, ask=limited)
        (answer,) = await agents.asked(query)
        assert {reason for _, _, reason, _ in answer["header"]["missing"]} == {
            "refused: over its limit: its files have 1000 bytes here as they are listed, and it "
            "may read 10; ask fewer sites, have a stream keep it, or raise ask.bytes_max"
        }

    run_asked(tmp_path, story)
