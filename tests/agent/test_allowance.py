"""What a site may keep back of a pane, by the queries that it runs."""

import msgspec

from headwater.agent.query_book import QueryBook
from headwater.sql.compile import compile_statements

SOURCE = (
    "CREATE SOURCE r (word STRING, ts TIMESTAMP) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def test_of_an_input_that_ends_a_site_only_rehearses_what_it_would_keep_back() -> None:
    (query,) = compile_statements(
        f"{SOURCE} CREATE STREAM s WITH (error = '1 % of total') AS "
        "SELECT word, window.start, count(*) AS n FROM r "
        "GROUP BY word, window(ts, '60 seconds', '20 seconds');",
        root="a",
        installer="a",
        next_counter=1,
    )
    for goes_on in (True, False):
        book = QueryBook(growing_rows_max=7)
        book.add(msgspec.structs.replace(query, ends=not goes_on))
        allowance = book.allowance(str(query.id), 7)
        assert allowance is not None
        assert allowance.is_rehearsed is not goes_on
        assert allowance.tolerance == query.tolerance
        assert allowance.panes == 3
