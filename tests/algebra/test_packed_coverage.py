"""A coverage as bytes: what relays have left out is read back, and stops who does not know it."""

from __future__ import annotations

import msgspec
import pytest

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.remainders.remainder import Remainder

TOLD = Remainder(largest=2.0, total=3.0, keys=4, of=50.0)
MERGED = Coverage.of_whole(0, 7).merge(Coverage.of_empty(1, 7))


class Former(msgspec.Struct, frozen=True, array_like=True):
    """As agents of before read it."""

    whole: bytes
    empty: bytes
    tag: int
    parts: tuple[SitePart, ...] = ()
    withheld: tuple[Remainder, ...] = ()


@pytest.mark.parametrize("withheld", [(), (TOLD,)])
def test_what_was_left_out_is_read_back(withheld: tuple[Remainder, ...]) -> None:
    coverage = msgspec.structs.replace(MERGED, thinned=(TOLD,), withheld=withheld)
    packed = msgspec.msgpack.encode(PackedCoverage.of(coverage))
    assert msgspec.msgpack.decode(packed, type=PackedCoverage).coverage() == coverage


def test_who_does_not_know_it_refuses_it_and_reads_all_else_as_before() -> None:
    """Otherwise it would hold what is left for all that there is."""
    plain = msgspec.msgpack.encode(PackedCoverage.of(MERGED))
    assert msgspec.msgpack.decode(plain, type=Former).tag == MERGED.tag
    thinned = msgspec.structs.replace(MERGED, thinned=(TOLD,))
    packed = msgspec.msgpack.encode(PackedCoverage.of(thinned))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(packed, type=Former)


def test_pieces_that_meet_add_up_what_was_left_out_of_them() -> None:
    one = msgspec.structs.replace(MERGED, thinned=(TOLD,))
    other = msgspec.structs.replace(Coverage.of_whole(2, 7), thinned=(TOLD,))
    assert one.merge(other).thinned == (TOLD.merged(TOLD),)
    assert one.merge(Coverage.of_whole(2, 7)).thinned == (TOLD,)
