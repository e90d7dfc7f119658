"""What a root has signed bounds its clock, however few or false the neighbours are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.words.acknowledgement import (
    LIFE_BITS,
    Acknowledgement,
    Greeting,
    with_leaves,
)
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.clocks.clock_proof import (
    ACK_LATE_MAX_S,
    STATES_MAX,
    ClockBounds,
    ClockProofs,
)

ORDINAL, QUERY, LIFE = 3, "q@s#1", 7


def state(number: int, *, ordinal: int = ORDINAL, incarnation: int = LIFE) -> SiteState:
    return SiteState(
        query=QUERY, ordinal=ordinal, incarnation=incarnation, number=number, first_pane=0
    )


def ack(
    clock_s: float | None,
    *,
    number: int = 1,
    greets: int | None = None,
    start: int = 1,
    incarnation: int = LIFE,
    root_incarnation: int = 5,
) -> Acknowledgement:
    greetings = (
        ()
        if greets is None
        else (Greeting(ordinal=ORDINAL, incarnation=incarnation, number=greets),)
    )
    number += start << LIFE_BITS
    head = Acknowledgement(
        query=QUERY,
        root_incarnation=root_incarnation,
        number=number,
        done_through=0,
        clock_s=clock_s,
    )
    return with_leaves(head, greetings=greetings)


def proven(proofs: ClockProofs, word: Acknowledgement, now_s: float) -> ClockBounds:
    bounds = proofs.heard(word, root="root", now_s=now_s)
    assert bounds is not None
    return bounds


def test_the_root_is_ahead_by_what_it_signed_less_when_it_came_at_least():
    bounds = proven(ClockProofs(ORDINAL), ack(1_000.0), 10.0)
    assert bounds.low_s == 990.0
    assert bounds.contradicts(980.0, within_s=0.25, now_s=10.0)
    assert not bounds.contradicts(1e9, within_s=0.25, now_s=10.0)


def test_and_by_what_it_signed_less_when_the_state_was_sent_that_it_greets_at_most():
    proofs = ClockProofs(ORDINAL)
    proofs.sent(state(4), now_s=8.0)
    proofs.sent(state(4), now_s=9.0)
    bounds = proven(proofs, ack(1_000.0, greets=4), 10.0)
    assert (bounds.low_s, bounds.high_s) == (990.0, 992.0)
    assert bounds.contradicts(993.0, within_s=0.25, now_s=10.0)


def test_a_greeting_of_another_or_of_a_former_life_proves_nothing_of_when():
    proofs = ClockProofs(ORDINAL)
    proofs.sent(state(4), now_s=8.0)
    proofs.sent(state(3, ordinal=ORDINAL + 1), now_s=8.0)
    assert proven(proofs, ack(1_000.0, greets=4, incarnation=LIFE - 1), 10.0).high_s == float("inf")
    assert proven(proofs, ack(1_000.0, greets=3), 10.0).high_s == float("inf")


def test_a_greeting_of_a_later_number_stands_for_the_earlier_ones():
    proofs = ClockProofs(ORDINAL)
    proofs.sent(state(4), now_s=8.0)
    proofs.sent(state(5), now_s=9.0)
    assert proven(proofs, ack(1_000.0, greets=5), 10.0).high_s == 991.0


def test_a_later_life_of_the_root_ends_what_was_proven_and_a_former_one_says_nothing():
    proofs = ClockProofs(ORDINAL)
    proven(proofs, ack(1_000.0), 10.0)
    assert proven(proofs, ack(50.0, start=2), 11.0).low_s == 39.0
    assert proven(proofs, ack(9_999.0), 12.0).low_s == 39.0


def test_an_acknowledgement_of_nobody_knows_what_time_proves_nothing():
    assert ClockProofs(ORDINAL).heard(ack(None), root="root", now_s=1.0) is None


def test_what_a_root_proved_is_forgotten_with_its_last_query():
    proofs = ClockProofs(ORDINAL)
    proven(proofs, ack(1_000.0), 10.0)
    proofs.keep_roots({"root"})
    assert proofs.of("root") is not None
    proofs.keep_roots(set())
    assert proofs.of("root") is None


def test_a_clock_that_stood_still_is_followed():
    """The machine of the root was suspended for an hour, then ours."""
    proofs = ClockProofs(ORDINAL)
    proven(proofs, ack(1_000.0), 10.0)
    assert proven(proofs, ack(1_060.0, number=2), 3_670.0).low_s == 1_060.0 - 3_670.0
    proofs.sent(state(1), now_s=3_680.0)
    proven(proofs, ack(1_071.0, number=3, greets=1), 3_681.0)
    assert proven(proofs, ack(4_680.0, number=4), 3_690.0).low_s == 990.0


def test_a_clock_that_stood_still_for_less_than_acknowledgements_are_late_is_followed():
    """The root's machine was suspended for forty seconds: both bounds can't be true."""
    proofs = ClockProofs(ORDINAL)
    proven(proofs, ack(1_000.0), 10.0)
    proofs.sent(state(1), now_s=50.0)
    bounds = proven(proofs, ack(1_000.0, number=2, greets=1), 60.0)
    assert (bounds.low_s, bounds.high_s) == (940.0, 950.0)


def test_what_was_proven_gets_weaker_by_what_clocks_may_drift():
    bounds = ClockBounds((5, 1), 990.0, 10.0, 992.0, 10.0)
    for offset_s in (989.0, 993.0):
        assert bounds.contradicts(offset_s, within_s=0.0, now_s=10.0)
        assert not bounds.contradicts(offset_s, within_s=0.0, now_s=10_010.0)


def test_states_are_remembered_within_a_limit():
    proofs = ClockProofs(ORDINAL)
    for number in range(3 * STATES_MAX):
        proofs.sent(state(number), now_s=float(number))
    assert len(proofs._sent_s[QUERY]) == STATES_MAX
    bounds = proven(proofs, ack(1_000.0, greets=3 * STATES_MAX), 500.0)
    assert bounds.high_s == 1_000.0 - (3 * STATES_MAX - 1)
    proofs.discard_query(QUERY)
    assert QUERY not in proofs._sent_s


@given(
    offset_s=st.floats(-1e6, 1e6),
    rounds=st.lists(
        st.tuples(st.floats(0.0, 20.0), st.floats(0.0, ACK_LATE_MAX_S / 2), st.booleans()),
        min_size=1,
        max_size=20,
    ),
)
def test_whatever_is_delayed_the_truth_is_never_contradicted(offset_s, rounds):
    """(way up, way down, whether it greets) of states and acknowledgements, one after another."""
    proofs, now_s = ClockProofs(ORDINAL), 100.0
    for number, (up_s, down_s, greets) in enumerate(rounds, start=1):
        proofs.sent(state(number), now_s=now_s)
        cut_s = now_s + up_s
        now_s = cut_s + down_s
        word = ack(cut_s + offset_s, number=number, greets=number if greets else None)
        bounds = proven(proofs, word, now_s)
        assert not bounds.contradicts(offset_s, within_s=1e-6, now_s=now_s)
        assert bounds.clamped(offset_s + 1e9, now_s=now_s) >= offset_s - 1e-6
        if greets:
            low_s, high_s = (bounds.clamped(far_s, now_s=now_s) for far_s in (-1e9, 1e9))
            assert high_s - low_s < up_s + down_s + 0.1
