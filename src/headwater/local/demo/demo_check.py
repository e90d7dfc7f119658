"""The demo's last word: every final answer against one Spark over all records, computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import zstandard

from headwater.algebra.rows.equality import difference
from headwater.local.demo.asked_once import SELECT, AskedOnce
from headwater.local.demo.demo_snapshot import (
    AskedVerdict,
    DemoSummary,
    LevelVerdict,
    NarrowVerdict,
    StreamVerdict,
)
from headwater.local.trial.stated_bounds import broken_bound
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.said.withheld import NONE_STATED, StatedErrors
from headwater.spark.central import central_answers
from headwater.spark.jvm.session import RunningSpark
from headwater.store.input.site_files import paths_below
from headwater.store.results.results import ResultsReader


class DemoRecord(msgspec.Struct, frozen=True):
    """What a run left behind."""

    queries: tuple[Query, ...]
    logs: Mapping[str, Path]
    roster: Roster
    """Of whom a question is asked may go by what it says."""
    results: Path
    sent_bytes: int
    summaries_bytes: int
    """Of those, what the records were reduced to."""
    incomplete_count: int
    elapsed_s: float
    narrow: NarrowVerdict | None = None
    level: LevelVerdict | None = None
    asked: AskedOnce | None = None


def check(record: DemoRecord, spark: RunningSpark) -> DemoSummary:
    """Compare all streams, and count what was written and what travelled."""
    files = list(_files(record))
    return DemoSummary(
        streams=tuple(_verdict(record, query, spark) for query in record.queries),
        raw_bytes=sum(path.stat().st_size for path in files),
        raw_zstd_bytes=sum(_zstd_bytes(path) for path in files),
        sent_bytes=record.sent_bytes,
        summaries_bytes=record.summaries_bytes,
        incomplete_count=record.incomplete_count,
        record_count=sum(_line_count(path) for path in files),
        elapsed_s=record.elapsed_s,
        narrow=record.narrow,
        level=record.level,
        asked=None if record.asked is None else _asked_verdict(record, record.asked, spark),
    )


def _asked_verdict(record: DemoRecord, asked: AskedOnce, spark: RunningSpark) -> AskedVerdict:
    """One Spark runs the question over all logs; of its windows that one counts that was asked."""
    files = paths_below(list(record.logs.values()), asked.query.program.source.path)
    found: str | None = "there is no answer"
    if asked.envelope is not None and asked.rows is not None:
        reference = central_answers(spark.session, asked.query, files)
        theirs = reference.get(asked.envelope.window)
        found = "there are no rows" if theirs is None else difference(asked.rows, theirs)
        found = found if asked.envelope.exact or found else "the answer is not exact"
    return AskedVerdict(
        SELECT,
        row_count=0 if asked.rows is None else asked.rows.num_rows,
        took_s=asked.took_s,
        is_equal=found is None,
        reads_cubes=asked.query.reads_cube,
        difference=found or "",
    )


def _verdict(record: DemoRecord, query: Query, spark: RunningSpark) -> StreamVerdict:
    asked = [site.name for site in record.roster.sites if is_asked(query, site)]
    logs = [record.logs[name] for name in asked]
    files = paths_below(logs, query.program.source.path)
    reference = central_answers(spark.session, query, files)
    reader = ResultsReader(record.results / query.id.name)
    newest = {envelope.window: (seq, envelope) for seq, envelope in reader.newest()}
    assert query.begin_pane is not None, "the demo's queries begin at a time"
    first = query.window.first_window_from(query.window.pane_start_us(query.begin_pane))
    is_level = query.stands_for is not None
    wanted = {
        window: rows
        for window, rows in reference.items()
        if window >= first and (window in newest or not is_level)
    }
    answers = {window: reader.answer(*found) for window, found in newest.items()}
    envelopes = [envelope for _, envelope in newest.values()]
    stated = {window: envelope.withheld for window, (_, envelope) in newest.items()}
    return StreamVerdict(
        name=query.id.name,
        window_count=len(newest),
        final_count=sum(envelope.final for envelope in envelopes),
        exact_count=sum(envelope.exact for envelope in envelopes),
        revision_count=sum(envelope.revision - 1 for envelope in envelopes),
        row_count=sum(rows.num_rows for rows in answers.values() if rows is not None),
        is_equal=(found := _first_difference(answers, wanted, stated)) is None,
        difference=found or "",
        unparsed_count=max((envelope.tally.unparsed for envelope in envelopes), default=0),
        bounded_count=sum(bool(envelope.withheld) for envelope in envelopes),
        is_level=is_level,
    )


def _first_difference(
    answers: Mapping[int, pa.Table | None],
    reference: Mapping[int, pa.Table],
    stated: Mapping[int, StatedErrors],
) -> str | None:
    for window in sorted(answers.keys() | reference.keys()):
        mine, theirs = answers.get(window), reference.get(window)
        withheld = stated.get(window, NONE_STATED)
        if withheld:
            found = broken_bound(withheld, mine, theirs)
        elif mine is None or theirs is None:
            counts = [0 if rows is None else rows.num_rows for rows in (mine, theirs)]
            found = f"{counts[0]} rows and {counts[1]} rows" if counts[0] != counts[1] else None
        else:
            found = difference(mine, theirs)
        if found is not None:
            return f"window {window}: {found}"
    return None


def _files(record: DemoRecord) -> Iterator[Path]:
    for directory in record.logs.values():
        yield from sorted(directory.iterdir())


def _zstd_bytes(path: Path) -> int:
    return len(zstandard.ZstdCompressor(level=3).compress(path.read_bytes()))


def _line_count(path: Path) -> int:
    return path.read_bytes().count(b"\n")
