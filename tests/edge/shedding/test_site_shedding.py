"""Of which queries a site skips input, and of which it does not though it is late.

Panes of ten seconds, disorder 1 s; the deadline is ten seconds after a window's end.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pane_kit import SiteDesk, make_query

from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.query_state import News
from headwater.edge.record import EdgeRecord, SetAside
from headwater.edge.report import BatchReport
from headwater.edge.shedding.choose_skip import Ahead, Found, Skip
from headwater.plan.query import Shed
from headwater.plan.readings import aside_reading

QUERY = msgspec.structs.replace(make_query(lateness_s=20.0), shed=Shed.DEFER)
ID = str(QUERY.id)
ONE = aside_reading("hits", 5)
NOW_S = 30.0
AHEAD = Ahead(tuple(Found(n, 300_000, float(n)) for n in range(1, 31)), 300_000.0)
"""Thirty seconds of input, of which each takes about one to read."""


def late_site(**facts: Any) -> SiteDesk:
    """It has read nothing of what came in thirty seconds."""
    site = SiteDesk(0, [QUERY], now_s=0.0)
    greeting = Greeting(ordinal=0, incarnation=site.disk.incarnation, number=site.told[-1].number)
    head = Acknowledgement(
        query=ID, root_incarnation=50, number=1, done_through=-FOREVER, held=(), listed=()
    )
    site.hear(with_leaves(head, greetings=(greeting,)), now_s=0.1)
    site.commit(now_s=0.2, read_through_s=0.2)
    if facts:
        site.edge._edges[ID].state.change(News.NONE, **facts)
    return site


def record(site: SiteDesk) -> EdgeRecord:
    return site.edge.progress()[0].record


def skips(site: SiteDesk, source: str = "hits") -> dict[str, Skip]:
    pace = ReadingPace()
    for _ in range(20):
        pace.took(1_000_000, 3.0)
        pace.took(2_000_000, 6.0)
    return site.edge.shedding.skips(source, AHEAD, pace, now_s=NOW_S)


def test_a_site_that_is_late_skips_up_to_the_pane_that_it_can_make() -> None:
    assert skips(late_site()) == {ID: Skip(29, 0, 2)}
    assert skips(late_site(), "other") == {}


@pytest.mark.parametrize(
    "facts",
    [
        {"catching_up": True},
        {"past": "hits~home.1"},
        {"awaits_greeting": True},
        {"status": "suspended"},
        {"end_pane": 0},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_nothing_is_skipped_where_it_is_not_known_or_not_wanted_what_is_in_time(
    facts: dict[str, Any],
) -> None:
    assert skips(late_site(**facts)) == {}


def test_a_pane_that_is_set_aside_already_is_not_waited_for_again() -> None:
    site = late_site(set_aside=(SetAside(ONE, 0, 3, through_cut=1),))
    assert skips(site) == {}, "pane 4 has not begun, and can be made"


def test_panes_that_were_read_to_their_end_are_not_touched_though_none_is_closed_yet() -> None:
    site = late_site()
    site.edge.batch_committed(BatchReport("hits", read_through_s=42.0), now_s=42.0)
    site.edge.shedding.hear(ID, SetAside(ONE, 1, 5, through_cut=9), now_s=42.0)
    assert record(site).set_aside == (SetAside(ONE, 4, 5, through_cut=9),)


def test_records_may_be_stamped_by_a_clock_that_was_ahead_when_they_were_written() -> None:
    site = late_site()
    site.edge.set_clock(25.0, now_s=10.0)
    site.edge.set_clock(0.0, now_s=15.0)
    assert skips(site) == {ID: Skip(29, 0, 5)}, "found by 29 s, and 25 s and disorder ahead"
