"""The root's ledger: durable before it is acknowledged, merged when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from store_kit import MERGER, FaultyDisk, counts_of, envelope_of, query_of, rows_of

from headwater.algebra.coverage import Coverage
from headwater.algebra.site_state import SiteState
from headwater.errors import DiskFull, SegmentDamaged, StoreError
from headwater.root.outputs import Keep, KeepState, KeptSummary, Trim, WindowAnswered
from headwater.store.publication import Published
from headwater.store.results import ResultsReader, ResultsWriter
from headwater.store.root_ledger import RootLedger

QUERY = query_of()
ID = str(QUERY.id)
Open = Callable[[], RootLedger]


@pytest.fixture
def open_ledger(tmp_path: Path) -> Iterator[Open]:
    opened: list[RootLedger] = []

    def open_() -> RootLedger:
        for ledger in opened:
            ledger.close()
        opened.append(RootLedger(tmp_path / "ledger", merger_of=lambda query: MERGER))
        return opened[-1]

    yield open_
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Open) -> RootLedger:
    return open_ledger()


def kept(number: int, pane: int, rows: pa.Table | None = None, site: int = 0) -> KeptSummary:
    coverage = Coverage.of_whole(site, 77) if rows is not None else Coverage.of_empty(site, 77)
    return KeptSummary(number, pane, coverage, rows, rows is not None)


def keep(number: int, pane: int, *rows: tuple[str, int], site: int = 0) -> Keep:
    return Keep(ID, kept(number, pane, rows_of(*rows) if rows else None, site))


def state(ordinal: int, incarnation: int, number: int) -> SiteState:
    return SiteState(ID, ordinal, incarnation, number, first_pane=0, empty=((3, 9),))


def answered(window: int, revision: int = 1) -> WindowAnswered:
    return WindowAnswered(window, revision, 4, envelope_of(QUERY, window, revision=revision))


def test_all_that_a_root_needs_comes_back_after_a_restart(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write(
        [
            keep(1, 5, ("/a", 1)),
            keep(2, 6, site=300),
            KeepState(ID, state(0, 7, 1), 0),
            KeepState(ID, state(0, 7, 2), 0),
            KeepState(ID, state(0, 8, 1), 2),
            Keep("other@home#2", kept(1, 5)),
        ]
    )
    incarnation = ledger.incarnation
    ledger = open_ledger()
    restored = ledger.restore(ID)
    assert ledger.incarnation == incarnation
    assert [(one.number, one.pane, one.has_rows) for one in restored.summaries] == [
        (1, 5, True),
        (2, 6, False),
    ]
    assert restored.summaries[1].coverage == Coverage.of_empty(300, 77)
    assert restored.states == (
        KeepState(ID, state(0, 7, 2), 0),
        KeepState(ID, state(0, 8, 1), 2),
    )
    assert restored.done_through is None
    assert set(ledger.queries()) == {ID, "other@home#2"}


def test_the_rows_of_a_pane_are_those_of_its_summaries_up_to_a_number(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/a", 10), ("/b", 1)), keep(3, 6, ("/a", 5))])
    ledger.write([keep(4, 5, ("/a", 100))])

    def counts(through: int) -> dict[str, int]:
        rows = ledger.pane_rows(ID, 5, kept_through=through)
        return {} if rows is None else counts_of(rows)

    for _ in range(2):
        assert counts(4) == {"/a": 111, "/b": 1}
        assert counts(2) == {"/a": 11, "/b": 1}
        assert counts(3) == {"/a": 11, "/b": 1}
        assert counts(1) == {"/a": 1}
        assert counts(0) == {}
        ledger = open_ledger()
    assert ledger.pane_rows(ID, 9, kept_through=4) is None


def test_a_merge_that_is_in_memory_is_only_added_to(
    ledger: RootLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write([keep(n, 5, ("/a", n)) for n in range(1, 4)])
    ledger.pane_rows(ID, 5, kept_through=3)
    ledger.write([keep(4, 5, ("/a", 4))])
    merged: list[int] = []
    merge = MERGER.merge

    def count(parts: list[pa.Table]) -> pa.Table:
        merged.append(len(parts))
        return merge(parts)

    monkeypatch.setattr(MERGER, "merge", count)
    rows = ledger.pane_rows(ID, 5, kept_through=4)
    assert rows is not None
    assert counts_of(rows) == {"/a": 10}
    assert merged == [2]


def test_a_group_that_overflows_stays_apart_and_the_others_of_its_pane_are_merged(
    ledger: RootLedger,
) -> None:
    count = 20
    ledger.write([keep(n, 5, ("/a", 2**62), ("/b", 1)) for n in range(1, count + 1)])
    for through in range(1, count + 1):
        rows = ledger.pane_rows(ID, 5, kept_through=through)
        assert rows is not None
    found = sorted((row["page"], row["n"]) for row in rows.to_pylist())
    assert found == [("/a", 2**62)] * count + [("/b", count)]


def test_a_tick_is_kept_as_a_whole_or_not_at_all(ledger: RootLedger) -> None:
    ledger.write([keep(1, 5, ("/a", 1))])
    with pytest.raises(StoreError):
        ledger.write([keep(2, 5, ("/a", 1)), keep(1, 6, ("/a", 1))])
    assert [one.number for one in ledger.restore(ID).summaries] == [1]


def test_a_tick_costs_one_transaction_however_much_it_keeps(
    ledger: RootLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    commit = ledger._manifest._commit
    monkeypatch.setattr(ledger._manifest, "_commit", lambda: (commits.append(1), commit()))
    ledger.write([keep(n, n % 7, ("/a", n)) for n in range(1, 200)])
    assert len(commits) == 1


def test_panes_that_are_done_are_trimmed_with_the_answers_that_end_before(
    open_ledger: Open, tmp_path: Path
) -> None:
    """Windows of three panes each, one pane apart: window 2 spans panes 2, 3 and 4."""
    ledger = open_ledger()
    ledger.write([keep(n, pane, ("/a", 1)) for n, pane in enumerate(range(6), start=1)])
    results = ResultsWriter(tmp_path / "results" / "hits")
    ledger.publish(QUERY, [answered(w) for w in range(4)], {}, results)
    ledger.pane_rows(ID, 3, kept_through=6)
    ledger.write([Trim(ID, 4)])
    ledger = open_ledger()
    restored = ledger.restore(ID)
    assert [one.pane for one in restored.summaries] == [4, 5]
    assert [one.window for one in restored.answers] == [2, 3]
    assert restored.done_through == 4
    assert ledger.pane_rows(ID, 3, kept_through=6) is None


def test_a_flipped_bit_in_a_summary_is_detected(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1))])
    (data,) = ledger._manifest.one("SELECT data FROM summaries")
    flipped = bytearray(data)
    flipped[len(flipped) // 2] ^= 4
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE summaries SET data = ?", (bytes(flipped),))
    ledger = open_ledger()
    with pytest.raises(SegmentDamaged, match="pane 5"):
        ledger.pane_rows(ID, 5, kept_through=1)


def test_mending_sets_the_damaged_aside_and_begins_a_new_incarnation(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/b", 2), site=1), keep(3, 6, ("/a", 4))])
    assert ledger.mend(ID) == (), "nothing was found to be damaged"
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE summaries SET checksum = x'00' WHERE number = 2")
    ledger = open_ledger()
    before = ledger.incarnation
    with pytest.raises(SegmentDamaged):
        ledger.pane_rows(ID, 5, kept_through=3)
    (lost,) = ledger.mend(ID)
    assert (lost.number, lost.pane, lost.coverage) == (2, 5, Coverage.of_whole(1, 77))
    assert ledger.incarnation > before
    rows = ledger.pane_rows(ID, 5, kept_through=3)
    assert rows is not None
    assert counts_of(rows) == {"/a": 1}
    after = ledger.incarnation
    ledger = open_ledger()
    assert ledger.incarnation == after, "it outlives the process"
    assert [one.number for one in ledger.restore(ID).summaries] == [1, 3]
    assert ledger._manifest.all("SELECT number, pane FROM damaged") == [(2, 5)]
    ledger.write([Trim(ID, 6)])
    assert ledger._manifest.all("SELECT number FROM damaged") == []


def test_a_forgotten_query_leaves_nothing_but_its_results(
    ledger: RootLedger, tmp_path: Path
) -> None:
    ledger.write([keep(1, 5, ("/a", 1)), KeepState(ID, state(0, 7, 1), 0), Trim(ID, 0)])
    results = ResultsWriter(tmp_path / "hits")
    ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", 1))}, results)
    ledger.forget(ID)
    assert ledger.queries() == ()
    assert ResultsReader(tmp_path / "hits").publications() == [1]


def test_rows_that_are_still_encoded_are_refused(ledger: RootLedger) -> None:
    coverage = Coverage.of_whole(0, 77)
    with pytest.raises(StoreError, match="not decoded"):
        ledger.write([Keep(ID, KeptSummary(1, 5, coverage, b"bytes", True))])


# Publishing in one step


def test_an_answer_is_published_and_remembered_with_its_number_of_rows(
    open_ledger: Open, tmp_path: Path
) -> None:
    ledger = open_ledger()
    results = ResultsWriter(tmp_path / "hits")
    rows = {5: rows_of(("/a", 1), ("/b", 2))}
    assert ledger.publish(QUERY, [answered(5), answered(6)], rows, results) == 1
    assert ledger.publish(QUERY, [answered(5, revision=2)], {}, results) == 2
    restored = open_ledger().restore(ID)
    assert [(a.window, a.revision, a.envelope.rows) for a in restored.answers] == [
        (5, 2, 0),
        (6, 1, 0),
    ]
    assert [e.rows for e in ResultsReader(tmp_path / "hits").envelopes(1)] == [2, 0]


@pytest.mark.parametrize("point", ["before the ledger", "after the ledger", "half revealed"])
def test_a_crash_while_publishing_leaves_both_or_neither(
    open_ledger: Open, tmp_path: Path, point: str
) -> None:
    ledger = open_ledger()
    directory = tmp_path / "hits"
    results = ResultsWriter(directory)
    ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", 1))}, results)
    disk = FaultyDisk()
    crashing = ResultsWriter(directory, disk=disk)
    ledger.settle_results("hits", crashing)
    if point == "before the ledger":
        crashing.prepare([Published(answered(6).envelope, rows_of(("/b", 1)))])
    else:
        disk.fail_after["rename"] = 0 if point == "after the ledger" else 1
        assert ledger.publish(QUERY, [answered(6)], {6: rows_of(("/b", 1))}, crashing) == 2
        assert "publishing in" in crashing.trouble
        assert ResultsReader(directory).publications() == [1]
    ledger = open_ledger()
    results = ResultsWriter(directory)
    ledger.settle_results("hits", results)
    published = ResultsReader(directory).publications()
    remembered = len(ledger.restore(ID).answers)
    assert len(published) == remembered == (1 if point == "before the ledger" else 2)
    assert ledger.publish(QUERY, [answered(7)], {}, results) == remembered + 1
    assert not [path for path in directory.iterdir() if path.name.startswith(".")]


def test_after_a_publication_that_could_not_be_revealed_the_next_one_reveals_it(
    ledger: RootLedger, tmp_path: Path
) -> None:
    disk = FaultyDisk()
    results = ResultsWriter(tmp_path / "hits", disk=disk)
    disk.fail_after["rename"] = 0
    assert ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", 1))}, results) == 1
    disk.fail_after.clear()
    assert ledger.publish(QUERY, [answered(6)], {}, results) == 2
    reader = ResultsReader(tmp_path / "hits")
    assert [[e.window for e in reader.envelopes(seq)] for seq in (1, 2)] == [[5], [6]]


def test_a_full_disk_publishes_and_remembers_nothing(ledger: RootLedger, tmp_path: Path) -> None:
    disk = FaultyDisk()
    results = ResultsWriter(tmp_path / "hits", disk=disk)
    disk.fail_after["write_new"] = 1
    with pytest.raises(DiskFull):
        ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", 1))}, results)
    assert ledger.restore(ID).answers == ()
    assert list((tmp_path / "hits").iterdir()) == []
    disk.fail_after.clear()
    assert ledger.publish(QUERY, [answered(5)], {}, results) == 1
