"""The same question by one plain Spark over all files, for those who want to compare."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from math import inf
from pathlib import Path

import msgspec

from headwater.errors import GroupFailed, SparkFailed
from headwater.local.trial.guessed_times import with_guessed_times
from headwater.local.trial.reading import SiteReading
from headwater.local.trial.results import Progress, Show, StreamResult, WindowResult
from headwater.local.trial.run_spark import LOOK_EVERY_S, BytesSoFar, SparkForRun, raise_if_dead
from headwater.local.trial.site_folders import compiled, site_folders
from headwater.local.trial.state_span import with_span
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Site
from headwater.spark.central import central_finished
from headwater.spark.jvm.session import GONE_S, RunningSpark
from headwater.spark.root.bad_groups import Finished
from headwater.store.input.site_files import empty_count, found_below, look_below, paths_below


def try_central(
    text: str,
    sites: Path,
    *,
    show: Show = lambda _: None,
    spark: RunningSpark | None = None,
    failed: dict[str, str] | None = None,
) -> list[StreamResult]:
    """The same by one plain Spark over all files. Where ``failed`` is given, a stream that Spark
    can't answer is named there with why, and the others are answered."""
    folders = site_folders(sites)
    queries = compiled(text, folders)
    with SparkForRun(spark, show, queries, folders) as running:
        results = []
        for asked in queries:
            try:
                query = with_span(asked, running.session, list(folders.values()))
                with _shown_scan(running, query, list(folders.values()), show):
                    finished = _central(running, query, list(folders.values()))
            except (GroupFailed, SparkFailed) as error:
                if failed is None:
                    raise
                failed[asked.id.name] = str(error)
                continue
            rows = finished.rows
            windows = tuple(
                WindowResult(
                    window,
                    query.window.window_start_us(window),
                    query.window.window_end_us(window),
                    rows[window],
                )
                for window in sorted(rows)
                if window >= first_window_of(query)
            )
            looks = [look_below(path, query.program.source.path) for path in folders.values()]
            alone = tuple(one for look in looks for one in sorted(look.refused.items()))
            empty = sum(empty_count(look.matching.values()) for look in looks)
            reading = SiteReading(
                site="",
                files=sum(len(look.matching) for look in looks) - empty,
                empty=empty,
                lines=finished.lines,
                records=finished.lines - finished.malformed,
                malformed=finished.malformed,
                kinds=finished.kinds,
            )
            results.append(
                StreamResult(
                    query,
                    windows,
                    finished.malformed,
                    finished.left_out,
                    left_alone=alone,
                    readings=(reading,),
                )
            )
        return with_guessed_times(results, folders, running)


def first_window_of(query: Query) -> float:
    """One Spark knows of no begin, so what lies before it is left out of its answers."""
    if query.begin_pane is None:
        return -inf
    return query.window.first_window_from(query.window.pane_start_us(query.begin_pane))


@contextlib.contextmanager
def _shown_scan(
    spark: RunningSpark, query: Query, folders: list[Path], show: Show
) -> Iterator[None]:
    """One job of Spark is all there is to see, so a thread looks how far that has read."""
    size = sum(found.size for found in found_below(folders, query.program.source.path))
    first = Progress(f"one Spark over all files: {query.id.name}", bytes_all=size)
    is_over, scan = threading.Event(), BytesSoFar(spark)

    def look() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            show(msgspec.structs.replace(scan.added_to(first), phase=first.phase))

    show(first)
    looking = threading.Thread(target=look, name="progress", daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()


def _central(spark: RunningSpark, query: Query, folders: list[Path]) -> Finished:
    folders = [folder for folder in folders if is_asked(query, Site(0, folder.name))]
    try:
        return central_finished(
            spark.session,
            query,
            paths_below(folders, query.program.source.path),
            site_of=lambda file: next((one.name for one in folders if one in file.parents), ""),
        )
    except Exception:
        # The sockets of a dying JVM close before the process is gone.
        if spark.ends_within(GONE_S):
            raise_if_dead(spark)
        raise
