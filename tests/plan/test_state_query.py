"""What a state query may be: checked where it is made, so also where it comes from the wire."""

from typing import Any

import msgspec
import pytest
from pane_kit import PROGRAM

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import ROW, SequenceGrid
from headwater.plan.flat_query import FlatQuery
from headwater.plan.part import Part
from headwater.plan.query import LAST_N_MAX, Query, QueryId


def a_query(**more: Any) -> Query:
    given: dict[str, Any] = {"window": WindowSpec(5, 5), "begin_pane": 3} | more
    return Query(QueryId("q", "a", 1), root="a", program=PROGRAM, **given)


def test_a_query_holds_records_unless_it_says_otherwise() -> None:
    assert not a_query().holds_states
    assert a_query(last_n=4).holds_states
    assert a_query(window=WindowSpec(10, 5), begin_pane=None).begin_pane is None


def test_of_an_input_that_ends_somebody_says_up_to_where() -> None:
    placed = a_query(last_n=4, ends=True, end_pane=9)
    assert (placed.begin_pane, placed.ends_at) == (3, 9)
    unseen = a_query(last_n=4, ends=True, begin_pane=None)
    assert (unseen.begin_pane, unseen.ends_at) == (None, None), "before anybody saw the files"


def test_a_state_query_counts_what_it_reads_and_no_window_goes_by_that() -> None:
    query = a_query(last_n=4)
    assert query.reading_count == SequenceGrid(ROW)
    assert (query.own_count, query.numbers, query.counted) == (None, None, "")
    assert a_query().reading_count is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"last_n": 0}, f"wanted last_n from 1 to {LAST_N_MAX}, got 0"),
        ({"last_n": LAST_N_MAX + 1}, "wanted last_n from 1"),
        ({"last_n": 4, "window": WindowSpec(10, 5)}, r"one pane \(range = slide\).*got range 10"),
        ({"last_n": 4, "begin_pane": None}, "wanted a begin"),
        ({"last_n": 4, "ends": True}, "of an input that ends an end"),
        ({"last_n": 4, "ends": True, "begin_pane": None, "end_pane": 9}, "wanted a begin"),
        ({"last_n": 4, "time": "age"}, "records by their own time"),
        ({"last_n": 4, "part": Part("q", 1, 2)}, "and one root"),
    ],
)
def test_what_a_state_query_can_t_be_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        a_query(**changes)
    wire = msgspec.to_builtins(FlatQuery.of(a_query())) | msgspec.to_builtins(changes)
    with pytest.raises(ValueError, match=message):
        msgspec.convert(wire, FlatQuery).query()
