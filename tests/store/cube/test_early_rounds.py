"""Keys of an open pane that leave at the ends of rounds: an edge over a real cube.

::

    pane 121    |1210 ----- 1212.5 ----- 1215 ----- 1217.5 ----- 1220|  disorder 2 s
                              rounds of 2.5 s                           close
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import msgspec
import pytest
from edge_site import EdgeSite
from hypothesis import given
from hypothesis import strategies as st
from store_kit import QUERY, CubeUser, counts_of, query_of

from headwater.algebra.coverage import EARLY_UPDATES_MAX
from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.algebra.rows.columns import Column
from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.config import EdgeConfig
from headwater.edge.outputs import MakeEarly, Send
from headwater.edge.report import BatchReport
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook
from headwater.plan.query import ROUND_S_MIN, ROUNDS_PER_PANE_MAX, Query

TOLERANCE = Tolerance((ToleratedColumn("hits", "n", ErrorForm.TOTAL, 0.02),), Finally.BOUNDED)
PAGES = tuple((f"/{n}", 10) for n in range(40))
SLOW = 200.0


class Site(EdgeSite):
    def batch(self, pane: int, *pages: tuple[str, int], now_s: float) -> None:
        """These rows are read, and all up to now is."""
        self.user.clock.now_s = now_s
        report = self.user.commit(*((pane, page, n) for page, n in pages))
        report = msgspec.structs.replace(report, read_through_s=now_s)
        self.edge.batch_committed(report, now_s=now_s)
        self.tick(now_s=now_s)

    def read(self, *, now_s: float) -> None:
        report = BatchReport(self.query.source_name, read_through_s=now_s)
        self.edge.batch_committed(report, now_s=now_s)
        self.tick(now_s=now_s)
        self.tick(now_s=now_s + 0.1)

    def again(self, *, now_s: float) -> None:
        self.user.reopen()
        self.start(now_s=now_s)
        self.read(now_s=now_s)

    @property
    def cuts(self) -> list[MakeEarly]:
        return [one for one in self.writes if isinstance(one, MakeEarly)]

    def of(self, pane: int) -> list[Send]:
        return [one for one in self.sends if one.pane == pane]

    def rows(self, pane: int, update: int) -> dict[str, int]:
        return counts_of(self.user.cube.rows(QUERY, pane, ((update, update),)))


@pytest.fixture
def site(open_cube: Callable[..., CubeUser]) -> Site:
    user = open_cube(
        early_of=lambda query: EarlyRows(("page",), ("n",)),
        allowance_of=lambda query, pane: Allowance(TOLERANCE, 3),
    )
    user.install()
    site = Site(user)
    site.query = msgspec.structs.replace(site.query, tolerance=TOLERANCE, rounds=4)
    site.config = EdgeConfig(early_keys_min=1)
    site.start(now_s=1_000.0)
    return site


def learn(site: Site) -> None:
    """Pane 120 is closed with a flush that takes this link long; 200 s on all clocks stand."""
    site.batch(120, *PAGES, now_s=1_205.0)
    site.rate = SLOW
    site.read(now_s=1_212.2)


def test_keys_leave_at_the_end_of_a_round_and_the_close_says_how_many_updates_there_are(
    site: Site,
) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    assert [one.pane for one in site.cuts] == [121]
    (early,) = site.of(121)
    assert early.lane is Lane.LIVE
    (part,) = early.coverage.parts
    assert (part.updates, part.closed_at) == (((1, 1),), None)
    assert early.coverage.is_early
    site.batch(121, ("/0", 5), now_s=1_216.0)
    site.read(now_s=1_222.2)
    close = site.of(121)[-1]
    (part,) = close.coverage.parts
    assert (part.updates, part.closed_at) == (((2, 2),), 2)
    sent, left = site.rows(121, 1), site.rows(121, 2)
    assert sum(sent.values()) + sum(left.values()) == 400
    assert sent.keys() & left.keys() == set()
    (kept,) = close.coverage.withheld
    assert (kept.total, kept.of) == (5.0, 405.0), "what has come of /0 since is within the error"
    (progress,) = site.edge.progress()
    assert progress.withheld_keys == 1, "of pane 121; none of pane 120 is within its error"
    assert progress.early_keys == len(sent)


def test_nothing_leaves_early_where_nobody_knows_what_the_link_carries(site: Site) -> None:
    site.batch(120, *PAGES, now_s=1_205.0)
    site.read(now_s=1_212.2)
    site.batch(121, *PAGES, now_s=1_215.1)
    assert site.cuts == []
    assert site.of(121) == []


def test_a_link_of_which_nothing_is_heard_any_more_is_taken_as_it_was(site: Site) -> None:
    learn(site)
    site.rate = None
    site.batch(121, *PAGES, now_s=1_215.1)
    assert [one.pane for one in site.cuts] == [121]


def test_nothing_leaves_early_and_no_reading_is_wanted_over_a_fast_link(site: Site) -> None:
    learn(site)
    site.rate = 1e9
    site.batch(121, *PAGES, now_s=1_215.1)
    assert site.cuts == []
    wanted_s = site.edge.next_wanted_s(site.query.source_name, after_s=1_215.1, now_s=1_215.1)
    assert wanted_s == pytest.approx(1_222.0)


def test_a_link_that_packs_rows_well_is_not_taken_for_a_slow_one(site: Site) -> None:
    """Rows are counted as they lie in memory, and a link counts what it carries of them."""
    learn(site)
    site.rate, site.packed_share = SLOW, 1e-4
    site.batch(121, *PAGES, now_s=1_215.1)
    assert site.cuts == []


def test_a_reading_is_wanted_at_the_end_of_a_round_where_the_flush_is_long(site: Site) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_213.0)
    wanted_s = site.edge.next_wanted_s(site.query.source_name, after_s=1_213.0, now_s=1_213.0)
    assert wanted_s == pytest.approx(1_215.0)


def test_a_round_has_one_cut(site: Site) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    site.batch(121, *PAGES, now_s=1_216.0)
    assert len(site.cuts) == 1
    site.batch(121, *PAGES, now_s=1_217.6)
    assert len(site.cuts) == 2


def test_few_keys_do_not_leave_while_more_wait(site: Site) -> None:
    site.config = EdgeConfig(early_keys_min=1_000)
    site.start(now_s=1_000.0)
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    assert len(site.cuts) <= 1
    assert all(len(one.keys) == len(PAGES) for one in site.cuts), "all that matter, or none"


def test_after_a_restart_the_pane_is_open_and_its_close_counts_all(site: Site) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    site.again(now_s=1_216.0)
    site.sends.clear()
    acknowledge(site, now_s=1_260.0)
    site.tick(now_s=1_260.1)
    assert all(part.closed_at is None for one in site.of(121) for part in one.coverage.parts)
    site.close(121)
    assert [one.updates for one in site.of(121)][-1] == ((2, 2),)
    assert site.of(121)[-1].coverage.parts[0].closed_at == 2


def test_an_open_pane_that_the_root_holds_updates_of_is_no_cause_for_alarm(site: Site) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    acknowledge(site, held=(121,), now_s=1_216.0)
    site.tick(now_s=1_216.1)
    assert not any(state.alarms for state in site.states)


def test_what_the_root_lacks_of_an_open_pane_comes_again_and_says_that_it_is_open(
    site: Site,
) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    site.sends.clear()
    acknowledge(site, now_s=1_250.0)
    site.tick(now_s=1_250.1)
    (spare,) = site.of(121)
    assert spare.lane is Lane.SPARE
    assert spare.coverage.parts[0].closed_at is None


def acknowledge(site: Site, *, held: tuple[int, ...] = (), root: int = 1, now_s: float) -> None:
    panes = tuple(PaneHeld(pane, 1 << 1) for pane in held)
    head = Acknowledgement(
        query=str(site.query.id),
        root_incarnation=root,
        number=len(site.sends) + round(now_s),
        done_through=120,
        held=(),
        listed=((120, FOREVER),),
        clock_s=now_s,
    )
    site.edge.receive_ack(with_leaves(head, panes=panes, extra=(), greetings=()), now_s=now_s)


def keyed(**fields: object) -> Query:
    return msgspec.structs.replace(query_of(), begin_pane=100, **fields)


@given(rounds=st.integers(1, 1_000))
def test_rounds_are_few_and_not_short(rounds: int) -> None:
    query = keyed(rounds=rounds)
    assert 1 <= query.round_count <= min(rounds, ROUNDS_PER_PANE_MAX)
    assert 10.0 / query.round_count >= ROUND_S_MIN


def test_only_what_merges_like_two_batches_leaves_early() -> None:
    assert keyed(tolerance=TOLERANCE).round_count == 8
    assert keyed().round_count == 1, "nobody has asked for it"
    assert keyed(rounds=4, ends=True).round_count == 1
    nested = msgspec.structs.replace(query_of().program, keys=(Column("k", "array<bigint>"),))
    assert keyed(rounds=4, program=nested).round_count == 1
    rows = msgspec.structs.replace(query_of().program, keys=())
    assert keyed(rounds=4, program=rows).round_count == 1


def test_a_query_that_sends_nothing_early_wants_nothing(site: Site) -> None:
    site.query = keyed()
    site.start(now_s=1_000.0)
    assert site.edge._edges[str(site.query.id)].early.next_moment_s(1_201.0) == NEVER_DUE_S


def test_a_root_that_began_anew_is_not_told_that_an_open_pane_is_closed(site: Site) -> None:
    """It would call an answer complete that lacks what the site has still to send."""
    learn(site)
    acknowledge(site, now_s=1_213.0)
    site.batch(121, *PAGES, now_s=1_215.1)
    site.batch(121, *PAGES, now_s=1_217.6)
    assert [one.updates for one in site.of(121)] == [((1, 1),), ((2, 2),)]
    acknowledge(site, root=2, now_s=1_218.0)
    site.tick(now_s=1_218.1)
    assert 121 not in dict(site.states[-1].counts)
    site.close(121)
    assert site.of(121)[-1].coverage.parts[0].closed_at == 3


def hear_travel(site: Site, travel_s: float, *, now_s: float) -> None:
    head = Acknowledgement(QUERY, 1, 1, done_through=0, listed=((0, 10),), travel_s=travel_s)
    site.edge.receive_ack(with_leaves(head), now_s=now_s)


@pytest.mark.parametrize(("travel_s", "are_cut"), [(14.0, True), (16.0, False)])
def test_nothing_leaves_early_that_is_too_late_for_the_first_answer(
    site: Site, travel_s: float, are_cut: bool
) -> None:
    """The first window with the pane ends with it, at 1220, and is answered ten seconds later."""
    learn(site)
    hear_travel(site, travel_s, now_s=1_214.0)
    site.batch(121, *PAGES, now_s=1_215.1)
    assert bool(site.cuts) is are_cut


@pytest.mark.parametrize(("travel_s", "lane"), [(3.0, Lane.LIVE), (7.5, Lane.BACKLOG)])
def test_what_can_t_arrive_for_the_first_answer_makes_way_for_later_panes(
    site: Site, travel_s: float, lane: Lane
) -> None:
    site.room = 0
    site.batch(121, *PAGES, now_s=1_221.0)
    hear_travel(site, travel_s, now_s=1_222.0)
    site.read(now_s=1_222.2)
    assert site.of(121) == []
    site.room = 1 << 20
    site.tick(now_s=1_224.0)
    assert [one.lane for one in site.of(121)] == [lane]


def test_where_nothing_leaves_early_updates_are_live_as_long_as_ever(site: Site) -> None:
    site.query = msgspec.structs.replace(site.query, tolerance=msgspec.UNSET, rounds=msgspec.UNSET)
    site.start(now_s=1_000.0)
    site.room = 0
    site.batch(121, *PAGES, now_s=1_221.0)
    hear_travel(site, 9.0, now_s=1_222.0)
    site.read(now_s=1_222.2)
    site.room = 1 << 20
    site.tick(now_s=1_224.0)
    assert [one.lane for one in site.of(121)] == [Lane.LIVE]


def test_clocks_that_are_set_repeat_no_round(site: Site) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    for back_s in (1_212.6, 1_210.0, 1_214.9):
        site.batch(121, *PAGES, now_s=back_s)
        site.batch(121, *PAGES, now_s=1_215.2)
    assert len(site.cuts) == 1, "the second round has had its cut, whatever the clock shows"
    site.batch(121, *PAGES, now_s=1_217.6)
    assert [one.updates for one in site.of(121)] == [((1, 1),), ((2, 2),)]


def test_restarts_make_no_more_early_updates_than_members_take(site: Site) -> None:
    """What a process knows of rounds ends with it, so the next one may cut the same round again."""
    acknowledge(site, now_s=1_204.0)
    for number in range(EARLY_UPDATES_MAX + 4):
        now_s = 1_215.1 + number * 0.01
        site.again(now_s=now_s)
        acknowledge(site, now_s=now_s)
        edge = site.edge._edges[str(site.query.id)].early
        edge._flush_bytes, site.rate = 1e6, SLOW
        site.batch(121, *((f"{page}/{number}", n) for page, n in PAGES), now_s=now_s)
    lasts = [one.updates[-1][1] for one in site.of(121) if one.lane is Lane.LIVE]
    assert max(lasts) == EARLY_UPDATES_MAX


def test_a_flush_is_as_long_as_what_is_left_at_the_close_takes_the_way(site: Site) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    early = site.edge.progress()[0].early_keys
    site.read(now_s=1_222.2)
    (progress,) = site.edge.progress()
    assert 0 < early < len(PAGES)
    assert progress.flush_s > 0.0
    site.rate = SLOW * 4.0
    site.batch(122, *PAGES, now_s=1_225.1)
    site.read(now_s=1_232.2)
    assert site.edge.progress()[0].flush_s < progress.flush_s


def alter(site: Site, number: int, pane: int, **settings: object) -> None:
    one = msgspec.structs.replace(Settings.of(site.query), **settings)
    site.edge.alter(str(site.query.id), SettingsBook(changes=(Numbered(number, pane, one),)))


@pytest.mark.parametrize("again", [False, True])
def test_what_left_early_is_not_sent_again_where_the_bound_is_taken_away_and_agents_restart(
    site: Site, again: bool
) -> None:
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    alter(site, 1, 122, tolerance=None, rounds=1)
    if again:
        site.again(now_s=1_216.0)
        alter(site, 1, 122, tolerance=None, rounds=1)
    site.close(121)
    sent, left = site.rows(121, 1), site.rows(121, 2)
    assert sent.keys() & left.keys() == set()
    assert sum(sent.values()) + sum(left.values()) == 400
    assert [one.pane for one in site.cuts] == [121]
    assert not site.edge._edges[str(site.query.id)].early.is_used


@pytest.mark.parametrize("again", [False, True])
def test_a_stream_without_a_bound_that_gets_one_sends_early_from_the_altered_pane_on(
    site: Site, again: bool
) -> None:
    tolerance = site.query.tolerance
    site.query = msgspec.structs.replace(site.query, tolerance=msgspec.UNSET, rounds=msgspec.UNSET)
    site.start(now_s=1_000.0)
    learn(site)
    site.batch(121, *PAGES, now_s=1_215.1)
    alter(site, 1, 122, tolerance=tolerance, rounds=4)
    if again:
        site.again(now_s=1_216.0)
        alter(site, 1, 122, tolerance=tolerance, rounds=4)
    site.read(now_s=1_222.2)
    assert site.cuts == []
    site.batch(122, *PAGES, now_s=1_225.1)
    assert [one.pane for one in site.cuts] == [122]
    site.close(122)
    total = sum(sum(site.rows(122, n).values()) for n in (1, 2))
    assert total == 400, "nothing of it is withheld, nothing is sent twice"


def values_of(site: Site, update: int) -> list[int]:
    return sorted(site.rows(121, update).values())


def test_a_long_flush_leaves_in_pieces_into_room_and_what_matters_most_goes_first(
    site: Site,
) -> None:
    site.config = EdgeConfig(early_keys_min=10)
    site.start(now_s=1_000.0)
    pages = tuple((f"/{n}", 1_000 + n) for n in range(40))
    pages += tuple((f"/large/{n}", 100_000 + n) for n in range(40))
    learn(site)
    site.batch(121, *pages, now_s=1_219.9)
    early = len(site.of(121))
    site.room = 1
    site.read(now_s=1_222.2)
    (piece,) = site.of(121)[early:]
    assert piece.updates[0] == (early + 1, early + 1), "one at a time, as there is room"
    site.room = 1 << 20
    site.tick(now_s=1_223.0)
    closes = site.of(121)[early:]
    assert len(closes) > 1
    numbers = [one.updates[0][0] for one in closes]
    assert numbers == sorted(numbers)
    assert {part.closed_at for one in closes for part in one.coverage.parts} == {numbers[-1]}
    pieces = [values_of(site, number) for number in numbers]
    assert all(a[0] >= b[-1] for a, b in itertools.pairwise(pieces))


def test_a_flush_that_is_short_leaves_as_ever_in_one(site: Site) -> None:
    learn(site)
    site.rate = 1e6
    site.batch(121, *PAGES, now_s=1_219.9)
    site.read(now_s=1_222.2)
    assert [one.updates for one in site.of(121)] == [((1, 1),)]


def test_a_stream_without_a_bound_never_leaves_in_pieces(site: Site) -> None:
    site.query = msgspec.structs.replace(site.query, tolerance=msgspec.UNSET, rounds=msgspec.UNSET)
    site.start(now_s=1_000.0)
    learn(site)
    site.batch(121, *PAGES, now_s=1_219.9)
    site.read(now_s=1_222.2)
    assert [one.updates for one in site.of(121)] == [((1, 1),)]
