"""A root whose windows are first answered at their deadline, and not before."""

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, state, whole

LIFE = 1


@pytest.mark.parametrize("waits", [True, False])
def test_a_complete_window_waits_for_its_deadline_if_asked(waits: bool) -> None:
    query = msgspec.structs.replace(make_query(), waits=waits or msgspec.UNSET)
    end_s = query.window.window_end_us(0) / 1e6
    due_s = end_s + query.timing.deadline_s
    root = RootDesk(query, make_roster(2), now_s=0.0)
    root.hear(*(state(query, ordinal, of=LIFE) for ordinal in (0, 1)), now_s=0.0)
    root.work(now_s=end_s)
    for ordinal in (0, 1):
        root.receive(whole(query, 0, ordinal, [ordinal], of=LIFE), now_s=end_s + 1.0)
    root.work(now_s=due_s - 0.5)
    assert bool(root.published.get(0)) is not waits
    root.work(now_s=due_s + 0.5)
    assert root.newest(0).envelope.covered == 2
    assert root.newest(0).envelope.revision == 1
    assert root.newest(0).envelope.exact
