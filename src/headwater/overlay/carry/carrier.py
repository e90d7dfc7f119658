"""Summaries on their way up: checked, held and merged, or passed on as they are.

A summary is handed to one next hop, once. Its age grows by what it spends here and by half a
round trip on each link, and beyond ``summary_life_s`` it is dropped, for by then its site may
have begun to repair it. A query that is not known here is passed unmerged up the federation's
tree while its install is asked for; one that is known to be removed ends here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from headwater.algebra.capacity.way_capacity import BUDGET, UNKNOWN, WayCapacity, least
from headwater.algebra.route import Route
from headwater.algebra.summary import Lane, Summary
from headwater.overlay.carry.bringers import Bringers
from headwater.overlay.carry.let_go import LetGo
from headwater.overlay.carry.packing import Packing
from headwater.overlay.carry.summary_entry import rows_bytes
from headwater.overlay.carry.thinning import Thinning
from headwater.overlay.carry.time_space_list import TimeSpaceList
from headwater.overlay.commands.command_log import CommandLog
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.commands.reconciliation import Reconciliation
from headwater.overlay.here import Here
from headwater.overlay.links.link import Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_summary, problem_with_update
from headwater.overlay.messages import SummaryMessage
from headwater.overlay.outputs import LATER, LIVE, Delivered, Transmit
from headwater.overlay.ways.router import Router
from headwater.overlay.ways.staged_policy import Hop

UNKNOWN_HOP_AGE_S = 0.001
"""A summary of an unknown query ages at least this much at every hop. While installs are still
spreading, the federation's tree and the query's tree can together form a ring; so it ends."""


class Carrier:
    def __init__(
        self,
        here: Here,
        *,
        router: Router,
        neighbours: Neighbours,
        log: CommandLog,
        reconciliation: Reconciliation,
        bringers: Bringers,
        let_go: LetGo,
        is_over: Callable[[str, int, int], bool] = lambda query_id, first, last: False,
        is_still: Callable[[str, float], bool] = lambda query_id, now_s: False,
    ) -> None:
        """``is_over``: of these panes of a query its root takes nothing more, as it has said;
        ``is_still``: what comes of a query says nothing of distances now."""
        self._is_still = is_still
        self._is_over = is_over
        self._here = here
        self._site = here.site
        self._config = here.config
        self._tray = here.tray
        self._router = router
        self._neighbours = neighbours
        self._log = log
        self._reconciliation = reconciliation
        self._bringers = bringers
        self.stages: Counter[str] = Counter()
        """How often summaries left by each stage of the policy."""
        self._capacities: dict[str, WayCapacity] = {}
        """Of the ways of queries that are live, as they were known last."""
        self.list = TimeSpaceList(
            here.config,
            router,
            here.tray,
            self._died,
            self._is_behind,
            lambda query_id, pane, now_s: let_go.of(query_id, pane, now_s=now_s),
            Thinning(self._waits_s, here.tray, worth_s=here.config.thin_worth_s),
        )
        self._let_go = let_go
        self.packing = Packing()

    def originate(self, summary: Summary, *, now_s: float) -> None:
        """From this site's own edge: signed, and put on the tree of its pane, under the newest
        plan. To a root that is here nobody has to prove it."""
        query = self._router.live.get(summary.query)
        if query is None or not query.is_root:
            summary = self._here.signatures.sign_update(summary)
            if summary.proof is not None:
                packed_bytes, size_bytes = summary.proof.size_bytes, rows_bytes(summary.rows, query)
                self.packing.learn(summary.query, packed_bytes=packed_bytes, rows_bytes=size_bytes)
        if query is not None:
            # Panes are striped over the trees, and all sites put a pane on the same one, where its
            # summaries meet. A summary of several panes goes by its last one, which is what those
            # sites send at that time that have nothing to catch up on.
            route = Route(summary.last % len(query.places))
            version = query.tree_set.version
            summary = msgspec.structs.replace(summary, plan_version=version, route=route)
        self._accept(self._site, summary, birth_s=now_s - summary.age_s, now_s=now_s)

    def receive(self, link: Link, message: SummaryMessage, *, now_s: float) -> None:
        birth_s = now_s - message.summary.age_s - link.one_way_s
        self._accept(link.site, message.summary, birth_s=birth_s, now_s=now_s)

    def unsent(self, summary: Summary, *, now_s: float) -> None:
        """It comes back from a lost link and was surely not taken: on with it, as it is."""
        query = self._router.live.get(summary.query)
        if query is None and self._log.is_removed(summary.query):
            return
        birth_s = now_s - summary.age_s
        self._send(
            self.list.insert(summary, query, birth_s=birth_s, now_s=now_s, trains=False),
            now_s=now_s,
        )

    def discard_query(self, query_id: str) -> None:
        self.list.discard_query(query_id)
        self._let_go.discard_query(query_id)
        self._capacities.pop(query_id, None)

    def tick(self, *, now_s: float) -> None:
        self._send(self.list.tick(now_s=now_s), now_s=now_s)

    def way_opened(self, *, now_s: float) -> None:
        self._send(self.list.way_opened(now_s=now_s), now_s=now_s)

    def room_bytes(self, query_id: str, *, now_s: float) -> int:
        """How much this site may originate now, as rows lie in memory; 0 without a way up."""
        query = self._router.live.get(query_id)
        if query is None:
            return 0
        in_list = max(0, self._config.bytes_max - self.list.size_bytes)
        if query.is_root:
            return in_list
        hop = self._router.next_hop(query_id, now_s=now_s)
        if hop is None or self._capacity_by(hop.site, query).is_shut:
            return 0
        room = self._neighbours.link(hop.site).room_bytes(query_id)
        return min(in_list, int(room / self.packing.share(query_id)))

    def way_capacity(self, query_id: str, *, now_s: float) -> WayCapacity:
        """What the way up carries, so far as this site can tell; without a way, what it carried."""
        query = self._router.live.get(query_id)
        if query is None or query.is_root:
            return UNKNOWN
        hop = self._router.way_on(query_id, now_s=now_s)
        if hop is not None:
            known = self._capacity_by(hop.site, query)
            packed_share = self.packing.share(query_id)
            self._capacities[query_id] = msgspec.structs.replace(known, packed_share=packed_share)
        return self._capacities.get(query_id, UNKNOWN)

    def _capacity_by(self, site: str, query: LiveQuery) -> WayCapacity:
        """The least of the own link, of what its other end says of the rest, and of what budgets
        leave for panes; of a link that others want as well its query's part."""
        link, share = self._neighbours.link(site), self._here.shares.of(query.id)
        told = link.told_of(self._here.roster.ordinal_of.get(query.root, -1))
        budget = self._neighbours.budgets.for_panes(site)
        own = least(WayCapacity(link.capacity.bytes_per_s, site), WayCapacity(budget, BUDGET))
        if own.bytes_per_s is not None:
            own = WayCapacity(own.bytes_per_s * link.part_of(query.id), own.narrowest)
        way = least(own, WayCapacity(told, f"beyond {site}"))
        found = least(way, WayCapacity(share.for_panes, BUDGET))
        return UNKNOWN if found.bytes_per_s is None else found

    def _waits_s(self, site: str, query: LiveQuery, size_bytes: int) -> float:
        """How long what waits for the link to a site needs on it, with so many bytes of rows more
        that are the query's; where nothing is known of it, none."""
        link, carries = self._neighbours.link(site), self._capacity_by(site, query).bytes_per_s
        whole = least(
            WayCapacity(link.capacity.bytes_per_s, site),
            WayCapacity(self._neighbours.budgets.of(site), BUDGET),
        ).bytes_per_s
        if carries is None or whole is None:
            return 0.0
        ahead_bytes = link.queued_bytes + link.handed_bytes
        own_bytes = size_bytes * self.packing.share(query.id)
        return ahead_bytes / max(whole, 1.0) + own_bytes / max(carries, 1.0)

    def _is_behind(self, now_s: float) -> bool:
        return self._here.wake.share(now_s) < self._config.unmerged_below_share

    def _died(self, site: str, now_s: float) -> None:
        """A summary has waited for the link to this site until it was too old: that is told on."""
        self._neighbours.link(site).capacity.died(now_s=now_s)

    def _accept(self, sender: str, summary: Summary, *, birth_s: float, now_s: float) -> None:
        query, roster = self._router.live.get(summary.query), self._here.roster
        problem = problem_with_summary(summary, query, roster)
        if problem is None and sender != self._site:
            problem = problem_with_update(summary, roster, self._here.signatures)
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
            return
        if query is not None and query.thinned_by is not None and summary.proof is not None:
            self._learn_size(summary, query)
        if query is not None and sender != self._site:
            tree, sites = summary.route.tree, summary.coverage.sites
            self._bringers.came(query.id, tree, sender, sites, now_s=now_s)
            self._let_go.heard(query.id, sites, now_s=now_s)
        if now_s - birth_s > self._config.summary_life_s:
            self._note("expired", summary, sender, "too old", now_s=now_s)
        elif query is None:
            self._pass_on(sender, summary, birth_s=birth_s - UNKNOWN_HOP_AGE_S, now_s=now_s)
        elif query.is_root:
            self._deliver(sender, summary, birth_s=birth_s, now_s=now_s)
        elif self._is_over(summary.query, summary.pane, summary.last):
            self._tray.count("unwanted")
        else:
            trains = not self._is_still(query.id, now_s)
            self._send(
                self.list.insert(summary, query, birth_s=birth_s, now_s=now_s, trains=trains),
                now_s=now_s,
            )

    def _learn_size(self, summary: Summary, query: LiveQuery) -> None:
        """A relay that has no rows of its own sees by those of others what a row takes."""
        packed_bytes = 0 if summary.proof is None else summary.proof.size_bytes
        size_bytes = rows_bytes(summary.rows, query)
        self.packing.learn(query.id, packed_bytes=packed_bytes, rows_bytes=size_bytes)

    def let_go(self, query_id: str) -> None:
        """Its root has said of panes that nobody wants them any more: what waits here of them."""
        self._tray.count("unwanted", self.list.discard(query_id, self._is_over))

    def _deliver(self, sender: str, summary: Summary, *, birth_s: float, now_s: float) -> None:
        if isinstance(summary.rows, bytes):
            self._note("undecoded", summary, sender, "came before its query", now_s=now_s)
            return
        age_s = max(0.0, now_s - birth_s)
        told = msgspec.structs.replace(summary, age_s=age_s, proof=None)
        self._tray.put(Delivered(told, sender))

    def _pass_on(self, sender: str, summary: Summary, *, birth_s: float, now_s: float) -> None:
        """The query is not known here: up the federation's tree, where somebody knows it."""
        if self._log.is_removed(summary.query):
            self._note("removed", summary, sender, "query removed", now_s=now_s)
            return
        if sender != self._site:
            self._reconciliation.ask(sender, summary.query, now_s=now_s)
        if self._router.federation_parent in (None, sender):
            self._note("no-way", summary, sender, "query unknown", now_s=now_s)
            return
        self._send(
            self.list.insert(summary, None, birth_s=birth_s, now_s=now_s, trains=False), now_s=now_s
        )

    def _note(self, kind: str, summary: Summary, sender: str, why: str, *, now_s: float) -> None:
        self._tray.note(kind, f"summary of {summary.query} from {sender}: {why}", now_s=now_s)

    def _send(self, leaving: Iterable[tuple[Hop, Summary]], *, now_s: float) -> None:
        for hop, summary in leaving:
            self.stages[hop.stage] += 1
            self._router.went(summary.query, hop.site)
            link = self._neighbours.link(hop.site)
            priority = LIVE if summary.lane is Lane.LIVE else LATER
            self._tray.put(Transmit(hop.site, SummaryMessage(summary=summary), priority))
            # About what its rows take on a link.
            size_bytes = rows_bytes(summary.rows, self._router.live.get(summary.query))
            wire_bytes = int(size_bytes * self.packing.share(summary.query))
            marker = link.hand_over(summary.query, wire_bytes, now_s=now_s)
            if marker is not None:
                self._tray.put(Transmit(hop.site, marker, priority))
