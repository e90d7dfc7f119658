"""What a coarse window is made of: sites at a level, at full fidelity, and at both.

::

    full     |  0  |  1  |  2  |    panes of 10 s; rows of site s in pane p are 10 s + p
    level    |        0        |    of 30 s; rows of site s are 100 s + 0 … 2
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pane_kit import FULL, RootDesk, level_of, make_roster, part, state, whole

from headwater.algebra.words.site_state import Declined, PaneState, Reason
from headwater.plan.query import Query
from headwater.root.said.awaited import awaited_window
from headwater.root.said.envelope import Trigger
from headwater.root.said.view import explain

LIFE = 77
END_S = 30.0


class Desks:
    """The roots of a query and of its levels, at one site."""

    def __init__(self, levels: Iterable[Query] = (level_of(FULL),), *, sites: int = 3) -> None:
        self.roster = make_roster(sites)
        self.full = RootDesk(FULL, self.roster, now_s=0.0)
        self.levels = [RootDesk(query, self.roster, now_s=0.0) for query in levels]
        self.sites = sites
        desks = [self.full, *self.levels]
        for desk in desks:
            desk.beside = {str(one.query.id): one.disk for one in desks}
        self.join()
        for desk in (self.full, *self.levels):
            self.hear(desk, now_s=0.0)
            desk.work(now_s=1.0)

    def join(self) -> None:
        roots = [desk.root for desk in self.levels]
        self.full.root.stand_beside(followers=roots, finer=[])
        for at, root in enumerate(roots):
            root.stand_beside(followers=roots[at + 1 :], finer=[self.full.root, *roots[:at]])

    @property
    def level(self) -> RootDesk:
        return self.levels[0]

    def hear(self, desk: RootDesk, *, now_s: float, number: int = 1, **fields: object) -> None:
        sites = range(self.sites)
        said = [state(desk.query, s, of=LIFE, number=number, **fields) for s in sites]
        desk.hear(*said, now_s=now_s)

    def fine(self, *sites: int, panes: Iterable[int] = range(3), now_s: float) -> None:
        for site in sites:
            for pane in panes:
                rows = [10 * site + pane]
                self.full.receive(whole(FULL, pane, site, rows, of=LIFE), now_s=now_s)

    def coarse(self, *sites: int, now_s: float, pane: int = 0) -> None:
        query = self.level.query
        for site in sites:
            rows = [100 * site + n for n in range(3)]
            self.level.receive(whole(query, pane, site, rows, of=LIFE), now_s=now_s)

    def work(self, now_s: float) -> None:
        self.full.work(now_s=now_s)
        for level in self.levels:
            level.work(now_s=now_s)

    def seal(self, now_s: float) -> None:
        self.hear(self.full, now_s=now_s, number=9, sealed_through=3)
        for level in self.levels:
            self.hear(level, now_s=now_s, number=9, sealed_through=1)
        self.work(now_s + 1.0)
        self.work(now_s + 5.0)

    def rows(self) -> list[int]:
        return sorted(self.level.newest(0).rows)


def test_a_window_that_nobody_takes_is_not_answered() -> None:
    desks = Desks()
    desks.fine(0, 1, 2, now_s=31.0)
    desks.work(60.0)
    assert not desks.level.published
    assert awaited_window(desks.level.root, now_s=60.0) is None, "nobody waits for it"
    assert "No site is at this level in it" in " ".join(explain(desks.level.root, 0).awaited)


def test_a_window_that_somebody_takes_is_awaited() -> None:
    desks = Desks()
    desks.fine(0, now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(32.0)
    found = awaited_window(desks.level.root, now_s=32.0)
    assert found is not None
    assert (found.window, found.missing_count) == (0, 1)
    assert "No site is at this level" not in " ".join(explain(desks.level.root, 0).awaited)


def test_coarse_panes_and_finer_ones_rolled_up_make_one_window() -> None:
    desks = Desks()
    desks.fine(0, 1, now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(32.0)
    envelope = desks.level.newest(0).envelope
    assert (envelope.covered, envelope.expected, envelope.levels) == (3, 3, (0, 1))
    assert envelope.trigger is Trigger.COMPLETE
    assert envelope.exact
    assert desks.rows() == [0, 1, 2, 10, 11, 12, 200, 201, 202]
    (degraded,) = envelope.degraded
    assert (degraded.site, degraded.level, degraded.panes) == ("s2", 1, ((0, 0),))


def test_a_site_that_is_silent_is_awaited_to_the_deadline() -> None:
    desks = Desks()
    desks.fine(0, now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(39.0)
    assert not desks.level.published
    desks.work(41.0)
    envelope = desks.level.newest(0).envelope
    assert (envelope.covered, envelope.trigger) == (2, Trigger.DEADLINE)
    (missing,) = envelope.missing
    assert (missing.site, missing.state) == ("s1", PaneState.UNKNOWN)


def test_a_site_that_has_sent_a_part_of_its_finer_panes_is_missing() -> None:
    desks = Desks()
    desks.fine(0, now_s=31.0)
    desks.fine(1, panes=(0, 1), now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(41.0)
    envelope = desks.level.newest(0).envelope
    assert envelope.covered == 2
    assert [one.site for one in envelope.missing] == ["s1"]


def test_a_missing_site_is_named_with_the_first_cause_and_not_with_the_last() -> None:
    desks = Desks()
    desks.fine(0, now_s=31.0)
    gone = Declined(0, 1, Reason.FAILED)
    desks.full.hear(state(FULL, 1, of=LIFE, number=5, declined=(gone,)), now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(41.0)
    (missing,) = desks.level.newest(0).envelope.missing
    assert (missing.site, missing.state, missing.reason) == ("s1", PaneState.DECLINED, "failed")


def test_where_one_series_knows_no_cause_the_next_one_is_asked() -> None:
    desks = Desks()
    desks.fine(0, 2, now_s=31.0)
    desks.fine(1, panes=(0,), now_s=31.0)
    gone = Declined(1, 2, Reason.FAILED)
    desks.full.hear(state(FULL, 1, of=LIFE, number=5, declined=(gone,)), now_s=31.0)
    desks.coarse(1, now_s=31.0)
    desks.work(41.0)
    envelope = desks.level.newest(0).envelope
    (missing,) = envelope.missing
    assert envelope.levels == (0,), "what s1 has sent in whole overlaps with what it sent finer"
    assert (missing.site, missing.state, missing.reason) == ("s1", PaneState.DECLINED, "failed")


def answered() -> Desks:
    desks = Desks()
    desks.fine(0, 1, now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(32.0)
    return desks


@pytest.mark.parametrize("panes", [(0,), (0, 1, 2)])
def test_what_follows_is_not_counted_beside_what_stood_for_it(panes: tuple[int, ...]) -> None:
    desks = answered()
    desks.fine(2, panes=panes, now_s=40.0)
    desks.work(50.0)
    assert desks.level.newest(0).envelope.revision == 1


def test_when_all_is_sealed_the_window_is_made_of_what_has_followed() -> None:
    desks = answered()
    desks.fine(2, now_s=40.0)
    desks.seal(50.0)
    envelope = desks.level.newest(0).envelope
    assert (envelope.levels, envelope.final, envelope.exact) == ((0,), True, True)
    assert not envelope.degraded
    assert desks.rows() == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_where_nothing_follows_the_coarse_pane_counts_for_ever() -> None:
    desks = answered()
    gone = Declined(0, 2, Reason.COARSE)
    said = state(FULL, 2, of=LIFE, number=5, declined=(gone,))
    desks.full.hear(said, now_s=35.0)
    desks.hear(desks.level, now_s=50.0, number=9, sealed_through=1)
    for site in range(3):
        declined = (gone,) if site == 2 else ()
        desks.full.hear(
            state(FULL, site, of=LIFE, number=9, sealed_through=3, declined=declined), now_s=50.0
        )
    desks.work(51.0)
    desks.work(55.0)
    envelope = desks.level.newest(0).envelope
    assert (envelope.levels, envelope.final, envelope.covered) == ((0, 1), True, 3)


def test_a_coarse_decline_is_no_end_of_waiting() -> None:
    """The site says that its finer panes never come before its coarse one is here."""
    desks = Desks()
    desks.fine(0, 1, now_s=31.0)
    gone = Declined(0, 2, Reason.COARSE)
    desks.full.hear(state(FULL, 2, of=LIFE, number=5, declined=(gone,)), now_s=31.0)
    counted = state(desks.level.query, 2, of=LIFE, number=5, counts=((0, 1),))
    desks.level.hear(counted, now_s=31.0)
    desks.work(32.0)
    assert not desks.level.published
    desks.coarse(2, now_s=33.0)
    desks.work(34.0)
    assert desks.level.newest(0).envelope.covered == 3


def test_a_fine_window_names_a_site_that_has_deferred_it() -> None:
    desks = Desks()
    desks.fine(0, 1, now_s=31.0)
    desks.full.hear(state(FULL, 2, of=LIFE, number=5, deferred=((0, 2),)), now_s=31.0)
    desks.work(60.0)
    (missing,) = desks.full.newest(0).envelope.missing
    assert (missing.site, missing.state, missing.reason) == ("s2", PaneState.DEFERRED, "coarse")


def test_the_finer_panes_stay_at_the_root_as_long_as_a_coarse_window_may_need_them() -> None:
    desks = Desks()
    desks.fine(0, 1, 2, now_s=31.0)
    desks.hear(desks.full, now_s=40.0, number=9, sealed_through=3)
    desks.work(41.0)
    desks.work(45.0)
    assert desks.full.newest(0).envelope.final
    assert desks.full.root.windows.done_through <= 0
    desks.hear(desks.level, now_s=50.0, number=9, sealed_through=1)
    desks.work(51.0)
    desks.full.root.books.trim(now_s=52.0)
    assert desks.full.root.windows.done_through == 3


def test_two_levels_and_full_fidelity_meet_in_the_coarser_window() -> None:
    fine, coarse = level_of(FULL, step=1, times=3), level_of(FULL, step=2, times=6)
    desks = Desks((fine, coarse))
    for pane in range(6):
        desks.full.receive(whole(FULL, pane, 0, [pane], of=LIFE), now_s=61.0)
    for pane in range(2):
        desks.levels[0].receive(whole(fine, pane, 1, [100 + pane], of=LIFE), now_s=61.0)
    desks.levels[1].receive(whole(coarse, 0, 2, [200], of=LIFE), now_s=61.0)
    desks.work(62.0)
    envelope = desks.levels[1].newest(0).envelope
    assert (envelope.covered, envelope.levels, envelope.degraded_count) == (3, (0, 1, 2), 2)
    assert [one.site for one in envelope.degraded] == ["s1", "s2"]


def test_a_site_that_takes_nothing_is_not_awaited_in_acknowledgements() -> None:
    desks = Desks()
    desks.coarse(2, now_s=31.0)
    desks.work(33.0)
    board = desks.level.root.scoreboard.boards[0]
    assert board.first_held() == 0b111
    assert board.taking == 0b100


def test_after_a_restart_the_same_is_not_said_again() -> None:
    desks = answered()
    for desk in (desks.full, desks.level):
        desk.start(now_s=60.0)
    desks.join()
    desks.work(70.0)
    assert desks.level.newest(0).envelope.revision == 1


def test_a_late_update_of_a_coarse_pane_revises_it() -> None:
    desks = answered()
    desks.level.receive(
        part(desks.level.query, 0, 2, [299], of=LIFE, updates=((2, 2),), closed_at=2), now_s=40.0
    )
    desks.work(45.0)
    assert desks.level.newest(0).envelope.revision == 2
    assert 299 in desks.rows()


def test_a_site_that_declines_the_rest_of_a_finer_pane_is_missing_and_stays_covered() -> None:
    desks = Desks()
    desks.fine(0, 1, now_s=31.0)
    gone = Declined(1, 1, Reason.FAILED)
    desks.full.hear(state(FULL, 0, of=LIFE, number=5, declined=(gone,)), now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(41.0)
    envelope = desks.level.newest(0).envelope
    assert [one.site for one in envelope.missing] == ["s0"]
    assert not envelope.exact
    assert envelope.covered == 3


def test_the_last_answer_lacks_no_site_that_was_in_it() -> None:
    """More sites are in at full fidelity than were; but one of those was in by its coarse pane
    alone, and lost the rest of its finer ones."""
    desks = Desks()
    desks.fine(0, now_s=31.0)
    desks.coarse(2, now_s=31.0)
    desks.work(41.0)
    assert desks.level.newest(0).envelope.covered == 2
    was = desks.rows()
    desks.fine(2, panes=(0,), now_s=43.0)
    desks.fine(1, now_s=44.0)
    desks.hear(desks.level, now_s=50.0, number=9, sealed_through=1)
    gone = Declined(1, 2, Reason.LOST)
    for site in range(3):
        declined = (gone,) if site == 2 else ()
        said = state(FULL, site, of=LIFE, number=9, sealed_through=3, declined=declined)
        desks.full.hear(said, now_s=50.0)
    desks.work(51.0)
    desks.work(55.0)
    assert set(desks.rows()) >= set(was)
