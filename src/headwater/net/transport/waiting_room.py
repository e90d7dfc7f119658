"""Who may stand at the open port before it is known who they are: places, shares and a pace.

Whoever has connected and not yet shown a certificate costs a socket, some memory and, from the
first byte on, a handshake: a millisecond or two of the loop that also sends heartbeats. Nobody can
tell a member from a stranger by then; but a member speaks as soon as it is connected, needs a few
round trips, and mostly comes from an address from which a member came before. So:

- There are two rooms of the same size, one for addresses that were known lately, one for all
  others. However full the second is, the first is not.
- Among strangers an address has a share of the places (``per_address_max``).
- One more than there is room for pushes out one that has said nothing yet, else one whose
  handshake has not begun, else the one longest here, of the address that has most places: floods
  push out each other.
- Handshakes begin at a pace, whoever has waited longest first.

A room is told what happens and when; it has no socket and no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from ipaddress import IPv6Address, ip_address, ip_network

from headwater.algebra.budget import Budget

PREFIX_BITS = 64
"""Of an address of IPv6: whoever has one has all of its network."""


class WaitingRoom:
    def __init__(
        self, *, places_max: int, per_address_max: int, per_s_max: float, burst_max: float
    ) -> None:
        self._places_max = places_max
        self._per_address_max = per_address_max
        self._pace = Budget.full(per_s=per_s_max, burst=burst_max)
        self._address_of: dict[Hashable, str] = {}
        """Everybody who is here, who came first in front."""
        self._silent: dict[Hashable, None] = {}
        self._ready: dict[Hashable, None] = {}
        """They have spoken, and their handshake has not begun."""
        self._count_of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._address_of)

    def enter(self, who: Hashable, address: str) -> Hashable | None:
        """Who must leave for it, if anybody must; the caller sees them out."""
        out = self._one_too_many(address)
        if out is not None:
            self.leave(out)
        self._address_of[who] = address
        self._silent[who] = None
        self._count_of[address] += 1
        return out

    def spoke(self, who: Hashable) -> None:
        """Its first byte has come."""
        if who in self._silent:
            del self._silent[who]
            self._ready[who] = None

    def due(self, *, now_s: float) -> list[Hashable]:
        """Those whose handshakes begin now. They keep their places until they leave."""
        found = []
        self._pace = self._pace.at(now_s)
        while self._ready and self._pace.allows():
            self._pace = self._pace.spend()
            found.append(who := next(iter(self._ready)))
            del self._ready[who]
        return found

    def next_due_s(self) -> float | None:
        """When to ask again; None: when somebody has spoken."""
        return self._pace.allows_at_s() if self._ready else None

    def leave(self, who: Hashable) -> None:
        """Known by now, given up, or gone; once more does nothing."""
        address = self._address_of.pop(who, None)
        if address is None:
            return
        self._silent.pop(who, None)
        self._ready.pop(who, None)
        self._count_of[address] -= 1
        if not self._count_of[address]:
            del self._count_of[address]

    def _one_too_many(self, address: str) -> Hashable | None:
        if self._count_of[address] >= self._per_address_max:
            return self._least_of(address)
        if len(self) < self._places_max:
            return None
        fullest, count = self._count_of.most_common(1)[0]
        return self._least_of(fullest if count > 1 else None)

    def _least_of(self, address: str | None) -> Hashable:
        """Of this address, or of all: silent before others, waiting before those whose handshake
        has begun and would be for nothing; among equals the one longest here."""
        for places in (self._silent, self._ready, self._address_of):
            for who in places:
                if address is None or self._address_of[who] == address:
                    return who
        raise AssertionError("a room that is full has somebody in it")


def shared_address(text: str) -> str:
    """What counts as one address.

    >>> shared_address("10.0.0.7"), shared_address("::ffff:10.0.0.7")
    ('10.0.0.7', '10.0.0.7')
    >>> shared_address("2001:db8:1:2::99")
    '2001:db8:1:2::'
    """
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((found, PREFIX_BITS), strict=False).network_address)


class KnownAddresses:
    """From where members came lately, the newest ones; and those that the roster names."""

    def __init__(self, always: frozenset[str], *, count_max: int, for_s: float) -> None:
        self._always = always
        self._count_max = count_max
        self._for_s = for_s
        self._seen_s: dict[str, float] = {}

    def add(self, address: str, *, now_s: float) -> None:
        self._seen_s.pop(address, None)
        self._seen_s[address] = now_s
        if len(self._seen_s) > self._count_max:
            del self._seen_s[next(iter(self._seen_s))]

    def has(self, address: str, *, now_s: float) -> bool:
        seen_s = self._seen_s.get(address)
        return address in self._always or (seen_s is not None and now_s - seen_s <= self._for_s)
