"""People at simulated sites, who install queries, plan them anew and remove them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import msgspec

from headwater.plan.command import Alter, Install, Remove
from headwater.plan.query import Query, QueryId
from headwater.sim.query_kinds import (
    draw_growing,
    draw_past,
    draw_sessions,
    draw_settings,
    draw_states,
    draw_time,
)
from headwater.sim.question_kinds import draw_question, may_be_asked
from headwater.sim.scenario import SLIDE_S_MIN, START_S, Scenario, draw_query, draw_trees
from headwater.sim.transcript import Transcript
from headwater.sim.world.keys import SimulatedSignatures
from headwater.sim.world.site import SimulatedSite

EXTRA_QUERIES_MAX = 3
"""Queries that faults may install beside the first."""
NAME_TAKEN_SHARE = 0.2
"""How often a further query takes the name of the first."""
ANSWERS_BEHIND_MAX = 100
"""Answers' worth of windows by which a query may begin before the simulated time: somebody whose
clock is hours behind may ask for more than a root with a small limit can answer in a run."""


SETTINGS_SLACKS_S = (0.0, 2.0, 8.0, 15.0)
"""How long ahead settings hold. People take fifteen seconds; to take less, so that most sites hear
late, must do no harm either."""


class Operators:
    def __init__(
        self,
        scenario: Scenario,
        sites: Mapping[str, SimulatedSite],
        queries: dict[str, Query],
        transcript: Transcript,
        *,
        random: Random,
        signatures: SimulatedSignatures,
    ) -> None:
        """``queries`` are all that were ever installed; further ones are added to them."""
        self._scenario = scenario
        self._sites = sites
        self._queries = queries
        self._transcript = transcript
        self._random = random
        self._sign = signatures.sign_command
        self.removed: set[str] = set()
        """What was commanded to end."""
        self.altered: set[tuple[str, int, str, int]] = set()
        """(query, order) of settings that were commanded."""
        self.plan_versions: dict[str, int] = {}
        """The newest plan that the root of a query has given it."""

    def install(self, query: Query) -> None:
        site = self._sites[query.id.installer]
        trees = self._scenario.trees
        ordinal = self._scenario.roster.site(query.root).ordinal
        if self._scenario.query_trees and self._scenario.query_trees[0].root == ordinal:
            trees = self._scenario.query_trees
        elif trees[0].root != ordinal or self._random.random() < 0.5:
            trees = draw_trees(self._random, self._scenario.roster, root=ordinal)
        self._queries[str(query.id)] = query
        clock = site.node.peer.root_clock(query.root) if site.node is not None else None
        install = Install(
            query=query,
            trees=trees,
            roster_version=self._scenario.roster.version,
            root_clock_s=None if clock is None else site.clock.now_s() + clock.offset_s,
        )
        site.command(self._sign(install))

    def install_another(self, site: str, *, draw: float) -> None:
        """A further query, commanded at ``site`` if it is up and knows its own count."""
        at = self._sites[site]
        is_full = len(self._queries) > EXTRA_QUERIES_MAX
        if is_full or self._scenario.is_finite or not self._may_command(at):
            return
        random = Random(f"query {self._scenario.seed} {draw}")
        number = len(self._queries) + 1
        query = draw_query(
            random,
            self._scenario.roster,
            number=number,
            installer=site,
            begin_s=max(self._clock_s(at) + 8.0, START_S - self._behind_s_max),
        )
        counter = at.next_number()
        name = f"q{number}"
        if random.random() < NAME_TAKEN_SHARE:
            name = self._scenario.first_query.stream
            self._transcript.count("a name was taken by a second query")
        query = draw_time(random, draw_states(random, query))
        if self._clock_s(at) > START_S - self._behind_s_max:
            query = draw_past(random, query, now_s=self._clock_s(at))
        query = draw_growing(random, draw_sessions(random, query))
        query = msgspec.structs.replace(query, id=QueryId(name, site, counter))
        self._transcript.count("a query was installed while others ran")
        self.install(query)

    @property
    def _behind_s_max(self) -> float:
        return ANSWERS_BEHIND_MAX * self._scenario.limits.windows_per_answer_max * SLIDE_S_MIN

    def _clock_s(self, at: SimulatedSite) -> float:
        """What the sites' clocks show, as far as this one knows; see ``agent.install``."""
        return at.believed_s() - (0.0 if at.node is None else at.node.edge.clock_off_s())

    def replan_one(self, *, draw: float) -> None:
        """The root of a query gives it new trees, if it is up and has it."""
        ids = sorted(self._queries)
        query = self._queries[ids[int(draw * len(ids))]]
        at = self._sites[query.root]
        install = at.disk.installs.get(str(query.id)) if at.is_up else None
        if install is None:
            return
        ordinal = self._scenario.roster.site(query.root).ordinal
        trees = draw_trees(self._random, self._scenario.roster, root=ordinal)
        version = install.plan_version + 1
        self.plan_versions[str(query.id)] = version
        at.replan(msgspec.structs.replace(install, trees=trees, plan_version=version, age_s=0.0))
        self._transcript.count("a query was planned anew")

    def alter_one(self, site: str, *, draw: float) -> None:
        """Other settings for a query that is known at ``site``, by what that takes for the time."""
        at = self._sites[site]
        if not self._may_command(at) or not at.disk.installs:
            return
        random = Random(f"settings {self._scenario.seed} {draw}")
        install = at.disk.installs[random.choice(sorted(at.disk.installs))]
        query, window = install.query, install.query.window
        first = window.first_window_from(
            round((self._clock_s(at) + random.choice(SETTINGS_SLACKS_S)) * 1e6)
        )
        pane = window.panes_of(first).start
        pane = pane if query.begin_pane is None else max(pane, query.begin_pane)
        is_over = query.ends_at is not None and pane >= query.ends_at
        if query.asked is not None or query.ends or query.numbers is not None or is_over:
            return
        known = install.alters[-1].number if install.alters else 0
        alter = Alter(
            id=query.id,
            installer=site,
            counter=at.next_number(),
            number=known + 1,
            first_pane=pane,
            settings=draw_settings(random, query),
        )
        self.altered.add((str(query.id), *alter.order))
        at.command(self._sign(alter))
        self._transcript.count("settings were altered")

    def ask_one(self, site: str, *, draw: float) -> None:
        """A question about a stream that is known at ``site``, which takes it."""
        at = self._sites[site]
        if not self._may_command(at):
            return
        random = Random(f"question {self._scenario.seed} {draw}")
        streams = [one.query for one in at.disk.installs.values() if may_be_asked(one.query)]
        if not streams:
            return
        stream = random.choice(sorted(streams, key=lambda one: str(one.id)))
        counter, now_s = at.next_number(), self._clock_s(at)
        question = draw_question(
            random,
            stream,
            QueryId(f"ask_{counter}_{site}", site, counter),
            root=self._scenario.roster.home,
            now_s=now_s,
            wall_s=at.clock.wall_s(),
        )
        if question is not None:
            self._transcript.count("a question was asked")
            self.install(question)

    def remove_one(self, site: str, *, draw: float) -> None:
        at = self._sites[site]
        if not self._may_command(at) or not at.disk.installs:
            return
        ids = sorted(at.disk.installs)
        query = at.disk.installs[ids[int(draw * len(ids))]].query
        self.removed.add(str(query.id))
        at.command(self._sign(Remove(id=query.id, installer=site, counter=at.next_number())))

    def _may_command(self, site: SimulatedSite) -> bool:
        return site.is_up and len(site.truth.incarnations) == 1
