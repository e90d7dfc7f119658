"""A member with a valid key that lies in what it may send, while the rest of it works as before.

It has heard what others said, and can repeat that, put their proofs beside other words, and sign
what it likes with its own key. What it can't do is sign for others: a key is an object that only
its owner has (``keys.py``). Of the acknowledgements that it hands on it changes leaves or leaves
some out. It forges updates of others, which nobody believes, and summaries of several sites that
nobody has merged: closes and updates that were never cut, or true ones without their rows. It
forges no ways to a root: the way is its carriers' word. It asks everybody to wait for ever, which
those below it on a tree believe for a minute at a time. What it says of clocks is in
``clock_lies``, of commands in ``command_lies``. Now and then it tells a hundred lies at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from random import Random

import msgspec

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    AckLeaf,
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
)
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.pause import PERIOD_S_MAX
from headwater.algebra.words.site_state import FOREVER, Declined, Reason, SiteState
from headwater.overlay.messages import (
    AckMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    CoordinatesMessage,
    Message,
    PausesMessage,
    Placed,
    StatesMessage,
    SummaryMessage,
    TreePause,
)
from headwater.plan.command import Install
from headwater.sim.faults.clock_lies import ClockLies
from headwater.sim.faults.command_lies import HEARD_MAX, LEAPS, CommandLies
from headwater.sim.world.keys import SimulatedSignatures

TAMPERED_SHARE = 0.5
"""Of the acknowledgements that it hands on."""
FLOOD = "a flood"
FLOOD_LIES = 100
"""That are told at once now and then."""
FLOOD_SHARE = 0.03


class Liar:
    """One member's other tongue. ``sites`` are the ordinals of all, ``installs`` the live queries
    as it knows them."""

    def __init__(
        self,
        site: str,
        signatures: SimulatedSignatures,
        *,
        sites: Mapping[str, int],
        installs: Callable[[], Iterable[Install]],
        random: Random,
        until_s: float = float("inf"),
    ) -> None:
        self.site = site
        self.until_s = until_s
        self._signatures = signatures
        self._sites = sorted(sites)
        self._ordinals = sorted(sites.values())
        self._installs = installs
        self._random = random
        self._states: deque[SiteState] = deque(maxlen=HEARD_MAX)
        self._acks: deque[Acknowledgement] = deque(maxlen=HEARD_MAX)
        self._summaries: deque[Summary] = deque(maxlen=HEARD_MAX)
        self._lives: dict[tuple[str, int], int] = {}
        """(query, site) -> incarnation, as states and greetings tell it."""
        self.clocks = ClockLies(site, random)
        self.commands = CommandLies(site, signatures, installs, random)

    def hear(self, message: Message) -> None:
        """What passes it by."""
        match message:
            case StatesMessage(states):
                self._learn((one.query, one.ordinal, one.incarnation) for one in states)
                self._states.extend(one for one in states if self._is_others(one))
            case AckMessage(ack) if self._is_others(ack):
                self._learn((ack.query, one.ordinal, one.incarnation) for one in ack.greetings)
                self._acks.append(ack)
            case SummaryMessage(summary) if not summary.more and self._is_others(summary):
                self._summaries.append(summary)
            case CommandsKnown(counts):
                self.commands.counts.extend(counts)
            case CommandMessage(_, count) if count is not None:
                self.commands.counts.append(count)

    def _learn(self, lives: Iterable[tuple[str, int, int]]) -> None:
        self._lives.update(((query, ordinal), life) for query, ordinal, life in lives)

    def _is_others(self, word: SiteState | Acknowledgement | Summary) -> bool:
        """Of itself, and of queries that it answers, it may say what it likes."""
        return not self._signatures.has_signed(word.proof)

    def lie(self) -> tuple[str, Message] | None:
        """One of its lies, if it knows enough for that."""
        what = self._random.choice(tuple(LIES))
        message = LIES[what](self)
        return None if message is None else (what, message)

    # Of states and acknowledgements

    def _state(self) -> Message | None:
        """Everything is empty, sealed or lost, in a life or a number above the true one."""
        if not self._states:
            return None
        true = self._random.choice(self._states)
        changes = self._random.choice(
            (
                {"incarnation": true.incarnation + self._leap_by()},
                {"number": true.number + self._leap_by()},
            )
        )
        untrue = self._random.choice(
            (
                {"sealed_through": FOREVER, "ended": True},
                {"empty": ((-FOREVER, FOREVER),)},
                {"declined": (Declined(first=-FOREVER, last=FOREVER, reason=Reason.LOST),)},
                {"counts": ()},
                {"offset_s": true.number * 86_400.0},
                {"alarms": (_alarm(true),)},
            )
        )
        lie = msgspec.structs.replace(true, **changes, **untrue)
        signed = (lie, self._signatures.sign_state(lie), msgspec.structs.replace(lie, proof=None))
        return StatesMessage((self._random.choice(signed),))

    def _old_state(self) -> Message | None:
        return StatesMessage((self._random.choice(self._states),)) if self._states else None

    def _ack(self) -> Message | None:
        if not self._acks:
            return None
        true = self._random.choice(self._acks)
        lie = msgspec.structs.replace(
            true,
            root_incarnation=true.root_incarnation + self._random.choice((0, self._leap_by())),
            number=true.number + self._leap_by(),
            done_through=self._random.choice((true.done_through, FOREVER)),
            held=self._random.choice((true.held, ((-FOREVER, FOREVER),))),
            largest=tuple(_forged(true)),
        )
        return AckMessage(self._random.choice((lie, self._signatures.sign_ack(lie))))

    def _old_ack(self) -> Message | None:
        """True words, of an age that is not: it may make somebody repair, or wait."""
        if not self._acks:
            return None
        age_s = self._random.choice((0.0, 3.0, 1_000.0))
        return AckMessage(msgspec.structs.replace(self._random.choice(self._acks), age_s=age_s))

    def _leaves(self) -> Message | None:
        """To a head that its neighbours have."""
        return AckMessage(self._tampered(self._acks[-1])) if self._acks else None

    def hands_on(self, message: Message) -> Message:
        """What it makes of what the rest of it sends."""
        if not isinstance(message, AckMessage) or not self._is_others(message.ack):
            return message
        if not message.ack.filled or self._random.random() >= TAMPERED_SHARE:
            return message
        return AckMessage(self._tampered(message.ack))

    def _tampered(self, true: Acknowledgement) -> Acknowledgement:
        """The root's head, with leaves of others, changed ones, or fewer."""
        leaves: Iterable[AckLeaf] = self._random.choice(
            (
                [leaf for leaf in true.leaves if self._random.random() < 0.5],
                [self._changed(leaf, true) for leaf in true.leaves],
                {leaf.number: leaf for ack in self._acks for leaf in ack.leaves}.values(),
                [self._changed(AckLeaf(n // LEAF_SITES), true) for n in self._ordinals],
            )
        )
        return msgspec.structs.replace(true, leaves=tuple(leaves))

    def _changed(self, leaf: AckLeaf, head: Acknowledgement) -> AckLeaf:
        """All is held, or a site of it has outlived itself."""
        first = leaf.number * LEAF_SITES
        ordinal = self._random.choice([n for n in self._ordinals if 0 <= n - first < LEAF_SITES])
        panes = range(head.done_through, head.done_through + 20)
        every = tuple(PaneHeld(pane, (1 << LEAF_SITES) - 1) for pane in panes)
        life = max((one.incarnation for one in leaf.greetings), default=1)
        extra = tuple(
            ExtraHeld(pane=pane, ordinal=ordinal, incarnation=life, updates=((1, 9),))
            for pane in panes
        )
        hail = Greeting(ordinal=ordinal, incarnation=life + self._leap_by(), number=self._leap_by())
        change = self._random.choice(
            ({"panes": every}, {"panes": ()}, {"extra": extra}, {"greetings": (hail,)})
        )
        return msgspec.structs.replace(leaf, **change)

    # Of panes of others: what has several sites in it is its carriers' word

    def _empty(self) -> Message | None:
        """Sites have closed a pane with nothing, be it that they have rows or have not come."""
        return self._forged(lambda: ((), 0))

    def _never_cut(self) -> Message | None:
        def claim() -> tuple[tuple[tuple[int, int], ...], int]:
            first = self._random.choice((1, 1, 2, 3))
            last = first + self._random.choice((0, 0, 1))
            return ((first, last),), last

        return self._forged(claim)

    def _never_closed(self) -> Message | None:
        """A close without its updates, which others wait for in vain."""
        return self._forged(lambda: ((), self._random.choice((1, 2, 5))))

    def _forged(
        self, claim: Callable[[], tuple[tuple[tuple[int, int], ...], int]]
    ) -> Message | None:
        """Of some sites of a query, in their true lives, as if it had merged it."""
        live = [one for one in self._installs() if not one.query.holds_states]
        install = self._random.choice(live) if live else None
        query_id = "" if install is None else str(install.query.id)
        lives = {site: life for (query, site), life in self._lives.items() if query == query_id}
        panes = self._panes(query_id)
        if install is None or len(lives) < 2 or not panes:
            return None
        chosen = self._random.sample(sorted(lives), min(len(lives), self._random.choice((2, 2, 3))))
        of_one = (Coverage.of_part, Coverage.of_group)[sum(chosen) // 64 % 2]
        claims = ((ordinal, *claim()) for ordinal in sorted(chosen))
        told = (of_one(o, lives[o], updates=had, closed_at=at) for o, had, at in claims)
        return SummaryMessage(
            Summary(
                query=query_id,
                pane=self._random.choice(panes) + self._random.choice((0, 0, 0, 1)),
                coverage=reduce(Coverage.merge, told),
                lane=self._random.choice((Lane.LIVE, Lane.BACKLOG)),
                roster_version=install.roster_version,
                plan_version=install.plan_version,
            )
        )

    def _panes(self, query_id: str) -> list[int]:
        """Those that are spoken of at present."""
        found = {one.pane for one in self._summaries if one.query == query_id}
        for ack in self._acks:
            if ack.query == query_id:
                found.update(held.pane for held in ack.panes)
                found.update(last + 1 for _, last in ack.held[-1:])
        return sorted(found)[-8:]

    def _left_out(self) -> Message | None:
        """What was merged, without the rows."""
        merged = [one for one in self._of_records() if one.coverage.sites.bit_count() > 1]
        if not merged:
            return None
        return SummaryMessage(msgspec.structs.replace(self._random.choice(merged), rows=None))

    def _of_records(self) -> list[Summary]:
        """Summaries of queries that hold records, and not states."""
        ids = {str(one.query.id) for one in self._installs() if not one.query.holds_states}
        return [one for one in self._summaries if one.query in ids]

    def _update(self) -> Message | None:
        """One site's pane, in its own name, with another's proof, or signed by the wrong one."""
        alone = [one for one in self._summaries if one.proof is not None]
        if not alone:
            return None
        true = self._random.choice(alone)
        lie = msgspec.structs.replace(
            true,
            **self._random.choice(
                (
                    {"pane": true.pane + 1},
                    {"rows": None},
                    {"coverage": Coverage.of_empty(true.coverage.sites.bit_length() - 1, 1)},
                )
            ),
        )
        signed = (lie, self._signatures.sign_update(lie), msgspec.structs.replace(lie, proof=None))
        return SummaryMessage(self._random.choice(signed))

    def _old_update(self) -> Message | None:
        """A true one, again: it is held, and changes nothing."""
        alone = [one for one in self._summaries if one.proof is not None]
        if not alone:
            return None
        lane = self._random.choice((Lane.SPARE, Lane.BACKLOG))
        return SummaryMessage(
            msgspec.structs.replace(self._random.choice(alone), lane=lane, age_s=0.0)
        )

    # What needs no proof, and proves nothing

    def _hints(self) -> Message:
        ids = tuple(f"none{n}@{self._random.choice(self._sites)}#{n}" for n in range(1, 9))
        return CommandsKnown(counts=(), live=ids, plans=dict.fromkeys(ids, 1 << 50))

    def _questions(self) -> Message:
        return AskInstall(tuple(f"none@{self.site}#{n}" for n in range(1, 65)))

    def _places(self) -> Message:
        far = Coordinate(x=1e4, y=-1e4, z=0.0, height=1.0, error=0.01)
        return CoordinatesMessage(tuple(Placed(ordinal=n, coordinate=far) for n in self._ordinals))

    def _pause(self) -> Message | None:
        """Whoever hears it is to wait with all panes, on a tree on which it is above or not."""
        installs = list(self._installs())
        if not installs:
            return None
        install = self._random.choice(installs)
        tree, of = self._random.randrange(len(install.trees)), str(install.query.id)
        version = install.plan_version
        return PausesMessage((TreePause(of, version, tree, -FOREVER, PERIOD_S_MAX),))

    def _leap_by(self) -> int:
        return self._random.choice(LEAPS)


def _alarm(true: SiteState) -> Alarm:
    """All that the site ever sent is somebody else's invention."""
    panes, text = (-FOREVER, FOREVER), "the root holds what was never cut"
    return Alarm.of(AlarmKind.NEVER_CUT, true.query, true.ordinal, panes, text)


LIES: Mapping[str, Callable[[Liar], Message | None]] = {
    "a state of another": Liar._state,
    "an old state": Liar._old_state,
    "an acknowledgement": Liar._ack,
    "an old acknowledgement": Liar._old_ack,
    "leaves": Liar._leaves,
    "a count of another": lambda liar: liar.commands.count(),
    "a leap of its own count": lambda liar: liar.commands.leap(),
    "an install": lambda liar: liar.commands.install(),
    "a removal": lambda liar: liar.commands.removal(),
    "new trees": lambda liar: liar.commands.plan(),
    "hints": Liar._hints,
    "questions": Liar._questions,
    "places of others": Liar._places,
    "empty panes of others": Liar._empty,
    "updates never cut": Liar._never_cut,
    "closes never said": Liar._never_closed,
    "rows left out": Liar._left_out,
    "an update of another": Liar._update,
    "an old update": Liar._old_update,
    "settings": lambda liar: liar.commands.settings(),
    "a pause": Liar._pause,
}
"""All that it tells, by name."""


def _forged(true: Acknowledgement) -> Iterator[TopRequest]:
    """For all that sites keep back: of panes that the root asks of, and of others."""
    asked = {one.pane: one for one in true.largest}
    for pane in dict.fromkeys((*asked, *(last for _, last in true.held[-2:]))):
        number = asked[pane].number if pane in asked else true.number
        yield TopRequest(pane, number + 1, 0.0, (1,))
