"""The neighbours of a peer: links kept, heartbeats exchanged, silence noticed.

A neighbour is whoever is parent or child in any tree, counted once: one link, one heartbeat,
whatever the number of queries and trees between the two (Mortar, section 3.3). All heartbeats of
a peer leave at one time, and silence is looked for then too, so there is one deadline to keep.
Heartbeats have a budget: with many neighbours they come less often.

Beside neighbours there are *hosts*, whom this peer has turned to as its last resort, and *guests*,
who have turned to it; guests are limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headwater.algebra.budget import Budget
from headwater.overlay.here import Here
from headwater.overlay.links.dialling import Backoff, is_dialler
from headwater.overlay.links.link import PROGRESS_BEATS, PROGRESS_BEATS_PER_LEVEL, Link
from headwater.overlay.messages import BeatContent, Heartbeat
from headwater.overlay.outputs import CONTROL, Dial, Hangup, Transmit
from headwater.overlay.ways.pulse_turns import PulseTurns
from headwater.overlay.ways.root_pulses import PULSES_MAX, RootWay

BEAT_BYTES = 160
"""About what a heartbeat takes on the wire: message, frame, TLS record and TCP header."""
NEWS_EVERY_S = 0.25
"""News of a way lost or found do not wait for the next heartbeat, but come no more often."""
NEWS_SHARE = 0.5
"""Of the interval that a budget affords: news then take all of control's share, and no more."""

PATIENCES = 2.0
"""Clocks are told on by whoever has heard the middle of what others say, not the newest."""


class Neighbours:
    def __init__(self, here: Here) -> None:
        self.names: set[str] = set()
        self._here = here
        self.budgets = here.budgets
        self._site = here.site
        self._roster = here.roster
        self._config = config = here.config
        self._tray = here.tray
        self._dial_budget = Budget.full(per_s=config.dials_per_s_max, burst=config.dials_burst_max)
        self._links: dict[str, Link] = {}
        self._backoffs: dict[str, Backoff] = {}
        self._diallable: list[str] = []
        self._missing: list[str] = []
        """Of those, the ones without a link."""
        self.hosts: set[str] = set()
        """Wanted beside the neighbours."""
        self.beat_count = 0
        """Heartbeats sent."""
        self._level = 0
        self._turns = PulseTurns()
        self._budget_s = 0.0
        """How far apart heartbeats must be for the links' budgets."""
        self._beat_s = float("-inf")
        self._next_beat_s = 0.0
        self._silence_s = float("inf")
        """Nobody can fall silent earlier than this."""

    def set_relations(
        self,
        *,
        parents: set[str],
        children: set[str],
        level: int = 0,
        roots: Mapping[str, frozenset[int]] | None = None,
        root_count: int = 1,
    ) -> None:
        """Called whenever a tree comes or goes; ``level`` is the farthest from a root, ``roots``
        are by neighbour those on whose ways the link to it lies."""
        self._level = level
        self._turns.relate(roots or {}, root_count=root_count)
        self.names = parents | children
        self._diallable = [
            other
            for other in sorted(self.names)
            if is_dialler(
                self._site,
                other,
                dialable=self._roster.dialable,
                is_parent=other in parents,
                is_child=other in children,
            )
        ]
        for gone in self._backoffs.keys() - self.names:
            del self._backoffs[gone]
        self._find_missing()

    def link(self, site: str) -> Link:
        link = self._links.get(site)
        if link is None:
            link = self._links[site] = Link(site, self._config, self._here.shares)
        return link

    def links_up(self) -> Iterator[Link]:
        return (link for link in self._links.values() if link.is_up)

    def is_up(self, site: str) -> bool:
        link = self._links.get(site)
        return link is not None and link.is_up

    def is_open(self, site: str) -> bool:
        link = self._links.get(site)
        return link is not None and link.is_open

    def has_control_ahead(self, site: str) -> bool:
        """What is put on the link now waits behind other control."""
        link = self._links.get(site)
        return link is not None and link.has_control_ahead

    def way_by(
        self, site: str, root: str, *, now_s: float, is_above: bool = True
    ) -> RootWay | None:
        """How a summary for this root gets on from this site; None: it does not. A full link is
        still a way: what waits for it is merged meanwhile, and a detour would cost as much.
        ``is_above``: the site is nearer to the root than we are, by some tree."""
        link = self._links.get(site)
        if link is None or not link.is_up or link.is_silent:
            return None
        ordinal = self._roster.ordinal_of.get(root, -1)
        if site == root:
            return RootWay(now_s, carries=link.told_of(ordinal))
        return link.way_to(
            ordinal,
            level=self._level,
            is_above=is_above,
            turn_beats=self._turns.turn_beats,
            now_s=now_s,
        )

    def leads_to(self, site: str, root: str, *, is_above: bool = True, now_s: float) -> bool:
        return self.way_by(site, root, now_s=now_s, is_above=is_above) is not None

    def takes(self, site: str, root: str, *, is_above: bool, now_s: float) -> bool:
        """Whether a summary for this root may be put on the link now, and gets on from there."""
        link = self._links.get(site)
        if link is None or not link.is_open:
            return False
        return self.way_by(site, root, now_s=now_s, is_above=is_above) is not None

    def patience_s(self) -> float:
        """How long news of a root may take to come here, by any of the ways."""
        beat_s = self._config.heartbeat_every_s * self._turns.turn_beats
        return PATIENCES * (PROGRESS_BEATS + PROGRESS_BEATS_PER_LEVEL * self._level) * beat_s

    def guests(self) -> list[str]:
        return [link.site for link in self.links_up() if not self._needs(link.site)]

    def link_up(self, site: str, *, content: BeatContent, now_s: float) -> None:
        """The first heartbeat goes at once, so that the distance is soon known."""
        link = self.link(site)
        if next(self.links_up(), None) is None:
            for backoff in self._backoffs.values():
                backoff.try_soon(now_s=now_s)
        link.up(now_s=now_s)
        self._find_missing()
        if len(self.guests()) > self._config.guests_max and site not in self.names:
            self._tray.put(Hangup(site))
        else:
            self._beat_to(link, content, now_s=now_s)

    def link_down(self, site: str) -> None:
        self.link(site).down()
        self._find_missing()

    def receive(self, link: Link, beat: Heartbeat, *, content: BeatContent, now_s: float) -> None:
        """The first heartbeat of a link is answered at once, later ones by the next beat. A link
        that neither end needs is closed: its trees are gone, or a host answered too late."""
        is_first = not link.has_beat
        link.receive(beat, own=self._here.ordinal, now_s=now_s)
        if not beat.needs_link and link.is_up and not self._needs(link.site):
            self._tray.put(Hangup(link.site))
        elif is_first and link.is_up and beat.echo_s is None:
            self._beat_to(link, content, now_s=now_s)

    def _needs(self, site: str) -> bool:
        return site in self.names or site in self.hosts

    def _beat_to(self, link: Link, content: BeatContent, *, now_s: float) -> None:
        self.beat_count += 1
        roots = self._turns.pick(link.site, content.roots)
        if roots is not content.roots:
            content = content._replace(roots=roots)
        needs_link, next_s = self._needs(link.site), self._named_s()
        beat = link.beat(content, needs_link=needs_link, next_s=next_s, now_s=now_s)
        self._tray.put(Transmit(link.site, beat, CONTROL))

    def heard(self, link: Link, *, now_s: float) -> bool:
        """Any message is a sign of life. True where it ends a silence."""
        if not link.has_been_heard and link.site in self._backoffs:
            self._backoffs[link.site].reached()
        return link.heard(now_s=now_s)

    def is_beat_due(self, now_s: float) -> bool:
        """Also when the clock was set back and the time for it is out of reach."""
        left_s = self._next_beat_s - now_s
        if 0.0 < left_s <= self._config.heartbeat_every_s:
            return False
        return left_s <= 0.0 or left_s > self._beat_every_s(sum(1 for _ in self.links_up()))

    def beat_soon(self, *, now_s: float) -> None:
        """There is news that others should not wait for."""
        news_s = max(NEWS_EVERY_S, NEWS_SHARE * self._budget_s)
        self._next_beat_s = min(self._next_beat_s, max(now_s, self._beat_s + news_s))

    def _beat_every_s(self, link_count: int) -> float:
        afforded_s = link_count * BEAT_BYTES / self._config.heartbeat_bytes_s_max
        return max(self._config.heartbeat_every_s, afforded_s, self._budget_s)

    def _named_s(self) -> float:
        """Where its budget makes this peer send less often, the others are told when the next one
        comes, and do not have to find out."""
        return self._budget_s if self._budget_s > self._config.heartbeat_every_s else 0.0

    def overslept(self, late_s: float, *, now_s: float) -> None:
        """This peer was asleep until now, and must not accuse its neighbours of what it missed."""
        for link in self.links_up():
            link.overslept(late_s, now_s=now_s)

    def watch(self, *, late_s: float = 0.0, now_s: float) -> bool:
        """Hang up on those who have been silent for too long; looked for when that may be so. In a
        tick that came late, words may be waiting to be heard for about as long as it was late.
        True where there was somebody."""
        if now_s < self._silence_s and not self.is_beat_due(now_s):
            return False
        has_silenced = False
        self._silence_s = float("inf")
        for link in self.links_up():
            silent_s = link.silent_at_s(now_s=now_s)
            if silent_s + late_s > now_s:
                again_s = silent_s if silent_s > now_s else silent_s + late_s
                self._silence_s = min(self._silence_s, again_s)
            elif link.fall_silent():
                text = f"{link.site} has been silent for {link.silent_after_s():.1f} s"
                self._tray.note("silent", text, now_s=now_s)
                self._tray.put(Hangup(link.site))
                has_silenced = True
        return has_silenced

    def beat(self, content: BeatContent, *, now_s: float) -> None:
        """A heartbeat for everybody."""
        links = list(self.links_up())
        signs = min(len(content.roots), PULSES_MAX)
        self._budget_s = self.budgets.beat_every_s((link.site for link in links), signs=signs)
        self._beat_s = now_s
        self._next_beat_s = now_s + self._beat_every_s(len(links))
        for link in links:
            self._beat_to(link, content, now_s=now_s)

    @property
    def every_s(self) -> float:
        """Between the last heartbeat and the next."""
        return self._next_beat_s - self._beat_s

    def dial(self, *, now_s: float) -> None:
        """Those whose turn it is, of the neighbours without a link, within the budget. Who has been
        due for longest comes first, so that nobody waits for ever."""
        due = [site for site in self._missing if self._backoff(site).is_due(now_s=now_s)]
        if not due:
            return
        due.sort(key=lambda site: self._backoff(site).next_s)
        budget = self._dial_budget.at(now_s, share=self._here.wake.share(now_s))
        dialled: list[Dial] = []
        for site in due:
            if not budget.allows():
                text = f"{len(due) - len(dialled)} dials wait for their budget"
                self._tray.note("dials wait", text, now_s=now_s)
                break
            budget = budget.spend()
            self._backoff(site).dialled(now_s=now_s)
            dialled.append(Dial(site))
        self._dial_budget = budget
        self._tray.put(*dialled)

    def next_deadline_s(self) -> float:
        due_s = min(self._next_beat_s, self._silence_s)
        if not self._missing:
            return due_s
        dial_s = min(self._backoff(site).next_s for site in self._missing)
        return min(due_s, max(dial_s, self._dial_budget.allows_at_s(share=self._dial_share())))

    def _dial_share(self) -> float:
        """As it was when the budget was last looked at: it grows since, so this is not too soon."""
        return self._here.wake.share(self._dial_budget.at_s)

    def _find_missing(self) -> None:
        self._missing = [site for site in self._diallable if not self.is_up(site)]

    def _backoff(self, site: str) -> Backoff:
        backoff = self._backoffs.get(site)
        if backoff is None:
            backoff = self._backoffs[site] = Backoff(
                f"{self._site}>{site}",
                first_s=self._config.dial_first_s,
                last_s=self._config.dial_last_s,
            )
        return backoff
