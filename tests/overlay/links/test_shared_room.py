"""What may wait for a link is shared by those who want it: nobody is kept out by who came first."""

from __future__ import annotations

from collections import Counter

import pytest

from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.links.shared_room import TURNED_AWAY_TELLS, SharedRoom
from headwater.plan.altered.link_share import LinkShare

MOST = 7_000


def _room(**weights: float) -> SharedRoom:
    shares = QueryShares()
    for query, weight in weights.items():
        shares.know(query, LinkShare(weight), ())
    return SharedRoom(shares, queue_s_max=2.0)


def _left(room: SharedRoom, query: str, queued: Counter[str]) -> int:
    return room.left(query, queued_bytes=queued.total(), queued_bytes_max=MOST)


def test_one_that_is_alone_has_all_of_it() -> None:
    room, queued = _room(a=1.0, idle=4.0), Counter({"a": 6_000})
    room.told(queued)
    assert _left(room, "a", queued) == 1_000


def test_one_that_comes_to_a_full_link_gets_its_part_before_the_other_gets_more() -> None:
    room, queued = _room(a=1.0, b=4.0), Counter({"a": MOST})
    room.told(queued)
    assert _left(room, "b", queued) == 0
    room.told(queued := Counter({"a": MOST - 500}))
    assert _left(room, "a", queued) == 0, "b was turned away, and comes first"
    assert _left(room, "b", queued) == 500


@pytest.mark.parametrize("weights", [(1.0, 2.0, 4.0), (4.0, 1.0, 1.0)])
def test_a_queue_that_is_filled_and_emptied_comes_to_be_shared_by_weight(
    weights: tuple[float, ...],
) -> None:
    room = _room(**dict(zip("abc", weights, strict=True)))
    queued = Counter({"a": MOST})
    leaving = [one for one, weight in zip("abc", weights, strict=True) for _ in range(int(weight))]
    for turn in range(700):
        room.told(Counter(queued))
        for query in "abc":
            while _left(room, query, queued) > 0:
                queued[query] += 100
                room.handed(query, 100)
        served = leaving[turn % len(leaving)]
        queued[served] = max(0, queued[served] - 100)
        assert queued.total() <= MOST
    for query, weight in zip("abc", weights, strict=True):
        assert queued[query] == pytest.approx(MOST * weight / sum(weights), abs=200)


def test_what_was_handed_over_counts_until_it_is_told() -> None:
    room = _room(a=1.0, b=1.0)
    room.handed("a", 3_000)
    room.handed("b", 100)
    assert room.left("a", queued_bytes=3_100, queued_bytes_max=MOST) == 500
    room.forget_handed()
    assert room.left("a", queued_bytes=0, queued_bytes_max=MOST) == MOST


def test_who_was_turned_away_and_comes_no_more_costs_nothing_in_the_end() -> None:
    room, queued = _room(a=1.0, b=1.0), Counter({"a": MOST})
    room.told(queued)
    assert _left(room, "b", queued) == 0
    assert room.has_turned_away
    for _ in range(TURNED_AWAY_TELLS + 1):
        room.told(queued := Counter({"a": MOST - 1_000}))
    assert not room.has_turned_away
    assert _left(room, "a", queued) == 1_000


def test_of_a_query_with_a_budget_no_more_waits_than_it_may_send_in_time() -> None:
    shares = QueryShares()
    shares.know("a", LinkShare(1.0, 1_000.0), ())
    room = SharedRoom(shares, queue_s_max=2.0)
    queued = Counter({"a": 1_500})
    room.told(queued)
    assert _left(room, "a", queued) == 500
    room.told(queued := Counter({"a": 2_500}))
    assert _left(room, "a", queued) == 0


def test_names_that_nobody_knows_are_not_remembered() -> None:
    room = _room(a=1.0)
    room.told(queued := Counter({"a": MOST}))
    for number in range(100):
        assert _left(room, f"made up {number}", queued) == 0
    assert not room.has_turned_away
    room.forget()
    assert _left(room, "a", Counter()) == MOST


def test_a_query_and_its_levels_have_one_part_together() -> None:
    shares = QueryShares()
    shares.know("q", LinkShare(), ())
    shares.know("level", LinkShare(), (), stands_for="q")
    shares.know("other", LinkShare(), ())
    room = SharedRoom(shares, queue_s_max=2.0)
    queued = Counter({"q": 3_000, "other": 10})
    room.told(queued)
    assert room.part_of("q") == room.part_of("level") == 0.5
    assert _left(room, "level", queued) == _left(room, "q", queued) == 500
    room.handed("level", 400)
    assert _left(room, "q", queued) == 100
