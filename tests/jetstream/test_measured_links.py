"""The traces of measured links, and what an outage is held to."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import jetstream_links
from experiments.jetstream_links import KINDS, PLANS, SECONDS, link, need, row_of
from experiments.jetstream_outage import PANE_S, pane_end_s
from experiments.jetstream_outage import row_of as outage_row

from headwater.sim.scenario import START_S


def test_a_trace_of_seconds_and_rates_becomes_means_of_each_second() -> None:
    lines = "\n".join(f"{n / 2} {n}" for n in range(21)).encode()
    rates = jetstream_links._steps(lines)
    assert len(rates) == 10
    assert rates == pytest.approx([2 * n + 0.9 for n in range(10)])


def test_a_trace_of_slots_becomes_bytes_of_each_second() -> None:
    assert jetstream_links._slots(b"0\n10\n1500\n2999\n").tolist() == [3_000.0, 1_500.0, 1_500.0]


def test_a_link_carries_its_share_and_never_nothing() -> None:
    rates = np.ones(SECONDS)
    rates[3] = 0.0
    carries = link(rates, 8_000.0)
    assert (carries(0.5), carries(3.5)) == (8_000.0, 1.0)


def test_half_of_the_need_is_late_without_a_plan_and_in_time_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jetstream_links, "traces", lambda kind: (np.ones(SECONDS),))
    kind = next(iter(KINDS))
    late, there = (row_of(kind, name, PLANS[name])[0] for name in ("nothing", "sample to 1/16"))
    assert late.in_time < 0.1
    assert there.in_time > 0.95
    assert there.used > 0.7, "the link does not change, so a level fits"
    assert need() > 0


class Found:
    """Panes of five seconds, late by one, but for those of a cut from 300 s to 900 s."""

    def __init__(self) -> None:
        first = round((START_S + 150.0) / PANE_S)
        self.held, self.sent = dict[int, float](), list[tuple[float, int, int | None]]()
        for pane in range(first, first + 400):
            end_s = pane_end_s(pane)
            at_s = end_s + 1.0 if not 298.0 < end_s < 900.0 else 900.0 + (end_s - 298.0)
            self.held[pane] = at_s
            self.sent.append((at_s, 1_000, pane))


def test_the_backlog_is_held_against_what_the_link_can_spare() -> None:
    found = Found()
    row = outage_row(2.0, 1, found, need=200.0)  # type: ignore[arg-type]
    assert row.calm_s == pytest.approx(1.0)
    assert row.normal_after_s == 0.0
    assert row.on_time == 1.0
    assert row.backlog_kb == pytest.approx(120.0)
    assert row.again == pytest.approx(0.0)
    assert row.least_s == pytest.approx(600.0)
    assert row.ratio == pytest.approx(row.through_s / 600.0)
