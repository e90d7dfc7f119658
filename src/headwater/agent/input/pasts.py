"""Readings of the past at a site: for whom one is begun, when it is over, and how far it is.

See "A late query reads the past by itself". A reading of the past is a life of its own beside that
of the source (``plan/readings.py`` has its name): polled, offered and committed as any other, and
begun and ended here.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.agent.input.input_remarks import InputRemarks
from headwater.agent.input.life import Followed, Leaving, Lives
from headwater.agent.input.poll_log import PollLog
from headwater.agent.input.source_inputs import SourceInputs
from headwater.agent.patience import Patience
from headwater.algebra.words.remark import Remark, RemarkKind
from headwater.edge.record import UNDECIDED
from headwater.errors import StoreBroken
from headwater.plan.query import Query
from headwater.plan.readings import is_aside, is_past, past_reading, source_of
from headwater.plan.sources.source import Source
from headwater.store.cube.cube import Cube
from headwater.store.follow.directories import Reach
from headwater.store.follow.listing import Closed
from headwater.store.input.source_state import SourceState
from headwater.store.past.past_input import PastInput

BoundsOf = Callable[[Source], tuple[Closed | None, Reach | None]]


class Pasts:
    """Of one site; on the event loop, but for what Spark's threads ask (``reads``)."""

    def __init__(
        self,
        site: str,
        lives: Lives,
        cube: Cube,
        inputs: SourceInputs,
        *,
        now_s: Callable[[], float],
        bounds_of: BoundsOf,
        begin_late: Callable[[str, float], None],
        read_past: Callable[[str, bool], None],
        failed: Callable[[str, Patience, Exception], None],
    ) -> None:
        """``begin_late`` and ``read_past`` tell the edge, as in ``Feeder``."""
        self._site = site
        self._lives = lives
        self._cube = cube
        self._inputs = inputs
        self._now_s = now_s
        self._bounds_of = bounds_of
        self._begin_late = begin_late
        self._read_past = read_past
        self._failed = failed

    # For whom

    def install(self, query: Query, followed: Followed, *, is_new: bool) -> None:
        """The query is about to be one of those of the source."""
        if self._is_wanted(query, followed, is_new=is_new):
            followed.awaiting_past.add(str(query.id))
        elif query.wants_past:
            self._read_past(str(query.id), False)

    def _is_wanted(self, query: Query, followed: Followed, *, is_new: bool) -> bool:
        """Whether the past is to be read for this query by itself.

        For one that wants the earliest records it is not, if it is the first of its source or came
        with the first in one file: the live reading begins with the beginning then, and Spark reads
        nothing before a file's queries are all there. After a restart it is as was written.
        """
        written = self._cube.past_of(str(query.id))
        if not is_new and written not in (None, UNDECIDED):
            return written == past_reading(query)
        if not query.wants_past or query.begin_pane is not None:
            return query.wants_past
        is_first = not followed.queries or (query.id.installer, query.unit_last) in followed.units
        state = self._lives.state(followed)
        is_unread = state is None or state.committed_cut == 0
        return not (followed.is_from_start and is_first and is_unread)

    def awaited(self) -> set[str]:
        """Readings that are to be begun."""
        followed = self._lives.followed.values()
        return {past_reading(one.queries[id_]) for one in followed for id_ in one.awaiting_past}

    # Beginning

    async def begin(self, followed: Followed) -> bool:
        """For all that await it, when the live reading has begun: in the turn of its polls. Whether
        Spark is to be told."""
        has_news = False
        for id_ in sorted(followed.awaiting_past):
            if not self._lives.is_current(followed) or not self._lives.is_begun(followed):
                break
            query = followed.queries.get(id_)
            if query is not None:
                has_news |= await self._begin_for(query, followed)
        return has_news

    async def _begin_for(self, query: Query, followed: Followed) -> bool:
        """What this raises is the source's trouble: it is tried again with its next poll."""
        id_, reading = str(query.id), past_reading(query)
        past = self._lives.followed.get(reading)
        if past is None:
            try:
                past = await self._opened(query, followed, reading)
            except StoreBroken:
                raise
            except Exception as error:
                self._failed(reading, followed.patience, error)
                return False
            if past is None:
                return False
            self._lives.add(past)
        state = self._lives.state(past)
        is_settled = self._cube.past_of(id_) == reading
        is_missed = not is_settled and state is not None and state.committed_cut > 0
        if is_missed:
            self._begin_late(id_, self._now_s())
        else:
            past.queries = {**past.queries, id_: query}
            past.units |= {(query.id.installer, query.unit_last)}
            self._read_past(id_, True)
        followed.awaiting_past.discard(id_)
        return True

    async def _opened(self, query: Query, followed: Followed, reading: str) -> Followed | None:
        """None: nobody wants it any more."""
        leaving = self._lives.leaving
        if reading in leaving:
            await self._inputs.forget(reading, leaving.pop(reading).input)
        opened = await self._inputs.open(
            query, *followed.place, *self._bounds_of(followed.source), reading
        )
        if not self._lives.is_current(followed) or str(query.id) not in followed.queries:
            opened.close()
            leaving.setdefault(reading, Leaving(None))
            return None
        source = msgspec.structs.replace(followed.source, name=reading)
        past = Followed(
            source,
            query,
            followed.place,
            is_from_start=True,
            poll_log=PollLog(self._site, reading),
            remarks=InputRemarks(source),
            repeated_hour=followed.repeated_hour,
        )
        past.input, past.shows_values = opened, followed.shows_values
        return past

    # The end

    def end(self) -> None:
        """Leave those of which it is written that nobody awaits them any more, once the live
        reading has come to where they began: what it read before is not for their queries."""
        for key, past in list(self._lives.followed.items()):
            if not is_past(key) or is_aside(key):
                continue
            written = {id_: self._cube.past_of(id_) for id_ in past.queries}
            past.is_settled |= {id_ for id_, one in written.items() if one == key}
            is_over = all(written[id_] != key and id_ in past.is_settled for id_ in written)
            begun, live = self._cube.cuts.pasts_of(source_of(key)), self._live_of(key)
            is_reached = key not in begun or (
                live is not None and live.committed_cut >= begun[key].after_cut
            )
            if is_over and is_reached:
                self._lives.leave(key, past)

    def _live_of(self, reading: str) -> SourceState | None:
        followed = self._lives.followed.get(source_of(reading))
        return None if followed is None else self._lives.state(followed)

    # While it is read

    def reads(self, query_id: str, followed: Followed, *, first_cut: int) -> bool:
        """Whether a query reads live cuts from this one on: those after its past."""
        if query_id in followed.awaiting_past:
            return False
        begun = self._cube.cuts.pasts_of(followed.source.name)
        own = (one for one in begun if self._is_of(query_id, one))
        return all(first_cut > begun[one].after_cut for one in own)

    def _is_of(self, query_id: str, reading: str) -> bool:
        past = self._lives.followed.get(reading)
        return past is not None and query_id in past.queries

    def progress(self, reading: str) -> tuple[Remark, ...]:
        """For people: how far it is; none, if nobody reads it."""
        followed = self._lives.followed.get(reading)
        if followed is None or not isinstance(followed.input, PastInput):
            return ()
        state = self._lives.state(followed)
        waiting = 0 if state is None else state.waiting_bytes
        read = max(0, followed.input.read_bytes - waiting)
        left = followed.input.unread_bytes + waiting
        share = 100 if not left else min(99, 100 * read // (read + left))
        text = f"catching up: {share}% of {(read + left) / 1e6:.1f} MB of the past is read"
        return (Remark.of(RemarkKind.CATCHING_UP, text),)
