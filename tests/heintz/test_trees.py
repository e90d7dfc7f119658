"""Sites under relays: what is counted on the root's links, and what the root lacks."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import heintz_trees
from experiments.heintz.sites import Sent, Sited, Tree, root_error, run_site, split
from experiments.heintz.traces import WARM_UP, synthetic
from numpy.typing import NDArray


@pytest.fixture(scope="module")
def of() -> Sited:
    return split(synthetic(records=900, windows=WARM_UP + 2), 4)


def keys(*numbers: int) -> NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


def test_relays_merge_closes_and_rounds_and_nothing_that_is_sent_at_its_own_moment() -> None:
    none = np.zeros(0)
    sent = [
        Sent((keys(1, 2), keys(3)), keys(1, 5), keys(), none),
        Sent((keys(2), keys(3, 4)), keys(5), keys(), none),
        Sent((), keys(5), keys(), none),
    ]
    assert Tree(3).key_updates(sent, meet=True) == 2 + 2 + 2
    assert Tree(3).key_updates(sent, meet=False) == 2 + 3 + 3
    assert Tree(2).key_updates(sent, meet=True) == 2 + 2 + 2 + 1, "the third has its own relay"


def test_what_sites_withhold_of_a_key_adds_up() -> None:
    sent = [
        Sent((), keys(), keys(1, 2), np.array([3.0, 4.0])),
        Sent((), keys(), keys(1), np.array([2.0])),
    ]
    assert root_error(sent) == 5.0


def test_every_record_is_at_one_site(of: Sited) -> None:
    assert sum(len(site[0].at) for site in of.windows) == 900


def test_a_site_without_a_share_sends_every_key_and_withholds_nothing(of: Sited) -> None:
    (found, *_) = run_site(of.windows[0], share=0.0, rate=1e6, pulls=())
    assert sorted(found.closing) == sorted(np.unique(of.windows[0][0].keys))
    assert len(found.withheld) == 0


def test_a_narrow_link_pulls_early_though_a_tick_has_room_for_less_than_a_key(of: Sited) -> None:
    found = run_site(of.windows[0], share=1.0, rate=20.0, pulls=heintz_trees.FREE)
    assert all(0 < sum(map(len, one.early)) <= 20 for one in found)


def test_the_bound_is_kept_by_every_way_and_moved_shares_unburden_the_narrow_site(
    of: Sited,
) -> None:
    rows = heintz_trees.rows_of(of, Tree(2), rounds=(2,), loads=(0.8,))
    assert all(0.0 < row.error <= 1.0 + 1e-9 for row in rows)
    close, rounds, free, *narrow = rows
    assert close.at_root <= rounds.at_root
    assert close.at_root < free.at_root
    assert rounds.flush < close.flush
    equal, _, moved, _ = narrow
    assert moved.of_narrow < equal.of_narrow
    assert moved.of_sites > equal.of_sites, "the others have nothing left to withhold"
