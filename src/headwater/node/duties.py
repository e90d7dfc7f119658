"""What this site does for each query: it reads, answers, carries; nothing before it has admitted
it, and nothing after it was removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from headwater.algebra.summary import Merger
from headwater.edge.edge import Edge
from headwater.edge.record import QueryKept
from headwater.errors import QueryRefused
from headwater.node import effects as do
from headwater.overlay.clocks.root_clock import RootClock
from headwater.overlay.peer import Peer
from headwater.plan.altered.settings_book import Numbered, SettingsBook
from headwater.plan.command import Alter, Install
from headwater.plan.degrading.companion import is_coarser, level_fault
from headwater.plan.duty import Admit, Duty, refusal_of
from headwater.plan.node_sets import is_asked
from headwater.plan.notice import Notice
from headwater.plan.query import Query, TimeKind
from headwater.plan.roster import Roster
from headwater.root.books import Books
from headwater.root.config import RootConfig
from headwater.root.outputs import RootKept
from headwater.root.root import Root

SUSPENDED = "suspended: "
"""How the refusal of a root begins that had answered before."""


class Duties:
    """Of one site. ``roots`` are those of the queries that are answered here."""

    def __init__(
        self,
        site: str,
        peer: Peer,
        edge: Edge,
        effects: list[do.Effect],
        *,
        roster: Roster,
        config: RootConfig,
        merger_of: Callable[[Query], Merger],
        admit: Admit,
        root_incarnation: int,
        root_start: int,
    ) -> None:
        self._site = site
        self._peer = peer
        self._edge = edge
        self._effects = effects
        self._roster = roster
        self._config = config
        self._merger_of = merger_of
        self._admit = admit
        self._root_incarnation = root_incarnation
        """Also that which was asked for: a number that is above is asked for once."""
        self._root_start = root_start
        self._has_data = roster.site(site).has_data
        self._ahead_s = 0.0
        self.roots: dict[str, Root] = {}
        self._ledgers: dict[str, RootKept] = {}
        """What was restored and is not taken up yet."""
        self.refusals: dict[str, str] = {}
        """Queries that name this agent as their root and are not admitted, and why."""
        self.unread_records: dict[str, str] = {}
        self._unread_ledgers: dict[str, str] = {}
        """Queries of which the cube, or the ledger, has something that can't be read, and why."""
        self._installed: set[str] = set()
        self._looked_at: dict[tuple[str, int, str, int, Duty], str | None] = {}
        """Settings that were altered, and why they are not admitted here; None: they are."""
        self._awaited: dict[str, Query] = {}
        """Queries that begin here as soon as the clock of their root is known, and no other one
        takes the name of their source."""

    def restore(
        self,
        cube: Iterable[QueryKept],
        ledgers: Iterable[RootKept],
        unread_records: Mapping[str, str],
        unread_ledgers: Mapping[str, str],
        *,
        now_s: float,
    ) -> None:
        """When the peer is restored: take up what lives, and let go of what was removed in between,
        but for queries that are set aside and may be installed yet. What the cube has from a time
        when the site had data stays there."""
        if self._has_data:
            self._edge.restore(cube)
        self.unread_records, self._unread_ledgers = dict(unread_records), dict(unread_ledgers)
        self._ledgers = {one.query: one for one in ledgers}
        for install in self._peer.live_queries().values():
            self.install(install, now_s=now_s)
        aside, live = self._peer.set_aside(), self._peer.live_queries()
        self._edge.forget_uninstalled(aside=aside)
        for unread in (self.unread_records, self._unread_ledgers):
            for query_id in [one for one in unread if one not in live and one not in aside]:
                self._forget_unread(query_id)
        for query_id in [one for one in self._ledgers if one not in aside]:
            del self._ledgers[query_id]
            self._effects.append(do.AnswersEnded(query_id))

    def set_clock(self, ahead_s: float) -> None:
        self._ahead_s = ahead_s
        for root in self.roots.values():
            root.set_clock(ahead_s)

    def outdated(self, incarnation: int) -> None:
        """A site knows the ledger of this agent under such a one."""
        if incarnation > self._root_incarnation:
            self._root_incarnation = incarnation
            self._effects.append(do.RiseAbove(incarnation))

    def rise(self, incarnation: int) -> None:
        """Roots speak as this life of the ledger, also those that begin later."""
        self._root_incarnation = incarnation
        for root in self.roots.values():
            root.rise(incarnation)

    def carried(self, query: Query) -> Merger:
        """For the peer: a relay merges nothing of what it would not admit."""
        refused = self._refusal(query, Duty.CARRY)
        if refused is not None:
            raise QueryRefused(refused)
        return self._merger_of(query)

    def _refusal(self, query: Query, duty: Duty) -> str | None:
        operator = self._peer.operator_of(str(query.id))
        return refusal_of(self._admit, query, duty, operator)

    def install(self, install: Install, *, now_s: float) -> None:
        query, query_id = install.query, str(install.query.id)
        if query_id in self._installed:  # altered, or planned anew, which is the peer's business
            self._alter(install)
            return
        self._installed.add(query_id)
        if query.root == self._site and query_id not in self.roots:
            self._begin_answers(query, now_s=now_s)
        if not self._has_data or not is_asked(query, self._roster.site(self._site)):
            return
        if query_id in self.unread_records:
            text = f"{query_id}: {self.unread_records[query_id]}"
            self._effects.append(Notice("edge", "set aside", text))
            return
        self._awaited[query_id] = query
        other = self._edge.in_the_way_of(query)
        if other is not None:
            self._effects.append(Notice("edge", "waits", f"{query_id}: {_why_waiting(other)}"))
        self.begin_awaited(now_s=now_s)

    def _alter(self, install: Install) -> None:
        """Settings hold from a pane on: at the root for windows, at the site for what it makes."""
        query_id = str(install.query.id)
        root = self.roots.get(query_id)
        if root is not None:
            root.alter(self._admitted(install, Duty.ANSWER))
        if self._edge.is_taken(query_id):
            book = self._edge.alter(query_id, self._admitted(install, Duty.READ))
            if book is not None:
                self._effects.append(do.Altered(query_id, book))

    def _admitted(self, install: Install, duty: Duty) -> SettingsBook:
        """Without settings that the policy here does not let their operator give: a site goes by
        the ones before. A root goes by their times; what sites keep back by them it has to state
        all the same."""
        changes, last = list[Numbered](), install.settings.first
        for alter in install.alters:
            settings = alter.settings
            if settings.is_end:  # as a removal, which no policy here keeps from holding
                settings = msgspec.structs.replace(last, is_end=True)
            elif self._refuses(install.query, alter, duty):
                if duty is not Duty.ANSWER:
                    continue
                settings = msgspec.structs.replace(last, tolerance=settings.tolerance)
            changes.append(Numbered(alter.number, alter.first_pane, settings))
            last = settings
        return SettingsBook(install.settings.first, tuple(changes))

    def _refuses(self, query: Query, alter: Alter, duty: Duty) -> bool:
        key = (str(alter.id), *alter.order, duty)
        if key not in self._looked_at:
            try:
                why = refusal_of(self._admit, alter.settings.on(query), duty, alter.operator)
            except ValueError as error:  # from a disk, by whoever wrote it
                why = str(error)[:200]
            self._looked_at[key] = why
            if why is not None:
                text = f"settings {alter.number} of {alter.id}: {why}"
                self._effects.append(Notice("node", "settings refused", text))
        return self._looked_at[key] is not None

    def remove(self, query_id: str) -> None:
        self._installed.discard(query_id)
        self._looked_at = {k: v for k, v in self._looked_at.items() if k[0] != query_id}
        if self._unread_ledgers.get(query_id) is not None:
            self.refusals.pop(query_id, None)
        self._forget_unread(query_id)
        self._awaited.pop(query_id, None)
        was_refused = self.refusals.pop(query_id, None) is not None
        if self._edge.is_running(query_id):
            self._effects.append(do.Withdrawn(query_id))
        self._edge.remove(query_id)
        if self.roots.pop(query_id, None) is not None or was_refused:
            self._effects.append(do.AnswersEnded(query_id))
            self._join_levels()

    def _forget_unread(self, query_id: str) -> None:
        if self.unread_records.pop(query_id, None) is not None:
            self._effects.append(do.Forget(query_id))
        if self._unread_ledgers.pop(query_id, None) is not None:
            self._effects.append(do.AnswersEnded(query_id))

    # Reading

    def waits(self) -> dict[str, str]:
        """Queries whose source has the name of another one that is read here, and what to do."""
        found = {id_: self._edge.in_the_way_of(query) for id_, query in self._awaited.items()}
        return {id_: _why_waiting(other) for id_, other in found.items() if other is not None}

    def begin_awaited(self, *, now_s: float) -> None:
        """A query by age begins when the clock that it goes by is known, and three neighbours have
        agreed on it or have been waited for: a site that took its own clock for it, or that of one
        who lies, would place records where they do not belong. And one whose source has the name of
        another begins when nobody reads that: it would be given the other's lines, which it was not
        admitted to read."""
        for query_id, query in list(self._awaited.items()):
            clock = self._peer.root_clock(query.root)
            is_ready = clock is not None and clock.is_ready
            is_by_age = query.time is TimeKind.AGE
            is_timed = is_ready or not is_by_age or self._edge.has_kept(query_id)
            if is_timed and self._edge.in_the_way_of(query) is None:
                del self._awaited[query_id]
                self._begin_edge(query, clock, now_s=now_s)

    def _begin_edge(self, query: Query, clock: RootClock | None, *, now_s: float) -> None:
        query_id, refused = str(query.id), self._refusal(query, Duty.READ)
        is_new = False
        try:
            is_new = self._edge.install(
                query,
                now_s=now_s,
                refused=refused,
                offset_s=None if clock is None else clock.offset_s,
                is_confirmed=clock is not None and clock.is_confirmed,
            )
        except Exception as error:  # admitted, and yet not understood: it fails alone
            refused = _unopened(error)
        if refused is not None:
            self._effects.append(Notice("edge", "refused", f"{query_id}: {refused}"))
            return
        install = self._peer.live_queries().get(query_id)
        if install is not None and install.alters:
            self._alter(install)
        if self._edge.is_running(query_id):
            self._effects.append(do.Installed(query, is_new))

    def tell_clocks(self, *, now_s: float) -> None:
        """What the peer has learned of the roots' clocks, to the edge."""
        for query_id, install in self._peer.live_queries().items():
            clock = self._peer.root_clock(install.query.root)
            if clock is not None:
                is_confirmed = clock.is_confirmed
                self._edge.root_clock(
                    query_id, clock.offset_s, is_confirmed=is_confirmed, now_s=now_s
                )

    # Answering

    def _begin_answers(self, query: Query, *, now_s: float) -> None:
        """Admitted first, for its root part will run here; what is refused keeps its ledger, since
        the next start may admit it."""
        query_id = str(query.id)
        refused = self._unread_ledgers.get(query_id) or self._refusal(query, Duty.ANSWER)
        if refused is None:
            try:
                self._begin_root(query, now_s=now_s)
            except Exception as error:  # as at the edge
                refused = _unopened(error)
        if refused is None:
            self._effects.append(do.AnswersBegun(query))
        else:
            self._ledgers.pop(query_id, None)
            self.refusals[query_id] = refused
            self._effects.append(Notice("root", "refused", f"{query_id}: {refused}"))

    def _begin_root(self, query: Query, *, now_s: float) -> None:
        books = Books(
            query=query,
            roster=self._roster,
            config=self._config,
            merger=self._merger_of(query),
            incarnation=self._root_incarnation,
            now_s=now_s,
            start=self._root_start,
            ahead_s=self._ahead_s,
            carriers_of=partial(self._peer.above, str(query.id)),
            parents_of=partial(self._peer.parents_of, str(query.id)),
        )
        root, kept = Root(books), self._ledgers.pop(str(query.id), None)
        install = self._peer.live_queries().get(str(query.id))
        if install is not None and install.alters:
            root.alter(self._admitted(install, Duty.ANSWER))
        if kept is not None:
            root.restore(kept, now_s=now_s)
        self.roots[str(query.id)] = root
        self._join_levels()

    def _join_levels(self) -> None:
        """Roots of levels look into those of the queries that they stand for, and come behind them:
        what their answers are made of is written before they are asked for."""
        coarse = [id_ for id_, one in self.roots.items() if one.query.stands_for is not None]
        for query_id in coarse:
            self.roots[query_id] = self.roots.pop(query_id)
        for root in self.roots.values() if coarse else ():
            followers = [one for one in self.roots.values() if _follows(one.query, root.query)]
            finer = [one for one in self.roots.values() if _follows(root.query, one.query)]
            root.stand_beside(followers=followers, finer=finer)

    def suspend_answers(self, query_id: str, message: str) -> None:
        """As if it were refused: its ledger stays until the query is removed."""
        if self.roots.pop(query_id, None) is not None:
            self._join_levels()
            self.refusals[query_id] = f"{SUSPENDED}{message}"
            self._effects.append(do.AnswersSuspended(query_id, self.refusals[query_id]))
            self._effects.append(Notice("root", "suspended", f"{query_id}: {message}"))


def _follows(coarse: Query, fine: Query) -> bool:
    """Whether windows of the one are made of panes of the other, too."""
    level, finer = coarse.stands_for, fine.stands_for
    if level is None:
        return False
    if finer is None:
        return level.of == str(fine.id) and level_fault(fine, coarse) is None
    return is_coarser(coarse, fine)


def _why_waiting(other: Query) -> str:
    text = f"{other.id} reads another source called {other.source_name!r} here"
    return f"{text}; it begins when that one is removed"


def _unopened(error: Exception) -> str:
    return f"it can't be opened: {type(error).__name__}: {str(error)[:200]}"
