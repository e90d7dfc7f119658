"""Tables for people, JSON lines for programs."""

import doctest
import io
import json
from decimal import Decimal

from headwater.cli import amounts
from headwater.cli.output import (
    CELL_CHARACTERS_MAX,
    Listing,
    OutputFormat,
    chosen,
    print_listing,
)

LISTING = Listing(("site", "rows", "share"), [("fra", 12, Decimal("0.50")), ("lhr", 7, None)])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(listing: Listing, form: OutputFormat | None) -> str:
    out = io.StringIO()
    print_listing(listing, form, out)
    return out.getvalue()


def test_a_terminal_gets_a_table_and_a_pipe_json() -> None:
    assert chosen(None, Terminal()) is OutputFormat.TABLE
    assert chosen(None, io.StringIO()) is OutputFormat.JSON
    assert chosen(OutputFormat.CSV, Terminal()) is OutputFormat.CSV


def test_json_is_one_object_a_line_with_numbers_as_numbers() -> None:
    rows = [json.loads(line) for line in printed(LISTING, None).splitlines()]
    assert rows == [
        {"site": "fra", "rows": 12, "share": 0.5},
        {"site": "lhr", "rows": 7, "share": None},
    ]


def test_csv_has_a_header_and_plain_line_ends() -> None:
    assert printed(LISTING, OutputFormat.CSV) == "site,rows,share\nfra,12,0.50\nlhr,7,\n"


def test_a_table_names_columns_and_cuts_what_is_too_long() -> None:
    long = Listing(("text",), [("x" * (CELL_CHARACTERS_MAX + 50),)])
    text = printed(long, OutputFormat.TABLE)
    assert "text" in text
    assert text.count("x") == CELL_CHARACTERS_MAX - 1 + "text".count("x")
    assert "…" in text


def test_markup_in_values_is_shown_as_it_is() -> None:
    assert "[bold]a[/bold]" in printed(Listing(("v",), [("[bold]a[/bold]",)]), OutputFormat.TABLE)


def test_nothing_is_said_in_words_on_a_terminal_and_is_no_line_in_a_pipe() -> None:
    empty = Listing(("site",), [], none="no sites")
    assert printed(empty, OutputFormat.TABLE) == "no sites\n"
    assert printed(empty, OutputFormat.JSON) == ""


def test_the_examples_in_the_docstrings_are_true() -> None:
    found = doctest.testmod(amounts)
    assert found.attempted
    assert not found.failed
