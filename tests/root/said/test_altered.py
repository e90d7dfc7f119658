"""Answers of a query whose settings were altered: by which they were made, when they are due, and
how far they may be off where sites went by different ones."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, part, state, whole

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.summary import Summary
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope
from headwater.root.said.view import explain
from headwater.root.said.withheld import stated_errors

LIFE = 77
KEPT = Remainder(largest=3.0, total=5.0, keys=2, of=100.0)


def allowing(size: float, form: ErrorForm = ErrorForm.TOTAL, *, follows: bool = False) -> Tolerance:
    finally_ = Finally.EXACT if follows else Finally.BOUNDED
    return Tolerance((ToleratedColumn("n", "n", form, size),), finally_)


def a_query(tolerance: Tolerance | None = None) -> Query:
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    return msgspec.structs.replace(query, program=program, tolerance=tolerance or msgspec.UNSET)


def a_book(query: Query, *changes: tuple[int, Settings]) -> SettingsBook:
    numbered = (Numbered(n, pane, one) for n, (pane, one) in enumerate(changes, start=1))
    return SettingsBook(Settings.of(query), tuple(numbered))


def a_desk(query: Query, book: SettingsBook, *told: tuple[tuple[int, int], ...]) -> RootDesk:
    """``told``: what each site says of the settings that it goes by."""
    desk = RootDesk(query, make_roster(2), now_s=0.0)
    desk.root.alter(book)
    for ordinal, settings in enumerate(told):
        desk.hear(state(query, ordinal, of=LIFE, settings=settings), now_s=0.0)
    desk.work(now_s=10.0)
    return desk


def keeping(summary: Summary, *kept: Remainder) -> Summary:
    coverage = msgspec.structs.replace(summary.coverage, withheld=kept)
    return msgspec.structs.replace(summary, coverage=coverage)


def answered(desk: RootDesk, query: Query, *, kept: bool = True) -> Envelope:
    first = whole(query, 0, 0, [0], of=LIFE)
    desk.receive(keeping(first, KEPT) if kept else first, now_s=11.0)
    desk.receive(whole(query, 0, 1, [1], of=LIFE), now_s=11.0)
    desk.work(now_s=12.0)
    return desk.newest(0).envelope


def test_an_answer_says_by_which_settings_it_was_made() -> None:
    query = a_query()
    book = a_book(query, (0, Settings(tolerance=allowing(0.1))))
    envelope = answered(a_desk(query, book, ((1, 0),), ((1, 0),)), query)
    assert envelope.settings == (1,)
    assert envelope.withheld.columns[0].asked == "10 % of total"


def test_what_nobody_has_altered_is_number_0() -> None:
    query = a_query()
    envelope = answered(a_desk(query, a_book(query), (), ()), query, kept=False)
    assert envelope.settings == (0,)
    assert envelope.exact


@pytest.mark.parametrize("told", [((1, 5),), ()])
def test_where_a_site_hears_late_the_weaker_bound_is_stated(
    told: tuple[tuple[int, int], ...],
) -> None:
    """It goes by them from its next pane on, or has not said yet that it knows of them."""
    query = a_query(allowing(0.2))
    book = a_book(query, (0, Settings(tolerance=allowing(0.1))))
    envelope = answered(a_desk(query, book, ((1, 0),), told), query)
    assert envelope.settings == (0, 1)
    assert envelope.withheld.columns[0].asked == "20 % of total"


def test_a_rest_counts_as_given_back_only_where_all_give_it_back() -> None:
    query = a_query(allowing(0.1, follows=True))
    book = a_book(query, (0, Settings(tolerance=allowing(0.1))))
    for told, largest in (((), 0.0), (((1, 0),), 3.0)):
        changes = a_book(query) if not told else book
        desk = a_desk(query, changes, told, told)
        answered(desk, query)
        late = part(query, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=2)
        desk.receive(late, now_s=20.0)
        desk.work(now_s=21.0)
        (column,) = desk.newest(0).envelope.withheld.columns or (Remainder(),)
        assert column.largest == largest


def test_why_says_what_holds_and_what_is_to_come() -> None:
    query = a_query()
    options = (("error", "'10 % of total'"),)
    book = a_book(query, (0, Settings(tolerance=allowing(0.1), options=options)), (9, Settings()))
    desk = a_desk(query, book, ((1, 0), (2, 9)), ((1, 0), (2, 9)))
    answered(desk, query)
    text = explain(desk.root, 0).text()
    assert "settings 1: error = '10 % of total'" in text
    assert "on settings 2: all by default" in text


def test_a_deadline_holds_for_windows_that_begin_with_its_pane() -> None:
    query = a_query()
    desk = a_desk(query, a_book(query, (1, Settings(deadline_s=60.0))), (), ())
    windows = desk.root.windows
    ends_s = [windows.spec.window_end_us(n) / 1e6 for n in (0, 1)]
    latest_s = [windows.answered_by_s(n) for n in (0, 1)]
    assert [at - end for at, end in zip(latest_s, ends_s, strict=True) if at is not None] == [
        query.timing.deadline_s,
        60.0,
    ]


def test_answers_that_wait_for_their_deadline_wait_from_the_pane_on() -> None:
    query = a_query()
    desk = a_desk(query, a_book(query, (0, Settings(waits=True))), (), ())
    for ordinal in (0, 1):
        desk.receive(whole(query, 0, ordinal, [ordinal], of=LIFE), now_s=11.0)
    desk.work(now_s=12.0)
    assert "It is answered at its deadline" in explain(desk.root, 0).text()
    desk.root.alter(a_book(query, (0, Settings())))
    desk.work(now_s=12.5)
    assert desk.newest(0).envelope.covered == 2


def test_of_unlike_bounds_both_are_named_and_their_sum_is_what_they_allow() -> None:
    both = (allowing(0.02), allowing(2.0, ErrorForm.ABSOLUTE))
    (column,) = stated_errors(both, (KEPT,)).columns
    assert column.asked == "2 % of total or 2"
    assert column.is_kept, "3 of 100: at most 2 % of it and 2 beside"
    (column,) = stated_errors(both[:1], (KEPT,)).columns
    assert not column.is_kept


def test_the_root_knows_settings_that_are_commanded_no_more() -> None:
    """A site says that it went by them, and the answer states their bound."""
    query = a_query()
    desk = a_desk(query, a_book(query, (0, Settings(deadline_s=3.0))))
    later = Numbered(3, 0, Settings(deadline_s=5.0))
    desk.root.alter(SettingsBook(Settings.of(query), (later,)))
    book = desk.root.books.table.settings
    assert [one.number for one in book.changes] == [1, 3]
    assert book.at(0) == later.settings


def test_where_nothing_was_kept_back_it_states_what_was_asked() -> None:
    """Under a bound an answer says so, though sites had nothing small."""
    nothing = stated_errors((allowing(0.02),), ())
    (column,) = nothing.columns
    assert (column.asked, column.largest, column.share) == ("2 % of total", 0.0, 0.0)
    assert column.is_kept
    assert not nothing
    assert list(nothing.all_lines()) == ["nothing kept back (asked: n 2 % of total)"]
    assert list(stated_errors((), ()).all_lines()) == []


def test_a_bound_that_changes_without_rows_is_a_revision() -> None:
    """A site says later that it had gone by other settings: the weaker bound is stated then."""
    query = a_query(allowing(0.2))
    book = a_book(query, (0, Settings(tolerance=allowing(0.1))))
    desk = a_desk(query, book, ((1, 0),), ())
    assert answered(desk, query).withheld.columns[0].asked == "20 % of total"
    desk.hear(state(query, 1, of=LIFE, number=2, settings=((1, 0),)), now_s=13.0)
    desk.work(now_s=30.0)
    newest = desk.newest(0).envelope
    assert newest.revision == 2
    assert newest.withheld.columns[0].asked == "10 % of total"
    desk.hear(state(query, 1, of=LIFE, number=3, settings=((1, 0),)), now_s=31.0)
    desk.work(now_s=60.0)
    assert desk.newest(0).envelope.revision == 2, "and it is said once"


def test_an_answer_is_revised_as_often_as_the_settings_of_its_own_window_say() -> None:
    query = a_query()
    desk = a_desk(query, a_book(query, (1, Settings(revise_every_s=100.0))), (), ())
    assert answered(desk, query, kept=False).revision == 1
    late = part(query, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=2)
    desk.receive(late, now_s=13.0)
    desk.work(now_s=14.0)
    assert desk.newest(0).envelope.revision == 2
