"""How each site does, for whoever watches: its level, limits, what waits, how far behind it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.agent.runtime import SiteRuntime
from headwater.agent.view import watched_lines
from headwater.agent.view.watched_lines import SITES_MAX, joined, of_root, watched_sites
from headwater.agent.view.watched_site import WatchedSite
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.words.degraded import Degraded, Why
from headwater.edge.degrade.degrading import DegradeProgress
from headwater.edge.progress import Backlog, EdgeProgress
from headwater.edge.record import EdgeRecord
from headwater.net.network import BudgetStats, NetworkStats
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.query import Query

LIFE = 77
PLAN = Degradation((Operator(OperatorKind.THRESHOLD, (0.5, 1.0), "n"),))
KEPT = Remainder(largest=2.0, total=5.0, keys=3, of=100.0)


def a_query() -> Query:
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    tolerance = Tolerance((ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.1),), Finally.EXACT)
    return msgspec.structs.replace(query, program=program, tolerance=tolerance, degradation=PLAN)


QUERY = a_query()


def a_root(*, degraded: bool = False, kept: Remainder | None = None) -> RootDesk:
    """Of three sites: the first is in, the second may keep something back, the third is silent."""
    root = RootDesk(QUERY, make_roster(3), now_s=0.0)
    for ordinal in (0, 1, 2):
        said = state(QUERY, ordinal, of=LIFE)
        if degraded and ordinal == 1:
            said = msgspec.structs.replace(said, degraded=(Degraded(0, 1, Why.CAPACITY),))
        root.hear(said, now_s=0.0)
    root.work(now_s=10.0)
    root.receive(whole(QUERY, 0, 0, [0], of=LIFE), now_s=11.0)
    second = whole(QUERY, 0, 1, [1], of=LIFE)
    if kept is not None:
        coverage = msgspec.structs.replace(second.coverage, withheld=(kept,))
        second = msgspec.structs.replace(second, coverage=coverage)
    root.receive(second, now_s=11.0)
    return root


def seen(root: RootDesk, *, now_s: float) -> list[WatchedSite]:
    return list(of_root(root.root, now_s=now_s).values())


def test_a_root_says_who_owes_what_ended_long_ago() -> None:
    root = a_root()
    end_s = root.root.windows.spec.pane_us / 1e6
    soon = seen(root, now_s=root.root.windows.lag_s + end_s + 1.0)
    assert [one.stale_s for one in soon] == [0.0, 0.0, pytest.approx(1.0)]
    assert not any(one.is_behind or one.has_news for one in soon)
    late = seen(root, now_s=root.root.windows.lag_s + 50 * end_s)
    assert [one.is_behind for one in late] == [False, False, True]
    assert [one.has_news for one in late] == [False, False, True]


def test_who_owes_several_panes_is_as_far_behind_as_the_oldest() -> None:
    root = a_root()
    for ordinal in (0, 1):
        root.receive(whole(QUERY, 1, ordinal, [9], of=LIFE), now_s=21.0)
    end_s = root.root.windows.spec.pane_us / 1e6
    late = seen(root, now_s=root.root.windows.lag_s + 50 * end_s)
    assert late[2].stale_s == pytest.approx(49 * end_s)


def test_who_is_behind_by_less_than_a_window_and_its_deadline_is_not_told_of() -> None:
    root = a_root()
    spec = root.root.windows.spec
    span_s = spec.pane_us * spec.panes_per_window / 1e6 + QUERY.timing.deadline_s
    late_from_s = root.root.windows.lag_s + spec.pane_us / 1e6 + span_s
    for now_s, is_behind in ((late_from_s - 0.1, False), (late_from_s + 0.1, True)):
        assert seen(root, now_s=now_s)[2].is_behind is is_behind


def test_of_a_bound_of_each_value_the_share_of_a_group_is_told() -> None:
    kept = msgspec.structs.replace(KEPT, share=0.07)
    assert seen(a_root(kept=kept), now_s=12.0)[1].error.startswith("off by at most 7 %")


def test_a_root_says_who_is_at_a_level_and_how_far_it_may_be_off() -> None:
    root = a_root(degraded=True, kept=KEPT)
    first, second, _ = seen(root, now_s=12.0)
    assert not first.is_degraded
    assert second.is_degraded
    assert "step 1 of 2" in second.level
    assert second.level.endswith("capacity")
    assert second.error == "off by at most 2 % (3 groups kept back)"


def a_runtime(root: RootDesk | None, own: EdgeProgress) -> SiteRuntime:
    node = SimpleNamespace(
        root=lambda name: None if root is None else root.root,
        edge=SimpleNamespace(progress=lambda now_s: [own]),
        peer=SimpleNamespace(way_capacity=lambda name: SimpleNamespace(bytes_per_s=None)),
    )
    runtime = SimpleNamespace(node=node, site="oslo", now_s=lambda: 12.0)
    return cast(SiteRuntime, runtime)


def own_line(**said: Any) -> EdgeProgress:
    return EdgeProgress(str(QUERY.id), EdgeRecord(first_pane=0), 0, 0, **said)


def network(**budget: Any) -> NetworkStats:
    return NetworkStats({}, {}, BudgetStats(**budget) if budget else BudgetStats(), {})


def test_an_agent_says_of_itself_what_it_uses_of_what_it_may_and_what_waits() -> None:
    own = own_line(
        degrading=DegradeProgress(1, 2, "threshold at level 1", "budget"),
        backlog=Backlog(3, 1 << 20, 4.0),
    )
    budget = network(bytes_per_s=8_000.0, used_bytes_per_s=7_000.0)
    (line,) = watched_sites(a_runtime(None, own), QUERY, budget)
    assert line.text() == (
        "oslo: threshold at level 1, budget; sends all links 56 of 64 kbit/s; "
        "3 panes wait (1.0 MiB), for up to 4 s"
    )


def test_an_agent_that_is_back_at_its_full_stream_knows_it_before_its_root() -> None:
    root = WatchedSite("oslo", "threshold at level 1, capacity", is_degraded=True, stale_s=2.0)
    found = joined(root, WatchedSite("oslo", "all is sent"))
    assert (found.level, found.is_degraded, found.stale_s) == ("all is sent", False, 2.0)
    unsaid = joined(root, WatchedSite("oslo"))
    assert (unsaid.level, unsaid.is_degraded) == (root.level, True)


def test_who_has_nothing_to_say_is_told_of_to_those_who_ask_for_all() -> None:
    runtime = a_runtime(a_root(), own_line())
    assert watched_sites(runtime, QUERY, network()) == ()
    found = watched_sites(runtime, QUERY, network(), all_sites=True)
    assert len(found) == 4, "three that the root knows, and the one that was asked"


def test_of_many_with_something_to_say_the_first_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"s{n}": WatchedSite(f"s{n}", is_degraded=True) for n in range(SITES_MAX + 9)}
    monkeypatch.setattr(watched_lines, "of_root", lambda root, now_s: dict(many))
    runtime = a_runtime(a_root(), own_line())
    assert len(watched_sites(runtime, QUERY, network())) == SITES_MAX
    assert len(watched_sites(runtime, QUERY, network(), all_sites=True)) == SITES_MAX + 10
