"""What a liar says of the clocks of roots: in its heartbeats, and with installs that it hands on.

It bends them each time, or by the same amount. Its own clock is its own, which it may say of what
it likes.
"""

from __future__ import annotations

from random import Random

import msgspec

from headwater.overlay.messages import CommandMessage, Heartbeat, Message
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.command import Install

CLOCK_LEAPS_S = (1.0, -1.0, 30.0, -3_600.0, 86_400.0, -86_400.0, 1e9)
"""By how much a root's clock is told wrong."""
SPREADS_S = (None, 0.0, 1e-6, 1e9)
"""By how much it may be wrong, as it says; None: as it is."""
CLOCK_AGES_S = (None, 0.0, 1e6)
CONSTANT_SHARE = 0.6
"""How many lie by the same amount in all heartbeats: who changes it contradicts itself."""

BENT = (
    "the clock of a root",
    "a spread of a root's clock",
    "an age of a root's clock",
    "the clock in an install",
)
"""What it says of its own accord and bends."""


class ClockLies:
    """Of one member."""

    def __init__(self, site: str, random: Random) -> None:
        self._site = site
        self._random = random
        self._lie = self._draw()
        self._is_constant = random.random() < CONSTANT_SHARE

    def bend(self, message: Message, *, ordinal: int) -> tuple[Message, tuple[str, ...]]:
        """What this site says, as it says it while it lies, and what was bent. Its own clock is its
        own, which it may say of what it likes."""
        if not self._is_constant:
            self._lie = self._draw()
        leap_s, _, _ = self._lie
        if isinstance(message, Heartbeat):
            pulses = tuple(self._bent(pulse, ordinal) for pulse in message.roots)
            if pulses == message.roots:
                return message, ()
            return msgspec.structs.replace(message, roots=pulses), self._what()
        if isinstance(message, CommandMessage) and isinstance(message.command, Install):
            install = message.command
            if install.query.root != self._site:
                clock_s = (install.root_clock_s or 0.0) + leap_s
                install = msgspec.structs.replace(install, root_clock_s=clock_s, age_s=0.0)
                return msgspec.structs.replace(message, command=install), BENT[3:]
        return message, ()

    def _draw(self) -> tuple[float, float | None, float | None]:
        return (
            self._random.choice(CLOCK_LEAPS_S),
            self._random.choice(SPREADS_S),
            self._random.choice(CLOCK_AGES_S),
        )

    def _what(self) -> tuple[str, ...]:
        _, spread_s, age_s = self._lie
        bent = (True, spread_s is not None, age_s is not None)
        return tuple(what for what, is_bent in zip(BENT[:3], bent, strict=True) if is_bent)

    def _bent(self, pulse: RootPulse, ordinal: int) -> RootPulse:
        if pulse.clock_s is None or pulse.root == ordinal:
            return pulse
        leap_s, spread_s, age_s = self._lie
        return msgspec.structs.replace(
            pulse,
            clock_s=pulse.clock_s + leap_s,
            spread_s=pulse.spread_s if spread_s is None else spread_s,
            clock_age_s=pulse.clock_age_s if age_s is None else age_s,
        )
