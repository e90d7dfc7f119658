"""What a node wants of its answers: begun, finished by Spark, suspended, ended; ledgers mended."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import structlog

from headwater.agent.agent_spark import AgentSpark
from headwater.agent.answers.answer_runner import AnswerRunner, Told
from headwater.errors import StoreBroken, StoreError
from headwater.node import effects as fx
from headwater.node.node import Node
from headwater.store.ledger.root_ledger import RootLedger

log = structlog.get_logger()


class AnswersShell:
    """Without a ``runner`` this agent has no Spark: it may have been named as a root all the same,
    and says that it can't answer."""

    write = fx.perform_all

    def __init__(
        self,
        node: Node,
        ledger: RootLedger,
        runner: AnswerRunner | None,
        spark: AgentSpark | None,
        *,
        writer: Executor,
        told: Told,
        note: Callable[[str, str, str], None],
    ) -> None:
        """``spark`` is who remembers what is suspended."""
        self._node = node
        self._ledger = ledger
        self.runner = runner
        self._spark = spark
        self._writer = writer
        self._told = told
        self._note = note
        self.ended: set[str] = set()
        """Queries whose every window is final and published."""
        self.to_mend: set[str] = set()
        """Queries whose ledger lost something."""
        self._unrestored: set[str] = set()
        """Those of them whose ledger is mended, and whose root does not know it yet."""

    async def stop(self) -> None:
        if self.runner is not None:
            await self.runner.stop()

    def begin_answers(self, begun: fx.AnswersBegun) -> None:
        if self.runner is not None:
            self.runner.begin(begun.query)

    def end_answers(self, ended: fx.AnswersEnded) -> None:
        self._ledger.forget(ended.query)
        if self.runner is not None:
            self.runner.forget(ended.query)
        if self._spark is not None:
            self._writer.submit(self._spark.forget_root, ended.query)

    def suspend_answers(self, suspended: fx.AnswersSuspended) -> None:
        if self._spark is not None:
            self._writer.submit(self._spark.suspend_root, suspended.query, suspended.why)

    def rise_above(self, rise: fx.RiseAbove) -> int:
        return self._ledger.rise_above(rise.above)

    def answer(self, answer: fx.Answer) -> None:
        if self.runner is not None:
            self.runner.answer(answer)
        else:
            self._told(answer, "this agent runs without Spark and can't answer", {})

    def all_answered(self, ended: fx.Ended) -> None:
        self.ended.add(ended.query)

    def mend(self, *, now_s: float) -> None:
        """Let roots begin anew without what their ledger has lost.

        Called when all effects are done, and without awaiting anything, so that what the ledger
        has is what the root knows. It is rare, and costs what restoring costs at a start.
        """
        for query_id in list(self.to_mend):
            root = self._node.root(query_id)
            if root is not None and root.answers.under_way is not None:
                continue
            try:
                self._mend(query_id, now_s=now_s)
            except StoreBroken:
                raise
            except StoreError as error:
                self._note("disk", "ledger not mended", f"{query_id}: {error}; it is tried again")
                continue
            self.to_mend.discard(query_id)
            self._unrestored.discard(query_id)

    def _mend(self, query_id: str, *, now_s: float) -> None:
        root, ledger = self._node.root(query_id), self._ledger
        if root is not None and (ledger.mend(query_id) or query_id in self._unrestored):
            self._unrestored.add(query_id)
            kept = ledger.restore(query_id)
            log.warning("ledger mended", query=query_id, summaries=len(kept.lost))
            root.begin_anew(kept, incarnation=ledger.incarnation, lost=kept.lost, now_s=now_s)
