"""Published answers: files that anything can read, and that are never half there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_kit import envelope_of, query_of, rows_of

from headwater.algebra.words.site_state import PaneState
from headwater.errors import StoreError
from headwater.root.said.envelope import MissingSite
from headwater.root.said.withheld import StatedError, StatedErrors, UncertainRows
from headwater.store.results.publication import HEADER_SCHEMA, Published
from headwater.store.results.results import ResultsReader, ResultsWriter

QUERY = query_of()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "results" / "hits"


def answer(window: int, *rows: tuple[str, int], revision: int = 1, **fields: object) -> Published:
    envelope = envelope_of(QUERY, window, revision=revision, **fields)
    return Published(envelope, rows_of(*rows) if rows else None)


def test_headers_carry_the_whole_envelope_and_flat_columns(directory: Path) -> None:
    missing = (MissingSite("oslo", PaneState.UNKNOWN, "", ((5, 6),)),)
    one = answer(5, ("/a", 1), missing=missing, missing_count=1, covered=2, exact=False)
    ResultsWriter(directory).publish([one, answer(6)])
    reader = ResultsReader(directory)
    headers = reader.headers(1)
    assert headers.schema.equals(HEADER_SCHEMA)
    first, second = headers.to_pylist()
    assert (first["seq"], first["window"], first["rows"], first["missing_sites"]) == (
        1,
        5,
        1,
        ["oslo"],
    )
    assert first["window_start"].timestamp() * 1e6 == one.envelope.start_us
    assert (second["rows"], second["exact"]) == (0, True)
    assert reader.envelopes(1) == [one.stamped(), answer(6).stamped()]


def test_rows_carry_a_short_form_and_come_in_the_order_of_headers(directory: Path) -> None:
    answers = [answer(6, ("/b", 2), final=True), answer(5, ("/a", 1), ("/c", 3), revision=2)]
    ResultsWriter(directory).publish(answers)
    rows = pq.read_table(directory / "rows-000000000001.parquet")
    assert rows.schema.names == [
        "window_start",
        "window_end",
        "revision",
        "exact",
        "final",
        "expected",
        "covered",
        "page",
        "n",
    ]
    assert rows["page"].to_pylist() == ["/b", "/a", "/c"]
    assert rows["revision"].to_pylist() == [1, 2, 2]
    assert rows["final"].to_pylist() == [True, False, False]


def test_an_answer_may_have_columns_with_our_names(directory: Path) -> None:
    own = pa.table({"revision": ["mine"], "window_start": [7], "_revision": [1.0]})
    ResultsWriter(directory).publish([Published(envelope_of(QUERY, 5), own)])
    reader = ResultsReader(directory)
    rows = reader.rows(1)
    assert rows is not None
    assert rows["revision"].to_pylist() == ["mine"]
    assert rows["__revision"].to_pylist() == [1]
    back = reader.answer(1, reader.envelopes(1)[0])
    assert back is not None
    assert back.equals(own)


def test_the_newest_answer_of_one_window_is_found_among_many(directory: Path) -> None:
    writer = ResultsWriter(directory)
    writer.publish([answer(5, ("/a", 1)), answer(6)])
    writer.publish([answer(5, ("/a", 2), revision=2), answer(7)])
    writer.publish([answer(8)])
    reader = ResultsReader(directory)
    found = reader.newest_of(str(QUERY.id), 5)
    assert found is not None
    assert found.revision == 2
    assert reader.newest_of(str(QUERY.id), 9) is None
    assert reader.newest_of("other@home#1", 5) is None


def test_a_reader_picks_one_window_of_a_publication(directory: Path) -> None:
    ResultsWriter(directory).publish([answer(5, ("/a", 1)), answer(6, ("/b", 2)), answer(7)])
    reader = ResultsReader(directory)
    five, six, seven = reader.envelopes(1)
    assert reader.answer(1, five).to_pylist() == [{"page": "/a", "n": 1}]  # type: ignore[union-attr]
    assert reader.answer(1, six).to_pylist() == [{"page": "/b", "n": 2}]  # type: ignore[union-attr]
    assert reader.answer(1, seven) is None


def test_publications_are_numbered_on_after_a_restart(directory: Path) -> None:
    assert ResultsWriter(directory).publish([answer(5)]) == 1
    assert ResultsWriter(directory).publish([answer(6)]) == 2
    reader = ResultsReader(directory)
    assert reader.publications() == [1, 2]
    assert reader.publications(after=1) == [2]


def test_publications_whose_files_somebody_removed_keep_their_numbers(directory: Path) -> None:
    """The ledger has counted them."""
    writer = ResultsWriter(directory)
    writer.recover(5)
    assert writer.prepare([answer(5)]) == 6


def test_the_newest_answer_of_each_window_is_found(directory: Path) -> None:
    writer = ResultsWriter(directory)
    writer.publish([answer(5, ("/a", 1)), answer(6, ("/a", 1))])
    writer.publish([answer(5, ("/a", 2), revision=2)])
    newest = ResultsReader(directory).newest()
    assert [(seq, e.window, e.revision) for seq, e in newest] == [(2, 5, 2), (1, 6, 1)]


def test_what_was_prepared_and_not_finished_is_invisible_and_goes_away(directory: Path) -> None:
    writer = ResultsWriter(directory)
    writer.recover()
    writer.prepare([answer(5, ("/a", 1))])
    assert ResultsReader(directory).publications() == []
    assert not list(directory.glob("rows-*"))
    again = ResultsWriter(directory)
    again.recover()
    assert list(directory.iterdir()) == []
    assert again.publish([answer(5)]) == 1


def test_a_stream_without_answers_and_a_missing_publication_are_told_apart(directory: Path) -> None:
    reader = ResultsReader(directory)
    assert reader.publications() == []
    assert reader.newest() == []
    with pytest.raises(StoreError, match="not there"):
        reader.headers(3)


def test_a_stream_is_bounded_and_the_oldest_publications_go(directory: Path) -> None:
    writer = ResultsWriter(directory, publications_max=3)
    for window in range(5):
        writer.publish([answer(window, ("/a", 1))])
    assert ResultsReader(directory).publications() == [3, 4, 5]
    assert len(list(directory.iterdir())) == 6


def test_answers_that_somebody_removed_do_not_keep_later_ones_out(directory: Path) -> None:
    writer = ResultsWriter(directory)
    writer.publish([answer(5, ("/a", 1))])
    shutil.rmtree(directory)
    writer.publish([answer(6, ("/b", 2))])
    assert [envelope.window for _, envelope in ResultsReader(directory).newest()] == [6]
    assert writer.trouble == ""


def test_a_committed_answer_that_was_removed_while_hidden_holds_up_nothing(directory: Path) -> None:
    writer = ResultsWriter(directory)
    writer.recover()
    seq = writer.prepare([answer(5, ("/a", 1))])
    shutil.rmtree(directory)
    with pytest.raises(StoreError, match="No such file"):
        writer.finish(seq)
    writer.recover(committed_seq=seq)
    assert writer.publish([answer(6, ("/b", 2))]) == seq + 1
    assert [envelope.window for _, envelope in ResultsReader(directory).newest()] == [6]


def test_headers_say_the_bound_and_what_is_not_sure(directory: Path) -> None:
    near = UncertainRows("hits", 12.0, 1, 2)
    column = StatedError("hits", "1 % of total", 5.0, 0.004, 9.0, True)
    stated = StatedErrors((column,), keys=3, uncertain=near)
    ResultsWriter(directory).publish([answer(5, ("/a", 1), withheld=stated), answer(6)])
    bounded, plain = ResultsReader(directory).headers(1).to_pylist()
    assert bounded["bound"] == [
        {"column": "hits", "asked": "1 % of total", "reached": 0.004, "is_kept": True}
    ]
    assert (bounded["withheld_keys"], bounded["uncertain"]) == (3, [near.text()])
    assert (plain["bound"], plain["withheld_keys"], plain["uncertain"]) == ([], 0, [])
