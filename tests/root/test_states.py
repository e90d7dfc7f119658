"""A state query at its root: a summary of several panes is that many summaries of one pane."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, state

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.root.config import RootConfig
from headwater.root.outputs import Keep

LIVES = (100, 200)
QUERY = msgspec.structs.replace(make_query(), last_n=2)


def desk(query=QUERY, **options) -> RootDesk:
    made = RootDesk(query, make_roster(2), **options)
    made.hear(*(state(query, n, of=LIVES[n]) for n in range(2)), now_s=0.0)
    return made


def states(site: int, first: int, last: int, rows, *, query=QUERY, lane=Lane.LIVE) -> Summary:
    coverage = Coverage.of_whole(site, LIVES[site])
    return Summary(
        query=str(query.id),
        pane=first,
        coverage=coverage,
        rows=tuple(rows),
        lane=lane,
        more=last - first,
    )


def kept(root: RootDesk) -> list[int]:
    return [one.kept.pane for one in root.outputs if isinstance(one, Keep)]


def test_each_pane_of_a_state_is_kept_and_answered_by_itself():
    root = desk()
    root.receive(states(0, 0, 2, [1, 2]), states(1, 0, 1, [5]), states(1, 2, 2, [5, 6]), now_s=31.0)
    root.work(now_s=31.0)
    assert kept(root) == [0, 1, 2, 0, 1, 2]
    assert [root.newest(w).rows for w in range(3)] == [(1, 2, 5), (1, 2, 5), (1, 2, 5, 6)]
    assert all(root.newest(w).envelope.exact for w in range(3))


def test_what_is_held_of_some_panes_is_refused_in_those_and_taken_in_the_others():
    root = desk()
    root.receive(states(0, 1, 1, [1]), now_s=31.0)
    root.receive(states(0, 0, 2, [1]), now_s=31.0)
    assert kept(root) == [1, 0, 2]
    assert root.root.counters["contained"] == 1


def test_an_acknowledgement_lists_the_panes_one_by_one():
    root = desk()
    root.receive(states(0, 0, 2, [1]), states(1, 1, 1, [2]), now_s=31.0)
    root.work(now_s=35.0)
    (ack, *_) = root.take_acks()[::-1]
    assert ack.held == ((1, 1),)
    assert {one.pane: one.sites for one in ack.panes} == {0: 0b01, 2: 0b01}


def test_a_restart_brings_every_pane_back():
    root = desk()
    root.receive(states(0, 0, 2, [1]), now_s=31.0)
    before = {p: b.snapshot() for p, b in root.root.scoreboard.boards.items() if b.whole}
    root.start(now_s=32.0)
    after = {p: b.snapshot() for p, b in root.root.scoreboard.boards.items() if b.whole}
    assert sorted(before) == [0, 1, 2]
    assert after == before


@pytest.mark.parametrize("more", [1 << 60, STATE_PANES_MAX, -1])
def test_a_summary_of_too_many_panes_is_refused_before_any_is_counted(more):
    root = desk()
    boards = len(root.root.scoreboard.boards)
    summary = msgspec.structs.replace(states(0, 0, 0, [1]), more=more)
    root.receive(summary, now_s=31.0)
    assert kept(root) == []
    assert len(root.root.scoreboard.boards) == boards
    assert [notice.kind for notice in root.notices] == ["stranger"]


def test_several_panes_of_a_query_of_records_are_refused():
    query = make_query()
    root = desk(query)
    root.receive(states(0, 0, 2, [1], query=query), now_s=31.0)
    assert kept(root) == []
    assert [notice.kind for notice in root.notices] == ["stranger"]


def test_panes_beyond_what_a_root_holds_are_refused_and_shown():
    root = desk(config=RootConfig(panes_max=10))
    root.receive(states(0, 0, STATE_PANES_MAX - 1, [1]), now_s=31.0)
    assert len(kept(root)) == 10
    assert "too many panes" in {notice.kind for notice in root.notices}
