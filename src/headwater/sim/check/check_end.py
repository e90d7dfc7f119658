"""*Eventually*: some time after the last fault, every answer is final and equals the recount.

What a final answer lacks must have been declined, and a decline must have a cause that this run
really had: a disk that was lost, a cube that forgot what nobody had acknowledged in time, a query
that failed, a site that heard of the query late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.algebra.panes import MICROS
from headwater.algebra.sets import ranges
from headwater.algebra.words.site_state import PaneState, Reason
from headwater.overlay.lie_book import LieKind
from headwater.plan.query import Query, TimeKind
from headwater.root.said.envelope import FinalBy, MissingSite
from headwater.sim.check.check_answers import AnswerCheck, Published, expected_sites
from headwater.sim.check.checkers import Checkers
from headwater.sim.faults.faults import Kind
from headwater.sim.outcome import Violation
from headwater.sim.records.admits import rows_max_of
from headwater.sim.scenario import Scenario
from headwater.sim.transcript import Transcript
from headwater.sim.world.operators import Operators
from headwater.sim.world.site import SimulatedSite

INSTALL_SLACK_S = 30.0
"""A site begins with a query at most this long after it heard of it, by whole windows."""

LOST_SLACK_S = 60.0
"""A site whose clock is an earlier one since it lost its disk declines what its former life may
have stamped: up to then, the time that it was away, and the tolerance for the future."""

OVER_S = 20.0
"""A question's end is told like any command."""
LINE_MIN = 100
"""Windows that wait to be answered: fewer are answered within a second or two."""


class EndCheck:
    def __init__(
        self, checkers: Checkers, sites: dict[str, SimulatedSite], scenario: Scenario
    ) -> None:
        self._checkers = checkers
        self._sites = sites
        self._by_ordinal = {site.truth.ordinal: site for site in sites.values()}
        self._refusals = scenario.refusals
        self._kinds = {(fault.kind, site) for fault in scenario.faults for site in fault.sites}
        self._has_liar = any(fault.kind is Kind.LIES for fault in scenario.faults)
        self._grace_s = scenario.end_s - scenario.faults_until_s
        self._until_s = LONG_AGO_S

    def commands_agree(self) -> None:
        """Every site runs the same queries, and what was removed stays removed."""
        live = {name: sorted(site.disk.installs) for name, site in self._sites.items()}
        if len({tuple(ids) for ids in live.values()}) != 1:
            raise Violation("commands converge", f"sites disagree: {live}")
        altered = {name: sorted(_altered(site)) for name, site in self._sites.items()}
        if len({tuple(orders) for orders in altered.values()}) != 1:
            raise Violation("settings converge", f"sites disagree: {altered}")

    def commands_are_operators(self, operators: Operators) -> None:
        """What lives was given, what was given and not removed lives, and trees are the roots'. A
        name that was given twice, or an installer that lost its disk, may have cost a query."""
        installs = self._sites["s0"].disk.installs
        given = self._checkers.queries
        unasked = sorted(set(installs) - set(given))
        names = Counter(query.stream for query in given.values())
        lost = sorted(
            one
            for one in self._checkers.commanded - operators.removed - set(installs)
            if given[one].asked is None
            if names[given[one].stream] == len(self._parts(given[one]))
            and len(self._sites[given[one].id.installer].truth.incarnations) == 1
        )
        if unasked or lost:
            raise Violation("commands are operators'", f"nobody gave {unasked}; lost are {lost}")
        unasked_settings = _altered(self._sites["s0"]) - operators.altered
        if unasked_settings:
            raise Violation("settings are operators'", f"nobody gave {unasked_settings}")
        for one, install in installs.items():
            if install.plan_version > operators.plan_versions.get(one, 0):
                raise Violation("plans are roots'", f"{one}: plan {install.plan_version}")

    def _parts(self, query: Query) -> list[Query]:
        return [one for one in self._checkers.queries.values() if one.unit == query.unit]

    def questions_are_over(self) -> None:
        """Whoever asked: where its clock has shown the end, and its disk knows that it asked."""
        for one, install in self._sites["s0"].disk.installs.items():
            asked, site = install.query.asked, self._sites[install.query.id.installer]
            is_due = asked is not None and site.clock.wall_s() > asked.until_us / MICROS + OVER_S
            if is_due and len(site.truth.incarnations) == 1:
                raise Violation("questions end", f"{one} lives on at the end")

    def hosts_are_left(self) -> None:
        """All trees lead on again, so nobody keeps a link for the last resort."""
        guests = {
            name: site.node.peer.guests()
            for name, site in self._sites.items()
            if site.node is not None and site.node.peer.guests()
        }
        if guests:
            raise Violation("hosts are left", f"links outside of all trees: {guests}")

    def lies_have_liars(self, transcript: Transcript) -> None:
        """What nobody told nobody has met; a clock may be wrong by itself."""
        for name, site in self._sites.items():
            for lie in () if site.node is None else site.node.peer.lies():
                transcript.count(f"a lie was written down: {lie.kind}")
                if lie.kind is not LieKind.CLOCK and not self._has_liar:
                    raise Violation("lies have liars", f"{name} has met {lie}")

    def query_settled(self, query: Query, *, until_s: float) -> None:
        """Every window that ended by ``until_s`` is final and equal to the recount."""
        self._until_s = until_s
        root = self._sites[query.root]
        if query.stands_for is not None:
            self._level_settled(query, root)
            return
        check = self._checkers.answers.get((str(query.id), root.disk.number))
        for window in self._windows(query, until_s=until_s):
            newest = check.newest.get(window) if check is not None else None
            if newest is not None and check is not None:
                self._window_settled(query, window, newest, check, root)
            elif not (
                self._was_forgotten(query, window, root)
                or self._is_ahead_of_clocks(query, window)
                or self._is_unreached(query, window)
                or self._is_in_line(query, window, root)
            ):
                raise Violation("convergence", f"{query.id} window {window}: never answered")
        if check is not None and query.sessions is not msgspec.UNSET:
            self._sessions_settled(query, check)

    def _level_settled(self, query: Query, root: SimulatedSite) -> None:
        """What was answered of a level is final, but where finer panes that have come in part keep
        it from being said better."""
        level = query.stands_for
        if level is None or level.of not in self._sites["s0"].disk.installs:
            return  # what it stands for was removed
        check = self._checkers.levels.checks.get((str(query.id), root.disk.number))
        for window, newest in () if check is None else check.newest.items():
            if newest.envelope.final or self._is_unsealed(query, window):
                continue
            if self._has_trouble(query) or self._has_part(query, root, window):
                continue
            raise Violation("convergence", f"{query.id} window {window}: {newest.envelope}")

    def _has_part(self, query: Query, root: SimulatedSite, window: int) -> bool:
        """A site went from level to level within the window: it is in none of its series in whole,
        and what was answered with a part of it stands."""
        answering = None if root.node is None else root.node.root(str(query.id))
        join = None if answering is None else answering.answers.join
        series = () if join is None else join.series(window)
        return any(one.rows & ~one.covered for one in series)

    def _has_trouble(self, query: Query) -> bool:
        """Some site may never send what a window lacks, or has sent a part of it."""
        lives = [self._by_ordinal[o].truth.incarnations for o in self._expected(query)]
        has_lost = any(len(one) > 1 for one in (*lives, self._sites[query.root].truth.incarnations))
        return has_lost or self._has_liar or bool(self._checkers.expired)

    def _sessions_settled(self, query: Query, check: AnswerCheck) -> None:
        newest = check.newest
        settled = [w for w, a in newest.items() if a.envelope.exact and a.envelope.final]
        bags = {window: newest[window].bag for window in settled}
        self._checkers.sessions.each_once(query, settled, bags)

    def _is_in_line(self, query: Query, window: int, root: SimulatedSite) -> bool:
        """A query that begins a day back has thousands of windows, of which some dozens are
        answered at a time: at the end of a run one may stand in line behind the others."""
        answering = None if root.node is None else root.node.root(str(query.id))
        if answering is None or answering.answers.under_way is None:
            return False
        line = {request.window for request in answering.answers.under_way.requests}
        line.update(answering.answers._dirty)
        return window in line and len(line) > LINE_MIN

    def _windows(self, query: Query, *, until_s: float) -> Iterable[int]:
        """All of them from the query's begin, or those that have records."""
        spec = query.window
        last = spec.pane_at(round(until_s * MICROS)) // spec.panes_per_slide
        if query.begin_pane is not None:
            first = spec.first_window_from(spec.pane_start_us(query.begin_pane))
            windows = range(first, last + 1)
            return [w for w in windows if spec.window_end_us(w) <= until_s * MICROS]
        ordinals = expected_sites(query, self._checkers.roster)
        panes = {
            pane
            for ordinal in ordinals
            for pane in self._by_ordinal[ordinal].truth.panes_with_records(query)
        }
        return sorted({window for pane in panes for window in spec.windows_of(pane)})

    def _is_unreached(self, query: Query, window: int) -> bool:
        """Of numbers: some site has read none so far beyond that it would seal the window, and no
        clock does."""
        if query.numbers is None or query.ends:
            return False
        last = query.window.panes_of(window)[-1]
        sites = [self._by_ordinal[ordinal].truth.of_numbers for ordinal in self._expected(query)]
        until_s = self._until_s
        return not all(site.has_reached(query, last, true_s=until_s) for site in sites)

    def _is_ahead_of_clocks(self, query: Query, window: int) -> bool:
        """By the clocks that its windows go by, in the middle, it has not ended long enough ago."""
        if query.ends or query.numbers is not None:
            return False
        walls_s = [self._sites[query.root].clock.wall_s()]
        if query.time is TimeKind.EVENT:
            walls_s += [self._by_ordinal[o].clock.wall_s() for o in self._expected(query)]
            walls_s = walls_s[1:] if len(walls_s) % 2 == 0 else walls_s
        return sorted(walls_s)[len(walls_s) // 2] < self._due_s(query, window)

    def _is_unsealed(self, query: Query, window: int) -> bool:
        """By the clock of some site records of it may still come: it can't be final yet."""
        if query.numbers is not None:
            return self._is_unreached(query, window)
        if query.ends:
            return False
        sites = [self._sites[query.root]]
        if query.time is TimeKind.EVENT:
            sites = [self._by_ordinal[ordinal] for ordinal in self._expected(query)]
        return any(site.clock.wall_s() < self._due_s(query, window) for site in sites)

    def _due_s(self, query: Query, window: int) -> float:
        return query.window.window_end_us(window) / MICROS + self._grace_s

    def _expected(self, query: Query) -> list[int]:
        return expected_sites(query, self._checkers.roster)

    def _was_forgotten(self, query: Query, window: int, root: SimulatedSite) -> bool:
        """A root that lost its disk need not answer again what its sites no longer have.

        And where windows begin with the data, one whose sites all declined has none.
        """
        return len(root.truth.incarnations) > 1 or (
            query.begin_pane is None and self._all_excused(query, window)
        )

    def _all_excused(self, query: Query, window: int) -> bool:
        return any(
            len(self._by_ordinal[ordinal].truth.incarnations) > 1
            or (self._by_ordinal[ordinal].name, query.id.name) in self._refusals
            or (Kind.QUERY_FAILS, self._by_ordinal[ordinal].name) in self._kinds
            or any(
                (str(query.id), ordinal, pane) in self._checkers.expired
                for pane in query.window.panes_of(window)
            )
            for ordinal in expected_sites(query, self._checkers.roster)
        )

    def _window_settled(
        self, query: Query, window: int, newest: Published, check: AnswerCheck, root: SimulatedSite
    ) -> None:
        envelope = newest.envelope
        where = f"{query.id} window {window} revision {envelope.revision}"
        horizon_s = query.window.window_end_us(window) / MICROS + query.timing.revise_for_s
        horizon_s = horizon_s if query.numbers is None else NEVER_DUE_S
        assert root.node is not None, "all is healed"
        at = root.node.root(str(query.id))
        now_s = root.clock.now_s() - (0.0 if at is None else at.windows.lag_s)
        if not envelope.final and (horizon_s <= now_s or self._is_unsealed(query, window)):
            return
        if not envelope.final and self._awaits_own_word(query, window, newest):
            return
        if not envelope.final:
            raise Violation("convergence", f"{where}: not final; missing {envelope.missing}")
        if envelope.final_by is FinalBy.ENOUGH:
            return  # it is not to have all; that it has enough was checked when it was published
        excused = {
            (missing.site, pane)
            for missing in envelope.missing
            for pane in query.window.panes_of(window)
            if ranges.contains(missing.panes, pane)
            and self._is_excused(query, pane, missing, where)
        }
        for ordinal in check.expected:
            site = self._by_ordinal[ordinal]
            for pane in query.window.panes_of(window):
                if self._checkers.truth.has_false_values(str(query.id), pane):
                    continue  # the presence that was claimed is true; values are carriers' word
                in_it = newest.bag.once & site.truth.born(query, pane)
                if envelope.final_by is FinalBy.BOUNDED:
                    in_it |= self._checkers.truth.dropped() & site.truth.born(query, pane)
                lack = site.truth.lack_at_end(query, pane, in_it)
                if lack and (site.name, pane) not in excused:
                    raise Violation(
                        "convergence", f"{where}: final, but {site.name} pane {pane}: {lack}"
                    )

    def _awaits_own_word(self, query: Query, window: int, newest: Published) -> bool:
        """A liar has named a site that has not closed the pane yet, because its clock is behind:
        what is disputed counts on until that site speaks for itself."""
        panes = query.window.panes_of(window)
        return bool(newest.envelope.disputed) and any(
            record is None or record.closed_through <= panes[-1]
            for record in (
                self._by_ordinal[ordinal].disk.cube.records.get(str(query.id))
                for ordinal in self._expected(query)
            )
        )

    def _is_excused(self, query: Query, pane: int, missing: MissingSite, where: str) -> bool:
        if missing.state is not PaneState.DECLINED:
            raise Violation("convergence", f"{where}: final, but {missing} is not declined")
        if not self._has_cause(query, pane, missing):
            raise Violation("convergence", f"{where}: {missing} is declined without a cause")
        return True

    def _has_cause(self, query: Query, pane: int, missing: MissingSite) -> bool:
        site = self._sites[missing.site]
        ordinal, lives = site.truth.ordinal, site.truth.incarnations
        match missing.reason.partition(":")[0]:  # who refuses adds its own words
            case Reason.LOST:
                start_s = query.window.pane_start_us(pane) / MICROS
                ahead_s = site.truth.ahead_s(query)
                if query.wants_past and site.truth.of_past.is_given_up(query, pane):
                    return len(lives) > 1
                known_s = [lost_s + LOST_SLACK_S for lost_s in site.truth.lost_s]
                known_s += [born_s + ahead_s for born_s in site.truth.born_s]
                return any(start_s < at_s for at_s in known_s)
            case Reason.EXPIRED:
                has_expired = (str(query.id), ordinal, pane) in self._checkers.expired
                return has_expired or len(self._sites[query.root].truth.incarnations) > 1
            case Reason.REFUSED:
                return (missing.site, query.id.name) in self._refusals
            case Reason.FAILED:
                return (Kind.QUERY_FAILS, missing.site) in self._kinds
            case Reason.COARSE:
                return self._checkers.levels.is_taken(query, pane, ordinal)
            case Reason.LIMIT:
                rows_max = rows_max_of(query)
                born = site.truth.born(query, pane)
                return rows_max is not None and born.bit_count() > rows_max
            case Reason.NOT_RETAINED:
                return query.wants_past and site.truth.of_past.is_not_retained(query, pane)
            case Reason.NOT_INSTALLED:
                return self._was_installed_late(query, pane, ordinal, lives)
        return False

    def _was_installed_late(self, query: Query, pane: int, ordinal: int, lives: list[int]) -> bool:
        if query.numbers is not None:
            return self._by_ordinal[ordinal].truth.of_numbers.begins_after(query, pane)
        start_s = query.window.pane_start_us(pane) / MICROS
        renamed = self._by_ordinal[ordinal].truth.renamed
        installed = [
            self._checkers.installed_s.get((str(query.id), ordinal, life))
            for life in lives
            if life not in renamed
        ]
        slack_s = INSTALL_SLACK_S + self._by_ordinal[ordinal].truth.ahead_s(query)
        return any(at_s is None or start_s < at_s + slack_s for at_s in installed)


def _altered(site: SimulatedSite) -> set[tuple[str, int, str, int]]:
    """The newest settings of each query that it knows."""
    return {
        (one, *install.alters[-1].order)
        for one, install in site.disk.installs.items()
        if install.alters
    }
