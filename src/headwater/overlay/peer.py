"""A peer of the overlay: the machine that carries and merges, for all queries of one agent.

One drives it. The driver calls ``receive`` for what came, ``tick`` when ``next_deadline_s`` has
come, tells of links that opened and closed, and does what it finds in ``take()``, in order. There
is no clock and no socket in here, so the same object runs in an agent and, by the hundreds, in
the simulator::

        edge ── originate, report ──►┌──────────────────────┐── Delivered, StatesDelivered ──► root
        root ── acknowledge ────────►│ commands   carrier   │── AckDelivered ──► edge
    operator ── command ────────────►│ states     acks      │── CommandAccepted ──► disk
                                     │ neighbours paths     │
    children ── receive ────────────►└──────────────────────┘── Transmit, Dial ──► parent, children

Nothing that a message says can raise out of here: what breaks the rules is dropped with a notice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from headwater.algebra.capacity.link_capacity import LinkCapacity
from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.algebra.coordinate import Coordinate
from headwater.algebra.summary import Merger, Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.carry.absence_relay import AbsenceRelay
from headwater.overlay.carry.ack_relay import AckRelay
from headwater.overlay.carry.bringers import Bringers
from headwater.overlay.carry.carrier import Carrier
from headwater.overlay.carry.let_go import LetGo
from headwater.overlay.carry.pause_relay import PauseRelay
from headwater.overlay.carry.state_relay import StateRelay
from headwater.overlay.clocks.clock_proof import ClockBounds
from headwater.overlay.clocks.root_clock import RootClock
from headwater.overlay.commands.command_log import commanded
from headwater.overlay.commands.commands import Commands
from headwater.overlay.commands.live_query import federation_query, open_query
from headwater.overlay.config import OverlayConfig
from headwater.overlay.coordinates.coordinates import Coordinates
from headwater.overlay.here import Here
from headwater.overlay.lie_book import LieMet
from headwater.overlay.links.link import Link
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.markers import NUMBER_MAX
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_heartbeat
from headwater.overlay.messages import (
    AbsenceMessage,
    AckMessage,
    AlterMessage,
    AskInstall,
    BeatContent,
    CommandMessage,
    CommandsKnown,
    CoordinatesMessage,
    Heartbeat,
    Message,
    PausesMessage,
    StatesMessage,
    StreamMarker,
    SummaryMessage,
)
from headwater.overlay.signatures import UNSIGNED, Signatures
from headwater.overlay.ways.pathfinder import Pathfinder
from headwater.overlay.ways.router import Way
from headwater.plan.command import Command, Count, Install
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree

PLACE_EVERY_BEATS = 4
"""Coordinates move slowly, so most heartbeats go without."""
PLACE_FIRST_BEATS = 16
"""But a newcomer's move fast: it says where it is with each of its first ones."""
NOTHING_ASIDE: Mapping[str, str] = MappingProxyType({})
UNSAID = BeatContent(0)
"""Handed over where no heartbeat is due: a word is made only when it is said."""


class Peer:
    def __init__(
        self,
        *,
        site: str,
        roster: Roster,
        trees: Sequence[Tree],
        config: OverlayConfig,
        merger_of: Callable[[Query], Merger],
        signatures: Signatures = UNSIGNED,
        budgets: LinkBudgets = NO_BUDGETS,
    ) -> None:
        """``trees`` are the federation's own; queries bring theirs with them. ``budgets`` are kept
        by the driver; here heartbeats are stretched to fit into them."""
        self.site = site
        here = Here.of(site, roster, config, signatures, budgets)
        self._roster = here.roster
        self._ordinal = here.ordinal
        self._merger_of = merger_of
        self._tray = here.tray
        self.wake = here.wake
        """How late its ticks were, and how much of its time it was awake."""
        self.shares = here.shares
        """Of links, by query, for whoever drives them."""
        self.take = here.tray.take
        """What is to be done, in order; each output is given once."""
        self._beat_count = 0
        self._due_s: float | None = None
        """The next deadline, until something moves it."""
        self._told_s = 0.0
        """When this peer was last told anything: what can be seen of it is as of then."""
        self._asked_s = 0.0
        """The same when the deadline was found."""
        federation = federation_query(
            trees, home=roster.home, ordinal=here.ordinal, roster=here.roster
        )
        self._neighbours = near = Neighbours(here)
        self._paths = Pathfinder(here, federation=federation, neighbours=near)
        self._router = self._paths.router
        self._coordinates = Coordinates(
            here, federation=federation.places[0], tree=trees[0], neighbours=near
        )
        self._commands = Commands(
            here,
            paths=self._paths,
            neighbours=near,
            on_installed=self._installed,
            on_altered=self._altered,
            on_removed=self._removed,
            done_through=lambda query_id: self._acks.done_through(query_id),
        )
        reconciliation = self._commands.reconciliation
        bringers = Bringers(keep_s=config.guest_after_s)
        let_go = LetGo(self._router.live, beat_s=config.heartbeat_every_s)
        self._acks = AckRelay(
            here,
            paths=self._paths,
            neighbours=near,
            reconciliation=reconciliation,
            bringers=bringers,
            on_over=lambda query_id: self._carrier.let_go(query_id),
            on_pause=lambda query_id, now_s: self._pauses.hear_root(query_id, now_s=now_s),
        )
        self._carrier = Carrier(
            here,
            router=self._router,
            neighbours=near,
            log=self._commands.log,
            reconciliation=reconciliation,
            bringers=bringers,
            let_go=let_go,
            is_over=self._acks.is_over,
            is_still=lambda query_id, now_s: self._pauses.is_still(query_id, now_s=now_s),
        )
        self._pauses = PauseRelay(
            here, router=self._router, neighbours=near, held=self._carrier.list
        )
        self._states = StateRelay(
            here, router=self._router, neighbours=near, bringers=bringers, let_go=let_go
        )
        self._absences = AbsenceRelay(
            here,
            router=self._router,
            neighbours=near,
            clock_of=lambda root, now_s: self._paths.root_clock(root, now_s=now_s),
            let_go=let_go,
        )
        self._receivers: Mapping[type[Message], Callable[..., None]] = {
            Heartbeat: self._receive_heartbeat,
            SummaryMessage: self._carrier.receive,
            StatesMessage: self._states.receive,
            AbsenceMessage: self._absences.receive,
            PausesMessage: self._pauses.receive,
            AckMessage: self._acks.receive,
            CommandMessage: self._commands.receive,
            AlterMessage: self._commands.alterations.receive,
            CommandsKnown: self._commands.receive_known,
            AskInstall: self._commands.receive_ask,
            StreamMarker: self._receive_marker,
            CoordinatesMessage: self._coordinates.receive,
        }

    # What the driver tells.

    def restore(
        self,
        commands: Iterable[Install],
        counts: Iterable[Count],
        aside: Mapping[str, str] = NOTHING_ASIDE,
        *,
        now_s: float,
    ) -> None:
        """What was durable when the agent ended; before anything else. ``aside`` are queries whose
        install can't be read, and why."""
        self._begin(now_s)
        self._paths.tell_unreachable(now_s=now_s)
        self._commands.restore(commands, counts, aside, now_s=now_s)

    def link_up(self, site: str, *, now_s: float) -> None:
        """A link to this site is open, whoever opened it."""
        self._begin(now_s)
        if self._is_member(site, now_s=now_s):
            self._neighbours.link_up(site, content=self._beat_content(now_s), now_s=now_s)
            self._way_opened(site, now_s=now_s)

    def link_down(self, site: str, *, unsent: Sequence[Message], now_s: float) -> None:
        """The link is lost. ``unsent`` was surely not taken; all else may have been."""
        self._begin(now_s)
        if not self._is_member(site, now_s=now_s):
            return
        self._neighbours.link_down(site)
        self._commands.reconciliation.link_down(site)
        self._acks.link_down(site)
        for message in unsent:
            if isinstance(message, SummaryMessage):
                self._carrier.unsent(message.summary, now_s=now_s)
            elif isinstance(message, StatesMessage):
                self._states.unsent(message, now_s=now_s)
        self._look_and_tell(now_s=now_s)

    def link_load(self, site: str, load: LinkLoad, *, now_s: float) -> None:
        """How much waits on this link, told whenever it has changed much.

        A driver that never tells has links that are never full.
        """
        self._begin(now_s)
        is_member = self._is_member(site, now_s=now_s)
        if is_member and self._neighbours.link(site).load(load, now_s=now_s):
            self._way_opened(site, now_s=now_s)

    def receive(self, sender: str, message: Message, *, now_s: float) -> None:
        self._told_s = now_s
        if not self._is_member(sender, now_s=now_s):
            return
        link = self._neighbours.link(sender)
        if self._neighbours.heard(link, now_s=now_s):
            self._tray.note("heard-again", f"{sender} is heard again", now_s=now_s)
            self._way_opened(sender, now_s=now_s)
        self._receivers[type(message)](link, message, now_s=now_s)
        if not isinstance(message, Heartbeat):
            self._due_s = None

    def tick(self, *, now_s: float) -> None:
        if not self.wake.is_promised:
            self.wake.promise(max(self.next_deadline_s(), self._asked_s), now_s=self._asked_s)
        late_s = self.wake.wake(now_s=now_s)
        self._begin(now_s)
        if late_s:
            self._overslept(late_s, now_s=now_s)
        neighbours = self._neighbours
        is_beat_due = neighbours.is_beat_due(now_s)
        has_silenced = neighbours.watch(late_s=late_s, now_s=now_s)
        if is_beat_due:
            self._look(now_s=now_s)
            neighbours.beat(self._beat_content(now_s), now_s=now_s)
            self._absences.say(now_s=now_s)
            self._pauses.say(period_s=neighbours.every_s, now_s=now_s)
            self._coordinates.tick(now_s=now_s)
        elif has_silenced or self._paths.next_deadline_s() <= now_s:
            self._look_and_tell(now_s=now_s)
        neighbours.dial(now_s=now_s)
        self._carrier.tick(now_s=now_s)
        self._states.tick(now_s=now_s)

    def next_deadline_s(self) -> float:
        """When ``tick`` is wanted at the latest; in the past where it is wanted now.

        Asked after every message. Most are heartbeats, which move no deadline unless they make us
        look for ways; so it is kept.
        """
        if self._due_s is None:
            self._due_s = min(
                self._neighbours.next_deadline_s(),
                self._paths.next_deadline_s(),
                self._carrier.list.next_deadline_s(),
                self._states.next_deadline_s(),
            )
            self._asked_s = self._told_s
        return self._due_s

    def promise(self, due_s: float, *, now_s: float) -> None:
        """The driver will tick at this time, for another machine's sake perhaps; what comes later
        is late. Without this word, own deadlines are what a tick is held against."""
        self.wake.promise(due_s, now_s=now_s)

    def is_wanted(self, *, now_s: float) -> bool:
        """The driver ticks: something is due here, or all ticks are late. If neither, then this
        tick was in time, and needs nothing more of this peer."""
        is_wanted = self.next_deadline_s() <= now_s or self.wake.is_late(now_s)
        if not is_wanted:
            self.wake.wake(now_s=now_s)
        return is_wanted

    # What this agent's own edge, root and operators say.

    def use_budgets(self, budgets: LinkBudgets) -> None:
        """An operator has commanded others; heartbeats are stretched for them from the next on."""
        self._neighbours.budgets = budgets

    def command(self, command: Command, *, now_s: float) -> str | None:
        """Given by an operator, numbered by this site: accept it and flood it, or say why not."""
        self._begin(now_s)
        return self._commands.give(command, now_s=now_s)

    def end_questions(self, query_ids: Collection[str], *, now_s: float) -> None:
        """Which this site took: their time is over."""
        self._begin(now_s)
        self._commands.end_questions(query_ids, now_s=now_s)

    def replan(self, install: Install, *, now_s: float) -> None:
        """This peer is the root of the query: new trees for it, under a higher plan version. What
        is under way goes on by the former trees; everything new goes by these."""
        self._begin(now_s)
        self._commands.replan(install, now_s=now_s)

    def renewed(self, *, now_s: float) -> None:
        """This site signs with another certificate from now on."""
        self._begin(now_s)
        self._commands.renewed(now_s=now_s)

    def next_counter(self) -> int:
        """The number of this site's next command, also after its own count was lost."""
        return self._commands.log.number_of(self.site) + 1

    def commanded(self) -> dict[str, int]:
        """By installer: the number up to which all its commands are known here."""
        return commanded(self._commands.log.counts.values(), self._commands.log.live)

    def originate(self, summary: Summary, *, now_s: float) -> None:
        """From this site's edge, once for each update; only into ``room_bytes``."""
        self._begin(now_s)
        self._carrier.originate(summary, now_s=now_s)

    def room_bytes(self, query_id: str) -> int:
        """How much the edge may originate now; 0 while the way up is down or full."""
        return self._carrier.room_bytes(query_id, now_s=self._told_s)

    def way_capacity(self, query_id: str) -> WayCapacity:
        """What the way to a query's root carries."""
        return self._carrier.way_capacity(query_id, now_s=self._told_s)

    def report(self, states: Iterable[SiteState], *, now_s: float) -> None:
        """This site's states towards the roots of their queries."""
        self._begin(now_s)
        states = tuple(states)
        for state in states:
            self._paths.sent(state, now_s=now_s)
        self._states.report(states, now_s=now_s)

    def acknowledge(self, ack: Acknowledgement, *, now_s: float) -> None:
        """This agent is the root of ``ack.query``: to all its sites, this one included."""
        self._begin(now_s)
        self._acks.give(ack, now_s=now_s)

    # What can be seen from outside.

    def neighbours(self) -> set[str]:
        """The sites to keep links with."""
        return set(self._neighbours.names)

    def linked(self) -> set[str]:
        """The sites that it has links with."""
        return {link.site for link in self._neighbours.links_up()}

    def operator_of(self, query_id: str) -> str:
        """Who has commanded it; empty: nobody that is known here."""
        install = self._commands.log.live.get(query_id)
        return "" if install is None else install.operator

    def live_queries(self) -> dict[str, Install]:
        return dict(self._commands.log.live)

    def set_aside(self) -> set[str]:
        """Queries that are installed, and whose install can't be used here."""
        return set(self._commands.aside)

    def counts(self) -> dict[str, int]:
        """How often each kind of notice has happened, given or not."""
        return dict(self._tray.noted)

    def lies(self) -> tuple[LieMet, ...]:
        """Those that it has met."""
        return self._tray.lies.met()

    def net_dist_s(self, query_id: str) -> float:
        return self._carrier.list.net_dist_s(query_id)

    def link_capacity(self, site: str) -> LinkCapacity:
        """All that is known of what the link with it carries."""
        return self._neighbours.link(site).capacity

    def rtt_s(self, site: str) -> float | None:
        return self._neighbours.link(site).rtt_s

    def coordinates(self) -> Mapping[str, Coordinate]:
        """Where sites are, as far as it is known here."""
        return self._coordinates.table()

    def root_clock(self, root: str) -> RootClock | None:
        """How the clock of a root differs from this peer's; None: not known."""
        return self._paths.root_clock(root, now_s=self._told_s)

    def clock_bounds(self, root: str) -> ClockBounds | None:
        """What the signature of a root proves of its clock; None: nothing."""
        return self._paths.clock_bounds(root)

    def ways(self, query_id: str) -> list[Way]:
        """This peer's parents on each tree of a query, and the host of the last resort."""
        return self._paths.ways(query_id, now_s=self._told_s)

    def handed_to(self, query_id: str) -> list[str]:
        """Those to whom this peer has handed summaries of a query, or would: who may have carried
        what is held of its site."""
        query, host = self._router.live.get(query_id), self._paths.host_of(query_id)
        parents = [] if query is None else query.parents()
        hosts = [] if host is None else [host]
        return [*parents, *hosts, *self._router.carriers(query_id)]

    def above(self, query_id: str, ordinal: int) -> list[str]:
        """The peers between a site and the query's root, on any of its trees."""
        query = self._router.live.get(query_id)
        if query is None:
            return []
        trees = (tree for one in query.tree_sets for tree in one.trees)
        above = dict.fromkeys(one for tree in trees for one in tree.ancestors_of(ordinal))
        names = (self._roster.name_of[one] for one in above)
        return [name for name in names if name != query.root]

    def parents_of(self, query_id: str, ordinal: int) -> list[int]:
        """A site's parents on the trees of the query's newest plan."""
        query = self._router.live.get(query_id)
        if query is None:
            return []
        return [tree.parent[ordinal] for tree in query.tree_set.trees if ordinal in tree.parent]

    def stages(self) -> dict[str, int]:
        """How many summaries left by each stage of the routing policy."""
        return dict(self._carrier.stages)

    def is_silent(self, site: str) -> bool:
        """This peer has heard nothing of that neighbour for too long."""
        return self._neighbours.link(site).is_silent

    def guests(self) -> list[str]:
        """Who has turned to this peer as a last resort."""
        return self._neighbours.guests()

    def heartbeat_count(self) -> int:
        return self._neighbours.beat_count

    def describe(self) -> str:
        """One line for a transcript."""
        links = sorted(link.site for link in self._neighbours.links_up())
        held = self._carrier.list
        return (
            f"{self.site}: links {' '.join(links) or '-'} · queries "
            f"{' '.join(sorted(self._commands.log.live)) or '-'} · holds {len(held)} entries, "
            f"{held.size_bytes} bytes, {len(self._states.batch)} states"
        )

    # How the parts hang together.

    def _begin(self, now_s: float) -> None:
        """Something happens that may move a deadline."""
        self._told_s, self._due_s = now_s, None

    def _overslept(self, late_s: float, *, now_s: float) -> None:
        self._tray.note("late", f"this peer's own tick came {late_s:.1f} s late", now_s=now_s)
        self._neighbours.overslept(late_s, now_s=now_s)
        self._paths.overslept(late_s, now_s=now_s)
        self._absences.overslept()

    def _receive_heartbeat(self, link: Link, beat: Heartbeat, *, now_s: float) -> None:
        problem = problem_with_heartbeat(beat)
        if problem is not None:
            self._tray.refuse(link.site, problem, now_s=now_s)
            return
        sender, is_first = link.site, not link.has_beat
        content = self._beat_content(now_s) if is_first and beat.echo_s is None else UNSAID
        self._neighbours.receive(link, beat, content=content, now_s=now_s)
        self._paths.hear(sender, beat, rtt_s=link.beat_rtt_s, now_s=now_s)
        if link.has_turned or self._paths.awaits(sender):
            link.has_turned = False
            self._look_and_tell(now_s=now_s)
        self._coordinates.hear(sender, beat.coordinate, rtt_s=link.last_rtt_s, now_s=now_s)
        reconciliation = self._commands.reconciliation
        reconciliation.compare(sender, beat.digest, is_first=is_first, now_s=now_s)

    def _receive_marker(self, link: Link, marker: StreamMarker, *, now_s: float) -> None:
        if not 0 < marker.number <= NUMBER_MAX:
            self._tray.refuse(link.site, f"a marker numbered {marker.number}", now_s=now_s)
            return
        link.markers.read(marker, now_s=now_s)

    def _beat_content(self, now_s: float) -> BeatContent:
        self._beat_count += 1
        is_new = self._beat_count <= PLACE_FIRST_BEATS
        has_place = is_new or self._beat_count % PLACE_EVERY_BEATS == 0
        return BeatContent(
            digest=self._commands.log.digest,
            roots=self._paths.say(now_s=now_s),
            coordinate=self._coordinates.own if has_place else None,
        )

    def _look(self, *, now_s: float) -> None:
        """Ways may have closed or opened: look for others, and send what waited for them."""
        self._due_s = None
        self._paths.look(now_s=now_s)
        self._carrier.way_opened(now_s=now_s)
        self._states.flush_waiting(now_s=now_s)

    def _look_and_tell(self, *, now_s: float) -> None:
        """Between heartbeats, what others should know is told by an early one."""
        self._look(now_s=now_s)
        if self._paths.has_news(now_s=now_s):
            self._neighbours.beat_soon(now_s=now_s)

    def _way_opened(self, site: str, *, now_s: float) -> None:
        """The link to this site can take messages (again): what waited for it goes."""
        self._look_and_tell(now_s=now_s)
        self._states.flush(now_s=now_s)
        self._acks.way_opened(site, now_s=now_s)

    def _is_member(self, site: str, *, now_s: float) -> bool:
        if site in self._roster.ordinal_of and site != self.site:
            return True
        self._tray.note("stranger", f"{site[:80]!r} is not another site of the roster", now_s=now_s)
        return False

    def _installed(self, install: Install, sender: str | None, now_s: float) -> None:
        query, problem = open_query(
            install,
            former=self._router.live.get(str(install.query.id)),
            ordinal=self._ordinal,
            roster=self._roster,
            merger_of=self._merger_of,
        )
        if problem is not None:
            self._tray.note("no-merger", f"{query.id} passes unmerged: {problem}", now_s=now_s)
        self._paths.add(query, now_s=now_s)
        self._share(install)
        if install.root_clock_s is not None and sender is not None:
            clock_s, age_s = install.root_clock_s, install.age_s
            self._paths.seed_clock(query.root, clock_s, age_s=age_s, now_s=now_s)

    def _altered(self, install: Install, now_s: float) -> None:
        """Settings change how long its summaries may wait here, and nothing of its ways."""
        known = self._router.live.get(str(install.query.id))
        if known is not None:
            self._router.live[known.id] = known.altered(install)
            self._share(install)

    def _share(self, install: Install) -> None:
        book = install.settings
        changes = tuple((one.pane, one.settings.share) for one in book.changes)
        query, level = install.query, install.query.stands_for
        self.shares.know(
            str(query.id),
            book.first.share,
            changes,
            window=query.window,
            stands_for="" if level is None else level.of,
        )

    def _removed(self, query_id: str, now_s: float) -> None:
        self._paths.discard(query_id, now_s=now_s)
        self._carrier.discard_query(query_id)
        self._states.batch.take(query_id)
        self._acks.discard_query(query_id)
        self._pauses.discard_query(query_id)
        self.shares.forget(query_id)
