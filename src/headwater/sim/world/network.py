"""Links as TCP gives them, and takes them away.

What a connection promises is little: bytes arrive in order on each of its two lanes (control and
bulk are connections of their own, so messages overtake each other between lanes), until it breaks.
Then what was written may or may not have been taken, and only what was never written is known not
to have been. A cut is not noticed at once, and not by both ends at the same time; while nobody has
noticed, TCP holds what was written and delivers it if the path heals first.

A path is one direction between two sites. Cutting one and not the other is the nastier fault:
what comes back is still delivered, although its sender will never know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random
from typing import Protocol

from headwater.overlay.links.byte_budget import Traffic
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.query_spending import query_of
from headwater.sim.faults.sending_budgets import SendingBudgets
from headwater.sim.world.connection import Connection, Half, Message, Path
from headwater.sim.world.event_queue import EventQueue

SOCKET_MESSAGES_MAX = 3
"""Messages that a blocked socket still takes; these are the ones whose fate is unknown."""
NOTICE_S = (1.5, 5.0)
"""After which time without a byte an end gives a connection up, drawn for each end."""
ECHO_S = (0.1, 12.0)
"""How much later an echo comes: mostly soon, at most longer than a summary lives."""
RESEND_S = 0.2
"""After which TCP sends a lost packet again, at the earliest; it doubles."""
RESENDS_MAX = 6

QUEUE_S_MAX = 2.0
"""As in an agent."""

DelayOf = Callable[[str, str], float]
"""The one-way delay from a site to a site."""
Hits = Callable[[str, str], bool]
"""Whether a cut goes through the path from a site to a site."""


class Ends(Protocol):
    """What the network tells the sites' processes; all of it in virtual time."""

    def life_of(self, site: str) -> int:
        """The number of the process that runs there; 0 when none does."""

    def linked(self, site: str, peer: str) -> None: ...

    def unlinked(self, site: str, peer: str, unsent: list[Message]) -> None: ...

    def arrived(self, site: str, sender: str, message: Message) -> None: ...

    def queued(self, site: str, peer: str, load: LinkLoad) -> None:
        """How much waits unwritten on a link; told when it grows or shrinks."""

    def size_bytes(self, message: Message) -> int: ...

    def is_beat(self, message: Message) -> bool:
        """It waits for no budget."""

    def aged(self, message: Message, by_s: float) -> Message:
        """The message after it has waited so long unwritten."""


class Network:
    """Every connection of the federation."""

    def __init__(
        self,
        queue: EventQueue,
        ends: Ends,
        *,
        random: Random,
        delay_of: DelayOf,
        jitter: float = 0.25,
        bytes_per_s: float | None = None,
        budgets: SendingBudgets | None = None,
    ) -> None:
        """``delay_of`` is asked once for a pair that has anything to say to each other; a world of
        thousands has far more pairs than links. ``jitter``: delays are longer by up to this.
        ``bytes_per_s``: what a path carries unless it is shaped; None: there is no limit."""
        self._delay_of = delay_of
        self._jitter = jitter
        self._bytes_per_s = bytes_per_s
        self._budgets = budgets or SendingBudgets({})
        self._severed: list[Hits] = []
        self._queue = queue
        self._ends = ends
        self._random = random
        self._paths: dict[tuple[str, str], Path] = {}
        self._connections: dict[tuple[str, str], Connection] = {}
        """By (end, other end): what that end believes in."""
        self._dialing: set[tuple[str, str, int]] = set()
        self.lost_count = 0
        self.echo_count = 0
        self.held_count = 0
        """How often something had to wait for a budget."""

    def _path(self, sender: str, receiver: str) -> Path:
        path = self._paths.get((sender, receiver))
        if path is None:
            path = self._paths[sender, receiver] = Path(self._delay_of(sender, receiver))
            path.bytes_per_s = self._bytes_per_s
            path.block_count = sum(hits(sender, receiver) for hits in self._severed)
        return path

    def is_linked(self, site: str, peer: str) -> bool:
        return (site, peer) in self._connections

    # ---- what processes ask for

    def dial(self, site: str, peer: str) -> None:
        """Try once; the dialler tries again by itself when nothing comes of it."""
        life = self._ends.life_of(site)
        if (site, peer) in self._connections or (site, peer, life) in self._dialing:
            return
        self._dialing.add((site, peer, life))
        there, back = self._path(site, peer), self._path(peer, site)
        delay_s = 2 * (there.delay_s + there.extra_delay_s) + back.delay_s + back.extra_delay_s
        self._queue.after(delay_s, self._connect, site, peer, life)

    def send(self, sender: str, receiver: str, message: Message, priority: int) -> bool:
        """False: there is no link, so the message was surely not written."""
        self._budgets.passes(sender, message)
        connection = self._connections.get((sender, receiver))
        if connection is None:
            return False
        half, path = connection.halves[sender], connection.halves[sender].path
        is_counted = self._budgets.counts_on(sender, receiver, message)
        if path.block_count or path.bytes_per_s is not None or half.is_busy or is_counted:
            first = is_counted and self._ends.is_beat(message)
            half.put((self._queue.now_s, message), priority, first=first)
            half.rate = half.rate.changed(self._ends.size_bytes(message), now_s=self._queue.now_s)
            self._pump(half)
            self._tell_queued(half)
        else:
            self._fly(half, message, priority)
        return True

    # ---- what faults do

    def block(self, paths: Iterable[tuple[str, str]]) -> None:
        for pair in paths:
            self._path(*pair).block_count += 1
            connection = self._connections.get(pair)
            for end in pair if connection is not None else ():
                self._queue.after(self._random.uniform(*NOTICE_S), self._notice, connection, end)

    def unblock(self, paths: Iterable[tuple[str, str]]) -> None:
        for pair in paths:
            path = self._path(*pair)
            path.block_count -= 1
            if path.block_count == 0:
                self._release(pair)

    def sever(self, hits: Hits) -> None:
        """Block all paths that it hits, also those that nobody has used yet."""
        self._severed.append(hits)
        self.block([pair for pair in self._paths if hits(*pair)])

    def heal(self, hits: Hits) -> None:
        self._severed.remove(hits)
        self.unblock([pair for pair in self._paths if hits(*pair)])

    def lose(self, pair: tuple[str, str], *, share: float) -> None:
        """So many of the packets on this path are lost, and come later."""
        self._path(*pair).lost_share = share

    def shape(
        self, pair: tuple[str, str], *, bytes_per_s: float | None, extra_delay_s: float
    ) -> None:
        path = self._path(*pair)
        path.bytes_per_s = self._bytes_per_s if bytes_per_s is None else bytes_per_s
        path.extra_delay_s = extra_delay_s
        self._release(pair)

    def echo(self, pair: tuple[str, str], *, is_on: bool) -> None:
        """While on, what arrives on this path arrives once more, later."""
        self._path(*pair).is_echoing = is_on

    def hang_up(self, site: str, peer: str) -> None:
        """One end closes what it believes in; the other hears of it, if the path lets it."""
        connection = self._connections.get((site, peer))
        if connection is not None:
            self._close(connection, site)

    def reset(self, site: str, peer: str) -> None:
        """The connection breaks under both ends, as by a reset from a box in between."""
        self.hang_up(site, peer)
        self.hang_up(peer, site)

    def crash(self, site: str, *, power: bool) -> None:
        """The process is gone; with ``power`` so are the buffers of its machine."""
        for end, peer in [pair for pair in self._connections if pair[0] == site]:
            connection = self._connections.pop((end, peer))
            connection.open_at[site] = False
            half = connection.halves[site]
            half.take_waiting()
            half.is_void = power
            self._tell_other_end(half, is_silent=power)

    # ---- inside

    def _connect(self, site: str, peer: str, life: int) -> None:
        self._dialing.discard((site, peer, life))
        there, back = self._path(site, peer), self._path(peer, site)
        if there.block_count or back.block_count or (site, peer) in self._connections:
            return
        if self._ends.life_of(site) != life or not self._ends.life_of(peer):
            return
        stale = self._connections.get((peer, site))
        if stale is not None:
            self._close(stale, peer)
        connection = Connection(site, peer, there, back, self._budgets.shares)
        self._connections[site, peer] = self._connections[peer, site] = connection
        ends = [(site, peer), (peer, site)]
        if self._random.random() < 0.5:
            ends.reverse()
        for end, other in ends:
            if self._connections.get((end, other)) is connection:
                self._ends.linked(end, other)

    def _fly(self, half: Half, message: Message, priority: int) -> None:
        lane = 0 if priority == 0 else 1
        path = half.path
        delay_s = path.delay_s * (1.0 + self._jitter * self._random.random()) + path.extra_delay_s
        if path.lost_share:
            delay_s += self._resent_s(path.lost_share)
        arrival_s = max(self._queue.now_s + delay_s, half.last_s[lane])
        half.last_s[lane] = arrival_s
        self._queue.at(arrival_s, self._arrive, half, message)

    def _resent_s(self, lost_share: float) -> float:
        """How much later it comes because it, or what was sent to replace it, was lost."""
        late_s, wait_s = 0.0, RESEND_S
        for _ in range(RESENDS_MAX):
            if self._random.random() >= lost_share:
                break
            late_s, wait_s = late_s + wait_s, 2 * wait_s
        return late_s

    def _arrive(self, half: Half, message: Message) -> None:
        if half.is_void or not half.connection.open_at[half.receiver]:
            self.lost_count += 1
        elif half.path.block_count:
            half.stuck.append(message)
        else:
            self._ends.arrived(half.receiver, half.sender, message)
            if half.path.is_echoing:
                after_s = ECHO_S[1] * self._random.random() ** 3 + ECHO_S[0]
                self._queue.after(after_s, self._repeat, half, message)

    def _repeat(self, half: Half, message: Message) -> None:
        if half.connection.open_at[half.receiver]:
            self.echo_count += 1
            self._ends.arrived(half.receiver, half.sender, message)

    def _pump(self, half: Half) -> None:
        """Write what may be written: into a full socket, or at the speed of a slow path."""
        path = half.path
        while not half.is_busy:
            if path.block_count and half.blind_count >= SOCKET_MESSAGES_MAX:
                return
            may_leave = partial(self._may_leave, half)
            following = half.next_waiting(may_leave, self._ends.size_bytes)
            if following is None:
                self._look_again(half)
                return
            since_s, message, priority = following
            self._count(half, message, priority)
            message = self._ends.aged(message, self._queue.now_s - since_s)
            if path.block_count or path.bytes_per_s is None:
                half.blind_count += bool(path.block_count)
                self._left(half, message)
                self._fly(half, message, priority)
            else:
                half.is_busy = True
                takes_s = self._ends.size_bytes(message) / path.bytes_per_s
                self._queue.after(takes_s, self._written, half, message, priority)

    def _may_leave(self, half: Half, message: Message, priority: int) -> bool:
        return self._wait_s(half, message, priority) <= 0.0

    def _wait_s(self, half: Half, message: Message, priority: int) -> float:
        pair = (half.sender, half.receiver)
        if not self._budgets.counts_on(*pair, message):
            return 0.0
        traffic, size_bytes = self._traffic(message, priority), self._ends.size_bytes(message)
        is_spare, query = not half.has_bulk(), query_of(message)
        return self._budgets.wait_s(
            pair, traffic, size_bytes, query=query, is_spare=is_spare, now_s=self._queue.now_s
        )

    def _count(self, half: Half, message: Message, priority: int) -> None:
        if self._budgets.counts_on(*(pair := (half.sender, half.receiver)), message):
            traffic, size_bytes = self._traffic(message, priority), self._ends.size_bytes(message)
            query, now_s = query_of(message), self._queue.now_s
            self._budgets.left(pair, traffic, size_bytes, query=query, now_s=now_s)

    def _traffic(self, message: Message, priority: int) -> Traffic:
        return Traffic.BEAT if self._ends.is_beat(message) else Traffic(priority + 1)

    def _look_again(self, half: Half) -> None:
        """When the first of something that waits for the budget may leave."""
        if half.is_held or not half.has_waiting() or half.path.block_count:
            return
        half.is_held = True
        self.held_count += 1
        wait_s = min(self._wait_s(half, *head) for head in half.heads())
        self._queue.after(wait_s, self._pump_held, half)

    def _pump_held(self, half: Half) -> None:
        half.is_held = False
        if half.connection.open_at[half.sender] and not half.is_void:
            self._pump(half)
            self._tell_queued(half)

    def _written(self, half: Half, message: Message, priority: int) -> None:
        half.is_busy = False
        self._left(half, message)
        self._fly(half, message, priority)
        self._pump(half)
        self._tell_queued(half)

    def _left(self, half: Half, message: Message) -> None:
        """It waited until now."""
        half.rate = half.rate.changed(-self._ends.size_bytes(message), now_s=self._queue.now_s)

    def _tell_queued(self, half: Half) -> None:
        if half.connection.open_at[half.sender]:
            by_query = half.waiting_by(self._ends.size_bytes)
            queued_bytes = by_query.total()
            queued_bytes_max = self._budgets.queued_bytes_max(
                half.sender,
                half.receiver,
                rate=None if half.path.bytes_per_s is None else half.rate,
                queue_s_max=QUEUE_S_MAX,
                now_s=self._queue.now_s,
            )
            bytes_per_s = half.rate.shown_bytes_per_s(now_s=self._queue.now_s)
            load = LinkLoad(queued_bytes, queued_bytes_max, bytes_per_s, by_query)
            control = sum(self._ends.size_bytes(one) for _, one in half.control)
            load = load._replace(control_bytes=control)
            self._ends.queued(half.sender, half.receiver, load)

    def _release(self, pair: tuple[str, str]) -> None:
        connection = self._connections.get(pair)
        if connection is None:
            return
        half = connection.halves[pair[0]]
        if not half.path.block_count:
            half.blind_count = 0
            stuck, half.stuck = half.stuck, []
            for message in stuck:
                self._arrive(half, message)
        if half.has_waiting():
            self._pump(half)
            self._tell_queued(half)

    def _notice(self, connection: Connection, end: str) -> None:
        """An end that has heard nothing for long gives up, unless the path has healed."""
        half = connection.halves[end]
        back = self._path(half.receiver, end)
        other_is_gone = not connection.open_at[half.receiver]
        if half.path.block_count or back.block_count or other_is_gone:
            self._close(connection, end)

    def _close(self, connection: Connection, end: str) -> None:
        if not connection.open_at[end]:
            return
        connection.open_at[end] = False
        half = connection.halves[end]
        half.path.rate = half.rate.emptied()
        if self._connections.get((end, half.receiver)) is connection:
            del self._connections[end, half.receiver]
        self._tell_other_end(half, is_silent=False)
        now_s = self._queue.now_s
        unsent = [
            self._ends.aged(message, now_s - since_s) for since_s, message in half.take_waiting()
        ]
        self._ends.unlinked(end, half.receiver, unsent)

    def _tell_other_end(self, half: Half, *, is_silent: bool) -> None:
        """The other end hears of the closing behind the data, or finds out by silence."""
        if not half.connection.open_at[half.receiver]:
            return
        if is_silent or half.path.block_count:
            after_s = self._random.uniform(*NOTICE_S)
        else:
            after_s = max(*half.last_s, self._queue.now_s + half.path.delay_s) - self._queue.now_s
        self._queue.after(after_s, self._close, half.connection, half.receiver)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._paths)
