"""A site that raises its threshold while its way is narrow: an edge over a real cube."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from edge_site import EdgeSite
from store_kit import SOURCE, CubeUser

from headwater.algebra.capacity.way_capacity import BUDGET
from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Threshold, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.words.degraded import Degraded, Why
from headwater.edge.report import BatchReport
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.store.cube.retention import RetentionConfig

LIMIT = 0.05
PAGES = [("/huge", 90_000), *((f"/page{n}", 10 + n) for n in range(500))]
TOLERANCE = Tolerance(
    (ToleratedColumn("hits", "n", ErrorForm.TOTAL, LIMIT),),
    Finally.BOUNDED,
    threshold=Threshold("hits"),
)
PLAN = Degradation((Operator(OperatorKind.THRESHOLD, (1 / 64, 1 / 16, 1 / 4, 1.0), "hits"),))


@pytest.fixture
def site(open_cube: Callable[..., CubeUser]) -> EdgeSite:
    user = open_cube(
        retention=RetentionConfig(retention_s=1e9),
        allowance_of=lambda query, pane: Allowance(TOLERANCE, 1),
    )
    made = EdgeSite(user)
    made.query = msgspec.structs.replace(
        made.query, window=WindowSpec(10_000_000, 10_000_000), tolerance=TOLERANCE, degradation=PLAN
    )
    user.install()
    made.start(now_s=990.0)
    made.tick(now_s=990.0)
    made.close(100)
    return made


def close(site: EdgeSite, pane: int) -> None:
    """As soon as nothing more is due for it."""
    now_s = (pane + 1) * 10.0 + 2.5
    site.edge.batch_committed(BatchReport(SOURCE, read_through_s=now_s), now_s=now_s)
    site.tick(now_s=now_s)
    site.tick(now_s=now_s + 0.1)


def run(site: EdgeSite, panes: range) -> list[int]:
    """How many keys are kept back of each."""
    found = []
    for pane in panes:
        rows = ((pane, page, n) for page, n in PAGES)
        site.edge.batch_committed(site.user.commit(*rows), now_s=pane * 10.0 + 5.0)
        close(site, pane)
        book = next(iter(site.edge._edges.values())).state.book
        _, withheld = book.withheld.get(pane, (0, ()))
        found.append(withheld[0].keys if withheld else 0)
    return found


def test_nothing_is_kept_back_while_the_way_is_wide(site: EdgeSite) -> None:
    site.rate = 1e9
    assert run(site, range(131, 136)) == [0] * 5
    assert site.states[-1].degraded == ()


def test_the_bound_rises_in_steps_while_the_way_is_narrow_and_falls_when_it_is_wide(
    site: EdgeSite,
) -> None:
    site.rate = 100.0
    narrow = run(site, range(131, 137))
    assert narrow[0] == narrow[1] == 0
    assert narrow == sorted(narrow)
    assert narrow[-1] == 500
    site.rate = 1e9
    assert run(site, range(137, 150))[-1] == 0
    said = site.states[-1].degraded
    assert [one.why for one in said].count(Why.RESTORED) >= 1
    assert said[-1].step == 0
    (told,) = (one.degrading for one in site.edge.progress())
    assert told is not None
    assert told.degraded_count >= 1
    assert told.restored_count >= 1


def test_the_state_says_from_which_pane_on_and_a_restart_goes_on_there(site: EdgeSite) -> None:
    site.rate = 100.0
    run(site, range(131, 134))
    said = site.states[-1].degraded
    assert said == (Degraded(133, 1, Why.CAPACITY),)
    site.start(now_s=1_345.0)
    (edge,) = site.edge._edges.values()
    raised = edge.degrading.raised()
    assert raised is not None
    assert (edge.degrading.step, raised.at) == (1, 1)
    assert edge.state.record.degraded == said


@pytest.mark.parametrize(("narrowest", "why"), [(BUDGET, Why.BUDGET), ("fra", Why.CAPACITY)])
def test_a_budget_of_the_site_or_its_link_is_told_as_the_reason(
    site: EdgeSite, narrowest: str, why: Why
) -> None:
    site.rate, site.narrowest = 100.0, narrowest
    run(site, range(131, 134))
    assert site.states[-1].degraded == (Degraded(133, 1, why),)


def test_each_level_is_known_by_the_rows_that_it_would_leave(site: EdgeSite) -> None:
    site.rate = 1e9
    run(site, range(131, 133))
    (edge,) = site.edge._edges.values()
    left = [edge.degrading.savings.left_of_all(PLAN, step) for step in range(1, 5)]
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.05


def test_without_a_degradation_nothing_is_measured(open_cube: Callable[..., CubeUser]) -> None:
    user = open_cube(retention=RetentionConfig(retention_s=1e9))
    site = EdgeSite(user)
    user.install()
    site.rate = 1.0
    site.edge.batch_committed(site.user.commit((101, "/a", 1)), now_s=1_015.0)
    close(site, 101)
    (edge,) = site.edge._edges.values()
    assert (edge.degrading.step, edge.degrading.need) == (0, 0.0)
