"""What a member sends is bounded before it is read into objects.

Work is counted in bytes of objects: a message may cost so many for each of its own.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec
import pytest
import zstandard
from fuzz import examples
from query_kit import changed

from headwater.algebra.bounds import ORDINALS_MAX
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld, with_leaves
from headwater.algebra.words.site_state import SiteState
from headwater.net.refusal import Refused
from headwater.net.values.codec import COMPRESSED, Codec
from headwater.net.values.wire import WireState, wire_state
from headwater.net.values.words import command_word
from headwater.overlay.messages import AckMessage, CommandMessage, StatesMessage
from headwater.plan.command import Install
from headwater.plan.tree import Tree

BYTES_FREE = 32 << 20
BYTES_EACH = 8_000
"""Of objects: for any message, and for each byte of one."""
SITES = 10_000
FIELDS = WireState.__struct_fields__


def codec(sites: int = SITES) -> Codec:
    return Codec(lambda query: examples.SCHEMA, ordinals_max=sites)


def an_install(*trees: Tree, **changes: Any) -> Install:
    query = changed(examples.a_query(), **changes)
    return Install(query=query, trees=trees or (Tree(0, ((1, 0), (2, 1))),), roster_version=1)


def packed(kind: int, value: Any) -> bytes:
    """As a stranger writes it, who has looked for what shrinks best."""
    body = msgspec.msgpack.encode(value)
    return bytes((kind | COMPRESSED,)) + zstandard.ZstdCompressor(level=19).compress(body)


def trees_of(count: int, length: int) -> bytes:
    return planned([[0, [-1] + [0] * (length - 1)]] * count)


def planned(trees: list[Any], install: Install | None = None) -> bytes:
    """An install with such trees: its two words, unsigned."""
    install = install or an_install()
    plan = msgspec.msgpack.encode([str(install.query.id), 0, trees])
    return packed(5, [["install", [command_word(install)], [plan]]])


def many_ranges(count: int) -> bytes:
    """A state with all that one may have."""
    state = msgspec.to_builtins(
        wire_state(
            SiteState(query=examples.QUERY, ordinal=1, incarnation=9, number=4, first_pane=None)
        )
    )
    ranges = [[2 * n % 100, 2 * n % 100] for n in range(count)]
    named = zip(FIELDS, state, strict=True)
    word = [ranges if field == "empty" else value for field, value in named]
    return msgspec.msgpack.encode(word)


HEAD = [examples.QUERY, 1, 1, 1, [], [], None, b"\xff" * 64, b""]
"""Of an acknowledgement with as many leaves as there may be."""


def acknowledged(head: list[Any], *leaves: list[Any]) -> bytes:
    words = [[n, msgspec.msgpack.encode(leaf)] for n, leaf in enumerate(leaves)]
    return packed(4, [[msgspec.msgpack.encode(head)], 0.0, 0.0, words])


BOMBS = {
    "a few trees": trees_of(4, ORDINALS_MAX),
    "many trees": trees_of(250, ORDINALS_MAX),
    "many small trees": trees_of(400_000, 2),
    "a chain": planned([[0, [-1, *range(ORDINALS_MAX - 1)]]] * 4),
    "many sites": planned([[0, [-1, 0, 1]]], an_install(sites=("a",) * 4_000_000)),
    "many states": packed(3, [[[many_ranges(100_000)]] * 60]),
    "many ranges": acknowledged([examples.QUERY, 1, 1, 1, [[5, 5]] * 4_000_000]),
    "many leaves": acknowledged(HEAD, *[[[[5, 0]], b"x", [], []]] * 60_000),
    "a leaf of many panes": acknowledged(HEAD, [[[5, 1 << 60]], b"x" * 400_000, [], []]),
    "a leaf of no bits": acknowledged(HEAD, [[[5, 1 << 21]], b"", [], []]),
    "a leaf of many runs": acknowledged(HEAD, [[[2 * n, 0] for n in range(120_000)], b"x", [], []]),
    "a leaf of many greetings": acknowledged(HEAD, [[], b"", [[5, 5, 5]] * 400_000, []]),
    "many commands": packed(6, [{}, [], {f"q@alpha#{n}": 1 for n in range(60_000)}]),
    "many names to ask for": packed(7, [["x"] * 60_000]),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_message_costs_no_more_objects_than_its_bytes_allow(what: str) -> None:
    data = BOMBS[what]
    receiver = codec()
    tracemalloc.start()
    try:
        receiver.decode(data)
    except Refused:
        pass
    finally:
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak_bytes < BYTES_FREE + BYTES_EACH * len(data), f"{len(data)} bytes"


GOOD_LEAF = [[[5, 1]], b"ab", [[6, 3, 77, [[2, 3]]]], [[3, 9, 4]], [[3, 105, None]]]
LONG_HEAD = [*HEAD, None, [], [], [], None, False, [], None, []]
"""With all that comes before what it wants to know of the largest groups."""
BAD_ACKS = {
    "the largest from below nothing": acknowledged([*LONG_HEAD, [[5, 1, -1.0, b""]]]),
    "the largest of no value": acknowledged([*LONG_HEAD, [[5, 1, float("nan"), b""]]]),
    "half a group": acknowledged([*LONG_HEAD, [[5, 1, 1.0, b"x" * 6]]]),
    "groups out of order": acknowledged([*LONG_HEAD, [[5, 1, 1.0, b"\x02" * 4 + b"\x01" * 4]]]),
    "too many groups": acknowledged([*LONG_HEAD, [[5, 1, 1.0, b"x" * 4 * 1_025]]]),
    "too many panes": acknowledged([*LONG_HEAD, [[n, 1, 1.0, b""] for n in range(17)]]),
    "fewer digests than leaves": acknowledged([*HEAD[:-1], b"d" * 16]),
    "half a digest": acknowledged([*HEAD[:-1], b"d" * 63 * 16 + b"d" * 8]),
    "more leaves than there can be": acknowledged([*HEAD[:-2], b"\xff" * 65, b""]),
    "bits for half a pane": acknowledged(HEAD, [[[5, 1]], b"abc", [], []]),
    "bits beyond the leaf": acknowledged(HEAD, [[[5, 0]], b"x" * 33, [], []]),
    "bits of no pane": acknowledged(HEAD, [[], b"x", [], []]),
    "runs out of order": acknowledged(HEAD, [[[9, 0], [5, 0]], b"ab", [], []]),
    "an extra beyond the leaf": acknowledged(HEAD, [[], b"", [[6, 256, 77, [[2, 3]]]], []]),
    "a greeting beyond the leaf": acknowledged(HEAD, [[], b"", [], [[256, 9, 4]]]),
    "updates of sites beyond the leaf": acknowledged(
        HEAD, [[], b"", [], [], [], [[6, 1, 1, b"x" * 33]]]
    ),
    "updates that rise to below nothing": acknowledged(
        HEAD, [[], b"", [], [], [], [[6, 1, -1, b"x"]]]
    ),
    "a leaf twice": packed(
        4, [[msgspec.msgpack.encode(HEAD)], 0.0, 0.0, [[3, msgspec.msgpack.encode(GOOD_LEAF)]] * 2]
    ),
    "a leaf beyond the last": packed(
        4, [[msgspec.msgpack.encode(HEAD)], 0.0, 0.0, [[512, msgspec.msgpack.encode(GOOD_LEAF)]]]
    ),
}


@pytest.mark.parametrize("what", BAD_ACKS)
def test_an_acknowledgement_that_makes_no_sense_is_refused(what: str) -> None:
    with pytest.raises(Refused):
        codec().decode(BAD_ACKS[what])


def test_an_acknowledgement_that_makes_sense_is_read_by_its_leaves() -> None:
    asked = codec().decode(acknowledged([*LONG_HEAD, [[5, 1, 1.0, b"\x01" * 4 + b"\x02" * 4]]]))
    assert isinstance(asked, AckMessage)
    assert len(asked.ack.largest[0].keys) == 2
    message = codec().decode(acknowledged(HEAD, GOOD_LEAF, GOOD_LEAF))
    assert isinstance(message, AckMessage)
    assert [leaf.number for leaf in message.ack.leaves] == [0, 1]
    assert {held.pane: held.sites for held in message.ack.panes} == {
        5: ord("a") << 256 | ord("a"),
        6: ord("b") << 256 | ord("b"),
    }
    assert [one.ordinal for one in message.ack.extra] == [3, 259]
    assert [(one.ordinal, one.former_through) for one in message.ack.greetings] == [
        (3, 105),
        (259, 105),
    ]


@pytest.mark.parametrize("what", ["a few trees", "many trees", "many small trees", "a chain"])
def test_no_tree_is_made_of_more_members_than_there_are_sites(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Tree] = []
    monkeypatch.setattr(Tree, "__post_init__", made.append)
    with pytest.raises(Refused):
        codec().decode(BOMBS[what])
    assert made == []


def test_trees_of_a_large_federation_pass() -> None:
    pairs = tuple((child, child // 32) for child in range(1, SITES))
    install = an_install(*(Tree(0, pairs) for _ in range(4)))
    receiver = codec()
    data = receiver.encode(CommandMessage(install))
    assert receiver.decode(data) == CommandMessage(install)
    with pytest.raises(Refused, match="more members than this federation has sites"):
        codec(SITES - 1).decode(data)


def test_what_shrinks_too_well_travels_as_it_is_and_is_understood() -> None:
    """The honest sender of very regular words must not look like the other kind."""
    everyone = (1 << SITES) - 1
    ack = with_leaves(
        Acknowledgement(query=examples.QUERY, root_incarnation=8, number=3, done_through=100),
        panes=tuple(PaneHeld(n, everyone) for n in range(4_000)),
    )
    states = tuple(
        SiteState(query=examples.QUERY, ordinal=n, incarnation=9, number=4, first_pane=None)
        for n in range(64)
    )
    both = codec()
    for message in (AckMessage(ack), StatesMessage(states)):
        assert both.decode(both.encode(message)) == message
