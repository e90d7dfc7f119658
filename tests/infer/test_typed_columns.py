"""What is made of files that have columns and types of their own."""

from __future__ import annotations

from headwater.infer.guess import SourceGuess
from headwater.infer.typed_columns import TypedColumn, TypedSample, common_type, infer_typed


def inferred(*samples: dict[str, TypedColumn]) -> SourceGuess:
    guess = infer_typed(
        "parquet",
        [TypedSample({(name,): one for name, one in columns.items()}) for columns in samples],
    )
    assert isinstance(guess, SourceGuess)
    return guess


def test_a_type_for_two_files_loses_nothing_of_either() -> None:
    assert common_type("BIGINT", "TINYINT") == "BIGINT"
    assert common_type("SMALLINT", "FLOAT") == "DOUBLE"
    assert common_type("BIGINT", "DOUBLE") == "STRING", "a double has no room for all digits"


def test_times_of_all_files_count() -> None:
    spans = ((10, 20), (5, 15), (12, 30))
    guess = inferred(*({"ts": TypedColumn("TIMESTAMP", time="", span_us=one)} for one in spans))
    assert (guess.time.first_us, guess.time.last_us) == (5, 30)


def test_a_count_beside_a_time_that_is_one_stays_a_number() -> None:
    guess = inferred(
        {"ts": TypedColumn("TIMESTAMP", time=""), "at": TypedColumn("TIMESTAMP", time="epoch_ns")}
    )
    assert {one.name: one.type for one in guess.columns} == {"ts": "TIMESTAMP", "at": "BIGINT"}
    assert guess.time.columns == ("ts",)
