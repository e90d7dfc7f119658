"""A site under a random demand: what was not drawn is not made, and nothing is said of it."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.algebra.demand import Chance, Demand
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.query_edge import EMPTY_RUN_MIN
from headwater.plan.query import Query

ME, ROOT = 1000, 50
PANES = 20
ORDINAL = 3


def query_of(chance: Chance = Chance.ALIKE, *, percent: int = 50) -> Query:
    """Windows of ten panes, as long as their slide."""
    demand = Demand(area=1000 * percent, chance=chance)
    return msgspec.structs.replace(make_query(panes=10, slide=1), demand=demand)


def drawn_of(query: Query) -> list[int]:
    assert query.draw is not None
    return [pane for pane in range(PANES) if query.draw.has(pane, ORDINAL)]


def desk(query: Query, *, disk: SiteDisk | None = None) -> SiteDesk:
    return SiteDesk(ORDINAL, [query], disk=disk or SiteDisk(ME), now_s=0.0)


def read(site: SiteDesk, panes: range, *, through_s: float) -> None:
    records = {pane: [100 * pane, 100 * pane + 1] for pane in panes}
    site.commit(records, now_s=through_s, read_through_s=through_s)


def panes_said(site: SiteDesk) -> list[int]:
    return sorted(summary.pane for summary in site.take_said())


@pytest.mark.parametrize("chance", list(Chance))
def test_what_was_drawn_is_sent_and_nothing_else(chance: Chance) -> None:
    query = query_of(chance)
    site = desk(query)
    read(site, range(PANES), through_s=10.0 * PANES + 5.0)
    assert panes_said(site) == drawn_of(query)
    assert site.told[-1].tally.not_drawn == 2 * (PANES - len(drawn_of(query)))
    assert site.told[-1].tally.too_late == 0
    assert site.told[-1].declined == ()


def idle(site: SiteDesk, *, below: int) -> None:
    """It finds nothing, and panes below may close."""
    now_s = 10.0 * below + 5.0
    site.commit(now_s=now_s, read_through_s=now_s)


def test_of_an_idle_site_nothing_is_said_of_what_was_not_drawn() -> None:
    query = query_of()
    site = desk(query)
    for below in range(4, PANES + 1, 4):
        idle(site, below=below)
    assert panes_said(site) == drawn_of(query), "an empty close of each that was"


def test_long_runs_of_what_was_not_drawn_are_no_word_of_a_state() -> None:
    query = query_of(percent=10)
    taken = [pane for pane in range(200) if query.draw.has(pane, ORDINAL)]  # type: ignore[union-attr]
    first, end = next((a + 1, b) for a, b in pairwise(taken) if b - a > EMPTY_RUN_MIN + 1)
    site = desk(query)
    idle(site, below=first)
    before = site.told[-1]
    idle(site, below=end)
    assert site.told[-1] == before
    idle(site, below=end + EMPTY_RUN_MIN)
    assert site.told[-1].empty[-1] == (end, end + EMPTY_RUN_MIN - 1), "with one that was, it is"


def test_a_restart_draws_the_same_panes_and_counts_nothing_twice() -> None:
    query, disk = query_of(), SiteDisk(ME)
    site = desk(query, disk=disk)
    read(site, range(PANES // 2), through_s=10.0)
    before = site.told[-1].tally.not_drawn
    again = desk(query, disk=disk)
    read(again, range(PANES // 2, PANES), through_s=10.0 * PANES + 5.0)
    assert panes_said(again) == drawn_of(query)
    assert before == 2 * (PANES // 2 - sum(pane < PANES // 2 for pane in drawn_of(query)))
    assert again.told[-1].tally.not_drawn == 2 * before


def ack(
    query: Query, number: int, *held: tuple[int, int], greetings: tuple[Greeting, ...] = ()
) -> Acknowledgement:
    head = Acknowledgement(
        query=str(query.id),
        root_incarnation=ROOT,
        number=number,
        done_through=-FOREVER,
        held=held,
        listed=((-FOREVER, FOREVER),),
    )
    return with_leaves(head, greetings=greetings)


def greeted(query: Query) -> SiteDesk:
    site = desk(query)
    greeting = Greeting(ordinal=ORDINAL, incarnation=ME, number=site.told[-1].number)
    site.hear(ack(query, 1, greetings=(greeting,)), now_s=0.5)
    return site


def undrawn_run(query: Query) -> tuple[int, int]:
    """The first panes beside each other of which none was drawn."""
    drawn = set(drawn_of(query))
    first = next(pane for pane in range(PANES) if pane not in drawn)
    last = first
    while last + 1 < PANES and last + 1 not in drawn:
        last += 1
    return first, last


def test_a_root_may_call_held_what_was_not_drawn_and_nothing_else_before_its_close() -> None:
    query = query_of(percent=20)
    first, last = undrawn_run(query)
    calm, wronged = greeted(query), greeted(query)
    calm.hear(ack(query, 2, (first, last)), now_s=1.0)
    assert not calm.told[-1].alarms
    wronged.hear(ack(query, 2, (first, last + 1)), now_s=1.0)
    found = wronged.told[-1].alarms
    assert [(alarm.first, alarm.last) for alarm in found] == [(last + 1, last + 1)]
