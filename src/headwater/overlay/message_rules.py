"""What a message may say, given who sent it: every rule in one place, each with its reason.

A function returns what is wrong, for people, or None. Nothing here raises, whatever came: sizes
and signs are looked at before anything is computed from them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import chain

from headwater.algebra.coordinate import problem_with_coordinate
from headwater.algebra.coverage import COVERAGE_GROUPS_MAX
from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.route import TREES_MAX, Route, problem_with_route
from headwater.algebra.rows.places import problem_with_places
from headwater.algebra.sets import bitset
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.algebra.windows.sessions import problem_with_times
from headwater.algebra.words.absence import LOST_MAX, Absence
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.lie_book import LieKind, Untrue
from headwater.overlay.messages import CommandsKnown, Heartbeat, TreePause
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.signatures import Signatures
from headwater.overlay.ways.root_pulses import PULSES_MAX
from headwater.plan.command import Alter, Count, Install, Remove
from headwater.plan.query import Query, QueryId

AGE_MAX_S = 1e9
"""Thirty years; also keeps out infinity and not-a-number."""
TIME_MAX_S = 1e12
"""What a clock may show."""
NEXT_S_MAX = 20.0
"""Whoever names a longer interval wants not to be missed."""
CARRIES_MAX = 1e13
"""Bytes a second: beyond any link, and still a number."""
COUNTER_MAX = 1 << 53
LEAP_MAX = 1 << 20
"""By how much a count may be further than the one that is known: nobody gives so many commands
while somebody is away, and there must be room above it."""


def problem_with_heartbeat(beat: Heartbeat) -> str | None:
    if not (
        abs(beat.sent_s) < TIME_MAX_S
        and abs(beat.echo_s or 0.0) < TIME_MAX_S
        and 0.0 <= beat.echo_held_s < TIME_MAX_S
    ):
        return "heartbeat: times that no clock shows"
    if beat.marker < -1 or not 0.0 <= beat.marker_held_s < TIME_MAX_S:
        return "heartbeat: a marker that nobody sends"
    if not 0.0 <= beat.next_s <= NEXT_S_MAX:
        return f"heartbeat: the next one in {beat.next_s} s, at most {NEXT_S_MAX:g} s"
    if len(beat.roots) > PULSES_MAX:
        return f"heartbeat: {len(beat.roots)} signs of roots, at most {PULSES_MAX}"
    for pulse in beat.roots:
        if not 0.0 <= pulse.age_s <= AGE_MAX_S or not 0.0 <= pulse.spread_s <= AGE_MAX_S:
            return "heartbeat: a sign of a root with an impossible age or spread"
        if not 0.0 <= pulse.clock_age_s <= AGE_MAX_S:
            return "heartbeat: a root's clock with an impossible age"
        if pulse.carries is not None and not 0.0 <= pulse.carries <= CARRIES_MAX:
            return f"heartbeat: a way that carries {pulse.carries} bytes a second"
        if pulse.clock_s is not None and not abs(pulse.clock_s) < TIME_MAX_S:
            return "heartbeat: a root's clock that no clock shows"
    return None if beat.coordinate is None else problem_with_coordinate(beat.coordinate)


def problem_with_summary(
    summary: Summary, query: LiveQuery | None, roster: RosterIndex
) -> str | None:
    """Anyone of the tree set may carry any site of the node set, once; nobody else's."""
    coverage = summary.coverage
    problem = _problem_with_panes(summary, query) if summary.more else None
    if problem is not None:
        return f"summary of {summary.query[:80]}: {problem}"
    if not 0.0 <= summary.age_s <= AGE_MAX_S:
        return f"summary of {summary.query[:80]}: age {summary.age_s} s"
    if min(coverage.whole, coverage.empty, *(group.sites for group in coverage.groups)) < 0:
        return f"summary of {summary.query[:80]}: a bitmap below zero"
    problem = problem_with_route(summary.route)
    if problem is not None:
        return f"summary of {summary.query[:80]}: {problem}"
    if any(not 0 <= part.ordinal <= roster.ordinal_max for part in coverage.parts):
        return f"summary of {summary.query[:80]}: an ordinal beyond the roster"
    sites = coverage.sites
    if sites.bit_length() > roster.ordinal_max + 1:
        return f"summary of {summary.query[:80]}: a bitmap beyond the roster"
    mentioned = coverage.mentioned
    if sites.bit_count() != mentioned or not sites:
        return f"summary of {summary.query[:80]}: wanted each site once, and at least one"
    if summary.lane is Lane.SPARE and mentioned != 1:
        return f"spare of {summary.query[:80]}: wanted one site, got {mentioned}"
    groups = coverage.groups
    if len(groups) > COVERAGE_GROUPS_MAX or not all(one.is_possible for one in groups):
        return f"summary of {summary.query[:80]}: {len(groups)} groups, or one that can't be"
    if query is not None and sites & ~query.node_set:
        return f"summary of {summary.query[:80]}: sites outside the query's node set"
    problem = _problem_with_places(summary, query, roster) or _problem_with_times(summary, query)
    return None if problem is None else f"summary of {summary.query[:80]}: {problem}"


def _problem_with_places(
    summary: Summary, query: LiveQuery | None, roster: RosterIndex
) -> str | None:
    """Rows name no site, region or label beyond those that they cover. Rows that nobody could
    decode yet are looked at where they are."""
    if query is None or not query.place_columns or summary.rows is None:
        return None
    if isinstance(summary.rows, bytes):
        return None
    columns, sites = query.place_columns, summary.coverage.sites
    return problem_with_places(summary.rows, columns, roster.sites_of, sites=sites)


def _problem_with_times(summary: Summary, query: LiveQuery | None) -> str | None:
    """Fragments of sessions lie in their pane."""
    if query is None or query.sessions is None:
        return None
    return problem_with_times(summary.rows, query.sessions, summary.pane)


def problem_with_update(
    summary: Summary, roster: RosterIndex, signatures: Signatures
) -> str | None:
    """What has one site in it was not merged, and is that site's to say: nobody puts an update or
    a close into the mouth of a silent one. Of a sound summary."""
    sites = summary.coverage.sites
    if sites & (sites - 1):
        return None
    site = roster.name_of.get(sites.bit_length() - 1, "a site that is not in the roster")
    if signatures.is_update_of(site, summary):
        return None
    text = f"update of {site}, pane {summary.pane} of {summary.query[:80]}"
    return Untrue.of(LieKind.UNSIGNED, f"{text}: it is not signed by {site}")


def _problem_with_panes(summary: Summary, query: LiveQuery | None) -> str | None:
    """Only a state holds in several panes, and a root must be able to count them one by one."""
    if not 0 < summary.more < STATE_PANES_MAX:
        return f"wanted at most {STATE_PANES_MAX} panes, got {summary.more + 1}"
    if not -FOREVER <= summary.pane <= summary.last <= FOREVER:
        return "a pane beyond all panes"
    if summary.lane is Lane.SPARE:
        return f"a spare of {summary.more + 1} panes, wanted one"
    if query is not None and not query.holds_states:
        return f"{summary.more + 1} panes of a query that holds records, wanted one"
    return None


def problem_with_state(
    state: SiteState, route: Route, query: LiveQuery, *, roster: RosterIndex, signatures: Signatures
) -> str | None:
    """Any member of the federation may carry the word of any site of the node set, and only the
    site can say it."""
    if not 0 <= state.ordinal < query.node_set.bit_length() or not (
        query.node_set >> state.ordinal & 1
    ):
        return f"state of ordinal {state.ordinal}: not of a site of the query's node set"
    problem = problem_with_route(route)
    site = roster.name_of[state.ordinal]
    if problem is None and not signatures.is_state_of(site, state):
        return Untrue.of(LieKind.UNSIGNED, f"state of {site}: it is not signed by {site}")
    if problem is None and not (
        0 <= state.incarnation <= INCARNATION_MAX and 0 <= state.number <= COUNTER_MAX
    ):
        text = f"state of {site}: incarnation {state.incarnation}, number {state.number}"
        return Untrue.of(LieKind.LEAP, f"{text}: no room is left above")
    return problem


def problem_with_absence(
    absence: Absence, route: Route, *, roster: RosterIndex, signatures: Signatures
) -> str | None:
    """Whether it can be, and is signed; whose parent its speaker is, is asked apart."""
    name = roster.name_of.get(absence.speaker)
    if name is None:
        return f"absence by ordinal {absence.speaker}: not of the roster"
    if not 0.0 <= absence.age_s <= AGE_MAX_S or not abs(absence.clock_s) < TIME_MAX_S:
        return f"absence by {name}: age {absence.age_s} s, a root's clock of {absence.clock_s} s"
    ordinals = (*absence.lost, *absence.guests)
    if len(ordinals) > 2 * LOST_MAX or not roster.name_of.keys() >= set(ordinals):
        return f"absence by {name}: {len(ordinals)} sites, or one beyond the roster"
    problem = problem_with_route(route)
    if problem is None and not signatures.is_absence_of(name, absence):
        return Untrue.of(LieKind.UNSIGNED, f"absence by {name}: it is not signed by {name}")
    return problem


def problem_with_lost(
    absence: Absence, live: Mapping[str, LiveQuery], *, roster: RosterIndex
) -> str | None:
    """Only a parent knows that a site is lost, so of any other the whole word counts for nothing,
    the guests that it names among it. It speaks for all queries of one root, by all plans that are
    still carried here; one of a plan that is not known here yet comes again with a heartbeat."""
    named = live.get(absence.query)
    if named is None or not absence.lost:
        return None
    below, lost = bitset.EMPTY, bitset.of(absence.lost)
    of_root = (query for query in live.values() if query.root == named.root)
    for query in chain((named,), of_root):
        trees = (tree for one in query.tree_sets for tree in one.trees)
        below |= bitset.of(n for tree in trees for n in tree.children.get(absence.speaker, ()))
        if not lost & ~below:
            return None
    speaker = roster.name_of[absence.speaker]
    strange = next(bitset.members(lost & ~below))
    return f"absence by {speaker}: it is no parent of {roster.name_of[strange]}, which it has lost"


def problem_with_ack(
    ack: Acknowledgement, sender: str, query: LiveQuery, carriers: Container[str]
) -> str | None:
    """Who carries our words up carries acknowledgements down, and nobody else does: ``carriers``
    are those who have taken some from us beside our parents."""
    is_parent = any(place.parent == sender for place in query.all_places())
    if query.is_root or not (is_parent or sender in carriers):
        return f"acknowledgement of {ack.query} from {sender}: not on our way to its root"
    if not 0.0 <= ack.age_s <= AGE_MAX_S or not 0.0 <= ack.late_s <= AGE_MAX_S:
        return f"acknowledgement of {ack.query}: age {ack.age_s} s, late by {ack.late_s} s"
    if ack.clock_s is not None and not abs(ack.clock_s) < TIME_MAX_S:
        return f"acknowledgement of {ack.query}: a root's clock that no clock shows"
    return None


def problem_with_pause(pause: TreePause, sender: str, query: LiveQuery) -> str | None:
    """A relay asks those below it to wait, on its own tree, and nobody else does: from any other it
    could go round in a ring."""
    place = query.place_on(pause.plan_version, pause.tree)
    if place is None or place.parent != sender:
        return f"pause of {query.id} from {sender}: it is not above us on tree {pause.tree}"
    return None


def problem_with_command(command: Install | Remove, roster: RosterIndex) -> str | None:
    if isinstance(command, Remove):
        if command.installer in roster.ordinal_of and 0 < command.counter <= COUNTER_MAX:
            return problem_with_id(str(command.id), roster)
        return f"removal by {command.installer[:80]!r} #{command.counter}: not of this federation"
    install, query = command, command.query
    text = str(query.id)[:80]
    problem = problem_with_id(str(query.id), roster)
    if problem is not None:
        return problem
    if not 1 <= len(install.trees) <= TREES_MAX:
        return f"install of {text}: wanted 1 to {TREES_MAX} trees, got {len(install.trees)}"
    if query.root not in roster.ordinal_of:
        return f"install of {text}: root {query.root[:80]!r} is not in the roster"
    root = roster.ordinal_of[query.root]
    for tree in install.trees:
        if tree.root != root:
            return f"install of {text}: a tree with another root than {query.root}"
        if not roster.has_all_of(tree):
            return f"install of {text}: a tree with members beyond the roster"
    if install.root_clock_s is not None and not abs(install.root_clock_s) < TIME_MAX_S:
        return f"install of {text}: a root's clock that no clock shows"
    if not 0 <= install.plan_version <= COUNTER_MAX:
        return f"install of {text}: plan version {install.plan_version}"
    if not 0.0 <= install.age_s <= AGE_MAX_S:
        return f"install of {text}: age {install.age_s} s"
    return None


def problem_with_alter(alter: Alter, install: Install, roster: RosterIndex) -> str | None:
    """``install`` is that of its query. Settings that the query could not have been installed with
    are none, whoever has signed them."""
    query = install.query
    text = f"settings {alter.number} of {str(alter.id)[:80]}"
    if alter.installer not in roster.ordinal_of or not 0 < alter.counter <= COUNTER_MAX:
        return f"{text}: by {alter.installer[:80]!r} #{alter.counter}, not of this federation"
    newest = install.alters[-1].number if install.alters else 0
    if not 0 < alter.number <= newest + LEAP_MAX:
        return Untrue.of(LieKind.LEAP, f"{text}: a leap from {newest}")
    problem = _problem_with_first(alter.first_pane, query)
    if problem is not None:
        return Untrue.of(LieKind.LEAP, f"{text}: {problem}")
    if query.ends or query.numbers is not None:
        return f"{text}: its windows are not of times that go on"
    try:
        altered = alter.settings.on(query)
    except ValueError as error:
        return f"{text}: {str(error)[:300]}"
    others = [install.settings.first, *(one.settings for one in install.alters)]
    columns = {_tolerated(one.tolerance) for one in others if one.tolerance is not None}
    if altered.tolerates is not None and columns - {_tolerated(altered.tolerates)}:
        return f"{text}: an error of other columns than it has been asked for"
    return None


def _problem_with_first(first_pane: int, query: Query) -> str | None:
    """How far ahead it may be is for those to say who know what time it is."""
    begin = -FOREVER + 1 if query.begin_pane is None else query.begin_pane
    end = FOREVER if query.ends_at is None else query.ends_at
    if not begin <= first_pane < end:
        return f"pane {first_pane} is none of the query's"
    if first_pane % query.window.panes_per_slide:
        return f"pane {first_pane} begins no window"
    return None


def _tolerated(tolerance: Tolerance) -> tuple[tuple[str, str], ...]:
    return tuple((one.column, one.partial) for one in tolerance.columns)


def problem_with_known(
    known: CommandsKnown, roster: RosterIndex, *, queries_max: int
) -> str | None:
    if len(known.live) > queries_max:
        return f"commands known: {len(known.live)} live queries, at most {queries_max}"
    if len(known.counts) > len(roster.ordinal_of):
        return f"commands known: {len(known.counts)} counts of {len(roster.ordinal_of)} sites"
    if any(not 0 <= version <= COUNTER_MAX for version in known.plans.values()):
        return "commands known: a plan version out of range"
    problems = (problem_with_id(id_text, roster) for id_text in known.live)
    return next((problem for problem in problems if problem is not None), None)


def problem_with_count(
    count: Count, roster: RosterIndex, *, queries_max: int, former: Count | None
) -> str | None:
    """A word that is absurdly far from what is known is refused even where it is signed."""
    text = f"count of {count.installer[:80]!r}"
    if count.installer not in roster.ordinal_of:
        return f"{text}: not of this federation"
    number, revision = (0, 0) if former is None else (former.number, former.revision)
    if not 0 <= count.number <= number + LEAP_MAX or not 0 < count.revision <= revision + LEAP_MAX:
        leap = f"{text}: #{count.number}, revision {count.revision}: a leap from #{number}"
        return Untrue.of(LieKind.LEAP, leap)
    if len(count.live) > queries_max or len(count.ended) > queries_max:
        return f"{text}: {len(count.live)} live queries, at most {queries_max}"
    if len(count.altered) > queries_max:
        return f"{text}: settings of {len(count.altered)} queries, at most {queries_max}"
    for id_text in count.live:
        problem = problem_with_id(id_text, roster)
        if problem is None and QueryId.parse(id_text).installer != count.installer:
            problem = f"query id {id_text[:80]!r}: of another installer"
        if problem is not None:
            return f"{text}: {problem}"
    problems = (problem_with_command(removal, roster) for removal in count.ended)
    return next((problem for problem in problems if problem is not None), None)


def problem_with_id(id_text: str, roster: RosterIndex) -> str | None:
    try:
        query_id = QueryId.parse(id_text)
    except ValueError as error:
        return str(error)
    if str(query_id) != id_text or query_id.installer not in roster.ordinal_of:
        return f"query id {id_text[:80]!r}: not by an installer of this federation"
    if not 0 < query_id.counter <= COUNTER_MAX:
        return f"query id {id_text[:80]!r}: a counter out of range"
    return None
