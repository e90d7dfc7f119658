"""Mortar, section 5.1 and figure 7: indices from ages, anew at every operator."""

from collections import Counter

import pytest

from headwater.plan.tree import Tree
from headwater.sim.variants.per_hop import (
    NET_DIST_ALPHA,
    Operator,
    PerHopFound,
    PerHopTuning,
    PerHopWorld,
    SummaryTuple,
)
from headwater.sim.world import latencies

SLIDE_5_S = PerHopTuning(slide_s=5.0)


def operator(*, installed_s: float = 100.0, install_age_s: float = 0.0) -> Operator:
    return Operator(SLIDE_5_S, installed_s=installed_s, install_age_s=install_age_s)


def of_age(age_s: float, window: int = 0) -> SummaryTuple:
    return SummaryTuple(age_s, Counter({window: 1}))


# Figure 7


def test_the_index_is_t_ref_minus_age_by_slide() -> None:
    """::

    installed at 100          now = 112, t_ref = 12
        |----- 0 -----|----- 1 -----|-- 2
                              ^ age 3      ^ age 1
    """
    one = operator()
    assert one.arrive(of_age(3.0), now_s=112.0)[0] == 1
    assert one.arrive(of_age(1.0), now_s=112.0)[0] == 2


def test_an_index_may_be_negative() -> None:
    assert operator().arrive(of_age(3.0), now_s=101.0)[0] == -1


def test_the_age_of_the_install_message_is_taken_off_the_time_of_the_install() -> None:
    early, late = operator(), operator(installed_s=101.5, install_age_s=1.5)
    assert early.t_ref_s(112.0) == late.t_ref_s(112.0) == 12.0


def test_what_is_evicted_has_the_average_age_with_its_stay() -> None:
    one = operator()
    index, _ = one.arrive(of_age(2.0, window=1), now_s=110.0)
    assert one.arrive(of_age(4.0, window=1), now_s=111.0) == (index, None)
    out = one.evict(index, now_s=112.0)
    assert out.age_s == pytest.approx(((2.0 + 2.0) + (4.0 + 1.0)) / 2)
    assert out.records == Counter({1: 2})


# Section 4.3


def test_the_first_tuple_of_an_index_waits_for_net_dist_less_its_age() -> None:
    one = operator()
    one.net_dist_s = 3.0
    assert one.arrive(of_age(2.2), now_s=112.0)[1] == pytest.approx(0.8)


def test_a_tuple_older_than_net_dist_does_not_wait() -> None:
    one = operator()
    one.net_dist_s = 3.0
    assert one.arrive(of_age(4.0), now_s=112.0)[1] == 0.0


def test_net_dist_moves_by_a_tenth_towards_the_largest_age() -> None:
    one = operator()
    index, _ = one.arrive(of_age(2.0), now_s=110.0)
    one.arrive(of_age(3.0), now_s=111.0)
    one.evict(index, now_s=112.0)
    assert one.net_dist_s == pytest.approx(NET_DIST_ALPHA * 3.0)


def test_what_comes_after_the_eviction_is_an_entry_of_its_own() -> None:
    one = operator()
    index, _ = one.arrive(of_age(2.0), now_s=110.0)
    one.evict(index, now_s=110.0)
    again, wait_s = one.arrive(of_age(3.0), now_s=111.0)
    assert again == index
    assert wait_s is not None


# A whole tree


def run(**tuning: float) -> PerHopFound:
    place = latencies.transit_stub(60, seed=1)
    parents = tuple((n, (n - 1) // 6) for n in range(1, 60))
    world = PerHopWorld([Tree(0, parents)], place.one_way_s, seed=1, tuning=PerHopTuning(**tuning))
    return world.run()


def test_with_timeouts_that_have_learned_nearly_all_is_in_the_right_window() -> None:
    found = run()
    assert found.completeness > 0.98
    assert found.elsewhere < 0.01
    assert 0.0 < found.latency_s < 3.0


def test_timeouts_that_begin_with_nothing_cost_the_first_windows() -> None:
    assert run(warm_up_s=0.0, duration_s=60.0).completeness < run().completeness - 0.05


def test_installs_that_wait_unseen_shift_windows_against_each_other() -> None:
    found = run(install_wait_s=0.1)
    assert found.completeness < run().completeness - 0.005
    assert found.elsewhere > 2 * run().elsewhere


def test_a_run_is_a_function_of_its_seed() -> None:
    assert run(duration_s=200.0) == run(duration_s=200.0)
