"""One site's input as the Spark host sees it, from its own threads: what is to be read, and what
becomes durable of it.

Whoever reads names a life of a source by its epoch, so a batch that was read for a life that is
over changes nothing. What a commit brings is told on the event loop, which may have withdrawn the
source since.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from itertools import count

import msgspec
import structlog

from headwater.agent.input.asides import Asides
from headwater.agent.input.life import Epoch, Followed, Lives
from headwater.agent.input.pasts import Pasts
from headwater.agent.input.source_inputs import SourceInputs
from headwater.edge.batches.batch_times import Waiting
from headwater.edge.report import BatchReport
from headwater.errors import EpochOver, StoreBroken
from headwater.plan.query import Query
from headwater.plan.readings import is_aside, is_past
from headwater.plan.sources.source import Source
from headwater.reading.chunk import Chunk
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.site.fence import Fence
from headwater.store.cube.cube import Cube
from headwater.store.input.finite import FiniteInput
from headwater.store.input.source_state import SourceState

log = structlog.get_logger()

SPOOL_SHARE_MAX = 0.5
"""From so much of the spool on nothing in it waits for a pane's close."""


class SiteInbox:
    """An ``Inbox``. Made on the event loop, used by Spark's threads."""

    def __init__(
        self,
        site: str,
        lives: Lives,
        pasts: Pasts,
        asides: Asides,
        cube: Cube,
        inputs: SourceInputs,
        *,
        now_s: Callable[[], float],
        wall_s: Callable[[], float],
        offset_us: Callable[[str], int],
        future_tolerance_s: float,
        future_keep_s: float,
        filled: Callable[[SiteOutcome], SiteOutcome],
        committed: Callable[[Followed, BatchReport, SiteOutcome], None],
        ended: Callable[[StoreBroken], None],
        woken: Callable[[], None],
    ) -> None:
        """``committed``, ``ended`` and ``woken`` are called on the event loop: of each batch that
        is durable; when the cube can't be written any more; when a poll has something to tell."""
        self._site = site
        self._lives = lives
        self._pasts = pasts
        self._asides = asides
        self._cube = cube
        self._inputs = inputs
        self._now_s = now_s
        self._wall_s = wall_s
        self.offset_us = offset_us
        self._future_tolerance_s = future_tolerance_s
        self._future_keep_s = future_keep_s
        self._filled = filled
        self._tell_committed = committed
        self._ended = ended
        self._woken = woken
        self._loop = asyncio.get_running_loop()
        self._epochs = count(1)
        self._begun: dict[str, tuple[float, tuple[tuple[int, int], ...]]] = {}
        """By source: when its batch began, and the cuts and bytes that it may have."""
        self.commanded: Mapping[str, int] = {}
        """By installer: all its commands up to this number have been done here."""

    def sources(self) -> list[Source]:
        """Those of files of which all statements are installed, or refused, or removed again."""
        heard, offered = self.commanded, self._asides.offered()
        return [
            one.source
            for name, one in self._lives.followed.items()
            if one.input is not None
            and (name in offered or not is_aside(name))
            and all(heard.get(installer, 0) >= last for installer, last in one.units)
        ]

    def runs(self, query_id: str) -> bool:
        return any(query_id in followed.queries for followed in self._lives.followed.values())

    def reads(self, source: str, query_id: str, *, first_cut: int) -> bool:
        """The past of a late query, and of the live cuts those after it; what was set aside for the
        query, and of the live cuts the others."""
        followed = self._lives.followed.get(source)
        if followed is None or query_id not in followed.queries:
            return False
        if is_aside(source):
            return self._asides.reads(source, query_id)
        is_live = self._asides.is_read(query_id, source, first_cut=first_cut)
        is_after = is_live and self._pasts.reads(query_id, followed, first_cut=first_cut)
        return is_past(source) or is_after

    def wants_first(self, source: str) -> bool:
        past = self._cube.cuts.state(source).past
        return past is not None and past.first_us is None

    def waiting(self, source: str) -> Waiting:
        """A commit may have been since ``due_s`` was found: then that has passed."""
        followed = self._opened(source)
        state = self._cube.cuts.state(source)
        now_s, since_s = self._now_s(), state.waiting_since_s
        read_s, polled_s = state.read_through_s, state.polled_s
        is_due = False
        if read_s is not None and polled_s is not None:
            is_due = read_s < followed.due_s <= polled_s
        return Waiting(
            byte_count=state.waiting_bytes,
            age_s=0.0 if since_s is None else now_s - since_s,
            is_due=is_due,
            is_urgent=read_s is None or self._is_urgent(followed, state),
            due_in_s=followed.due_s - now_s,
        )

    def _is_urgent(self, followed: Followed, state: SourceState) -> bool:
        """It is behind or ends, a query waits for its first records, or the spool fills up."""
        spool = self._cube.cuts.spool
        is_filling = spool.bytes_used >= SPOOL_SHARE_MAX * spool.bytes_max
        is_ending = state.ends or self._lives.has_end
        return is_ending or is_filling or not state.is_clean or bool(followed.new_queries)

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> list[Chunk]:
        """No batch of the source is under way here when this is asked: before one is offered, and
        when it begins. So this is when input is set aside, if it is to be."""
        followed = self._opened(source)
        with self._inputs.commits:
            self._asides.apply(followed)
        found = self._cube.cuts.pending(source, after_cut=after_cut, bytes_max=bytes_max)
        self._begun[source] = self._now_s(), tuple((one.cut, one.bytes) for one in found)
        return found

    def fence(self, source: str) -> Fence:
        """A finite input has none: nothing of it closes by a clock."""
        followed = self._lives.followed.get(source)
        if followed is None or isinstance(followed.input, FiniteInput):
            return Fence()
        return Fence.at(
            self._wall_s(),
            tolerance_s=followed.source.future_tolerance_s(self._future_tolerance_s),
            keep_s=self._future_keep_s,
        )

    def counted(self, query: Query) -> int:
        """A site that had another cube before begins with the first pane of which the root has
        nothing (``Beginning.hear_former``): its count goes on there."""
        return self._cube.counted(str(query.id), query.window)

    def committed_cut(self, source: str) -> int:
        self._opened(source)
        return self._cube.cuts.state(source).committed_cut

    def new_epoch(self, source: str) -> int:
        """It ends with this life of the source: a batch that was read for a former one is refused,
        for its cuts may have the numbers of cuts of the new one."""
        with self._inputs.commits:
            followed = self._opened(source)
            in_cube = self._cube.cuts.begin_epoch(source)
            followed.epoch = Epoch(next(self._epochs), in_cube)
            return followed.epoch.number

    def _opened(self, source: str) -> Followed:
        followed = self._lives.followed.get(source)
        if followed is None or followed.input is None:
            raise EpochOver(f"source {source} is not read at {self._site} now")
        return followed

    def _of_epoch(self, source: str, number: int) -> tuple[Followed, int]:
        """The life of the source that this epoch is of, and how the cube calls the epoch."""
        followed = self._opened(source)
        if followed.epoch is None or followed.epoch.number != number:
            raise EpochOver(
                f"source {source}: epoch {number} is over; it was of a former stream, or of the "
                "source before it was forgotten and installed again"
            )
        return followed, followed.epoch.in_cube

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        with self._inputs.commits:
            followed, _ = self._of_epoch(source, epoch)
            file = self._cube.cuts.origin(source, cut)
            log.warning(
                "chunk quarantined",
                site=self._site,
                source=source,
                cut=cut,
                file=file,
                reason=reason,
            )
            self._cube.cuts.quarantine(source, cut)
            followed.broken.append(f"{file} can't be read: {reason}")
            followed.lost_chunks += 1
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._woken)

    def commit(self, batch: Batch, outcome: SiteOutcome) -> None:
        """Make one batch durable, then tell the node. Raises ``EpochOver`` where the source was
        forgotten since the epoch began, whether or not it is read again."""
        with self._inputs.commits:
            followed, in_cube = self._of_epoch(batch.source, batch.epoch)

            begun_s, chunks = self._begun.get(batch.source, (self._now_s(), ()))
            took_s = self._now_s() - begun_s
            byte_count = sum(count for cut, count in chunks if cut <= batch.through_cut)

            def told(report: BatchReport) -> None:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    took = followed.shed_plan.took
                    self._loop.call_soon_threadsafe(took, byte_count, took_s)
                    tell = self._tell_committed
                    self._loop.call_soon_threadsafe(tell, followed, report, outcome)

            try:
                kept = msgspec.structs.replace(batch, epoch=in_cube)
                self._cube.commit_batch(kept, self._filled(outcome), told=told)
            except StoreBroken as error:
                self._loop.call_soon_threadsafe(self._ended, error)
                raise
