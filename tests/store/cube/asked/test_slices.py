"""What a question is given of a stream's panes: what is there, what is not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.kits.store_kit import MERGER, QUERY, counts_of, rows_of

from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.outputs import MakeUpdates, Remember
from headwater.edge.record import FLAWED_RANGES_MAX, EdgeRecord, SetAside
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.cube.retention import RetentionConfig

CLOSED = EdgeRecord(first_pane=0, closed_through=6)
QUESTION = "ask_1@home#2"


@pytest.fixture
def cube(tmp_path: Path) -> Iterator[Cube]:
    cube = Cube.open(
        tmp_path / "cube",
        site="home",
        facts=QueryFacts(lambda query: MERGER),
        clock=lambda: 100.0,
        retention=RetentionConfig(retention_s=50.0),
    )
    cube.write([Remember(QUERY, EdgeRecord(first_pane=0, closed_through=0))])
    cube.asked_rows.keep(QUERY, {1: rows_of(("a", 1), ("b", 2)), 4: rows_of(("a", 3))})
    cube.write([MakeUpdates(QUERY, (1, 4), CLOSED, sent=True)])
    yield cube
    cube.close()


def test_closed_panes_are_there_also_where_they_are_empty(cube: Cube) -> None:
    found = cube.slices.slice(QUERY, 0, 5)
    assert (found.lacking, found.damaged, sorted(found.stretches)) == ((), (), [1, 4])
    assert (found.rows, found.rows_of(0, 3), found.most_rows_of(0, 5)) == (3, 2, 2)
    assert found.bytes > 0
    ((_, stretch),) = found.between(2, 5)
    assert counts_of(cube.slices.load(stretch)) == {"a": 3}


def test_rows_that_came_late_and_are_in_no_update_are_there(cube: Cube) -> None:
    cube.asked_rows.keep(QUERY, {1: rows_of(("c", 9))})
    assert cube.slices.slice(QUERY, 1, 1).rows == 3


def test_open_panes_and_those_before_the_first_are_lacking(cube: Cube) -> None:
    found = cube.slices.slice(QUERY, -2, 7)
    assert found.lacking == ((-2, -1, Reason.NOT_INSTALLED), (6, 7, Reason.NOT_CLOSED))
    assert found.why_lacking(0, 5) is None
    assert found.why_lacking(5, 6) is Reason.NOT_CLOSED


def test_open_panes_are_added_where_they_are_wanted_and_doubted(cube: Cube) -> None:
    cube.asked_rows.keep(QUERY, {6: rows_of(("a", 5)), 7: rows_of(("d", 6))})
    found = cube.slices.slice(QUERY, -1, 7, opens=True)
    assert found.lacking == ((-1, -1, Reason.NOT_INSTALLED),)
    assert (found.open, found.damaged) == (((6, 7),), ((6, 7),))
    assert (found.rows, found.rows_of(6, 6)) == (5, 1)
    assert cube.slices.slice(QUERY, -1, 7).rows == 3


def test_what_is_open_before_the_first_pane_is_none_of_the_streams(cube: Cube) -> None:
    cube.write([Remember(QUERY, EdgeRecord(first_pane=8, closed_through=6))])
    found = cube.slices.slice(QUERY, 5, 9, opens=True)
    assert found.open == ((8, 9),)
    assert found.why_lacking(5, 7) is Reason.NOT_INSTALLED


def test_what_the_record_declines_or_doubts_is_said(cube: Cube) -> None:
    gone = (Declined(first=2, last=3, reason=Reason.FAILED),)
    record = EdgeRecord(first_pane=0, closed_through=6, declined=gone, damaged=((4, 4),))
    cube.write([Remember(QUERY, record)])
    found = cube.slices.slice(QUERY, 0, 5)
    assert found.lacking == ((2, 3, Reason.FAILED),)
    assert found.is_damaged(4, 4)
    assert not found.is_damaged(0, 3)


def test_panes_whose_input_was_set_aside_are_not_taken_for_empty(cube: Cube) -> None:
    left_out = (SetAside("live#1", 2, 3), SetAside("live#2", 5, 8))
    record = EdgeRecord(first_pane=0, closed_through=6, set_aside=left_out)
    cube.write([Remember(QUERY, record)])
    found = cube.slices.slice(QUERY, 0, 5)
    assert found.lacking == ((2, 3, Reason.SHED), (5, 5, Reason.SHED))
    assert found.why_lacking(4, 4) is None


def test_what_the_root_wants_no_more_is_doubted_all_the_same(cube: Cube) -> None:
    """The record lets go of what is below; the question must not take it for whole."""
    gone = (Declined(first=1, last=2, reason=Reason.FAILED),)
    record = EdgeRecord(first_pane=0, closed_through=6, declined=gone, damaged=((4, 5),))
    cube.write([Remember(QUERY, record.drop_below(5))])
    found = cube.slices.slice(QUERY, 0, 5)
    assert found.damaged == ((1, 2), (4, 5))
    assert found.lacking == ()


def test_a_pane_that_was_open_when_the_root_was_done_with_it_is_doubted(cube: Cube) -> None:
    """Rows that come then are not taken, so it may be short for ever."""
    record = EdgeRecord(first_pane=0, closed_through=3).drop_below(5)
    cube.write([Remember(QUERY, msgspec.structs.replace(record, closed_through=6))])
    assert cube.slices.slice(QUERY, 0, 5).damaged == ((3, 4),)


def test_doubted_panes_are_joined_where_they_are_many() -> None:
    record = EdgeRecord(first_pane=0, closed_through=FOREVER)
    for pane in range(0, 4 * FLAWED_RANGES_MAX, 2):
        record = record.damage(pane, pane).drop_below(pane + 1)
    assert len(record.flawed) == FLAWED_RANGES_MAX
    assert record.flawed[0] == (0, 2 * FLAWED_RANGES_MAX)


def test_what_retention_took_is_expired_and_not_empty(cube: Cube) -> None:
    assert cube.retention(now_s=151.0).dropped == 2
    found = cube.slices.slice(QUERY, 0, 5)
    assert found.stretches == {}
    assert [found.why_lacking(pane, pane) for pane in range(6)] == [Reason.EXPIRED] * 5 + [None]


def test_a_pinned_pane_outlives_retention_until_its_time_is_over(cube: Cube) -> None:
    found = cube.slices.pinned(QUESTION, QUERY, 0, 2, until_s=200.0)
    assert cube.slices.pins.bytes(now_s=151.0) == found.bytes
    assert cube.slices.pins.bytes(now_s=151.0, beside=QUESTION) == 0
    retained = cube.retention(now_s=151.0)
    assert (retained.dropped, retained.pinned) == (1, 1)
    assert cube.slices.slice(QUERY, 0, 2).rows == 2
    assert cube.retention(now_s=201.0).dropped == 1


def test_a_pin_ends_with_its_question(cube: Cube) -> None:
    cube.slices.pinned(QUESTION, QUERY, 0, 5, until_s=1_000.0)
    cube.slices.pins.end(QUESTION)
    assert cube.retention(now_s=151.0).dropped == 2


def test_an_answer_that_is_written_again_replaces_the_former_one(cube: Cube) -> None:
    cube.write([Remember(QUESTION, EdgeRecord(first_pane=0, closed_through=0, end_pane=2))])
    cube.asked_rows.keep(QUESTION, {0: rows_of(("a", 1)), 1: rows_of(("a", 2))})
    before = cube.status().segments
    assert cube.asked_rows.keep(QUESTION, {0: rows_of(("a", 5))}) == {0: 1}
    assert cube.status().segments == before
    assert not cube.asked_rows.is_made(QUESTION)
    closed = EdgeRecord(first_pane=0, closed_through=2, end_pane=2)
    (made,) = cube.write([MakeUpdates(QUESTION, (0,), closed, sent=True)])
    assert made is not None
    assert counts_of(cube.rows(QUESTION, 0, ((1, 1),))) == {"a": 5}
    assert cube.asked_rows.is_made(QUESTION)
