"""What a message may say, given who sent it: every rule in one place, each with its reason.

A function returns what is wrong, for people, or None. Nothing here raises, whatever came: sizes
and signs are looked at before anything is computed from them.
"""

from __future__ import annotations

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.algebra.site_state import SiteState
from headwater.algebra.summary import Lane, Summary
from headwater.overlay.live_query import LiveQuery
from headwater.overlay.messages import CommandsKnown, Heartbeat
from headwater.overlay.roster_index import RosterIndex
from headwater.plan.command import Command, Install
from headwater.plan.query import QueryId

AGE_MAX_S = 1e9
"""Thirty years; also keeps out infinity and not-a-number."""
COUNTER_MAX = 1 << 53


def problem_with_heartbeat(beat: Heartbeat) -> str | None:
    times_s = (beat.sent_s, beat.echo_s or 0.0, beat.echo_held_s)
    if not all(abs(time_s) < 1e12 for time_s in times_s) or beat.echo_held_s < 0.0:
        return "heartbeat: times that no clock shows"
    return None


def problem_with_summary(
    summary: Summary, query: LiveQuery | None, roster: RosterIndex
) -> str | None:
    """Anyone of the tree set may carry any site of the node set, once; nobody else's."""
    coverage = summary.coverage
    if not 0.0 <= summary.age_s <= AGE_MAX_S:
        return f"summary of {summary.query[:80]}: age {summary.age_s} s"
    if coverage.whole < 0 or coverage.empty < 0:
        return f"summary of {summary.query[:80]}: a bitmap below zero"
    if any(not 0 <= part.ordinal <= roster.ordinal_max for part in coverage.parts):
        return f"summary of {summary.query[:80]}: an ordinal beyond the roster"
    sites = coverage.sites
    if sites.bit_length() > roster.ordinal_max + 1:
        return f"summary of {summary.query[:80]}: a bitmap beyond the roster"
    mentioned = coverage.whole.bit_count() + coverage.empty.bit_count() + len(coverage.parts)
    if sites.bit_count() != mentioned or not sites:
        return f"summary of {summary.query[:80]}: wanted each site once, and at least one"
    if summary.lane is Lane.SPARE and mentioned != 1:
        return f"spare of {summary.query[:80]}: wanted one site, got {mentioned}"
    if query is not None and sites & ~query.node_set:
        return f"summary of {summary.query[:80]}: sites outside the query's node set"
    return None


def problem_with_state(state: SiteState, sender: str, query: LiveQuery) -> str | None:
    """A state passes only up its own branch: what a site says comes from that site's side."""
    place = query.place
    below = 0 if place is None else place.below.get(sender, 0)
    if not 0 <= state.ordinal < below.bit_length() or not below >> state.ordinal & 1:
        return f"state of ordinal {state.ordinal}: not in the subtree of {sender}"
    return None


def problem_with_ack(ack: Acknowledgement, sender: str, query: LiveQuery) -> str | None:
    """Acknowledgements come from the root, so from the parent's side only."""
    parent = None if query.place is None else query.place.parent
    if sender != parent:
        return f"acknowledgement of {ack.query} from {sender}: wanted from {parent}"
    if not 0.0 <= ack.age_s <= AGE_MAX_S:
        return f"acknowledgement of {ack.query}: age {ack.age_s} s"
    return None


def problem_with_command(command: Command, roster: RosterIndex) -> str | None:
    if isinstance(command, Install):
        return _problem_with_install(command, roster)
    if command.installer not in roster.ordinal_of or not 0 < command.counter <= COUNTER_MAX:
        return f"removal by {command.installer[:80]!r} #{command.counter}: not of this federation"
    return _problem_with_id(str(command.id), roster)


def _problem_with_install(install: Install, roster: RosterIndex) -> str | None:
    query = install.query
    text = str(query.id)[:80]
    problem = _problem_with_id(str(query.id), roster)
    if problem is not None:
        return problem
    if not install.trees:
        return f"install of {text}: no tree"
    if query.root not in roster.ordinal_of:
        return f"install of {text}: root {query.root[:80]!r} is not in the roster"
    root = roster.ordinal_of[query.root]
    for tree in install.trees:
        if tree.root != root:
            return f"install of {text}: a tree with another root than {query.root}"
        if not tree.members() <= roster.name_of.keys():
            return f"install of {text}: a tree with members beyond the roster"
    if not 0.0 <= install.age_s <= AGE_MAX_S:
        return f"install of {text}: age {install.age_s} s"
    return None


def problem_with_known(
    known: CommandsKnown, roster: RosterIndex, *, queries_max: int
) -> str | None:
    if len(known.live) > queries_max:
        return f"commands known: {len(known.live)} live queries, at most {queries_max}"
    for installer, counter in known.vector.items():
        if installer not in roster.ordinal_of or not 0 < counter <= COUNTER_MAX:
            return f"commands known: {installer[:80]!r} #{counter} is not of this federation"
    problems = (_problem_with_id(id_text, roster) for id_text in known.live)
    return next((problem for problem in problems if problem is not None), None)


def _problem_with_id(id_text: str, roster: RosterIndex) -> str | None:
    try:
        query_id = QueryId.parse(id_text)
    except ValueError as error:
        return str(error)
    if str(query_id) != id_text or query_id.installer not in roster.ordinal_of:
        return f"query id {id_text[:80]!r}: not by an installer of this federation"
    if not 0 < query_id.counter <= COUNTER_MAX:
        return f"query id {id_text[:80]!r}: a counter out of range"
    return None
