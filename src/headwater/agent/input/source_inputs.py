"""Opening, polling and forgetting sources: one after the other, beside the event loop.

A source that is removed and installed again has the same name and another life. Nothing of the
former life may touch the new one, so all that changes a source's input happens one at a time and
in order: a poll that is under way ends before its source is forgotten, and a source is opened anew
only when the former one is forgotten. A batch is committed by another thread, Spark's: for as long
as ``commits`` is held, nothing is forgotten.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar

from headwater.agent.threads import done_by
from headwater.plan.query import Query
from headwater.reading.form import form_of
from headwater.store.aside.aside_input import AsideInput
from headwater.store.follow.directories import Reach
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.listing import Closed, Glob
from headwater.store.follow.poll import Poll, Start
from headwater.store.input.cuts import CutLog
from headwater.store.input.finite import FiniteInput
from headwater.store.input.whole_files import WholeFiles
from headwater.store.past.past_input import PastInput

SourceInput = LogFollower | FiniteInput | WholeFiles | PastInput | AsideInput
T = TypeVar("T")


class SourceInputs:
    """Used on the event loop; the work is done by ``poller``, whose last one is awaited first."""

    def __init__(self, cuts: CutLog, poller: Executor) -> None:
        self.commits = threading.RLock()
        self._cuts = cuts
        self._poller = poller

    async def beside(self, work: Callable[[], T]) -> T:
        """Anything else that may wait, in its turn."""
        return await done_by(self._poller, work)

    async def open(
        self,
        query: Query,
        directory: Path,
        pattern: str,
        closed: Closed | None = None,
        reach: Reach | None = None,
        reading: str = "",
    ) -> SourceInput:
        """``closed``: files that the source does not read though its path names them; ``reach``:
        where links may lead, None: anywhere; ``reading``: that of its past, or the live one."""
        form = form_of(query.program.source)
        kind: Callable[..., SourceInput] = FiniteInput
        if reading:
            kind = PastInput
        elif not query.ends:
            start = Start.BEGINNING if query.begin_pane is None else Start.END
            kind = partial(WholeFiles if form.is_whole else LogFollower, start=start)
        glob = Glob(directory, pattern, disk=self._cuts.disk, closed=closed, reach=reach)
        opened = partial(kind, self._cuts, glob, source=reading or query.source_name, form=form)
        return await self.beside(opened)

    async def begin(self, source: SourceInput, *, now_s: float) -> Poll:
        """The first poll of a life: a growing log is only looked at, and read by the next one."""
        first = source.begin if isinstance(source, LogFollower) else source.poll
        return await self.beside(lambda: first(now_s=now_s))

    async def poll(self, source: SourceInput, *, now_s: float) -> Poll:
        return await self.beside(lambda: source.poll(now_s=now_s))

    async def forget(self, name: str, source: SourceInput | None) -> None:
        """Its cuts, chunks and positions; also of one that was never opened in this life."""
        await self.beside(lambda: self._forget(name, source))

    def close(self) -> None:
        """What is under way ends first: the poller does one thing after the other."""
        self._poller.submit(lambda: None).result()

    def _forget(self, name: str, source: SourceInput | None) -> None:
        if source is not None:
            source.close()
        with self.commits:
            if name in self._cuts.names():
                self._cuts.forget_source(name)
