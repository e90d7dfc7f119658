"""The ways by which a record comes into an answer: each reads all files, in one federation.

A case is a site, whether it stands for itself or has others folded into it. What comes back is, for
each case, its records and the count of its malformed lines.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
import pyarrow as pa
from cases import Case, Record
from dialects import WINDOW_DAYS, statements

from headwater.agent.config import SourcesConfig
from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.agent.threads import SharedThreads
from headwater.local.federation import Federation
from headwater.local.trial import try_query as trying
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.cube.batch_rows import tables_of
from headwater.store.disk import ScratchDisk
from headwater.store.follow.watch import Watch

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

WAIT_S_MAX = 500.0
ROOT = "root"


class Found(NamedTuple):
    records: Counter[Record]
    malformed: int


def text_of(cases: Sequence[Case]) -> str:
    dialects: dict[str, list[str]] = {}
    for case in cases:
        dialects.setdefault(case.dialect, []).append(case.name)
    return statements(dialects)


def write(cases: Iterable[Case], sites: Path) -> None:
    for case in cases:
        folder = sites / case.name / case.dialect
        folder.mkdir(parents=True)
        for name, data in case.files.items():
            (folder / name).write_bytes(data)


def by_try(spark: RunningSpark, cases: Sequence[Case], sites: Path) -> dict[str, Found]:
    """``headwater try``."""
    counts: dict[str, int] = {}
    noted = trying._result

    def result(federation: Federation, query: Query) -> StreamResult:
        counts.update(_malformed(federation, cases))
        return noted(federation, query)

    trying._result = result
    try:
        results = trying.try_query(text_of(cases), sites, spark=spark)
    finally:
        trying._result = noted
    tables = [window.rows for stream in results for window in stream.windows]
    return _found(cases, tables, counts)


def by_one_spark(spark: RunningSpark, cases: Sequence[Case], sites: Path) -> dict[str, Found]:
    """``headwater try --central``: records only, since it counts no lines."""
    results = try_central(text_of(cases), sites, spark=spark)
    tables = [window.rows for stream in results for window in stream.windows]
    return _found(cases, tables, {case.name: case.malformed for case in cases})


def by_following(
    spark: RunningSpark, cases: Sequence[Case], directory: Path, *, is_grown: bool
) -> dict[str, Found]:
    """Agents: with all files there from the start, or with files that grow in pieces."""
    run = _followed(spark, cases, directory, is_grown=is_grown)
    return asyncio.run(asyncio.wait_for(run, WAIT_S_MAX))


async def _followed(
    spark: RunningSpark, cases: Sequence[Case], directory: Path, *, is_grown: bool
) -> dict[str, Found]:
    folders = {case.name: directory / "sites" / case.name for case in cases}
    if not is_grown:
        write(cases, directory / "sites")
    for case in cases:
        (folders[case.name] / case.dialect).mkdir(parents=True, exist_ok=True)
    ahead_s = (WINDOW_DAYS + 1) * 86_400.0 - time.time()
    federation = Federation(
        directory / "federation",
        Roster(
            1,
            (
                Site(0, ROOT, has_data=False),
                *(Site(n, name) for n, name in enumerate(folders, start=1)),
            ),
            ROOT,
        ),
        spark=spark,
        world=MemoryWorld(hands_over_values=True),
        data=folders,
        now_s=lambda: time.time() + ahead_s,
        settings=_settings(len(folders)),
        disk=ScratchDisk(),
        threads=SharedThreads(),
    )
    await federation.start()
    try:
        tables = _committed(federation)
        install(federation.home, text_of(cases), begin="earliest")
        if is_grown:
            await _grow(federation, cases, folders)
        return await _settled(federation, cases, tables)
    finally:
        await federation.stop()


POLL_S = 0.2


def _settings(site_count: int) -> RuntimeSettings:
    """Those of ``try``, which has many sites in one process, for files that are followed."""
    quiet = trying._settings(site_count)
    return msgspec.structs.replace(quiet, sources=SourcesConfig(poll_s=POLL_S))


PIECES = 3
PACKED = (".gz", ".bz2", ".zst", ".xz", ".zip", ".parquet", ".orc", ".avro")
"""Files that are complete when they appear."""
LOOK_S = 0.1
STILL_LOOKS_MAX = 300
"""Nothing has changed for so many looks since something first came: nothing more will come."""


async def _grow(federation: Federation, cases: Sequence[Case], folders: dict[str, Path]) -> None:
    """Every file in pieces that end anywhere, each of them seen before the next one is written."""
    with _growing():
        for number in range(PIECES):
            for case in cases:
                for name, data in case.files.items():
                    _append(folders[case.name] / case.dialect / name, data, number)
            await _polled(federation)


@contextmanager
def _growing() -> Iterator[None]:
    """However busy the machine is, a record is waited for until its next piece comes; and behind
    the last piece no longer."""
    real = Watch.still_s
    Watch.still_s = lambda *_, **__: 0.0  # type: ignore[method-assign]
    try:
        yield
    finally:
        Watch.still_s = real  # type: ignore[method-assign]


def _append(path: Path, data: bytes, number: int) -> None:
    if path.suffix in PACKED:
        if number == 0:
            path.with_name(f".{path.name}.new").write_bytes(data)
            path.with_name(f".{path.name}.new").rename(path)
        return
    start, end = len(data) * number // PIECES, len(data) * (number + 1) // PIECES
    with path.open("ab") as file:
        file.write(data[start:end])


async def _polled(federation: Federation) -> None:
    """All files have been looked at after now."""
    runtimes = [one for one in federation.runtimes.values() if one.site != ROOT]
    marks = {one.site: one.now_s() for one in runtimes}

    def is_polled() -> bool:
        return all(
            one.feeder.followed
            and all(
                source.poll is not None and source.poll.started_s > marks[one.site]
                for source in one.feeder.followed.values()
            )
            for one in runtimes
        )

    await _until(is_polled)


async def _settled(
    federation: Federation, cases: Sequence[Case], tables: Sequence[pa.Table]
) -> dict[str, Found]:
    """As expected, or as it stays. Each table is looked at once: the agents run beside this."""
    expected = {case.name: expected_of(case, is_live=True) for case in cases}
    found = _found(cases, (), {})
    seen = still = 0
    while found != expected and still < STILL_LOOKS_MAX:
        counts, new = _malformed(federation, cases), tables[seen:]
        is_same = all(counts[name] == one.malformed for name, one in found.items())
        still = still + 1 if seen and is_same and not new else 0
        found = {name: Found(one.records, counts[name]) for name, one in found.items()}
        _add(found, new, cases)
        seen += len(new)
        await asyncio.sleep(LOOK_S)
    return found


def _committed(federation: Federation) -> list[pa.Table]:
    """Grows by what each site's cube is given, which is all that its answers are made of."""
    tables: list[pa.Table] = []

    def noted(commit: Callable[..., Any]) -> Callable[..., Any]:
        def commit_batch(batch: Batch, outcome: SiteOutcome, **more: Any) -> Any:
            report = commit(batch, outcome, **more)
            tables.extend(table for one in outcome.results for table in tables_of(one))
            return report

        return commit_batch

    for runtime in federation.runtimes.values():
        cube = cast(Any, runtime.stores.cube)
        cube.commit_batch = noted(cube.commit_batch)
    return tables


async def _until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S_MAX):
        while not is_so():
            await asyncio.sleep(LOOK_S)


def expected_of(case: Case, *, is_live: bool = False) -> Found:
    return Found(Counter(case.live if is_live else case.records), case.malformed)


def _malformed(federation: Federation, cases: Iterable[Case]) -> dict[str, int]:
    counts = {}
    for case in cases:
        followed = federation.runtimes[case.name].feeder.followed.get(case.dialect)
        counts[case.name] = -1 if followed is None else followed.unparsed_count
    return counts


def _found(
    cases: Iterable[Case], tables: Iterable[pa.Table], counts: dict[str, int]
) -> dict[str, Found]:
    found = {case.name: Found(Counter(), counts.get(case.name, 0)) for case in cases}
    _add(found, tables, cases)
    return found


def _add(found: dict[str, Found], tables: Iterable[pa.Table], cases: Iterable[Case]) -> None:
    homes = {name: case.name for case in cases for name in (case.others or (case.name,))}
    for table in tables:
        for row in table.to_pylist():
            *_, k, us, v, n = row.values()  # before them the window, or the pane
            home = homes.get((k or "").partition("/")[0])
            if home is not None:
                found[home].records[k, v, us] += n
