"""A short chaos: root, site and relay are killed, a link is cut, a checkpoint is deleted, a JVM is
killed between Spark's result and the commit, and the relay has a clock an hour behind for a while.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from chaos.acts import CLOCK_TROUBLES, Act, Fault, Kind
from chaos.places import RELAY, ROOT, SITE
from chaos.run import Plan, run
from chaos.steps import Snare, Step, Victim

AT_COMMIT = Snare(Step.BEFORE_COMMIT, Victim.JVM)
ACTS = (
    Act((Fault(Kind.CUT, RELAY),), hold_s=6.0, pause_s=1.0),
    Act((Fault(Kind.FORGET_CHECKPOINT, SITE), Fault(Kind.KILL, RELAY)), hold_s=1.0, pause_s=8.0),
    Act((Fault(Kind.KILL_AT_STEP, SITE, snare=AT_COMMIT),), hold_s=1.0, pause_s=1.0),
    Act((Fault(Kind.STEP_CLOCK, RELAY, by_s=-3_600.0),), hold_s=4.0, pause_s=1.0),
    Act((Fault(Kind.KILL, ROOT),), hold_s=1.0, pause_s=4.0),
)
KILLS = 4


def acts(without: Collection[Kind]) -> tuple[Act, ...]:
    return tuple(act for act in ACTS if not {fault.kind for fault in act.faults} & set(without))


@pytest.mark.processes
@pytest.mark.timeout(600)
def test_every_record_is_answered_once_whatever_is_killed_or_cut(tmp_path: Path) -> None:
    plan = Plan(acts=acts, seed=1, wants=CLOCK_TROUBLES)
    said: list[str] = []
    outcome = run(plan, tmp_path / "federation", say=said.append)
    report = "\n".join([*said, outcome.text()])
    assert outcome.verdict.is_safe, report
    assert outcome.is_good, report
    assert outcome.killed_at_work == outcome.kills == KILLS, report
    assert outcome.steps == {str(Step.BEFORE_COMMIT): 1}, report
    assert outcome.verdict.partial, f"a run in which nobody was ever missed shows nothing\n{report}"
    assert outcome.verdict.grown, f"nothing was ever repaired\n{report}"
