"""A root that is late itself: its acknowledgements ask for less, and say how late it was."""

from __future__ import annotations

import pytest
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.root.config import RootConfig

QUERY = make_query(deadline_s=1e6)
ROSTER = make_roster(2)
PANES = 40
CONFIG = RootConfig(panes_per_ack_max=16)


def lacking(config: RootConfig = CONFIG) -> RootDesk:
    """A root that has every pane of one site and none of the other's."""
    desk = RootDesk(QUERY, ROSTER, config=config)
    desk.hear(*(state(QUERY, ordinal, of=100) for ordinal in (0, 1)), now_s=499.0)
    for pane in range(PANES):
        desk.receive(whole(QUERY, pane, 0, [pane], of=100), now_s=500.0)
    return desk


def cut(
    desk: RootDesk, *, now_s: float, late_s: float = 0.0, share: float = 1.0
) -> Acknowledgement:
    desk.acks.clear()
    desk.root.tick(now_s=now_s, late_s=late_s, awake_share=share)
    desk._execute(now_s=now_s)
    (ack,) = desk.acks
    return ack


@pytest.mark.parametrize(("share", "count"), [(1.0, 16), (0.5, 8), (0.1, 1), (0.01, 1)])
def test_a_busy_root_spells_out_fewer_panes(share: float, count: int) -> None:
    assert len(cut(lacking(), now_s=501.0, share=share).panes) == count


def test_what_a_busy_root_does_not_spell_out_is_not_asked_for() -> None:
    """A site repairs only what is listed; the panes that have no turn are not."""
    ack = cut(lacking(), now_s=501.0, share=0.25)
    spelled = {held.pane for held in ack.panes}
    asked = {pane for a, b in ack.listed for pane in range(max(a, 0), min(b + 1, PANES))}
    assert len(spelled) == 4
    assert asked == spelled


def test_a_busy_root_asks_for_every_pane_in_turn() -> None:
    desk = lacking()
    spelled: set[int] = set()
    for turn in range(PANES):
        ack = cut(desk, now_s=501.0 + 2.0 * turn, share=0.1)
        spelled.update(held.pane for held in ack.panes)
    assert spelled == set(range(PANES))


def test_an_acknowledgement_says_how_late_its_root_was() -> None:
    desk = lacking()
    assert cut(desk, now_s=501.0, late_s=7.5).late_s == 7.5
    assert cut(desk, now_s=504.0).late_s == 0.0
