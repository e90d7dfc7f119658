"""Rows that can't be read when they are to be sent: asked for again, or declined where gone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pane_kit import NumbersMerger, RootDisk, SiteDisk, make_query, make_roster

from headwater.agent.asking.log_questions import LogQuestions
from headwater.agent.asking.site_questions import SiteQuestions
from headwater.agent.effects import EffectRunner, NetworkShell
from headwater.agent.input.feeder import Feeder
from headwater.agent.input.site_shell import SiteShell
from headwater.agent.stores import SiteStores
from headwater.edge.report import BatchReport, QueryBatch
from headwater.errors import DiskTrouble, RowsGone, SegmentDamaged, StoreBroken, StoreError
from headwater.net.network import Network
from headwater.node import effects as fx
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.plan.command import Install
from headwater.plan.notice import Notice
from headwater.plan.tree import Tree

QUERY = make_query(begin_pane=1)
ID = str(QUERY.id)


class FailingCube:
    """A cube in memory whose reads raise what a test says."""

    def __init__(self) -> None:
        self.disk = SiteDisk(1000)
        self.errors: list[StoreError] = []
        self.reads = 0

    def write(self, writes: Sequence[fx.CubeWrite]) -> list[Any]:
        return fx.perform_all(self.disk, writes)

    def rows(self, query: str, pane: int, updates: Any) -> Any:
        self.reads += 1
        if self.errors:
            raise self.errors.pop(0)
        rows = self.disk.rows(query, pane, updates)
        if rows is None:
            raise RowsGone("retention has taken them")
        return rows


class Agent:
    """A site that is its own root, driven by hand through the real runner."""

    def __init__(self) -> None:
        self.cube, self.ledger = FailingCube(), RootDisk(query=QUERY)
        self.now_s = 0.0
        self.published: list[tuple[int, tuple[int, ...], bool]] = []
        self.notices: list[Notice] = []
        self.node = Node(
            site="s0",
            roster=make_roster(1),
            trees=(Tree(0, ()),),
            config=NodeConfig(),
            merger_of=lambda _: NumbersMerger(),
            incarnation=1000,
            root_incarnation=50,
        )
        stores, writer = SimpleNamespace(cube=self.cube), ThreadPoolExecutor(1)
        self.shell = SiteShell(
            self.node,
            cast(SiteStores, stores),
            cast(Feeder, None),
            cast(SiteQuestions, None),
            cast(LogQuestions, None),
            writer=writer,
            now_s=lambda: self.now_s,
            note=lambda *_: None,
        )
        self.shell.install = self._install  # type: ignore[method-assign]
        self.runner = EffectRunner(
            self.node,
            {
                "network": NetworkShell(cast(Network, SimpleNamespace(send=lambda *_: None))),
                "cube": self.cube,
                "site": self.shell,
                "ledger": SimpleNamespace(write=partial(fx.perform_all, self.ledger)),
                "answers": self,
                "commands": SimpleNamespace(write=lambda writes: [None for _ in writes]),
                "people": self,
            },
            writer=writer,
            now_s=lambda: self.now_s,
        )

    async def _install(self, installed: fx.Installed) -> None:
        self.node.read_from(str(installed.query.id), at_s=self.now_s, now_s=self.now_s)

    def write(self, begun: Sequence[fx.AnswersEffect]) -> list[None]:
        return [None for _ in begun]

    def notice(self, notice: Notice) -> None:
        self.notices.append(notice)

    def answer(self, answer: fx.Answer) -> None:
        for request in answer.requests:
            rows = self.ledger.rows(request.panes, kept_through=answer.kept_through)
            self.published.append((request.window, rows, request.envelope.exact))
        self.ledger.publish(answer)
        self.node.answered(answer, now_s=self.now_s)

    async def work(self) -> None:
        while effects := self.node.take():
            await self.runner.run(effects)

    async def run(self, until_s: float) -> None:
        """Polls at every second, ticks between."""
        while self.now_s < until_s:
            self.now_s = round(self.now_s + 0.5, 3)
            if self.now_s == int(self.now_s):
                poll = BatchReport(QUERY.source_name, read_through_s=self.now_s)
                self.node.batch_committed(poll, now_s=self.now_s)
            self.node.tick(now_s=self.now_s)
            await self.work()

    async def answer_to(self, records: list[int], *errors: StoreError) -> str:
        """Commit records of pane 1, whose first loads fail; what the root says of it at the end."""
        self.node.command(Install(query=QUERY, trees=(Tree(0, ()),), roster_version=1), now_s=0.0)
        await self.work()
        await self.run(12.0)
        self.cube.errors = list(errors)
        for record in records:
            self.cube.disk.store(ID, 1, record, now_s=self.now_s)
        batch = QueryBatch(ID, ((1, len(records)),))
        report = BatchReport(QUERY.source_name, (batch,))
        self.node.batch_committed(report, now_s=self.now_s)
        await self.run(180.0)
        return self.node.why(ID, 1).text()


def newest(agent: Agent) -> tuple[int, tuple[int, ...], bool]:
    return [one for one in agent.published if one[0] == 1][-1]


@pytest.mark.parametrize("failures", [1, 3])
def test_rows_that_can_not_be_read_now_arrive_when_they_can(failures: int) -> None:
    agent = Agent()
    errors = [DiskTrouble("too many open files")] * failures
    why = asyncio.run(agent.answer_to([1, 2], *errors))
    assert newest(agent) == (1, (1, 2), True), why
    assert "declined" not in why
    assert agent.shell.loads_failed == failures
    assert agent.shell.load_trouble == "", "it is over"
    assert [notice.kind for notice in agent.notices].count("not loaded") == failures
    assert agent.node.progress().loading_bytes == 0


def test_trouble_with_reading_is_seen_while_it_lasts() -> None:
    agent = Agent()
    why = asyncio.run(agent.answer_to([1], *[DiskTrouble("I/O error")] * 1_000))
    assert agent.shell.load_trouble == "I/O error"
    assert newest(agent) == (1, (), False), why
    assert 1 < agent.cube.reads < 10, "it is tried again, and not all the time"


@pytest.mark.parametrize(
    ("error", "reason"), [(SegmentDamaged("checksum"), "lost"), (RowsGone("retention"), "expired")]
)
def test_rows_that_are_gone_are_declined_with_the_reason(error: StoreError, reason: str) -> None:
    agent = Agent()
    why = asyncio.run(agent.answer_to([1, 2], error))
    assert f"s0: declined ({reason})" in why
    assert newest(agent)[2] is False


def test_a_store_that_has_to_be_opened_anew_ends_the_work() -> None:
    agent = Agent()
    with pytest.raises(StoreBroken):
        asyncio.run(agent.answer_to([1], StoreBroken("commit")))
