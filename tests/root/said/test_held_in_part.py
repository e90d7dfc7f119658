"""What is said of a pane beyond a bit for each site, and when nothing more is to be said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coverage import OPEN, GroupKey
from headwater.algebra.sets import bitset
from headwater.root.pane_board import Holding, PaneBoard
from headwater.root.said.held_in_part import HeldUpdates, held_in_part

LIFE = 9


class Table:
    """All sites live their life 9."""

    def __init__(self, readers: int = 0b1111) -> None:
        self.readers = readers

    def present(self, ordinal: int) -> int:
        return LIFE


def told(board: PaneBoard, readers: int = 0b1111) -> HeldUpdates:
    return held_in_part(board, Table(readers))  # type: ignore[arg-type]


def test_closes_of_which_all_is_in_take_a_bit_however_many_updates_they_have() -> None:
    board = PaneBoard(7)
    board.add((((1, 4),), 4), 0b0011)
    board.add((((1, 1),), 1), 0b0100)
    assert board.first_held() == 0b0111
    assert told(board) == HeldUpdates(is_of_several=True)


def test_of_a_close_that_lacks_some_the_others_are_told_by_bitmaps() -> None:
    board = PaneBoard(7)
    board.add((((1, 1), (3, 4)), 4), 0b0011)
    board.add((((1, 1),), 4), 0b0100)
    assert board.first_held() == 0
    rounds = [(one.first, one.last, one.sites) for one in told(board).rounds]
    assert rounds == [(1, 1, 0b0111), (3, 4, 0b0011)]


def test_of_an_open_pane_the_rounds_are_told() -> None:
    board = PaneBoard(7)
    board.add((((1, 2),), OPEN), 0b0011)
    board.add((((1, 1), (3, 3)), OPEN), 0b0100)
    assert board.first_held() == 0
    found = told(board)
    assert [(one.first, one.last, one.sites) for one in found.rounds] == [
        (1, 1, 0b0111),
        (2, 2, 0b0011),
        (3, 3, 0b0100),
    ]
    assert not found.is_of_several


def test_a_late_close_that_a_state_tells_takes_the_bit_until_its_update_is_in() -> None:
    board = PaneBoard(7)
    board.add((((1, 1),), 1), 0b1)
    board.add_part(0, Holding(LIFE, (), 2), LIFE)
    assert board.first_held() == 0
    assert [(one.first, one.last) for one in told(board).rounds] == [(1, 1)]
    board.add((((2, 2),), 2), 0b1)
    assert board.first_held() == 0b1


def test_who_declines_the_rest_is_held_only_with_what_it_had_closed() -> None:
    board = PaneBoard(7)
    board.add((((1, 1),), 2), 0b1)
    board.add((((1, 1),), OPEN), 0b10)
    for ordinal in (0, 1, 2):
        board.decline(ordinal, LIFE)
    assert board.first_held() == 0b100, "of the others something may be under way"
    board.add((((2, 2),), 2), 0b1)
    assert board.first_held() == 0b101


def test_to_an_agent_of_before_it_is_spelled_out() -> None:
    """It believes a bit of its first update alone."""
    board = PaneBoard(7)
    board.add((((1, 2),), 2), 0b0011)
    board.add((((1, 1),), 1), 0b0100)
    found = told(board, readers=0b0001)
    assert [(one.ordinal, one.incarnation, one.updates) for one in found.extras] == [
        (1, LIFE, ((1, 2),))
    ]


def test_a_life_that_was_not_heard_of_is_spelled_out_and_one_that_is_over_is_not() -> None:
    board = PaneBoard(7)
    board.add_part(0, Holding(5, ((1, 2),), 3), None)
    board.add((((1, 2),), 3), 0b10)
    board.retire(1, LIFE, is_sealed=True)
    assert [one.ordinal for one in told(board).extras] == [0]
    assert board.first_held() == 0b10, "nothing more is awaited of it"


KEYS = st.builds(
    lambda updates, closed_at: (
        tuple((n, n) for n in sorted(updates)),
        OPEN if closed_at is None else max([closed_at, *updates]),
    ),
    st.sampled_from([(), (1,), (2,), (3,), (1, 3)]),
    st.none() | st.integers(0, 4),
)


@given(st.lists(st.tuples(KEYS, st.integers(1, 15)), max_size=12))
def test_what_sites_are_told_together_is_what_each_would_be_told_alone(
    steps: list[tuple[GroupKey, int]],
) -> None:
    """Bitmaps against one holding after the other."""
    together, alone = PaneBoard(7), PaneBoard(7)
    for (updates, closed_at), sites in steps:
        together.add((updates, closed_at), sites)
        for ordinal in bitset.members(sites):
            part = Holding(LIFE, updates, None if closed_at == OPEN else closed_at)
            alone.add_part(ordinal, part, LIFE)
    assert together.snapshot() == alone.snapshot()
    found = told(together)
    for ordinal in range(4):
        holding = together.holding_of(ordinal, LIFE)
        is_in = together.first_held() >> ordinal & 1
        updates_told = {
            update
            for one in found.rounds
            if one.sites >> ordinal & 1
            for update in range(one.first, one.last + 1)
        }
        held = {n for a, b in (holding.updates if holding else ()) for n in range(a, b + 1)}
        assert updates_told == held or (is_in and not updates_told)
        assert not is_in or (holding is not None and holding.closed_at is not None)
