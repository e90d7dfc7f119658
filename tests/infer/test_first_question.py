"""Which column is the key of the question that one asks first, and how long its windows are."""

from __future__ import annotations

from headwater.infer.first_question import find_key, find_window, write_question
from headwater.infer.guess import ColumnGuess, SourceGuess, TimeGuess

HOUR_US = 3_600_000_000
TS = ColumnGuess("ts", "TIMESTAMP", distinct=100)


def guess(*columns: ColumnGuess, last_us: int | None = None) -> SourceGuess:
    time = TimeGuess(("ts",), first_us=None if last_us is None else 0, last_us=last_us)
    return SourceGuess("csv", (TS, *columns), time, records=100)


def key(*columns: ColumnGuess) -> str | None:
    found = find_key(guess(*columns))
    return None if found is None else found.name


def column(
    name: str, type_: str = "STRING", *, distinct: int = 5, filled: float = 1.0
) -> ColumnGuess:
    return ColumnGuess(name, type_, distinct=distinct, spread=0.9, filled=filled)


def test_a_constant_an_id_and_a_measure_are_no_keys() -> None:
    assert key(column("status", distinct=1)) is None
    assert key(column("user_id")) is None
    assert key(column("price", "DOUBLE")) is None
    assert key(column("word", distinct=21)) is None, "more than a fifth of the records"
    assert key(column("word", distinct=20)) == "word"


def test_a_column_that_is_mostly_empty_is_a_key_only_where_no_other_is() -> None:
    sparse = column("status", filled=0.1)
    assert key(sparse, column("colour")) == "colour"
    assert key(sparse) == "status"


def test_a_telling_name_beats_a_word_and_a_word_beats_a_number() -> None:
    assert key(column("colour"), column("httpStatus", "BIGINT")) == "httpStatus"
    assert key(column("size", "BIGINT"), column("colour")) == "colour"


def test_windows_are_so_long_that_the_sample_fills_a_screen() -> None:
    assert find_window(guess(last_us=None)) == "1 minute"
    assert find_window(guess(last_us=2 * HOUR_US)) == "5 minutes"
    assert find_window(guess(last_us=2 * HOUR_US + 1)) == "15 minutes"
    assert find_window(guess(last_us=24 * 365 * 10 * HOUR_US)) == "30 days"


def test_without_a_key_records_are_counted_by_time_alone() -> None:
    text = write_question(guess(column("user_id")), source="log")
    assert "user_id" not in text
    assert "GROUP BY window(ts, '1 minute')" in text
