"""A question at the agent that takes it: which stream has it, and the commands that ask for it.

Of the streams that have it, that is asked which has the fewest keys, since its panes have the
fewest rows. Where none has it, it is asked of the logs, as a query with a begin in the past.
"""

from __future__ import annotations

import msgspec
from sqlglot import exp

from headwater.agent.asking.estimating import ESTIMATE, estimate_select
from headwater.agent.control.ask_api import AskRequest, PreparedAsk
from headwater.agent.control.install import root_now_us
from headwater.agent.runtime import SiteRuntime
from headwater.algebra.panes import MICROS
from headwater.errors import ConfigurationError
from headwater.net.values.words import command_word
from headwater.plan.command import Install
from headwater.plan.durations import duration_text
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.plan.sources.source import Source
from headwater.plan.timestamps import timestamp_text
from headwater.sql.compile import compile_statements, numbered
from headwater.sql.questions.asking import asking, question_query
from headwater.sql.questions.question_text import NOW_SLACK_US, Stretch, stretch_of
from headwater.sql.questions.subsume import why_not
from headwater.sql.read.refusal import choices
from headwater.sql.read.sql_text import parse

LOGS_STEP_US = 10 * MICROS
"""Of a question to the logs: no stream says how long panes are."""
CANDIDATES_MAX = 100
"""Streams of one source that are looked at."""


class Chosen(msgspec.Struct, frozen=True):
    question: Query
    stream: Query | None
    of: Stretch


def prepared_ask(runtime: SiteRuntime, request: AskRequest) -> PreparedAsk:
    """Raises ``HeadwaterError`` where nobody can answer it."""
    source, streams = _streams_of(runtime, request.select)
    why: list[str] = []
    chosen = _chosen(runtime, request, source, streams, why)
    select = estimate_select(source.name, source.time_column)
    name = request.name + ESTIMATE
    estimate = _compiled(runtime, source, name, select, chosen.of, request.sites)
    estimate = _with_ask(runtime, request, estimate, chosen.stream, estimates=True)
    question = _with_ask(runtime, request, chosen.question, chosen.stream, estimates=False)
    return PreparedAsk(
        estimate=_word(runtime, estimate),
        question=_word(runtime, question),
        source=source.text,
        first_us=chosen.of.first_us,
        end_us=chosen.of.end_us,
        step_us=chosen.of.step_us,
        why_not=tuple(why),
        group_share=_group_share(chosen),
        installer=runtime.site,
        home=runtime.roster.home,
        sites=tuple(site.name for site in runtime.roster.sites),
    )


def _word(runtime: SiteRuntime, query: Query) -> bytes:
    """Each is a unit of its own, numbered in the order in which they are given."""
    (query,) = numbered([query], runtime.next_counter())
    return command_word(Install(query=query, trees=(), roster_version=runtime.roster.version))


def _streams_of(runtime: SiteRuntime, select: str) -> tuple[Source, list[Query]]:
    """The source that FROM names, as live streams have it, and those that read it."""
    live = [_with_end(one) for one in runtime.node.peer.live_queries().values()]
    live = [query for query in live if query.asked is None]
    sources = {query.program.source.name.lower(): query.program.source for query in live}
    streams = {query.stream.lower(): query.program.source.name for query in live}
    named = [table.name for table in parse(select).find_all(exp.Table)]
    for name in named:
        source = sources.get(name.lower())
        if source is not None:
            return source, [one for one in live if one.program.source.name == source.name]
    for name in named:
        if name.lower() in streams:
            raise ConfigurationError(
                f"ask: {name[:60]!r} is a stream; ask what it reads: FROM {streams[name.lower()]}"
            )
    names = [source.name for source in sources.values()]
    known = choices("sources of streams that run", names, near=named[0] if named else "")
    raise ConfigurationError(
        f"ask: no stream reads `{(named or [''])[0][:60]}`, so no site knows what it is{known}"
    )


def _with_end(install: Install) -> Query:
    """A stream that was ended by command is as one with an extent."""
    query, end = install.query, install.settings.end_pane
    return query if end is None else msgspec.structs.replace(query, end_pane=end)


def _chosen(
    runtime: SiteRuntime, request: AskRequest, source: Source, streams: list[Query], why: list[str]
) -> Chosen:
    """Raises what the statement itself is refused for."""
    found: list[Chosen] = []
    for stream in [] if request.reads_logs else streams[:CANDIDATES_MAX]:
        try:
            of = _stretch(runtime, request, stream.window.pane_us, stream)
        except ConfigurationError as error:
            why.append(f"{stream.id.name}: {error}")
            continue
        question = _compiled(runtime, source, request.name, request.select, of, request.sites)
        lacks = why_not(question, stream) or _ended(of, stream) or _expired(runtime, of, stream)
        if lacks is None:
            found.append(Chosen(question, stream, of))
        else:
            why.append(lacks)
    if found:
        why.clear()
        return min(found, key=_place_of)
    of = _stretch(runtime, request, LOGS_STEP_US, None)
    question = _compiled(runtime, source, request.name, request.select, of, request.sites)
    return Chosen(question, None, of)


def _expired(runtime: SiteRuntime, of: Stretch, stream: Query) -> str | None:
    """Sites are taken to keep panes as long as this agent does; None: they may have these."""
    kept_s = runtime.settings.retention.retention_s
    if isinstance(stream.keep_s, float):
        kept_s = max(kept_s, stream.keep_s)
    first_us = round((runtime.wall_s() - kept_s) * MICROS)
    if of.first_us + of.step_us > first_us:
        return None
    kept = duration_text(round(kept_s) * MICROS)
    return (
        f"{stream.id.name}: wanted panes from {timestamp_text(of.first_us)} on, and sites keep "
        f"them for {kept}; ask about that, or have them kept longer: WITH (keep = '30 days')"
    )


def _ended(of: Stretch, stream: Query) -> str | None:
    """It has nothing of that time; None: it has some."""
    end_us = _end_us(stream)
    if end_us is None or of.first_us < end_us:
        return None
    return (
        f"{stream.id.name}: wanted panes from {timestamp_text(of.first_us)} on, and it ended at "
        f"{timestamp_text(end_us)}; ask about a time before"
    )


def _end_us(stream: Query) -> int | None:
    end = stream.ends_at
    return None if end is None else stream.window.pane_start_us(end)


def _place_of(chosen: Chosen) -> tuple[bool, int, int, str]:
    """The least one has all of that time, then the fewest rows, as far as can be told."""
    stream = chosen.stream
    assert stream is not None
    end_us = _end_us(stream)
    is_short = end_us is not None and end_us < chosen.of.end_us
    return is_short, len(stream.program.keys), -stream.window.pane_us, str(stream.id)


def _stretch(
    runtime: SiteRuntime, request: AskRequest, pane_us: int, stream: Query | None
) -> Stretch:
    now_us, slack_us = int(runtime.wall_s() * MICROS), NOW_SLACK_US
    if stream is not None and request.adds_open:
        now_us, slack_us = root_now_us(runtime, stream), 0
    elif stream is not None:
        now_us = root_now_us(runtime, stream) - round(stream.timing.disorder_s * MICROS)
    return stretch_of(
        since_s=request.since_s,
        from_us=request.from_us,
        to_us=request.to_us,
        now_us=now_us,
        pane_us=pane_us,
        slack_us=slack_us,
    )


def _compiled(
    runtime: SiteRuntime, source: Source, name: str, select: str, of: Stretch, sites: str
) -> Query:
    def compiled(text: str) -> list[Query]:
        return compile_statements(
            text,
            root=runtime.roster.home,
            installer=runtime.site,
            next_counter=1,
            now_us=int(runtime.wall_s() * MICROS),
            known_sites=runtime.roster.sites,
            known_sources={source.name: source},
        )

    return question_query(name, select, of, sites=sites, compiled=compiled)


def _with_ask(
    runtime: SiteRuntime,
    request: AskRequest,
    query: Query,
    stream: Query | None,
    *,
    estimates: bool,
) -> Query:
    config = runtime.settings.ask
    ask = Ask(
        stream="" if stream is None else str(stream.id),
        until_us=int((runtime.wall_s() + config.life_s) * MICROS),
        bytes_max=config.bytes_max,
        seconds_max=config.seconds_max,
        estimates=estimates,
        open_panes=True if request.adds_open and stream is not None else msgspec.UNSET,
    )
    return asking(query, ask)


def _group_share(chosen: Chosen) -> float:
    if chosen.stream is None:
        return 1.0
    own, all_ = len(chosen.question.program.keys), len(chosen.stream.program.keys)
    return min(1.0, own / all_) if all_ else 1.0
