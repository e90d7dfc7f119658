"""The streams as one agent sees them: a line for each, with what has been answered, and what is
wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from headwater.agent.answers.former import former_lines
from headwater.agent.care.death_book import Death
from headwater.agent.control.control_api import Installed, StreamLine, StreamsReply
from headwater.agent.runtime import SiteRuntime
from headwater.agent.time_text import iso
from headwater.agent.view.alarm_lines import roots_elsewhere
from headwater.agent.view.capacity_shown import way_text
from headwater.agent.view.degraded_text import backlog_text, degraded_text
from headwater.agent.view.settings_lines import settings_text
from headwater.agent.view.site_lines import sending_by_query
from headwater.agent.view.unwanted_text import unwanted_text
from headwater.algebra.windows.sequence_grid import number_text
from headwater.algebra.words.remark import SiteRemark, remarks_line
from headwater.algebra.words.site_state import RUNNING
from headwater.edge.progress import Backlog
from headwater.overlay.links.query_spending import QuerySpent
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.root.root import Root
from headwater.root.said.envelope import Envelope
from headwater.root.said.explain import SiteUnread, unconfirmed_text
from headwater.root.said.view import all_remarks, sites_unread
from headwater.shown_text import shown_line
from headwater.store.results.results import ResultsReader

UNREAD_SITES_SHOWN = 3
"""Sites of which ``streams`` names files that are not read; ``why`` names more."""
NO_SPARK = (
    'this agent has no Spark (mode = "none" under [spark]), and only Spark answers; '
    "name a root that has one, and run the stream again"
)


def streams_reply(
    runtime: SiteRuntime, spent: Mapping[str, QuerySpent], *, former: bool
) -> StreamsReply:
    """Reads results, so it takes its time; ``former``: those of ended queries, too. ``spent``: by
    query, as the network says, which is asked where it lives."""
    live = runtime.node.peer.live_queries().values()
    lines = [
        msgspec.structs.replace(
            stream_line(runtime, one.query), sending=sending_by_query(spent.get(str(one.query.id)))
        )
        for one in live
    ]
    return StreamsReply(
        tuple(sorted(lines, key=lambda line: line.id)),
        asked=runtime.site,
        former=former_lines(runtime) if former else (),
        elsewhere=roots_elsewhere(runtime),
        budgets=tuple(runtime.budgets.texts()),
    )


def stream_line(runtime: SiteRuntime, query: Query) -> StreamLine:
    root = runtime.node.root(str(query.id))
    line = msgspec.structs.replace(
        bare_line(query),
        trouble="; ".join(filter(None, (trouble_text(runtime, query), _failure_text(root)))),
        spark_deaths=len(deaths_of(runtime, query)),
        unread=unread_text(runtime, query),
        remarks=_remarks_text(runtime, query),
        alarms=0 if root is None else len(root.alarms),
        clocks=_clocks_text(runtime, query),
        settings=_settings_text(runtime, query),
        backlog=backlog_text(_backlog(runtime, query)),
        degraded=degraded_text(runtime, query),
        unwanted=unwanted_text(runtime, query),
        carries=way_text(runtime.node.peer.way_capacity(str(query.id))),
    )
    if query.root != runtime.site or str(query.id) in runtime.node.refusals():
        return line
    published = [envelope for _, envelope in results_of(runtime, query).newest()]
    others = {envelope.query for envelope in published} - set(runtime.node.peer.live_queries())
    line = msgspec.structs.replace(line, former=len(others))
    return with_answers(line, [one for one in published if one.query == str(query.id)])


def _backlog(runtime: SiteRuntime, query: Query) -> Backlog:
    found = runtime.node.edge.progress(now_s=runtime.now_s())
    return next((one.backlog for one in found if one.query == str(query.id)), Backlog())


def bare_line(query: Query) -> StreamLine:
    """What its query says."""
    window, part = query.grid_text, part_text(query)
    return StreamLine(query.id.name, str(query.id), query.root, window, part=part)


def with_answers(line: StreamLine, envelopes: Sequence[Envelope]) -> StreamLine:
    """``envelopes``: the newest answer of each window, in order."""
    if not envelopes:
        return line
    newest = envelopes[-1]
    return msgspec.structs.replace(
        line,
        answered=len(envelopes),
        revisions=sum(envelope.revision for envelope in envelopes),
        exact=sum(envelope.exact for envelope in envelopes),
        final=sum(envelope.final for envelope in envelopes),
        newest=_start_text(newest),
        coverage=f"{newest.covered} of {newest.expected}{_missed_text(envelopes)}",
    )


def _missed_text(envelopes: Sequence[Envelope]) -> str:
    """How many answers have less than was demanded."""
    missed = sum(not envelope.fidelity.is_met for envelope in envelopes)
    if not missed:
        return ""
    windows = "1 window misses" if missed == 1 else f"{missed} windows miss"
    return f", {windows} {envelopes[-1].fidelity.demanded}"


def _start_text(envelope: Envelope) -> str:
    if envelope.counted:
        return number_text(envelope.counted, envelope.start_us)
    return iso(envelope.start_us)


def installed_line(runtime: SiteRuntime, query: Query) -> Installed:
    """A stream, for whoever has had it installed at this agent."""
    sites = [site for site in runtime.roster.sites if is_asked(query, site)]
    troubles = (*root_troubles(runtime, query).values(), *site_troubles(runtime, query))
    return Installed(
        query.id.name,
        str(query.id),
        query.root,
        begin_text(query),
        len(sites),
        part=part_text(query),
        refused="; ".join(shown_line(one) for one in troubles),
    )


def begin_text(query: Query) -> str:
    if query.own_count is not None:
        return "now"
    if query.numbers is not None and query.begin_pane is not None:
        return query.bound_text(query.window.pane_start_us(query.begin_pane))
    if query.begin_pane is None:
        is_from_now = query.numbers is not None and query.numbers.from_now
        return "now" if is_from_now else "earliest"
    return iso(query.window.pane_start_us(query.begin_pane))


def results_of(runtime: SiteRuntime, query: Query) -> ResultsReader:
    return ResultsReader(runtime.stores.results_directory / query.id.name)


def part_text(query: Query) -> str:
    return "" if query.part is None else str(query.part)


def trouble_text(runtime: SiteRuntime, query: Query) -> str:
    """What keeps this site from its part in the query."""
    concern = ("refused", "writing", "reading rows", f"source {query.source_name}")
    found = runtime.troubles() | root_troubles(runtime, query)
    told = [f"{what}: {found[what]}" for what in concern if what in found]
    return "; ".join([*told, *site_troubles(runtime, query)])


def root_troubles(runtime: SiteRuntime, query: Query) -> dict[str, str]:
    """Why this agent does not answer it, where it is to: refused, suspended, or no Spark."""
    query_id = str(query.id)
    refused = runtime.node.refusals().get(query_id)
    if refused is None and query.root == runtime.site and not runtime.can_answer:
        refused = NO_SPARK
    return {} if refused is None else {"refused": f"it is not answered here: {refused}"}


def site_troubles(runtime: SiteRuntime, query: Query) -> list[str]:
    """Why no records of this site count in it: refused, suspended, set aside, or waiting."""
    query_id, site = str(query.id), runtime.site
    waits, aside = runtime.node.waits().get(query_id), runtime.node.unread_records().get(query_id)
    if waits is not None:
        return [f"not read here: waits at {site}: {waits}"]
    for one in runtime.node.edge.progress():
        if one.query == query_id and one.record.status != RUNNING:
            return [f"not read here: {one.record.status} at {site}: {one.record.message}"]
    return [] if aside is None else [f"not read here: set aside at {site}: {aside}"]


def _failure_text(root: Root | None) -> str:
    """Why the newest answer is not there yet; ``why`` has it among what is awaited."""
    if root is None or root.answers.failure is None:
        return ""
    return f"answering: the last answer failed and is tried again: {root.answers.failure}"


def unread_text(runtime: SiteRuntime, query: Query) -> str:
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
        return remarks_line(all_remarks(root), shown=UNREAD_SITES_SHOWN)
    own = runtime.feeder.remarks(query)
    found = (SiteRemark(site=runtime.site, kind=one.kind, text=one.text) for one in own)
    return remarks_line(found, shown=UNREAD_SITES_SHOWN)


def _clocks_text(runtime: SiteRuntime, query: Query) -> str:
    root = runtime.node.root(str(query.id))
    unconfirmed = () if root is None else root.table.unconfirmed()
    return unconfirmed_text(unconfirmed) if unconfirmed else ""


def _settings_text(runtime: SiteRuntime, query: Query) -> str:
    install = runtime.node.peer.live_queries().get(str(query.id))
    return "" if install is None else settings_text(runtime, install)


def deaths_of(runtime: SiteRuntime, query: Query) -> tuple[Death, ...]:
    return () if runtime.spark is None else runtime.spark.deaths_of(str(query.id))
