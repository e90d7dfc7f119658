"""Sketches that sites make smaller: whatever sizes are sent, a window has those of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.agent.answers.bag_groups import BagGroups
from headwater.agent.answers.window_groups import at_level_of
from headwater.agent.query_book import QueryBook
from headwater.algebra.aggregates.sketches.hll_cells import decoded
from headwater.algebra.rows.arrow_rows import ArrowMerger, in_schema
from headwater.algebra.rows.types import site_schema
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult
from headwater.root.outputs import Pieces
from headwater.sql.compile import compile_statements
from headwater.store.level_rows import LevelGrid, level_results

PANES = ((-(1 << 60), 1 << 60),)
SKETCH, URLS, USERS = "hll_2", 3, 4_000


def compiled() -> list[Query]:
    return compile_statements(
        "CREATE SOURCE log (url STRING, usr STRING, ts TIMESTAMP) "
        "WITH (format = 'json', path = '*.json', time = 'ts');"
        "CREATE STREAM visits WITH (degrade = 'coarsen(time, 5 s), shrink(users)') AS SELECT url, "
        "count(*) AS n, approx_count_distinct(usr, 0.02) AS users "
        "FROM log GROUP BY window(ts, '1 second'), url;",
        root="a",
        installer="a",
        next_counter=1,
    )


def cell(users: np.ndarray, lg_k: int) -> bytes:
    """As a site's Spark makes it: registers that were never merged."""
    chance = np.random.default_rng(3)
    ranks = np.minimum(chance.geometric(0.5, USERS), 62).astype(np.uint8)
    addresses = chance.integers(0, 1 << 26, USERS)
    registers = np.zeros(1 << lg_k, np.uint8)
    np.maximum.at(registers, addresses[users] & ((1 << lg_k) - 1), ranks[users])
    return bytes((10, 1, 7, lg_k, 0, 0, 0, 10)) + bytes(32) + registers.tobytes()


def made_at(full: Query, site: int) -> tuple[pa.Table, list[np.ndarray]]:
    """What a batch of a site gives for panes 0 to 4, and the users of each URL."""
    chance, rows = np.random.default_rng(site), []
    users: list[list[np.ndarray]] = [[] for _ in range(URLS)]
    for pane in range(5):
        for url in range(URLS):
            seen = chance.choice(USERS, 700, replace=False)
            users[url].append(seen)
            rows.append({"pane": pane, "url": f"u{url}", "count_1": 1, SKETCH: cell(seen, 12)})
    schema = site_schema(full.program)
    table = in_schema(pa.Table.from_pylist(rows, schema=schema), schema)
    return table, [np.unique(np.concatenate(one)) for one in users]


def sent(full: Query, at: Query, made: pa.Table, grids: Sequence[LevelGrid]) -> list[pa.Table]:
    """By pane, as the cube gives it to a level."""
    if at is not full:
        (grid,) = (one for one in grids if one.query == str(at.id))
        (result,) = level_results(QueryResult(str(full.id), made), grid, PANES)
        assert result.table is not None
        made = result.table
    merger, found = ArrowMerger(at.program), []
    for pane in sorted(set(made["pane"].to_pylist())):
        rows = made.filter(pa.compute.equal(made["pane"], pane)).drop(["pane"])
        rows = in_schema(rows, merger.schema)
        found.append(merger.merge([rows.slice(0, 1), rows.slice(1)]))
    return found


def test_a_window_of_sketches_of_several_sizes_is_that_of_the_smallest() -> None:
    full, *levels = compiled()
    book = QueryBook()
    for one in (full, *levels):
        book.add(one)
    grids = book.levels(str(full.id))
    assert len(grids) == 3
    of_site = [made_at(full, site) for site in range(4)]
    users = [np.unique(np.concatenate([of[1][url] for of in of_site])) for url in range(URLS)]
    for level, lg_k in zip(levels, (12, 10, 8), strict=True):
        own = str(level.id)
        finer = (full, *levels[: levels.index(level)])
        series = [(*finer, level)[site % (len(finer) + 1)] for site in range(len(of_site))]
        rows = [
            at_level_of(level, Pieces(str(query.id), (), 0), table)
            for query, (made, _) in zip(series, of_site, strict=True)
            for table in sent(full, query, made, grids)
        ]
        groups = BagGroups(level).groups(rows).merged
        assert groups.num_rows == URLS, own
        for row in groups.to_pylist():
            held = decoded(pa.array([row[SKETCH]], pa.binary()), lg_k).registers
            wanted = cell(users[int(row["url"][1:])], lg_k)[40:]
            assert held.tobytes() == wanted, f"{own}: as if made of all records at this size"
            assert row["count_1"] == 20
