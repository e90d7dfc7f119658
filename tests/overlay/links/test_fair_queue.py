"""Queries share a link by weight, whatever they hand over, and nobody is owed what was not used."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.overlay.links.fair_queue import NOBODY, FairQueue
from headwater.plan.altered.link_share import LinkShare

WEIGHTS = {"a": 1.0, "b": 2.0, "c": 4.0}


def _queue(weights: dict[str, float] = WEIGHTS) -> FairQueue[int]:
    return FairQueue(lambda query: LinkShare(weights.get(query, 1.0)))


def _serve(queue: FairQueue[int], count: int, *, held: str = "") -> Counter[str]:
    """So many messages, and what they were of each query."""
    served: Counter[str] = Counter()
    for _ in range(count):
        query = queue.turn(lambda one: one not in held)
        if query is None:
            break
        size = queue.head(query)
        queue.serve(query, size, is_last=True)
        served[query] += size
    return served


@pytest.mark.parametrize("sizes", [(100, 100, 100), (1_000, 100, 350), (90, 2_000, 700)])
def test_bytes_are_as_weights_whatever_the_length_of_messages(sizes: tuple[int, ...]) -> None:
    queue = _queue()
    for query, size in zip("abc", sizes, strict=True):
        for _ in range(400_000 // size):
            queue.put(query, size)
    served: Counter[str] = Counter()
    while sum(served.values()) < 200_000:
        served += _serve(queue, 1)
    for query, weight in WEIGHTS.items():
        assert served[query] / sum(served.values()) == pytest.approx(weight / 7, rel=0.05)


def test_one_that_empties_between_its_messages_gets_no_more_than_its_share() -> None:
    queue, served = _queue({}), Counter[str]()
    for _ in range(200):
        queue.put("always", 100)
    while served["always"] < 10_000:
        if queue.turn() and not any(size == 101 for size in queue):
            queue.put("now and then", 101)
        served += _serve(queue, 1)
    assert served["now and then"] <= 1.05 * served["always"]


def test_who_was_idle_is_owed_nothing() -> None:
    queue = _queue({})
    for _ in range(100):
        queue.put("busy", 100)
    assert _serve(queue, 80)["busy"] == 8_000
    for _ in range(100):
        queue.put("back", 100)
    assert _serve(queue, 20) == {"busy": 1_000, "back": 1_000}


def test_who_was_held_back_is_owed_nothing_either() -> None:
    queue = _queue({})
    for _ in range(100):
        queue.put("free", 100)
        queue.put("held", 100)
    assert _serve(queue, 60, held="held") == {"free": 6_000}
    assert _serve(queue, 20)["held"] == pytest.approx(1_000, abs=100)


def test_what_is_nobodys_goes_first_and_what_has_begun_is_finished() -> None:
    queue = _queue({})
    queue.put("a", 10)
    queue.serve("a", 4, is_last=False)
    queue.put(NOBODY, 1)
    assert queue.turn() == "a", "its message is half sent"
    assert queue.turn(lambda query: False) is None
    queue.serve("a", 6, is_last=True)
    queue.put("b", 10)
    assert queue.turn() == NOBODY


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 5_000), st.booleans()), max_size=200)
)
def test_all_that_is_put_comes_out_once_in_the_order_of_its_query(
    puts: list[tuple[str, int, bool]],
) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    came: list[tuple[str, int]] = []

    def serve() -> None:
        query = queue.turn()
        if query is not None:
            item = queue.head(query)
            queue.serve(query, puts[item[1]][1], is_last=True)
            came.append(item)

    for number, (query, _, then_served) in enumerate(puts):
        queue.put(query, (query, number))
        if then_served:
            serve()
    while queue:
        serve()
    for query in "abcd":
        wanted = [(one, number) for number, (one, _, _) in enumerate(puts) if one == query]
        assert [item for item in came if item[0] == query] == wanted
