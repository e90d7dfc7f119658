"""The fuzzer: a short campaign over every reader of the wire, and that it would find something."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WIRE = """
    frames messages leaves rows batches hellos requests peer admission roster globs configuration
    states acks envelopes walks folds
"""


def test_every_reader_of_the_wire_survives_a_short_campaign_and_all_old_crashers() -> None:
    command = [sys.executable, "-m", "fuzz", *WIRE.split(), "--seconds", "0.3", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 finds") == len(WIRE.split())


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    from fuzz import campaign

    monkeypatch.setattr(campaign, "CRASHERS", tmp_path)
    monkeypatch.setattr(campaign, "HANG_S", 0.5)
    monkeypatch.setattr(campaign, "FINDS_MAX", 1)
    return campaign


def _raise(data: bytes) -> bool:
    if data != b"good":
        raise KeyError("no refusal")
    return True


def _die(data: bytes) -> bool:
    if data != b"good":
        os.kill(os.getpid(), signal.SIGTERM)
    return True


def _stand_still(data: bytes) -> bool:
    while data != b"good":
        pass
    return True


@pytest.mark.parametrize(
    ("run", "cause"), [(_raise, "no refusal"), (_die, "SIGTERM"), (_stand_still, "stood still")]
)
def test_an_error_a_crash_and_a_hang_are_found_and_kept(
    campaign: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Any, cause: str
) -> None:
    monkeypatch.setitem(campaign.TARGETS, "broken", campaign.Target(lambda: [b"good"], run))
    found = campaign.run_campaign("broken", seed=1, seconds=10, say=lambda text: None)
    assert len(found.finds) == 1
    assert cause in found.finds[0]
    (kept,) = tmp_path.glob("broken/*.bin")
    assert kept.read_bytes() != b"good"


def test_who_stands_still_while_an_input_is_drawn_blames_no_input(
    campaign: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def draw(_good: Any, _chance: random.Random) -> bytes:
        return b"good" if _stand_still(b"") else b""

    target = campaign.Target(lambda: [b"good"], lambda data: True, draw)
    monkeypatch.setitem(campaign.TARGETS, "toy", target)
    found = campaign.run_campaign("toy", seed=1, seconds=5.0, say=lambda text: None)
    assert [find.partition(",")[0] for find in found.finds] == [
        "it stood still while an input was drawn"
    ]
    assert not list(tmp_path.rglob("*.bin"))


def test_changes_upon_changes_stay_small_enough_to_be_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What holds what was repeated is not repeated as often, or it takes for ever."""
    monkeypatch.syspath_prepend(ROOT)
    from fuzz.change_tree import REPEATED_MAX, REPEATED_VALUES_MAX, _count, _repeat

    chance, tree = random.Random(1), [["x"]]
    for _ in range(20):
        for inner in [tree[0], tree]:
            if isinstance(inner, list) and inner:
                before = _count(inner)
                _repeat(inner, 0, chance)
                assert _count(inner) <= before + max(REPEATED_VALUES_MAX, REPEATED_MAX)


def test_the_same_seed_draws_the_same_inputs(campaign: Any) -> None:
    from fuzz.mutate import mutated

    good = [b"some good input", b"another one"]
    draws = [[mutated(good, random.Random(seed)) for seed in range(50)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 40
