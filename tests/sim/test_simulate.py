"""Small worlds from end to end, as ``headwater simulate`` runs them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.sim.measure.findings import Findings, find
from headwater.sim.simulation import run_simulation
from headwater.sim.simulation_file import parse_simulation

WORLD = """
duration = 60
[world]
kind = "plane"
sites = 24
[query]
window = 2
branching = 4
"""
GONE = """
[[faults]]
kind = "nodes"
share = 0.25
from = 30
until = 45
"""


def simulate(text: str) -> Findings:
    return find(run_simulation(parse_simulation(text)))


@pytest.mark.parametrize("checks", ["full", "light"])
def test_nothing_is_missing_where_nothing_is_wrong(checks: str) -> None:
    found = simulate(f'checks = "{checks}"\n' + WORLD)
    assert (found.checks, found.verdict) == (checks, "no rule was broken")
    assert found.completeness_worst == found.limit == 1.0
    assert found.latency_p90_s < 4.0
    assert found.installed == 24
    assert found.load_bits_s.heartbeats > 0 < found.load_bits_s.summaries


def test_the_live_are_answered_for_while_others_are_gone_and_these_follow() -> None:
    found = simulate("duration = 110\n" + WORLD.replace("duration = 60", "") + GONE)
    assert found.verdict == "no rule was broken"
    during = [one for one in found.windows if 36 <= one.end_s <= 40]
    assert during
    assert all(one.live == 18 for one in during)
    assert all(one.of_live == 1.0 for one in during)
    assert all(one.covered_first == 18 for one in during)
    assert all(one.covered_last == 24 for one in during), "what was cut off comes as backlog"


def test_a_run_is_a_function_of_its_seed() -> None:
    one, same, other = (simulate(f"seed = {seed}\n" + WORLD + GONE) for seed in (3, 3, 4))
    assert one.events == same.events
    assert one.windows == same.windows
    assert one.load_bits_s == same.load_bits_s
    assert other.events != one.events


def test_a_site_without_a_path_is_told_apart_from_one_that_was_missed() -> None:
    text = WORLD + '[[faults]]\nkind = "partition"\nshare = 0.25\nfrom = 25\nuntil = 55\n'
    found = simulate(text)
    during = [one for one in found.windows if 35 <= one.end_s <= 45]
    assert during
    assert all((one.live, one.reachable, one.first) == (24, 18, 18) for one in during)


def test_without_merging_more_travels() -> None:
    merged, apart = (
        simulate(WORLD + f"[routing]\naggregation = {merges}\n") for merges in ("true", "false")
    )
    assert apart.completeness_worst == 1.0
    assert apart.messages["SummaryMessage"] > 1.3 * merged.messages["SummaryMessage"]


def test_clocks_that_drift_and_links_that_lose_leave_all_rules_whole() -> None:
    text = WORLD + (
        '[clocks]\nkind = "uniform"\nspread = 0.5\ndrift_ppm = 100\n'
        '[[faults]]\nkind = "lossy"\nshare = 0.3\nlost = 0.2\nfrom = 20\n'
        '[[faults]]\nkind = "straggler"\nshare = 0.1\nfrom = 20\n'
        '[[faults]]\nkind = "restart"\nshare = 0.1\nfrom = 20\nuntil = 40\n'
        '[[faults]]\nkind = "disk-loss"\nshare = 0.1\nfrom = 20\nuntil = 40\n'
    )
    found = simulate(text)
    assert (found.checks, found.verdict) == ("full", "no rule was broken")


def test_the_command_prints_one_object_and_writes_pictures(tmp_path: Path) -> None:
    scenario = tmp_path / "world.toml"
    scenario.write_text(WORLD.replace("60", "30"), encoding="utf-8")
    out = tmp_path / "out"
    arguments = ["simulate", str(scenario), "--seed", "5", "-o", "json", "--out", str(out)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["seed"], found["sites"], found["verdict"]) == (5, 24, "no rule was broken")
    assert json.loads((out / "findings.json").read_text())["events"] == found["events"]
    for name in ("trees.svg", "completeness.svg"):
        assert (out / name).read_text().startswith("<svg")


def test_the_command_prints_a_table_for_people(tmp_path: Path) -> None:
    scenario = tmp_path / "world.toml"
    scenario.write_text(WORLD.replace("60", "25"), encoding="utf-8")
    done = CliRunner().invoke(app, ["simulate", str(scenario), "-o", "table"])
    assert done.exit_code == 0, done.output
    for words in ("live sites in the first answer", "network load", "no rule was broken"):
        assert words in done.stdout
