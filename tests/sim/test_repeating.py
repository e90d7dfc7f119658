"""A run is a function of its seed, so whatever it finds can be looked at again."""

import os
import subprocess
import sys

import pytest

from headwater.root.pane_board import PaneBoard
from headwater.sim.__main__ import main
from headwater.sim.scenario import draw_scenario
from headwater.sim.sweep import run_seed, shrink
from headwater.sim.world.world import World

TRACE = "from headwater.sim.sweep import run_seed; o = run_seed({}); print(o.trace, o.event_count)"


@pytest.mark.parametrize("seed", [3, 40])
def test_the_same_seed_is_the_same_run_also_under_another_order_of_hashes(seed: int) -> None:
    """In the second one a peer leaves several hosts of the last resort at once."""
    here = run_seed(seed)
    for hash_seed in ("1", "2"):
        there = subprocess.run(
            [sys.executable, "-c", TRACE.format(seed)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=240,
        )
        assert there.stdout.split() == [str(here.trace), str(here.event_count)]


def test_other_seeds_are_other_runs() -> None:
    assert len({run_seed(seed).trace for seed in (3, 4, 5)}) == 3


def test_a_failure_is_shrunk_to_the_faults_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PaneBoard, "first_held", lambda self: (1 << 10) - 1)
    scenario = next(s for s in map(draw_scenario, range(1, 50)) if len(s.faults) > 5)
    found = World(scenario).run()
    least = shrink(found, scenario)
    assert (found.rule, least.rule) == ("nothing acked is missing",) * 2
    assert least.faults == (), "this mutant needs no fault at all"


def test_a_failing_sweep_prints_the_seed_and_how_to_repeat_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(PaneBoard, "first_held", lambda self: (1 << 10) - 1)
    assert main(["--from", "7", "--seeds", "1"]) == 1
    said = capsys.readouterr().out
    assert "seed 7 failed at" in said
    assert "nothing acked is missing" in said
    assert "python -m headwater.sim --from 7 --seeds 1" in said


def test_a_good_sweep_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", "8", "--seeds", "2"]) == 0
    assert "2 seeds" in capsys.readouterr().out


def test_a_story_tells_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", "8", "--seeds", "1", "--story"]) == 0
    said = capsys.readouterr().out
    assert "published window" in said
    assert said.rstrip().endswith("all good")
