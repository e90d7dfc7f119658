"""Three sites with their edges, a root, and a relay between them that merges what it carries, and
may change it.

Panes are ten seconds long, blocks two panes. Sites read one record in each pane; site 2 has none in
panes 3 and 4.
"""

from collections.abc import Callable
from functools import reduce

import msgspec
from pane_kit import PANE_S, NumbersMerger, RootDesk, SiteDesk, SiteDisk, make_query, make_roster

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.alarm import AlarmKind
from headwater.edge.config import EdgeConfig
from headwater.plan.query import Query
from headwater.root import outputs as root_out
from headwater.root.config import RootConfig

SITES = 3
LIFE_S = 25.0
LATENESS_S = 60.0
QUIET = {(2, 3), (2, 4)}
"""(site, pane) without records."""

Lie = Callable[[Summary], Summary | None]


class Federation:
    """Everything that sites say goes through one relay, in the order in which it was said."""

    def __init__(
        self,
        digest_panes: int = 2,
        made: Callable[[Query], Query] = lambda query: query,
        **config: int,
    ) -> None:
        """``made`` makes another query of the usual one."""
        query = make_query(
            panes=1,
            slide=1,
            begin_pane=0,
            lateness_s=LATENESS_S,
            revise_for_s=10_000.0,
            deadline_s=5.0,
        )
        self.query = made(query)
        edge = EdgeConfig(
            summary_life_s=LIFE_S, state_every_s=3.0, seal_every_s=1.0, digest_panes=digest_panes
        )
        self.sites = [
            SiteDesk(n, [self.query], disk=SiteDisk(1000 + n), config=edge) for n in range(SITES)
        ]
        settings = RootConfig(summary_life_s=LIFE_S, ack_every_s=1.0, ack_idle_s=2.0, **config)
        self.root = RootDesk(self.query, make_roster(SITES), config=settings, compares=True)
        self.now_s = 0.0
        self.lie: Lie = lambda merged: merged
        self.silent: set[int] = set()
        """Sites that nothing of is carried."""
        self.stalled: set[int] = set()
        """Sites that read nothing, and so close nothing."""
        self.is_merging = True

    def record(self, site: int, pane: int) -> int:
        return 100 * pane + site

    def run(self, seconds: float, *, panes: int) -> None:
        """Time passes; of the panes below this number, each site reads its records."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += 1.0
            pane = int(self.now_s // PANE_S)
            for n, desk in enumerate(self.sites):
                is_time = self.now_s % PANE_S == 5.0 and pane < panes and (n, pane) not in QUIET
                records = {pane: [self.record(n, pane)]} if is_time else None
                if n not in self.stalled:
                    desk.commit(records, now_s=self.now_s, read_through_s=self.now_s)
            self.step()

    def step(self) -> None:
        said: dict[tuple[int, Lane], list[Summary]] = {}
        for n, desk in enumerate(self.sites):
            desk.work(now_s=self.now_s)
            for summary in desk.take_said():
                if n not in self.silent:
                    said.setdefault((summary.pane, summary.lane), []).append(summary)
            states = desk.take_told()
            if n not in self.silent:
                self.root.hear(*states, now_s=self.now_s)
        for (_, lane), summaries in said.items():
            for one in self.carried(lane, summaries):
                self.root.receive(one, now_s=self.now_s)
        self.root.work(now_s=self.now_s)
        for ack in self.root.take_acks():
            for n, desk in enumerate(self.sites):
                if n not in self.silent:
                    desk.hear(ack, now_s=self.now_s)

    def carried(self, lane: Lane, summaries: list[Summary]) -> list[Summary]:
        if lane is Lane.SPARE or not self.is_merging or len(summaries) < 2:
            return summaries
        rows = [one.rows for one in summaries if one.rows is not None]
        merged = msgspec.structs.replace(
            summaries[0],
            coverage=reduce(Coverage.merge, (one.coverage for one in summaries)),
            rows=NumbersMerger().merge(rows) if rows else None,
        )
        told = self.lie(merged)
        return [] if told is None else [told]

    def truth(self, pane: int) -> set[int]:
        return {self.record(n, pane) for n in range(SITES) if (n, pane) not in QUIET}

    def newest(self, pane: int) -> root_out.Envelope:
        return self.root.newest(pane).envelope

    def rows(self, pane: int) -> set[int]:
        rows = self.root.newest(pane).rows
        assert len(rows) == len(set(rows)), "a record is counted twice"
        return set(rows)

    def disputed(self, pane: int) -> list[bool]:
        return [bool(one.envelope.disputed) for one in self.root.published[pane]]

    def count(self, kind: str) -> int:
        return self.root.root.counters[kind]

    def check_right_in_the_end(self, panes: int, lied_about: int | None = None) -> None:
        """The alarm stands, so what was lied about is right and final and not called exact."""
        for pane in range(panes):
            assert self.rows(pane) == self.truth(pane), pane
            assert self.newest(pane).exact == (pane != lied_about), self.newest(pane)
            assert self.newest(pane).final, self.root.root.why(pane).text()
            kinds = {alarm.kind for alarm in self.newest(pane).alarms}
            assert (AlarmKind.DISPUTED in kinds) == (pane == lied_about)
