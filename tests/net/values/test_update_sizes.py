"""What several updates of many sites take on the wire, in summaries and in acknowledgements.

Spelled out site by site, as it was before there were groups, 680 sites with four updates each took
11.9 kB in a summary and 6.8 kB a pane in an acknowledgement, where one update took 148 and 132
bytes more than nothing.
"""

from __future__ import annotations

from functools import reduce
from random import Random

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.net.identity.signing import KeySignatures, MemoryKeys
from headwater.net.values.codec import Codec
from headwater.overlay.messages import AckMessage, SummaryMessage

SITES = 680
QUERY = make_query()
LIFE = 2**62
PANES = 10
"""Of which an acknowledgement speaks; what is alike of them shrinks to one."""


def coverage(first: int, last: int, *, closed_at: int | None, share: float = 1.0) -> Coverage:
    """All sites with these updates, or a share of them."""
    random = Random(first)
    each = (
        Coverage.of_group(n, LIFE + n, updates=((first, last),), closed_at=closed_at)
        for n in range(SITES)
        if random.random() < share
    )
    return reduce(Coverage.merge, each)


def summary_bytes(of: Coverage) -> int:
    """Beside what it takes with one site that closed empty."""
    empty = Coverage.of_empty(0, LIFE)
    one, none = (
        Summary(query="simulated@s0#1", pane=176_000_000, coverage=told, rows=b"", age_s=1.5)
        for told in (of, empty)
    )
    return len(_encoded(SummaryMessage(one))) - len(_encoded(SummaryMessage(none)))


def _encoded(message: SummaryMessage | AckMessage) -> bytes:
    return Codec(lambda _: None).encode(message)


def acknowledged(*said: Coverage, panes: int = PANES) -> Acknowledgement:
    """By a root that has heard of all sites, and has so many panes with this each."""
    root = RootDesk(QUERY, make_roster(SITES))
    for n in range(SITES):
        root.hear(
            SiteState(query=str(QUERY.id), ordinal=n, incarnation=LIFE + n, number=1, first_pane=0),
            now_s=1.0,
        )
    root.work(now_s=1.0)
    root.take_acks()
    for pane in range(panes):
        for one in said:
            root.receive(Summary(str(QUERY.id), pane, one, rows=(pane,)), now_s=12.0)
    root.work(now_s=20.0)
    return root.take_acks()[-1]


def ack_bytes(ack: Acknowledgement) -> int:
    """Signed, without greetings."""
    keys = MemoryKeys()
    own = keys.make("s0")
    signatures = KeySignatures("acme", own=lambda: own, others=keys, pack=lambda _, rows: rows)
    leaves = tuple(msgspec.structs.replace(leaf, greetings=()) for leaf in ack.leaves)
    bare = msgspec.structs.replace(ack, leaves=leaves)
    return len(_encoded(AckMessage(signatures.sign_ack(bare))))


def spelled_out(updates: int) -> Coverage:
    parts = (
        Coverage.of_part(n, LIFE + n, updates=((1, updates),), closed_at=updates)
        for n in range(SITES)
    )
    return reduce(Coverage.merge, parts)


@pytest.mark.parametrize(
    ("of", "most"),
    [
        (coverage(1, 1, closed_at=1), 100),
        (coverage(2, 2, closed_at=4), 120),
        (coverage(1, 4, closed_at=4), 120),
        (coverage(1, 1, closed_at=None), 120),
    ],
    ids=["one update", "the second of four", "all four", "an early one"],
)
def test_a_summary_of_680_sites_is_as_long_however_many_updates_they_have(
    of: Coverage, most: int
) -> None:
    assert summary_bytes(of) <= most


def test_spelled_out_it_would_be_a_hundred_times_as_long() -> None:
    assert summary_bytes(spelled_out(4)) > 10_000


def test_an_acknowledgement_of_held_panes_is_as_long_however_many_updates_they_have() -> None:
    one = acknowledged(coverage(1, 1, closed_at=1))
    four = acknowledged(*(coverage(n, n, closed_at=4) for n in (1, 2, 3, 4)))
    assert one.held == four.held == ((0, PANES - 1),)
    assert ack_bytes(four) <= ack_bytes(one) + 2


def test_early_updates_take_a_bitmap_for_each_that_has_sites_of_its_own() -> None:
    """Four early updates of open panes: in from all sites, and each from other ones."""
    none = ack_bytes(acknowledged())
    same = [coverage(n, n, closed_at=None) for n in (1, 2, 3, 4)]
    other = [coverage(n, n, closed_at=None, share=0.9) for n in (1, 2, 3, 4)]
    assert (ack_bytes(acknowledged(*same)) - none) / PANES <= 20
    assert ack_bytes(acknowledged(*same, panes=1)) - none <= 200
    assert ack_bytes(acknowledged(*other, panes=1)) - none <= 550


def test_a_close_that_lacks_one_update_of_some_sites_takes_three_bitmaps() -> None:
    said = [coverage(n, n, closed_at=4) for n in (1, 2, 4)]
    some = acknowledged(*said, coverage(3, 3, closed_at=4, share=0.9), panes=1)
    assert ack_bytes(some) - ack_bytes(acknowledged()) <= 450
