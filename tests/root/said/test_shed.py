"""Panes that a site has set aside for want of CPU: what the root says of them, and awaits."""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.demand import Demand
from headwater.plan.query import Query, Shed
from headwater.root.said.envelope import MissingSite, Trigger

LIFE = 77
QUERY = msgspec.structs.replace(make_query(panes=2, slide=1), shed=Shed.DEFER)


def desk(query: Query = QUERY) -> RootDesk:
    root = RootDesk(query, make_roster(3), now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(3)), now_s=0.0)
    return root


def bring(root: RootDesk, sites: tuple[int, ...], panes: tuple[int, ...], *, now_s: float) -> None:
    for pane in panes:
        for site in sites:
            summary = whole(root.query, pane, site, [100 * pane + site], of=LIFE)
            root.receive(summary, now_s=now_s)
    root.work(now_s=now_s)


def sheds(root: RootDesk, site: int, *panes: tuple[int, int], number: int, now_s: float) -> None:
    root.hear(state(root.query, site, of=LIFE, number=number, deferred=panes), now_s=now_s)
    root.work(now_s=now_s)


def test_it_says_which_panes_a_site_has_shed_and_revises_when_they_come() -> None:
    root = desk()
    sheds(root, 2, (1, 1), number=2, now_s=19.0)
    bring(root, (0, 1), (0, 1), now_s=22.0)
    bring(root, (2,), (0,), now_s=22.1)
    first = root.newest(0).envelope
    assert first.trigger is Trigger.HOPELESS, "nothing that is missing can come in time"
    assert not first.exact
    assert first.missing == (MissingSite("s2", "deferred", "shed", ((1, 1),)),)
    sheds(root, 2, number=3, now_s=60.0)
    bring(root, (2,), (1,), now_s=61.0)
    root.work(now_s=65.0)
    assert root.newest(0).envelope.missing == ()


def test_a_demand_that_can_not_be_met_any_more_is_answered_at_once() -> None:
    root = desk(msgspec.structs.replace(QUERY, demand=Demand(area=90_000)))
    sheds(root, 2, (0, 1), number=2, now_s=19.0)
    bring(root, (0,), (0, 1), now_s=22.0)
    assert root.newest(0).envelope.trigger is Trigger.HOPELESS


def test_of_a_query_with_levels_it_is_coarse_as_ever() -> None:
    root = desk(make_query(panes=2, slide=1))
    sheds(root, 2, (1, 1), number=2, now_s=19.0)
    bring(root, (0, 1), (0, 1), now_s=22.0)
    root.work(now_s=40.0)
    first = root.newest(0).envelope
    assert first.trigger is Trigger.DEADLINE
    assert ("s2", "coarse") in [(one.site, one.reason) for one in first.missing]
