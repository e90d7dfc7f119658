"""Three sites over real cubes and a root that merges with Arrow: what is called exact is what all
of them have together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from edge_site import EdgeSite
from pane_kit import RootDesk, make_roster
from store_kit import MERGER, SOURCE, CubeUser

from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Largest, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.summary import Summary
from headwater.edge.report import BatchReport
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.store.cube.retention import RetentionConfig

SITES, COUNT, PANE = 3, 5, 133
PLAN = Degradation((Operator(OperatorKind.TOP, (float(COUNT),), "hits", text="top(5, hits)"),))
COLUMN = ToleratedColumn("hits", "n", ErrorForm.TOTAL, 1.0)
KEEPS = Tolerance((COLUMN,), Finally.BOUNDED, largest=Largest("hits", COUNT))


def pages_of(site: int, seed: int) -> dict[str, int]:
    """Each site has favourites of its own; what is popular over all is at the top of none."""
    chance = np.random.default_rng([site, seed])
    own = {f"/own{site}/{n}": int(count) for n, count in enumerate(chance.integers(1, 60, 40))}
    common = {f"/page{n}": int(count) for n, count in enumerate(chance.integers(20, 55, 30))}
    return own | common


@pytest.fixture
def sites(open_cube: Callable[..., CubeUser]) -> list[EdgeSite]:
    found: list[EdgeSite] = []
    for ordinal in range(SITES):
        user = open_cube(
            name=f"cube{ordinal}",
            retention=RetentionConfig(retention_s=1e9),
            allowance_of=lambda query, pane: Allowance(KEEPS, 1, keys=("page",)),
        )
        site = EdgeSite(user)
        site.query = msgspec.structs.replace(
            site.query, window=WindowSpec(10_000_000, 10_000_000), tolerance=KEEPS, degradation=PLAN
        )
        user.install()
        site.ordinal = ordinal
        site.start(now_s=990.0)
        site.tick(now_s=990.0)
        site.close(100)
        site.rate = 10.0
        found.append(site)
    return found


def carry(sites: list[EdgeSite], root: RootDesk, *, now_s: float) -> None:
    """All that sites have said, to the root, and its newest word to them."""
    for site in sites:
        query = str(site.query.id)
        for one in [one for one in site.sends if one.pane == PANE]:
            rows = site.user.cube.rows(query, one.pane, one.updates) if one.updates else None
            root.receive(Summary(query, one.pane, one.coverage, rows, one.lane), now_s=now_s)
        root.hear(*site.states[-1:], now_s=now_s)
        site.sends.clear()
    root.work(now_s=now_s)
    for site in sites:
        site.edge.receive_ack(root.acks[-1], now_s=now_s)
        site.tick(now_s=now_s + 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_the_first_rows_over_all_sites_are_exact(
    sites: list[EdgeSite], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("pane_kit.NumbersMerger", lambda: MERGER)
    root = RootDesk(sites[0].query, make_roster(SITES), now_s=1_300.0)
    truth: Counter[str] = Counter()
    for pane in range(131, PANE + 1):
        for number, site in enumerate(sites):
            pages = pages_of(number, seed)
            truth.update(pages if pane == PANE else {})
            rows = ((pane, page, n) for page, n in pages.items())
            site.edge.batch_committed(site.user.commit(*rows), now_s=pane * 10.0 + 5.0)
            now_s = (pane + 1) * 10.0 + 2.5
            site.edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
            site.tick(now_s=now_s)
            site.tick(now_s=now_s + 0.1)
    for turn in range(20):
        carry(sites, root, now_s=1_345.0 + 3.0 * turn)
    assert any(ack.largest for ack in root.acks), "it was asked for more"
    newest = root.newest(PANE)
    first = newest.envelope.withheld.first
    assert first is not None
    assert first.exact == COUNT
    shown: Counter[str] = Counter()
    for page, n in zip(
        *(newest.rows.column(name).to_pylist() for name in ("page", "n")), strict=True
    ):
        shown[page] += n
    assert shown.most_common(COUNT) == truth.most_common(COUNT)
    assert len(shown) < len(truth), "the others stay where they are"
    stated = newest.envelope.withheld.columns[0]
    assert max((truth - shown).values()) <= stated.largest
    assert sum((truth - shown).values()) == stated.total
