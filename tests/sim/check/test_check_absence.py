"""Who is called absent, in worlds where all goes wrong at once; and that the checker sees who is
called so and is not."""

from __future__ import annotations

import pytest

from headwater.algebra.sets import bitset
from headwater.overlay.carry.absence_relay import AbsenceRelay
from headwater.root.carriers.absences import Absences
from headwater.sim.check.kinds.check_absence import RULE
from headwater.sim.outcome import Outcome
from headwater.sim.scenario import draw_scenario
from headwater.sim.world.world import World

MOVED = (1005, 3002)
"""A new plan gives sites other parents between an answer's snapshot and its results."""
BEHIND = (380, 3032)
"""A word is made, and goes out behind a full disk or an installation; its link is up by then."""


def outcome_of(seed: int) -> Outcome:
    return World(draw_scenario(seed)).run()


@pytest.mark.parametrize("seed", [*MOVED, *BEHIND])
def test_words_and_answers_are_looked_at_as_they_are_made(seed: int) -> None:
    outcome = outcome_of(seed)
    assert outcome.is_good, outcome.report()
    assert outcome.counts["a site was missing: absent"]


def test_a_parent_that_has_the_link_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_them(self: AbsenceRelay, now_s: float) -> set[str]:
        return set(self._neighbours.names)

    monkeypatch.setattr(AbsenceRelay, "_lost", all_of_them)
    assert outcome_of(MOVED[0]).rule == RULE


def test_a_root_that_takes_one_parent_s_word_for_all_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def one_said_so(self: Absences, since_s: float = 0.0) -> int:
        return bitset.union(one.lost for one in self._said.values())

    monkeypatch.setattr(Absences, "absent", one_said_so)
    assert outcome_of(MOVED[0]).rule == RULE
