"""What has one site in it is that site's word: relays and the root refuse it without its proof."""

import msgspec
import pytest

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary
from headwater.overlay.messages import SummaryMessage
from headwater.overlay.outputs import Transmit
from headwater.plan.notice import Notice
from headwater.sim.world.keys import OPERATOR, SimulatedKey, SimulatedSignatures

TREE = """
root
  a
    c
    d
  b
"""
NAMES = ("root", "a", "b", "c", "d")
LIFE = 7


@pytest.fixture
def world(overlay):
    keys = {name: SimulatedKey() for name in (*NAMES, OPERATOR)}
    operator = SimulatedSignatures(keys[OPERATOR], keys)
    world = overlay.World(
        TREE,
        signatures_of=lambda name: SimulatedSignatures(keys[name], keys),
        sign=operator.sign_command,
    )
    world.signatures = {name: SimulatedSignatures(key, keys) for name, key in keys.items()}
    world.query = world.install(sites=NAMES)
    world.run(1.0)
    return world


def update(world, site, pane=5, *, rows=(1, 2), lane=Lane.LIVE, closed_at=1):
    ordinal, updates = world.ordinal[site], ((1, 1),) if rows else ()
    coverage = Coverage.of_part(ordinal, LIFE, updates=updates, closed_at=closed_at)
    return Summary(query=world.query, pane=pane, coverage=coverage, rows=rows or None, lane=lane)


def refused(world, name):
    return world.peers[name].counts().get("refused", 0)


def test_updates_of_all_sites_arrive_merged_and_alone(world):
    for site in NAMES:
        world.originate(site, 5, query=world.query)
    spare = world.originate("c", 6, query=world.query, lane=Lane.SPARE)
    world.run(20.0)
    arrived = [one for one in world.delivered() if one.pane == 5]
    assert sum(len(one.rows) for one in arrived) == len(NAMES)
    assert [one.rows for one in world.delivered() if one.pane == 6] == [spare.rows]
    assert all(one.proof is None for one in world.delivered()), "looked at, and not kept"
    assert not any(refused(world, name) for name in NAMES)


@pytest.mark.parametrize("to", ["a", "root"])
@pytest.mark.parametrize("lane", [Lane.LIVE, Lane.BACKLOG, Lane.SPARE])
def test_nobody_sends_an_update_of_another(world, to, lane):
    """A silent site's pane, with rows and as an empty close, unsigned and signed by the liar."""
    sender = {"a": "d", "root": "a"}[to]
    for rows, closed_at in (((1, 2), 1), ((), 0)):
        lie = update(world, "c", rows=rows, lane=lane, closed_at=closed_at)
        for one in (lie, world.signatures[sender].sign_update(lie)):
            world.hand(sender, to, SummaryMessage(one))
    world.run(20.0)
    assert world.delivered() == []
    assert refused(world, to) == 4
    assert any("update of c" in one.text for one in world.of(to, Notice))


def test_the_short_form_needs_a_proof_as_well(world):
    for coverage in (Coverage.of_whole(3, LIFE), Coverage.of_empty(3, LIFE)):
        rows = (1,) if coverage.has_rows else None
        world.hand(
            "a",
            "root",
            SummaryMessage(Summary(query=world.query, pane=5, coverage=coverage, rows=rows)),
        )
    assert world.delivered() == []
    assert refused(world, "root") == 2


@pytest.mark.parametrize(
    "change",
    [
        {"pane": 6},
        {"rows": (1,)},
        {"rows": None},
        {"coverage": Coverage.of_part(3, LIFE, updates=((1, 1),), closed_at=2)},
        {"coverage": Coverage.of_part(3, LIFE + 1, updates=((1, 1),), closed_at=1)},
    ],
    ids=["pane", "rows", "no rows", "close", "life"],
)
def test_an_update_of_which_something_was_changed_is_refused(world, change):
    true = world.signatures["c"].sign_update(update(world, "c"))
    world.hand("a", "root", SummaryMessage(msgspec.structs.replace(true, **change)))
    assert world.delivered() == []
    world.hand("a", "root", SummaryMessage(true))
    assert [one.rows for one in world.delivered()] == [(1, 2)]
    assert refused(world, "root") == 1


def test_what_a_relay_hands_on_alone_keeps_its_proof_and_what_it_merges_has_none(world):
    for site in ("a", "c", "d"):
        world.originate(site, 5, query=world.query)
    world.originate("c", 6, query=world.query, lane=Lane.SPARE)
    world.run(20.0)
    handed = [
        output.message.summary
        for output in world.of("a", Transmit)
        if isinstance(output.message, SummaryMessage)
    ]
    by_sites = {one.coverage.sites.bit_count(): one.proof is not None for one in handed}
    assert by_sites == {3: False, 1: True}


def test_a_relay_that_does_not_know_the_query_looks_at_what_it_hands_on(overlay):
    keys = {name: SimulatedKey() for name in NAMES}
    world = overlay.World(TREE, signatures_of=lambda name: SimulatedSignatures(keys[name], keys))
    world.run(1.0)
    lie = Summary(
        query="none@b#1", pane=5, coverage=Coverage.of_whole(world.ordinal["c"], LIFE), rows=b"rows"
    )
    world.hand("d", "a", SummaryMessage(lie))
    assert refused(world, "a") == 1


def test_an_update_of_a_query_that_is_not_known_yet_is_signed_as_well(world):
    lone = update(world, "c", rows=b"rows")
    world.peers["c"].originate(msgspec.structs.replace(lone, query="q@b#1"), now_s=world.now_s)
    world.collect("c")
    handed = [
        output.message.summary
        for output in world.of("c", Transmit)
        if isinstance(output.message, SummaryMessage)
    ]
    assert [one.proof is not None for one in handed] == [True]
