"""A site that is asked to wait: what it holds back, what leaves all the same, when it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.algebra.words.pause import LAPSES_AFTER, NO_PANE, PERIOD_S_MAX, Pause, PauseHeard
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.config import EdgeConfig

ME, ROOT, ORDINAL = 1000, 50, 3
QUERY = make_query(panes=1, slide=1)
PERIOD_S = 2.0
LISTED = ((-FOREVER, FOREVER),)


@dataclass
class Site:
    """Panes are of ten seconds; ``number`` counts the acknowledgements that it has heard."""

    desk: SiteDesk
    number: int = 1

    def hear(
        self, pause: Pause | None, *, exempt: int = 0, now_s: float, root: int = ROOT, **said: Any
    ) -> None:
        self.number += 1
        head = Acknowledgement(
            query=str(QUERY.id),
            root_incarnation=root,
            number=self.number,
            done_through=-FOREVER,
            pause=pause,
            exempt_through=exempt,
        )
        leaves = {name: said.pop(name) for name in ("panes", "greetings") if name in said}
        head = msgspec.structs.replace(head, **said)
        self.desk.hear(with_leaves(head, **leaves), now_s=now_s)

    def relay(self, tree: int, pause: Pause | None, *, trees: int = 2, now_s: float) -> None:
        heard = PauseHeard(str(QUERY.id), tree, trees, pause)
        self.desk.edge.hear_pause(heard, now_s=now_s)
        self.desk.work(now_s=now_s)

    def read(self, *panes: int, through: int | None = None) -> float:
        """Records of these panes; all up to ``through`` can be closed."""
        through = max(panes, default=0) if through is None else through
        now_s = 10.0 * (through + 1) + 5.0
        records = {pane: [100 * pane] for pane in panes}
        self.desk.commit(records, now_s=now_s, read_through_s=now_s)
        return now_s

    def said(self) -> list[int]:
        return [summary.pane for summary in self.desk.take_said()]

    @property
    def told(self) -> Any:
        return self.desk.told[-1]


def a_site(disk: SiteDisk | None = None) -> Site:
    config = EdgeConfig(clock_settle_s=0.5)
    desk = SiteDesk(ORDINAL, [QUERY], disk=disk or SiteDisk(ME), config=config, now_s=0.0)
    site = Site(desk)
    greeting = Greeting(ordinal=ORDINAL, incarnation=ME, number=desk.told[-1].number)
    site.hear(None, exempt=FOREVER, now_s=0.1, greetings=(greeting,))
    desk.take_said()
    return site


@pytest.fixture
def site() -> Site:
    return a_site()


def test_younger_panes_wait_and_older_ones_leave(site: Site) -> None:
    site.hear(Pause(1, 20.0), now_s=1.0)
    site.read(0, 1, 2)
    assert site.said() == [0, 1]
    assert site.told.paused_from == 2


def test_that_a_pane_is_closed_is_told_while_its_rows_wait(site: Site) -> None:
    site.hear(Pause(0, 9.0), now_s=1.0)
    site.read(0, 1)
    assert site.said() == [0]
    assert dict(site.told.counts) == {1: 1}


def test_an_empty_close_leaves_as_ever(site: Site) -> None:
    site.hear(Pause(0, 20.0), now_s=1.0)
    site.read(through=2)
    assert site.said() == [0, 1, 2]


def test_what_is_let_go_is_live_again_and_not_older_for_its_waiting(site: Site) -> None:
    now_s = site.read(0)
    site.desk.take_said()
    site.hear(Pause(0, PERIOD_S_MAX), now_s=now_s)
    now_s = site.read(1)
    for _ in range(5):
        now_s += 19.0
        site.hear(Pause(0, PERIOD_S_MAX), now_s=now_s)
    assert site.said() == []
    site.hear(None, now_s=now_s + 1.0)
    (summary,) = site.desk.take_said()
    assert (summary.pane, summary.lane, summary.age_s) == (1, Lane.LIVE, 0.0)
    assert site.told.paused_from is None


def test_a_pause_lapses_after_three_of_its_periods(site: Site) -> None:
    now_s = site.read(0)
    site.desk.take_said()
    site.hear(Pause(0, 6.0), now_s=now_s)
    now_s = site.read(1)
    until_s = now_s - 10.0 + 3 * 6.0
    assert site.desk.edge.next_deadline_s() <= until_s
    site.desk.work(now_s=until_s - 0.1)
    assert site.said() == []
    site.desk.work(now_s=until_s)
    assert site.said() == [1]


def test_one_that_was_long_on_its_way_lasts_so_much_shorter(site: Site) -> None:
    site.hear(Pause(0, PERIOD_S), now_s=24.9, age_s=LAPSES_AFTER * PERIOD_S)
    site.read(0, 1)
    assert site.said() == [0, 1]


def test_panes_of_the_oldest_window_without_an_answer_leave_whatever_is_said(site: Site) -> None:
    site.hear(Pause(-5, 30.0), exempt=1, now_s=1.0)
    site.relay(0, Pause(-5, 20.0), now_s=1.0)
    site.relay(1, Pause(-5, 20.0), now_s=1.0)
    site.read(0, 1, 2)
    assert site.said() == [0, 1]


def test_where_no_window_lacks_an_answer_the_oldest_pane_leaves(site: Site) -> None:
    site.relay(0, Pause(-5, 20.0), trees=1, now_s=1.0)
    site.hear(None, exempt=NO_PANE, now_s=1.5)
    site.read(0, 1, 2)
    first = site.said()
    assert 0 in first
    site.hear(None, exempt=0, now_s=36.0)
    assert set(first) | set(site.said()) < {0, 1, 2}, "now the root knows of a window"


def test_a_relay_is_not_heeded_before_the_root_tells_what_is_exempt(site: Site) -> None:
    site.relay(0, Pause(-5, 20.0), trees=1, now_s=1.0)
    assert site.told.paused_from == -4, "so the root hears that it should"
    site.read(0)
    assert site.said() == [0]


def test_a_relay_stops_the_panes_of_its_own_tree_alone(site: Site) -> None:
    site.hear(None, exempt=0, now_s=1.0)
    site.relay(1, Pause(0, 20.0), trees=2, now_s=1.0)
    site.read(0, 1, 2, 3)
    assert site.said() == [0, 2]
    site.relay(1, None, trees=2, now_s=46.0)
    assert site.said() == [1, 3]


def test_the_smaller_of_what_root_and_relay_take_counts(site: Site) -> None:
    site.hear(Pause(2, 30.0), now_s=1.0)
    site.relay(0, Pause(1, 20.0), trees=1, now_s=1.0)
    site.read(0, 1, 2, 3)
    assert site.said() == [0, 1]
    site.relay(0, None, trees=1, now_s=46.0)
    assert site.said() == [2]


def test_what_is_asked_for_again_waits_too(site: Site) -> None:
    now_s = site.read(0, 1)
    assert site.said() == [0, 1]
    late_s = now_s + EdgeConfig().summary_life_s + 1.0
    site.hear(Pause(0, PERIOD_S), now_s=late_s, listed=LISTED)
    again = site.desk.take_said()
    assert [(one.pane, one.lane) for one in again] == [(0, Lane.SPARE)]
    site.hear(None, now_s=late_s + 1.0)
    assert [(one.pane, one.lane) for one in site.desk.take_said()] == [(1, Lane.SPARE)]


def test_a_root_that_began_anew_takes_all_until_it_says_otherwise(site: Site) -> None:
    site.hear(Pause(0, 30.0), now_s=1.0)
    site.read(0, 1)
    assert site.said() == [0]
    site.hear(None, exempt=FOREVER, root=ROOT + 1, now_s=26.0)
    assert 1 in site.said()


def test_backlog_waits_and_leaves_as_backlog() -> None:
    disk = SiteDisk(ME)
    before = a_site(disk)
    before.desk.room = 0
    before.read(0, 1, 2)
    site = Site(SiteDesk(ORDINAL, [QUERY], disk=disk, config=before.desk.config, now_s=40.0))
    site.desk.take_said()
    again = a_site(disk)
    again.desk.room = 0
    again.hear(Pause(0, 30.0), now_s=41.0)
    again.desk.room = 1 << 30
    again.desk.work(now_s=42.0)
    assert set(again.said()) <= {0}
    again.hear(None, now_s=43.0)
    assert all(one.lane is Lane.BACKLOG for one in again.desk.take_said())


def test_the_root_holds_it_and_the_close_is_told_no_more(site: Site) -> None:
    site.hear(Pause(0, 9.0), now_s=1.0)
    now_s = site.read(0, 1)
    site.hear(None, now_s=now_s + 1.0)
    assert site.said() == [0, 1]
    held = (PaneHeld(0, 1 << ORDINAL), PaneHeld(1, 1 << ORDINAL))
    site.hear(None, now_s=now_s + 2.0, panes=held)
    assert site.desk.edge.progress()[0].unacked_panes == 0
