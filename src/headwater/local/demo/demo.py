"""A minute in the life of a federation: twelve sites, some questions, three misfortunes, a check.

Everything is real but the distance: logs grow on disk, Spark reads them, cubes keep them, bytes
travel with the delays and rates of the wide area. On the way a line is narrowed for a while, a
region is cut off, and an agent is killed and comes back. When the logs end, the cubes are asked one
question about the past; every answer is compared with that of one Spark over all records, and the
process says so by its exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import threading
import time
from collections.abc import Callable, Coroutine
from importlib import resources
from pathlib import Path

from headwater.agent.config import SourcesConfig
from headwater.agent.control.control import ControlDesk
from headwater.agent.control.control_api import SiteLine
from headwater.agent.control.install import install
from headwater.agent.control.operator_client import Ask
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.view.federation_view import FederationView, SiteView, StreamView
from headwater.agent.view.stream_lines import bare_line, with_answers
from headwater.edge.config import EdgeConfig
from headwater.errors import HeadwaterError
from headwater.local.demo.asked_once import NAME, AskedOnce, asked_once
from headwater.local.demo.demo_check import DemoRecord, check
from headwater.local.demo.demo_snapshot import (
    DemoSnapshot,
    DemoSummary,
    EventKind,
    EventShown,
    SiteCondition,
)
from headwater.local.demo.narrow_link import BYTES_PER_S, DELAY_S, SITE, NarrowLink
from headwater.local.demo.narrowed_line import SITE as NARROWED
from headwater.local.demo.narrowed_line import STREAM as PAGES
from headwater.local.demo.narrowed_line import NarrowedLine
from headwater.local.demo.workload import SiteProfile, SiteWriter, Traffic, write_bulk
from headwater.local.federation import Federation
from headwater.local.trial.try_query import try_query
from headwater.net.memory.memory_link import Wire
from headwater.net.memory.memory_network import MemoryWorld
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import SummaryMessage
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.config import RootConfig
from headwater.root.said.envelope import Envelope
from headwater.spark.jvm.session import RunningSpark
from headwater.store.results.results import ResultsReader

REGIONS = {
    "europe": (("london", 2_600.0, 0.0), ("frankfurt", 2_200.0, 1.0), ("madrid", 1_200.0, 1.0)),
    "america": (("ashburn", 3_000.0, -5.0), ("dallas", 1_600.0, -6.0), ("saopaulo", 900.0, -3.0)),
    "asia": (("tokyo", 2_400.0, 9.0), ("mumbai", 1_800.0, 5.5), ("singapore", 1_200.0, 8.0)),
    "south": (("lagos", 1_600.0, 1.0), ("johannesburg", 600.0, 2.0), ("sydney", 400.0, 10.0)),
}
"""(site, lines a second on average, hours before UTC), the largest of each region first. So
much that what twelve sites in four trees say whatever they read is not most of what they say."""
HOME = "london"
OF_SITES = re.compile(r", sites = '[^']*'")
"""In the text of the demo's questions: of whom the largest are asked."""
CUT_REGION = "asia"
KILLED = "dallas"
BEGIN_AFTER_US = 8_000_000
"""The first window starts at the first boundary after so long: installs take a second or two,
more on a busy machine."""
WARM_UP_LINES = 2_000
LIFE_S = 15.0
"""Summaries live shorter than in the field, so that a minute is enough to see a repair; and longer
than the narrow line takes for what a window has, or they would die on it again and again."""
SUMMARY_BYTES_MAX = 32 * 1024
"""Nothing overtakes an update that has begun to leave: so large a one, some 6 kB when packed, holds
the narrow line for two seconds."""
FINAL_S_MAX = 120.0
"""After the logs have ended, everything must be final within this time."""
SHOW_EVERY_S = 0.25
NARROW_KEY = "n"
LINE_NARROW = (0.1, 0.65)
"""From when on the script may narrow the line, and until when at the latest; parts of the time."""
WINDOWS_SHOWN = 8

Show = Callable[[DemoSnapshot], None]


def run_demo(
    directory: Path,
    spark: RunningSpark,
    *,
    seconds: float,
    seed: int,
    show: Show,
    pressed: Callable[[], str] = lambda: "",
    keep_logs: Path | None = None,
) -> DemoSummary:
    """Run it all; ``show`` is called a few times a second with what there is to see; ``pressed``
    says which keys somebody has pressed: n narrows the line, or widens it. The logs are
    below ``directory``, or in the end in ``keep_logs``, a folder for each region and in it one for
    each site."""
    demo = Demo(directory, spark, seconds=seconds, seed=seed, show=show, pressed=pressed)
    asyncio.run(demo.run())
    demo.say("one Spark over all records, to compare")
    summary = check(demo.record(), spark)
    if keep_logs is not None:
        demo.move_logs(keep_logs)
    return summary


def _warm_up(spark: RunningSpark, directory: Path) -> None:
    """The demo's own questions about a few lines, so that their code is compiled when it counts."""
    profile = SiteProfile("warm", lines_per_s=100.0)
    for site in ("one", "two"):
        write_bulk(
            directory / "sites" / site,
            profile,
            Traffic(seed=0),
            line_count=WARM_UP_LINES,
            from_s=0.0,
            to_s=20.0,
        )
    try_query(sql_for_all(), directory / "sites", spark=spark, work=directory / "work")


def demo_sql() -> str:
    return resources.files("headwater.local.demo").joinpath("demo.sql").read_text("utf-8")


def sql_for_all() -> str:
    """The same questions, where sites have other names: all of all."""
    return OF_SITES.sub("", demo_sql())


class Demo:
    """One run; its parts are called in the order in which they stand here."""

    def __init__(
        self,
        directory: Path,
        spark: RunningSpark,
        *,
        seconds: float,
        seed: int,
        show: Show,
        pressed: Callable[[], str] = lambda: "",
    ) -> None:
        self._directory = directory
        self._spark = spark
        self._seconds = seconds
        self._seed = seed
        self._show_snapshot = show
        self._pressed = pressed
        self._roster = _roster()
        self._region_of = {site: region for region, sites in REGIONS.items() for site, *_ in sites}
        self._events: list[EventShown] = []
        self._conditions = dict.fromkeys(self._region_of, SiteCondition.STARTING)
        self._windows: dict[str, dict[int, Envelope]] = {}
        self._incomplete: set[tuple[str, int]] = set()
        """Windows that were answered before all sites were in."""
        self._narrow = NarrowLink()
        self._line = NarrowedLine()
        self._asked: AskedOnce | None = None
        self._sent_before: dict[str, int] = {}
        self._queries: list[Query] = []
        self._writers: dict[str, SiteWriter] = {}
        self._phase = "the sites come up, and Spark warms up on a few lines"
        self._began_s: float | None = None
        """When the questions were asked."""

    # The run

    async def run(self) -> None:
        self._world = world = MemoryWorld(self._wire, notice_s=1.0, seed=self._seed)
        federation = Federation(
            self._directory / "federation",
            self._roster,
            spark=self._spark,
            world=world,
            settings=_settings(),
            data={site: self._logs(site) for site in self._region_of},
            now_s=time.time,
        )
        self._federation = federation
        growing = None
        try:
            await self._shown_meanwhile(self._get_ready())
            self._start_logs()
            growing = asyncio.create_task(self._grow())
            self._install()
            self._began_s = time.monotonic()
            await self._misfortunes(world)
            growing.cancel()
            await self._end_input()
            await self._until_final()
            await self._ask()
        finally:
            if growing is not None:
                growing.cancel()
            self._remember_sent()
            await federation.stop()

    async def _get_ready(self) -> None:
        """The sites come up beside the warm-up, which takes most of the time until there are
        answers to see."""
        warm_up = _beside(lambda: _warm_up(self._spark, self._directory / "warm-up"))
        try:
            await self._federation.start()
            self._set(list(self._region_of), SiteCondition.UP)
            self._phase = "the sites are up; Spark warms up on a few lines"
        finally:
            await warm_up

    async def _shown_meanwhile(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        while not task.done():
            self._show()
            await asyncio.wait([task], timeout=SHOW_EVERY_S)
        await task

    def record(self) -> DemoRecord:
        """What there is to check, when all is over."""
        return DemoRecord(
            queries=tuple(self._queries),
            logs={site: self._logs(site) for site in self._region_of},
            roster=self._roster,
            results=self._directory / "federation" / "sites" / HOME / "results",
            sent_bytes=sum(self._sent_before.values()),
            summaries_bytes=self._world.sent_kinds[SummaryMessage.__name__],
            incomplete_count=len(self._incomplete),
            elapsed_s=self._elapsed_s,
            narrow=self._narrow.verdict(),
            level=self._line.verdict(),
            asked=self._asked,
        )

    def move_logs(self, into: Path) -> None:
        for site, region in self._region_of.items():
            (into / region).mkdir(parents=True, exist_ok=True)
            shutil.move(self._logs(site), into / region / site)

    def say(self, phase: str) -> None:
        self._phase = phase
        self._show()

    def _remember_sent(self) -> None:
        for name, runtime in self._federation.runtimes.items():
            sent = self._sent_before.get(name, 0) + _sent_bytes(runtime)
            self._sent_before[name] = sent
            self._narrow.add_sent(_sent_by_stream(runtime))

    def _logs(self, site: str) -> Path:
        return self._directory / "logs" / site

    def _wire(self, left: str, right: str) -> Wire:
        """Delays and rates of the wide area: a region is near, the rest of the world is far, and
        one site has a narrow line to all others."""
        if SITE in (left, right):
            return Wire(delay_s=DELAY_S, jitter_s=0.015, bytes_per_s=BYTES_PER_S)
        if self._region_of[left] == self._region_of[right]:
            return Wire(delay_s=0.012, jitter_s=0.003, bytes_per_s=2_000_000)
        return Wire(delay_s=0.080, jitter_s=0.015, bytes_per_s=250_000)

    def _start_logs(self) -> None:
        traffic = Traffic(seed=self._seed, day_s=self._seconds * 2, rotate_s=20.0)
        start_s = time.time()
        for sites in REGIONS.values():
            for name, rate, zone_h in sites:
                swing = 0.0 if name in (SITE, NARROWED) else 1.0
                profile = SiteProfile(name, lines_per_s=rate, zone_h=zone_h, swing=swing)
                self._writers[name] = SiteWriter(
                    self._logs(name), profile, traffic, start_s=start_s
                )

    async def _grow(self) -> None:
        while True:
            for writer in self._writers.values():
                writer.advance(time.time())
            await asyncio.sleep(0.2)

    def _install(self) -> None:
        home = self._federation.home
        self._queries = install(home, demo_sql(), slack_us=BEGIN_AFTER_US)
        home.watchers.add(self._published)
        for query in self._queries:
            self._windows[query.id.name] = {}
        names = ", ".join(query.id.name for query in self._queries)
        self._event(EventKind.INFO, f"installed at {HOME}: {names}")

    async def _misfortunes(self, world: MemoryWorld) -> None:
        """The script, in parts of the whole time."""
        cut_off = [site for site, *_ in REGIONS[CUT_REGION]]
        at = self._seconds
        self._phase = "all is well"
        await self._until(0.25 * at)
        world.isolate(cut_off)
        self._set(cut_off, SiteCondition.CUT_OFF)
        self._phase = f"{CUT_REGION} is cut off"
        self._event(EventKind.TROUBLE, f"{CUT_REGION} is cut off: {', '.join(cut_off)}")
        await self._until(0.40 * at)
        await self._kill()
        await self._until(0.50 * at)
        world.heal_off(cut_off)
        self._set(cut_off, SiteCondition.UP)
        self._event(EventKind.HEALED, f"{CUT_REGION} is back; its cubes have kept everything")
        self._phase = f"{KILLED} is dead"
        await self._until(0.62 * at)
        await self._federation.start_site(KILLED)
        self._set([KILLED], SiteCondition.UP)
        self._event(EventKind.HEALED, f"{KILLED} is back, with its log and its cube")
        self._phase = "repairing"
        await self._until(at)

    async def _kill(self) -> None:
        killed = self._federation.runtimes[KILLED]
        self._sent_before[KILLED] = _sent_bytes(killed)
        self._narrow.add_sent(_sent_by_stream(killed))
        await self._federation.kill_site(KILLED)
        self._set([KILLED], SiteCondition.DEAD)
        self._phase = f"{CUT_REGION} is cut off, {KILLED} is dead"
        self._event(EventKind.TROUBLE, f"the agent of {KILLED} has been killed")

    async def _work_the_line(self) -> None:
        """By the script, or by whoever has pressed the key, and then by nobody else."""
        from_s, until_s = (share * self._seconds for share in LINE_NARROW)
        is_due = self._line.is_due(at_s=self._elapsed_s, from_s=from_s, until_s=until_s)
        if self._pressed().count(NARROW_KEY) % 2:
            self._line.is_scripted, is_due = False, True
        if is_due:
            await self._set_line(is_narrow=not self._line.is_narrow)

    async def _set_line(self, *, is_narrow: bool) -> None:
        """As an operator does it, at the agent whose line it is."""
        runtime = self._federation.runtimes[NARROWED]
        told = await self._line.set(
            _ask_of(runtime), self._world.operator, is_narrow=is_narrow, at_s=self._elapsed_s
        )
        self._event(EventKind.TROUBLE if is_narrow else EventKind.HEALED, told)

    async def _ask(self) -> None:
        """About all that was answered, now that nobody waits for anything else."""
        self.say("one question about the minute that is over, of the cubes of all sites")
        (stream,) = (one for one in self._queries if one.id.name == "quality")
        assert stream.begin_pane is not None, "it begins at a time"
        windows = self._windows[stream.id.name]
        home = self._federation.home
        self._asked = await asked_once(
            _ask_of(home),
            self._world.operator,
            ResultsReader(home.stores.results_directory / NAME),
            from_us=stream.window.pane_start_us(stream.begin_pane),
            to_us=max(one.start_us for one in windows.values()),
        )

    async def _end_input(self) -> None:
        for writer in self._writers.values():
            writer.advance(time.time())
            writer.close()
        if self._line.is_narrow:  # by somebody at the keyboard: else the rest would not follow
            await self._set_line(is_narrow=False)
        self._narrow.logs_end(time.time())
        self._event(EventKind.INFO, "the logs end")
        self._phase = "the logs have ended; answers become final"
        for runtime in self._federation.runtimes.values():
            runtime.feeder.end_input()

    async def _until_final(self) -> None:
        limit_s = time.monotonic() + FINAL_S_MAX
        while not all(self._is_final(query) for query in self._queries):
            if time.monotonic() > limit_s:
                raise HeadwaterError(
                    f"after {FINAL_S_MAX:.0f} s not every answer is final; try again when the "
                    f"machine is quiet:\n{self._why()}"
                )
            self._show()
            await asyncio.sleep(SHOW_EVERY_S)
        for site in self._conditions:
            self._conditions[site] = SiteCondition.ENDED
        self._phase = "every answer is final"
        self._show()

    def _is_final(self, query: Query) -> bool:
        """All windows up to the last one that any record can be in; of a level, all that are."""
        windows = self._windows[query.id.name]
        if query.stands_for is not None:
            return all(one.final for one in windows.values())
        last = query.window.windows_of(query.window.pane_at(int(self._last_record_s() * 1e6)))[-1]
        return (
            bool(windows)
            and max(windows) >= last
            and all(one.final for number, one in windows.items() if number <= last)
        )

    def _last_record_s(self) -> float:
        return self._wall_began_s() + self._seconds

    def _wall_began_s(self) -> float:
        return time.time() - self._elapsed_s

    @property
    def _elapsed_s(self) -> float:
        return 0.0 if self._began_s is None else time.monotonic() - self._began_s

    def _why(self) -> str:
        texts = []
        for query in self._queries:
            for number, one in sorted(self._windows[query.id.name].items()):
                if not one.final:
                    texts.append(self._federation.home.node.why(str(query.id), number).text())
        return "\n".join(texts[:4])

    # What is seen

    def _published(self, query: Query, seq: int) -> None:
        if query.id.name not in self._windows:
            return  # the question that is asked in the end
        reader = ResultsReader(self._federation.home.stores.results_directory / query.id.name)
        for envelope in reader.envelopes(seq):
            before = self._windows[query.id.name].get(envelope.window)
            self._windows[query.id.name][envelope.window] = envelope
            self._narrow.hear(query.id.name, envelope)
            self._line.hear(query.id.name, envelope)
            if envelope.missing:
                self._incomplete.add((query.id.name, envelope.window))
            if before is not None and not before.exact and envelope.exact:
                start = time.strftime("%H:%M:%S", time.gmtime(envelope.start_us / 1e6))
                more = envelope.covered - before.covered
                self._event(
                    EventKind.REPAIRED,
                    f"{query.id.name} {start} is exact now: revision {envelope.revision}"
                    + (f", {more} more sites" if more else ""),
                )

    async def _until(self, elapsed_s: float) -> None:
        while self._elapsed_s < elapsed_s:
            await self._work_the_line()
            self._show()
            await asyncio.sleep(SHOW_EVERY_S)

    def _show(self) -> None:
        pages = next((one for one in self._queries if one.id.name == PAGES), None)
        narrowed = self._federation.runtimes.get(NARROWED)
        if pages is not None:
            told = self._line.look(narrowed, pages, at_s=self._elapsed_s)
            if told:
                self._event(EventKind.INFO, told)
        self._show_snapshot(
            DemoSnapshot(
                elapsed_s=self._elapsed_s,
                duration_s=self._seconds,
                phase=self._phase,
                view=FederationView(
                    tuple(self._site_view(site) for site in self._region_of),
                    tuple(self._stream_view(query) for query in self._queries),
                ),
                events=tuple(self._events),
                narrow=self._narrow.shown(WINDOWS_SHOWN),
                line=self._line.shown(narrowed, pages),
            )
        )

    def _site_view(self, site: str) -> SiteView:
        runtime = self._federation.runtimes.get(site)
        now = _sent_bytes(runtime) if runtime is not None else 0
        link = self._conditions[site]
        return SiteView(
            SiteLine(site, self._region_of[site], role="data", address="", link=link),
            raw_bytes=self._writers[site].lines_bytes if site in self._writers else 0,
            sent_bytes=self._sent_before.get(site, 0) + now,
            record_count=runtime.feeder.record_count if runtime is not None else 0,
        )

    def _stream_view(self, query: Query) -> StreamView:
        windows = [one for _, one in sorted(self._windows[query.id.name].items())]
        line = with_answers(bare_line(query), windows)
        return StreamView(line, tuple(windows[-WINDOWS_SHOWN:]))

    def _set(self, sites: list[str], condition: SiteCondition) -> None:
        for site in sites:
            self._conditions[site] = condition

    def _event(self, kind: EventKind, text: str) -> None:
        self._events.append(EventShown(self._elapsed_s, kind, text))


def _beside(work: Callable[[], None]) -> asyncio.Future[None]:
    """In a thread that nobody waits for where the demo is ended meanwhile: its Spark ends then, and
    with it the work."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as raised:  # told to whoever waits
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is over, and nobody waits
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=run, name="warm-up", daemon=True).start()
    return done


def _ask_of(runtime: SiteRuntime) -> Ask:
    """What operators ask of an agent over the network, asked within the process."""
    desk = ControlDesk()
    desk.open(runtime)
    return desk.handle


def _roster() -> Roster:
    """Whoever has a narrow line dials others and is nobody's way."""
    names = [(name, region) for region, sites in REGIONS.items() for name, *_ in sites]
    sites = tuple(
        Site(n, name, region=region, dialable=name not in (SITE, NARROWED))
        for n, (name, region) in enumerate(names)
    )
    return Roster(version=1, sites=sites, home=HOME)


def _settings() -> RuntimeSettings:
    """As in the field, but for times that a minute has no room for."""
    return RuntimeSettings(
        sources=SourcesConfig(poll_s=0.5),
        node=NodeConfig(
            overlay=OverlayConfig(summary_life_s=LIFE_S, net_dist_ceiling_s=2.0),
            edge=EdgeConfig(summary_life_s=LIFE_S, live_for_s=LIFE_S, state_every_s=2.0),
            root=RootConfig(summary_life_s=LIFE_S, ack_every_s=2.0),
        ),
        summary_bytes_max=SUMMARY_BYTES_MAX,
        branching=4,
    )


def _sent_bytes(runtime: SiteRuntime) -> int:
    return sum(link.sent_bytes for link in runtime.network.stats().links.values())


def _sent_by_stream(runtime: SiteRuntime) -> dict[str, int]:
    spent = runtime.network.stats().queries
    names = {query: query.partition("@")[0] for query in spent if query}
    return {name: sum(spent[query].spent_bytes.values()) for query, name in names.items()}
