"""The hand that does what goes wrong: faults put into a run, struck, and undone.

``Nemesis`` has one entry for each kind. What a fault does to a site is a method of
``SimulatedSite``, what it does to links one of ``Network``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TypeVar

from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.network import Network
from headwater.sim.world.operators import Operators
from headwater.sim.world.site import SimulatedSite

Undo = Callable[[], None]
V = TypeVar("V")
Shape = tuple[float | None, float]
"""Bytes a second, and by how much later everything comes."""
SWIFT: Shape = (None, 0.0)


class Nemesis:
    """Puts the faults of a run into its queue of events."""

    def __init__(
        self,
        queue: EventQueue,
        sites: Mapping[str, SimulatedSite],
        network: Network,
        operators: Operators,
        *,
        lie: Callable[..., None],
    ) -> None:
        """``lie`` makes a liar of a site, given how often it lies and until when."""
        self._queue = queue
        self._sites = sites
        self._network = network
        self.struck: dict[Kind, int] = {}
        site, until_s = self._site, self._until_s
        self._strikes: Mapping[Kind, Callable[[Fault], Undo | None]] = {
            **dict.fromkeys((Kind.CRASH, Kind.POWER, Kind.DISK_LOSS), self._crash),
            **dict.fromkeys((Kind.CUT, Kind.ONE_WAY, Kind.PARTITION), self._block),
            Kind.ISOLATE: self._isolate,
            Kind.LOSSY: lambda fault: _while(partial(self._lose, fault), fault.value, 0.0),
            Kind.SLOW: lambda fault: _while(partial(self._shape, fault), (fault.value, 0.3), SWIFT),
            Kind.ECHO: lambda fault: _while(partial(self._echo, fault), True, False),
            Kind.STRAGGLE: self._of_each(SimulatedSite.straggle),
            Kind.SLOW_MACHINE: self._of_each(SimulatedSite.slow_down),
            Kind.SLOW_DISK: self._of_each(SimulatedSite.slow_disk),
            Kind.DISK_FULL: lambda fault: _while(site(fault).fill_disk, True, False),
            Kind.CLOCK_STEP: self._step_clock,
            Kind.RESET: lambda fault: network.reset(*fault.sites),
            Kind.STALL: lambda fault: site(fault).stall(until_s(fault)),
            Kind.REPLAY: lambda fault: site(fault).replay(),
            Kind.LIES: lambda fault: lie(_one(fault), every_s=fault.value, until_s=until_s(fault)),
            Kind.QUERY_FAILS: lambda fault: site(fault).fail_queries(until_s(fault)),
            Kind.LOG_LOSS: lambda fault: site(fault).lose_input(),
            Kind.INSTALL: lambda fault: operators.install_another(_one(fault), draw=fault.value),
            Kind.REPLAN: lambda fault: operators.replan_one(draw=fault.value),
            Kind.ALTER: lambda fault: operators.alter_one(_one(fault), draw=fault.value),
            Kind.ASK: lambda fault: operators.ask_one(_one(fault), draw=fault.value),
            Kind.STEP: self._of_each(SimulatedSite.go_to_step),
            Kind.REMOVE: lambda fault: operators.remove_one(_one(fault), draw=fault.value),
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

    def _site(self, fault: Fault) -> SimulatedSite:
        return self._sites[_one(fault)]

    def _until_s(self, fault: Fault) -> float:
        return self._queue.now_s + fault.for_s

    def _crash(self, fault: Fault) -> Undo:
        site = self._site(fault)
        site.crash(
            power=fault.kind is not Kind.CRASH,
            loses_disk=fault.kind is Kind.DISK_LOSS,
            after_effects=int(fault.value),
        )
        return site.start_again

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
        step = self._site(fault).step_clock
        step(fault.value)
        return partial(step, -fault.value) if fault.for_s else None

    def _of_each(self, do: Callable[[SimulatedSite, float], None]) -> Callable[[Fault], Undo]:
        """Each struck site has the fault's value, and nothing of it in the end: two faults at one
        site do not add up, and it is as others are when one ends."""

        def to_all(fault: Fault, value: float) -> None:
            for name in fault.sites:
                do(self._sites[name], value)

        return lambda fault: _while(partial(to_all, fault), fault.value, 0.0)

    def _paths(self, fault: Fault) -> list[tuple[str, str]]:
        if fault.kind is Kind.ONE_WAY:
            return [(fault.sites[0], fault.sites[1])]
        if fault.kind is Kind.CUT:
            return _both_ways(fault)
        inside = set(fault.sites)
        outside = sorted(set(self._sites) - inside)
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


def _one(fault: Fault) -> str:
    return fault.sites[0]


def _both_ways(fault: Fault) -> list[tuple[str, str]]:
    left, right = fault.sites
    return [(left, right), (right, left)]


def _while(do: Callable[[V], None], during: V, after: V) -> Undo:
    """Do it with one value; what comes back does it with the other."""
    do(during)
    return partial(do, after)
