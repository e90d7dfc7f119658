"""One heartbeat moves nobody's idea of a root's clock: it is voted, and the middle counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.overlay.clocks.clock_proof import ClockBounds
from headwater.overlay.clocks.clock_votes import ASIDE_MIN_S, VOTERS_MAX, ClockVotes
from headwater.overlay.clocks.root_clock import RootClock

APART_S, VOTE_S, PATIENCE_S = 0.25, 6.0, 20.0
DAY_S = 86_400.0
PARENTS = ("a", "b", "c", "d")


def votes(*parents: str) -> ClockVotes:
    found = ClockVotes("root", apart_s=APART_S, vote_s=VOTE_S)
    found.parents = parents or PARENTS
    return found


def says(
    offset_s: float,
    *,
    now_s: float = 0.0,
    spread_s: float = 0.02,
    age_s: float = 1.0,
    is_confirmed: bool = True,
) -> RootClock:
    return RootClock(offset_s, spread_s, now_s, now_s - age_s, is_confirmed)


def counted(found: ClockVotes, now_s: float = 0.0) -> RootClock:
    clock = found.count(patience_s=PATIENCE_S, now_s=now_s)
    assert clock is not None
    return clock


def agreed(now_s: float = 0.0, *parents: str) -> ClockVotes:
    """All parents but ``lie``, which has said nothing yet, agree on ten seconds."""
    found = votes(*parents)
    for parent in found.parents:
        if parent != "lie":
            found.hear(parent, says(10.0, now_s=now_s))
    return found


# The middle


def test_of_two_in_the_middle_that_agree_the_one_counts_that_knows_it_better():
    found = votes()
    found.hear("vague", says(10.50, spread_s=0.55))
    found.hear("a", says(10.00, spread_s=0.14))
    assert counted(found).offset_s == 10.00
    found.hear("b", says(10.45, spread_s=0.54))
    assert counted(found).offset_s == 10.45, "of three it is the one in the middle"
    found.hear("former", says(9.97, spread_s=0.36))
    assert counted(found).offset_s == 10.00


@pytest.mark.parametrize("lie_s", [1.0, -1.0, DAY_S, -DAY_S, 1e9])
@pytest.mark.parametrize("spread_s", [0.0, 1e9])
def test_one_of_three_who_lies_is_outvoted_and_named(lie_s, spread_s):
    found = agreed(0.0, "a", "b", "lie")
    found.hear("lie", says(10.0 + lie_s, spread_s=spread_s, age_s=0.0))
    clock = counted(found)
    assert clock.offset_s == pytest.approx(10.0)
    assert clock.spread_s < 0.1
    assert found.aside == {"lie": pytest.approx(lie_s)}


def test_three_who_agree_confirm_it_and_two_do_not():
    assert counted(agreed(0.0, "a", "b", "c")).is_confirmed
    assert not counted(agreed(0.0, "a", "b", "lie")).is_confirmed
    outvoted = agreed(0.0, "a", "b", "lie")
    outvoted.hear("lie", says(11.0))
    assert not counted(outvoted).is_confirmed


def test_what_many_pass_on_and_nobody_confirms_is_confirmed_by_nobody():
    found = votes()
    for parent in "abc":
        found.hear(parent, says(11.0, is_confirmed=False))
    found.hear("d", says(11.0))
    clock = counted(found)
    assert (clock.offset_s, clock.is_confirmed) == (11.0, False)
    for parent in "ab":
        found.hear(parent, says(11.0, now_s=1.0))
    assert counted(found, 1.0).is_confirmed, "each has heard since that it is so"
    found.hear("b", says(11.0, now_s=2.0, is_confirmed=False))
    assert not counted(found, 2.0).is_confirmed, "and may hear that it is not"
    found.hear("b", says(11.0, now_s=3.0))
    found.hear("b", says(11.0, now_s=4.0, spread_s=0.2, is_confirmed=False))
    assert not counted(found, 4.0).is_confirmed, "even where it knew the clock better before"


def test_three_of_seven_who_agree_confirm_nothing():
    found = votes(*"abcdefg")
    for n, offset_s in enumerate((10.0, 10.0, 10.0, -200.0, -100.0, 100.0, 200.0)):
        found.hear("abcdefg"[n], says(offset_s))
    clock = counted(found)
    assert (clock.offset_s, clock.is_confirmed) == (10.0, False)


def test_who_is_right_and_claims_to_be_sure_makes_nobody_surer():
    found = agreed(0.0, "a", "b", "lie")
    found.hear("lie", says(10.0, spread_s=0.0))
    assert counted(found).spread_s == pytest.approx(0.02)


def test_what_the_root_says_on_its_own_link_needs_no_vote():
    found = votes("root", "a", "b", "c")
    for parent in "abc":
        found.hear(parent, says(99.0))
    found.hear("root", says(10.0, age_s=0.0))
    clock = counted(found)
    assert (clock.offset_s, clock.is_confirmed) == (10.0, True)
    assert set(found.aside) == {"a", "b", "c"}


@given(
    true=st.lists(st.floats(-0.05, 0.05), min_size=2, max_size=7),
    lie_s=st.floats(-1e9, 1e9),
    lie_spread_s=st.floats(0.0, 1e9),
    lie_age_s=st.floats(0.0, 1e6),
)
def test_one_liar_among_three_or_more_moves_it_within_what_the_honest_say(
    true, lie_s, lie_spread_s, lie_age_s
):
    found = votes("lie", *(f"p{n}" for n in range(len(true))))
    found.hear("lie", says(lie_s, spread_s=lie_spread_s, age_s=lie_age_s))
    for n, error_s in enumerate(true):
        found.hear(f"p{n}", says(error_s, spread_s=0.05))
    clock = counted(found)
    assert min(true) <= clock.offset_s <= max(true)
    assert clock.spread_s <= 0.05 or lie_age_s > PATIENCE_S


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=9), st.floats(-1e9, 1e9))
def test_a_vote_more_leaves_it_beside_the_middle_of_the_others(offsets, one_more):
    """The median's law: whatever a single vote says, it moves it by one place at most."""
    found = votes(*map(str, range(10)))
    for n, offset_s in enumerate((*offsets, one_more)):
        found.hear(str(n), says(offset_s))
    ranked, half = sorted(offsets), len(offsets) // 2
    highest = ranked[min(len(ranked) - 1, (len(ranked) + 1) // 2)]
    assert ranked[half - 1] <= counted(found).offset_s <= highest


# A step


def test_a_step_needs_three_who_agree_where_there_are_three():
    found = agreed()
    assert counted(found).offset_s == 10.0
    for n, parent in enumerate("ab"):
        found.hear(parent, says(500.0, now_s=2.0, age_s=0.0))
        clock = counted(found, 2.0 + n)
        assert clock.offset_s == 10.0, f"{n + 1} of 4 have moved it"
    assert not counted(found, 3.0).is_confirmed
    found.hear("c", says(500.0, now_s=4.0, age_s=0.0))
    assert counted(found, 4.0).offset_s == 500.0
    assert counted(found, 4.0).is_confirmed


def test_two_of_three_do_not_take_a_step_against_the_third():
    found = agreed(0.0, "a", "b", "c")
    assert counted(found).offset_s == 10.0
    for second in (2.0, 4.0):
        for parent in "ab":
            found.hear(parent, says(500.0, now_s=second, age_s=0.0))
        found.hear("c", says(10.0, now_s=second))
        clock = counted(found, second)
        assert (clock.offset_s, clock.is_confirmed) == (10.0, False)


def test_who_remembers_a_former_clock_of_the_root_is_outvoted_when_its_word_is_old():
    """The root has another clock; one parent has heard of it, the others only of each other."""
    found = agreed()
    assert counted(found).offset_s == 10.0
    for second in range(2, 30, 2):
        found.hear("a", says(500.0, now_s=float(second), age_s=0.0))
        for other in "bcd":
            found.hear(other, says(10.0, now_s=float(second), age_s=second + 1.0))
    assert counted(found, 18.0).offset_s == 10.0
    assert counted(found, 28.0).offset_s == 500.0
    assert not counted(found, 28.0).is_confirmed


def test_with_two_parents_the_nearer_to_what_is_known_counts_and_it_is_unconfirmed():
    found = agreed(0.0, "a", "b")
    assert not counted(found).is_confirmed
    found.hear("a", says(10.0 + DAY_S, now_s=2.0, age_s=0.0))
    assert counted(found, 2.0).offset_s == 10.0
    assert set(found.aside) == {"a"}


def test_with_one_parent_its_word_counts_and_is_unconfirmed():
    found = agreed(0.0, "a")
    clock = counted(found)
    assert (clock.offset_s, clock.is_confirmed, clock.is_ready) == (10.0, False, True)


# Beginning


def test_where_there_are_three_they_are_waited_for_and_not_for_ever():
    found = votes()
    found.hear("a", says(10.0))
    assert not counted(found).is_ready
    found.hear("b", says(10.01, now_s=1.0))
    assert not counted(found, 1.0).is_ready
    assert counted(found, VOTE_S).is_ready
    found = votes()
    for parent in "abc":
        found.hear(parent, says(10.0, now_s=0.5))
    assert counted(found, 0.5).is_ready


def test_who_had_no_parents_before_the_query_came_waits_for_those_it_has_now():
    found = votes()
    found.parents = ()
    found.hear("a", says(10.0))
    assert counted(found).is_ready
    found.set_parents(PARENTS)
    assert not counted(found).is_ready


def test_three_who_disagree_are_not_agreed_on_anything():
    found = votes("a", "b", "c")
    for parent, offset_s in (("a", 0.0), ("b", 50.0), ("c", 100.0)):
        found.hear(parent, says(offset_s))
    clock = counted(found)
    assert not clock.is_ready
    assert not clock.is_confirmed
    assert set(found.aside) == {"a", "c"}


def test_what_all_remember_of_a_silent_root_is_better_than_nothing():
    found = votes()
    for parent in PARENTS:
        found.hear(parent, says(10.0, age_s=500.0))
    assert counted(found).offset_s == 10.0


def test_what_comes_with_installs_is_one_word_however_many_hand_it_over():
    found = votes()
    for _ in range(3):
        found.seed(says(9.4))
    clock = counted(found)
    assert (clock.offset_s, clock.is_confirmed) == (9.4, False)
    found.hear("d", says(10.0, now_s=1.0))
    found.seed(says(9.4, now_s=1.0))
    assert set(found._votes) == {"d"}


# What is kept


def test_of_one_neighbour_the_sample_with_the_smallest_spread_counts():
    found = votes("a")
    found.hear("a", says(10.0, spread_s=0.01))
    found.hear("a", says(10.2, now_s=2.0, spread_s=0.5))
    assert counted(found, 2.0).offset_s == 10.0
    found.hear("a", says(10.001, now_s=4.0, spread_s=0.002))
    assert counted(found, 4.0).offset_s == 10.001
    found.hear("a", says(10.2, now_s=10_000.0, spread_s=0.5))
    assert counted(found, 10_000.0).offset_s == 10.2, "by then the other may have drifted further"


def test_votes_are_bounded():
    found = votes()
    for n in range(2 * VOTERS_MAX):
        found.hear(f"s{n}", says(10.0, now_s=float(n)))
    assert len(found._votes) == VOTERS_MAX
    assert f"s{2 * VOTERS_MAX - 1}" in found._votes


def test_who_is_far_off_for_long_is_told_apart_from_who_has_news():
    found = agreed(0.0, "a", "b", "c", "lie")
    for second in range(0, int(ASIDE_MIN_S) + 2, 2):
        for parent in "abc":
            found.hear(parent, says(10.0, now_s=float(second)))
        found.hear("lie", says(70.0, now_s=float(second)))
        counted(found, float(second))
        assert set(found.aside) == {"lie"}
        is_long = second >= ASIDE_MIN_S
        assert (set(found.long_aside(now_s=float(second))) == {"lie"}) == is_long


def test_who_was_far_off_and_came_back_begins_anew():
    found = agreed(0.0, "a", "b", "c", "lie")
    for second, offset_s in ((0.0, 70.0), (2.0, 10.0), (ASIDE_MIN_S, 70.0)):
        for parent in "abc":
            found.hear(parent, says(10.0, now_s=second))
        found.hear("lie", says(offset_s, now_s=second))
        counted(found, second)
    assert set(found.aside) == {"lie"}
    assert not found.long_aside(now_s=ASIDE_MIN_S)


# What the root has signed


def proof(low_s: float, high_s: float, *, now_s: float = 0.0) -> ClockBounds:
    return ClockBounds((1, 1), low_s, now_s, high_s, now_s)


def test_a_vote_that_the_roots_signature_contradicts_does_not_count():
    found = votes("a")
    found.prove(proof(9.0, 11.0))
    found.hear("a", says(10.0 + DAY_S))
    found.hear("b", says(10.1))
    assert counted(found).offset_s == 10.1
    assert set(found.aside) == {"a"}


def test_even_three_who_agree_do_not_count_against_it():
    found = agreed()
    assert counted(found).offset_s == 10.0
    found.prove(proof(9.0, 11.0))
    for parent in PARENTS:
        found.hear(parent, says(10.0 + DAY_S, now_s=2.0, age_s=0.0))
    assert counted(found, 2.0).offset_s == 10.0


def test_a_clock_that_can_not_be_true_any_more_is_given_up_at_once():
    """The root has begun another life, a day earlier, and nobody near has heard of it but by its
    acknowledgement."""
    found = agreed()
    assert counted(found).is_confirmed
    found.prove(proof(10.0 - DAY_S, 12.0 - DAY_S, now_s=1.0))
    clock = counted(found, 0.5)
    assert clock.offset_s == pytest.approx(12.0 - DAY_S, abs=0.01)
    assert not clock.is_confirmed
    found.hear("b", says(11.0 - DAY_S, now_s=2.0, age_s=0.0))
    assert counted(found, 2.0).offset_s == 11.0 - DAY_S
