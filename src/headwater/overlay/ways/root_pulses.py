"""Pulses of the roots (signs of life, and their clocks), passed on from neighbour to neighbour.

Every heartbeat says of each root how old the newest pulse of it is that the sender has by the way
that it would send summaries, who is on that way, and what it takes the root's clock to show. A
root's own pulse is new; everybody else repeats one that they have heard, grown older. Three things
come of it:

*A way.* Of the ways that its summaries may take, a peer tells the shortest. Whoever is on it can't
go by this peer that way; where that is one of its children, it tells a second way without them.
Who has no way left says so at once, and those behind it turn elsewhere: a parent can be up and
prompt and yet cut off from the root.

*Progress.* Pulses only ever grow older on the way, so no ring of peers, however long, can keep
itself believing in a root that is gone.

*Time.* Own clock plus ``offset_s`` is the root's clock, within half a round trip for each hop. Both
are the steady clocks of their processes: that a wall clock is set changes nothing here. What one
neighbour says is one vote (``clock_votes.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from headwater.overlay.clocks.clock_proof import ClockBounds
from headwater.overlay.clocks.clock_votes import ClockVotes
from headwater.overlay.clocks.root_clock import RootClock
from headwater.overlay.config import OverlayConfig

ROOTS_MAX = 16
"""Roots that one heartbeat speaks of; where there are more, they take turns (``pulse_turns``)."""
PULSES_MAX = 2 * ROOTS_MAX
"""Signs in a heartbeat: a way to each root, and another one where it needs that."""
WORDS_AWAITED = 8
"""So often nothing is said of a root that there never was a way to; where roots take turns, that
there is none is said then, for silence would be taken for a turn that has not come."""
VIA_MAX = 8
"""Peers that a pulse names: more than trees are high, so that a ring is seen for what it is."""
SEED_SPREAD_S = 0.1
"""An installer does not know the root's clock better than this."""
SPREAD_MAX_S = 600.0
"""Who may be wrong by more knows nothing of a clock. Told on, it would grow with each hop, until
our heartbeats were refused for it."""
LOST_S = 1e9
"""The age of a pulse that says: I have no way to this root."""


class RootPulse(msgspec.Struct, frozen=True, array_like=True):
    root: int
    """Its ordinal."""
    age_s: float
    """Of the newest sign of life, or ``LOST_S``."""
    clock_s: float | None = None
    """What the root's clock shows now; None: not known."""
    spread_s: float = 0.0
    """By how much that may be wrong."""
    via: tuple[int, ...] = ()
    """Through whom the sender has the pulse, the nearest first: nobody shall take heart from an
    echo of itself, however many have passed it on."""
    by_host: bool = False
    """Somebody on the way goes by a last resort."""
    clock_age_s: float = 0.0
    """Since the root itself told the clock: of two that contradict each other, the one that was
    told later counts. A root that starts anew may have another clock, and what others remember of
    the former one would go round among them for ever."""
    carries: float | None = None
    """What the sender's way to the root carries, in bytes a second; None: not known."""
    is_confirmed: bool = True
    """The sender has its clock from the root itself, or three confirm it; agents of 0.3 do not
    say."""


class RootWay(msgspec.Struct, frozen=True, order=True):
    """What a neighbour said of a root, as it counts here."""

    seen_s: float
    """When the pulse was given, on our clock; minus infinity: no way, or one through ourselves."""
    via: tuple[int, ...] = ()
    by_host: bool = False
    carries: float | None = None
    """The least over the links of it; None: not known."""


NO_WAY = RootWay(float("-inf"))


class RootPulses:
    """``ways_to`` finds the ways to a root that are to be told at a time, the best one first;
    ``patience_s`` is how long news of a root may take."""

    def __init__(
        self,
        ordinal: int,
        *,
        ways_to: Callable[[int, float], list[RootWay]],
        name_of: Mapping[int, str],
        config: OverlayConfig,
        patience_s: Callable[[], float],
    ) -> None:
        self._ordinal = ordinal
        self._ways_to = ways_to
        self._name_of = name_of
        self._config = config
        self._patience_s = patience_s
        self._has_way: dict[int, bool | None] = {}
        """By root: what was last said of it; None: nothing yet."""
        self._unsaid: dict[int, int] = {}
        """By root: how often nothing was said of it."""
        self._votes: dict[int, ClockVotes] = {}
        """On the clocks of all roots but this peer itself."""
        self._own: frozenset[int] = frozenset()

    def set_roots(self, parents: Mapping[int, Collection[str]]) -> None:
        """The roots of the queries that are live here, at most as many as there are queries, and
        who is above us in their trees."""
        wanted = sorted(parents)
        self._own = frozenset(wanted) & {self._ordinal}
        self._has_way = {root: self._has_way.get(root) for root in wanted}
        self._unsaid = {root: count for root, count in self._unsaid.items() if root in wanted}
        self._votes = {
            root: self._votes.get(root) or self._new_votes(root)
            for root in wanted
            if root not in self._own
        }
        for root, votes in self._votes.items():
            votes.set_parents(parents[root])

    def _new_votes(self, root: int) -> ClockVotes:
        config = self._config
        return ClockVotes(
            self._name_of[root], apart_s=config.clock_apart_s, vote_s=config.clock_vote_s
        )

    def hear_clocks(
        self, sender: str, pulses: Iterable[RootPulse], *, rtt_s: float | None, now_s: float
    ) -> None:
        """A clock may be learned from anybody with a way to the root, whether or not summaries go
        there; but an echo of our own word is no vote."""
        if rtt_s is None:
            return
        for pulse in pulses:
            votes = self._votes.get(pulse.root)
            if votes is None or pulse.clock_s is None or self._ordinal in pulse.via:
                continue
            if pulse.spread_s > SPREAD_MAX_S:
                continue
            if pulse.age_s < LOST_S or sender in votes.parents or not votes.parents:
                offset_s = pulse.clock_s + rtt_s / 2 - now_s
                told_s = now_s - rtt_s / 2 - pulse.clock_age_s
                votes.hear(
                    sender,
                    RootClock(
                        offset_s=offset_s,
                        spread_s=pulse.spread_s + rtt_s / 2,
                        at_s=now_s,
                        told_s=told_s,
                        is_confirmed=pulse.is_confirmed,
                    ),
                )

    def seed(self, root: int, clock_s: float, *, age_s: float, now_s: float) -> None:
        """A message of this age, as a neighbour hands it on, told what the root's clock showed when
        it left. Its age is made of half round trips, so that is about as far as it can be trusted,
        until a neighbour has said better."""
        votes = self._votes.get(root)
        if votes is not None:
            offset_s = clock_s + age_s - now_s
            votes.seed(
                RootClock(
                    offset_s=offset_s,
                    spread_s=SEED_SPREAD_S + age_s,
                    at_s=now_s,
                    told_s=now_s - age_s,
                )
            )

    def prove(self, root: int, bounds: ClockBounds | None) -> None:
        """What the root's own signature says of its clock."""
        votes = self._votes.get(root)
        if votes is not None:
            votes.prove(bounds)

    def aside(self) -> Iterable[tuple[int, str, float]]:
        """(root, neighbour, by how much) of votes that are far off the others."""
        return (
            (root, voter, off_s)
            for root, votes in self._votes.items()
            for voter, off_s in votes.aside.items()
        )

    def long_aside(self, *, now_s: float) -> Iterable[tuple[int, str, float]]:
        """The same of those who have been so for long: no root has started anew meanwhile."""
        return (
            (root, voter, off_s)
            for root, votes in self._votes.items()
            for voter, off_s in votes.long_aside(now_s=now_s).items()
        )

    def say(self, *, now_s: float) -> tuple[RootPulse, ...]:
        """All that there is to say; roots to which there never was a way are left out. Signs of
        one root stand together. Which of them a heartbeat takes is up to ``PulseTurns``."""
        pulses: list[RootPulse] = []
        for root in self._has_way:
            ways = self._find(root, now_s)
            if ways or self._has_way[root] is not None or self._is_given_up(root):
                self._has_way[root] = bool(ways)
                pulses.append(self._pulse_of(root, ways[0] if ways else None, now_s))
                pulses += [_pulse(root, way, now_s) for way in ways[1:]]
        return tuple(pulses)

    def _is_given_up(self, root: int) -> bool:
        self._unsaid[root] = self._unsaid.get(root, 0) + 1
        return len(self._has_way) > ROOTS_MAX and self._unsaid[root] > WORDS_AWAITED

    def has_news(self, *, now_s: float) -> bool:
        """A way was lost or found since something was said: others should not wait for it."""
        return any(
            had_way is not None and had_way != bool(self._find(root, now_s))
            for root, had_way in self._has_way.items()
        )

    def _find(self, root: int, now_s: float) -> list[RootWay]:
        return [RootWay(now_s)] if root in self._own else self._ways_to(root, now_s)

    def clock_of(self, root: int, *, now_s: float) -> RootClock | None:
        if root in self._own:
            return RootClock(
                offset_s=0.0,
                spread_s=0.0,
                at_s=now_s,
                told_s=now_s,
                is_confirmed=True,
                is_ready=True,
            )
        votes = self._votes.get(root)
        return None if votes is None else votes.count(patience_s=self._patience_s(), now_s=now_s)

    def _pulse_of(self, root: int, way: RootWay | None, now_s: float) -> RootPulse:
        pulse = RootPulse(root=root, age_s=LOST_S) if way is None else _pulse(root, way, now_s)
        clock = self.clock_of(root, now_s=now_s)
        votes = self._votes.get(root)
        if clock is None or (votes is not None and votes.is_hearsay and root not in self._own):
            return pulse  # an install's word went to all: told on, one lie would have many votes
        return RootPulse(
            root=root,
            age_s=pulse.age_s,
            clock_s=now_s + clock.offset_s,
            spread_s=clock.spread_at(now_s),
            via=pulse.via,
            by_host=pulse.by_host,
            clock_age_s=min(max(0.0, now_s - clock.told_s), LOST_S),
            carries=pulse.carries,
            is_confirmed=clock.is_confirmed,
        )


def _pulse(root: int, way: RootWay, now_s: float) -> RootPulse:
    age_s = max(0.0, now_s - way.seen_s)
    via, by_host = way.via[:VIA_MAX], way.by_host
    return RootPulse(root=root, age_s=age_s, via=via, by_host=by_host, carries=way.carries)
