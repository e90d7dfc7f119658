"""What ``streams`` says of windows that have less than their stream demands."""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.agent.view.stream_lines import bare_line, with_answers
from headwater.algebra.demand import Demand

LIFE = 77


def coverage_of(window_sites: list[int]) -> str:
    """One window after the other, of two sites of which so many are in."""
    query = msgspec.structs.replace(make_query(), demand=Demand(area=90_000))
    root = RootDesk(query, make_roster(2), now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(2)), now_s=0.0)
    for pane, sites in enumerate(window_sites):
        for site in range(sites):
            root.receive(whole(query, pane, site, [site], of=LIFE), now_s=10.0 * pane + 11.0)
        root.work(now_s=10.0 * pane + 11.0)
    for now_s in range(20, 10 * len(window_sites) + 30):
        root.work(now_s=float(now_s))
    envelopes = [root.newest(window).envelope for window in range(len(window_sites))]
    return with_answers(bare_line(query), envelopes).coverage


def test_windows_that_miss_the_demand_are_counted() -> None:
    assert coverage_of([2, 2]) == "2 of 2"
    assert coverage_of([1, 2]) == "2 of 2, 1 window misses area 90 %"
    assert coverage_of([1, 1]) == "1 of 2, 2 windows miss area 90 %"
