"""Which share holds for a query: as its settings say, from the first summary of their pane on."""

from __future__ import annotations

import pytest

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.overlay.links.byte_budget import Traffic
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.links.query_spending import QuerySpending
from headwater.plan.altered.link_share import EVEN, LinkShare, least_bytes_per_s

FIRST, SECOND, THIRD = LinkShare(2.0), LinkShare(3.0), LinkShare(4.0, 10_000.0)


def test_a_later_share_holds_from_the_first_summary_of_its_pane() -> None:
    shares = QueryShares()
    shares.know("q", FIRST, ((10, SECOND), (20, THIRD)))
    found = []
    for pane in (5, 9, 10, 7, 25, 3):
        shares.passes("q", pane)
        found.append(shares.of("q"))
    assert found == [FIRST, FIRST, SECOND, SECOND, THIRD, THIRD]


def test_of_two_whose_pane_has_come_the_higher_number_holds() -> None:
    shares = QueryShares()
    shares.know("q", FIRST, ((20, SECOND), (10, THIRD)))
    for pane in (12, 25):
        shares.passes("q", pane)
        assert shares.of("q") == THIRD


def test_one_that_is_told_late_holds_at_once_where_its_pane_has_passed() -> None:
    shares = QueryShares()
    shares.know("q", FIRST, ())
    shares.passes("q", 30)
    shares.passes("q", 5)
    shares.know("q", FIRST, ((20, SECOND),))
    assert shares.of("q") == SECOND
    shares.forget("q")
    assert shares.of("q") == EVEN
    assert "q" not in shares


@pytest.mark.parametrize(
    "share",
    [
        LinkShare(0.0),
        LinkShare(-1.0),
        LinkShare(float("nan")),
        LinkShare(float("inf")),
        LinkShare(1e6),
        LinkShare(1.0, 0.0),
        LinkShare(1.0, float("nan")),
        LinkShare(1.0, float("inf")),
    ],
)
def test_a_share_that_is_none_is_named(share: LinkShare) -> None:
    assert share.fault()


def test_the_least_budget_grows_as_panes_get_shorter() -> None:
    rates = [least_bytes_per_s(pane_s) for pane_s in (0.1, 1.0, 10.0, 3_600.0)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 7_000
    assert not EVEN.fault()


def test_a_level_goes_on_the_account_of_its_query_while_that_is_known() -> None:
    shares, level, full = QueryShares(), "hits_5_seconds@a#2", "hits@a#1"
    seconds, fives = WindowSpec(MICROS, MICROS), WindowSpec(5 * MICROS, 5 * MICROS)
    shares.know(level, FIRST, (), window=fives, stands_for=full)
    assert shares.account(level) == level
    shares.know(full, THIRD, ((12, SECOND),), window=seconds)
    assert (shares.account(level), shares.account(full)) == (full, full)
    assert shares.of(level) == THIRD
    shares.passes(level, 2)
    assert shares.of(level) == shares.of(full) == THIRD
    shares.passes(level, 3)
    assert shares.of(level) == shares.of(full) == SECOND, "from second 15 on, of either"
    shares.forget(full)
    assert shares.of(level) == FIRST


def test_what_a_level_has_sent_is_gone_from_the_budget_of_its_query() -> None:
    shares, level, full = QueryShares(), "hits_5_seconds@a#2", "hits@a#1"
    shares.know(full, THIRD, ())
    shares.know(level, THIRD, (), stands_for=full)
    spending = QuerySpending(shares)
    for query in (full, level):
        assert spending.room(query, Traffic.LIVE, 1_000, now_s=100.0) > 0.0
    spending.spend(level, Traffic.LIVE, 1_000_000.0, now_s=100.0)
    for query in (full, level):
        assert spending.room(query, Traffic.LIVE, 1_000, now_s=100.0) == 0.0
