"""What an answer says of what sites have kept back, and when it counts no more."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import RootDesk, make_query, make_roster, part, state, whole

from headwater.algebra.coverage import Coverage, Group
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import Declined, Reason
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook
from headwater.plan.query import Query
from headwater.root.said.view import explain
from headwater.root.said.withheld import in_short, stated_errors

LIFE = 77
KEPT = Remainder(largest=3.0, total=5.0, keys=2, of=100.0)


def query_with(finally_: Finally, size: float = 0.1) -> Query:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, size)
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    tolerance = Tolerance((column,), finally_)
    return msgspec.structs.replace(query, program=program, tolerance=tolerance)


def keeping(summary: Summary, *kept: Remainder) -> Summary:
    coverage = msgspec.structs.replace(summary.coverage, withheld=kept)
    return msgspec.structs.replace(summary, coverage=coverage)


def asked(query: Query) -> RootDesk:
    root = RootDesk(query, make_roster(2), now_s=0.0)
    root.hear(*(state(query, ordinal, of=LIFE) for ordinal in (0, 1)), now_s=0.0)
    root.work(now_s=10.0)
    return root


def answered(finally_: Finally, size: float = 0.1) -> RootDesk:
    """Both sites are in, one with something kept back."""
    query = query_with(finally_, size)
    root = asked(query)
    root.receive(keeping(whole(query, 0, 0, [0], of=LIFE), KEPT), now_s=11.0)
    root.receive(whole(query, 0, 1, [1], of=LIFE), now_s=11.0)
    root.work(now_s=12.0)
    return root


@pytest.mark.parametrize("finally_", list(Finally))
def test_an_answer_states_what_was_kept_back_and_is_not_exact(finally_: Finally) -> None:
    envelope = answered(finally_).newest(0).envelope
    assert envelope.covered == envelope.expected == 2
    assert not envelope.exact
    (stated,) = envelope.withheld.columns
    assert (stated.largest, stated.share, stated.total) == (3.0, 0.03, 5.0)
    assert stated.is_kept
    assert envelope.withheld.keys == 2
    assert envelope.withheld.follows is (finally_ is Finally.EXACT)


def test_where_nothing_was_kept_back_the_bound_is_said_all_the_same() -> None:
    query = query_with(Finally.BOUNDED, 0.1)
    root = asked(query)
    for site in (0, 1):
        root.receive(whole(query, 0, site, [site], of=LIFE), now_s=11.0)
    root.work(now_s=12.0)
    envelope = root.newest(0).envelope
    assert envelope.exact
    assert not envelope.withheld
    said = in_short(envelope.withheld)
    (bound,) = said["bound"]
    assert (bound["asked"], bound["reached"], bound["is_kept"]) == ("10 % of total", 0.0, True)
    assert (said["withheld_keys"], said["uncertain"]) == (0, [])


def test_a_bound_that_is_not_reached_is_missed_openly() -> None:
    envelope = answered(Finally.BOUNDED, size=0.01).newest(0).envelope
    assert not envelope.withheld.columns[0].is_kept
    assert "NOT kept" in envelope.withheld.columns[0].text()


def test_it_is_not_revised_to_say_the_same_again() -> None:
    root = answered(Finally.BOUNDED)
    for now_s in (13.0, 20.0, 60.0):
        root.work(now_s=now_s)
    assert root.newest(0).envelope.revision == 1


def test_why_says_how_far_it_may_be_off() -> None:
    text = explain(answered(Finally.BOUNDED).root, 0).text()
    assert "n may be off by 3 (3 % of total; asked: 10 % of total)" in text
    assert "2 small groups of sites are not in it; they do not follow" in text


def rest(query: Query) -> Summary:
    return part(query, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=2)


def test_what_follows_is_given_back_and_the_answer_is_exact() -> None:
    root = answered(Finally.EXACT)
    root.receive(rest(query_with(Finally.EXACT)), now_s=20.0)
    root.work(now_s=21.0)
    envelope = root.newest(0).envelope
    assert envelope.revision == 2
    assert envelope.exact
    assert not envelope.withheld


def test_where_the_rest_stays_a_late_update_gives_nothing_back() -> None:
    root = answered(Finally.BOUNDED)
    root.receive(rest(query_with(Finally.BOUNDED)), now_s=20.0)
    root.work(now_s=21.0)
    envelope = root.newest(0).envelope
    assert envelope.revision == 2
    assert envelope.withheld.columns[0].largest == 3.0
    assert not envelope.exact


def test_a_merged_piece_counts_until_all_its_sites_have_sent_their_rest() -> None:
    query = query_with(Finally.EXACT)
    root = asked(query)
    both = whole(query, 0, 0, [0, 1], of=LIFE)
    other = whole(query, 0, 1, [], of=LIFE)
    merged = msgspec.structs.replace(both, coverage=both.coverage.merge(other.coverage))
    root.receive(keeping(merged, KEPT), now_s=11.0)
    root.work(now_s=12.0)
    root.receive(rest(query), now_s=13.0)
    root.work(now_s=14.0)
    assert root.newest(0).envelope.withheld.columns[0].largest == 3.0
    root.receive(part(query, 0, 1, [3], of=LIFE, updates=((2, 2),), closed_at=2), now_s=15.0)
    root.work(now_s=16.0)
    assert not root.newest(0).envelope.withheld


@pytest.mark.parametrize(
    "kept",
    [(KEPT, KEPT), (msgspec.structs.replace(KEPT, is_worst=True),)],
    ids=["of two columns", "of another algebra"],
)
def test_what_no_site_of_the_query_can_mean_is_refused(kept: tuple[Remainder, ...]) -> None:
    query = query_with(Finally.BOUNDED)
    root = asked(query)
    root.receive(keeping(whole(query, 0, 0, [0], of=LIFE), *kept), now_s=11.0)
    assert root.root.counters["stranger"] == 1


def test_a_query_without_an_error_takes_no_remainder() -> None:
    query = make_query()
    root = asked(query)
    root.receive(keeping(whole(query, 0, 0, [0], of=LIFE), KEPT), now_s=11.0)
    assert root.root.counters["stranger"] == 1


def test_of_a_close_in_several_updates_the_last_one_gives_nothing_back() -> None:
    query = query_with(Finally.EXACT)
    root = asked(query)
    root.receive(whole(query, 0, 1, [1], of=LIFE), now_s=11.0)
    first = part(query, 0, 0, [0], of=LIFE, updates=((1, 1),), closed_at=2)
    last = part(query, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=2)
    root.receive(first, now_s=11.0)
    root.receive(keeping(last, KEPT), now_s=11.0)
    root.work(now_s=12.0)
    envelope = root.newest(0).envelope
    assert envelope.covered == 2
    assert envelope.withheld.columns[0].largest == 3.0
    assert not envelope.exact


def test_where_nothing_was_above_the_error_the_answer_has_no_rows_and_every_site() -> None:
    query = query_with(Finally.BOUNDED)
    root = asked(query)
    for ordinal in (0, 1):
        root.receive(keeping(whole(query, 0, ordinal, [], of=LIFE), KEPT), now_s=11.0)
    root.work(now_s=12.0)
    answer = root.newest(0)
    assert answer.rows == ()
    assert answer.envelope.covered == answer.envelope.expected == 2
    assert answer.envelope.missing == ()
    (stated,) = answer.envelope.withheld.columns
    assert (stated.largest, stated.total, answer.envelope.withheld.keys) == (6.0, 10.0, 4)


def seal(root: RootDesk, query: Query, **told: object) -> None:
    for ordinal in (0, 1):
        root.hear(state(query, ordinal, of=LIFE, number=2, sealed_through=1, **told), now_s=50.0)
    root.work(now_s=51.0)


def test_a_merged_piece_is_given_back_though_one_of_its_sites_had_kept_nothing_back() -> None:
    """Nobody can see in it who has; but who had would not have sealed the pane before its rest."""
    query = query_with(Finally.EXACT)
    root = asked(query)
    both = whole(query, 0, 0, [0, 1], of=LIFE)
    coverage = both.coverage.merge(whole(query, 0, 1, [], of=LIFE).coverage)
    root.receive(keeping(msgspec.structs.replace(both, coverage=coverage), KEPT), now_s=11.0)
    root.receive(rest(query), now_s=13.0)
    root.work(now_s=14.0)
    assert root.newest(0).envelope.withheld
    seal(root, query)
    envelope = root.newest(0).envelope
    assert envelope.final
    assert envelope.exact


def test_a_late_update_that_meets_the_close_on_its_way_gives_the_rest_back_all_the_same() -> None:
    query = query_with(Finally.EXACT)
    root = asked(query)
    root.receive(whole(query, 0, 1, [1], of=LIFE), now_s=11.0)
    close = keeping(whole(query, 0, 0, [0, 2], of=LIFE), KEPT)
    late = Coverage(groups=(Group(((2, 2),), 2, 1, close.coverage.tag),))
    coverage = close.coverage.merge(late)
    root.receive(msgspec.structs.replace(close, coverage=coverage), now_s=11.0)
    root.work(now_s=12.0)
    assert not root.newest(0).envelope.exact
    seal(root, query)
    assert root.newest(0).envelope.exact


def test_what_a_site_declines_before_it_seals_the_pane_is_not_given_back() -> None:
    query = query_with(Finally.EXACT)
    root = answered(Finally.EXACT)
    assert root.newest(0).envelope.withheld.follows
    seal(root, query, declined=(Declined(0, 0, Reason.EXPIRED),))
    envelope = root.newest(0).envelope
    assert envelope.final
    assert not envelope.withheld.follows, "the answer is revised no more"
    assert any("they do not follow" in line for line in envelope.withheld.lines())
    assert envelope.withheld.columns[0].largest == 3.0


def test_a_seal_gives_nothing_back_that_is_to_stay() -> None:
    root = answered(Finally.BOUNDED)
    seal(root, query_with(Finally.BOUNDED))
    assert root.newest(0).envelope.withheld.columns[0].largest == 3.0


def test_a_further_update_of_which_there_are_more_gives_nothing_back_before_all_are_in() -> None:
    query = query_with(Finally.EXACT)
    root = answered(Finally.EXACT)
    root.receive(part(query, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=3), now_s=20.0)
    root.work(now_s=21.0)
    assert root.newest(0).envelope.withheld
    root.receive(part(query, 0, 0, [3], of=LIFE, updates=((3, 3),), closed_at=3), now_s=22.0)
    root.work(now_s=30.0)
    assert not root.newest(0).envelope.withheld


@pytest.mark.parametrize("later", [Finally.EXACT, Finally.BOUNDED])
def test_where_settings_differ_a_rest_counts_until_all_who_may_have_made_the_pane_send_it(
    later: Finally,
) -> None:
    query = query_with(Finally.BOUNDED if later is Finally.EXACT else Finally.EXACT)
    root = asked(query)
    settings = msgspec.structs.replace(
        Settings.of(query), tolerance=query_with(later).tolerance or None
    )
    root.root.alter(SettingsBook(Settings.of(query), (Numbered(1, 0, settings),)))
    root.receive(keeping(whole(query, 0, 0, [0], of=LIFE), KEPT), now_s=11.0)
    root.receive(whole(query, 0, 1, [1], of=LIFE), now_s=11.0)
    root.receive(rest(query), now_s=12.0)
    root.work(now_s=13.0)
    stated = root.newest(0).envelope.withheld
    assert stated.columns[0].largest == 3.0
    assert stated.follows, "that of some may"


def test_rows_that_lack_several_columns_are_counted_once() -> None:
    tolerance = query_with(Finally.BOUNDED).tolerance
    assert isinstance(tolerance, Tolerance)
    both = msgspec.structs.replace(tolerance, columns=tolerance.columns * 2)
    assert stated_errors([both], (KEPT, KEPT)).keys == KEPT.keys


def test_a_close_that_brings_no_rows_keeps_none_back() -> None:
    """What is kept back comes with the last update of its close: a word of it alone is a lie."""
    query = query_with(Finally.BOUNDED)
    root = asked(query)
    for ordinal in (0, 1):
        root.receive(whole(query, 0, ordinal, [ordinal], of=LIFE), now_s=11.0)
    more = part(query, 0, 0, [], of=LIFE, updates=(), closed_at=2)
    root.receive(keeping(more, KEPT), now_s=11.5)
    root.receive(part(query, 0, 0, [2], of=LIFE, updates=((2, 2),), closed_at=2), now_s=12.0)
    root.work(now_s=13.0)
    assert root.newest(0).rows == (0, 1, 2)
    assert not root.newest(0).envelope.withheld


@pytest.mark.parametrize(("size", "text"), [(0.2, "20 % of total"), (0.01, "10 % of total")])
def test_a_bound_that_is_altered_is_stated_anew_without_a_new_row(size: float, text: str) -> None:
    """Nobody knows yet whether a site has made the pane by it; the weaker one is stated."""
    root = answered(Finally.BOUNDED)
    query = query_with(Finally.BOUNDED)
    settings = msgspec.structs.replace(
        Settings.of(query), tolerance=query_with(Finally.BOUNDED, size).tolerance or None
    )
    root.root.alter(SettingsBook(Settings.of(query), (Numbered(1, 0, settings),)))
    root.work(now_s=30.0)
    envelope = root.newest(0).envelope
    assert envelope.withheld.columns[0].asked == text
    assert envelope.revision == (2 if size > 0.1 else 1), "the newest says what is so"
    again = envelope.revision
    root.work(now_s=60.0)
    assert root.newest(0).envelope.revision == again


def test_at_the_deadline_a_site_of_which_some_pieces_are_in_is_not_called_in() -> None:
    """The last piece of a flush tells what was kept back: before it nothing is said of that, and
    the site is named with what it owes."""
    query = query_with(Finally.BOUNDED)
    root = asked(query)
    root.receive(whole(query, 0, 0, [0, 1, 2], of=LIFE), now_s=11.0)
    for n in (1, 2):
        piece = part(query, 0, 1, [10 + n], of=LIFE, updates=((n, n),), closed_at=3)
        root.receive(piece, now_s=11.0 + n)
    root.work(now_s=20.5)
    first = root.newest(0).envelope
    assert (first.covered, first.expected, first.exact, first.final) == (1, 2, False, False)
    assert [(one.site, one.reason) for one in first.missing] == [
        ("s1", "1 of 3 updates is awaited: 3")
    ]
    last = part(query, 0, 1, [13], of=LIFE, updates=((3, 3),), closed_at=3)
    root.receive(keeping(last, KEPT), now_s=25.0)
    root.work(now_s=27.0)
    second = root.newest(0).envelope
    assert (second.covered, second.withheld.columns[0].largest) == (2, KEPT.largest)
