"""From a file of statements to commands: compiled, numbered and planned by this agent.

A file is installed as one unit: everything is compiled before the first command is given, so a
mistake in the last statement leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.settings_lines import statement_of
from headwater.algebra.coordinate import Coordinate
from headwater.errors import ConfigurationError, QueryRefused
from headwater.placement.plan_trees import plan_trees
from headwater.plan.command import Install, Remove
from headwater.plan.query import Query, TimeKind
from headwater.plan.tree import Tree
from headwater.sql.alter import written_options
from headwater.sql.compile import compile_statements, numbered
from headwater.sql.read.answering import staleness_fault
from headwater.sql.read.streams import INSTALL_SLACK_US

COORDINATE_ERROR_MAX = 0.6
"""A coordinate that predicts worse than this is a guess."""
KNOWN_SHARE_MIN = 0.8


def compile_here(
    runtime: SiteRuntime,
    text: str,
    *,
    begin: str = "now",
    slack_us: int = INSTALL_SLACK_US,
    ends: bool = False,
) -> list[Query]:
    """The queries of a file as this site would command them, numbered from 1. Raises
    ``QueryRefused``."""

    return compile_statements(
        text,
        root=runtime.roster.home,
        installer=runtime.site,
        next_counter=1,
        now_us=int(_sites_clock_s(runtime) * 1e6),
        root_now_us=lambda root: _root_clock_us(runtime, root),
        begin=begin,
        slack_us=slack_us,
        ends=ends,
        known_sites=runtime.roster.sites,
    )


def _root_clock_us(runtime: SiteRuntime, root: str) -> int | None:
    clock = runtime.node.peer.root_clock(root)
    return None if clock is None else int((runtime.now_s() + clock.offset_s) * 1e6)


def root_now_us(runtime: SiteRuntime, query: Query) -> int:
    """By the clocks that number the query's windows."""
    by_age = _root_clock_us(runtime, query.root) if query.time is TimeKind.AGE else None
    return int(_sites_clock_s(runtime) * 1e6) if by_age is None else by_age


def _sites_clock_s(runtime: SiteRuntime) -> float:
    """Begins are times of day, but for queries by age, which go by the clock of their root. An
    installer whose clock is known to be off does not shift them."""
    return runtime.wall_s() - runtime.node.edge.clock_off_s()


def install(
    runtime: SiteRuntime,
    text: str,
    *,
    begin: str = "now",
    slack_us: int = INSTALL_SLACK_US,
    ends: bool = False,
    settled: Callable[[Query], Query] = lambda query: query,
) -> list[Query]:
    """Command all queries of a file, where all sites are one process; returns them. ``settled``
    adds what is known of the input beside the text."""
    queries = [
        settled(query)
        for query in prepare(runtime, text, begin=begin, slack_us=slack_us, ends=ends)
    ]
    for query in queries:
        runtime.command(planned(runtime, query))
    return queries


def prepare(
    runtime: SiteRuntime,
    text: str,
    *,
    begin: str = "now",
    slack_us: int = INSTALL_SLACK_US,
    ends: bool = False,
) -> list[Query]:
    """The queries of a file, checked against what runs, with numbers of their own."""
    queries = compile_here(runtime, text, begin=begin, slack_us=slack_us, ends=ends)
    check_against_live(runtime, queries)
    for query in queries if not ends else ():
        if any(name == "staleness" for name, _ in written_options(query.program.text)):
            check_travel(query, query.timing.deadline_s, travel_s_here(runtime, query.root))
    first = runtime.next_counter()
    for _ in queries[1:]:
        runtime.next_counter()
    return numbered(queries, first)


def check_travel(query: Query, staleness_s: float, travel_s: float | None) -> None:
    """Whoever compiles a staleness knows only what a way may take; a root has measured its own.
    Raises ``QueryRefused``."""
    disorder_s = query.timing.disorder_s
    fault = staleness_fault(staleness_s, disorder_s=disorder_s, travel_s=travel_s)
    if fault is not None:
        raise QueryRefused(f"stream {query.stream!r}: `staleness`: {fault}")


def travel_s_of(runtime: SiteRuntime, query: Query) -> float | None:
    """Of the summaries of a stream that is answered here, as far as is known."""
    root = runtime.node.root(str(query.id))
    return None if root is None else root.travel_s


def travel_s_here(runtime: SiteRuntime, root: str) -> float | None:
    """For a stream that is not there yet: of those that are answered here what the quickest has,
    whose summaries are likely to be the least."""
    if root != runtime.site:
        return None
    live = (one.query for one in runtime.node.peer.live_queries().values())
    known = (travel_s_of(runtime, query) for query in live)
    return min((travel_s for travel_s in known if travel_s is not None), default=None)


def planned(runtime: SiteRuntime, query: Query) -> Install:
    """The query with trees, ready to be commanded."""
    clock = runtime.node.peer.root_clock(query.root)
    return Install(
        query=query,
        trees=plan_here(runtime, query),
        roster_version=runtime.roster.version,
        root_clock_s=None if clock is None else runtime.now_s() + clock.offset_s,
    )


def plan_here(runtime: SiteRuntime, query: Query) -> tuple[Tree, ...]:
    """The trees of a query, from where the sites are as far as this agent knows."""
    return plan_trees(
        runtime.roster,
        root=query.root,
        branching=runtime.settings.branching,
        count=runtime.settings.trees,
        coordinates=usable_coordinates(runtime),
        turn=0 if query.part is None else query.part.number - 1,
    )


def usable_coordinates(runtime: SiteRuntime) -> Mapping[str, Coordinate] | None:
    """None while too many sites are unknown, or know too little of themselves: regions are then
    the better guess."""
    known = {
        site: place
        for site, place in runtime.node.peer.coordinates().items()
        if place.error < COORDINATE_ERROR_MAX
    }
    return known if len(known) >= KNOWN_SHARE_MIN * len(runtime.roster.sites) else None


def check_against_live(runtime: SiteRuntime, queries: list[Query]) -> None:
    """Raises ``ConfigurationError`` where these can't run beside what runs."""
    if not queries:
        raise ConfigurationError("no CREATE STREAM in the file: there is nothing to run")
    _check_sources(runtime, queries)
    _check_part_names(runtime, queries)


def _check_sources(runtime: SiteRuntime, queries: list[Query]) -> None:
    """One name, one meaning: a source that live streams read can't be defined anew beside them.
    Those that the file itself replaces are not beside it."""
    replaced = {query.stream for query in queries}
    live = [one.query for one in runtime.node.peer.live_queries().values()]
    live = [query for query in live if query.stream not in replaced]
    defined = {query.source_name: query for query in live}
    for query in queries:
        other = defined.get(query.source_name)
        if other is not None and not other.reads_as(query):
            raise ConfigurationError(
                f"source {query.source_name!r} is defined differently by the live stream "
                f"{other.id.name!r}; give it another name, or remove that stream first"
            )


def _check_part_names(runtime: SiteRuntime, queries: list[Query]) -> None:
    """A part has a name that nobody wrote; it must not end somebody else's stream by it."""
    live = {one.query.id.name: one.query for one in runtime.node.peer.live_queries().values()}
    for query in queries:
        other = live.get(query.id.name)
        if other is not None and other.stream != query.stream:
            raise ConfigurationError(
                f"{_name_text(query)} and the live {_name_text(other)} have the same name; "
                "choose another one, or remove that stream first"
            )


def _name_text(query: Query) -> str:
    name = f"stream {query.id.name!r}"
    return name if query.part is None else f"{name} ({query.part})"


def statements_of(runtime: SiteRuntime, stream: str) -> str:
    """A stream and its source as they were written, with the settings of today: whoever installs
    them anew resumes it. What a site has declined it never takes back, so the same question goes on
    as another query."""
    install = of_stream(runtime, stream)[0]
    return statement_of(install, install.settings)


def prepare_removal(runtime: SiteRuntime, stream: str) -> list[Remove]:
    """What ends the stream of this name everywhere, with all its parts and levels."""
    found = of_stream(runtime, stream)
    ids = {str(one.query.id) for one in found}
    for one in runtime.node.peer.live_queries().values():
        level = one.query.stands_for
        if level is not None and level.of in ids:
            found.append(one)
    return [
        Remove(id=one.query.id, installer=runtime.site, counter=runtime.next_counter())
        for one in found
    ]


def of_stream(runtime: SiteRuntime, stream: str) -> list[Install]:
    """All parts of it. Raises ``ConfigurationError`` where none runs."""
    installs = list(runtime.node.peer.live_queries().values())
    live = [one.query for one in installs]
    found = [one for one in installs if one.query.stream == stream]
    level = next((one.query.stands_for for one in found if one.query.stands_for), None)
    if level is not None:
        raise ConfigurationError(
            f"{stream!r} is what {level.stream!r} is sent at where links are full ({level}); name "
            f"{level.stream!r}, which is all of it"
        )
    if not found:
        for query in live:
            if query.part is not None and query.id.name == stream:
                raise ConfigurationError(
                    f"{stream!r} is {query.part}, and the others would go on without its groups; "
                    f"name {query.stream!r}, which is all parts"
                )
        names = sorted({query.stream for query in live})
        raise ConfigurationError(f"no stream {stream!r}; streams: {names or 'none'}")
    return found
