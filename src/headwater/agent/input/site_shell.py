"""What a node wants of its site: queries in batches, rows out of the cube.

Rows that can't be read now are not waited for, since others can be: they are as good as lost on the
way, and an acknowledgement asks for them again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from headwater.agent.asking.log_questions import LogQuestions
from headwater.agent.asking.site_questions import SiteQuestions
from headwater.agent.input.feeder import Feeder
from headwater.agent.stores import SiteStores
from headwater.agent.threads import done_by
from headwater.errors import HeadwaterError, RowsGone, SegmentDamaged, StoreBroken, StoreError
from headwater.node import effects as fx
from headwater.node.node import Node


class SiteShell:
    write = fx.perform_all

    def __init__(
        self,
        node: Node,
        stores: SiteStores,
        feeder: Feeder,
        questions: SiteQuestions,
        log_questions: LogQuestions,
        *,
        writer: Executor,
        now_s: Callable[[], float],
        note: Callable[[str, str, str], None],
    ) -> None:
        self._node = node
        self._stores = stores
        self._feeder = feeder
        self._questions = questions
        self._log_questions = log_questions
        self._writer = writer
        self._now_s = now_s
        self._note = note
        self.load_trouble = ""
        """Why rows could not be read the last time; empty when they could."""
        self.loads_failed = 0
        """Rows that could not be read when they were to be sent, in this life."""

    async def install(self, installed: fx.Installed) -> None:
        """Nothing else is done meanwhile: see ``Installed``."""
        query = installed.query
        self._stores.book.add(query)
        if query.reads_cube:
            self._questions.install(query)
            return
        try:
            if query.asked is not None:
                await self._log_questions.install(query, is_new=installed.is_new)
                return
            await self._feeder.install(query, is_new=installed.is_new)
        except StoreBroken:
            raise
        except HeadwaterError as error:
            self._note("feeder", "source refused", f"{query.id}: {error}")

    def alter(self, altered: fx.Altered) -> None:
        """What the cube makes from now on goes by them."""
        self._stores.book.alter(altered.query, altered.settings)

    def withdraw(self, withdrawn: fx.Withdrawn) -> None:
        if not self._questions.withdraw(withdrawn.query):
            self._log_questions.withdraw(withdrawn.query)
            self._feeder.withdraw(withdrawn.query)

    def live_anew(self, anew: fx.LiveAnew) -> int:
        return self._stores.cube.live_anew(anew.above)

    async def load_rows(self, send: fx.LoadAndSend) -> None:
        cube = self._stores.cube
        try:
            rows = await done_by(
                self._writer, lambda: cube.rows(send.query, send.pane, send.updates)
            )
        except (SegmentDamaged, RowsGone) as error:
            is_damaged = isinstance(error, SegmentDamaged)
            now_s = self._now_s()
            self._node.rows_lost(send, str(error), now_s=now_s, is_damaged=is_damaged)
        except StoreBroken:
            raise
        except StoreError as error:
            self.load_trouble = str(error)
            self.loads_failed += 1
            self._node.not_loaded(send, str(error))
        else:
            self.load_trouble = ""
            self._node.loaded(send, rows, now_s=self._now_s())
