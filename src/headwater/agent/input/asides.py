"""Input that is set aside at a site, for want of CPU: what is skipped, and when that is read.

See "A stretch that is skipped is a reading by itself". The edge says what is skipped (on the event
loop, after polls and batches), Spark's thread does it before its next batch, and the event loop
hears of it before anything else of the source. A stretch is a life of its own beside that of its
source, offered when there is CPU to spare: the newest one first, and one at a time. It ends when no
record awaits it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
import structlog

from headwater.agent.input.input_remarks import InputRemarks
from headwater.agent.input.life import Followed, Leaving, Lives
from headwater.agent.input.poll_log import PollLog
from headwater.algebra.far_times import LONG_AGO_S
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.record import SetAside
from headwater.edge.shedding.choose_skip import Ahead, Skip
from headwater.errors import StoreBroken, StoreError
from headwater.plan.query import Query, Shed
from headwater.plan.readings import aside_number, is_aside, source_of
from headwater.store.aside.aside_input import AsideInput
from headwater.store.cube.cube import Cube
from headwater.store.input.source_state import Aside

log = structlog.get_logger()

SPARE_AFTER_S = 10.0
"""So long after a site has skipped input, it has no CPU to spare."""
GROWS_FOR_S = 60.0
"""A stretch that is older is not added to: what comes then begins another."""
STRETCHES_MAX = 1_000
"""Of a site; beyond, the oldest are given up."""
SPOOL_SHARE_MAX = 0.5
"""Of the spool, what is set aside may take at most, whatever its own limit is."""


class Shedding(NamedTuple):
    """What the edge says of it, and is told: see ``SiteShedding``."""

    skips: Callable[[str, Ahead, ReadingPace], Mapping[str, Skip]]
    hear: Callable[[str, SetAside], None]
    give_up: Callable[[str], None]


class Asides:
    """Of one site."""

    def __init__(
        self,
        site: str,
        lives: Lives,
        cube: Cube,
        shedding: Shedding | None,
        *,
        now_s: Callable[[], float],
        bytes_max: int,
        notice: Callable[[str, str], None],
        woken: Callable[[], None],
    ) -> None:
        """``shedding`` None: nothing is ever skipped. ``woken``: the feeder has something to do."""
        self._site = site
        self._lives = lives
        self._cube = cube
        self._shedding = shedding
        self._now_s = now_s
        self._bytes_max = bytes_max
        self._notice = notice
        self._woken = woken
        self._loop = asyncio.get_running_loop()
        self._begun_s = now_s()
        self._skipped_s: dict[str, float] = {}
        """By source: when input of it was skipped last."""
        self._made_s: dict[str, float] = {}
        self._closed: set[str] = set()
        """Those that are given up."""
        self.given_up = 0
        """Stretches for which there was no more room, in this life."""

    # What is skipped

    def plan(self, followed: Followed) -> None:
        """After each poll and each batch of a source, on the event loop."""
        if self._shedding is None or not any(one.sheds for one in followed.queries.values()):
            return
        state = self._lives.state(followed)
        name, plan = followed.source.name, followed.shed_plan
        ahead = None if state is None else plan.ahead(state.found, begun_s=self._begun_s)
        skips: Mapping[str, Skip] = {}
        if ahead is not None:
            skips = self._shedding.skips(name, ahead, plan.pace)
        plan.skips = {id_: one for id_, one in skips.items() if id_ in followed.queries}

    def apply(self, followed: Followed) -> None:
        """Before a batch of the source, in Spark's thread, which commits none meanwhile. What the
        disk does not allow now is read, or skipped later."""
        skips, source = followed.shed_plan.skips, followed.source.name
        if not skips:
            return
        readers = {id_ for id_ in followed.queries if id_ not in followed.awaiting_past}

        def told(asides: dict[str, Aside]) -> None:
            self._skipped_s[source] = self._now_s()
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._set_aside, followed, asides)

        try:
            self._cube.asides.skip(
                source, skips, readers=readers, may_grow=self._may_grow, told=told
            )
        except StoreBroken:
            raise
        except StoreError as error:
            log.warning("nothing is set aside", site=self._site, source=source, why=str(error))

    def _may_grow(self, reading: str) -> bool:
        """What is given up at once is over at once, and does not grow."""
        is_young = self._now_s() < self._made_s.get(reading, LONG_AGO_S) + GROWS_FOR_S
        life = self._lives.followed.get(reading)
        if life is None or any(one.sheds is Shed.DECLINE for one in life.queries.values()):
            return False
        return is_young and reading not in self._closed

    def _set_aside(self, followed: Followed, asides: Mapping[str, Aside]) -> None:
        """On the event loop, where its queries may have been removed since: then it is nobody's."""
        is_current = self._lives.is_current(followed)
        for reading, aside in asides.items():
            for query in aside.queries if is_current else ():
                self._take(reading, aside, query, followed)
            if reading not in self._lives.followed:
                self._lives.leaving.setdefault(reading, Leaving(None))
            elif reading not in self._made_s:
                self._made_s[reading] = self._now_s()
                log.info("input set aside", site=self._site, reading=reading)
        self._keep_within()
        self._woken()

    def install(self, query: Query, followed: Followed) -> None:
        """A query is about to be one of those of the source: what was set aside for it before."""
        id_ = str(query.id)
        for reading, aside in sorted(
            self._cube.cuts.asides_of(followed.source.name).items(),
            key=lambda one: aside_number(one[0]),
        ):
            if aside.has(id_) and self._shedding is not None:
                self._take(reading, aside, id_, followed, query)

    def _take(
        self,
        reading: str,
        aside: Aside,
        query_id: str,
        followed: Followed,
        query: Query | None = None,
    ) -> None:
        query = query or followed.queries.get(query_id)
        if query is None or self._shedding is None:
            return
        for one in aside.panes:
            if one.query == query_id:
                told = SetAside(reading, one.first, one.last, aside.bytes, aside.after_cut)
                self._shedding.hear(query_id, told)
        life = self._lives.followed.get(reading) or self._added(reading, query, followed)
        life.queries = {**life.queries, query_id: query}

    def _added(self, reading: str, query: Query, followed: Followed) -> Followed:
        source = msgspec.structs.replace(followed.source, name=reading)
        life = Followed(
            source,
            query,
            followed.place,
            is_from_start=True,
            poll_log=PollLog(self._site, reading),
            remarks=InputRemarks(source),
            repeated_hour=followed.repeated_hour,
        )
        life.input = AsideInput(self._cube.cuts, source=reading)
        life.shows_values = followed.shows_values
        self._lives.add(life)
        return life

    def _keep_within(self) -> None:
        """The oldest are given up where there is no room for more."""
        names = self._awaited()
        bytes_of = {name: self._cube.cuts.state(name).waiting_bytes for name in names}
        limit = min(self._bytes_max, int(SPOOL_SHARE_MAX * self._cube.cuts.spool.bytes_max))
        left, count = sum(bytes_of.values()), len(names)
        for name in sorted(names, key=aside_number):
            if (left <= limit and count <= STRETCHES_MAX) or self._shedding is None:
                break
            left, count = left - bytes_of[name], count - 1
            if name not in self._closed:
                self._closed.add(name)
                self.given_up += 1
                self._notice(
                    "shed for good",
                    f"{source_of(name)}: {bytes_of[name]} bytes that were set aside are given up, "
                    f"since more than sources.set_aside_bytes_max ({limit}) wait to be read; their "
                    "panes are declined (shed)",
                )
                self._shedding.give_up(name)

    # When it is read

    def reads(self, reading: str, query_id: str) -> bool:
        """Whether the stretch is to be read for this query: as its record says, on the disk."""
        written = self._cube.set_aside_of(query_id)
        return written is not None and reading in written[2] and reading not in self._closed

    def is_read(self, query_id: str, source: str, *, first_cut: int) -> bool:
        """Whether a query reads live cuts from this one on: those that it has not skipped."""
        return first_cut > self._cube.asides.skipped_through(source, query_id)

    def offered(self) -> set[str]:
        """Of each source the newest that somebody awaits, where the site has not skipped lately."""
        newest: dict[str, str] = {}
        for name, life in self._lives.followed.items():
            if is_aside(name) and any(self.reads(name, query) for query in life.queries):
                known = newest.setdefault(source_of(name), name)
                newest[source_of(name)] = max(known, name, key=aside_number)
        skipped, before_s = self._skipped_s, self._now_s() - SPARE_AFTER_S
        return {
            name for source, name in newest.items() if skipped.get(source, LONG_AGO_S) <= before_s
        }

    # The end

    def end(self) -> None:
        """Leave those of which it is written that nobody awaits them any more. One that might be
        growing at this moment grows no more, and is left the next time, if it has not."""
        for name, life in list(self._lives.followed.items()):
            if not is_aside(name) or self._is_awaited(name, life) or self._is_ahead(name, life):
                continue
            if self._made_s.pop(name, None) is not None:
                self._woken()
                continue
            self._closed.discard(name)
            self._lives.leave(name, life)

    def _is_awaited(self, reading: str, life: Followed) -> bool:
        return any(self._awaits(one, reading) for one in life.queries)

    def _awaits(self, query_id: str, reading: str) -> bool:
        """A record that does not know of it yet, or of all of it, may come to."""
        written = self._cube.set_aside_of(query_id)
        if written is None:
            return False
        heard, heard_cut, readings = written
        aside = self._cube.cuts.state(reading).aside
        has_grown = aside is not None and heard_cut < aside.after_cut
        return reading in readings or heard < aside_number(reading) or has_grown

    def _is_ahead(self, reading: str, life: Followed) -> bool:
        """The live reading, for the sake of others, has not come past it: as long as it is there it
        says whose these cuts are not."""
        cuts, aside = self._cube.cuts, self._cube.cuts.state(reading).aside
        source = source_of(reading)
        if aside is None or not life.queries or source not in cuts.names():
            return False
        return cuts.state(source).committed_cut < aside.after_cut

    def _awaited(self) -> list[str]:
        lives = self._lives.followed.items()
        return [name for name, life in lives if is_aside(name) and self._is_awaited(name, life)]

    @property
    def waiting_bytes(self) -> int:
        """Set aside, and not read."""
        return sum(self._cube.cuts.state(name).waiting_bytes for name in self._awaited())
