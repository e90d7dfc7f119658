"""What fails is tried again: ever more seldom, within bounds, and at once when it has worked."""

from headwater.agent.patience import PAUSE_S_MAX, PAUSE_S_MIN, Patience


def test_pauses_double_up_to_a_bound_and_are_over_when_it_works() -> None:
    patience = Patience()
    pauses = [patience.failed("no room", now_s=0.0) for _ in range(10)]
    assert pauses[:2] == [PAUSE_S_MIN, 2 * PAUSE_S_MIN]
    assert pauses[-1] == PAUSE_S_MAX
    assert not patience.is_due(now_s=1.0)
    patience.worked()
    assert patience.is_due(now_s=1.0)
    assert patience.trouble == ""
