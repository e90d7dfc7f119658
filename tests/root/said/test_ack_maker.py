"""Which panes an acknowledgement spells out: nothing is forgotten, everything has its turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.root.config import RootConfig
from headwater.root.pane_board import Holding, PaneBoard
from headwater.root.said.ack_maker import AckMaker, SpellingList
from headwater.root.said.held_in_part import HeldUpdates, held_in_part

PANES = st.integers(-20, 20)
STEPS = st.one_of(
    st.tuples(st.just("put"), PANES),
    st.tuples(st.just("drop"), PANES),
    st.tuples(st.just("drop_below"), PANES),
    st.tuples(st.just("choose"), st.integers(1, 8)),
)


def do(spelling: SpellingList, verb: str, number: int) -> None:
    if verb != "choose":
        getattr(spelling, verb)(number)
        return
    chosen = spelling.choose(number, turn=number)
    assert len(chosen) == len(set(chosen)) <= number
    spelling.spelled(chosen)


class Boards:
    """As much of a scoreboard, and of its table, as a maker asks for. All sites live their life 9,
    and none has sent a group."""

    readers = 0
    expected = 0b11111111

    def __init__(self) -> None:
        self.boards: dict[int, PaneBoard] = {}

    def present(self, ordinal: int) -> int:
        return 9

    def held_in_part(self, board: PaneBoard) -> HeldUpdates:
        return held_in_part(board, self)  # type: ignore[arg-type]

    def take_greetings(self, count: int, *, now_s: float) -> tuple[()]:
        return ()

    def put(self, pane: int, *, sites: int, first_site: int = 0) -> PaneBoard:
        """A board with two updates each of so many sites."""
        board = self.boards.setdefault(pane, PaneBoard(pane))
        for ordinal in range(first_site, first_site + sites):
            board.add_part(ordinal, Holding(9, ((1, 2),), 2), 9)
        return board


@given(st.lists(STEPS, max_size=60))
def test_what_is_apart_waits_for_its_turn_whatever_happens(steps: list[tuple[str, int]]) -> None:
    spelling = SpellingList()
    expected: set[int] = set()
    for verb, number in steps:
        do(spelling, verb, number)
        if verb == "put":
            expected.add(number)
        elif verb == "drop":
            expected.discard(number)
        elif verb == "drop_below":
            expected = {pane for pane in expected if pane >= number}
        spelling.check()
        assert {p for a, b in spelling.apart.ranges() for p in range(a, b + 1)} == expected


@given(st.lists(STEPS, max_size=40), st.integers(1, 6))
def test_every_pane_that_waits_is_chosen_in_the_end_also_while_there_is_news(
    steps: list[tuple[str, int]], count: int
) -> None:
    """There is room for one of those that are chosen."""
    spelling = SpellingList()
    for verb, number in steps:
        do(spelling, verb, number)
    waiting = {p for a, b in spelling.apart.ranges() for p in range(a, b + 1)}
    seen: set[int] = set()
    for turn in range(3 * (len(waiting) + count)):
        for pane in range(100, 100 + count):
            spelling.put(pane)
        chosen = spelling.choose(count, turn=turn)[:1]
        spelling.spelled(chosen)
        seen.update(chosen)
    assert waiting <= seen


def test_an_old_pane_is_spelled_out_while_newer_ones_take_all_the_room():
    """Each pane has two updates of each site, and one acknowledgement has room for those of one."""
    scoreboard = Boards()
    maker = AckMaker("q", 1, RootConfig(panes_per_ack_max=6, extras_per_ack_max=2))
    spelled: list[list[int]] = []
    for number in range(40):
        board = scoreboard.put(number, sites=2 if number < 3 else 3)
        assert scoreboard.held_in_part(board).extras
        maker.note(board, scoreboard.held_in_part(board), expected=0b111)
        ack = maker.make(scoreboard, done_through=0, now_s=float(number))  # type: ignore[arg-type]
        spelled.append([held.pane for held in ack.panes])
    told = [pane for panes in spelled for pane in panes]
    assert sum(number in panes for number, panes in enumerate(spelled)) >= 40 // 3, "the newest"
    assert all(told.count(pane) > 1 for pane in (0, 1)), "and who waits longest"


def test_news_of_an_older_pane_is_not_passed_over_for_that_of_newer_ones():
    """A third site comes to a pane when the next one is there already. One acknowledgement has room
    for one pane, and there are four for each."""
    scoreboard = Boards()
    maker = AckMaker("q", 1, RootConfig(panes_per_ack_max=64, extras_per_ack_max=1))
    wholly: set[int] = set()
    for number in range(160):
        newest, step = divmod(number, 4)
        news = [scoreboard.put(newest, sites=1 + step % 2)]
        if step == 3 and newest:
            news.append(scoreboard.put(newest - 1, sites=3))
        for board in news:
            maker.note(board, scoreboard.held_in_part(board), expected=0b1111)
        ack = maker.make(scoreboard, done_through=0, now_s=float(number))  # type: ignore[arg-type]
        panes = [extra.pane for extra in ack.extra]
        wholly.update(pane for pane in panes if panes.count(pane) == 3)
    assert set(range(30)) <= wholly


def test_an_acknowledgement_has_room_for_one_pane_more_than_its_limit_and_for_all_small_ones():
    scoreboard = Boards()
    maker = AckMaker("q", 1, RootConfig(panes_per_ack_max=64, extras_per_ack_max=8))
    for pane in range(10):
        board = scoreboard.put(pane, sites=6)
        maker.note(board, scoreboard.held_in_part(board), expected=0b1111111)
    for pane in range(10, 20):
        board = scoreboard.boards[pane] = PaneBoard(pane)
        board.add_part(0, Holding(9, ((1, 1),), 1), 9)
        maker.note(board, scoreboard.held_in_part(board), expected=0b1111111)
    ack = maker.make(scoreboard, done_through=0, now_s=0.0)  # type: ignore[arg-type]
    assert len(ack.extra) == 12, "two panes: five of the second are beyond the limit"
    assert set(range(10, 20)) <= {held.pane for held in ack.panes}


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("board"), st.integers(0, 12), st.integers(0, 7)),
            st.tuples(st.just("cut"), st.integers(0, 12), st.just(0)),
        ),
        max_size=50,
    )
)
def test_a_cutter_that_is_driven_at_random_spells_out_what_is_lacking(
    steps: list[tuple[str, int, int]],
) -> None:
    """Boards of three sites gain sites; panes go from below. Nothing falls through."""
    scoreboard = Boards()
    boards = scoreboard.boards
    maker = AckMaker("q", 1, RootConfig(panes_per_ack_max=3))
    done, now_s = 0, 0.0
    for verb, number, sites in steps:
        if verb == "board" and number >= done:
            board = boards.setdefault(number, PaneBoard(number))
            for ordinal in range(3):
                if sites >> ordinal & 1:
                    board.add_part(ordinal, Holding(9, ((1, 1),), 1), 9)
            maker.note(board, scoreboard.held_in_part(board), expected=0b111)
        elif verb == "cut":
            done = max(done, min(number, done + 2))
            maker.drop_below(done)
            for pane in [pane for pane in boards if pane < done]:
                del boards[pane]
            now_s += 1.0
            maker.make(scoreboard, done_through=done, now_s=now_s)  # type: ignore[arg-type]
        maker._spelling.check()
    spelled: set[int] = set()
    for _ in range(2 * len(boards) + 2):
        now_s += 1.0
        ack = maker.make(scoreboard, done_through=done, now_s=now_s)  # type: ignore[arg-type]
        spelled.update(held.pane for held in ack.panes)
    lacking = {pane for pane, board in boards.items() if board.known and board.whole != 0b111}
    assert lacking <= spelled


def test_what_was_spelled_out_is_held_when_its_sites_have_sent_groups():
    scoreboard = Boards()
    maker = AckMaker("q", 1, RootConfig())
    board = scoreboard.put(5, sites=8)
    maker.note(board, scoreboard.held_in_part(board), expected=scoreboard.expected)
    first = maker.make(scoreboard, done_through=0, now_s=0.0)  # type: ignore[arg-type]
    assert (len(first.extra), first.held) == (8, ())
    scoreboard.readers = 0b11111111
    later = maker.make(scoreboard, done_through=0, now_s=2.0)  # type: ignore[arg-type]
    assert (later.panes, later.extra, later.held) == ((), (), ((5, 5),))
    assert later.tells_several


def test_bits_speak_of_several_updates_as_long_as_a_pane_has_several() -> None:
    scoreboard = Boards()
    maker = AckMaker("q", 1, RootConfig())
    board = scoreboard.put(3, sites=8)
    maker.note(board, scoreboard.held_in_part(board), expected=0xFF)
    assert maker.make(scoreboard, done_through=0, now_s=1.0).tells_several  # type: ignore[arg-type]
    board = scoreboard.boards[3] = PaneBoard(3)
    maker.note(board, scoreboard.held_in_part(board), expected=0xFF)
    assert not maker.make(scoreboard, done_through=0, now_s=2.0).tells_several  # type: ignore[arg-type]


def test_once_there_are_as_many_as_an_acknowledgement_has_room_for_no_pane_is_begun() -> None:
    scoreboard = Boards()
    maker = AckMaker("q", 1, RootConfig(panes_per_ack_max=64, extras_per_ack_max=2))
    for number in range(4):
        board = scoreboard.put(number, sites=2)
        maker.note(board, scoreboard.held_in_part(board), expected=0b111)
    ack = maker.make(scoreboard, done_through=0, now_s=1.0)  # type: ignore[arg-type]
    assert len(ack.extra) == 2
