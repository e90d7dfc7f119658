"""JetStream's figures 7 to 9 on few sources and short stretches: what their rows are made of."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.jetstream import requests
from experiments.jetstream.source import Source, bytes_of
from experiments.jetstream_07 import PLAN
from experiments.jetstream_09 import LIMIT, TIME_5, error_of

from headwater.plan.degrading.degradation import Degradation

PER_S = 300.0


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    requests.urls.cache_clear()
    monkeypatch.setattr(requests, "URL_FILE", "none of the data")


def source(plan: Degradation | None, rate: float, *, seconds: int = 60) -> Source:
    asked = requests.Requests(np.full(seconds, PER_S), seed=1)
    return Source(asked, plan, LIMIT, lambda now_s: rate, is_known=True).run(seconds)


def need() -> float:
    rows = np.count_nonzero(requests.Requests(np.full(1, PER_S), seed=1).of(0))
    return bytes_of(int(rows))


def test_on_a_wide_link_nothing_is_given_up_and_a_pane_takes_its_own_time() -> None:
    found = source(PLAN, 2.0 * need())
    assert set(found.steps) == {0}
    assert max(one.latency_s for one in found.sent) < 1.0
    assert sum(len(one.lost_urls) for one in found.sent) == 0


def test_without_degradation_latency_grows_as_long_as_the_link_is_narrow() -> None:
    late = [one.latency_s for one in source(None, 0.5 * need()).sent if one.arrived_s is not None]
    assert late[-1] > 5.0
    assert late == sorted(late)


def test_with_it_the_link_is_kept_up_with() -> None:
    found = source(PLAN, 0.5 * need())
    assert max(found.steps) > 0
    assert found.sent[-1].latency_s < 1.0


def test_coarse_panes_have_all_requests_in_fewer_rows() -> None:
    coarse = source(Degradation((TIME_5,)), 0.9 * need())
    asked = sum(one.asked for one in coarse.sent)
    assert abs(asked - PER_S * 60) < 5.0 * PER_S
    assert error_of([coarse]) == 0.0
    assert sum(one.bytes for one in coarse.sent) < 60 * need()
