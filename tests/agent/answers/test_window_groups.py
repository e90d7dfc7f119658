"""The groups of windows that slide: folded, held within a limit, and told where two ways differ."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.agent.answers import window_groups
from headwater.agent.answers.window_groups import WindowGroups
from headwater.algebra.coverage import Coverage
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.types import summary_schema
from headwater.algebra.windows import sliding_window
from headwater.plan.query import Query
from headwater.root.outputs import Keep, KeptSummary
from headwater.sql.compile import compile_statements
from headwater.store.ledger.root_ledger import RootLedger

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, id BIGINT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked AS SELECT domain, {} FROM hits
GROUP BY window(ts, '100 seconds', '10 seconds'), domain;
"""
PANES = range(20)
ALL = 1_000


def asked(items: str, counter: int = 1) -> Query:
    (query,) = compile_statements(
        TEXT.format(items), root="r", installer="r", next_counter=counter, now_us=0
    )
    return query


def ledger_of(place: Path, *queries: Query) -> RootLedger:
    """Each pane has one row of each query, whose last columns are the pane and a one."""
    by_id = {str(query.id): query.program for query in queries}
    ledger = RootLedger(place, merger_of=lambda query: ArrowMerger(by_id[query]), cache_bytes_max=0)
    for number, (id_, program) in enumerate(by_id.items()):
        schema = summary_schema(program)
        for pane in PANES:
            row = ["a", pane % 4, 1] if len(schema) == 3 else ["a", 1]
            rows = pa.table([[one] for one in row], schema=schema)
            kept = KeptSummary(100 * number + pane + 1, pane, Coverage.of_whole(0, 7), rows, True)
            ledger.write([Keep(id_, kept)])
    return ledger


def built(groups: WindowGroups, query: Query, window: int) -> Groups:
    stamps = groups.stamps(query, window, kept_through=ALL)
    assert len(stamps) == 10
    return groups.of(query, window, stamps, kept_through=ALL)


def test_growing_states_of_a_window_that_slides_are_folded(tmp_path: Path) -> None:
    query = asked("count(DISTINCT id) AS ids, count(*) AS n")
    groups = WindowGroups(ledger_of(tmp_path, query), differs=print)  # type: ignore[arg-type]
    for window in (0, 1):
        (row,) = built(groups, query, window).merged.to_pylist()
        assert row == {"domain": "a", "count_1": 10, "count_of_1": 4}


def test_the_window_used_longest_ago_makes_room_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [asked("count(*) AS n", counter) for counter in (1, 2)]
    groups = WindowGroups(ledger_of(tmp_path, *queries), differs=print)  # type: ignore[arg-type]
    built(groups, queries[0], 0)
    held = groups._sliding[str(queries[0].id)].bytes
    assert held
    monkeypatch.setattr(window_groups, "RUNNING_BYTES_MAX", held)
    built(groups, queries[1], 0)
    assert list(groups._sliding) == [str(queries[1].id)]
    (row,) = built(groups, queries[0], 1).merged.to_pylist()
    assert row == {"domain": "a", "count_1": 10}, "it is built anew"
    assert list(groups._sliding) == [str(queries[0].id)]


def test_whoever_asked_is_told_where_two_ways_of_building_a_window_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, told = asked("count(*) AS n"), []
    monkeypatch.setattr(sliding_window, "are_same", lambda left, right: False)
    groups = WindowGroups(
        ledger_of(tmp_path, query), differs=lambda query, text: told.append((query, text))
    )
    built(groups, query, 0)
    assert told == []
    built(groups, query, 1)
    assert told == [(query, "window 1 by removal differs from the one by combining")]
