"""Rows beyond what memory should hold: taken in, merged, read and published a portion at a time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_kit import MERGER, QUERY, SOURCE, CubeUser, batch_of, counts_of, envelope_of, query_of
from store_kit import rows_of as summary_rows

from headwater.algebra.coverage import Coverage
from headwater.errors import PaneIsLarge
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.root.outputs import Keep, KeptSummary
from headwater.store import image_packer
from headwater.store.cube.early import part_reader
from headwater.store.ledger.root_ledger import RootLedger
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsReader, ResultsWriter
from headwater.store.segments import SegmentStore

Open = Callable[..., CubeUser]


class Pieces:
    """Tables that are made when they are asked for; how many were alive at once."""

    def __init__(self, *makers: Callable[[], pa.Table]) -> None:
        self._makers = makers
        self._alive: list[weakref.ref[pa.Table]] = []
        self.alive_max = 0

    @property
    def num_rows(self) -> int:
        return sum(make().num_rows for make in self._makers)

    def __iter__(self) -> Iterator[pa.Table]:
        for make in self._makers:
            table = make()
            self._alive.append(weakref.ref(table))
            yield table
            self.alive_max = max(self.alive_max, sum(one() is not None for one in self._alive))
            del table


def commit_pieces(user: CubeUser, pieces: Pieces) -> object:
    through = user.cut_input()
    batch = Batch(SOURCE, user.cube.cuts.state(SOURCE).epoch, 1, through)
    return user.cube.commit_batch(batch, SiteOutcome((QueryResult(QUERY, pieces=pieces),)))


def test_a_batch_in_pieces_is_stored_whole_and_never_held_whole(open_cube: Open) -> None:
    user = open_cube()
    user.install()
    user.cube._rows.store._cache._bytes_max = 0
    pieces = Pieces(*(lambda n=n: batch_of((5, f"/{n}", 1), (6, "/x", n)) for n in range(20)))
    report = commit_pieces(user, pieces)
    assert report.queries[0].panes == ((5, 20), (6, 20))  # type: ignore[attr-defined]
    assert pieces.alive_max <= 2
    user.make_updates(5, 6)
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {f"/{n}": 1 for n in range(20)}
    assert counts_of(user.cube.rows(QUERY, 6, ((1, 1),))) == {"/x": sum(range(20))}


def test_a_large_pane_is_merged_in_portions_that_together_are_the_pane(
    open_cube: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = open_cube(summary_bytes_max=100)
    user.install()
    for n in range(10):
        user.commit(*((5, f"/{k}", n) for k in range(5)))
    monkeypatch.setattr(part_reader, "MERGE_BYTES_MAX", 200)
    merged: list[int] = []
    original = type(MERGER).merge

    def counting(merger: object, parts: list[pa.Table]) -> pa.Table:
        merged.append(sum(table.nbytes for table in parts))
        return original(merger, parts)  # type: ignore[arg-type]

    monkeypatch.setattr(type(MERGER), "merge", counting)
    (done,) = user.make_updates(5)
    assert merged
    assert max(merged) <= 200
    monkeypatch.undo()
    whole = user.cube.rows(QUERY, 5, ((1, done.last_update),))
    assert counts_of(whole) == {f"/{k}": sum(range(10)) for k in range(5)}


@pytest.fixture
def merged_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows that went into each merge."""
    found: list[int] = []
    original = type(MERGER).merge

    def counting(merger: object, parts: list[pa.Table]) -> pa.Table:
        found.append(sum(table.num_rows for table in parts))
        return original(merger, parts)  # type: ignore[arg-type]

    monkeypatch.setattr(type(MERGER), "merge", counting)
    return found


@pytest.mark.parametrize("portion_bytes", [1 << 20, 4_000])
def test_groups_of_a_pane_cost_no_more_than_their_number(
    open_cube: Open, merged_rows: list[int], monkeypatch: pytest.MonkeyPatch, portion_bytes: int
) -> None:
    """Every row of a batch goes into one merge, once, whatever the size of a portion and of an
    update."""
    monkeypatch.setattr(part_reader, "MERGE_BYTES_MAX", portion_bytes)
    user = open_cube(summary_bytes_max=1_000)
    user.install()
    for pane, groups in ((1, 250), (2, 1_000)):
        for n in range(4):
            user.commit(*((pane, f"/{k}", n) for k in range(groups)))
        merged_rows.clear()
        user.make_updates(pane)
        assert sum(merged_rows) <= 4 * groups


def test_revisions_of_a_window_merge_what_is_new_and_no_more(
    tmp_path: Path, merged_rows: list[int]
) -> None:
    """The n-th revision of a window of 100 groups merges one update into what was merged before,
    not n updates: by the square it would be 20 times as much."""
    ledger = RootLedger(tmp_path, merger_of=lambda query: MERGER)
    groups, revisions = 100, 40
    for number in range(1, revisions + 1):
        rows = summary_rows(*((f"/{k}", 1) for k in range(groups)))
        kept = KeptSummary(number, 5, Coverage.of_whole(number, 77), rows, True)
        ledger.write([Keep(QUERY, kept)])
        found = ledger.rows.pane_rows(QUERY, 5, kept_through=number)
        assert found is not None
    assert counts_of(found) == {f"/{k}": revisions for k in range(groups)}
    assert sum(merged_rows) <= 2 * groups * revisions
    ledger.close()


def test_what_waits_to_be_written_is_bounded_and_few_rows_are_one_write(
    open_cube: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = open_cube()
    user.install()
    for n in (1, 2):
        user.commit(*((pane, "/a", n) for pane in range(20)))
    calls: list[int] = []
    original = SegmentStore.write

    def counting(store: SegmentStore, labelled: object) -> object:
        tables = list(labelled)  # type: ignore[call-overload]
        calls.append(sum(table.num_rows for _, table in tables))
        return original(store, tables)

    monkeypatch.setattr(SegmentStore, "write", counting)
    user.make_updates(*range(10))
    assert [count for count in calls if count] == [10], "one segment for all panes of a tick"
    calls.clear()
    monkeypatch.setattr(image_packer, "WAITING_BYTES_MAX", 60)
    user.make_updates(*range(10, 20))
    assert max(calls) <= 5
    assert sum(calls) == 10
    for pane in range(20):
        assert counts_of(user.cube.rows(QUERY, pane, ((1, 1),))) == {"/a": 3}


def test_a_ledger_gives_the_rows_of_a_large_pane_one_by_one(tmp_path: Path) -> None:
    ledger = RootLedger(tmp_path, merger_of=lambda query: MERGER, cache_bytes_max=0)
    for number in range(1, 9):
        rows = summary_rows(*((f"/{k}", number) for k in range(10)))
        kept = KeptSummary(number, 5, Coverage.of_whole(number, 77), rows, True)
        ledger.write([Keep(QUERY, kept)])
    one = rows.nbytes
    with pytest.raises(PaneIsLarge):
        ledger.rows.pane_rows(QUERY, 5, kept_through=8, bytes_max=3 * one)
    parts = ledger.rows.pane_parts(QUERY, 5, kept_through=7)
    assert [part.num_rows for part in parts] == [10] * 7
    small = ledger.rows.pane_rows(QUERY, 5, kept_through=2, bytes_max=3 * one)
    assert small is not None
    assert counts_of(small) == {f"/{k}": 3 for k in range(10)}
    ledger.close()


def in_pieces(pages: list[str]) -> Pieces:
    starts = range(0, len(pages), 500)
    return Pieces(*(lambda at=at: pa.table({"page": pages[at : at + 500]}) for at in starts))


def test_an_answer_in_pieces_is_published_whole_and_read_by_window(tmp_path: Path) -> None:
    query = query_of()
    pages = [[f"/{w}/{n}" for n in range(5_000)] for w in (5, 6)]
    answers = [
        Published(envelope_of(query, window, rows=5_000), in_pieces(own))
        for window, own in zip((5, 6), pages, strict=True)
    ]
    seq = ResultsWriter(tmp_path).publish(answers)
    for answer in answers:
        assert isinstance(answer.rows, Pieces)
        assert answer.rows.alive_max <= 12, "a row group's worth"
    reader = ResultsReader(tmp_path)
    for own, envelope in zip(pages, reader.envelopes(seq), strict=True):
        assert envelope.rows == 5_000
        found = reader.answer(seq, envelope)
        assert found is not None
        assert found["page"].to_pylist() == own
    assert pq.read_metadata(next(tmp_path.glob("rows-*"))).num_row_groups < 6
