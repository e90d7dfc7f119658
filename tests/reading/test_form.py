"""What the options of a source say of its files."""

from __future__ import annotations

import msgspec
import pytest

from headwater.reading.form import Form, form_of
from headwater.reading.records import SEPARATOR, Quoting
from headwater.sql.compile import parse_script


def form(format_: str, options: str = "") -> Form:
    (source,) = parse_script(
        f"CREATE SOURCE s (ts TIMESTAMP, n INT) WITH (format = '{format_}', path = '*', "
        f"time = 'ts'{options})"
    ).sources
    return form_of(source)


@pytest.mark.parametrize(
    ("format_", "options", "quoting"),
    [
        ("csv", "", Quoting()),
        ("csv", ", delimiter = ';'", Quoting(delimiter=b";")),
        ("tsv", ", quote = '\"'", Quoting(delimiter=b"\t")),
        ("csv", ", quote = '~'", Quoting(quote=b"~", escape=b"~")),
        ("csv", r", escape = '\\'", Quoting(escape=b"\\")),
    ],
)
def test_records_over_several_lines_are_quoted_as_the_source_says(
    format_: str, options: str, quoting: Quoting
) -> None:
    found = form(format_, f", multiline = 'true'{options}")
    assert found.quoting == quoting
    assert found.separator == SEPARATOR.decode()


def test_without_a_quote_a_line_is_a_record() -> None:
    (source,) = parse_script(
        "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'tsv', path = '*', time = 'ts')"
    ).sources
    for options in (("multiline", "true"),), (("multiline", "true"), ("quote", "")):
        assert form_of(msgspec.structs.replace(source, options=options)) == Form()


def test_a_line_is_a_record_unless_the_source_says_otherwise() -> None:
    assert form("csv") == form("json") == Form()
    assert form("csv", ", header = 'true'").has_heads
    assert form("json", ", array = 'true'").is_whole
    assert form("parquet").is_whole


def test_records_begin_as_the_source_says() -> None:
    found = form("regex", r", pattern = r'(.*) (.*)', record_start = r'\d{4}-'")
    assert found == Form(record_start=r"\d{4}-")
    assert found.separator == SEPARATOR.decode()
