"""What running a file would change: of its streams each is new, the same as what runs, another only
in settings, or another.

A stream that is installed anew under its name ends the former one, and begins with nothing: its
open windows get no more answers, and what sites have read is not read again for it. So whoever runs
a file twice is told first, and what is the same is left as it is.

Two streams are the same when the compiler makes the same of both: comments, case of keywords and
line breaks do not count. What runs is compiled anew from its text for that, since a query knows
the time at which it began and not what was written about it.
"""

from __future__ import annotations

import msgspec

from headwater.agent.control import control_api as api
from headwater.agent.control.install import check_against_live, compile_here
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.settings_lines import statement_of
from headwater.agent.view.stream_lines import begin_text, installed_line
from headwater.errors import HeadwaterError
from headwater.plan.altered.settings import Settings
from headwater.plan.query import Query
from headwater.sql.alter import rounds_written, written_options
from headwater.sql.compile import compile_statements


def compared(runtime: SiteRuntime, text: str) -> api.ComparedReply:
    """Of each stream of the file, in its order. Raises where the file could not be installed."""
    draft = compile_here(runtime, text)
    check_against_live(runtime, draft)
    live = [one.query for one in runtime.node.peer.live_queries().values()]
    streams = dict.fromkeys(query.stream for query in draft)
    return api.ComparedReply(
        tuple(
            _compared(
                runtime,
                [query for query in draft if query.stream == stream],
                sorted((query for query in live if query.stream == stream), key=_number),
            )
            for stream in streams
        )
    )


def _compared(runtime: SiteRuntime, wanted: list[Query], live: list[Query]) -> api.Compared:
    text = text_of(wanted[0])
    if not live:
        return api.Compared(wanted[0].stream, api.Standing.NEW, text)
    install = runtime.node.peer.live_queries()[str(live[0].id)]
    former = statement_of(install, install.settings)
    running = tuple(installed_line(runtime, query) for query in live)
    now, before = _meanings(runtime, text), _meanings(runtime, former)
    has_ended = install.settings.end_pane is not None
    if now == before and not has_ended:
        return api.Compared(wanted[0].stream, api.Standing.SAME, text, former, running)
    is_alike = _but_for_settings(now) == _but_for_settings(before)
    is_alike = is_alike and rounds_written(text) == rounds_written(former)
    if is_alike and not has_ended and _may_alter(live[0]):
        return api.Compared(
            wanted[0].stream,
            api.Standing.ALTERED,
            text,
            former,
            running,
            settings=", ".join(f"{n} = {v}" for n, v in written_options(wanted[0].program.text)),
        )
    return api.Compared(
        wanted[0].stream,
        api.Standing.CHANGED,
        text,
        former,
        running,
        begins=_begins_text(wanted, live),
        results=tuple(_results_text(runtime, query) for query in live),
    )


def text_of(query: Query) -> str:
    """The source and the stream as they were written."""
    texts = (query.program.source.text, query.program.text)
    return "".join(f"{text.rstrip().rstrip(';')};\n" for text in texts)


def _meanings(runtime: SiteRuntime, text: str) -> list[Query] | str:
    """What the compiler makes of them, at one and the same time, but for what each installation has
    of its own; the text itself where it makes nothing of it (any more)."""
    try:
        queries = compile_statements(
            text,
            root=runtime.roster.home,
            installer=runtime.site,
            next_counter=1,
            known_sites=runtime.roster.sites,
        )
    except HeadwaterError:
        return text
    return [_without_texts(query) for query in queries]


def _but_for_settings(queries: list[Query] | str) -> list[Query] | str:
    """The same for all settings, as if there were none to choose."""
    if isinstance(queries, str):
        return queries
    return [
        msgspec.structs.replace(Settings().on(query), needs=msgspec.UNSET, rounds=msgspec.UNSET)
        for query in queries
    ]


def _may_alter(query: Query) -> bool:
    return not query.ends and query.numbers is None


def _without_texts(query: Query) -> Query:
    source = msgspec.structs.replace(query.program.source, text="")
    program = msgspec.structs.replace(query.program, text="", source=source)
    return msgspec.structs.replace(query, program=program)


def _begins_text(wanted: list[Query], live: list[Query]) -> str:
    if wanted[0].begin_pane is not None:
        return f"with the window from {begin_text(wanted[0])}"
    if any(one.reads_as(wanted[0]) for one in live):
        stream = wanted[0].stream
        return (
            "with what sites read from now on: what they have read is not read again for it; to "
            f"begin with the earliest record: headwater remove {stream}, then run the file"
        )
    return "with the earliest record"


def _results_text(runtime: SiteRuntime, query: Query) -> str:
    """Where they lie. Other sites' directories are known to them alone."""
    if query.root == runtime.site:
        return str(runtime.stores.results_directory / query.id.name)
    return f"results/{query.id.name} in the state directory of {query.root}"


def _number(query: Query) -> int:
    return query.id.counter
