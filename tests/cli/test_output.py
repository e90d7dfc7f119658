"""Tables for people, JSON lines for programs."""

import doctest
import io
import json
from decimal import Decimal
from types import ModuleType

import pytest

from headwater.cli.commands import try_command
from headwater.cli.show import amounts, fitted_widths
from headwater.cli.show.output import (
    CELL_CHARACTERS_MAX,
    PLAIN_COLUMNS,
    Listing,
    OutputFormat,
    chosen,
    console_on,
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


@pytest.mark.parametrize("module", [amounts, fitted_widths, try_command])
def test_the_examples_in_the_docstrings_are_true(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


WIDE = Listing(
    ("window", "page", *(f"number{n}" for n in range(9))),
    [("12:00", "x" * 150, *range(1_000_000, 1_000_009))],
    title="pages",
    is_fitted=True,
)


@pytest.mark.parametrize("columns", [50, 80, 120, 400])
def test_a_fitted_table_never_wraps_cuts_texts_and_keeps_numbers(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = printed(WIDE, OutputFormat.TABLE)
    lines = text.splitlines()
    assert max(len(line) for line in lines) <= columns
    assert all(str(number) in text for number in range(1_000_000, 1_000_009)), "none is cut"
    assert ("…" in text) == (columns < 400)
    assert sum("12:00" in line for line in lines) == sum("pages" in line for line in lines)
    assert sum("xxx" in line for line in lines) == 1, "on one line"


def test_a_fitted_table_that_fits_is_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    small = Listing(("window", "n"), [("12:00", 1), ("12:01", 22)], title="s", is_fitted=True)
    assert printed(small, OutputFormat.TABLE).count("window") == 1


def test_numbers_stand_at_the_right_also_where_some_are_not_known() -> None:
    text = printed(Listing(("count",), [(1_000_000,), (None,), (7,)]), OutputFormat.TABLE)
    assert "│       7 │" in text


@pytest.mark.parametrize("told", ["", "wide", "0", "-5"])
def test_a_width_that_is_none_is_not_heeded(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", told)
    assert console_on(io.StringIO()).width == PLAIN_COLUMNS
