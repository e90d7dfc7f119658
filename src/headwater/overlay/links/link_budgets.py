"""What an agent may send in a second, all links together and to single neighbours: a value.

A budget is what the interface sees: payload, frames, TLS, TCP and IP headers, acknowledgements,
handshakes. Of the agent's own budget and that of the link the least counts.

Heartbeats and control go first, within their share. They fit into it because their intervals are
stretched: an agent that can't afford a heartbeat every two seconds for each of its neighbours sends
them less often and says so in them. Below what that takes at the longest interval, with one close
beside it, a budget can't work and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headwater.algebra.byte_rate import rate_text
from headwater.errors import ConfigurationError
from headwater.plan.altered.link_share import CLOSE_BYTES

CONTROL_SHARE_MAX = 0.2
BEAT_SHARE = 0.5
"""Of control's share, for heartbeats; the rest is for acknowledgements, states and commands."""
BEAT_WIRE_BYTES = 300
"""What a heartbeat with the signs of up to two roots takes, and the acknowledgement by TCP of the
one that comes back, conservatively."""
FREE_SIGNS = 2
SIGN_BYTES = 28
"""What the sign of each further root adds."""
BEAT_S_MAX = 5.0
"""The longest interval to which heartbeats are stretched: signs of roots travel with them, over
several links, and must not look old."""
CLOSE_S = 2.0


class LinkBudgets(msgspec.Struct, frozen=True):
    """In bytes a second; None, or a name that is missing: no limit."""

    agent: float | None = None
    to: dict[str, float] = {}
    """By neighbour."""
    control_share_max: float = CONTROL_SHARE_MAX

    def __str__(self) -> str:
        """For people."""
        of_all = "without a limit" if self.agent is None else f"at most {rate_text(self.agent)}"
        single = (f"{name} at most {rate_text(rate)}" for name, rate in self.to.items())
        return "; ".join((f"all links together {of_all}", *single))

    def __bool__(self) -> bool:
        return self.agent is not None or bool(self.to)

    def of(self, site: str) -> float | None:
        """The least that counts on the link with it."""
        known = [one for one in (self.agent, self.to.get(site)) if one is not None]
        return min(known, default=None)

    def for_panes(self, site: str) -> float | None:
        """What of it is left beside control, which goes first."""
        rate = self.of(site)
        return None if rate is None else rate * (1.0 - self.control_share_max)

    def beat_every_s(self, neighbours: Iterable[str], *, signs: int = FREE_SIGNS) -> float:
        """How far apart heartbeats must be so that they stay within their part of control's share,
        on every link and on all together; at most ``BEAT_S_MAX``. ``signs`` of roots are in
        each."""
        names = list(neighbours)
        share = self.control_share_max * BEAT_SHARE
        beat_bytes = BEAT_WIRE_BYTES + max(0, signs - FREE_SIGNS) * SIGN_BYTES
        needed_s = [beat_bytes / (self.to[one] * share) for one in names if one in self.to]
        if self.agent is not None:
            needed_s.append(len(names) * beat_bytes / (self.agent * share))
        return min(max(needed_s, default=0.0), BEAT_S_MAX)

    def require_enough(self, sites: Iterable[str], *, link_count: int) -> None:
        """``sites`` are those of the roster, without this one; ``link_count`` is how many
        neighbours the agent has at least. Raises ``ConfigurationError``."""
        known = set(sites)
        for name, rate in self.to.items():
            where = f"links.to.{name}"
            if name not in known:
                raise ConfigurationError(
                    f"{where}: no other site of the roster has this name; there are "
                    f"{', '.join(sorted(known)[:20]) or 'none'}"
                )
            _require(where, rate, self.least(1), "")
        if self.agent is not None:
            least = self.least(link_count)
            _require(
                "links.budget",
                self.agent,
                least,
                f" over {link_count} link{'s' * (link_count != 1)}",
            )

    def least(self, link_count: int) -> float:
        """What heartbeats take at their longest interval within their share, or a close beside
        control, whichever is more."""
        beats = link_count * BEAT_WIRE_BYTES / BEAT_S_MAX / (self.control_share_max * BEAT_SHARE)
        return max(beats, CLOSE_BYTES / CLOSE_S / (1.0 - self.control_share_max))


NO_BUDGETS = LinkBudgets()


def _require(where: str, rate: float, least: float, over: str) -> None:
    if rate < least:
        raise ConfigurationError(
            f"{where}: {rate_text(rate)} is too little for heartbeats and one close{over}; the "
            f"least that works is {rate_text(1.01 * least)}"
        )
