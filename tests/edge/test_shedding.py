"""A site asked for much again, by a root that may be late: repairs within their budget, and none
for what lies unheard at the root. Rule "Trouble must shed, not multiply"."""

from __future__ import annotations

import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.config import EdgeConfig
from headwater.edge.outputs import Send
from headwater.plan.query import Query

QUERY = make_query()
ME, ROOT = 1000, 50
LIFE_S = EdgeConfig().summary_life_s
ASKED_S = 300.0
"""When the root asks for all that was ever sent."""
PANES = 20
TIGHT = EdgeConfig(
    clock_settle_s=0.5, repairs_per_s_max=2.0, repairs_burst_max=3.0, spares_per_tick_max=64
)
SLACK = 0.01


def ack(
    number: int,
    *,
    query: Query = QUERY,
    panes: tuple[PaneHeld, ...] = (),
    greetings: tuple[Greeting, ...] = (),
    **fields: float,
) -> Acknowledgement:
    listed = ((-FOREVER, FOREVER),)
    head = Acknowledgement(
        query=str(query.id),
        root_incarnation=ROOT,
        number=number,
        done_through=-FOREVER,
        listed=listed,
        **fields,
    )
    return with_leaves(head, panes=panes, greetings=greetings)


def asked(config: EdgeConfig = TIGHT, *, records_max: int = 100, records: int = 1) -> SiteDesk:
    """A site that has sent so many panes, none of which the root has; it has heard so."""
    disk = SiteDisk(ME, records_max=records_max)
    site = SiteDesk(0, [QUERY], config=config, disk=disk)
    greeting = Greeting(ordinal=0, incarnation=ME, number=site.told[-1].number)
    site.hear(ack(1, greetings=(greeting,)), now_s=0.5)
    numbers = {pane: list(range(pane * 100, pane * 100 + records)) for pane in range(PANES)}
    site.commit(numbers, now_s=201.0, read_through_s=201.0)
    site.take_said()
    site.edge.receive_ack(ack(2), now_s=ASKED_S)
    return site


def repairs_of(site: SiteDesk, *, seconds: float, share: float = 1.0) -> list[tuple[float, int]]:
    """(when, pane) of every repair, driven as a node drives an edge."""
    found: list[tuple[float, int]] = []
    now_s = ASKED_S
    for _ in range(10_000):
        if now_s > ASKED_S + seconds:
            return found
        site.edge.tick(now_s=now_s, room=lambda _: 1 << 30, awake_share=share)
        for output in site.edge.take():
            if isinstance(output, Send):
                assert output.lane is Lane.SPARE
                found.append((now_s, output.pane))
            elif hasattr(output, "kind"):
                site.notices.append(output)
        now_s = max(now_s + 0.001, site.edge.next_deadline_s())
    raise AssertionError("the edge wants to be ticked for ever")


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_no_stretch_of_time_has_more_repairs_than_the_budget_and_none_is_forgotten(share) -> None:
    repairs = repairs_of(asked(), seconds=200.0, share=share)
    assert sorted(pane for _, pane in repairs) == list(range(PANES))
    for first, (from_s, _) in enumerate(repairs):
        for last in range(first, len(repairs)):
            allowed = max(1.0, 3.0 * share) + 2.0 * share * (repairs[last][0] - from_s)
            assert last - first + 1 <= allowed + SLACK


def test_a_busy_site_repairs_less_at_once_and_in_a_second() -> None:
    calm, busy = (repairs_of(asked(), seconds=5.0, share=share) for share in (1.0, 0.1))
    assert len(calm) == 3 + 2 * 5
    assert len(busy) == 1 + 1


def test_that_repairs_wait_for_their_budget_is_said_once() -> None:
    site = asked()
    repairs_of(site, seconds=60.0)
    assert [one.kind for one in site.notices if one.kind == "repairs wait"] == ["repairs wait"]


def test_repairs_that_fit_the_budget_wait_for_nothing() -> None:
    site = asked(EdgeConfig(clock_settle_s=0.5))
    assert {at_s for at_s, _ in repairs_of(site, seconds=0.0)} == {ASKED_S}
    assert "repairs wait" not in [one.kind for one in site.notices]


def test_what_a_pane_of_many_updates_overdraws_is_paid_back_first() -> None:
    """A pane comes whole; four updates each, of a budget of three at once and two a second."""
    repairs = repairs_of(asked(records_max=1, records=4), seconds=8.0)
    times = sorted({at_s for at_s, _ in repairs})
    assert len(repairs) == 4 * len(times), "each time one pane, with all its updates"
    assert len(times) == 5, "at once one, which overdraws by one, and then one every two seconds"


def test_a_budget_is_one_for_all_queries_of_a_site() -> None:
    other = make_query(name="others", counter=2)
    site = SiteDesk(0, [QUERY, other], config=TIGHT)
    for query in (QUERY, other):
        greeting = Greeting(ordinal=0, incarnation=ME, number=site.told[-1].number)
        site.hear(ack(1, query=query, greetings=(greeting,)), now_s=0.5)
        site.commit({pane: [pane] for pane in range(5)}, now_s=51.0, query=str(query.id))
    site.commit(now_s=61.0, read_through_s=61.0)
    site.take_said()
    for query in (QUERY, other):
        site.edge.receive_ack(ack(2, query=query), now_s=ASKED_S)
    assert len(repairs_of(site, seconds=0.0)) == 3


# A root that was late


def sent_at(sent_s: float) -> SiteDesk:
    site = SiteDesk(0, [QUERY])
    site.hear(
        ack(1, greetings=(Greeting(ordinal=0, incarnation=ME, number=site.told[-1].number),)),
        now_s=0.5,
    )
    site.commit({0: [1]}, now_s=sent_s, read_through_s=sent_s)
    site.take_said()
    return site


def test_a_root_that_was_late_is_given_so_much_more_time() -> None:
    site = sent_at(11.0)
    site.hear(ack(2, late_s=10.0), now_s=11.0 + LIFE_S + 9.9)
    assert site.said == [], "it may lie unheard there"
    site.hear(ack(3, late_s=10.0), now_s=11.0 + LIFE_S + 10.1)
    assert [summary.lane for summary in site.said] == [Lane.SPARE]


def test_age_and_lateness_of_an_acknowledgement_add_up() -> None:
    site = sent_at(11.0)
    site.hear(ack(2, late_s=10.0, age_s=2.0), now_s=11.0 + LIFE_S + 11.9)
    assert site.said == []
    site.hear(ack(3, late_s=10.0, age_s=2.0), now_s=11.0 + LIFE_S + 12.1)
    assert len(site.said) == 1


def test_what_a_late_root_has_is_taken_for_heard() -> None:
    site = sent_at(11.0)
    site.hear(ack(2, late_s=1_000.0, panes=(PaneHeld(0, 0b1),)), now_s=20.0)
    assert site.edge.progress()[0].unacked_panes == 0


def test_an_empty_close_that_a_late_root_lacks_waits_as_updates_do() -> None:
    site = SiteDesk(0, [QUERY])
    site.hear(
        ack(1, greetings=(Greeting(ordinal=0, incarnation=ME, number=site.told[-1].number),)),
        now_s=0.5,
    )
    site.commit(now_s=11.0, read_through_s=11.0)
    site.take_said()
    site.hear(ack(2, late_s=10.0), now_s=11.0 + LIFE_S + 9.9)
    assert site.said == []
    site.hear(ack(3, late_s=10.0), now_s=11.0 + LIFE_S + 10.1)
    assert [summary.lane for summary in site.said] == [Lane.SPARE]
