"""Answers a case twice: split over its parts, and by one Spark over all records.

Split means what agents do, without the agents: the site part runs on Spark for all parts in one
job, as in a batch of several sites; the algebra merges the rows of a pane in a random order and in
random bundles, then the panes of each window; the root part finishes the groups on Spark, without
those that fail.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from fuzz_sql.case import Case, World
from headwater.agent.answers.window_groups import groups_maker
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups, check_rows
from headwater.algebra.rows.types import PANE_COLUMN, site_schema
from headwater.errors import QueryRefused
from headwater.local.trial.compare_results import differences
from headwater.local.trial.results import StreamResult, WindowResult
from headwater.plan.query import Query
from headwater.root.said.envelope import LeftOut
from headwater.spark.jvm.session import apply_settings
from headwater.spark.lines.lines import SITE
from headwater.spark.root.bad_groups import Finished, GroupFinisher
from headwater.spark.root.root_part import RootSpark, split_by_window
from headwater.spark.site.site_part import over_records
from headwater.spark.site.site_sql import with_site
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.sql.compile import compile_statements, question_of
from headwater.sql.write.judge_groups import SETTINGS, write_left_out_sql, write_tolerant_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEW = "world"
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Outcome(msgspec.Struct, frozen=True):
    """What came of a case."""

    fault: str = ""
    """Where the two answers differ; empty: they are equal."""
    refused: str = ""
    """Why the query can't be split, in the compiler's words."""
    rows: int = 0
    left_out: int = 0


class BothWays:
    """On one Spark, which its owner stops."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._finisher = GroupFinisher(RootSpark(spark))
        self._shown: World | None = None
        self._sessions: dict[tuple[tuple[str, str], ...], SparkSession] = {}

    def run(self, case: Case) -> Outcome:
        try:
            query = compiled(case)
        except QueryRefused as error:
            return Outcome(refused=str(error))
        self._show(case.world)
        try:
            mine = self._split(query, case.seed)
        except SPARK_ERRORS as error:
            return Outcome(fault=f"fails, the split: {message_of(error)[:500]}")
        except Exception as error:
            return Outcome(fault=f"fails, the split: {type(error).__name__}: {str(error)[:500]}")
        try:
            theirs = self._central(query)
        except SPARK_ERRORS as error:
            return Outcome(fault=f"refuses, one Spark: {message_of(error)[:500]}")
        counts = [sum(one.count for one in found.left_out.values()) for found in (mine, theirs)]
        rows = sum(table.num_rows for table in mine.rows.values())
        return Outcome(fault_of(query, mine, theirs), rows=rows, left_out=counts[0])

    def _show(self, world: World) -> None:
        if world is self._shown:
            return
        table = world.table().append_column(SITE, pa.array(world.parts, pa.int32()))
        frame = self._spark.createDataFrame(table).coalesce(1)
        frame.createOrReplaceGlobalTempView(VIEW)
        self._shown = world

    def _split(self, query: Query, seed: int) -> Finished:
        chance, merger = random.Random(f"merge {seed}"), ArrowMerger(query.program)
        sql = over_records(f"SELECT * FROM global_temp.{VIEW}", with_site(query))
        partials = self._session(query).sql(sql).toArrow()
        panes: dict[int, list[pa.Table]] = {}
        for pane, rows in _summaries(query, partials):
            panes.setdefault(pane, []).append(rows)
        merged = {pane: merged_somehow(merger, parts, chance) for pane, parts in panes.items()}
        windows = groups_of_windows(query, merged, chance)
        return self._finisher.finish(query, windows) if windows else Finished()

    def _central(self, query: Query) -> Finished:
        own, records = self._session(query), f"SELECT * FROM global_temp.{VIEW}"
        if not query.bounds:  # what is near the truth is held against the truth
            with suppress(*SPARK_ERRORS):
                rows = own.sql(over_records(records, query.program.central_sql)).toArrow()
                return Finished(split_by_window(query, rows))
        question = question_of(query)
        with _set(own, SETTINGS):
            rows = own.sql(over_records(records, write_tolerant_sql(question))).toArrow()
            counts = own.sql(over_records(records, write_left_out_sql(question))).toArrow()
        left_out = {
            window: LeftOut(count=table["left_out"][0].as_py())
            for window, table in split_by_window(query, counts).items()
        }
        return Finished(split_by_window(query, rows), left_out)

    def _session(self, query: Query) -> SparkSession:
        settings = tuple(query.program.settings)
        if settings not in self._sessions:
            self._sessions[settings] = apply_settings(self._spark, dict(settings))
        return self._sessions[settings]


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Sessions that are made meanwhile interpret expressions instead of compiling them: to compile
    a query takes most of the time of one over a few records."""
    conf = spark.sparkContext._jsc.sc().conf()
    for name, value in INTERPRETED.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in INTERPRETED:
            conf.remove(name)


@contextmanager
def _set(session: SparkSession, settings: Iterable[tuple[str, str]]) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name, _ in settings}
    for name, value in settings:
        session.conf.set(name, value)
    yield
    for name, former in before.items():
        if former is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, former)


def compiled(case: Case) -> Query:
    (query,) = compile_statements(
        case.text, root="hub", installer="hub", next_counter=1, begin="earliest"
    )
    return query


def _summaries(query: Query, partials: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each part and pane, checked as those from the wire are."""
    places = partials.select([PANE_COLUMN, SITE])
    for place in places.group_by([PANE_COLUMN, SITE]).aggregate([]).to_pylist():
        here = pc.and_(
            pc.equal(partials[PANE_COLUMN], place[PANE_COLUMN]),
            pc.equal(partials[SITE], place[SITE]),
        )
        rows = partials.filter(here).select(site_schema(query.program).names)
        yield place[PANE_COLUMN], check_rows(rows.drop([PANE_COLUMN]), query.program)


def merged_somehow(merger: ArrowMerger, parts: list[pa.Table], chance: random.Random) -> pa.Table:
    """As relays might: any bundle of them at a time."""
    left = [*parts]
    while len(left) > 1:
        chance.shuffle(left)
        count = chance.randint(2, len(left))
        left = [*left[count:], merger.merge(left[:count])]
    return left[0]


def groups_of_windows(
    query: Query, panes: Mapping[int, pa.Table], chance: random.Random
) -> dict[int, Groups]:
    tables: dict[int, list[pa.Table]] = {}
    for pane, rows in panes.items():
        for window in query.window.windows_of(pane):
            tables.setdefault(window, []).append(rows)
    for parts in tables.values():
        chance.shuffle(parts)
    makers = {window: groups_maker(query, window) for window in sorted(tables)}
    return {window: maker.groups(tables[window]) for window, maker in makers.items()}


def fault_of(query: Query, mine: Finished, theirs: Finished) -> str:
    """Where they differ, as ``try --compare`` says it; empty: they are equal, or within bounds."""
    sides = [_result(query, one) for one in (mine, theirs)]
    found = differences(sides[:1], sides[1:])[query.id.name]
    return "" if found is None else f"differ: {found}"


def _result(query: Query, finished: Finished) -> StreamResult:
    grid = query.window
    windows = [
        WindowResult(window, grid.window_start_us(window), grid.window_end_us(window), rows)
        for window, rows in sorted(finished.rows.items())
        if rows.num_rows
    ]
    return StreamResult(query, tuple(windows), left_out=dict(finished.left_out))
