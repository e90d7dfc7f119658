"""A guess as a statement: names and texts stand in it as what they are."""

from __future__ import annotations

import pytest

from headwater.infer.guess import ColumnGuess, SourceGuess, TimeGuess
from headwater.infer.write_source import literal, quoted_name, write_source
from headwater.sql.compile import parse_script


@pytest.mark.parametrize(
    ("name", "written"),
    [("page", "page"), ("Order", "`Order`"), ("a b", "`a b`"), ("a`b", "`a``b`")],
)
def test_a_name_that_a_statement_would_misread_stands_in_backticks(name: str, written: str) -> None:
    assert quoted_name(name) == written


def test_a_text_with_quotes_and_backslashes_is_written_as_it_is() -> None:
    assert literal(r"\d") == r"r'\d'"
    assert literal(r"it's \d") == r"'it\'s \\d'"


def test_what_is_written_says_the_same_names_and_options() -> None:
    pattern = r"(?<ts>\S+) it's (?<Order>\d+)"
    columns = (ColumnGuess("ts", "TIMESTAMP"), ColumnGuess("Order", "BIGINT"))
    guess = SourceGuess("regex", columns, TimeGuess(("ts",)), (("pattern", pattern),))
    (source,) = parse_script(write_source(guess, name="log", path="*.log")).sources
    assert [column.name for column in source.columns] == ["ts", "Order"]
    assert dict(source.options)["pattern"] == pattern
