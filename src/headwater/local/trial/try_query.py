"""A question about files that are there: through the whole way, to the end, in one call.

Each folder below the given directory is a site. The answers go the way that they would go in the
wide area: Spark at the sites, cubes, the tree, Spark at the root; only the network is in memory and
the input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tempfile
import time
from collections.abc import Iterator, Mapping
from math import inf, isqrt
from pathlib import Path

from headwater.agent.config import SourcesConfig
from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.agent.threads import SharedThreads
from headwater.algebra.remainders.withhold import Rehearsed
from headwater.edge.config import EdgeConfig
from headwater.errors import HeadwaterError
from headwater.local.federation import Federation
from headwater.local.trial.guessed_times import with_guessed_times
from headwater.local.trial.kept_back import kept_back
from headwater.local.trial.reading import readings_of
from headwater.local.trial.results import (
    ANSWERING,
    READING,
    Progress,
    Show,
    StreamResult,
    WindowResult,
)
from headwater.local.trial.run_spark import LOOK_EVERY_S, BytesSoFar, SparkForRun, raise_if_dead
from headwater.local.trial.site_folders import compiled, root_name, site_folders
from headwater.local.trial.state_span import settled, with_span
from headwater.net.memory.memory_network import MemoryWorld
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.config import RootConfig
from headwater.spark.jvm.session import RunningSpark
from headwater.store.disk import ScratchDisk
from headwater.store.results.results import ResultsReader

LOOK_SITES = 100
"""Up to so many sites are looked at as often as that, and more of them less often: a look asks each
site, and a thousand were asked for a fifteenth of all the time."""
STALL_LOOKS_MAX = 600
"""Nothing moved for so many looks, two minutes if they come in time and the sites are few, and
Spark has no work: something is broken, and waiting will not mend it. Counted in looks, for where
these are late our own sites are still at work, or the machine is with others. Half of them are left
at the end of a job of Spark, however long it took: what it gave is about to be committed, sent and
answered."""
WORK_S_MAX = 3_600.0
"""One job of Spark may take so long: a large file is one batch, and a busy machine is slow."""
QUIET_S = 60.0
"""Between two heartbeats, and between two looks at a node that waits for nothing."""
SURE_S = 3_600.0
"""After which a link counts as silent and a summary as lost, which nothing in memory is."""
ACKS_PER_S_MAX = 50
"""Acknowledgements that a root says to all sites together in a second. Nothing waits for one: what
is sent arrives, so they only tell sites what they may let go of."""
BRANCHING_MIN = 8
COLLECT_EVERY = 100_000
"""Objects more than before, and Python looks for cycles among them; its own figure is 700."""
TROUBLES_NAMED = 3
"""Sites that are named at once as being in trouble."""


def try_query(
    text: str,
    sites: Path,
    *,
    show: Show = lambda _: None,
    spark: RunningSpark | None = None,
    work: Path | None = None,
) -> list[StreamResult]:
    """The final answers of all streams of the text, over the files of all sites."""
    folders = site_folders(sites)
    queries = compiled(text, folders)
    started = SparkForRun(spark, show, queries, folders)
    with started as running, _directory(work) as directory, _rare_collections():
        spanned = [with_span(one, running.session, list(folders.values())) for one in queries]
        results = asyncio.run(_answers(text, folders, running, directory, show, spanned))
        return with_guessed_times(results, folders, running)


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Python's search for cycles looks at all that a thousand sites have in memory each time that
    this has grown by a quarter, and finds next to nothing: a fifth of the time went there."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def _answers(
    text: str,
    folders: dict[str, Path],
    spark: RunningSpark,
    directory: Path,
    show: Show,
    spanned: list[Query],
) -> list[StreamResult]:
    """``spanned``: the same queries, with what was found out of their files."""
    root = root_name(folders)
    sites = [Site(0, root, has_data=False)]
    sites += [Site(n, name) for n, name in enumerate(folders, start=1)]
    federation = Federation(
        directory,
        Roster(version=1, sites=tuple(sites), home=root),
        spark=spark,
        world=MemoryWorld(hands_over_values=True),
        settings=_settings(len(sites)),
        data=folders,
        now_s=time.time,
        disk=ScratchDisk(),
        threads=SharedThreads(),
    )
    try:
        await federation.start()
        queries = install(
            federation.home,
            text,
            begin="earliest",
            ends=True,
            settled=lambda query: settled(query, spanned),
        )
        await _until_ended(federation, queries, spark, show)
        return [_result(federation, query) for query in queries]
    finally:
        await federation.stop()


def _settings(site_count: int) -> RuntimeSettings:
    """Links in memory are there until a site ends, and lose nothing: nobody has to ask for either.
    So there is one tree, two hops high, hardly a heartbeat, no repair of what is under way, no
    search for another way, nobody asks where a site is, and no count of how late a site's turn
    came, however long a busy machine takes over it. A thousand sites told each other a million
    places a minute, which was half of Python's work when a busy machine took minutes."""
    overlay = OverlayConfig(
        heartbeat_every_s=QUIET_S,
        silent_floor_s=SURE_S,
        silent_ceiling_s=SURE_S,
        summary_life_s=SURE_S,
        late_after_s=SURE_S,
        coordinates_every_s=inf,
        resort_after_s=inf,
    )
    return RuntimeSettings(
        sources=SourcesConfig(poll_s=0.2, batch_bytes_max=256 << 20),
        node=NodeConfig(
            overlay=overlay,
            edge=EdgeConfig(summary_life_s=SURE_S, state_every_s=QUIET_S),
            root=RootConfig(
                summary_life_s=SURE_S,
                ack_every_s=max(2.0, site_count / ACKS_PER_S_MAX),
                ack_idle_s=QUIET_S,
            ),
        ),
        branching=max(BRANCHING_MIN, isqrt(site_count) + 1),
        trees=1,
        tick_s_max=QUIET_S,
    )


async def _until_ended(
    federation: Federation, queries: list[Query], spark: RunningSpark, show: Show
) -> None:
    roots = {query.root for query in queries}
    last, moved_s, looks, scan = Progress(""), time.monotonic(), 0, BytesSoFar(spark)
    pause_s = LOOK_EVERY_S * max(1.0, len(federation.roster.sites) / LOOK_SITES)
    while not all(str(q.id) in federation.runtimes[q.root].ended for q in queries):
        now = done = _progress(federation, roots)
        if now.bytes_read < now.bytes_all:
            now = scan.added_to(now)
        show(now)
        # A batch that fails and comes again moves what is shown, and nothing else.
        reached = done if done.trouble else now
        if reached != last:
            last, moved_s, looks = reached, time.monotonic(), 0
        raise_if_dead(spark)
        runtimes = federation.runtimes.items()
        failures = [f"{name}: {one.failure}" for name, one in runtimes if one.failure]
        if failures:
            raise HeadwaterError("; ".join(failures))
        still_s, looks = time.monotonic() - moved_s, looks + 1
        if looks > STALL_LOOKS_MAX // 2 and not done.trouble and spark.is_at_work():
            looks = STALL_LOOKS_MAX // 2
        if still_s > WORK_S_MAX or looks > STALL_LOOKS_MAX:
            raise HeadwaterError(
                f"nothing has moved for {still_s:.0f} s; {now.trouble or 'no site is in trouble'}; "
                "the newest notices: "
                f"{[notice.text for notice in list(federation.home.notices)[-3:]]}"
            )
        await asyncio.sleep(pause_s)


def _progress(federation: Federation, roots: set[str]) -> Progress:
    runtimes = federation.runtimes
    feeders = [runtime.feeder for runtime in runtimes.values()]
    sites, read = len(federation.roster.sites) - 1, sum(one.has_read_all for one in feeders)
    found = sum(one.found_bytes for one in feeders)
    return Progress(
        phase=READING if read < sites else ANSWERING,
        sites=sites,
        sites_read=read,
        windows=sum(runtimes[root].answer_count for root in roots),
        bytes_all=found,
        bytes_read=found - sum(one.waiting_bytes for one in feeders),
        records=sum(one.record_count for one in feeders),
        trouble=_trouble(federation),
    )


def _trouble(federation: Federation) -> str:
    """Of the first sites that can't be read now; empty: of none."""
    found = [
        f"{name}: source {source}: {why}"
        for name, runtime in federation.runtimes.items()
        for source, why in runtime.feeder.troubles().items()
    ]
    rest = f"; and {len(found) - TROUBLES_NAMED} more" if len(found) > TROUBLES_NAMED else ""
    return "; ".join(found[:TROUBLES_NAMED]) + rest


def _result(federation: Federation, query: Query) -> StreamResult:
    results = federation.runtimes[query.root].stores.results_directory
    reader = ResultsReader(results / query.id.name)
    windows = []
    left_out = {}
    for seq, envelope in reader.newest():
        if envelope.left_out:
            left_out[envelope.window] = envelope.left_out
        rows = reader.answer(seq, envelope)
        if rows is not None and rows.num_rows:
            windows.append(
                WindowResult(envelope.window, envelope.start_us, envelope.end_us, rows, envelope)
            )
    return StreamResult(
        query,
        tuple(windows),
        _unparsed(federation, query),
        left_out,
        _failed(federation, query),
        readings=readings_of(federation, query.program.source),
        kept_back=kept_back(query, _rehearsed(federation, query), [one.window for one in windows]),
    )


def _rehearsed(federation: Federation, query: Query) -> list[Mapping[int, Rehearsed]]:
    """What each site's cube would have kept back, by pane."""
    return [one.stores.cube.rehearsed(str(query.id)) for one in federation.runtimes.values()]


def _failed(federation: Federation, query: Query) -> dict[str, str]:
    """What Spark refused, and files that it could not read, by site."""
    found: dict[str, str] = {}
    for name, runtime in federation.runtimes.items():
        refused = [
            one.record.message
            for one in runtime.node.progress().edge
            if one.query == str(query.id) and one.record.message
        ]
        words = [*refused, *runtime.feeder.broken(query.source_name)]
        if words:
            found[name] = "; ".join(words)
    return found


def _unparsed(federation: Federation, query: Query) -> int:
    """What sites counted is asked of themselves: where there is no answer, no envelope has it."""
    return sum(
        one.record.tally.unparsed
        for runtime in federation.runtimes.values()
        for one in runtime.node.progress().edge
        if one.query == str(query.id)
    )


class _directory:
    """The given directory, or one that is gone afterwards."""

    def __init__(self, given: Path | None) -> None:
        self._given = given
        self._own: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Path:
        if self._given is not None:
            return self._given
        self._own = tempfile.TemporaryDirectory(prefix="headwater-")
        return Path(self._own.name)

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.cleanup()
