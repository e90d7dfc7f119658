"""The root's ledger: durable before it is acknowledged, merged when it is needed."""

from __future__ import annotations

import errno
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from store_kit import (
    MERGER,
    FaultyConnection,
    FaultyDisk,
    counts_of,
    envelope_of,
    query_of,
    rows_of,
)

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import SiteState
from headwater.errors import (
    AlreadyPublished,
    DiskFull,
    RowsGone,
    SegmentDamaged,
    StoreBroken,
    StoreError,
    UnreadableRow,
)
from headwater.plan.roster import Roster, Site
from headwater.root.books import Books
from headwater.root.config import RootConfig
from headwater.root.outputs import (
    Keep,
    KeepAgreement,
    KeepState,
    KeptSummary,
    Replace,
    Trim,
    WindowAnswered,
)
from headwater.root.root import Root
from headwater.store.ledger.root_ledger import RootLedger
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsReader, ResultsWriter
from headwater.store.table_cache import TableCache

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
    return SiteState(
        query=ID,
        ordinal=ordinal,
        incarnation=incarnation,
        number=number,
        first_pane=0,
        empty=((3, 9),),
    )


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
    assert restored.states == (KeepState(ID, state(0, 7, 2), 0), KeepState(ID, state(0, 8, 1), 2))
    assert restored.done_through is None
    assert set(ledger.queries()) == {ID, "other@home#2"}


def test_the_rows_of_a_pane_are_those_of_its_summaries_up_to_a_number(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/a", 10), ("/b", 1)), keep(3, 6, ("/a", 5))])
    ledger.write([keep(4, 5, ("/a", 100))])

    def counts(through: int) -> dict[str, int]:
        rows = ledger.rows.pane_rows(ID, 5, kept_through=through)
        return {} if rows is None else counts_of(rows)

    for _ in range(2):
        assert counts(4) == {"/a": 111, "/b": 1}
        assert counts(2) == {"/a": 11, "/b": 1}
        assert counts(3) == {"/a": 11, "/b": 1}
        assert counts(1) == {"/a": 1}
        assert counts(0) == {}
        ledger = open_ledger()
    assert ledger.rows.pane_rows(ID, 9, kept_through=4) is None


def test_a_merge_that_is_in_memory_is_only_added_to(
    ledger: RootLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write([keep(n, 5, ("/a", n)) for n in range(1, 4)])
    ledger.rows.pane_rows(ID, 5, kept_through=3)
    ledger.write([keep(4, 5, ("/a", 4))])
    merged: list[int] = []
    merge = MERGER.merge

    def count(parts: list[pa.Table]) -> pa.Table:
        merged.append(len(parts))
        return merge(parts)

    monkeypatch.setattr(MERGER, "merge", count)
    rows = ledger.rows.pane_rows(ID, 5, kept_through=4)
    assert rows is not None
    assert counts_of(rows) == {"/a": 10}
    assert merged == [2]


def test_a_group_that_overflows_stays_apart_and_the_others_of_its_pane_are_merged(
    ledger: RootLedger,
) -> None:
    count = 20
    ledger.write([keep(n, 5, ("/a", 2**62), ("/b", 1)) for n in range(1, count + 1)])
    for through in range(1, count + 1):
        rows = ledger.rows.pane_rows(ID, 5, kept_through=through)
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
    ledger.rows.pane_rows(ID, 3, kept_through=6)
    ledger.write([Trim(ID, 4)])
    ledger = open_ledger()
    restored = ledger.restore(ID)
    assert [one.pane for one in restored.summaries] == [4, 5]
    assert [one.window for one in restored.answers] == [2, 3]
    assert restored.done_through == 4
    assert ledger.rows.pane_rows(ID, 3, kept_through=6) is None


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
        ledger.rows.pane_rows(ID, 5, kept_through=1)


def test_mending_sets_the_damaged_aside_and_begins_a_new_incarnation(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/b", 2), site=1), keep(3, 6, ("/a", 4))])
    assert ledger.mend(ID) == (), "nothing was found to be damaged"
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE summaries SET checksum = x'00' WHERE number = 2")
    ledger = open_ledger()
    before = ledger.incarnation
    with pytest.raises(SegmentDamaged):
        ledger.rows.pane_rows(ID, 5, kept_through=3)
    (lost,) = ledger.mend(ID)
    assert (lost.number, lost.pane, lost.coverage) == (2, 5, Coverage.of_whole(1, 77))
    assert ledger.incarnation > before
    rows = ledger.rows.pane_rows(ID, 5, kept_through=3)
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


def test_a_query_that_was_forgotten_leaves_no_merge_to_one_of_its_name(ledger: RootLedger) -> None:
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/b", 1), site=1)])
    ledger.rows.pane_rows(ID, 5, kept_through=2)
    ledger.forget(ID)
    ledger.write([keep(1, 5, ("/c", 1)), keep(2, 5, ("/d", 1), site=1)])
    rows = ledger.rows.pane_rows(ID, 5, kept_through=2)
    assert rows is not None
    assert counts_of(rows) == {"/c": 1, "/d": 1}


def test_a_merge_with_rows_that_are_set_aside_is_not_built_upon(ledger: RootLedger) -> None:
    """The merge is in memory; an answer that goes less far reads the summaries one by one."""
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/b", 1), site=1)])
    damage(ledger, 1)
    ledger.rows._cache.put((ID, 1), rows_of(("/a", 1)))
    ledger.rows.pane_rows(ID, 5, kept_through=2)
    ledger.rows._cache.drop((ID, 1))
    with pytest.raises(SegmentDamaged):
        ledger.rows.pane_rows(ID, 5, kept_through=1)
    assert ledger.mend(ID)
    ledger.write([keep(3, 5, ("/a", 1))])
    rows = ledger.rows.pane_rows(ID, 5, kept_through=3)
    assert rows is not None
    assert counts_of(rows) == {"/a": 1, "/b": 1}, "each once"


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
    ledger.finish_results("hits", crashing)
    if point == "before the ledger":
        crashing.prepare([Published(answered(6).envelope, rows_of(("/b", 1)))])
    else:
        disk.fail_after["rename"] = 0 if point == "after the ledger" else 1
        assert ledger.publish(QUERY, [answered(6)], {6: rows_of(("/b", 1))}, crashing) == 2
        assert "publishing in" in crashing.trouble
        assert ResultsReader(directory).publications() == [1]
    ledger = open_ledger()
    results = ResultsWriter(directory)
    ledger.finish_results("hits", results)
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


# Numbers


def root_of(ledger: RootLedger) -> Root:
    """A root that has taken up what the ledger has."""
    query = query_of()
    sites = tuple(Site(n, f"s{n}") for n in range(3))
    root = Root(
        Books(
            query=query,
            roster=Roster(1, sites, "s0"),
            config=RootConfig(),
            merger=MERGER,
            incarnation=ledger.incarnation,
            now_s=0.0,
        )
    )
    root.restore(ledger.restore(ID), now_s=0.0)
    return root


def receive(root: Root, ledger: RootLedger, pane: int, site: int, *rows: tuple[str, int]) -> None:
    root.receive_states(
        [SiteState(query=ID, ordinal=site, incarnation=77, number=1, first_pane=0)], now_s=0.0
    )
    root.receive(
        Summary(query=ID, pane=pane, coverage=Coverage.of_whole(site, 77), rows=rows_of(*rows)),
        now_s=0.0,
    )
    ledger.write([one for one in root.take() if isinstance(one, Keep | KeepState | Trim)])


def damage(ledger: RootLedger, number: int) -> None:
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE summaries SET checksum = x'00' WHERE number = ?", (number,))
    ledger.rows._cache = TableCache(1 << 20)


def test_rows_that_come_after_mending_are_in_the_merge_of_another_pane(ledger: RootLedger) -> None:
    """The newest summary is damaged. Its number must not go to the next one: the merge of another
    pane in memory already goes up to it."""
    root = root_of(ledger)
    receive(root, ledger, 5, 0, ("/a", 1))
    receive(root, ledger, 6, 0, ("/b", 1))
    through = root.kept
    damage(ledger, through)
    assert ledger.rows.pane_rows(ID, 5, kept_through=through) is not None
    with pytest.raises(SegmentDamaged):
        ledger.rows.pane_rows(ID, 6, kept_through=through)
    assert ledger.mend(ID)
    root = root_of(ledger)
    receive(root, ledger, 5, 1, ("/a", 50))
    rows = ledger.rows.pane_rows(ID, 5, kept_through=root.kept)
    assert rows is not None
    assert counts_of(rows) == {"/a": 51}


@pytest.mark.parametrize("gone_by", ["trimming", "mending"])
def test_the_number_of_a_summary_that_is_gone_is_not_used_again(
    open_ledger: Open, gone_by: str
) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(7, 6, ("/a", 1))])
    if gone_by == "trimming":
        ledger.write([Trim(ID, 9)])
    else:
        damage(ledger, 7)
        with pytest.raises(SegmentDamaged):
            ledger.rows.pane_rows(ID, 6, kept_through=7)
        ledger.mend(ID)
    for _ in range(2):
        assert ledger.restore(ID).last_number == 7
        with pytest.raises(StoreError, match="never used again"):
            ledger.write([keep(7, 12, ("/a", 1))])
        ledger = open_ledger()
    ledger.write([keep(8, 12, ("/a", 1))])


def test_a_merge_that_was_under_way_while_the_ledger_was_mended_is_not_kept(
    ledger: RootLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/a", 10), site=1), keep(3, 6, ("/b", 1))])
    damage(ledger, 3)
    with pytest.raises(SegmentDamaged):
        ledger.rows.pane_rows(ID, 6, kept_through=3)
    merge = MERGER.merge

    def slowly(parts: list[pa.Table]) -> pa.Table:
        monkeypatch.undo()
        ledger.mend(ID)
        return merge(parts)

    monkeypatch.setattr(MERGER, "merge", slowly)
    ledger.rows.pane_rows(ID, 5, kept_through=3)
    assert (ID, 5) not in ledger.rows._merged_through


def test_how_far_a_life_is_compared_comes_back_whatever_its_state_says_next(
    open_ledger: Open,
) -> None:
    ledger = open_ledger()
    agreement = KeepAgreement(ID, 0, 7, 64, ((5, 2), (9, 1)), 12)
    ledger.write([KeepState(ID, state(0, 7, 1), 3), agreement])
    ledger.write([KeepState(ID, state(0, 7, 2), 3), KeepState(ID, state(0, 8, 1), 4)])
    assert open_ledger().restore(ID).states == (
        KeepState(ID, state(0, 7, 2), 3, 64, ((5, 2), (9, 1)), 12),
        KeepState(ID, state(0, 8, 1), 4),
    )


def test_summaries_are_replaced_in_one_step_and_no_merge_has_the_former_rows(
    open_ledger: Open,
) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/lie", 9)), keep(3, 6, ("/b", 2))])
    before = ledger.rows.pane_rows(ID, 5, kept_through=3)
    assert before is not None
    assert counts_of(before) == {"/a": 1, "/lie": 9}
    own = kept(4, 5, rows_of(("/c", 3)))
    with pytest.raises(StoreError):
        ledger.write([Replace(ID, 5, (2,), (own, kept(4, 5)))])
    assert [one.number for one in ledger.restore(ID).summaries] == [1, 2, 3]
    ledger.write([Replace(ID, 5, (2,), (own,))])
    for reopens in (False, True):
        opened = open_ledger() if reopens else ledger
        rows = opened.rows.pane_rows(ID, 5, kept_through=4)
        assert rows is not None
        assert counts_of(rows) == {"/a": 1, "/c": 3}
        assert [one.number for one in opened.restore(ID).summaries] == [1, 3, 4]


def test_what_is_replaced_while_its_pane_is_merged_is_in_no_later_merge(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(1, 5, ("/a", 1)), keep(2, 5, ("/lie", 9))])

    class Meanwhile:
        def merge(self, parts: Any) -> Any:
            ledger.write([Replace(ID, 5, (2,), (kept(3, 5, rows_of(("/c", 3))),))])
            ledger.rows._merger_of = lambda query: MERGER
            return MERGER.merge(parts)

    ledger.rows._merger_of = lambda query: Meanwhile()  # type: ignore[assignment, return-value]
    ledger.rows.pane_rows(ID, 5, kept_through=2)
    rows = ledger.rows.pane_rows(ID, 5, kept_through=3)
    assert rows is not None
    assert counts_of(rows) == {"/a": 1, "/c": 3}


def test_an_agreement_that_can_not_be_read_is_named(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([KeepState(ID, state(0, 7, 1), 1), KeepAgreement(ID, 0, 7, 64, (), 0)])
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE states SET agreed = x'c1'")
    with pytest.raises(UnreadableRow, match=f"a state of {ID}"):
        ledger.restore(ID)


# Each revision once

STEPS = [
    ("write_new", 0),
    ("write_new", 1),
    ("sync_file", 0),
    ("sync_file", 1),
    ("sync_directory", 0),
    ("rename", 0),
    ("rename", 1),
    ("sync_directory", 1),
]


def revisions(directory: Path) -> Counter[tuple[int, int]]:
    reader = ResultsReader(directory)
    envelopes = [e for seq in reader.publications() for e in reader.envelopes(seq)]
    return Counter((e.window, e.revision) for e in envelopes)


def shown(directory: Path, window: int) -> dict[str, int]:
    """The newest answer of a window, as readers see it."""
    reader = ResultsReader(directory)
    seq, envelope = next(one for one in reader.newest() if one[1].window == window)
    rows = reader.answer(seq, envelope)
    assert rows is not None
    return counts_of(rows)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize(("verb", "works"), STEPS)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_revision_is_published_once_whatever_step_fails(
    open_ledger: Open, tmp_path: Path, verb: str, works: int, code: int, restarts: bool
) -> None:
    """As a root does it: what it is told has failed it asks for again, with what has come since."""
    ledger, directory = open_ledger(), tmp_path / "hits"
    disk = StepDisk()
    results = ResultsWriter(directory, disk=disk)
    ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", 1))}, results)
    disk.fail_at(verb, works, code)
    accepted = {"/a": 2}
    try:
        ledger.publish(QUERY, [answered(5, 2)], {5: rows_of(("/a", 2))}, results)
        published = True
    except StoreError:
        published = False
    disk.fail_at("", 0, 0)
    if restarts:
        ledger, results = open_ledger(), ResultsWriter(directory)
        published = [one.revision for one in ledger.restore(ID).answers] == [2]
    if not published:
        accepted = {"/a": 3}
        ledger.publish(QUERY, [answered(5, 2)], {5: rows_of(("/a", 3))}, results)
    ledger.finish_results("hits", results)
    assert revisions(directory) == {(5, 1): 1, (5, 2): 1}
    assert shown(directory, 5) == accepted
    assert [one.revision for one in ledger.restore(ID).answers] == [2]
    assert results.trouble == ""


class StepDisk(FaultyDisk):
    """Fails one call, the one after so many of its kind."""

    def __init__(self) -> None:
        super().__init__()
        self._at: tuple[str, int, int] = ("", 0, 0)

    def fail_at(self, verb: str, works: int, code: int) -> None:
        self.calls.clear()
        self._at = (verb, works, code)

    def _maybe(self, verb: str, path: object) -> None:
        super()._maybe(verb, path)
        if (verb, self.calls[verb] - 1) == self._at[:2]:
            raise OSError(self._at[2], "injected", str(path))


@pytest.mark.parametrize("happened", [False, True])
def test_a_publication_of_which_nobody_knows_whether_it_is_one_stays_as_it_was_prepared(
    open_ledger: Open, tmp_path: Path, happened: bool
) -> None:
    ledger, directory = open_ledger(), tmp_path / "hits"
    results = ResultsWriter(directory)
    inner = ledger._manifest._connection

    def fails(sql: str) -> int:
        if sql == "COMMIT" and happened:
            inner.execute("COMMIT")
        return sqlite3.SQLITE_IOERR_FSYNC if sql == "COMMIT" else 0

    FaultyConnection.put_into(ledger._manifest, fails)
    for count in (1, 2):  # the second time with other rows
        with pytest.raises(StoreBroken):
            ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", count))}, results)
    ledger, results = open_ledger(), ResultsWriter(directory)
    ledger.finish_results("hits", results)
    assert len(ledger.restore(ID).answers) == len(ResultsReader(directory).publications())
    if happened:
        assert shown(directory, 5) == {"/a": 1}


def test_a_revision_that_is_published_is_refused(ledger: RootLedger, tmp_path: Path) -> None:
    results = ResultsWriter(tmp_path / "hits")
    ledger.publish(QUERY, [answered(5, 2)], {5: rows_of(("/a", 1))}, results)
    for revision in (1, 2):
        with pytest.raises(AlreadyPublished, match="above 2"):
            ledger.publish(QUERY, [answered(5, revision)], {5: rows_of(("/a", 9))}, results)
    assert revisions(tmp_path / "hits") == {(5, 2): 1}
    assert ledger.publish(QUERY, [answered(5, 3)], {}, results) == 2
    names = [path.name for path in (tmp_path / "hits").iterdir()]
    assert not [name for name in names if name.startswith(".")]


def test_two_queries_of_one_stream_are_published_at_the_same_time(
    ledger: RootLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is changed has two for a while, and two threads answer."""
    import threading

    results = ResultsWriter(tmp_path / "hits")
    other = query_of(counter=2)
    theirs = WindowAnswered(5, 1, 4, envelope_of(other, 5))
    prepare = results.prepare
    thread = threading.Thread(
        target=lambda: ledger.publish(other, [theirs], {5: rows_of(("/b", 1))}, results)
    )

    def slowly(answers: Any) -> int:
        seq = prepare(answers)
        if not thread.is_alive():
            thread.start()
            thread.join(0.2)
        return seq

    monkeypatch.setattr(results, "prepare", slowly)
    ledger.publish(QUERY, [answered(5)], {5: rows_of(("/a", 1))}, results)
    thread.join(120)
    reader = ResultsReader(tmp_path / "hits")
    assert [reader.envelopes(seq)[0].query for seq in reader.publications()] == [ID, str(other.id)]


def test_the_newest_answer_is_that_of_the_newest_publication(tmp_path: Path) -> None:
    """Of a directory in which a former version published a revision twice."""
    writer = ResultsWriter(tmp_path / "hits")
    for count in (1, 2):
        writer.publish([Published(answered(5).envelope, rows_of(("/a", count)))])
    assert shown(tmp_path / "hits", 5) == {"/a": 2}


def test_an_answer_that_was_under_way_when_its_query_was_removed_is_not_published(
    ledger: RootLedger, tmp_path: Path
) -> None:
    """It would have no rows, and say that it is exact."""
    ledger.write([keep(1, 0, ("/a", 1))])
    assert ledger.rows.pane_rows(ID, 0, kept_through=1) is not None
    ledger.forget(ID)
    with pytest.raises(RowsGone, match="it was removed"):
        ledger.rows.pane_rows(ID, 0, kept_through=1)
    with pytest.raises(RowsGone, match="it was removed"):
        ledger.publish(QUERY, [answered(0)], {}, ResultsWriter(tmp_path / "results"))
    assert ID not in ledger.queries()
