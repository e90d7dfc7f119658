"""What a liar says of others, and leaves unsaid of itself."""

from __future__ import annotations

from random import Random

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.overlay.messages import SummaryMessage
from headwater.sim.faults.liar import Liar
from headwater.sim.world.keys import SimulatedKey, SimulatedSignatures

KEYS = {name: SimulatedKey() for name in ("s0", "s1")}


def test_a_liar_does_not_change_its_own_updates_which_it_may_sign_as_it_likes() -> None:
    """An update that comes back to its site on the way would be changed and truly signed: what a
    site says of itself is no lie, and nobody could tell it from a true word."""
    liar = Liar(
        "s1",
        SimulatedSignatures(KEYS["s1"], KEYS),
        sites={"s0": 0, "s1": 1},
        installs=tuple,
        random=Random(1),
    )
    liar.hear(SummaryMessage(_update_of("s1")))
    assert liar._update() is None
    liar.hear(SummaryMessage(_update_of("s0")))
    assert liar._update() is not None


def _update_of(site: str) -> Summary:
    whole = Coverage.of_empty(int(site[1:]), 77)
    summary = Summary("q@s0#1", 5, whole, roster_version=1, plan_version=1)
    return SimulatedSignatures(KEYS[site], KEYS).sign_update(summary)
