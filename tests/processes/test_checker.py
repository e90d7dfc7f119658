"""The checker on doctored answers: each kind of lie is found, and the truth is not."""

from __future__ import annotations

import msgspec
import pytest
from chaos.checker import Answer, Checker, ClockSteps, Verdict
from chaos.truth import WINDOW_US, Record, Truth

from headwater.algebra.words.site_state import PaneState, Tally
from headwater.root.said.envelope import Envelope, MissingSite, Trigger

FIRST_US = 1_000 * WINDOW_US
END_S = (FIRST_US + WINDOW_US) / 1e6
DISORDER_S = 2.0
SITES = ("a", "b")
A, B, LATE = 1, 2, 3
"""In the first window: one record of each site on time, and a late one of b."""
NEXT = 4
"""One of the next window."""


@pytest.fixture
def truth() -> Truth:
    truth = Truth()
    for site, after_s, written_s in (
        ("a", 1.0, END_S - 4.0),
        ("b", 2.0, END_S - 3.0),
        ("b", 3.0, END_S + 8.0),
        ("a", 6.0, END_S + 1.0),
    ):
        ts_us = FIRST_US + int(after_s * 1e6)
        truth.bear(Record(site, ts_us, born_s=written_s - 0.1, written_s=written_s))
    return truth


@pytest.fixture
def clocks() -> ClockSteps:
    return ClockSteps()


@pytest.fixture
def checker(truth: Truth, clocks: ClockSteps) -> Checker:
    return Checker(truth, SITES, disorder_s=DISORDER_S, root="a", clocks=clocks)


def envelope(revision: int = 1, *, without: tuple[MissingSite, ...] = (), **changes: object):  # type: ignore[no-untyped-def]
    made = Envelope(
        stream="numbered",
        query="numbered@a#1",
        window=FIRST_US // WINDOW_US,
        start_us=FIRST_US,
        end_us=FIRST_US + WINDOW_US,
        revision=revision,
        roster_version=1,
        expected=2,
        covered=2 - len(without),
        missing=without,
        missing_count=len(without),
        exact=not without,
        final=False,
        staleness_s=3.0,
        answered_at_s=END_S + 10.0,
        trigger=Trigger.REVISION if revision > 1 else Trigger.COMPLETE,
    )
    return msgspec.structs.replace(made, **changes)


def missing(site: str, state: PaneState = PaneState.UNKNOWN) -> MissingSite:
    return MissingSite(site, state, "no word", ((1_000, 1_000),))


def hear(checker: Checker, said: Envelope, *numbers: int) -> None:
    checker.hear(Answer(said, [(number, 1) for number in numbers]))


def settle(checker: Checker) -> list[str]:
    return checker.settle(first_us=FIRST_US, until_us=FIRST_US + WINDOW_US).unsettled


def test_a_true_history_is_good(checker: Checker) -> None:
    hear(checker, envelope(1, without=(missing("b"),)), A)
    hear(checker, envelope(2), A, B)
    assert not checker.is_settled(first_us=FIRST_US, until_us=FIRST_US + WINDOW_US)
    hear(checker, envelope(3, final=True), A, B, LATE)
    assert settle(checker) == []
    assert checker.verdict.is_safe, checker.verdict.text()
    assert checker.is_settled(first_us=FIRST_US, until_us=FIRST_US + WINDOW_US)
    assert (checker.verdict.partial, checker.verdict.grown) == (1, 2)


def test_a_record_that_a_final_answer_lacks_is_lost(checker: Checker) -> None:
    hear(checker, envelope(final=True), A, B)
    assert checker.verdict.lost == {LATE}


def test_a_record_that_a_later_revision_drops_is_lost(checker: Checker) -> None:
    hear(checker, envelope(1), A, B, LATE)
    hear(checker, envelope(2), A, B)
    assert checker.verdict.lost == {LATE}


def test_a_count_of_two_is_a_duplicate(checker: Checker) -> None:
    checker.hear(Answer(envelope(), [(A, 1), (B, 2)]))
    assert checker.verdict.duplicated == {B}


def test_a_number_in_two_rows_is_a_duplicate(checker: Checker) -> None:
    hear(checker, envelope(), A, A, B)
    assert checker.verdict.duplicated == {A}


@pytest.mark.parametrize("stranger", [NEXT, 99], ids=["of another window", "never written"])
def test_a_number_that_does_not_belong_is_unexpected(checker: Checker, stranger: int) -> None:
    hear(checker, envelope(), A, B, stranger)
    assert checker.verdict.unexpected == {stranger}


def test_a_number_from_the_future_is_unexpected(checker: Checker) -> None:
    hear(checker, envelope(answered_at_s=END_S + 5.0), A, B, LATE)
    assert checker.verdict.unexpected == {LATE}


def test_a_site_called_unknown_must_be_absent(checker: Checker) -> None:
    hear(checker, envelope(without=(missing("b"),)), A, B)
    assert "b is called unknown, but is in" in checker.verdict.untrue[0]


def test_a_site_not_called_missing_must_have_what_was_written_in_time(checker: Checker) -> None:
    hear(checker, envelope(), A)
    assert "b is not missing, but lacks 1 (2)" in checker.verdict.untrue[0]


def test_a_site_that_awaits_a_late_update_is_missing_and_stays_covered(checker: Checker) -> None:
    hear(checker, envelope(1), A, B)
    awaits = (missing("b", PaneState.CLOSED),)
    hear(checker, envelope(2, without=awaits, covered=2), A, B)
    assert checker.verdict.is_safe, checker.verdict.text()


def test_an_absent_site_is_not_covered(checker: Checker) -> None:
    hear(checker, envelope(without=(missing("b"),), covered=2), A)
    assert "2 of 2 sites covered" in checker.verdict.untrue[0]


def test_an_exact_answer_lacks_nobody(checker: Checker) -> None:
    hear(checker, envelope(without=(missing("b"),), exact=True), A)
    assert "exact, but" in checker.verdict.untrue[0]


def test_a_final_answer_awaits_nobody(checker: Checker) -> None:
    hear(checker, envelope(without=(missing("b"),), final=True), A)
    assert "final, but b is unknown" in checker.verdict.untrue[0]


def test_what_is_declined_is_not_lost_and_not_settled(checker: Checker) -> None:
    hear(checker, envelope(without=(missing("b", PaneState.DECLINED),), final=True), A)
    assert checker.verdict.is_safe, checker.verdict.text()
    assert "final without 2 (2, 3)" in settle(checker)[0]


def test_nothing_follows_a_final_revision(checker: Checker) -> None:
    hear(checker, envelope(1, final=True), A, B, LATE)
    hear(checker, envelope(2, final=True), A, B, LATE)
    assert "revision 1 was final" in checker.verdict.untrue[0]


@pytest.mark.parametrize("revision", [1, 3], ids=["again", "skipped"])
def test_revisions_rise_by_one(checker: Checker, revision: int) -> None:
    hear(checker, envelope(1), A, B)
    hear(checker, envelope(revision), A, B)
    assert "it follows revision 1" in checker.verdict.untrue[0]


def test_a_revision_covers_no_fewer_sites(checker: Checker) -> None:
    hear(checker, envelope(1), A, B)
    hear(checker, envelope(2, without=(missing("b", PaneState.OPEN),)), A, B)
    assert "covers 1 sites after 2" in checker.verdict.untrue[0]


def test_a_window_without_an_answer_is_unsettled(checker: Checker) -> None:
    assert settle(checker) == [f"window {FIRST_US}: never answered"]


def test_a_window_that_stays_open_is_unsettled(checker: Checker) -> None:
    hear(checker, envelope(1, without=(missing("b"),)), A)
    assert "not final at revision 1" in settle(checker)[0]
    assert checker.verdict.is_safe
    assert not checker.verdict.is_live


# Wrong clocks: what they may cost, and what they may not

COUNTED = Tally(too_late=1)


def test_what_came_too_late_by_a_wrong_clock_is_given_up_and_not_lost(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("b", 3_600.0)
    hear(checker, envelope(final=True, exact=False, tally=COUNTED), A, B)
    assert settle(checker) == []
    assert checker.verdict.is_safe, checker.verdict.text()
    assert checker.verdict.given_up == {LATE}


def test_an_answer_that_says_it_is_exact_gives_nothing_up(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("b", 3_600.0)
    hear(checker, envelope(final=True, exact=True, tally=COUNTED), A, B)
    assert checker.verdict.lost == {LATE}


def test_a_wrong_clock_of_another_site_excuses_nothing(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("a", 3_600.0)
    hear(checker, envelope(final=True, exact=False, tally=COUNTED), A, B)
    assert checker.verdict.lost == {LATE}


def test_what_was_given_up_must_be_counted(checker: Checker, clocks: ClockSteps) -> None:
    clocks.note("b", 3_600.0)
    hear(checker, envelope(final=True, exact=False), A, B)
    settle(checker)
    assert "1 records were given up, but 0 were counted" in checker.verdict.untrue[0]


@pytest.mark.parametrize("tally", [Tally(too_late=1), Tally(refused=1)], ids=["late", "ahead"])
def test_too_late_and_too_far_ahead_both_count(
    checker: Checker, clocks: ClockSteps, tally: Tally
) -> None:
    clocks.note("b", -3_600.0)
    hear(checker, envelope(final=True, exact=False, tally=tally), A, B)
    settle(checker)
    assert checker.verdict.is_safe, checker.verdict.text()


def test_a_record_that_is_written_after_the_final_and_exact_answer_is_lost(
    truth: Truth, checker: Checker, clocks: ClockSteps
) -> None:
    """A site whose clock is ahead has sealed a window before its records were born."""
    clocks.note("b", 86_400.0)
    hear(checker, envelope(final=True), A, B, LATE)
    assert checker.verdict.is_safe, checker.verdict.text()
    number = truth.bear(Record("b", FIRST_US + 1, born_s=END_S, written_s=END_S))
    settle(checker)
    assert checker.verdict.lost == {number}


def test_a_site_ahead_closes_early_and_what_is_written_then_may_lack(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("b", 6.0)
    hear(checker, envelope(), A)
    assert checker.verdict.is_safe, checker.verdict.text()


def test_what_was_written_before_the_earliest_close_may_not_lack(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("b", 3.0)
    hear(checker, envelope(), A)
    assert "b is not missing, but lacks 1 (2)" in checker.verdict.untrue[0]


def test_a_clock_that_was_behind_excuses_no_early_close(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("b", -6.0)
    hear(checker, envelope(), A)
    assert "b is not missing, but lacks 1 (2)" in checker.verdict.untrue[0]


def test_a_root_whose_clock_is_wrong_does_not_know_when_it_answered(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("a", -3_600.0)
    hear(checker, envelope(answered_at_s=END_S - 3_000.0), A, B, LATE)
    assert checker.verdict.is_safe, checker.verdict.text()


@pytest.mark.parametrize("site", SITES)
def test_a_wrong_clock_never_excuses_a_duplicate_or_a_change_of_what_was_final(
    checker: Checker, clocks: ClockSteps, site: str
) -> None:
    clocks.note(site, 86_400.0)
    hear(checker, envelope(1, final=True, exact=False, tally=COUNTED), A, B)
    hear(checker, envelope(2, final=True, exact=False, tally=COUNTED), A, B, B)
    assert checker.verdict.duplicated == {B}
    assert "revision 1 was final" in checker.verdict.untrue[0]


def test_a_wrong_clock_never_excuses_a_number_that_was_dropped(
    checker: Checker, clocks: ClockSteps
) -> None:
    clocks.note("b", 86_400.0)
    hear(checker, envelope(1), A, B, LATE)
    hear(checker, envelope(2, final=True, exact=False, tally=COUNTED), A, B)
    assert checker.verdict.lost == {LATE}


def test_two_queries_on_the_same_records_have_one_verdict(truth: Truth) -> None:
    verdict = Verdict()
    first, second = (
        Checker(truth, SITES, disorder_s=DISORDER_S, verdict=verdict) for _ in range(2)
    )
    hear(first, envelope(final=True), A, B, LATE)
    hear(second, envelope(final=True, query="numbered@a#2"), A, B)
    assert verdict.lost == {LATE}
    assert (verdict.windows, verdict.revisions) == (2, 2)
