"""netDist learns how long the slowest takes, and nothing else."""

import pytest

from headwater.overlay.carry.net_dist import PANES_REMEMBERED, NetDist
from headwater.overlay.config import OverlayConfig

CEILING_S = 5.0


@pytest.fixture
def net_dist():
    return NetDist(OverlayConfig(net_dist_ceiling_s=CEILING_S))


def pane_with_slowest(net_dist, pane, *, slowest_s, at_s):
    """One summary that arrives at once and one that takes ``slowest_s``."""
    net_dist.observe(pane, birth_s=at_s, now_s=at_s)
    net_dist.observe(pane, birth_s=at_s, now_s=at_s + slowest_s)


def train(net_dist, slowest_s, *, panes, first=0):
    for pane in range(first, first + panes):
        pane_with_slowest(net_dist, pane, slowest_s=slowest_s, at_s=pane * 10.0)
    net_dist.observe(first + panes, birth_s=1e6, now_s=1e6)


def test_without_samples_it_is_the_initial_one(net_dist):
    net_dist.observe(0, birth_s=0.0, now_s=2.0)
    assert net_dist.estimate_s == 1.0


def test_the_first_settled_pane_replaces_the_initial_guess(net_dist):
    train(net_dist, 0.3, panes=1)
    assert net_dist.estimate_s == pytest.approx(0.3)


def test_a_late_close_counts_though_its_summary_is_young(net_dist):
    net_dist.observe(0, birth_s=0.0, now_s=0.1)
    net_dist.observe(0, birth_s=2.0, now_s=2.1)
    net_dist.observe(1, birth_s=100.0, now_s=100.0)
    assert net_dist.estimate_s == pytest.approx(2.1)


def test_panes_in_a_burst_do_not_dilute_the_estimate(net_dist):
    for pane in range(10):
        net_dist.observe(pane, birth_s=0.0, now_s=0.0)
    for pane in range(10):
        net_dist.observe(pane, birth_s=0.0, now_s=2.0)
    net_dist.observe(10, birth_s=100.0, now_s=100.0)
    assert net_dist.estimate_s == pytest.approx(2.0)


def test_nothing_lifts_it_above_the_ceiling(net_dist):
    for pane in range(100):
        net_dist.observe(pane, birth_s=0.0, now_s=1_000.0 + pane)
    assert net_dist.estimate_s == CEILING_S


def test_what_comes_after_the_ceiling_teaches_nothing(net_dist):
    train(net_dist, 0.5, panes=50)
    for pane in range(50, 100):
        at_s = 2e6 + pane * 10.0
        net_dist.observe(pane, birth_s=at_s, now_s=at_s + 0.5)
        net_dist.observe(pane, birth_s=at_s, now_s=at_s + CEILING_S + 1.0)
    assert net_dist.estimate_s == pytest.approx(0.5, rel=0.1)


def test_the_birth_of_the_pane_is_that_of_its_oldest_summary(net_dist):
    assert net_dist.observe(0, birth_s=5.0, now_s=6.0) == 5.0
    assert net_dist.observe(0, birth_s=4.0, now_s=6.0) == 4.0
    assert net_dist.observe(0, birth_s=5.5, now_s=6.0) == 4.0


def test_a_mad_pane_number_is_forgotten_like_any_other(net_dist):
    net_dist.observe(1 << 60, birth_s=0.0, now_s=0.0)
    for pane in range(2 * PANES_REMEMBERED):
        net_dist.observe(pane, birth_s=0.0, now_s=0.5)
    assert len(net_dist._panes) == PANES_REMEMBERED
    assert len(net_dist._open) <= PANES_REMEMBERED
