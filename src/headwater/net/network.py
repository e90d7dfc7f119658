"""What an agent asks of a network, and what a network tells an agent.

Two networks keep this contract: ``TlsNetwork`` over sockets, and ``MemoryNetwork`` within one
process with delays and rates like the wide area's. Both move the same encoded bytes, but for a
memory network of sites that have nothing between them.

A network reports and does not decide. It dials when told, and says so when a link is up or
down; when to dial again is the peer's affair. It never sends anything twice: with ``link_down`` it
hands back what surely was not taken, and of the rest nobody can know.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from headwater.algebra.drain_rate import DrainRate
from headwater.net.identity.signing import OperatorSignature
from headwater.net.transport.frames import Stream
from headwater.overlay.links.byte_budget import Traffic
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.links.query_spending import QuerySpent
from headwater.overlay.messages import Heartbeat, Message
from headwater.overlay.outputs import CONTROL, LATER, LIVE
from headwater.overlay.signatures import Signatures

MEBIBYTE = 1 << 20


class NetworkHandler(Protocol):
    """The agent's side. Called on the event loop, never from within a call to the network."""

    def link_up(self, site: str) -> None: ...

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        """``unsent`` was surely not taken and is aged by what it waited; it may be routed anew."""

    def link_load(self, site: str, load: LinkLoad) -> None:
        """What waits for this link has changed much; told from the first queueing to empty."""

    def message(self, sender: str, message: Message) -> None: ...


class Network(Protocol):
    @property
    def signatures(self) -> Signatures:
        """By the keys of those who are linked here."""

    @property
    def operator(self) -> OperatorSignature | None:
        """Where all sites are one process: who commands them."""

    async def start(self, handler: NetworkHandler) -> None: ...

    def dial(self, site: str) -> None:
        """Try once to open a link; nothing happens while one is open or being opened."""

    def share_by(self, shares: QueryShares) -> None:
        """Queries share links by these from now on; called before ``start``."""

    def use_budgets(self, budgets: LinkBudgets) -> None:
        """They count from now on, for links that are open as well."""

    def send(self, to: str, message: Message, priority: int) -> bool:
        """False: it was not taken, and that was counted. Without a link it comes back with a
        ``link_down``; without room in the queue, or beyond what may travel, it is gone (and will
        be repaired)."""

    def queued_bytes(self, to: str) -> int:
        """What waits for this link; 0 without one."""

    def close_link(self, site: str) -> None:
        """Ends a link or a dial; ``link_down`` follows for a link that was up."""

    def stats(self) -> "NetworkStats": ...

    async def stop(self) -> None: ...


class NetLimits(msgspec.Struct, frozen=True):
    """Everything that grows, waits or repeats has its bound here."""

    control_queue_bytes_max: int = 8 * MEBIBYTE
    bulk_queue_bytes_max: int = 64 * MEBIBYTE
    """Above the peer's ``link_queue_bytes_max`` and above the largest message: the peer holds
    summaries back long before, and this is the wall behind it."""
    control_message_bytes_max: int = 8 * MEBIBYTE
    bulk_message_bytes_max: int = 32 * MEBIBYTE
    connect_timeout_s: float = 5.0
    handshake_timeout_s: float = 5.0
    hello_timeout_s: float = 5.0
    """Also how long the first connection of a pair waits for the second."""
    silence_s_max: float = 60.0
    """A link on which nothing came for so long is closed, should nobody have closed it before."""
    greetings_max: int = 64
    """Connections that have not said hello yet: so many of addresses from which a member came
    lately, and so many of all others; one more pushes out another."""
    greetings_per_address_max: int = 16
    """Of the others, one address's."""
    greetings_per_s_max: float = 50.0
    """Handshakes of the others that begin in a second, beyond ``greetings_max`` at once."""
    known_greetings_per_s_max: float = 250.0
    """Of addresses from which a member came lately: a large federation that comes back at once."""
    known_for_s: float = 86_400.0
    known_addresses_max: int = 4096
    connections_max: int = 4096
    operators_max: int = 32
    """Connections of operators and viewers."""
    operators_each_max: int = 8
    """Of those, one name's: whoever opens more must not keep the others out."""
    operator_idle_s_max: float = 600.0
    """An operator's connection without a request under way is closed after so long a silence."""
    tcp_user_timeout_s: float = 10.0
    """Written and not acknowledged for so long: the kernel gives the connection up."""
    queue_s_max: float = 2.0
    """Of what a link carries, so much may wait for it; the peer's own setting of this name."""
    sample_every_s: float = 1.0
    """How often links are looked at: round trip, delivery rate, silence, expired certificates."""


DEFAULT_LIMITS = NetLimits()


class BudgetStats(msgspec.Struct, frozen=True):
    """By class where it is by name, since the start, as the interface counts."""

    bytes_per_s: float | None = None
    """None: no budget."""
    used_bytes_per_s: float | None = None
    """Over the last ten seconds or so."""
    spent_bytes: dict[str, int] = {}
    waited_s: dict[str, float] = {}
    """How long something had to wait for a budget."""


NO_BUDGET = BudgetStats()


class LinkStats(msgspec.Struct, frozen=True):
    """One neighbour since the start, over all links with it; bytes as they travelled."""

    sent_bytes: int = 0
    received_bytes: int = 0
    sent_messages: int = 0
    received_messages: int = 0
    links: int = 0
    """How often a link came up."""
    is_up: bool = False
    queued_bytes: int = 0
    rtt_s: float | None = None
    """The kernel's smoothed round trip on the bulk connection, queueing included."""
    rtt_min_s: float | None = None
    delivery_bytes_per_s: float | None = None
    sent_by: dict[str, int] = {}
    """Of ``sent_bytes``, by class."""
    budget: BudgetStats = NO_BUDGET
    """The link's own budget, and what counted for it or for the agent's."""


class NetworkStats(msgspec.Struct, frozen=True):
    links: dict[str, LinkStats]
    refused: dict[str, int]
    """By the words of ``Refusal``."""
    budget: BudgetStats = NO_BUDGET
    """The agent's own."""
    queries: dict[str, QuerySpent] = {}
    """What was sent for each query that is live, over all links; for others, under no name."""


class LinkCounters:
    """The part of ``LinkStats`` that only counts up."""

    def __init__(self) -> None:
        self.sent_bytes = 0
        self.received_bytes = 0
        self.sent_messages = 0
        self.received_messages = 0
        self.links = 0
        self.sent_by = dict.fromkeys(CLASSES, 0)
        self.spent_bytes = [0.0] * len(Traffic)
        """For budgets, as the interface counts; nothing where there is none."""
        self.waited_s = [0.0] * len(Traffic)
        self.rate = DrainRate()
        """Of the newest connection that has ended: the next one begins with it."""

    def stats(self) -> LinkStats:
        return LinkStats(
            self.sent_bytes,
            self.received_bytes,
            self.sent_messages,
            self.received_messages,
            self.links,
            sent_by=dict(self.sent_by),
            budget=BudgetStats(
                spent_bytes={k: round(v) for k, v in by_class(self.spent_bytes).items()},
                waited_s=by_class(self.waited_s),
            ),
        )


CLASSES = ("control", "live", "backlog")
"""Of what is sent; what TCP and TLS send by themselves is ``transport``."""
CLASS_OF = {
    Traffic.BEAT: "control",
    Traffic.CONTROL: "control",
    Traffic.LIVE: "live",
    Traffic.BACKLOG: "backlog",
    Traffic.TRANSPORT: "transport",
}


def class_of(traffic: Traffic) -> str:
    """As it is shown: heartbeats are control."""
    return CLASS_OF[traffic]


def by_class(values: Sequence[float]) -> dict[str, float]:
    """Of values by traffic those that are not nothing."""
    found: dict[str, float] = {}
    for traffic, value in zip(Traffic, values, strict=True):
        found[class_of(traffic)] = found.get(class_of(traffic), 0.0) + value
    return {name: value for name, value in found.items() if value}


Notify = Callable[[str, str], None]
"""(kind, text): something that an operator or a test may want to see."""

RefusalCounts = Counter[str]


def stream_of(message: Message, priority: int) -> Stream:
    """Heartbeats before all else, for a late one looks like a failure."""
    if isinstance(message, Heartbeat):
        return Stream.HEARTBEAT
    return _STREAMS[priority]


_STREAMS = {CONTROL: Stream.CONTROL, LIVE: Stream.LIVE, LATER: Stream.BACKLOG}
