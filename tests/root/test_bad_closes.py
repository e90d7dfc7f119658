"""What no site can mean of its updates: refused and counted, and no answer says anything by it."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, part, state, whole

from headwater.algebra.coverage import EARLY_UPDATES_MAX, Coverage, Group, SitePart
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import Summary
from headwater.plan.query import Query
from headwater.root.scoreboard import UPDATES_MAX, Verdict

LIFE = 77
QUERY = make_query()


def a_desk(query: Query = QUERY) -> RootDesk:
    desk = RootDesk(query, make_roster(2), now_s=0.0)
    desk.hear(*(state(query, ordinal, of=LIFE) for ordinal in (0, 1)), now_s=0.0)
    desk.work(now_s=10.0)
    return desk


def of_groups(*groups: Group) -> Summary:
    return Summary(query=str(QUERY.id), pane=0, coverage=Coverage(groups=groups), rows=(0,))


def a_group(ordinal: int, updates: Ranges, closed_at: int | None) -> Group:
    coverage = Coverage.of_group(ordinal, LIFE, updates=updates, closed_at=closed_at)
    return coverage.groups[0]


IMPOSSIBLE = {
    "a close beyond the maximum": part(QUERY, 0, 0, [0], of=LIFE, closed_at=UPDATES_MAX + 1),
    "a close beyond the maximum, in a bitmap": of_groups(a_group(0, ((1, 1),), UPDATES_MAX + 1)),
    "more early updates than there are rounds": of_groups(
        a_group(0, ((1, EARLY_UPDATES_MAX + 1),), None)
    ),
    "more updates than its close says": part(
        QUERY, 0, 0, [0], of=LIFE, updates=((1, 3),), closed_at=2
    ),
    "two groups with a site in common": of_groups(
        a_group(0, ((1, 1),), None), a_group(0, ((2, 2),), 2)
    ),
    "a group and a part with a site in common": msgspec.structs.replace(
        of_groups(),
        coverage=Coverage(
            groups=(a_group(0, ((1, 1),), None),), parts=(SitePart(0, LIFE, ((2, 2),), 2),)
        ),
    ),
}


@pytest.mark.parametrize("summary", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_no_site_can_mean_is_refused_and_counted(summary: Summary) -> None:
    desk = a_desk()
    desk.receive(summary, now_s=11.0)
    assert desk.root.books.counters[Verdict.STRANGER] == 1
    assert any(notice.kind == Verdict.STRANGER for notice in desk.notices)
    for ordinal in (0, 1):
        desk.receive(whole(QUERY, 0, ordinal, [ordinal], of=LIFE), now_s=12.0)
    desk.work(now_s=13.0)
    assert desk.newest(0).rows == (0, 1), "and what is right is taken after it"
    assert desk.newest(0).envelope.exact


def test_a_close_that_counts_fewer_updates_than_the_former_one_takes_none_back() -> None:
    """Messages overtake each other, so an earlier close may come later: the largest one counts."""
    desk = a_desk()
    desk.receive(whole(QUERY, 0, 1, [1], of=LIFE), now_s=11.0)
    desk.receive(part(QUERY, 0, 0, [0], of=LIFE, updates=((1, 1),), closed_at=3), now_s=11.0)
    desk.receive(part(QUERY, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=2), now_s=11.5)
    desk.work(now_s=60.0)
    assert not desk.newest(0).envelope.exact, "the third update is awaited"
    assert [one.site for one in desk.newest(0).envelope.missing] == ["s0"]
    desk.receive(part(QUERY, 0, 0, [0], of=LIFE, updates=((1, 1),), closed_at=1), now_s=61.0)
    assert desk.root.books.counters[Verdict.CONTAINED] == 1
    desk.receive(part(QUERY, 0, 0, [3], of=LIFE, updates=((3, 3),), closed_at=3), now_s=62.0)
    desk.work(now_s=70.0)
    assert desk.newest(0).envelope.exact
    assert sorted(desk.newest(0).rows) == [0, 1, 2, 3]


def test_a_state_that_counts_fewer_updates_than_before_takes_none_back() -> None:
    desk = a_desk()
    for ordinal in (0, 1):
        desk.receive(whole(QUERY, 0, ordinal, [ordinal], of=LIFE), now_s=11.0)
    desk.hear(state(QUERY, 0, of=LIFE, number=2, counts=((0, 3),)), now_s=11.5)
    desk.hear(state(QUERY, 0, of=LIFE, number=3, counts=((0, 1),)), now_s=11.6)
    desk.hear(state(QUERY, 0, of=LIFE, number=4), now_s=11.7)
    desk.work(now_s=60.0)
    assert not desk.newest(0).envelope.exact, "updates 2 and 3 are awaited"


def test_a_site_that_knows_nothing_of_rounds_sends_one_update_and_is_right() -> None:
    """Beside one that sends early: its close is in the bitmap that there always was."""
    desk = a_desk()
    desk.receive(of_groups(a_group(0, ((1, 1),), None)), now_s=4.0)
    desk.receive(whole(QUERY, 0, 1, [1], of=LIFE), now_s=11.0)
    last = msgspec.structs.replace(of_groups(a_group(0, ((2, 2),), 2)), rows=(2,))
    desk.receive(last, now_s=11.0)
    desk.work(now_s=12.0)
    answer = desk.newest(0)
    assert answer.envelope.exact
    assert answer.envelope.covered == 2
    assert sorted(answer.rows) == [0, 1, 2]
