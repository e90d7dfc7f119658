"""What keeping back costs, how it adds up, and how a bound is dealt out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.remainder import (
    NOTHING_WITHHELD,
    Adding,
    Owed,
    Remainder,
    still_owed,
)
from headwater.algebra.remainders.withholding import Added, Largest, allowed
from headwater.errors import ConfigurationError, WireError

REMAINDERS = st.builds(
    Remainder,
    largest=st.integers(0, 1_000).map(float),
    total=st.integers(-1_000, 1_000).map(float),
    keys=st.integers(0, 1_000),
)
ADDINGS = st.sampled_from(
    [Adding(ErrorBound(form, 0.5), rule) for form in ErrorForm for rule in (Added(), Largest())]
)


@given(ADDINGS, st.lists(REMAINDERS, max_size=6), st.data())
def test_remainders_merge_in_any_order_and_grouping(
    adding: Adding, parts: list[Remainder], data: st.DataObject
) -> None:
    whole = adding.merge(parts)
    cut = data.draw(st.integers(0, len(parts)))
    assert adding.merge([adding.merge(parts[cut:]), adding.merge(parts[:cut])]) == whole
    assert adding.merge([whole, NOTHING_WITHHELD]) == whole


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


def test_a_bound_is_given_back_whole() -> None:
    piece = Owed(frozenset({1, 2}), Remainder(5.0, 7.0, 2))
    assert still_owed([piece], sent_rest={1}) == [piece.remainder]
    assert still_owed([piece], sent_rest={1, 2, 3}) == []
