"""An edge over a real cube, driven by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from pane_kit import level_of
from store_kit import QUERY, SOURCE, Clock, CubeUser, query_of

from headwater.algebra.capacity.way_capacity import UNKNOWN, WayCapacity
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.acknowledgement import (
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    with_leaves,
)
from headwater.algebra.words.site_state import SiteState
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.outputs import Report, Send
from headwater.edge.record import EdgeRecord
from headwater.edge.report import BatchReport
from headwater.node.effects import CubeWrite
from headwater.plan.query import Query
from headwater.store.level_rows import LevelGrid


class EdgeSite:
    """What it says is kept."""

    def __init__(self, user: CubeUser) -> None:
        self.user = user
        self.query = msgspec.structs.replace(query_of(), begin_pane=100)
        self.sends: list[Send] = []
        self.states: list[SiteState] = []
        self.writes: list[CubeWrite] = []
        self.config = EdgeConfig()
        self.ordinal = 1
        self.rate: float | None = None
        """What the way to the root carries, in bytes a second."""
        self.narrowest = ""
        self.packed_share = 1.0
        self.room = 1 << 20
        self.start(now_s=990.0)
        self.tick(now_s=990.0)

    def start(self, *, now_s: float) -> None:
        incarnation = self.user.cube.incarnation
        self.edge = Edge(
            ordinal=self.ordinal, incarnation=incarnation, config=self.config, retention_s=1e9
        )
        self.edge.restore(self.user.cube.restore())
        self.edge.install(self.query, now_s=now_s)

    def tick(self, *, now_s: float) -> None:
        way = WayCapacity(self.rate, self.narrowest, self.packed_share)
        self.edge.tick(now_s=now_s, room=lambda query: self.room, capacity=lambda query: way)
        outputs = self.edge.take()
        while outputs:
            writes = [one for one in outputs if isinstance(one, CubeWrite)]
            self.writes += writes
            self.sends += [one for one in outputs if isinstance(one, Send)]
            self.states += [s for one in outputs if isinstance(one, Report) for s in one.states]
            for done in self.user.cube.write(writes):
                self.edge.updates_made(done or (), now_s=now_s)
            outputs = self.edge.take()

    def close(self, pane: int) -> None:
        """All up to its end is read, and the clock has stood; what is due is cut and said."""
        now_s = self.query.window.pane_end_us(pane) / MICROS + 200.0
        self.edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
        self.tick(now_s=now_s)
        self.tick(now_s=now_s + 0.1)


TEN = WindowSpec(10 * MICROS, 10 * MICROS)
FULL = msgspec.structs.replace(query_of(), window=TEN, begin_pane=100)
SITE = 1


class LevelSite:
    """An edge and a real cube, for a query and one level of it."""

    def __init__(
        self, directory: Path, *, full: Query = FULL, stays: bool = False, **options: Any
    ) -> None:
        self.full = full
        self.level = level_of(full, stays=stays)
        grid = LevelGrid(str(self.level.id), full.window, self.level.window)
        self.user = CubeUser(
            directory, Clock(), levels_of=lambda of: (grid,) if of == QUERY else (), **options
        )
        self.sends: list[Send] = []
        self.states: dict[str, SiteState] = {}
        self.room = 1 << 20
        self.start(now_s=990.0)

    def start(self, *, now_s: float) -> None:
        self.edge = Edge(
            ordinal=SITE,
            incarnation=self.user.cube.incarnation,
            config=EdgeConfig(clock_settle_s=0.001),
            retention_s=1e9,
        )
        self.edge.restore(self.user.cube.restore())
        for query in (self.full, self.level):
            self.edge.install(query, now_s=now_s)
        self.tick(now_s)

    def restart(self, *, now_s: float) -> None:
        self.user.reopen()
        self.start(now_s=now_s)

    def tick(self, now_s: float) -> None:
        self.edge.tick(now_s=now_s, room=lambda of: self.room, capacity=lambda of: UNKNOWN)
        while outputs := self.edge.take():
            self.sends += [one for one in outputs if isinstance(one, Send)]
            told = (s for one in outputs if isinstance(one, Report) for s in one.states)
            self.states.update((one.query, one) for one in told)
            writes = [one for one in outputs if isinstance(one, CubeWrite)]
            for done in self.user.cube.write(writes):
                self.edge.updates_made(done or (), now_s=now_s)

    def read(self, *rows: tuple[int, str, int], now_s: float) -> None:
        report = self.user.commit(*rows)
        report = msgspec.structs.replace(report, read_through_s=now_s)
        self.edge.batch_committed(report, now_s=now_s)
        self.tick(now_s)

    def poll(self, now_s: float) -> None:
        """Nothing more was found: all that lies before is closed."""
        self.edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
        self.tick(now_s)
        self.tick(now_s + 0.1)

    def hear_level(self, *panes: int, number: int = 1, now_s: float, extra: Ranges = ()) -> None:
        """The root holds these panes of the level, and these further updates of each."""
        state = self.states[str(self.level.id)]
        head = Acknowledgement(str(self.level.id), 9, number, done_through=33)
        held = [PaneHeld(pane, 1 << SITE) for pane in panes]
        greeting = Greeting(SITE, self.user.cube.incarnation, state.number)
        life = self.user.cube.incarnation
        more = [ExtraHeld(pane, SITE, life, extra) for pane in panes if extra]
        ack = with_leaves(head, panes=held, extra=more, greetings=[greeting])
        self.edge.receive_ack(ack, now_s=now_s)
        self.tick(now_s)

    def sent(self, query: Query = FULL) -> list[int]:
        """In the order of panes: of those that leave at once it says nothing."""
        return sorted(send.pane for send in self.sends if send.query == str(query.id))

    def record(self, query: Query) -> EdgeRecord:
        return next(k.record for k in self.user.cube.restore() if k.query == str(query.id))
