"""Sites that fail: windows are answered when the others are in, never later than by the deadline
alone; and who is alive by another way is not called absent. The checkers look on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from headwater.root.said.assess import ABSENT
from headwater.sim.measure.gauge import Gauge, WindowSeen
from headwater.sim.simulation import make_scenario, run_simulation
from headwater.sim.simulation_file import SimulationFile

SITES = 12
FAILS_S = 40.0
DEADLINE_S = 15.0
WINDOW_S = 10.0
NEVER_S = 1e9


def names() -> list[str]:
    """Leaves and inner nodes alike, without the root."""
    file = msgspec.convert(content(), SimulationFile)
    return [site.name for site in make_scenario(file).roster.sites if site.ordinal]


def content(
    *faults: Mapping[str, Any], trees: int = 2, branching: int = SITES, **overlay: float
) -> dict[str, Any]:
    return {
        "seed": 5,
        "duration": 150.0,
        "checks": "full",
        "world": {"kind": "transit-stub", "sites": SITES},
        "query": {
            "window": WINDOW_S,
            "trees": trees,
            "branching": branching,
            "deadline": DEADLINE_S,
        },
        "overlay": overlay,
        "faults": list(faults),
    }


def run(*faults: Mapping[str, Any], **options: Any) -> Gauge:
    file = msgspec.convert(content(*faults, **options), SimulationFile)
    ran = run_simulation(file)
    assert not ran.outcome.rule, ran.outcome.failure
    return ran.gauge


def stopped(*gone: str, until_s: float | None = None) -> dict[str, Any]:
    fault = {"kind": "nodes", "names": gone, "from": FAILS_S, "how": "crash"}
    return fault if until_s is None else fault | {"until": until_s}


def triggers(gauge: Gauge) -> list[str]:
    return [seen.first.trigger for _, seen in sorted(gauge.windows.items())]


def absent(seen: WindowSeen) -> set[str]:
    return {one.site for one in seen.newest.missing if one.reason == ABSENT}


@pytest.fixture(scope="module")
def gone() -> list[str]:
    return names()[:4]


@pytest.mark.parametrize(("trees", "branching"), [(2, SITES), (3, 3)], ids=["stars", "trees"])
def test_no_window_is_later_than_by_its_deadline_alone(
    gone: list[str], trees: int, branching: int
) -> None:
    shape = {"trees": trees, "branching": branching}
    with_it = run(stopped(*gone), **shape)
    without = run(stopped(*gone), absent_after_s=NEVER_S, **shape)
    assert "hopeless" not in triggers(without)
    both = {number: with_it.windows[number].first.at_s for number in without.windows}
    later = [n for n, at_s in both.items() if at_s > without.windows[n].first.at_s + 1e-6]
    assert later == []


def test_windows_do_not_wait_for_their_deadlines(gone: list[str]) -> None:
    with_it = run(stopped(*gone))
    without = run(stopped(*gone), absent_after_s=NEVER_S)
    failed = [number for number, seen in without.windows.items() if seen.first.missing]
    assert len(failed) >= 5
    saved_s = [
        without.windows[number].first.at_s - with_it.windows[number].first.at_s for number in failed
    ]
    assert sum(saved_s) / len(saved_s) > DEADLINE_S / 2


def test_who_is_missing_then_is_who_has_failed(gone: list[str]) -> None:
    gauge = run(stopped(*gone))
    hopeless = [one for one in gauge.windows.values() if one.first.trigger == "hopeless"]
    assert hopeless
    assert all(seen.first.missing == set(gone) for seen in hopeless)


def test_who_returns_revises_until_all_is_exact(gone: list[str]) -> None:
    gauge = run(stopped(*gone, until_s=80.0))
    hopeless = [one for one in gauge.windows.values() if one.first.trigger == "hopeless"]
    assert hopeless
    assert all(seen.newest.exact and seen.exact_s is not None for seen in hopeless)


def test_who_is_cut_off_from_its_trees_and_has_found_a_host_is_not_absent(gone: list[str]) -> None:
    """One tree, a star: the root has lost it, and somebody else has taken it in."""
    scenario = make_scenario(msgspec.convert(content(trees=1), SimulationFile))
    (away, *_), root = gone, scenario.roster.home
    cut = {"kind": "links", "names": [f"{away}-{root}"], "from": FAILS_S}
    gauge = run(cut, trees=1)
    late = sorted(gauge.windows.items())[-5:]
    assert all(seen.newest.exact for _, seen in late)
    assert all(seen.first.trigger == "complete" for _, seen in late), triggers(gauge)
