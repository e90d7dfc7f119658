"""A pane with more rows than a query may send of it: declined whole, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from edge_site import EdgeSite
from query_kit import queries_in
from store_kit import QUERY, CubeUser, counts_of

from headwater.agent.query_book import QueryBook
from headwater.algebra.words.site_state import Declined, Reason
from headwater.store.cube.retention import RetentionConfig
from headwater.store.cube.row_limit import RowLimit

LIMIT = RowLimit(3, "write approx_count_distinct(x)")
OVER = Declined(first=101, last=101, reason=Reason.LIMIT)
OTHER = "other@home#2"
SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


@pytest.fixture
def limited(open_cube: Callable[..., CubeUser]) -> CubeUser:
    """A cube in which one query has a limit, and the other has none."""
    opened = open_cube(
        retention=RetentionConfig(retention_s=1e9),
        limit_of=lambda query: LIMIT if query == QUERY else None,
    )
    opened.install()
    opened.install(OTHER)
    return opened


def pages(pane: int, count: int, first: int = 0) -> list[tuple[int, str, int]]:
    return [(pane, f"/{page}", 1) for page in range(first, first + count)]


def close(site: EdgeSite) -> None:
    """Of pane 101, after a restart, from which the edge knows that rows wait."""
    site.user.reopen()
    site.start(now_s=1_005.0)
    site.close(101)


def test_a_pane_over_the_limit_is_declined_whole_and_the_state_says_what_to_write(
    limited: CubeUser,
) -> None:
    site = EdgeSite(limited)
    limited.commit(*pages(101, 2))
    limited.commit(*pages(101, 2, first=2))
    close(site)
    assert not [send for send in site.sends if send.pane == 101], "no part of it passes for all"
    said = site.states[-1]
    assert OVER in said.declined
    assert said.message == LIMIT.words(4)
    assert "a pane has 4 rows, and this site sends at most 3" in said.message
    assert "write approx_count_distinct(x)" in said.message
    assert 101 not in dict(said.counts)


def test_a_pane_that_was_declined_stays_so_after_a_restart(limited: CubeUser) -> None:
    site = EdgeSite(limited)
    limited.commit(*pages(101, 4))
    close(site)
    limited.reopen()
    (kept,) = (one for one in limited.cube.restore() if one.query == QUERY)
    assert OVER in kept.record.declined
    site.sends.clear()
    site.start(now_s=2_000.0)
    site.tick(now_s=2_000.0)
    limited.commit((101, "/late", 1))
    site.close(102)
    assert OVER in site.states[-1].declined
    assert not [send for send in site.sends if send.pane == 101]


def test_a_pane_at_the_limit_is_sent_and_whole(limited: CubeUser) -> None:
    site = EdgeSite(limited)
    limited.commit(*pages(101, 3))
    limited.commit(*pages(101, 3))
    close(site)
    (send,) = [send for send in site.sends if send.pane == 101]
    assert send.coverage.parts[0].closed_at == 1
    assert site.states[-1].message == ""
    assert OVER not in site.states[-1].declined
    assert counts_of(limited.cube.rows(QUERY, 101, ((1, 1),))) == {"/0": 2, "/1": 2, "/2": 2}


def test_what_was_sent_before_counts_and_stays(limited: CubeUser) -> None:
    limited.commit(*pages(101, 2))
    limited.make_updates(101)
    limited.commit(*pages(101, 2, first=2))
    (made,) = limited.make_updates(101)
    assert made.over == LIMIT.words(4)
    assert made.last_update == 1
    assert counts_of(limited.cube.rows(QUERY, 101, ((1, 1),))) == {"/0": 1, "/1": 1}


def test_other_panes_and_other_queries_are_not_touched(limited: CubeUser) -> None:
    for query in (QUERY, OTHER):
        limited.commit(*pages(101, 5), *pages(102, 1), query=query)
    over, under = limited.make_updates(101, 102)
    assert over.over
    assert (under.over, under.first_update, under.last_update) == ("", 1, 1)
    others = limited.make_updates(101, 102, query=OTHER)
    assert [(one.over, one.last_update) for one in others] == [("", 1), ("", 1)]
    assert len(counts_of(limited.cube.rows(OTHER, 101, ((1, 1),)))) == 5
    declined = {one.query: one.record.declined for one in limited.cube.restore()}
    assert declined == {QUERY: (OVER,), OTHER: ()}


@pytest.mark.parametrize(
    ("select", "instead"),
    [
        ("SELECT count(DISTINCT word) AS n FROM r GROUP BY window(ts, '1 minute')", "approx_count"),
        ("SELECT window(ts, '1 minute'), word FROM r", "write ORDER BY … LIMIT"),
        ("SELECT DISTINCT window(ts, '1 minute'), word FROM r", "write ORDER BY … LIMIT"),
        ("SELECT window(ts, '1 minute'), word FROM r ORDER BY word LIMIT 3", None),
        ("SELECT count(*) AS n FROM r GROUP BY window(ts, '1 minute'), word", None),
    ],
)
def test_values_and_rows_have_the_limit_of_the_configuration_and_groups_have_none(
    select: str, instead: str | None
) -> None:
    (query,) = queries_in(f"{SOURCE} CREATE STREAM s AS {select};")
    book = QueryBook(growing_rows_max=7)
    book.add(query)
    limit = book.row_limit(str(query.id))
    assert (limit is None) == (instead is None)
    if limit is not None and instead is not None:
        assert limit.rows_max == 7
        assert instead in limit.words(8)
