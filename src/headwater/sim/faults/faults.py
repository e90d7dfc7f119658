"""What goes wrong, when, and where: a list drawn from the seed. ``nemesis`` is who does it.

A fault is a value with a beginning and a length, so that a failing run can be repeated with one of
them left out; see ``shrink``. All of them end before the liveness phase begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from random import Random

import msgspec


class Kind(StrEnum):
    CRASH = "crash"
    """The process ends between two effects; its disk is as the executed ones left it."""
    POWER = "power loss"
    """The same, and what its machine had in its buffers never leaves."""
    DISK_LOSS = "disk loss"
    """It comes back with an empty cube and ledger: a new incarnation. Logs survive."""
    CUT = "cut"
    ONE_WAY = "one-way cut"
    PARTITION = "partition"
    RESET = "reset"
    SLOW = "slow link"
    ECHO = "echo"
    """Messages on a path arrive a second time, some seconds later. No TCP does that, but a relay
    of a later version might, and nothing may be counted twice whatever the network does."""
    STALL = "spark stall"
    REPLAY = "batch replay"
    DISK_FULL = "disk full"
    SLOW_DISK = "slow disk"
    CLOCK_STEP = "clock step"
    """A wall clock is set, by up to a day and more, for good or only for a while."""
    QUERY_FAILS = "query fails"
    LOG_LOSS = "log loss"
    ISOLATE = "isolation"
    """Sites that nobody reaches and that reach nobody, also not each other; they live on."""
    LOSSY = "lossy link"
    """Packets are lost, and TCP sends them again."""
    STRAGGLE = "straggler"
    """Each batch of a site takes longer."""
    SLOW_MACHINE = "slow machine"
    """Everything that a site's process handles takes many times as long, its own ticks too."""
    LIES = "lies"
    """A member that lies in what it says of others, beside its work; see ``liar.py``."""
    INSTALL = "install"
    REMOVE = "remove"
    REPLAN = "replan"
    """New trees for a query, by its root."""
    ASK = "ask"
    """A question about the past of a stream, which ends by itself."""
    ALTER = "alter"
    """Other settings for a query that runs, from a pane on."""
    STEP = "step"
    """A site sends at a coarser level for a while."""


class Fault(msgspec.Struct, frozen=True):
    kind: Kind
    at_s: float
    """Since the start of the run."""
    for_s: float
    sites: tuple[str, ...]
    """Whom it strikes: one site, two ends of a path, or one side of a partition."""
    value: float = 0.0
    """Seconds of a step or delay, bytes a second, effects until a crash, how many times as long
    things take, or a query's number."""

    def __str__(self) -> str:
        where = "+".join(self.sites)
        return f"{self.at_s:7.2f} s  {self.kind.value} of {where} for {self.for_s:.2f} s" + (
            f" ({self.value:g})" if self.value else ""
        )


class Weight(msgspec.Struct, frozen=True):
    """How often a kind is drawn and how long it lasts."""

    share: float
    for_s: tuple[float, float]


WEIGHTS: dict[Kind, Weight] = {
    Kind.CRASH: Weight(3.0, (0.5, 25.0)),
    Kind.POWER: Weight(1.5, (2.0, 25.0)),
    Kind.DISK_LOSS: Weight(0.8, (1.0, 20.0)),
    Kind.CUT: Weight(3.0, (0.5, 30.0)),
    Kind.ONE_WAY: Weight(2.0, (0.5, 20.0)),
    Kind.PARTITION: Weight(1.5, (2.0, 40.0)),
    Kind.RESET: Weight(3.0, (0.0, 0.0)),
    Kind.SLOW: Weight(1.5, (5.0, 40.0)),
    Kind.ECHO: Weight(2.0, (5.0, 40.0)),
    Kind.STALL: Weight(1.5, (3.0, 30.0)),
    Kind.REPLAY: Weight(1.0, (0.0, 0.0)),
    Kind.DISK_FULL: Weight(0.8, (1.0, 20.0)),
    Kind.SLOW_DISK: Weight(0.8, (2.0, 20.0)),
    Kind.CLOCK_STEP: Weight(2.0, (0.0, 0.0)),
    Kind.QUERY_FAILS: Weight(0.5, (1.0, 8.0)),
    Kind.LOG_LOSS: Weight(0.4, (0.0, 0.0)),
    Kind.INSTALL: Weight(0.6, (0.0, 0.0)),
    Kind.REMOVE: Weight(0.3, (0.0, 0.0)),
    Kind.REPLAN: Weight(0.6, (0.0, 0.0)),
}
"""What a sweep draws, with shares relative to each other; other kinds are for experiments. Those of
the network lead, because the protocol is about them."""

CLOCK_STEPS_S = (1.0, 3.0, 8.0, 30.0, 3_600.0, 86_400.0, 90_000.0)
"""From what a bad oscillator does to what a wrong day does; the last is a day and an hour."""
CLOCK_BACK_SHARE = 0.5
"""How often a clock that was set is set right again, after a few polls or many."""
CLOCK_BACK_S = (1.0, 40.0)
CLOCK_LOST_SHARE = 0.4
"""How often a machine that loses its disk has another clock afterwards."""
COUNTED_S = 120.0
"""The time for which numbers of faults are drawn; a longer run has more."""
ROOT_SHARE = 0.2
"""How often a fault of one site strikes the root: more than its share, it has the most to lose."""
LONG_OUTAGE_SHARE = 0.06
"""How often a crash or cut outlasts what the cube retains, so that panes expire."""
PAIR_KINDS = frozenset({Kind.CUT, Kind.ONE_WAY, Kind.RESET, Kind.SLOW, Kind.ECHO})
DATA_KINDS = frozenset({Kind.STALL, Kind.REPLAY, Kind.QUERY_FAILS, Kind.LOG_LOSS, Kind.DISK_FULL})


class Field(msgspec.Struct, frozen=True):
    """What a generator must know of the world it is to trouble."""

    sites: tuple[str, ...]
    data_sites: tuple[str, ...]
    root: str
    links: tuple[tuple[str, str], ...]
    """The pairs of the tree: a fault elsewhere would trouble nobody."""
    from_s: float
    until_s: float
    long_s: float
    """Longer than any cube retains."""


def draw_faults(random: Random, field: Field) -> tuple[Fault, ...]:
    """From none at all to a storm; a third of the runs have few, which shrink to clear stories."""
    length_s = field.until_s - field.from_s
    count = round(random.choice((0, 1, 2, 4, 6, 8, 10, 12, 16, 24)) * length_s / COUNTED_S)
    kinds, shares = list(WEIGHTS), [weight.share for weight in WEIGHTS.values()]
    drawn = [_draw(random, field, random.choices(kinds, shares)[0]) for _ in range(count)]
    drawn += [
        Fault(Kind.CLOCK_STEP, lost.at_s, 0.0, lost.sites, _draw_step(random))
        for lost in drawn
        if lost.kind is Kind.DISK_LOSS and random.random() < CLOCK_LOST_SHARE
    ]
    return tuple(sorted(drawn, key=lambda fault: fault.at_s))


SLOW_SHARE = 0.4
"""How many worlds have slow machines."""
SLOW_FACTORS = (30.0, 100.0, 300.0, 1000.0)
"""From a machine that keeps up to one that needs a second for a message."""
SLOW_S = (5.0, 40.0)
SLOW_ROOT_SHARE = 0.3


def draw_slow_machines(random: Random, field: Field) -> tuple[Fault, ...]:
    """Drawn apart from the other faults, so that these are as they were without."""
    if random.random() >= SLOW_SHARE:
        return ()
    return tuple(_draw_slow(random, field) for _ in range(random.choice((1, 1, 2))))


def _draw_slow(random: Random, field: Field) -> Fault:
    at_s = random.uniform(field.from_s, field.until_s)
    for_s = min(random.uniform(*SLOW_S), field.until_s - at_s)
    others = random.sample(field.sites, random.choice((1, 1, 2, 3)))
    sites = [field.root] if random.random() < SLOW_ROOT_SHARE else others
    factor = random.choice(SLOW_FACTORS)
    return Fault(Kind.SLOW_MACHINE, round(at_s, 3), round(for_s, 3), tuple(sorted(sites)), factor)


LIAR_SHARE = 0.25
"""How many worlds have a member that lies, for most of the run."""
LIE_EVERY_S = (0.2, 3.0)


def draw_liar(random: Random, field: Field) -> tuple[Fault, ...]:
    """Drawn apart from the other faults, so that these are as they were without."""
    others = [site for site in field.sites if site != field.root]
    if random.random() >= LIAR_SHARE or not others:
        return ()
    at_s = random.uniform(field.from_s, field.from_s + (field.until_s - field.from_s) / 2)
    every_s = random.uniform(*LIE_EVERY_S)
    for_s = field.until_s - at_s
    who = (random.choice(others),)
    return (Fault(Kind.LIES, round(at_s, 3), round(for_s, 3), who, round(every_s, 3)),)


ALTER_SHARE = 0.5
"""How many worlds have operators who alter settings."""
ALTERS_MAX = 5


def draw_alters(random: Random, field: Field) -> tuple[Fault, ...]:
    """Drawn apart from the other faults, so that these are as they were without."""
    if random.random() >= ALTER_SHARE:
        return ()
    return tuple(
        Fault(
            Kind.ALTER,
            round(random.uniform(field.from_s, field.until_s), 3),
            0.0,
            (random.choice(field.sites),),
            round(random.random(), 6),
        )
        for _ in range(random.randint(1, ALTERS_MAX))
    )


def _draw(random: Random, field: Field, kind: Kind) -> Fault:
    at_s = random.uniform(field.from_s, field.until_s)
    for_s = random.uniform(*WEIGHTS[kind].for_s)
    if kind in (Kind.CRASH, Kind.CUT) and random.random() < LONG_OUTAGE_SHARE:
        at_s, for_s = field.from_s, field.long_s
    if kind is Kind.CLOCK_STEP and random.random() < CLOCK_BACK_SHARE:
        for_s = random.uniform(*CLOCK_BACK_S)
    for_s = min(for_s, field.until_s - at_s)
    value = VALUES[kind](random) if kind in VALUES else 0.0
    return Fault(kind, round(at_s, 3), round(for_s, 3), _struck(random, field, kind), value)


STEPS_MAX = 24
"""Moves from level to level, over all sites of a world."""
STEP_S = (4.0, 45.0)


def draw_steps(random: Random, field: Field, *, steps: int) -> list[Fault]:
    """Sites go to some level of so many, and back; in other worlds there is nothing to go to."""
    found = []
    for _ in range(random.randint(STEPS_MAX // 3, STEPS_MAX) if steps else 0):
        at_s = random.uniform(field.from_s, field.until_s - STEP_S[0])
        for_s = min(random.uniform(*STEP_S), field.until_s - at_s)
        value = float(random.randint(1, steps))
        site = random.choice(field.data_sites)
        found.append(Fault(Kind.STEP, round(at_s, 3), round(for_s, 3), (site,), value))
    return found


QUESTIONS_SHARE = 0.4
"""How many worlds have somebody who asks about the past; there is nothing to ask in some."""
QUESTIONS_MAX = 10


def draw_questions(random: Random, field: Field) -> list[Fault]:
    """Commanded at any site, and often at one."""
    if random.random() >= QUESTIONS_SHARE:
        return []
    sites = random.sample(field.sites, 2)
    return [
        Fault(
            Kind.ASK,
            round(random.uniform(field.from_s, field.until_s), 3),
            0.0,
            (random.choice(sites),),
            random.random(),
        )
        for _ in range(random.randint(1, QUESTIONS_MAX))
    ]


def _draw_step(random: Random) -> float:
    return random.choice(CLOCK_STEPS_S) * random.choice((-1.0, 1.0))


def _draw_effects(random: Random) -> float:
    return float(random.choice((0, 0, 0, 1, 2, 3, 5, 8)))


VALUES: Mapping[Kind, Callable[[Random], float]] = {
    **dict.fromkeys((Kind.CRASH, Kind.POWER, Kind.DISK_LOSS), _draw_effects),
    Kind.SLOW: lambda random: float(random.choice((200, 1000, 5000))),
    Kind.CLOCK_STEP: _draw_step,
    **dict.fromkeys((Kind.INSTALL, Kind.REMOVE, Kind.REPLAN, Kind.SLOW_DISK), Random.random),
}
"""How ``Fault.value`` is drawn, of the kinds that have one."""


def _struck(random: Random, field: Field, kind: Kind) -> tuple[str, ...]:
    if kind in PAIR_KINDS:
        pair = random.choice(field.links)
        return pair if random.random() < 0.5 else (pair[1], pair[0])
    if kind is Kind.PARTITION:
        size = random.randint(1, max(1, len(field.sites) // 2))
        return tuple(sorted(random.sample(field.sites, size)))
    if kind in DATA_KINDS:
        return (random.choice(field.data_sites),)
    if random.random() < ROOT_SHARE:
        return (field.root,)
    return (random.choice(field.sites),)
