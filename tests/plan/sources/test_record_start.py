"""What may begin a record: the same to Java as to RE2, and never every line."""

from __future__ import annotations

import pytest

from headwater.plan.sources.record_start import RECORD_START_LENGTH_MAX, record_start_fault


@pytest.mark.parametrize(
    "start",
    [
        r"^\d{4}-\d\d-\d\d",
        r"\[\d{4}-\d\d-\d\d[T ]",
        r"(?:\S+ )?\d+",
        r"<\d{1,3}>",
        r"(INFO|WARN|ERROR)\s+",
        r"[^\s\]]+: ",
        r"[A-Z][a-z]{2} [ \d]\d ",
        "日付",
        "a.c?",
    ],
)
def test_beginnings_as_logs_have_them(start: str) -> None:
    assert record_start_fault(start) is None


@pytest.mark.parametrize(
    ("start", "why"),
    [
        ("", "matches an empty line"),
        (r"^", "matches an empty line"),
        (r"\s*", "matches an empty line"),
        (r"a|", "matches an empty line"),
        (r"(?=\d)", r"this is not: '(?=\\d)'"),
        (r"(?i)info", "this is not: '(?i)info'"),
        (r"\bINFO", r"this is not: '\\bINFO'"),
        (r"[a-z&&[^b]]", "this is not"),
        (r"[[:alpha:]]", "this is not"),
        (r"\d{4}$", "this is not: '$'"),
        (r"a^b", "this is not: '^b'"),
        (r"\p{Lu}", "this is not"),
        (r"(\d)\1", "this is not"),
        (r"(a", "no regular expression: missing )"),
        (r"a++", "no regular expression: bad repetition operator"),
        (r"(?:(?:a{99}){99}){99}", "no regular expression"),
        ("a" * (RECORD_START_LENGTH_MAX + 1), "at most 200 characters"),
    ],
)
def test_what_java_reads_otherwise_or_could_take_long_is_refused(start: str, why: str) -> None:
    assert why in (record_start_fault(start) or "")
