"""Records of a run whose local time comes twice, or never: counted where an answer has any.

That is a second look at the files, so it is taken only where the clocks of a source's zone were
changed within the time that its answers span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from headwater.errors import SparkFailed
from headwater.plan.sources.local_times import Guessed, guessing_zone
from headwater.plan.sources.source import Source
from headwater.spark.lines.guessed_times import has_change
from headwater.spark.source_check import lines_of
from headwater.store.input.site_files import paths_below

if TYPE_CHECKING:
    from headwater.local.trial.results import StreamResult
    from headwater.spark.jvm.session import RunningSpark

log = structlog.get_logger()


def with_guessed_times(
    results: list[StreamResult], folders: Mapping[str, Path], spark: RunningSpark
) -> list[StreamResult]:
    """The same results, whose readings say how many of their records were guessed."""
    counted: dict[str, dict[str, Guessed]] = {}
    for source in {one.query.source_name: one.query.program.source for one in results}.values():
        own = [one for one in results if one.query.source_name == source.name]
        if _may_guess(source, own, spark):
            counted[source.name] = _counted(source, folders, spark)
    return [_with(one, counted.get(one.query.source_name, {})) for one in results]


def _may_guess(source: Source, results: Sequence[StreamResult], spark: RunningSpark) -> bool:
    zone = guessing_zone(source)
    timed = [one for one in results if one.query.numbers is None]
    windows = [window for one in timed for window in one.windows]
    if not zone or not windows:
        return False
    first_us = min(window.start_us for window in windows)
    last_us = max(window.end_us for window in windows)
    return has_change(spark.session, zone, from_us=first_us, to_us=last_us)


def _counted(
    source: Source, folders: Mapping[str, Path], spark: RunningSpark
) -> dict[str, Guessed]:
    """By site; by the empty name of all together. Files that are gone meanwhile, or that Spark
    can't read now, have been told of by whoever read them for the answers."""
    files = [paths_below([folder], source.path) for folder in folders.values()]
    try:
        with lines_of(spark.session, source, files) as lines:
            found = dict(zip(folders, lines.guessed(), strict=True))
    except (SparkFailed, OSError) as error:
        log.warning(
            "records with guessed times are not counted", source=source.name, why=str(error)
        )
        return {}
    return {**found, "": sum(found.values(), start=Guessed())}


def _with(result: StreamResult, found: Mapping[str, Guessed]) -> StreamResult:
    if not any(found.values()):
        return result
    readings = tuple(
        msgspec.structs.replace(one, guessed=found.get(one.site, Guessed()))
        for one in result.readings
    )
    return msgspec.structs.replace(result, readings=readings)
