"""What a cube keeps back of a pane under an error, over a real disk and an edge."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from edge_site import EdgeSite
from store_kit import QUERY, CubeUser, counts_of

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance, Rehearsed
from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.store.cube.retention import RetentionConfig

PAGES = [(101, "/big", 90), (101, "/small", 4), (101, "/tiny", 1), (101, "/large", 105)]
KEPT = (Remainder(largest=4.0, total=5.0, keys=2, of=200.0),)
PARTIAL = "n"


def tolerance(finally_: Finally) -> Tolerance:
    return Tolerance((ToleratedColumn("hits", PARTIAL, ErrorForm.TOTAL, 0.02),), finally_)


@pytest.fixture(params=list(Finally))
def finally_(request: pytest.FixtureRequest) -> Finally:
    return Finally(request.param)


@pytest.fixture
def user(open_cube: Callable[..., CubeUser], finally_: Finally) -> CubeUser:
    opened = open_cube(
        retention=RetentionConfig(retention_s=1e9),
        allowance_of=lambda query, pane: Allowance(tolerance(finally_), 1),
    )
    opened.install()
    return opened


def test_the_first_update_leaves_out_what_does_not_matter(user: CubeUser) -> None:
    user.commit(*PAGES)
    (made,) = user.make_updates(101)
    assert (made.first_update, made.last_update) == (1, 1)
    assert made.withheld == KEPT
    assert counts_of(user.cube.rows(QUERY, 101, ((1, 1),))) == {"/big": 90, "/large": 105}


def test_late_records_bring_what_is_owed_and_leave_what_stays(
    user: CubeUser, finally_: Finally
) -> None:
    user.commit(*PAGES)
    user.make_updates(101)
    user.commit((101, "/tiny", 2))
    (made,) = user.make_updates(101)
    assert made.withheld == ()
    assert (made.first_update, made.last_update) == (2, 2)
    late = counts_of(user.cube.rows(QUERY, 101, ((2, 2),)))
    assert late == ({"/small": 4, "/tiny": 3} if finally_ is Finally.EXACT else {"/tiny": 2})


def test_a_restart_knows_what_was_kept_back(user: CubeUser, finally_: Finally) -> None:
    user.commit(*PAGES)
    user.make_updates(101)
    user.reopen()
    (pane,) = user.cube.restore()[0].panes
    assert pane.withheld == (1, KEPT)
    assert pane.owes_rest is (finally_ is Finally.EXACT)
    assert pane.waiting_rows == 0
    (made,) = user.make_updates(101)
    rest = {"/small": 4, "/tiny": 1} if finally_ is Finally.EXACT else None
    if rest is None:
        assert made.last_update < made.first_update
    else:
        assert counts_of(user.cube.rows(QUERY, 101, ((2, 2),))) == rest


def test_of_a_pane_that_was_closed_nothing_more_is_kept_back(user: CubeUser) -> None:
    user.commit((101, "/big", 90))
    user.make_updates(101)
    user.commit((101, "/late", 500), (101, "/small", 1), (101, "/tiny", 1))
    (made,) = user.make_updates(101)
    assert made.withheld == ()
    late = counts_of(user.cube.rows(QUERY, 101, ((2, 2),)))
    assert late == {"/late": 500, "/small": 1, "/tiny": 1}


def test_of_several_updates_the_last_tells_it(
    open_cube: Callable[..., CubeUser], finally_: Finally
) -> None:
    user = open_cube(
        summary_bytes_max=64, allowance_of=lambda query, pane: Allowance(tolerance(finally_), 1)
    )
    user.install()
    user.commit(*PAGES, (101, "/huge", 800), (101, "/wide", 700))
    (made,) = user.make_updates(101)
    assert made.last_update > 1
    user.reopen()
    (pane,) = user.cube.restore()[0].panes
    assert pane.withheld == (made.last_update, made.withheld)
    site = EdgeSite(user)
    site.query = msgspec.structs.replace(site.query, tolerance=tolerance(finally_))
    site.start(now_s=1_005.0)
    site.close(101)
    told = [one.coverage.withheld for one in site.sends if one.pane == 101]
    assert told == [()] * (made.last_update - 1) + [made.withheld]


def test_what_is_owed_follows_when_the_rest_has_arrived_and_holds_up_the_seal(
    user: CubeUser, finally_: Finally
) -> None:
    site = EdgeSite(user)
    timing = msgspec.structs.replace(site.query.timing, lateness_s=20.0)
    site.query = msgspec.structs.replace(site.query, tolerance=tolerance(finally_), timing=timing)
    user.commit(*PAGES)
    user.reopen()
    site.start(now_s=1_005.0)
    site.close(101)
    is_owed = finally_ is Finally.EXACT
    assert [one.updates for one in site.sends if one.pane == 101] == [((1, 1),)]
    site.close(110)
    assert (site.states[-1].sealed_through <= 101) is is_owed
    head = Acknowledgement(
        str(site.query.id), 50, number=1, done_through=100, listed=((-FOREVER, FOREVER),)
    )
    held = PaneHeld(pane=101, sites=1 << 1)
    site.edge.receive_ack(with_leaves(head, panes=(held,)), now_s=1_300.0)
    site.tick(now_s=1_300.0)
    site.tick(now_s=1_301.0)
    follows = [one for one in site.sends if one.pane == 101][1:]
    assert [one.updates for one in follows] == ([((2, 2),)] if is_owed else [])
    assert all(one.lane is Lane.BACKLOG for one in follows)


def test_it_is_told_with_the_close_and_again_after_a_restart(
    user: CubeUser, finally_: Finally
) -> None:
    site = EdgeSite(user)
    site.query = msgspec.structs.replace(site.query, tolerance=tolerance(finally_))
    user.commit(*PAGES)
    user.reopen()
    site.start(now_s=1_005.0)
    site.close(101)
    (sent,) = [one for one in site.sends if one.pane == 101]
    assert sent.coverage.withheld == KEPT


def test_retention_takes_what_is_owed_for_not_acknowledged(
    open_cube: Callable[..., CubeUser], finally_: Finally
) -> None:
    """Of an acknowledged pane it declines what it drops if that was owed, and says nothing of
    what nobody waits for."""
    user = open_cube(
        retention=RetentionConfig(retention_s=50.0),
        allowance_of=lambda query, pane: Allowance(tolerance(finally_), 1),
    )
    user.install()
    user.commit(*PAGES)
    user.make_updates(101, sent=True)
    user.cube.manifest.run("UPDATE panes SET is_acked = 1")
    user.clock.now_s += 1_000.0
    retained = user.cube.retention(now_s=user.clock())
    assert retained.declined == (((QUERY, 101),) if finally_ is Finally.EXACT else ())


def test_what_is_rehearsed_is_sent_and_counted(
    open_cube: Callable[..., CubeUser], finally_: Finally
) -> None:
    user = open_cube(
        allowance_of=lambda query, pane: Allowance(tolerance(finally_), 1, is_rehearsed=True)
    )
    user.install()
    user.commit(*PAGES, (102, "/alone", 3))
    first, second = user.make_updates(101, 102)
    assert first.withheld == second.withheld == ()
    assert len(counts_of(user.cube.rows(QUERY, 101, ((1, 1),)))) == len(PAGES)
    assert user.cube.rehearsed(QUERY) == {101: Rehearsed(4, 2, KEPT), 102: Rehearsed(1)}


def test_of_a_pane_in_which_nothing_matters_an_update_without_rows_tells_the_remainder(
    open_cube: Callable[..., CubeUser], finally_: Finally
) -> None:
    """It is no empty close: what was kept back belongs to it, and so the site is in."""
    column = ToleratedColumn("hits", PARTIAL, ErrorForm.ABSOLUTE, 1_000.0)
    user = open_cube(
        retention=RetentionConfig(retention_s=1e9),
        allowance_of=lambda query, pane: Allowance(Tolerance((column,), finally_, sites=1), 1),
    )
    user.install()
    user.commit(*PAGES)
    user.reopen()
    site = EdgeSite(user)
    site.start(now_s=1_005.0)
    site.close(101)
    (sent,) = [one for one in site.sends if one.pane == 101]
    (part,) = sent.coverage.parts
    assert (part.updates, part.closed_at) == (((1, 1),), 1)
    assert counts_of(user.cube.rows(QUERY, 101, ((1, 1),))) == {}
    (kept,) = sent.coverage.withheld
    assert (kept.largest, kept.total, kept.keys) == (105.0, 200.0, 4)
