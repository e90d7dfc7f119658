"""An update of one site is proven on every hop: over its coverage, and over its rows as bytes."""

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from headwater.algebra.coverage import Coverage
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.route import Route
from headwater.algebra.summary import Lane, Summary
from headwater.net.identity.signing import KeySignatures, MemoryKeys
from headwater.net.refusal import Refused
from headwater.net.values.codec import Codec
from headwater.overlay.messages import SummaryMessage

QUERY = "hits@alpha#1"
SCHEMA = pa.schema([("key", pa.string()), ("n", pa.int64())])
ROWS = pa.table({"key": ["a", None, "c"], "n": [1, 2, None]}, schema=SCHEMA)
PART = Coverage.of_part(3, 99, updates=((2, 2),), closed_at=2)
UPDATE = Summary(query=QUERY, pane=17, coverage=PART, rows=ROWS, lane=Lane.SPARE)
CODEC = Codec(lambda _: SCHEMA)


@pytest.fixture
def keys() -> MemoryKeys:
    return MemoryKeys()


def signer(keys: MemoryKeys, site: str, federation: str = "testland") -> KeySignatures:
    own = keys.make(site)
    return KeySignatures(federation, own=lambda: own, others=keys, pack=CODEC.rows.encode)


def over_the_wire(summary: Summary, codec: Codec = CODEC) -> Summary:
    came = codec.decode(codec.encode(SummaryMessage(summary)))
    assert isinstance(came, SummaryMessage)
    return came.summary


def test_an_update_is_proven_after_any_number_of_hops(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    came = alpha.sign_update(UPDATE)
    first = over_the_wire(came)
    for _ in range(3):
        came = over_the_wire(came)
        assert came.rows.equals(ROWS)
        assert bravo.is_update_of("alpha", came)
    assert came.proof == first.proof, "the same bytes are handed on"


def test_the_bytes_that_were_signed_are_handed_on_also_where_another_library_would_write_others(
    keys: Any,
) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    signed = over_the_wire(alpha.sign_update(UPDATE))
    between = Codec(lambda _: SCHEMA)
    between.rows.encode = lambda query, rows: b"other bytes"  # type: ignore[method-assign]
    assert bravo.is_update_of("alpha", over_the_wire(signed, between))


def test_who_does_not_know_the_query_hands_it_on_and_can_look_at_it(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    stranger = Codec(lambda _: None)
    between = over_the_wire(alpha.sign_update(UPDATE), stranger)
    assert isinstance(between.rows, bytes)
    assert bravo.is_update_of("alpha", between)
    came = CODEC.decode(stranger.encode(SummaryMessage(between)))
    assert bravo.is_update_of("alpha", came.summary)


def test_a_close_without_rows_is_proven(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    signed = over_the_wire(
        alpha.sign_update(Summary(query=QUERY, pane=17, coverage=Coverage.of_empty(3, 99)))
    )
    assert bravo.is_update_of("alpha", signed)


def test_what_grows_on_the_way_is_no_part_of_it(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    moved = msgspec.structs.replace(
        alpha.sign_update(UPDATE),
        age_s=7.5,
        lane=Lane.BACKLOG,
        route=Route(tree=2, levels=(1,), downs=3),
        plan_version=4,
    )
    assert bravo.is_update_of("alpha", over_the_wire(moved))


@pytest.mark.parametrize(
    "change",
    [
        {"query": "hits@alpha#2"},
        {"pane": 18},
        {"coverage": Coverage.of_part(4, 99, updates=((2, 2),), closed_at=2)},
        {"coverage": Coverage.of_part(3, 98, updates=((2, 2),), closed_at=2)},
        {"coverage": Coverage.of_part(3, 99, updates=((1, 2),), closed_at=2)},
        {"coverage": Coverage.of_part(3, 99, updates=((2, 2),), closed_at=3)},
        {"coverage": Coverage.of_part(3, 99, updates=((2, 2),), closed_at=None)},
        {"coverage": Coverage.of_whole(3, 99)},
        {"coverage": Coverage.of_empty(3, 99)},
        {"proof": None},
    ],
    ids=lambda change: str(next(iter(change.items())))[:60],
)
def test_an_update_of_which_something_was_changed_is_not_its_sites(keys: Any, change: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    changed = msgspec.structs.replace(alpha.sign_update(UPDATE), **change)
    assert not bravo.is_update_of("alpha", changed)


def test_rows_that_were_changed_or_left_out_are_not_its_sites(keys: Any) -> None:
    """On the wire there are only the bytes, and the rows are made of them."""
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    signed = alpha.sign_update(UPDATE)
    assert signed.proof is not None
    for packed in (CODEC.rows.encode(QUERY, ROWS.slice(1)), None):
        proof = msgspec.structs.replace(signed.proof, packed=packed)
        lie = over_the_wire(msgspec.structs.replace(signed, proof=proof))
        assert not bravo.is_update_of("alpha", lie)


def test_nobody_signs_an_update_of_another_and_no_other_word_passes_for_one(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    elsewhere = signer(keys, "alpha", "elsewhere")
    assert not bravo.is_update_of("alpha", bravo.sign_update(UPDATE))
    assert not bravo.is_update_of("bravo", alpha.sign_update(UPDATE))
    assert not bravo.is_update_of("alpha", elsewhere.sign_update(UPDATE))
    for signature in (b"", b"\0" * 64, b"short"):
        signed = alpha.sign_update(UPDATE)
        bad = msgspec.structs.replace(signed.proof, signature=signature)
        assert not bravo.is_update_of("alpha", msgspec.structs.replace(signed, proof=bad))


def test_a_part_of_a_states_panes_is_its_sites_and_further_ones_are_not(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    signed = alpha.sign_update(msgspec.structs.replace(UPDATE, lane=Lane.LIVE, more=5))
    part = over_the_wire(over_the_wire(signed).at(19, 20))
    assert (part.pane, part.more) == (19, 1)
    assert bravo.is_update_of("alpha", part)
    assert not bravo.is_update_of("alpha", msgspec.structs.replace(part, more=4))
    assert not bravo.is_update_of("alpha", msgspec.structs.replace(part, pane=16))


def test_rows_that_can_not_travel_are_left_unsigned(keys: Any) -> None:
    alpha = signer(keys, "alpha")
    other = pa.table({"other": [1]})
    assert alpha.sign_update(msgspec.structs.replace(UPDATE, rows=other)).proof is None


KEPT = Remainder(largest=3.0, total=5.0, keys=2, of=100.0)


def keeping(*kept: Remainder) -> Summary:
    return msgspec.structs.replace(UPDATE, coverage=msgspec.structs.replace(PART, withheld=kept))


def test_what_a_site_has_kept_back_is_its_signed_word(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    came = over_the_wire(alpha.sign_update(keeping(KEPT)))
    assert came.coverage.withheld == (KEPT,)
    assert bravo.is_update_of("alpha", came)
    for kept in ((), (msgspec.structs.replace(KEPT, largest=1.0),)):
        less = msgspec.structs.replace(came, coverage=keeping(*kept).coverage)
        assert not bravo.is_update_of("alpha", less)


def test_where_nothing_is_kept_back_a_coverage_has_the_bytes_that_it_always_had() -> None:
    packed = msgspec.msgpack.encode(PackedCoverage.of(PART))
    assert packed == msgspec.msgpack.encode([b"", b"", 0, [[3, 99, [[2, 2]], 2]]])
    assert msgspec.msgpack.decode(packed, type=PackedCoverage).coverage() == PART


@pytest.mark.parametrize(
    "wrong",
    [
        {"largest": float("nan")},
        {"largest": -1.0},
        {"total": float("inf")},
        {"keys": -1},
        {"keys": 1 << 63},
        {"of": -5.0},
    ],
)
def test_a_remainder_that_nobody_can_mean_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(Refused, match="remainder: wanted"):
        over_the_wire(keeping(msgspec.structs.replace(KEPT, **wrong)))
