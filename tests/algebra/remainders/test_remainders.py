"""What keeping back costs, how it adds up, and how a bound is dealt out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.remainder import (
    NOTHING_WITHHELD,
    Remainder,
    Remainders,
    merge_remainders,
)
from headwater.algebra.remainders.withholding import Largest, allowed
from headwater.errors import ConfigurationError, WireError

REMAINDERS = st.builds(
    Remainder,
    largest=st.integers(0, 1_000).map(float),
    total=st.integers(-1_000, 1_000).map(float),
    keys=st.integers(0, 1_000),
)
TOLD = st.lists(REMAINDERS, max_size=3).map(tuple)
"""By column; of what members of other versions tell, columns may be lacking."""


def merged(parts: Sequence[Remainders]) -> Remainders:
    return reduce(merge_remainders, parts, ())


@given(st.lists(TOLD, max_size=6), st.data())
def test_remainders_merge_in_any_order_and_grouping(
    parts: list[Remainders], data: st.DataObject
) -> None:
    whole = merged(parts)
    cut = data.draw(st.integers(0, len(parts)))
    assert merged([merged(parts[cut:]), merged(parts[:cut])]) == whole
    assert merged([whole, (NOTHING_WITHHELD,) * len(whole)]) == whole


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("form", list(ErrorForm))
def test_a_bound_that_is_none_is_refused(form: ErrorForm, size: float) -> None:
    with pytest.raises(ConfigurationError):
        ErrorBound(form, size)


def test_a_share_of_more_than_everything_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="100 %"):
        ErrorBound(ErrorForm.TOTAL, 1.5)
    assert ErrorBound(ErrorForm.ABSOLUTE, 1.5).size == 1.5


def test_a_maximum_has_no_total_to_be_a_share_of() -> None:
    bound = ErrorBound(ErrorForm.TOTAL, 0.1)
    with pytest.raises(ConfigurationError, match="no total"):
        allowed(bound, Largest(), share=0.0, total=1.0, values=np.zeros(1))


@pytest.mark.parametrize(
    "told",
    [
        Remainder(-1.0, 0.0, 1),
        Remainder(float("nan"), 0.0, 1),
        Remainder(float("inf"), 0.0, 1),
        Remainder(1.0, float("nan"), 1),
        Remainder(1.0, 1.0, -1),
    ],
)
def test_a_remainder_that_no_site_can_mean_is_refused(told: Remainder) -> None:
    with pytest.raises(WireError):
        told.checked()


def test_a_minimum_of_sizes_is_sent_once_though_no_size_is_negative() -> None:
    """Another site may have sent an hour: only a ceiling bounds what a low value is worth."""
    never, low = np.array([-np.inf]), np.array([-3.0])
    assert Largest().error(never, low) == np.inf
    assert Largest(floor=-3_600.0).error(never, low) == 3_597.0


HUGE = Remainder(1.7e308, 1.7e308, (1 << 63) - 1, 1.7e308, share=1.0)


@pytest.mark.parametrize("other", [HUGE, msgspec.structs.replace(HUGE, total=-1.7e308)])
def test_what_two_liars_say_together_is_still_something_that_can_be_said(other: Remainder) -> None:
    """Else who carries it would be refused, or fail over it, in their place."""
    (merged,) = merge_remainders((other,), (merge_remainders((HUGE,), (other,))[0],))
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(merged), type=Remainder)
    assert read.checked() == merged
    assert merged.largest >= HUGE.largest
    assert merged.keys == HUGE.keys


def test_one_column_of_several_is_not_lost_where_another_has_said_nothing_of_it() -> None:
    both = (Remainder(1.0, 2.0, 3), Remainder(4.0, 5.0, 6))
    assert merge_remainders(both, both[:1])[1] == both[1]
    assert merge_remainders(both[:1], both)[1] == both[1]


def test_of_merged_remainders_all_is_told() -> None:
    one = Remainder(1.0, -2.0, 3, of=10.0, share=0.1)
    worst = Remainder(4.0, 6.0, 5, of=7.0, is_worst=True, share=0.3)
    assert one.merged(one) == Remainder(2.0, -4.0, 6, of=20.0, share=0.1)
    merged = Remainder(4.0, 4.0, 8, of=17.0, is_worst=True, share=0.3)
    assert one.merged(worst) == worst.merged(one) == merged
