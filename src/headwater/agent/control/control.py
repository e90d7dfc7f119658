"""What operators ask, answered: compare, prepare, give, explain, streams, statements, sites, watch,
why, alarms.

The handler runs on the runtime's own event loop, so it may look at the node directly. Questions
about answers are the root's to answer; any other agent says where the root is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from textwrap import indent
from typing import Any, TypeVar

import msgspec

from headwater.agent.answers.former import former_lines
from headwater.agent.care.death_book import Death
from headwater.agent.control import control_api as api
from headwater.agent.control.alarm_lines import alarm_lines, roots_elsewhere
from headwater.agent.control.comparing import compared
from headwater.agent.control.explain_trees import trees_text
from headwater.agent.control.giving import give, prepared, prepared_removal
from headwater.agent.control.install import (
    compile_here,
    plan_here,
    statements_of,
    usable_coordinates,
)
from headwater.agent.runtime import SiteRuntime
from headwater.agent.time_text import iso, last_time_us
from headwater.algebra.coordinate import Coordinate
from headwater.algebra.words.remark import SiteRemark, remarks_line
from headwater.edge.record import RUNNING
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.net.control.control import Caller
from headwater.node.effects import Notice
from headwater.plan.durations import window_text
from headwater.plan.query import Query, QueryId
from headwater.plan.timestamps import timestamp_us
from headwater.root.said.awaited import awaited_window, newest_expected
from headwater.root.said.envelope import Envelope
from headwater.root.said.explain import OVER, SiteUnread, unconfirmed_text
from headwater.root.said.view import site_offsets_s, sites_ahead, sites_unread
from headwater.shown_text import shown_line, shown_within
from headwater.sql.write.explain import explain
from headwater.store.results.results import ResultsReader

T = TypeVar("T")
DEATHS_SHOWN = 3
"""Of Spark, in ``why``."""
UNREAD_SITES_SHOWN = 3
"""Sites of which ``streams`` names files that are not read; ``why`` names more."""
WINDOW_DIGITS_MAX = 20
YEARS_US = (-62_135_596_800_000_000, 253_402_300_800_000_000)
"""From the beginning of year 1 to the end of year 9999: beyond, there are no dates to show."""
NO_SPARK = (
    'this agent has no Spark (mode = "none" under [spark]), and only Spark answers; '
    "name a root that has one, and run the stream again"
)
WATCH_LOOK_S = 0.5
"""How often it is looked what a watcher waits for."""
WATCH_QUEUE_MAX = 1_000
"""Publications that wait for a slow watcher; beyond, it is told to begin anew."""


class ControlDesk:
    """Made before the network, opened once there is a runtime to ask."""

    def __init__(self) -> None:
        self._runtime: SiteRuntime | None = None

    def open(self, runtime: SiteRuntime) -> None:
        self._runtime = runtime

    def compiled(self, text: str) -> list[Query]:
        """The queries of a file, as they would be commanded here."""
        return compile_here(self._opened(), text)

    def live(self) -> list[Query]:
        return [one.query for one in self._opened().node.peer.live_queries().values()]

    def _opened(self) -> SiteRuntime:
        if self._runtime is None:
            raise HeadwaterError("this agent: it is starting; try again in a moment")
        return self._runtime

    def note(self, notice: Notice) -> None:
        """Shown with the runtime's own; before there is one, the log has it."""
        if self._runtime is not None:
            self._runtime.note(notice.part, notice.kind, notice.text)

    def suspend(self, query_id: str, why: str) -> None:
        if self._runtime is not None:
            self._runtime.suspend(query_id, why)

    def suspend_answers(self, query_id: str, why: str) -> None:
        if self._runtime is not None:
            self._runtime.suspend_answers(query_id, why)

    async def handle(self, name: str, payload: dict[str, Any], caller: Caller | None = None) -> Any:
        """The reply as plain data, or an asynchronous iterator of events."""
        runtime = self._opened()
        if name == api.PREPARE:
            return _plain(prepared(runtime, _asked(payload, api.PrepareRequest).text))
        if name == api.COMPARE:
            text = _asked(payload, api.PrepareRequest).text
            return _plain(compared(runtime, text, lambda query: _installed(runtime, query)))
        if name == api.PREPARE_REMOVAL:
            return _plain(prepared_removal(runtime, _asked(payload, api.StreamRequest).stream))
        if name == api.GIVE:
            return _plain(_give(runtime, _asked(payload, api.GiveRequest)))
        if name == api.EXPLAIN:
            return _plain(_explain(runtime, _asked(payload, api.ExplainRequest)))
        if name == api.STREAMS:
            request = _asked(payload, api.StreamsRequest)
            return _plain(await asyncio.to_thread(_streams, runtime, former=request.former))
        if name == api.SITES:
            return _plain(_sites(runtime))
        if name == api.ALARMS:
            kept = await asyncio.to_thread(runtime.stores.ledger.alarms)
            lines = alarm_lines(runtime, kept)
            return _plain(api.AlarmsReply(runtime.site, lines, roots_elsewhere(runtime)))
        if name == api.STATEMENTS:
            stream = _asked(payload, api.StreamRequest).stream
            return _plain(api.StatementsReply(statements_of(runtime, stream)))
        if name == api.WHY:
            return _plain(await _why(runtime, _asked(payload, api.WhyRequest)))
        if name == api.WATCH:
            return _watch_or_elsewhere(runtime, _asked(payload, api.StreamRequest))
        known = (
            api.PREPARE,
            api.PREPARE_REMOVAL,
            api.GIVE,
            api.EXPLAIN,
            api.STREAMS,
            api.SITES,
            api.WATCH,
            api.WHY,
            api.STATEMENTS,
            api.ALARMS,
            api.COMPARE,
        )
        raise ConfigurationError(f"no request {name[:40]!r}; requests: {', '.join(known)}")


def _give(runtime: SiteRuntime, request: api.GiveRequest) -> api.RunReply:
    try:
        queries = give(runtime, request)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"give: wanted commands as they were prepared, {error}") from None
    return api.RunReply(tuple(_installed(runtime, query) for query in queries))


def _installed(runtime: SiteRuntime, query: Query) -> api.Installed:
    begin = "earliest"
    if query.begin_pane is not None:
        begin = iso(query.window.pane_start_us(query.begin_pane))
    sites = query.sites or [site for site in runtime.roster.sites if site.has_data]
    return api.Installed(
        query.id.name,
        str(query.id),
        query.root,
        begin,
        len(sites),
        part=_part_text(query),
        refused=_refused_text(runtime, query),
    )


def _refused_text(runtime: SiteRuntime, query: Query) -> str:
    """Why the agent that took it does not do its own part in it, if it does not."""
    troubles = (*_root_troubles(runtime, query).values(), *_site_troubles(runtime, query))
    return "; ".join(shown_line(one) for one in troubles)


def _part_text(query: Query) -> str:
    return "" if query.part is None else str(query.part)


def _explain(runtime: SiteRuntime, request: api.ExplainRequest) -> api.ExplainReply:
    queries = compile_here(runtime, request.text)
    return api.ExplainReply(tuple(_explained(runtime, query) for query in queries))


def _explained(runtime: SiteRuntime, query: Query) -> str:
    """What the query does, the trees it would have, and if it runs: the ways up from here."""
    text = explain(query)
    trees = trees_text(runtime.roster, plan_here(runtime, query), usable_coordinates(runtime))
    text += f"\ntrees\n{indent(trees, '  ')}\n"
    names = {one: QueryId.parse(one).name for one in runtime.node.peer.live_queries()}
    live = [one for one, name in names.items() if name == query.id.name]
    for query_id in live:
        ways = runtime.node.peer.ways(query_id)
        told = "\n".join(
            f"  {way.by}: {way.parent}, {'open' if way.leads_on else 'does not lead on'}"
            for way in ways
        )
        text += f"\nways of {query_id} from {runtime.site}\n{told or '  it is answered here'}\n"
    return text


def _streams(runtime: SiteRuntime, *, former: bool) -> api.StreamsReply:
    live = runtime.node.peer.live_queries().values()
    lines = [_stream_line(runtime, one.query) for one in live]
    return api.StreamsReply(
        tuple(sorted(lines, key=lambda line: line.id)),
        asked=runtime.site,
        former=former_lines(runtime) if former else (),
        elsewhere=roots_elsewhere(runtime),
    )


def _stream_line(runtime: SiteRuntime, query: Query) -> api.StreamLine:
    window = window_text(range_us=query.window.range_us, slide_us=query.window.slide_us)
    root = runtime.node.root(str(query.id))
    line = api.StreamLine(
        query.id.name,
        str(query.id),
        query.root,
        window,
        part=_part_text(query),
        trouble=_trouble_text(runtime, query),
        spark_deaths=len(_deaths(runtime, query)),
        unread=_unread_text(runtime, query),
        remarks=_remarks_text(runtime, query),
        alarms=0 if root is None else len(root.alarms),
        clocks=_clocks_text(runtime, query),
    )
    if query.root != runtime.site or str(query.id) in runtime.node.refusals():
        return line
    published = [envelope for _, envelope in _reader(runtime, query).newest()]
    envelopes = [envelope for envelope in published if envelope.query == str(query.id)]
    others = {envelope.query for envelope in published} - set(runtime.node.peer.live_queries())
    line = msgspec.structs.replace(line, former=len(others))
    if not envelopes:
        return line
    newest = envelopes[-1]
    return msgspec.structs.replace(
        line,
        answered=len(envelopes),
        revisions=sum(envelope.revision for envelope in envelopes),
        exact=sum(envelope.exact for envelope in envelopes),
        final=sum(envelope.final for envelope in envelopes),
        newest=iso(newest.start_us),
        coverage=f"{newest.covered} of {newest.expected}",
    )


def _trouble_text(runtime: SiteRuntime, query: Query) -> str:
    """What keeps this site from its part in the query."""
    concern = ("refused", "writing", "reading rows", f"source {query.source_name}")
    found = runtime.troubles() | _root_troubles(runtime, query)
    told = [f"{what}: {found[what]}" for what in concern if what in found]
    return "; ".join([*told, *_site_troubles(runtime, query)])


def _root_troubles(runtime: SiteRuntime, query: Query) -> dict[str, str]:
    """Why this agent does not answer it, where it is to: refused, suspended, or no Spark."""
    query_id = str(query.id)
    refused = runtime.node.refusals().get(query_id)
    if refused is None and query.root == runtime.site and not runtime.can_answer:
        refused = NO_SPARK
    return {} if refused is None else {"refused": f"it is not answered here: {refused}"}


def _site_troubles(runtime: SiteRuntime, query: Query) -> list[str]:
    """Why no records of this site count in it: refused, suspended, set aside, or waiting."""
    query_id, site = str(query.id), runtime.site
    waits, aside = runtime.node.waits().get(query_id), runtime.node.unread_records().get(query_id)
    if waits is not None:
        return [f"not read here: waits at {site}: {waits}"]
    for one in () if runtime.node.edge is None else runtime.node.edge.progress():
        if one.query == query_id and one.status != RUNNING:
            return [f"not read here: {one.status} at {site}: {one.message}"]
    return [] if aside is None else [f"not read here: set aside at {site}: {aside}"]


def _unread_text(runtime: SiteRuntime, query: Query) -> str:
    """In one cell: how many files at how many sites, and the first ones of the first sites."""
    root = runtime.node.root(str(query.id))
    if root is not None:
        found = sites_unread(root)
    else:
        own = runtime.feeder.unread(query.source_name)
        found = (SiteUnread(runtime.site, own),) if own else ()
    told = "; ".join(one.text() for one in found[:UNREAD_SITES_SHOWN])
    rest = found[UNREAD_SITES_SHOWN:]
    if not rest:
        return told
    count = sum(one.unread.count for one in rest)
    return f"{told}; and {count} at {len(rest)} more {'site' if len(rest) == 1 else 'sites'}"


def _remarks_text(runtime: SiteRuntime, query: Query) -> str:
    root = runtime.node.root(str(query.id))
    if root is not None:
        return remarks_line(root.table.remarks(), shown=UNREAD_SITES_SHOWN)
    own = runtime.feeder.remarks(query.source_name)
    found = (SiteRemark(runtime.site, one.kind, one.text) for one in own)
    return remarks_line(found, shown=UNREAD_SITES_SHOWN)


def _clocks_text(runtime: SiteRuntime, query: Query) -> str:
    root = runtime.node.root(str(query.id))
    unconfirmed = () if root is None else root.table.unconfirmed()
    return unconfirmed_text(unconfirmed) if unconfirmed else ""


def _sites(runtime: SiteRuntime) -> api.SitesReply:
    stats = runtime.network.stats().links
    peer = runtime.node.peer
    places = peer.coordinates()
    clocks = _clocks_ms(runtime)
    fenced = _fenced(runtime)
    lines = []
    for site in runtime.roster.sites:
        link = stats.get(site.name)
        state = "here" if site.name == runtime.site else ""
        if link is not None:
            state = "up" if link.is_up else "down"
        rtt_s = runtime.node.peer.rtt_s(site.name) if state == "up" else None
        role = "data" if site.has_data else "relay"
        lines.append(
            api.SiteLine(
                site=site.name,
                region=site.region,
                role=f"{role}, home" if site.name == runtime.roster.home else role,
                address=f"{site.host}:{site.port}",
                link=state,
                rtt_ms=None if rtt_s is None else round(rtt_s * 1e3, 1),
                parents=_parents(runtime, site.ordinal),
                place=_place_text(places.get(site.name)),
                clock_ms=clocks.get(site.name),
                fenced=fenced.get(site.name, 0),
            )
        )
    return api.SitesReply(runtime.site, tuple(lines))


def _parents(runtime: SiteRuntime, ordinal: int) -> str:
    """In the federation's trees, each once; of this site's own, those that do not lead on are
    marked."""
    names = {site.ordinal: site.name for site in runtime.roster.sites}
    found = dict.fromkeys(tree.parent_of(ordinal) for tree in runtime.trees)
    down = _parents_down(runtime) if names[ordinal] == runtime.site else set()
    parents = [names[parent] for parent in found if parent is not None]
    return " ".join(f"{name}(down)" if name in down else name for name in parents)


def _parents_down(runtime: SiteRuntime) -> set[str]:
    links = runtime.network.stats().links
    return {
        site.name
        for site in runtime.roster.sites
        if not (site.name in links and links[site.name].is_up)
    }


def _place_text(place: Coordinate | None) -> str:
    """Position and height in milliseconds, and how far it can be trusted."""
    if place is None:
        return ""
    position = ",".join(f"{value:.0f}" for value in (place.x, place.y, place.z))
    return f"{position}+{place.height:.0f} ±{place.error:.0%}"


def _clocks_ms(runtime: SiteRuntime) -> dict[str, float]:
    """How far clocks are off: of this site against the home's, and of sites against this one's,
    as they told the roots here."""
    told: dict[str, float] = {}
    for query_id in runtime.node.progress().queries:
        root = runtime.node.root(query_id)
        told |= site_offsets_s(root) if root is not None else {}
    clock = runtime.node.peer.root_clock(runtime.roster.home)
    if runtime.site == runtime.roster.home:
        told[runtime.site] = 0.0
    elif clock is not None:
        told[runtime.site] = clock.offset_s - runtime.node.ahead_s
    return {site: round(offset_s * 1e3, 1) for site, offset_s in told.items()}


def _fenced(runtime: SiteRuntime) -> dict[str, int]:
    """Records from the future by site: this one's own, and what others told the roots here."""
    found = {runtime.site: runtime.feeder.fenced_count}
    for query_id in runtime.node.progress().queries:
        root = runtime.node.root(query_id)
        for one in sites_ahead(root) if root is not None else ():
            found[one.site] = max(found.get(one.site, 0), one.fenced + one.refused)
    return found


async def _why(runtime: SiteRuntime, request: api.WhyRequest) -> api.WhyReply | api.Elsewhere:
    query = find_query(runtime, request.stream)
    if query.root != runtime.site:
        return _elsewhere(runtime, query)
    explanation = runtime.node.why(str(query.id), _window(runtime, query, request.window))
    if explanation.status == OVER:
        reader, window = _reader(runtime, query), explanation.window
        published = await asyncio.to_thread(reader.newest_of, str(query.id), window)
        explanation = explanation.with_published(published)
    value = msgspec.to_builtins(explanation)
    seen = msgspec.convert(shown_within(value), type(explanation))
    times = {"start": iso(explanation.start_us), "end": iso(explanation.end_us)}
    trouble = shown_line(_trouble_text(runtime, query))
    deaths = [
        f"{iso(int(one.at_s * 1e6))} Spark died here with this query at work: "
        + shown_line(one.text)
        for one in _deaths(runtime, query)[-DEATHS_SHOWN:]
    ]
    lines = [seen.text(), *([f"trouble at {runtime.site}: {trouble}"] if trouble else ())]
    value |= {**times, "trouble": trouble, "spark_deaths": deaths}
    return api.WhyReply("\n".join([*lines, *deaths]), value)


def _deaths(runtime: SiteRuntime, query: Query) -> tuple[Death, ...]:
    return () if runtime.spark is None else runtime.spark.deaths_of(str(query.id))


def _window(runtime: SiteRuntime, query: Query, text: str) -> int:
    now_us = int(runtime.wall_s() * 1e6)
    if text not in (api.NamedWindow.NEWEST, api.NamedWindow.LAST):
        return window_named(query, text, now_us=now_us)
    root = runtime.node.root(str(query.id))
    if root is not None and text == api.NamedWindow.NEWEST:
        found = newest_expected(root, now_s=runtime.now_s())
    else:
        found = root.progress().newest_answered if root is not None else None
        if found is None and root is not None:
            raise ConfigurationError(
                f"stream {query.id.name!r}: no window has an answer yet; what is awaited says: "
                f"headwater why {query.id.name}"
            )
    if found is None:
        return query.window.windows_of(query.window.pane_at(now_us))[0]
    return found


def window_named(query: Query, text: str, *, now_us: int = 0) -> int:
    """The window of this number, or the newest one that this time (UTC unless it says) lies in.
    A time without a day is the last one before ``now_us``."""
    if text.removeprefix("-").isdecimal():
        if len(text) > WINDOW_DIGITS_MAX or not _is_of_calendar(query, int(text)):
            raise ConfigurationError(
                f"window {text[:40]}: that is not between the years 1 and 9999; wanted a number "
                "like those in answers, a time like 2026-05-04T12:00:00Z, or newest"
            )
        return int(text)
    time_us = last_time_us(text, now_us=now_us) or timestamp_us(text)
    if time_us is None:
        raise ConfigurationError(
            f"window: wanted a time like 09:10 or 2026-05-04T12:00:00Z (both UTC), a number, or "
            f"newest; got {text[:80]!r}"
        )
    return query.window.windows_of(query.window.pane_at(time_us))[-1]


def _is_of_calendar(query: Query, window: int) -> bool:
    return all(
        YEARS_US[0] <= time_us < YEARS_US[1]
        for time_us in (query.window.window_start_us(window), query.window.window_end_us(window))
    )


def _watch_or_elsewhere(runtime: SiteRuntime, request: api.StreamRequest) -> Any:
    query = find_query(runtime, request.stream)
    if query.root != runtime.site:
        return _only(_plain(_elsewhere(runtime, query)))
    return _watch(runtime, query, request)


async def _only(event: Any) -> AsyncIterator[Any]:
    """A stream of one event: whoever watches is sent elsewhere in the same way as it listens."""
    yield event


async def _watch(
    runtime: SiteRuntime, query: Query, request: api.StreamRequest
) -> AsyncIterator[Any]:
    """Every answer from now on, until the stream ends; with ``newest`` first the newest answer of
    each window, with ``waits`` also what is waited for, whenever that changes."""
    reader = _reader(runtime, query)
    news: asyncio.Queue[int] = asyncio.Queue(WATCH_QUEUE_MAX)

    def published(of: Query, seq: int) -> None:
        if of.id == query.id and not news.full():
            news.put_nowait(seq)

    runtime.watchers.add(published)
    try:
        last = max(reader.publications(), default=0)
        if request.newest:
            for seq, envelope in await asyncio.to_thread(reader.newest):
                yield await asyncio.to_thread(_event, reader, seq, envelope)
        told = ""
        while True:
            waits = _waits(runtime, query)
            if request.waits and waits.text != told:
                told = waits.text
                yield _plain(waits)
            if waits.has_ended:
                return
            try:
                async with asyncio.timeout(WATCH_LOOK_S):
                    seq = await news.get()
            except TimeoutError:
                continue
            if seq <= last:
                continue
            last = seq
            for envelope in await asyncio.to_thread(reader.envelopes, seq):
                yield await asyncio.to_thread(_event, reader, seq, envelope)
    finally:
        runtime.watchers.discard(published)


def _waits(runtime: SiteRuntime, query: Query) -> api.WaitEvent:
    """What a watcher of this query waits for."""
    live = runtime.node.peer.live_queries()
    if str(query.id) not in live:
        others = [one for one in live.values() if one.query.id.name == query.id.name]
        went = f"was replaced by {others[0].query.id}" if others else "was removed"
        return api.WaitEvent(f"{query.id} {went}: it has no more answers", has_ended=True)
    trouble = _trouble_text(runtime, query)
    root = runtime.node.root(str(query.id))
    found = None if root is None else awaited_window(root, now_s=runtime.now_s())
    text = "waiting for records: only they make windows here" if found is None else found.text()
    return api.WaitEvent(shown_line(f"{text}; trouble: {trouble}" if trouble else text))


def _event(reader: ResultsReader, seq: int, envelope: Envelope) -> Any:
    rows = reader.answer(seq, envelope)
    found = () if rows is None else tuple(rows.to_pylist())
    return _plain(api.AnswerEvent(msgspec.to_builtins(envelope), found))


def find_query(runtime: SiteRuntime, stream: str) -> Query:
    """The live query of this name; of two, the one that is published.

    The parts of a stream are asked for one by one: rows of one part must not pass for all.
    """
    live = [one.query for one in runtime.node.peer.live_queries().values()]
    found = [query for query in live if query.id.name == stream or str(query.id) == stream]
    if not found:
        parts = sorted(f"{one.id.name} at {one.root}" for one in live if one.stream == stream)
        if parts:
            raise ConfigurationError(
                f"stream {stream[:80]!r} is answered in parts, by several roots; ask for one of "
                f"them: {', '.join(parts)}"
            )
        names = sorted({query.id.name for query in live})
        raise ConfigurationError(f"no stream {stream[:80]!r}; streams: {names or 'none'}")
    return max(found, key=lambda query: query.unit)


def _elsewhere(runtime: SiteRuntime, query: Query) -> api.Elsewhere:
    site = runtime.roster.site(query.root)
    return api.Elsewhere(site.name, site.host, site.port)


def _reader(runtime: SiteRuntime, query: Query) -> ResultsReader:
    return ResultsReader(runtime.stores.results_directory / query.id.name)


def _asked(payload: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(payload, kind)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"request: {error}") from None


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=str)
