"""A question about files that are there: through the whole way, to the end, in one call.

Each folder below the given directory is a site. The answers go the way that they would go in the
wide area: Spark at the sites, cubes, the tree, Spark at the root; only the network is in memory and
the input ends. ``central`` computes the same with one plain Spark, for those who want to compare.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from math import inf, isqrt
from pathlib import Path, PurePath

import msgspec
import pyarrow as pa

from headwater.agent.config import SourcesConfig
from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.agent.threads import SharedThreads
from headwater.algebra.remainders.withhold import Rehearsed
from headwater.edge.config import EdgeConfig
from headwater.errors import ConfigurationError, GroupFailed, HeadwaterError, SparkFailed
from headwater.local.federation import Federation
from headwater.local.free_memory import heap_for_a_run
from headwater.local.little_input import is_little
from headwater.local.trial.guessed_times import with_guessed_times
from headwater.local.trial.kept_back import KeptBack, kept_back
from headwater.local.trial.reading import SiteReading, readings_of
from headwater.local.trial.sampled_sites import Sample, Sampled, sample_sites
from headwater.local.trial.state_span import settled, with_span
from headwater.net.memory.memory_network import MemoryWorld
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.plan.sources.source import Source
from headwater.root.config import RootConfig
from headwater.root.said.envelope import Envelope, LeftOut
from headwater.spark.central import central_finished
from headwater.spark.jvm.jvm_end import Cause
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.root.bad_groups import Finished
from headwater.sql.compile import compile_statements
from headwater.store.disk import ScratchDisk
from headwater.store.input.site_files import empty_count, found_below, look_below, paths_below
from headwater.store.results.results import ResultsReader

ROOT = "root"
"""The site that answers; it has no data of its own."""
LOOK_EVERY_S = 0.2
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
GONE_S = 0.5
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
READING = "reading at the sites"
REDUCING = "reducing at the sites what was read"
ANSWERING = "merging and answering"
TROUBLES_NAMED = 3
"""Sites that are named at once as being in trouble."""
ADVICE = {
    Cause.HEAP: "give it more with --memory (2g, say), or ask for fewer groups or longer windows",
    Cause.KILLED: "if nobody ended it, the machine ran out of memory: take less with --memory "
    "(512m, say), or end something else",
}
"""What whoever runs ``try`` can do; there is no configuration file to change."""


class WindowResult(msgspec.Struct, frozen=True):
    window: int
    start_us: int
    end_us: int
    rows: pa.Table
    envelope: Envelope | None = None
    """None for what one plain Spark computed."""


class StreamResult(msgspec.Struct, frozen=True):
    query: Query
    windows: tuple[WindowResult, ...]
    """Those with rows, oldest first."""
    unparsed: int = 0
    """Lines that this stream can't use, over all sites."""
    left_out: dict[int, LeftOut] = {}
    """By window, also of those without rows: groups that could not be computed."""
    failed: dict[str, str] = {}
    """By site, where Spark could not run the query on some of its records: Spark's words."""
    left_alone: tuple[tuple[str, str], ...] = ()
    """(path, reason) of files that one plain Spark did not read."""
    readings: tuple[SiteReading, ...] = ()
    """What was read of its source, site by site."""
    kept_back: KeptBack | None = None
    """What sites would have kept back under its error; None: it asks for none, or one plain Spark
    computed it."""


class Progress(msgspec.Struct, frozen=True):
    phase: str
    sites: int = 0
    sites_read: int = 0
    """Sites whose input has been read to the end."""
    windows: int = 0
    """Answers that are published."""
    bytes_all: int = 0
    """Of all files that are read in this phase, as they lie on the disk; 0: not known yet."""
    bytes_read: int = 0
    """Of those, also what belongs to batches that are under way."""
    records: int = 0
    trouble: str = ""
    """What keeps a site from being read now, with its name."""


Show = Callable[[Progress], None]


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
    started = _spark(spark, show, queries, folders)
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
    with _spark(spark, show, queries, folders) as running:
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
    is_over, scan = threading.Event(), _Scan(spark)

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


class _Scan:
    """What Spark reads counts when it is committed; meanwhile it is shown as read."""

    def __init__(self, spark: RunningSpark) -> None:
        self._spark = spark
        self._committed = -1
        self._begun = 0
        """What Spark had read at the newest commit."""
        self._most = 0

    def added_to(self, committed: Progress) -> Progress:
        """A file may be read twice, and others are read beside it: never more than there is, and
        never less than was said before."""
        scanned = self._spark.bytes_scanned()
        if committed.bytes_read != self._committed:
            self._committed, self._begun = committed.bytes_read, scanned
        now = committed.bytes_read + max(0, scanned - self._begun)
        self._most = max(self._most, min(now, committed.bytes_all))
        phase = REDUCING if self._most == committed.bytes_all else committed.phase
        return msgspec.structs.replace(committed, phase=phase, bytes_read=self._most)


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


def joined(results: list[StreamResult]) -> list[list[StreamResult]]:
    """The parts of each stream side by side; a stream with one root is alone."""
    streams: dict[str, list[StreamResult]] = {}
    for result in results:
        streams.setdefault(result.query.stream, []).append(result)
    return list(streams.values())


def check(text: str, sites: Path) -> list[str]:
    """Refuses what can't be run, before anybody starts a Spark for it; the names of the streams."""
    return list(dict.fromkeys(query.stream for query in compiled(text, site_folders(sites))))


def is_brief(text: str, sites: Path) -> bool:
    """Whether it is a short run, so that Spark is started for one."""
    folders = site_folders(sites)
    return is_little(compiled(text, folders), list(folders.values()))


def sampled(text: str, sites: Path, into: Path, sample: Sample) -> Sampled:
    """Take a sample of the sites' files, as folders of sites in ``into``."""
    folders = site_folders(sites)
    return sample_sites(compiled(text, folders), folders, into, sample)


def site_folders(directory: Path) -> dict[str, Path]:
    """Each folder is a site. Raises where there is none, or a name can't be one."""
    if not directory.is_dir():
        came = "it is a file" if directory.exists() else "there is nothing of that name"
        raise ConfigurationError(
            f"{directory}: wanted a directory with a folder for each site, {came}"
        )
    folders = {path.name: path for path in sorted(directory.iterdir()) if path.is_dir()}
    folders = {name: path for name, path in folders.items() if not name.startswith(".")}
    if not folders:
        raise ConfigurationError(
            f"{directory}: no folders in it; each site's files belong in a folder of their own"
        )
    for name in folders:
        if not re.fullmatch(r"[\w.-]+", name):
            raise ConfigurationError(
                f"{directory / name}: a site's name may have letters, digits, '_', '.' and '-'"
            )
    return folders


def compiled(text: str, folders: dict[str, Path]) -> list[Query]:
    """Refusals come before Spark is started."""
    queries = list(_queries(text, tuple(folders)))
    for query in queries:
        _refuse_outside(query.program.source, folders)
    return queries


def _refuse_outside(source: Source, folders: dict[str, Path]) -> None:
    """A path that begins at the root of the file system is the same at every site."""
    path = PurePath(source.path)
    for folder in folders.values() if path.is_absolute() else ():
        if not path.is_relative_to(folder.absolute()):
            raise ConfigurationError(
                f"source {source.name}: wanted a path below each site's folder, such as "
                f"{path.name!r}; {source.path!r} is not below {folder.absolute()}"
            )


@lru_cache(maxsize=1)
def _queries(text: str, folders: tuple[str, ...]) -> tuple[Query, ...]:
    """Asked for by each who needs the queries of one run."""
    root = _root_name(folders)
    found = compile_statements(
        text,
        root=root,
        installer=root,
        next_counter=1,
        begin="earliest",
        ends=True,
        known_sites=[Site(0, root, has_data=False), *(Site(1, name) for name in folders)],
    )
    return tuple(found)


def _root_name(folders: Collection[str]) -> str:
    name = ROOT
    while name in folders:
        name += "_"
    return name


def raise_if_dead(spark: RunningSpark) -> None:
    """Nothing comes of it any more, and a restart would end the same way: the input is the same."""
    end = spark.end()
    if end is not None:
        raise SparkFailed(f"{end.text}; {ADVICE.get(end.cause, end.advice)}")


async def _answers(
    text: str,
    folders: dict[str, Path],
    spark: RunningSpark,
    directory: Path,
    show: Show,
    spanned: list[Query],
) -> list[StreamResult]:
    """``spanned``: the same queries, with what was found out of their files."""
    root = _root_name(folders)
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
    last, moved_s, looks, scan = Progress(""), time.monotonic(), 0, _Scan(spark)
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


class _spark:
    """The given Spark, or one of our own that ends with us."""

    def __init__(
        self, given: RunningSpark | None, show: Show, queries: list[Query], folders: dict[str, Path]
    ) -> None:
        """``queries`` and ``folders`` tell how much it is for."""
        self._given = given
        self._show = show
        self._queries = queries
        self._folders = list(folders.values())
        self._own: RunningSpark | None = None

    def __enter__(self) -> RunningSpark:
        if self._given is not None:
            return self._given
        self._show(Progress("starting Spark"))
        is_brief = is_little(self._queries, self._folders)
        self._own = start_session(SparkConfig(memory=heap_for_a_run(), is_brief=is_brief))
        return self._own

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.stop()


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
