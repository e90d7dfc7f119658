"""What a liar says of commands: of what is counted, installed, removed, planned and altered.

It may sign its own count, and plans as any planner; what an operator says it can only repeat, or
forge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from random import Random

import msgspec

from headwater.algebra.words.site_state import FOREVER
from headwater.overlay.messages import AlterMessage, CommandMessage, CommandsKnown, Message
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Count, Install, Remove
from headwater.plan.query import QueryId
from headwater.plan.questions.ask import NAMED
from headwater.sim.world.keys import OPERATOR, SimulatedSignatures

HEARD_MAX = 64
"""Words of others that it has at hand."""
LEAPS = (1, 1_000, 1 << 19, 1 << 40, 1 << 52, 1 << 61)
"""By how much numbers are too large: from what may be true to what can't."""


class CommandLies:
    """Of one member; ``counts`` are those that it has heard."""

    def __init__(
        self,
        site: str,
        signatures: SimulatedSignatures,
        installs: Callable[[], Iterable[Install]],
        random: Random,
    ) -> None:
        self._site = site
        self._signatures = signatures
        self._installs = installs
        self._random = random
        self.counts: deque[Count] = deque(maxlen=HEARD_MAX)

    def count(self) -> Message | None:
        """Nothing is live, and there is no number left."""
        if not self.counts:
            return None
        true = self._random.choice(self.counts)
        lie = msgspec.structs.replace(
            true,
            number=true.number + self._random.choice(LEAPS),
            revision=true.revision + self._random.choice(LEAPS),
            live=(),
        )
        signed = lie if true.installer == self._site else self._signatures.sign_count(lie)
        unsigned = msgspec.structs.replace(lie, proof=None)
        return CommandsKnown(counts=(self._random.choice((lie, signed, unsigned)),), live=())

    def leap(self) -> Message:
        """Its own word, which nobody else's streams hang on."""
        by = self._random.choice(LEAPS[3:])
        return CommandsKnown(
            counts=(
                self._signatures.sign_count(Count(installer=self._site, number=by, revision=by)),
            ),
            live=(),
        )

    def install(self) -> Message | None:
        known = self._some_install()
        if known is None:
            return None
        number = self._random.choice((7, 1 << 30))
        prefix = "" if known.query.asked is None else NAMED
        query = msgspec.structs.replace(
            known.query, id=QueryId(f"{prefix}evil{number}", self._site, number), root=self._site
        )
        install = msgspec.structs.replace(known, query=query, operator=OPERATOR, plan_version=0)
        signed = self._signatures.sign_plan(install)
        if self._random.random() < 0.5:
            forged = self._signatures.sign_command(signed)
            assert isinstance(forged, Install)
            signed = forged
        count = self._signatures.sign_count(
            Count(installer=self._site, number=number, revision=1, live=(str(query.id),))
        )
        return CommandMessage(command=signed, count=count)

    def removal(self) -> Message | None:
        """In its own count, which it may sign, with a removal, which it may not."""
        known = self._some_install()
        if known is None:
            return None
        removal = Remove(
            id=known.query.id, installer=self._site, counter=1, operator=OPERATOR, proof=known.proof
        )
        if self._random.random() < 0.5:
            forged = self._signatures.sign_command(removal)
            assert isinstance(forged, Remove)
            removal = forged
        count = self._signatures.sign_count(
            Count(installer=self._site, number=1, revision=1, live=(), ended=(removal,))
        )
        return CommandMessage(command=removal, count=count)

    def plan(self) -> Message | None:
        known = self._some_install()
        if known is None:
            return None
        lie = msgspec.structs.replace(
            known, plan_version=known.plan_version + self._random.choice(LEAPS)
        )
        return CommandMessage(self._random.choice((lie, self._signatures.sign_plan(lie))))

    def settings(self) -> Message | None:
        """Nothing is waited for any more, by settings that no operator has signed."""
        known = self._some_install()
        if known is None:
            return None
        lie = Alter(
            id=known.query.id,
            installer=self._site,
            counter=1,
            number=self._random.choice((1, 2, 1 << 53)),
            first_pane=self._random.choice((known.query.begin_pane or 0, 1 - FOREVER, FOREVER)),
            settings=Settings(deadline_s=0.0),
            operator=OPERATOR,
            proof=known.proof,
        )
        if self._random.random() < 0.5:
            forged = self._signatures.sign_command(lie)
            assert isinstance(forged, Alter)
            lie = forged
        return AlterMessage(lie)

    def _some_install(self) -> Install | None:
        live = [one for one in self._installs() if one.query.root != self._site]
        return self._random.choice(live) if live else None
