"""What the site parts of some queries would send of files that are there, pane by pane.

Each site's files are read by one Spark, its site part is run over them, and the rows of each pane
become the message that they would travel in, with its envelope and signature. Nothing is sent,
merged or answered.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.coverage import Coverage
from headwater.algebra.panes import MICROS
from headwater.algebra.rows.arrow_rows import ArrowMerger, in_schema
from headwater.algebra.rows.columns import folded_columns, visible_keys
from headwater.algebra.rows.places import SITE
from headwater.algebra.rows.types import PANE_COLUMN, summary_schema
from headwater.algebra.summary import Summary
from headwater.algebra.windows.coarsening import apart
from headwater.algebra.windows.last_rows import last_of
from headwater.algebra.windows.sequence_grid import ROW
from headwater.algebra.words.site_state import FOREVER
from headwater.algebra.words.update_proof import UpdateProof
from headwater.local.trial.sampled_sites import Sample, sample_sites
from headwater.local.trial.site_folders import compiled, growing, site_folders
from headwater.local.trial.state_span import with_span
from headwater.net.values.codec import Codec
from headwater.overlay.messages import SummaryMessage
from headwater.plan.query import Query
from headwater.spark.central import over_files
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.site.site_sql import record_sql
from headwater.sql.admit.needs import asks_for_all_rows
from headwater.store.cube.row_limit import GROWING_ROWS_MAX
from headwater.store.input.site_files import found_below
from headwater.store.level_rows import LevelGrid, coarser
from headwater.store.pane_segments import with_pane

SAMPLE_BYTES_MAX = 256 << 20
"""Of more than that, a share is read."""
SIGNATURE, KEY = bytes(64), bytes(8)
"""As long as those of a site."""


class SentLevel(msgspec.Struct, frozen=True):
    """All panes at one level of a stream, which is a stream of its own."""

    stream: str
    operator: str
    sent: int
    """Bytes of all sites together."""


class SentBytes(msgspec.Struct, frozen=True):
    """Of one query over the files of all sites."""

    stream: str
    pane: str
    """How long one is."""
    sites: int
    raw_bytes: int
    share: float
    """Of the files, that were read."""
    panes: tuple[tuple[int, int], ...]
    """Of each pane of each site that had records for it: rows, and bytes on the wire."""
    merged_rows: int
    """After merging: one for each pane and key."""
    largest_state: int | None = None
    """Of queries with growing states: most rows of one group in a pane of a site."""
    pane_s: float = 0.0
    """As seconds, where panes are of time."""
    levels: tuple[SentLevel, ...] = ()
    """What sites would send at each of its levels, the finest first."""

    @property
    def sent(self) -> int:
        return sum(size for _, size in self.panes)

    @property
    def reduction(self) -> float:
        """Bytes of the sources for each byte sent."""
        return self.raw_bytes / self.sent if self.sent else 0.0

    def text(self) -> str:
        if not self.panes:
            return f"sample\n  {self.raw_bytes:,} bytes, and no record of them is in the query"
        rows, sizes = [one[0] for one in self.panes], [one[1] for one in self.panes]
        count = len(self.panes)
        part = "all of it" if self.share == 1.0 else f"a share of {self.share:.3g}"
        lines = [
            f"sample  {self.raw_bytes:,} bytes of {self.sites} sites were read, {part}",
            f"  panes of {self.pane}: {count:,} sent by all sites together",
            f"  rows of a pane: {sum(rows) / count:,.1f}, at most {max(rows):,}",
            f"  bytes of a pane: {sum(sizes) / count:,.0f}, at most {max(sizes):,}",
            f"  rows in all: {sum(rows):,} sent, {self.merged_rows:,} when merged",
            f"  source bytes for each byte sent: {self.reduction:,.1f}",
        ]
        if self.largest_state is not None:
            lines.append(
                f"  largest growing state: {self.largest_state:,} rows of one group in a pane; a "
                f"site declines a pane of more than {GROWING_ROWS_MAX:,} rows"
            )
        for one in self.levels:
            left = one.sent / self.sent if self.sent else 1.0
            lines.append(f"  at {one.operator}: {left:.0%} of the bytes")
        if self.share < 1.0:
            lines.append(
                "  a sample has fewer records for each pane than there are, so all of them would "
                "be reduced further"
            )
        return "\n".join(lines)


def sent_bytes(
    text: str, sites: Path, scratch: Path, spark: Callable[[], RunningSpark]
) -> list[SentBytes]:
    """One for each query of the text. Raises before Spark is asked for where it can't be run."""
    folders = site_folders(sites)
    queries = compiled(text, folders)
    paths = {query.source_name: query.program.source.path for query in queries}
    found = [one for path in paths.values() for one in found_below(folders.values(), path)]
    size = sum(one.size for one in found)
    share = min(1.0, SAMPLE_BYTES_MAX / size) if size else 1.0
    if share < 1.0:
        sample_sites(queries, folders, scratch, Sample(share))
        folders = {name: scratch / name for name in folders}
    running = spark()
    levels = _levels(text, folders)
    return [
        _of_query(query, levels.get(query.id.name, ()), folders, running, share)
        for query in queries
    ]


def _levels(text: str, folders: dict[str, Path]) -> dict[str, tuple[Query, ...]]:
    """By stream: the query as it runs where logs grow, and its levels; of streams without any
    nothing. A query over logs that end has none, since nothing is late there."""
    found: dict[str, tuple[Query, ...]] = {}
    for query in growing(text, folders):
        if query.stands_for is not None:
            full = next(one for one in growing(text, folders) if str(one.id) == query.stands_for.of)
            found[full.id.name] = (*found.get(full.id.name, (full,)), query)
    return found


def _of_query(
    query: Query,
    levels: tuple[Query, ...],
    folders: dict[str, Path],
    spark: RunningSpark,
    share: float,
) -> SentBytes:
    """``levels``: with the query itself before them."""
    query = levels[0] if levels else query
    schema = summary_schema(query.program)
    codec = Codec(lambda _: schema)
    raw, panes, keys = 0, [], []
    at_levels = [0 for _ in levels[1:]]
    largest = None if not _grows(query) else 0
    query = with_span(query, spark.session, list(folders.values()))
    for name, folder in folders.items():
        found = found_below([folder], query.program.source.path)
        raw += sum(file.size for file in found)
        files = [Path(file.path) for file in found]
        rows = over_files(spark.session, query, files, record_sql(query))
        if rows is None:
            continue
        if isinstance(query.last_n, int):
            rows = _states(query, rows, query.last_n)
        rows = _with_site(query, rows, name)
        largest = None if largest is None else max(largest, _largest_state(query, rows))
        keys.append(rows.select([PANE_COLUMN, *(key.name for key in query.program.keys)]))
        panes += [_message(query, one, schema, codec) for one in _by_pane(rows)]
        for number, level in enumerate(levels[1:]):
            at_levels[number] += _level_bytes(query, level, rows)
    return SentBytes(
        stream=query.id.name,
        pane=query.length_text(query.window.pane_us),
        sites=len(folders),
        raw_bytes=raw,
        share=share,
        panes=tuple(panes),
        merged_rows=_distinct(keys),
        largest_state=largest,
        pane_s=query.window.pane_us / MICROS if query.numbers is None else 0.0,
        levels=tuple(
            SentLevel(level.id.name, str(level.stands_for), sent)
            for level, sent in zip(levels[1:], at_levels, strict=True)
        ),
    )


def _level_bytes(query: Query, level: Query, rows: pa.Table) -> int:
    """Of all panes of a site at this level, as its cube makes them of the query's own."""
    stands, schema = level.stands_for, summary_schema(level.program)
    assert stands is not None, "a level stands for its stream"
    grid = LevelGrid(str(level.id), query.window, level.window, stands.coarsening)
    merger, codec = ArrowMerger(level.program), Codec(lambda _: schema)
    made = coarser(rows.combine_chunks(), grid, ((-FOREVER, FOREVER),))
    found = 0
    for one in _by_pane(made):
        pane = one[PANE_COLUMN][0].as_py()
        own = in_schema(one.drop_columns([PANE_COLUMN]), merger.schema)
        merged = merger.merge(apart([own]))
        found += _message(level, with_pane(merged, pane), schema, codec)[1]
    return found


def _states(query: Query, rows: pa.Table, last_n: int) -> pa.Table:
    """Of each pane with records the state at its end; of the others it is the one before."""
    rows = rows.sort_by(ROW)
    numbers, panes = rows.column(ROW).to_numpy(), rows.column(PANE_COLUMN).to_numpy()
    schema, merger = summary_schema(query.program), ArrowMerger(query.program)
    reduced = rows.select(schema.names).cast(schema)
    found = [with_pane(merger.none(), 0)]
    for pane in np.unique(panes).tolist():
        last = last_of(numbers, panes, through=pane, last_n=last_n)
        state = reduced.take(pa.array(last.places))
        found.append(with_pane(merger.merge([state.slice(0, 1), state.slice(1)]), pane))
    return pa.concat_tables(found)


def _with_site(query: Query, rows: pa.Table, site: str) -> pa.Table:
    """``site()`` as the agent fills it in; of regions and labels nothing is known here."""
    for place in query.program.place_columns:
        if place.what == SITE:
            names = pa.repeat(pa.scalar(site, pa.string()), rows.num_rows)
            rows = rows.set_column(rows.schema.names.index(place.name), place.name, names)
    return rows


def _grows(query: Query) -> bool:
    return bool(folded_columns(query.program)) or asks_for_all_rows(query)


def _largest_state(query: Query, rows: pa.Table) -> int:
    """Of rows without aggregates a pane is one group."""
    keys = [] if asks_for_all_rows(query) else [one.name for one in visible_keys(query.program)]
    keys = [name for name in keys if not pa.types.is_nested(rows.schema.field(name).type)]
    counted = rows.group_by([PANE_COLUMN, *keys]).aggregate([([], "count_all")])
    return int(pc.max(counted["count_all"]).as_py() or 0)


def _by_pane(rows: pa.Table) -> list[pa.Table]:
    ordered = rows.sort_by(PANE_COLUMN)
    counts = pc.value_counts(ordered[PANE_COLUMN].combine_chunks()).field("counts").to_pylist()
    starts = [0, *accumulate(counts)][: len(counts)]
    return [ordered.slice(start, count) for start, count in zip(starts, counts, strict=True)]


def _message(query: Query, rows: pa.Table, schema: pa.Schema, codec: Codec) -> tuple[int, int]:
    """How many rows and bytes the message of one pane of one site has."""
    fitted = rows.select(schema.names).cast(schema).combine_chunks()
    pane, packed = rows[PANE_COLUMN][0].as_py(), codec.rows.encode(str(query.id), fitted)
    summary = Summary(
        query=str(query.id),
        pane=pane,
        coverage=Coverage.of_whole(1, 1),
        rows=fitted,
        proof=UpdateProof(signature=SIGNATURE, key=KEY, pane=pane, more=0, packed=packed),
    )
    return rows.num_rows, len(codec.encode(SummaryMessage(summary)))


def _distinct(keys: list[pa.Table]) -> int:
    if not keys:
        return 0
    table = pa.concat_tables(keys)
    return int(table.group_by(table.column_names).aggregate([]).num_rows)
