"""A site that hears that panes are unwanted: it works no more for them, and loses nothing."""

from __future__ import annotations

from typing import Any

import msgspec
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge import query_state
from headwater.edge.config import EdgeConfig
from headwater.edge.outputs import MakeUpdates
from headwater.plan.query import Query

ME, ROOT = 1000, 50
ORDINAL = 3
QUERY = make_query(panes=10, slide=9)
LISTED = ((-FOREVER, FOREVER),)


def ack(
    number: int,
    *unwanted: tuple[int, int],
    held: tuple[tuple[int, int], ...] = (),
    listed: tuple[tuple[int, int], ...] = LISTED,
    root: int = ROOT,
    age_s: float = 0.0,
    **said: Any,
) -> Acknowledgement:
    head = Acknowledgement(
        query=str(QUERY.id),
        root_incarnation=root,
        number=number,
        done_through=-FOREVER,
        held=held,
        listed=listed,
        unwanted=unwanted,
        age_s=age_s,
    )
    return with_leaves(head, **said)


def desk(disk: SiteDisk | None = None, query: Query = QUERY, **options: Any) -> SiteDesk:
    site = SiteDesk(ORDINAL, [query], disk=disk or SiteDisk(ME), now_s=0.0, **options)
    greeting = Greeting(ordinal=ORDINAL, incarnation=ME, number=site.told[-1].number)
    site.hear(ack(1, listed=(), greetings=(greeting,)), now_s=0.1)
    site.take_said()
    return site


def read(site: SiteDesk, panes: range, *, at_s: float | None = None) -> None:
    """Records of these panes, and the last of them can be closed."""
    records = {pane: [100 * pane, 100 * pane + 1] for pane in panes}
    now_s = 10.0 * panes.stop + 5.0 if at_s is None else at_s
    site.commit(records, now_s=now_s, read_through_s=now_s)


def said(site: SiteDesk) -> list[int]:
    return [summary.pane for summary in site.take_said()]


def made(site: SiteDesk) -> list[int]:
    return [p for write in site.writes if isinstance(write, MakeUpdates) for p in write.panes]


def record_of(site: SiteDesk):
    return site.disk.records[str(QUERY.id)]


def test_what_is_still_to_come_is_neither_made_nor_sent() -> None:
    site = desk()
    site.hear(ack(2, (2, 4)), now_s=1.0)
    read(site, range(6))
    assert said(site) == [0, 1, 5]
    assert made(site) == [0, 1, 5]
    assert site.told[-1].declined == ()
    assert site.told[-1].empty == ()
    assert site.told[-1].tally.too_late == 0
    assert record_of(site).closed_through == 6


def test_no_word_is_said_of_an_idle_site_either() -> None:
    site = desk()
    site.hear(ack(2, (2, 40)), now_s=1.0)
    site.commit(now_s=455.0, read_through_s=455.0)
    assert sorted(said(site)) == [0, 1, 41, 42, 43, 44]
    assert site.told[-1].empty == ()


def test_what_waits_to_be_sent_does_not_leave() -> None:
    site = desk()
    site.room = 0
    read(site, range(3))
    site.hear(ack(2, (0, 1)), now_s=40.0)
    site.room = 1 << 30
    site.work(now_s=41.0)
    assert said(site) == [2]


def test_nothing_is_sent_again_of_it() -> None:
    site = desk()
    read(site, range(3))
    assert said(site) == [0, 1, 2]
    site.hear(ack(2, (0, 1)), now_s=100.0)
    site.hear(ack(3, (0, 1)), now_s=102.0)
    again = site.take_said()
    assert [(one.pane, one.lane) for one in again] == [(2, Lane.SPARE)]
    assert site.edge.progress()[0].unacked_panes == 1


def test_what_was_being_made_when_the_word_came_keeps_its_number_and_stays() -> None:
    site = desk()
    site.hear(ack(2, (0, 0)), now_s=1.0)
    late = desk()
    read(late, range(1))
    assert said(late) == [0]
    late.hear(ack(2, (0, 0)), now_s=12.0)
    late.commit({0: [7]}, now_s=13.0)
    late.work(now_s=400.0)
    assert said(late) == [], "a late record of it is stored, and not cut"
    pane = late.disk.panes[str(QUERY.id)][0]
    assert (len(pane.updates), pane.waiting) == (1, [7])


def test_it_is_sealed_though_it_was_never_made() -> None:
    query = msgspec.structs.replace(
        QUERY, timing=msgspec.structs.replace(QUERY.timing, lateness_s=20.0)
    )
    site = desk(query=query)
    site.hear(ack(2, (1, 4)), now_s=1.0)
    read(site, range(5))
    site.commit(now_s=200.0, read_through_s=200.0)
    assert site.told[-1].sealed_through > 4


def test_a_restart_remembers_it() -> None:
    disk = SiteDisk(ME)
    site = desk(disk)
    read(site, range(1))
    site.hear(ack(2, (0, 4)), now_s=12.0)
    read(site, range(1, 3))
    again = SiteDesk(ORDINAL, [QUERY], disk=disk, now_s=31.0)
    again.hear(ack(3), now_s=31.5)
    read(again, range(3, 6))
    again.hear(ack(4), now_s=200.0)
    assert {one.pane for one in again.take_said()} == {5}
    assert again.told[-1].empty == (), "and none of it looks like one that was closed empty"
    assert again.told[-1].tally.too_late == 0


def test_an_older_word_that_says_less_takes_nothing_back() -> None:
    site = desk()
    site.hear(ack(2, (1, 2)), now_s=1.0)
    site.hear(ack(3), now_s=2.0)
    read(site, range(4))
    assert said(site) == [0, 3]


def test_retention_declines_none_of_it() -> None:
    site = desk(retention_s=50.0)
    read(site, range(3))
    site.hear(ack(2, (0, 2)), now_s=36.0)
    site.work(now_s=500.0)
    assert site.told[-1].declined == ()


def test_a_root_that_began_anew_hears_what_never_comes_and_gets_the_rest() -> None:
    site = desk()
    read(site, range(1))
    site.hear(ack(2, (0, 4)), now_s=12.0)
    read(site, range(1, 3))
    site.take_said()
    site.hear(ack(1, root=ROOT + 1), now_s=36.0)
    assert [(one.first, one.last, one.reason) for one in site.told[-1].declined] == [
        (0, 2, "expired")
    ]
    assert record_of(site).unwanted == ()
    read(site, range(3, 6))
    assert [pane for pane in said(site) if pane > 2] == [3, 4, 5], "of these nothing was left out"


def test_a_wish_for_its_own_updates_of_what_was_not_made_gets_no_empty_close() -> None:
    site = desk()
    site.hear(ack(2, (1, 1)), now_s=1.0)
    read(site, range(3))
    site.take_said()
    wish = ack(3, (1, 1), held=((0, 0), (2, 2)))
    wanting = msgspec.structs.replace(wish, wanted=(PaneHeld(1, 1 << ORDINAL),))
    site.hear(wanting, now_s=40.0)
    assert said(site) == []


def test_more_ranges_than_are_kept_are_not_taken(monkeypatch) -> None:
    monkeypatch.setattr(query_state, "UNWANTED_RANGES_MAX", 2)
    site = desk()
    site.hear(ack(2, (1, 1), (3, 3)), now_s=1.0)
    site.hear(ack(3, (1, 1), (3, 3), (5, 5)), now_s=2.0)
    read(site, range(7))
    assert said(site) == [0, 2, 4, 5, 6], "it goes on sending, and the root refuses"


def test_nothing_is_read_for_it_alone() -> None:
    site = desk()
    before_s = site.edge.next_wanted_s("hits", after_s=2.0, now_s=2.0)
    site.hear(ack(2, (0, 7)), now_s=2.0)
    after_s = site.edge.next_wanted_s("hits", after_s=2.0, now_s=2.0)
    assert after_s - before_s == 80.0, "eight panes of ten seconds later"
    site.hear(ack(3, (0, FOREVER)), now_s=3.0)
    assert site.edge.next_wanted_s("hits", after_s=3.0, now_s=3.0) >= NEVER_DUE_S


def test_a_root_that_wants_what_may_be_under_way_gets_it_once() -> None:
    """It has compared what the site tells of its closes with what has not come yet."""
    site = desk()
    read(site, range(2))
    site.take_said()
    sent_s, life_s = 25.0, EdgeConfig().summary_life_s

    def wish(number: int, now_s: float) -> list[int]:
        wanting = ack(number, listed=())
        wanting = msgspec.structs.replace(wanting, wanted=(PaneHeld(1, 1 << ORDINAL),))
        site.hear(wanting, now_s=now_s)
        return said(site)

    assert wish(2, sent_s + 5.0) == []
    assert wish(3, sent_s + life_s + 1.0) == [1], "nothing may be under way any more"


def test_a_spare_under_way_is_no_reason_to_send_nothing_for_a_root_that_wants_it_again() -> None:
    """Whoever repairs what is listed as lacking would else never send what is disputed."""
    site = desk()
    read(site, range(2))
    site.take_said()
    late_s = 25.0 + EdgeConfig().summary_life_s + 1.0
    site.hear(ack(2, held=((0, 0),)), now_s=late_s)
    assert said(site) == [1], "a spare of what is lacking"
    wanting = msgspec.structs.replace(ack(3, listed=()), wanted=(PaneHeld(1, 1 << ORDINAL),))
    site.hear(wanting, now_s=late_s + 1.0)
    assert said(site) == [1]
