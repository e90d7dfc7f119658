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
WIRE = (
    "frames", "messages", "leaves", "rows", "batches", "hellos", "requests", "peer", "admission",
    "roster", "globs", "configuration", "states", "acks", "envelopes", "walks", "folds",
)  # fmt: skip


def test_every_reader_of_the_wire_survives_a_short_campaign_and_all_old_crashers() -> None:
    command = [sys.executable, "-m", "fuzz", *WIRE, "--seconds", "0.3", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 finds") == len(WIRE)


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


def test_the_same_seed_draws_the_same_inputs(campaign: Any) -> None:
    from fuzz.mutate import mutated

    good = [b"some good input", b"another one"]
    draws = [[mutated(good, random.Random(seed)) for seed in range(50)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 40
