"""Settings of a query: told whole, found by pane, and shares that go on through changes."""

from __future__ import annotations

import msgspec
from pane_kit import make_query

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.share_table import Dealing, OwnShare
from headwater.algebra.remainders.tolerance import Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.plan.altered.dealing import dealing_as, with_dealing
from headwater.plan.altered.link_share import LinkShare
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX, Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook
from headwater.plan.query import Query

PANE_US = 10_000_000
COLUMN = ToleratedColumn("n", "n", ErrorForm.ABSOLUTE, 12.0)


def a_query(tolerance: Tolerance | None = None) -> Query:
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    return msgspec.structs.replace(query, program=program, tolerance=tolerance or msgspec.UNSET)


def test_the_settings_of_a_query_are_those_that_it_was_installed_with() -> None:
    settings = Settings(
        deadline_s=7.0,
        revise_every_s=3.0,
        waits=True,
        tolerance=Tolerance((COLUMN,), sites=3),
        share=LinkShare(weight=3),
    )
    assert Settings.of(settings.on(a_query())) == settings
    assert Settings.of(Settings().on(settings.on(a_query()))) == Settings()


def book_of(*changes: tuple[int, int]) -> SettingsBook:
    numbered = tuple(Numbered(n, pane, Settings(deadline_s=float(n))) for n, pane in changes)
    return SettingsBook(Settings(), numbered)


def test_of_more_settings_than_are_kept_the_lowest_numbers_are_forgotten() -> None:
    former = book_of(*((n, 10 * n) for n in range(1, SETTINGS_KEPT_MAX + 1)))
    newest = SETTINGS_KEPT_MAX + 1
    joined = former.joined(book_of((newest, 10 * newest)))
    assert [one.number for one in joined.changes] == list(range(2, newest + 1))


def test_only_what_nothing_later_has_replaced_is_still_to_come() -> None:
    book = book_of((1, 30), (2, 20), (3, 40))
    assert [one.number for one in book.pending(10)] == [1, 2, 3]
    assert [one.number for one in book.pending(20)] == [3], "1 was replaced before its pane came"


def test_a_share_goes_by_the_settings_of_its_pane_and_not_by_the_newest() -> None:
    dealt = Tolerance((COLUMN,), sites=4, dealing=Dealing(5, 10))
    book = SettingsBook(
        Settings(tolerance=dealt), (Numbered(1, 30, Settings()),), own=(OwnShare(5, 40, 0.5),)
    )
    assert [book.part_at(pane) for pane in (4, 5, 29, 30)] == [None, 0.5, 0.5, None]


def test_a_share_is_a_part_of_what_all_sites_may_keep_back_of_a_pane() -> None:
    tolerance = Tolerance((COLUMN,), sites=4)
    assert tolerance.share(COLUMN, panes=3, part=0.5) == 2.0
    assert tolerance.share(COLUMN, panes=3) == 1.0
    worst = msgspec.structs.replace(COLUMN, is_largest=True)
    assert tolerance.share(worst, panes=3, part=0.5) == 12.0


def first_dealt(query: Query) -> int | None:
    tolerance = query.tolerates
    assert tolerance is not None
    return tolerance.dealing.first if isinstance(tolerance.dealing, Dealing) else None


def test_tables_begin_when_all_can_have_heard_of_one_and_go_on_under_other_settings() -> None:
    even = a_query(Tolerance((COLUMN,), sites=3))
    dealt = with_dealing(even, now_us=50 * PANE_US, table_s=30.0)
    assert first_dealt(dealt) == 50 + 4 * 3
    later = msgspec.structs.replace(even, begin_pane=90)
    assert first_dealt(with_dealing(later, now_us=50 * PANE_US, table_s=30.0)) == 90 + 4 * 3
    assert first_dealt(dealing_as(even, dealt)) == first_dealt(dealt)
    assert first_dealt(dealing_as(even, a_query())) is None, "shares of a later bound stay even"
