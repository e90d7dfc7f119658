"""One neighbour as seen from here: is it there, how far away is it, how much waits for it.

Silence is told apart from slowness by habit. The intervals between signs of life are averaged
together with their deviation (as TCP does for its retransmission timer), and a neighbour is
silent when the present interval is far outside of that. A fixed floor keeps a very regular
neighbour from being accused for one late heartbeat, a ceiling keeps an irregular one from never
being.

The round trip comes from echoes: own clock now, minus own clock when the heartbeat left, minus
how long the other side held it. No clock is compared with another.
"""

from __future__ import annotations

from headwater.algebra.capacity.link_capacity import LinkCapacity
from headwater.overlay.config import OverlayConfig
from headwater.overlay.coordinates.vivaldi import RTT_MAX_S
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.markers import Markers
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.links.shared_room import SharedRoom
from headwater.overlay.messages import BeatContent, Heartbeat, StreamMarker
from headwater.overlay.ways import root_pulses
from headwater.overlay.ways.root_pulses import LOST_S, NO_WAY, RootWay

RTT_WEIGHT = 1 / 8
"""Of a new round trip in the average (RFC 6298)."""
INTERVAL_WEIGHT = 1 / 8
DEVIATION_WEIGHT = 1 / 4
DEVIATIONS_ALLOWED = 4.0
BEATS_ALLOWED = 2.0
"""Whole intervals that may go missing before a neighbour is silent: one lost, one late."""
NAMED_ALLOWED = 2.5
"""Of an interval that a neighbour has named, whatever was usual before."""
PROGRESS_BEATS = 3
PROGRESS_BEATS_PER_LEVEL = 1
"""News of a root take up to one heartbeat for each level, and some may be missed."""
UNSPOKEN_TURNS = 3
"""A root that has had no turn for so long, though there were turns, was not heard of."""


class Link:
    def __init__(self, site: str, config: OverlayConfig, shares: QueryShares | None = None) -> None:
        self.site = site
        self.is_up = False
        self.is_silent = False
        self.rtt_s: float | None = None
        """Averaged."""
        self.last_rtt_s: float | None = None
        self.beat_rtt_s: float | None = None
        """As the newest heartbeat measured it; None: it did not. However late that came, it tells
        a clock within half of it."""
        self.has_turned = False
        """It has found or lost a way to some root; for whoever asks to set it back."""
        self.queued_bytes = 0
        """What the driver has yet to send, as it told us last."""
        self.capacity = LinkCapacity()
        """What it carries, as far as was ever shown; it outlives the connections."""
        self.markers = Markers()
        self._queued_bytes_max = config.link_queue_bytes_max
        self.handed_bytes = 0
        """What we have handed over since then."""
        self.has_control_ahead = False
        """States and acknowledgements had better wait here, where newer ones replace them."""
        self._room = SharedRoom(shares or QueryShares(), queue_s_max=config.queue_s_max)
        self.load_is_told = False
        self.has_been_heard = False
        """Since the link came up: only then is a failed dial forgiven."""
        self._config = config
        self._heard_s = 0.0
        self._interval_s = config.heartbeat_every_s
        self._deviation_s = config.heartbeat_every_s / 2
        self._next_s = 0.0
        """By which its next heartbeat comes, as it has named it; 0: as usual."""
        self._echo_s: float | None = None
        self._echo_came_s = 0.0
        self._asleep_s = 0.0
        """Since then, in which a heartbeat would not have been heard."""
        self._up_s = float("-inf")
        self._ways: dict[int, tuple[RootWay, float]] = {}
        """By root: what this neighbour last said of its way there, and when."""
        self._is_full = False
        """Its heartbeats have no room for all roots that it knows."""

    @property
    def is_open(self) -> bool:
        """A summary may be put on it now."""
        return self.is_up and not self.is_silent and not self.is_congested

    @property
    def has_beat(self) -> bool:
        """A heartbeat has come since the link is up."""
        return self._echo_s is not None

    @property
    def is_congested(self) -> bool:
        """So much waits that another way is better. What has waited for its time alone is not
        that: it would wait there as well, and bring its load with it."""
        return self.queued_bytes >= self._config.link_queue_bytes_max

    @property
    def is_filled(self) -> bool:
        """What waits takes its time, and what was handed over since the driver had its turn may
        fill it. That is no reason for a detour, and none to hand over more."""
        handed_bytes = self.handed_bytes if self.load_is_told else 0
        return self.queued_bytes + handed_bytes >= self._queued_bytes_max

    def is_filled_for(self, query: str) -> bool:
        """The same for one query: it may also have its part of what may wait already."""
        handed_bytes = self.handed_bytes if self.load_is_told else 0
        queued_bytes = self.queued_bytes + handed_bytes
        return not self._room.left(
            query, queued_bytes=queued_bytes, queued_bytes_max=self._queued_bytes_max
        )

    def room_bytes(self, query: str) -> int:
        """How much more may be handed over of a query."""
        if not self.is_open:
            return 0
        queued_bytes = self.queued_bytes + self.handed_bytes
        return self._room.left(
            query, queued_bytes=queued_bytes, queued_bytes_max=self._queued_bytes_max
        )

    def part_of(self, query: str) -> float:
        """Of what it carries, what a query can have beside those that want it now."""
        return self._room.part_of(query)

    def hand_over(self, query: str, byte_count: int, *, now_s: float) -> StreamMarker | None:
        """So much is on its way to the driver, which has not said so yet. What is returned goes
        behind it."""
        self.capacity.used(byte_count)
        self.markers.handed(byte_count, now_s=now_s)
        if self.load_is_told:
            self.handed_bytes += byte_count
            self._room.handed(query, byte_count)
        if self._room.has_budget(query):
            return None  # it would wait for the budget, and tell that
        ahead_bytes = self.queued_bytes + max(self.handed_bytes, byte_count)
        return self.markers.due(query, ahead_bytes=ahead_bytes, now_s=now_s)

    @property
    def one_way_s(self) -> float:
        """How much older a message has grown on this link."""
        return 0.0 if self.rtt_s is None else self.rtt_s / 2

    def up(self, *, now_s: float) -> None:
        self.is_up = True
        self.is_silent = False
        self.has_been_heard = False
        self._heard_s = now_s
        self._up_s = now_s
        self.markers.forget()
        self._next_s = 0.0
        self._ways.clear()
        self._is_full = False
        self._echo_s = None
        self._forget_load()

    def down(self) -> None:
        self.is_up = False
        self.is_silent = False
        self._forget_load()

    def load(self, load: LinkLoad, *, now_s: float) -> bool:
        """The driver tells what waits on this link. True where there may be room again."""
        self.capacity.drained(load.bytes_per_s, queued_bytes=load.queued_bytes, now_s=now_s)
        if load.delivery is not None:
            self.capacity.delivered(load.delivery, now_s=now_s)
        was_filled = self.is_congested or self.is_filled or self._room.has_turned_away
        had_control_ahead = self.has_control_ahead
        self.has_control_ahead = load.has_control_ahead
        self._room.told(load.queued_by)
        self.queued_bytes = load.queued_bytes
        if load.queued_bytes_max is not None:
            limit_bytes = self._config.link_queue_bytes_max
            self._queued_bytes_max = min(load.queued_bytes_max, limit_bytes)
        self.handed_bytes = 0
        self.load_is_told = True
        has_caught_up = had_control_ahead and not self.has_control_ahead
        return has_caught_up or (was_filled and not self.is_filled)

    def _forget_load(self) -> None:
        self.queued_bytes = 0
        self.handed_bytes = 0
        self.has_control_ahead = False
        self._room.forget()

    def heard(self, *, now_s: float) -> bool:
        """Any message is a sign of life. True where it ends a silence."""
        was_silent = self.is_silent
        self.is_silent = False
        self.has_been_heard = True
        self._heard_s = now_s
        return was_silent

    def receive(self, beat: Heartbeat, *, own: int = -1, now_s: float) -> None:
        """Intervals are learned from heartbeats alone: data comes in bursts. ``own`` is this
        peer's ordinal."""
        if self._echo_s is not None:
            self._learn_interval(now_s - self._echo_came_s - self._asleep_s)
        self._next_s = beat.next_s
        self._echo_s = beat.sent_s
        self._echo_came_s = now_s
        self._asleep_s = 0.0
        self.beat_rtt_s = None
        if beat.echo_s is not None:
            rtt_s = now_s - beat.echo_s - beat.echo_held_s
            if 0.0 <= rtt_s <= RTT_MAX_S:
                known_s = rtt_s if self.rtt_s is None else self.rtt_s
                self.rtt_s = known_s + RTT_WEIGHT * (rtt_s - known_s)
                self.last_rtt_s = self.beat_rtt_s = rtt_s
                self.capacity.round_trip(rtt_s, now_s=now_s)
        if (marked := self.markers.hear(beat, now_s=now_s)) is not None:
            self.capacity.marked(marked, now_s=now_s)
        self._hear_ways(beat, own=own, now_s=now_s)

    def _hear_ways(self, beat: Heartbeat, *, own: int, now_s: float) -> None:
        """Of each root the first way that does not lead through ourselves counts."""
        one_way_s = self.one_way_s
        ways: dict[int, RootWay] = {}
        for pulse in beat.roots:
            if ways.get(pulse.root, NO_WAY) is NO_WAY:
                is_none = pulse.age_s >= LOST_S or own in pulse.via
                seen_s = now_s - pulse.age_s - one_way_s
                ways[pulse.root] = (
                    NO_WAY if is_none else RootWay(seen_s, pulse.via, pulse.by_host, pulse.carries)
                )
        for root, way in ways.items():
            was, _ = self._ways.get(root, (None, 0.0))
            if way is not NO_WAY and way.carries is None and was is not None:
                way = RootWay(way.seen_s, way.via, way.by_host, was.carries)
            self.has_turned |= (was is NO_WAY) != (way is NO_WAY)
            self._ways[root] = (way, now_s)
        self._is_full = len(ways) >= root_pulses.ROOTS_MAX

    def way_to(
        self, root: int, *, level: int, is_above: bool, turn_beats: int = 1, now_s: float
    ) -> RootWay | None:
        """Its way to a root; None where it has none, or its news are too old for a peer on this
        level: it is up, and yet it is cut off. What was never heard from somebody above us counts
        from when the link came up; somebody below must have a way of its own, so its word is
        needed. ``turn_beats``: every root is spoken of once in so many heartbeats."""
        beat_s = max(self._interval_s, self._next_s, self._config.heartbeat_every_s) * turn_beats
        way, spoken_s = self._ways.get(root, (None, 0.0))
        if way is None or self._is_unspoken(now_s - spoken_s, turn_s=beat_s):
            if not is_above:
                return None
            way = RootWay(self._echo_came_s + self._asleep_s if self._is_full else self._up_s)
        beats = PROGRESS_BEATS + PROGRESS_BEATS_PER_LEVEL * level
        return way if now_s - way.seen_s <= beats * beat_s else None

    def told_of(self, root: int) -> float | None:
        """What its way to a root carries, as it has said last."""
        return self._ways.get(root, (NO_WAY, 0.0))[0].carries

    def _is_unspoken(self, past_s: float, *, turn_s: float) -> bool:
        """It speaks of more roots than we know of, and not of this one: that is no news of the
        root. It would say that a way was lost before anything else, so its silence is none."""
        return self._is_full and past_s > UNSPOKEN_TURNS * turn_s

    def beat(
        self, content: BeatContent, *, needs_link: bool = True, next_s: float = 0.0, now_s: float
    ) -> Heartbeat:
        """A driver tells of a queue as soon as there is one; what was handed over a heartbeat ago
        and was never told of has left, and must not be held against the link for ever."""
        self.handed_bytes = 0
        self._room.forget_handed()
        held_s = max(0.0, now_s - self._echo_came_s) if self._echo_s is not None else 0.0
        marker, marker_held_s = self.markers.answer(now_s=now_s)
        return Heartbeat(
            sent_s=now_s,
            echo_s=self._echo_s,
            echo_held_s=held_s,
            digest=content.digest,
            roots=content.roots,
            coordinate=content.coordinate,
            needs_link=needs_link,
            next_s=next_s,
            marker=marker,
            marker_held_s=marker_held_s,
        )

    def silent_after_s(self) -> float:
        usual_s = BEATS_ALLOWED * self._interval_s + DEVIATIONS_ALLOWED * self._deviation_s
        config = self._config
        habit_s = min(max(usual_s, config.silent_floor_s), config.silent_ceiling_s)
        return max(habit_s, NAMED_ALLOWED * self._next_s)

    def silent_at_s(self, *, now_s: float) -> float:
        """When it will have been silent for too long, if it says nothing until then."""
        if now_s < self._heard_s:  # the clock was set back
            self._heard_s = now_s
        return self._heard_s + self.silent_after_s()

    def fall_silent(self) -> bool:
        """True where it was not."""
        was_silent, self.is_silent = self.is_silent, True
        return not was_silent

    def overslept(self, late_s: float, *, now_s: float) -> None:
        """We were asleep ourselves, until now: what was not heard meanwhile proves nothing, be it
        of this neighbour or of the roots that it speaks of. What was heard all the same is new."""
        self._heard_s = min(self._heard_s + late_s, now_s)
        self._up_s = min(self._up_s + late_s, now_s)
        self._asleep_s += late_s
        self._ways = {
            root: (_later(way, late_s, now_s), min(spoken_s + late_s, now_s))
            for root, (way, spoken_s) in self._ways.items()
        }

    def _learn_interval(self, interval_s: float) -> None:
        if interval_s <= 0.0:
            return
        off_s = abs(interval_s - self._interval_s)
        self._deviation_s += DEVIATION_WEIGHT * (off_s - self._deviation_s)
        self._interval_s += INTERVAL_WEIGHT * (interval_s - self._interval_s)


def _later(way: RootWay, late_s: float, now_s: float) -> RootWay:
    """The same way, as if its pulse had been given so much later."""
    if way is NO_WAY:
        return way
    return RootWay(min(way.seen_s + late_s, now_s), way.via, way.by_host, way.carries)
