"""The shares of an absolute bound: whatever gets lost, comes late, restarts or joins, those that
sites use in a pane come to no more than the whole."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from pane_kit import PANE_S, RootDesk, make_query, make_roster, state

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.share_table import Dealing, ShareTable
from headwater.algebra.remainders.tolerance import Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.words.site_state import flush_level
from headwater.edge.config import EdgeConfig
from headwater.edge.query_state import QueryState
from headwater.plan.altered.dealing import with_dealing
from headwater.plan.query import Query
from headwater.root.outputs import Acknowledge, KeepShares, RootKept
from headwater.root.said.view import explain

LIFE = 77
SITES = 4


def a_query(panes: int = 3) -> Query:
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    column = ToleratedColumn("n", "n", ErrorForm.ABSOLUTE, 12.0)
    query = msgspec.structs.replace(
        query, program=program, tolerance=Tolerance((column,), sites=SITES)
    )
    return with_dealing(query, now_us=0, table_s=panes * PANE_S)


class Sites:
    """What each site uses of every pane: even at first, then by what it has heard."""

    def __init__(self, query: Query, count: int) -> None:
        self.query = query
        self.states = [self.made(ordinal) for ordinal in range(count)]

    def made(self, ordinal: int) -> QueryState:
        return QueryState(self.query, ordinal=ordinal, incarnation=LIFE, config=EdgeConfig())

    def hear(self, ordinal: int, tables: tuple[ShareTable, ...]) -> None:
        self.states[ordinal].hear_shares(tables)

    def used(self, pane: int) -> float:
        parts = [state.settings.part_at(pane) for state in self.states]
        return sum(1.0 / SITES if part is None else part for part in parts)


def hear_all(desk: RootDesk, flush_s: dict[int, float], *, number: int, now_s: float) -> None:
    told = (
        state(
            desk.query,
            site.ordinal,
            of=LIFE,
            number=number,
            offset_s=0.0,
            flush_level=flush_level(flush_s.get(site.ordinal, 0.0)),
        )
        for site in desk.roster.sites
    )
    desk.hear(*told, now_s=now_s)


STEPS = st.one_of(
    st.tuples(st.just("time"), st.integers(1, 90)),
    st.tuples(st.just("flushes"), st.dictionaries(st.integers(0, 7), st.floats(0.0, 1e4))),
    st.tuples(st.just("told"), st.integers(0, 7)),
    st.tuples(st.just("told late"), st.tuples(st.integers(0, 7), st.integers(0, 40))),
    st.tuples(st.just("site restarts"), st.integers(0, 7)),
    st.tuples(st.just("root restarts"), st.just(0)),
    st.tuples(st.just("root lost"), st.just(0)),
    st.tuples(st.just("roster"), st.integers(1, 8)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=60))
def test_whatever_sites_have_heard_the_shares_of_a_pane_come_to_the_whole_at_most(
    steps: list[tuple[str, object]],
) -> None:
    query, now_s, number = a_query(), 0.0, 1
    desk, sites = RootDesk(query, make_roster(SITES), now_s=now_s), Sites(query, 8)
    hear_all(desk, {}, number=number, now_s=now_s)
    told: list[tuple[ShareTable, ...]] = [()]
    for what, of in steps:
        match what, of:
            case "time", int(more):
                now_s += more
            case "flushes", dict(flush_s):
                number += 1
                hear_all(desk, flush_s, number=number, now_s=now_s)
            case "told", int(site):
                sites.hear(site, told[-1])
            case "told late", (int(site), int(which)):
                sites.hear(site, told[which % len(told)])
            case "site restarts", int(site):
                sites.states[site] = sites.made(site)
            case "root restarts", _:
                desk.start(now_s=now_s)
            case "root lost", _:
                desk.disk = type(desk.disk)(desk.disk.incarnation + 1)
                desk.start(now_s=now_s)
                hear_all(desk, {}, number=number, now_s=now_s)
            case "roster", int(count):
                desk.roster = make_roster(count)
                desk.start(now_s=now_s)
                hear_all(desk, {}, number=number, now_s=now_s)
        desk.work(now_s=now_s)
        told += [ack.shares for ack in desk.take_acks()]
    dealing = query.tolerance.dealing  # type: ignore[union-attr]
    assert isinstance(dealing, Dealing)
    last = int(now_s) // PANE_S + 4 * dealing.panes
    for pane in range(dealing.first, last):
        assert sites.used(pane) <= 1.0 + 1e-9, f"pane {pane}"


def moved_desk(until_s: int = 600, slow: int = 2) -> RootDesk:
    desk = RootDesk(a_query(), make_roster(SITES), now_s=0.0)
    hear_all(desk, {slow: 64.0}, number=1, now_s=0.0)
    for now_s in range(1, until_s):
        desk.work(now_s=float(now_s))
    return desk


def test_shares_move_to_the_site_whose_flushes_are_slow_and_every_pane_has_one_table() -> None:
    desk = moved_desk()
    tables = {table.number: table for ack in desk.acks for table in ack.shares}
    dealing = desk.query.tolerance.dealing  # type: ignore[union-attr]
    assert isinstance(dealing, Dealing)
    in_order = [tables[number] for number in sorted(tables)]
    assert in_order[0].first == dealing.first == 12
    assert all(b.first == a.last + 1 for a, b in pairwise(in_order))
    assert [round(table.share(2), 1) for table in in_order[:3]] == [0.7, 0.9, 1.0]
    assert in_order[-1].last >= 600 // PANE_S + dealing.panes


def test_each_table_is_told_for_its_stretch_before_it_begins_and_kept_before_it_is_told() -> None:
    desk = moved_desk(300)
    named: set[int] = set()
    kept: tuple[ShareTable, ...] = ()
    for output in desk.outputs:
        if isinstance(output, KeepShares):
            kept = output.tables
        if isinstance(output, Acknowledge) and output.ack.shares:
            assert output.ack.shares == kept
            pane = int(output.ack.clock_s or 0) // PANE_S
            for table in output.ack.shares:
                if table.number not in named:
                    named.add(table.number)
                    assert table.first >= pane + 3
    assert len(named) == 3


def test_a_root_that_restarts_names_on_where_its_former_life_has_ended() -> None:
    desk = moved_desk(300)
    before = desk.acks[-1].shares
    desk.start(now_s=300.0)
    hear_all(desk, {0: 64.0}, number=2, now_s=300.0)
    for now_s in range(300, 400):
        desk.work(now_s=float(now_s))
    after = desk.acks[-1].shares
    assert after[0].first >= before[0].first
    later = [table for table in after if table.number > before[-1].number]
    assert later
    named = [table for ack in desk.acks for table in ack.shares]
    former = max(table.last for table in named if table.number == later[0].number - 1)
    assert later[0].first == former + 1


def test_a_root_deals_out_nothing_where_nothing_moves() -> None:
    even = a_query()
    tolerance = msgspec.structs.replace(even.tolerates, dealing=msgspec.UNSET)
    desk = RootDesk(msgspec.structs.replace(even, tolerance=tolerance), make_roster(2), now_s=0.0)
    hear_all(desk, {0: 64.0}, number=1, now_s=0.0)
    for now_s in range(1, 200):
        desk.work(now_s=float(now_s))
    assert not any(ack.shares for ack in desk.acks)
    assert RootKept("q").shares == ()


def test_people_are_told_who_has_which_share() -> None:
    desk = moved_desk(300)
    sentences = [explain(desk.root, window).text() for window in (3, 20, 10_000)]
    assert "an absolute bound is dealt out evenly among the sites" in sentences[0]
    assert "shares of an absolute bound by table 3, panes 20 to" in sentences[1]
    assert "s2 97" in sentences[1]
    assert "no table of shares names these panes" in sentences[2]


def test_all_panes_that_may_be_open_have_their_tables_told_at_once() -> None:
    """Who was away hears the one of the panes that it is about to close, too."""
    desk = moved_desk(300)
    tables = desk.take_acks()[-1].shares
    assert [table.number for table in tables] == [1, 2, 3]
    site = Sites(desk.query, 3).states[2]
    site.hear_shares(tables[:1])
    site.hear_shares(tables[1:])
    assert [site.settings.part_at(table.first) for table in tables] == [
        table.share(2) for table in tables
    ]


def test_panes_are_named_by_what_clocks_of_sites_show() -> None:
    desk = RootDesk(a_query(), make_roster(SITES), now_s=0.0)
    told = (state(desk.query, n, of=LIFE, offset_s=200.0, flush_level=9) for n in range(SITES))
    desk.hear(*told, now_s=0.0)
    for now_s in range(1, 500):
        desk.work(now_s=float(now_s))
    dealing = desk.query.tolerance.dealing  # type: ignore[union-attr]
    assert isinstance(dealing, Dealing)
    last = desk.take_acks()[-1].shares[-1].last
    assert 30 + dealing.panes <= last <= dealing.named_with(30)


def test_by_clocks_that_most_sites_have_not_told_nothing_is_dealt_out() -> None:
    desk = RootDesk(a_query(), make_roster(SITES), now_s=0.0)
    desk.hear(*(state(desk.query, n, of=LIFE, offset_s=0.0) for n in (0, 1)), now_s=0.0)
    for now_s in range(1, 200):
        desk.work(now_s=float(now_s))
    assert not any(ack.shares for ack in desk.acks)
    desk.hear(state(desk.query, 2, of=LIFE, offset_s=0.0), now_s=200.0)
    for now_s in range(200, 300):
        desk.work(now_s=float(now_s))
    assert desk.take_acks()[-1].shares
