"""What an acknowledgement takes on the wire, by the size of the federation and the place in it.

Before there were leaves, a signed whole: 173 bytes in calm; with 64 panes spelled out, of which no
two are alike, 553 bytes for 12 sites, 5,936 for 680, 80,766 for 10,000, on every link.
"""

from random import Random

import msgspec
import pytest

from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, PaneHeld, with_leaves
from headwater.net.identity.signing import KeySignatures, MemoryKeys
from headwater.net.values.codec import Codec
from headwater.overlay.messages import AckMessage

FIRST = 176_000_000
"""Panes of ten seconds, this decade."""


def acknowledgement(sites: int, *, panes: int = 0, greetings: int = 0) -> Acknowledgement:
    keys = MemoryKeys()
    own = keys.make("s0")
    random = Random(1)
    head = Acknowledgement(
        query="simulated@s0#1",
        root_incarnation=2**60,
        number=5,
        done_through=FIRST,
        held=((FIRST, FIRST + 10),),
        listed=((FIRST, 1 << 62),),
        sites_clock_s=1.76e9,
    )
    whole = with_leaves(
        head,
        panes=[PaneHeld(FIRST + 11 + n, random.getrandbits(sites)) for n in range(panes)],
        greetings=[
            Greeting(ordinal=n, incarnation=2**62 + n * 7919, number=100 + n % 50)
            for n in range(greetings)
        ],
    )
    signatures = KeySignatures("acme", own=lambda: own, others=keys, pack=lambda _, rows: rows)
    return signatures.sign_ack(whole)


def wire(ack: Acknowledgement, leaves: int | None = None) -> int:
    """Its bytes, with so many of its leaves."""
    handed = msgspec.structs.replace(ack, leaves=ack.leaves[:leaves])
    return len(Codec(lambda _: None).encode(AckMessage(handed)))


@pytest.mark.parametrize("sites", [12, 680, 10_000])
def test_in_calm_it_is_as_short_as_a_whole_was(sites: int) -> None:
    assert wire(acknowledgement(sites)) <= 180


@pytest.mark.parametrize(
    ("sites", "whole"), [(12, 553), (680, 5_936), (10_000, 82_000)], ids=["12", "680", "10,000"]
)
def test_with_all_its_leaves_it_is_about_as_long_as_a_whole_was(sites: int, whole: int) -> None:
    assert wire(acknowledgement(sites, panes=64)) <= whole


def test_a_small_federation_pays_a_digest_where_something_is_spelled_out() -> None:
    assert wire(acknowledgement(12, panes=1)) <= 183 + 34
    assert wire(acknowledgement(12, greetings=12)) <= 317 + 34


def test_a_site_with_nobody_below_it_gets_a_thirtieth_at_ten_thousand_sites() -> None:
    assert wire(acknowledgement(10_000, panes=64), leaves=1) < 3_000
    assert wire(acknowledgement(10_000, greetings=10_000), leaves=1) < 2_500
    assert wire(acknowledgement(10_000, panes=64), leaves=0) < 850, "the head alone"
