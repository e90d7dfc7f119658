"""A random demand at the root: who was not drawn is not missed, and what is said of that."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.demand import Chance, Demand
from headwater.algebra.words.site_state import FOREVER
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, FinalBy, Trigger
from headwater.root.said.view import explain
from headwater.root.scoreboard import Verdict

LIFE = 77
SITES = 4
PANES = 4
HALF = Demand(area=50_000, chance=Chance.ALIKE, scaled=("n",))


def query_of(demand: Demand) -> Query:
    return msgspec.structs.replace(make_query(panes=PANES, slide=1), demand=demand)


def desk(demand: Demand = HALF) -> RootDesk:
    query = query_of(demand)
    root = RootDesk(query, make_roster(SITES), now_s=0.0)
    root.hear(*(state(query, n, of=LIFE) for n in range(SITES)), now_s=0.0)
    return root


def drawn(query: Query, site: int, panes: range = range(PANES)) -> list[int]:
    assert query.draw is not None
    return [pane for pane in panes if query.draw.has(pane, site)]


def bring(root: RootDesk, site: int, panes: list[int], *, now_s: float) -> None:
    for pane in panes:
        root.receive(whole(root.query, pane, site, [100 * pane + site], of=LIFE), now_s=now_s)
    root.work(now_s=now_s)


def seal(root: RootDesk, *, now_s: float) -> None:
    """Nothing more comes, and each site has signed what it has closed."""
    told = [
        state(root.query, n, of=LIFE, number=2, sealed_through=FOREVER, empty=((PANES, FOREVER),))
        for n in range(SITES)
    ]
    root.hear(*told, now_s=now_s)
    root.work(now_s=now_s)


def envelope(root: RootDesk, window: int = 0) -> Envelope:
    return root.newest(window).envelope


@pytest.mark.parametrize("chance", list(Chance))
def test_all_that_was_drawn_is_enough(chance: Chance) -> None:
    root = desk(msgspec.structs.replace(HALF, chance=chance))
    for site in range(SITES - 1):
        bring(root, site, drawn(root.query, site), now_s=42.0)
    assert not root.published[0]
    bring(root, SITES - 1, drawn(root.query, SITES - 1), now_s=43.0)
    found = envelope(root)
    assert found.trigger is Trigger.ENOUGH
    assert (found.covered, found.expected, found.missing) == (SITES, SITES, ())
    reached = found.fidelity
    assert (reached.area, reached.area_drawn, reached.undrawn) == (0.5, 1.0, SITES * PANES // 2)
    assert (reached.scale, reached.scaled) == (2.0, ("n",))
    assert reached.is_met
    assert not found.exact
    records = {100 * pane + n for n in range(SITES) for pane in drawn(root.query, n)}
    assert set(root.newest(0).rows) == records


def test_apart_another_set_is_drawn_of_each_site() -> None:
    root = desk(msgspec.structs.replace(HALF, chance=Chance.APART))
    wide = range(40)
    assert len({tuple(drawn(root.query, site, wide)) for site in range(SITES)}) == SITES


def test_a_site_that_was_drawn_and_is_silent_is_missed() -> None:
    root = desk()
    for site in range(SITES - 1):
        bring(root, site, drawn(root.query, site), now_s=42.0)
    root.work(now_s=60.0)
    found = envelope(root)
    assert (found.trigger, found.fidelity.is_met, found.covered) == (Trigger.DEADLINE, False, 3)
    (missing,) = found.missing
    panes = [pane for a, b in missing.panes for pane in range(a, b + 1)]
    assert (missing.site, panes) == ("s3", drawn(root.query, 3))
    assert found.fidelity.area_drawn == 0.75
    assert found.fidelity.scale == pytest.approx(16 / 6)


def test_when_every_site_has_sealed_it_is_final_and_never_exact() -> None:
    root = desk()
    for site in range(SITES):
        bring(root, site, drawn(root.query, site), now_s=42.0)
    seal(root, now_s=50.0)
    found = envelope(root)
    assert (found.final, found.final_by, found.exact) == (True, FinalBy.DRAWN, False)


def test_enough_is_final_at_once() -> None:
    root = desk(msgspec.structs.replace(HALF, is_final=True))
    for site in range(SITES):
        bring(root, site, drawn(root.query, site), now_s=42.0)
    assert envelope(root).final_by is FinalBy.ENOUGH


def test_what_was_not_drawn_is_refused_and_told() -> None:
    root = desk()
    other = next(pane for pane in range(PANES) if pane not in drawn(root.query, 0))
    bring(root, 0, [other], now_s=20.0)
    assert root.root.counters[Verdict.NOT_DRAWN] == 1
    assert any(f"pane {other}" in str(notice) for notice in root.notices)
    for site in range(SITES):
        bring(root, site, drawn(root.query, site), now_s=42.0)
    assert 100 * other not in root.newest(0).rows


def test_a_window_over_two_blocks_says_how_many_of_it_were_drawn() -> None:
    root = desk()
    for start in range(1, PANES):
        panes = range(start, start + PANES)
        expected = sum(root.query.draw.has(pane, 0) for pane in panes)  # type: ignore[union-attr]
        for site in range(SITES):
            bring(root, site, drawn(root.query, site, panes), now_s=90.0)
        found = envelope(root, start).fidelity
        assert found.undrawn == SITES * (PANES - expected)
        assert (found.is_met, found.area_drawn) == (True, 1.0)


def test_why_says_what_was_drawn_and_by_what_to_multiply() -> None:
    root = desk()
    for site in range(SITES):
        bring(root, site, drawn(root.query, site), now_s=42.0)
    text = explain(root.root, 0).text()
    assert "8 of 16 (site, pane) were drawn by chance: 100 % of them is in" in text
    assert "times 2 n estimates that of all records" in text
    assert "demanded is area 50 %, random: it is reached" in text


def test_after_a_restart_the_same_is_awaited() -> None:
    root = desk()
    for site in range(SITES - 1):
        bring(root, site, drawn(root.query, site), now_s=30.0)
    root.start(now_s=35.0)
    root.hear(*(state(root.query, n, of=LIFE) for n in range(SITES)), now_s=36.0)
    bring(root, SITES - 1, drawn(root.query, SITES - 1), now_s=43.0)
    found = envelope(root)
    assert (found.trigger, found.fidelity.area_drawn) == (Trigger.ENOUGH, 1.0)
