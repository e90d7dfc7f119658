"""A short chaos: root, site and relay are killed, a link is cut, a checkpoint is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos.acts import Act, Fault, Kind
from chaos.places import RELAY, ROOT, SITE
from chaos.run import Plan, run

ACTS = (
    Act((Fault(Kind.CUT, RELAY),), hold_s=6.0, pause_s=1.0),
    Act((Fault(Kind.FORGET_CHECKPOINT, SITE), Fault(Kind.KILL, RELAY)), hold_s=1.0, pause_s=8.0),
    Act((Fault(Kind.KILL, ROOT),), hold_s=1.0, pause_s=4.0),
)


@pytest.mark.processes
@pytest.mark.timeout(600)
def test_every_record_is_answered_once_whatever_is_killed_or_cut(tmp_path: Path) -> None:
    plan = Plan(acts=lambda _: ACTS, seed=1, wants=())
    said: list[str] = []
    outcome = run(plan, tmp_path / "federation", say=said.append)
    report = "\n".join([*said, outcome.text()])
    assert outcome.verdict.is_safe, report
    assert outcome.is_good, report
    assert outcome.killed_at_work == outcome.kills == 3
    assert outcome.verdict.partial, f"a run in which nobody was ever missed shows nothing\n{report}"
    assert outcome.verdict.grown, f"nothing was ever repaired\n{report}"
