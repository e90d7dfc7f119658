"""The hand that does what goes wrong: faults put into a run, struck, and undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Protocol, TypeVar

from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.network import Network


class Struck(Protocol):
    """What a fault can do to a world; the network is handed in on its own."""

    def site_names(self) -> Iterable[str]: ...

    def crash(self, site: str, *, power: bool, loses_disk: bool, after_effects: int) -> None: ...

    def start(self, site: str) -> None: ...

    def stall(self, site: str, *, until_s: float) -> None: ...

    def replay(self, site: str) -> None: ...

    def fill_disk(self, site: str, *, is_full: bool) -> None: ...

    def slow_disk(self, site: str, *, delay_s: float) -> None: ...

    def step_clock(self, site: str, *, by_s: float) -> None: ...

    def straggle(self, site: str, *, by_s: float) -> None: ...

    def slow_down(self, site: str, *, factor: float) -> None: ...

    def fail_query(self, site: str, *, until_s: float) -> None: ...

    def lose_log(self, site: str) -> None: ...

    def lie(self, site: str, *, every_s: float, until_s: float) -> None: ...

    def install_another(self, site: str, *, draw: float) -> None: ...

    def replan_one(self, *, draw: float) -> None: ...

    def remove_one(self, site: str, *, draw: float) -> None: ...


Undo = Callable[[], None]
V = TypeVar("V")
Shape = tuple[float | None, float]
"""Bytes a second, and by how much later everything comes."""
SWIFT: Shape = (None, 0.0)


class Nemesis:
    """Puts the faults of a run into its queue of events."""

    def __init__(self, queue: EventQueue, world: Struck, network: Network) -> None:
        self._queue = queue
        self._world = world
        self._network = network
        self.struck: dict[Kind, int] = {}
        self._strikes: Mapping[Kind, Callable[[Fault], Undo | None]] = {
            **dict.fromkeys((Kind.CRASH, Kind.POWER, Kind.DISK_LOSS), self._crash),
            **dict.fromkeys((Kind.CUT, Kind.ONE_WAY, Kind.PARTITION), self._block),
            Kind.ISOLATE: self._isolate,
            Kind.LOSSY: lambda fault: _while(partial(self._lose, fault), fault.value, 0.0),
            Kind.SLOW: lambda fault: _while(partial(self._shape, fault), (fault.value, 0.3), SWIFT),
            Kind.ECHO: lambda fault: _while(partial(self._echo, fault), True, False),
            Kind.STRAGGLE: self._of_each(lambda site, by_s: world.straggle(site, by_s=by_s)),
            Kind.SLOW_MACHINE: self._of_each(lambda site, by: world.slow_down(site, factor=by)),
            Kind.SLOW_DISK: self._of_each(lambda site, s: world.slow_disk(site, delay_s=s)),
            Kind.DISK_FULL: lambda fault: _while(partial(self._fill, fault), True, False),
            Kind.CLOCK_STEP: self._step_clock,
            Kind.RESET: lambda fault: network.reset(*fault.sites),
            Kind.STALL: lambda fault: world.stall(_one(fault), until_s=self._until_s(fault)),
            Kind.REPLAY: lambda fault: world.replay(_one(fault)),
            Kind.LIES: lambda fault: world.lie(
                _one(fault), every_s=fault.value, until_s=self._until_s(fault)
            ),
            Kind.QUERY_FAILS: lambda fault: world.fail_query(
                _one(fault), until_s=self._until_s(fault)
            ),
            Kind.LOG_LOSS: lambda fault: world.lose_log(_one(fault)),
            Kind.INSTALL: lambda fault: world.install_another(_one(fault), draw=fault.value),
            Kind.REPLAN: lambda fault: world.replan_one(draw=fault.value),
            Kind.REMOVE: lambda fault: world.remove_one(_one(fault), draw=fault.value),
        }
        """Do it; what is returned undoes it."""

    def enqueue(self, faults: Sequence[Fault], *, start_s: float) -> None:
        for fault in faults:
            self._queue.at(start_s + fault.at_s, self._strike, fault)

    def _strike(self, fault: Fault) -> None:
        self.struck[fault.kind] = self.struck.get(fault.kind, 0) + 1
        heal = self._strikes[fault.kind](fault)
        if heal is not None:
            self._queue.after(fault.for_s, heal)

    def _until_s(self, fault: Fault) -> float:
        return self._queue.now_s + fault.for_s

    def _crash(self, fault: Fault) -> Undo:
        self._world.crash(
            _one(fault),
            power=fault.kind is not Kind.CRASH,
            loses_disk=fault.kind is Kind.DISK_LOSS,
            after_effects=int(fault.value),
        )
        return partial(self._world.start, _one(fault))

    def _block(self, fault: Fault) -> Undo:
        paths = self._paths(fault)
        self._network.block(paths)
        return partial(self._network.unblock, paths)

    def _isolate(self, fault: Fault) -> Undo:
        gone = frozenset(fault.sites)

        def hits(one: str, other: str) -> bool:
            return one in gone or other in gone

        self._network.sever(hits)
        return partial(self._network.heal, hits)

    def _step_clock(self, fault: Fault) -> Undo | None:
        site, step = _one(fault), self._world.step_clock
        step(site, by_s=fault.value)
        return partial(step, site, by_s=-fault.value) if fault.for_s else None

    def _of_each(self, do: Callable[[str, float], None]) -> Callable[[Fault], Undo]:
        """Each struck site has the fault's value, and nothing of it in the end: two faults at one
        site do not add up, and it is as others are when one ends."""

        def to_all(fault: Fault, value: float) -> None:
            for site in fault.sites:
                do(site, value)

        return lambda fault: _while(partial(to_all, fault), fault.value, 0.0)

    def _paths(self, fault: Fault) -> list[tuple[str, str]]:
        if fault.kind is Kind.ONE_WAY:
            return [(fault.sites[0], fault.sites[1])]
        if fault.kind is Kind.CUT:
            return _both_ways(fault)
        inside = set(fault.sites)
        outside = sorted(set(self._world.site_names()) - inside)
        pairs = list(product(fault.sites, outside))
        return pairs + [(right, left) for left, right in pairs]

    def _lose(self, fault: Fault, share: float) -> None:
        for pair in _both_ways(fault):
            self._network.lose(pair, share=share)

    def _shape(self, fault: Fault, shape: Shape) -> None:
        bytes_per_s, extra_delay_s = shape
        for pair in _both_ways(fault):
            self._network.shape(pair, bytes_per_s=bytes_per_s, extra_delay_s=extra_delay_s)

    def _echo(self, fault: Fault, is_on: bool) -> None:
        self._network.echo((fault.sites[0], fault.sites[1]), is_on=is_on)

    def _fill(self, fault: Fault, is_full: bool) -> None:
        self._world.fill_disk(_one(fault), is_full=is_full)


def _one(fault: Fault) -> str:
    return fault.sites[0]


def _both_ways(fault: Fault) -> list[tuple[str, str]]:
    left, right = fault.sites
    return [(left, right), (right, left)]


def _while(do: Callable[[V], None], during: V, after: V) -> Undo:
    """Do it with one value; what comes back does it with the other."""
    do(during)
    return partial(do, after)
