"""Remarks about an input: said when they become so and when they are over, and not in between."""

from __future__ import annotations

import msgspec

from headwater.agent.input.input_remarks import InputRemarks
from headwater.agent.input.malformed_watch import SLICE_S, SLICES_MAX
from headwater.algebra.rows.columns import Column
from headwater.algebra.words.malformed import Malformed
from headwater.algebra.words.remark import REMARK_CHARACTERS_MAX, Remark, RemarkKind
from headwater.plan.sources.source import Source, SourceFormat

SOURCE = Source("hits", (Column("ts", "timestamp"),), SourceFormat.CSV, "*.csv", "ts")
KINDS = (Malformed(reason="bytes: wanted bigint", lines=40, came="secret", sample="a secret line"),)
LATER_S = SLICE_S * SLICES_MAX + 1.0


def kinds_of(news: list[tuple[str, str]]) -> list[str]:
    return [kind for kind, _ in news]


def test_too_many_malformed_lines_are_said_once_and_so_is_their_end() -> None:
    remarks = InputRemarks(SOURCE)
    assert remarks.read(1_000, 10, (), now_s=0.0) == []
    ((kind, text),) = remarks.read(100, 40, KINDS, now_s=1.0)
    assert kind == RemarkKind.MALFORMED
    assert text == (
        "source hits: 50 of 1,100 lines that were read within 10 minutes are malformed, more than "
        "malformed_max = '1%': bytes: wanted bigint (40 lines)"
    )
    assert [remark.kind for remark in remarks.current] == [RemarkKind.MALFORMED]
    assert "secret" not in remarks.current[0].text
    before = remarks.current
    for step in range(2, 9):
        assert remarks.read(100, 40, KINDS, now_s=float(step)) == []
    assert remarks.current == before, "no news for every batch"
    assert kinds_of(remarks.read(0, 0, KINDS, now_s=LATER_S + 10.0)) == [RemarkKind.MALFORMED]
    assert remarks.current == ()


def test_what_is_about_as_much_as_may_be_does_not_come_and_go() -> None:
    remarks = InputRemarks(SOURCE)
    assert remarks.read(1_000, 11, (), now_s=0.0) != []
    assert remarks.read(100, 0, (), now_s=1.0) == [], "it is a percent still"
    assert remarks.read(2_000, 0, (), now_s=2.0) != [], "and now it is a third of one"


def test_a_format_that_changes_is_seen_behind_many_good_lines() -> None:
    remarks = InputRemarks(SOURCE)
    remarks.read(10_000_000, 0, (), now_s=0.0)
    assert remarks.read(100, 100, (), now_s=LATER_S) != []


def test_reasons_that_come_later_are_added_once() -> None:
    remarks = InputRemarks(SOURCE)
    remarks.read(10, 10, (), now_s=0.0)
    (bare,) = remarks.current
    assert remarks.read(10, 10, KINDS, now_s=1.0) == []
    (named,) = remarks.current
    assert "bytes: wanted bigint" in named.text
    assert "bytes: wanted bigint" not in bare.text


def test_the_source_says_how_many_are_too_many() -> None:
    lenient = msgspec.structs.replace(SOURCE, options=(("malformed_max", "50%"),))
    assert InputRemarks(lenient).read(10, 5, (), now_s=0.0) == []
    assert InputRemarks(lenient).read(10, 6, (), now_s=0.0) != []


def test_a_clock_that_is_set_back_keeps_nothing_for_ever() -> None:
    remarks = InputRemarks(SOURCE)
    remarks.read(10, 10, (), now_s=1e6)
    assert remarks.read(10, 0, (), now_s=0.0) != []
    assert remarks.current == ()


def test_that_no_file_matches_is_said_until_one_does() -> None:
    remarks = InputRemarks(SOURCE)
    assert remarks.is_look_due(0)
    assert kinds_of(remarks.found_none("no file matches '*.csv'", 0)) == [RemarkKind.NO_FILE]
    assert not remarks.is_look_due(0)
    assert remarks.is_look_due(1), "something is there now, and left alone"
    assert remarks.current == (Remark("no file", "no file matches '*.csv'"),)
    assert kinds_of(remarks.found_some()) == [RemarkKind.NO_FILE]
    assert remarks.found_some() == []
    assert remarks.current == ()
    assert remarks.is_look_due(0), "when the last one is gone"


def test_a_remark_is_no_longer_than_may_travel() -> None:
    assert len(Remark.of(RemarkKind.MALFORMED, "x" * 10_000).text) == REMARK_CHARACTERS_MAX
