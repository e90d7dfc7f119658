"""An edge over a real cube, driven by hand."""

from __future__ import annotations

import msgspec
from store_kit import SOURCE, CubeUser, query_of

from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.algebra.panes import MICROS
from headwater.algebra.words.site_state import SiteState
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.outputs import Report, Send
from headwater.edge.report import BatchReport
from headwater.node.effects import CubeWrite


class EdgeSite:
    """What it says is kept."""

    def __init__(self, user: CubeUser) -> None:
        self.user = user
        self.query = msgspec.structs.replace(query_of(), begin_pane=100)
        self.sends: list[Send] = []
        self.states: list[SiteState] = []
        self.writes: list[CubeWrite] = []
        self.config = EdgeConfig()
        self.rate: float | None = None
        """What the way to the root carries, in bytes a second."""
        self.packed_share = 1.0
        self.room = 1 << 20
        self.start(now_s=990.0)
        self.tick(now_s=990.0)

    def start(self, *, now_s: float) -> None:
        incarnation = self.user.cube.incarnation
        self.edge = Edge(ordinal=1, incarnation=incarnation, config=self.config, retention_s=1e9)
        self.edge.restore(self.user.cube.restore())
        self.edge.install(self.query, now_s=now_s)

    def tick(self, *, now_s: float) -> None:
        way = WayCapacity(self.rate, packed_share=self.packed_share)
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
