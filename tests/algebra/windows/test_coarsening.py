"""Rows at a coarser key, and those of a sample: levels are nested, whichever way one goes."""

from __future__ import annotations

import itertools

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.windows.coarsening import Coarsening, apart
from headwater.plan.program import Program
from headwater.plan.sources.source import Source, SourceFormat

KEYS = (Column("url", "string"), Column("coarser", "string"), Column("survives", "tinyint"))
COARSER = Coarsening(key="url", by="coarser")
HALVED = [Coarsening(survives="survives", halvings=n) for n in range(1, 4)]
BOTH = [Coarsening("url", "coarser", "survives", n) for n in range(1, 4)]
CHAINS = [
    (first, *middle, last)
    for first in (Coarsening(),)
    for middle in ((), (COARSER,), (HALVED[0],), (HALVED[0], HALVED[1]), (HALVED[0], BOTH[0]))
    for last in (BOTH[2],)
]


def program(keys: tuple[Column, ...]) -> Program:
    source = Source(name="r", columns=(), format=SourceFormat.CSV, path="r", time_column="t")
    partials = (Partial("n", "bigint", "sum"), Partial("top", "bigint", "max"))
    return Program("", source, keys, partials, "", "", "", (), ())


def survives(url: str) -> int:
    return sum(map(ord, url)) % 5


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    urls = draw(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=12))
    values = draw(st.lists(st.integers(0, 99), min_size=len(urls), max_size=len(urls)))
    schema = ArrowMerger(program(KEYS)).schema
    columns = [urls, [url[0] for url in urls], [survives(url) for url in urls], values, values]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def said(rows: pa.Table, level: Coarsening) -> list[str]:
    keys = level.keys(KEYS)
    assert keys is not None
    merger = ArrowMerger(program(keys))
    merged = merger.merge(apart([rows.cast(merger.schema)]))
    groups = merged.select([one.name for one in keys]).to_pylist()
    assert len({str(one) for one in groups}) == len(groups), "each key once"
    return sorted(str(row) for row in merged.to_pylist())


@given(st.lists(tables(), min_size=1, max_size=3))
def test_a_level_made_of_any_finer_one_is_that_made_of_all(made: list[pa.Table]) -> None:
    """And merging before is merging behind."""
    for chain in CHAINS:
        at, rows = chain[-1], list(made)
        for level in chain[1:]:
            keys = level.keys(KEYS)
            assert keys is not None
            merger = ArrowMerger(program(keys))
            rows = [merger.merge(apart([level.rows(one).cast(merger.schema)])) for one in rows]
        of_all = at.rows(pa.concat_tables(made))
        assert said(pa.concat_tables(rows), at) == said(of_all, at)
        assert all(later.is_within(former) for former, later in itertools.pairwise(chain))


@given(tables())
def test_samples_are_nested_and_whole(rows: pa.Table) -> None:
    urls = [set(level.rows(rows)["url"].to_pylist()) for level in HALVED]
    assert urls[2] <= urls[1] <= urls[0]
    assert urls[0] == {one for one in rows["url"].to_pylist() if survives(one) >= 1}


def test_a_coarser_key_has_the_place_and_the_type_of_what_it_is() -> None:
    wide = (Column("url", "string"), Column("coarser", "int"))
    assert COARSER.keys(wide) == (Column("url", "int"),)
    assert Coarsening().keys(KEYS) == KEYS


def test_what_names_no_columns_of_the_query_is_no_coarsening_of_it() -> None:
    assert Coarsening(key="url", by="site").keys(KEYS) is None
    assert Coarsening(key="url").keys(KEYS) is None
    assert Coarsening(halvings=1).keys(KEYS) is None
    assert Coarsening(survives="url", halvings=1).keys(KEYS) is None, "no number"
    assert Coarsening("url", "survives", "survives", 1).keys(KEYS) is None, "it would be gone"
    assert Coarsening("url", "url").keys(KEYS) is None


def test_a_level_is_not_within_one_that_has_given_up_more() -> None:
    assert not HALVED[0].is_within(HALVED[1])
    assert not HALVED[1].is_within(COARSER)
    assert BOTH[1].is_within(COARSER)
    small, smaller = (Coarsening(smaller="users", lg_k=lg_k) for lg_k in (10, 8))
    assert smaller.is_within(small)
    assert not small.is_within(smaller)
    assert not Coarsening(smaller="others", lg_k=8).is_within(small)
