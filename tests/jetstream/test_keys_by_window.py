"""JetStream's figure 4 on a small made trace: its rows mean what they are called."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from experiments import jetstream_04
from experiments.jetstream_04 import Raw, Row, Trace, rows_of

FOUND: list[Raw] = [
    (0.0, "a/1", "a"),
    (0.5, "a/2", "a"),
    (0.9, "a/1", "a"),
    (1.0, "a/1", "a"),
    (9.0, "b/1", "b"),
]
"""Seconds 0, 1 and 9 have records."""


def none() -> Iterator[Raw]:
    return iter(())


def test_section_3_groups_are_counted_once_a_window_and_windows_without_a_record_not_at_all() -> (
    None
):
    rows = rows_of(Trace("made", "", "URL", "domain", none), FOUND)
    assert rows == [
        Row("made", "URL", 1, 3, 5, 4),
        Row("made", "URL", 5, 2, 5, 3),
        Row("made", "domain", 1, 3, 5, 3),
        Row("made", "domain", 5, 2, 5, 2),
    ], "windows of 30 s are longer than half of it"
    assert rows[0].share == 0.8


def test_a_trace_with_domains_alone_has_rows_of_these() -> None:
    rows = rows_of(Trace("made", "", "", "domain", none), FOUND)
    assert {row.key for row in rows} == {"domain"}


def test_where_no_trace_is_nothing_is_written(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jetstream_04, "DATA", tmp_path)
    monkeypatch.setattr(jetstream_04, "write_csv", lambda *_: pytest.fail("written"))
    jetstream_04.main()
    said = capsys.readouterr().out
    assert said.count("NOT MEASURED") == len(jetstream_04.TRACES)
