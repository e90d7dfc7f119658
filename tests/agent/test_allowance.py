"""What a site may keep back of a pane, by the queries that it runs."""

import msgspec
from query_kit import queries_in

from headwater.agent.query_book import QueryBook
from headwater.algebra.remainders.share_table import Dealing, OwnShare
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def test_of_an_input_that_ends_a_site_only_rehearses_what_it_would_keep_back() -> None:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH (error = '1 % of total') AS "
        "SELECT word, window.start, count(*) AS n FROM r "
        "GROUP BY word, window(ts, '60 seconds', '20 seconds');"
    )
    for goes_on in (True, False):
        book = QueryBook(growing_rows_max=7)
        book.add(msgspec.structs.replace(query, ends=not goes_on))
        allowance = book.allowance(str(query.id), 7)
        assert allowance is not None
        assert allowance.is_rehearsed is not goes_on
        assert allowance.tolerance == query.tolerance
        assert allowance.panes == 3


def test_a_bound_that_is_a_number_goes_by_the_site_s_share_from_where_tables_name_panes() -> None:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s WITH (error = '600') AS "
        "SELECT word, window.start, count(*) AS n FROM r "
        "GROUP BY word, window(ts, '60 seconds', '20 seconds');",
        known_sites=("a", "b", "c", "d"),
        begin="now",
        now_us=1_000_000_000,
    )
    tolerance = query.tolerates
    assert tolerance is not None
    assert isinstance(tolerance.dealing, Dealing)
    first = tolerance.dealing.first
    assert first == (query.begin_pane or 0) + 4 * 2  # stretches of 30 s are two panes of 20 s
    book, name = QueryBook(growing_rows_max=7), str(query.id)
    book.add(query)

    def most(pane: int) -> float:
        allowance = book.allowance(name, pane)
        assert allowance is not None
        (column,) = tolerance.columns
        return tolerance.share(column, panes=allowance.panes, part=allowance.part)

    assert [most(first - 1), most(first)] == [50.0, 0.0]
    own = (OwnShare(first, first + 3, 0.75),)
    book.alter(name, msgspec.structs.replace(SettingsBook(Settings.of(query)), own=own))
    assert [most(pane) for pane in (first - 1, first, first + 3, first + 4)] == [50, 150, 150, 0]


def test_keys_are_measured_for_all_settings_of_a_stream_and_its_closes_know_what_has_left() -> None:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s AS SELECT word, count(*) AS n FROM r "
        "GROUP BY word, window(ts, '20 seconds');"
    )
    book, name, first = QueryBook(), str(query.id), Settings.of(query)
    book.add(query)
    assert book.early_rows(name) is None
    staleness = msgspec.structs.replace(first, rounds=8)
    book.alter(name, SettingsBook(first, (Numbered(1, 30, staleness),)))
    early = book.early_rows(name)
    assert early is not None
    assert early.is_asked
    assert early.measures == (query.program.partials[0].name,)
    book.alter(name, SettingsBook(first, (Numbered(33, 90, first),)))
    early = book.early_rows(name)
    assert early is not None, "settings that are known no more may have cut panes that are open"
    assert not early.is_asked
