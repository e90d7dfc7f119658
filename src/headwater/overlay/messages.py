"""What peers say to each other: one struct for each kind of message, and nothing else travels.

Messages are frozen values. How they become bytes is the driver's business; here is only what they
mean. ``Message`` is the union of all of them, told apart by their tag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name, Number, Pane
from headwater.algebra.coordinate import Coordinate
from headwater.algebra.route import START, TREES_MAX, Route
from headwater.algebra.summary import Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.pause import PERIOD_S_MAX
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.command import Alter, Count, Install, Remove


class Heartbeat(msgspec.Struct, frozen=True, tag=True):
    """One for each pair of linked peers, whatever the number of queries and trees between them.

    The sender repeats the time of the newest heartbeat it has from the other side and how long
    ago that came, so the other side learns the round trip without any common clock.
    """

    sent_s: float
    """The sender's clock; only ever compared with the sender's own clock, by its echo."""
    echo_s: float | None
    """``sent_s`` of the newest heartbeat that came from the receiver; None: none yet."""
    echo_held_s: float
    """How long the sender held that heartbeat before this echo."""
    digest: int
    """64 bits that stand for all commands the sender knows; different: reconcile."""
    roots: tuple[RootPulse, ...] = ()
    """What the sender knows of the roots: that they live, and what their clocks show."""
    coordinate: Coordinate | None = None
    """Where the sender is; None: it does not know yet."""
    needs_link: bool = True
    """For a tree or as a last resort. A link that neither end needs is closed."""
    next_s: float = 0.0
    """When the next one comes, where that is later than usual: the sender's budget is small. 0: as
    usual."""
    marker: int = -1
    """The newest of the receiver's markers that the sender has read; 0: none on this link, -1: the
    sender knows nothing of markers."""
    marker_held_s: float = 0.0
    """How long ago that was."""


class BeatContent(NamedTuple):
    """What there is to say in a heartbeat beside its times. All neighbours are told the same, but
    for the roots, which take turns where they are many."""

    digest: int
    roots: tuple[RootPulse, ...] = ()
    coordinate: Coordinate | None = None


class SummaryMessage(msgspec.Struct, frozen=True, tag=True):
    summary: Summary


class StatesMessage(msgspec.Struct, frozen=True, tag=True):
    """What sites say about one query's panes, collected by a relay on the way to the root."""

    states: tuple[SiteState, ...]
    route: Route = START
    plan_version: int = 0


class AbsenceMessage(msgspec.Struct, frozen=True, tag=True):
    """What a peer says of its links, on its way to a root."""

    absence: Absence
    route: Route = START
    plan_version: int = 0


PAUSES_MAX = 256
"""In one message; of more, the others are told with the next heartbeats."""


class TreePause(msgspec.Struct, frozen=True, array_like=True):
    """The youngest pane of a query that the sender takes, from those below it on one tree."""

    query: Name
    plan_version: Number
    tree: Annotated[int, Meta(ge=0, lt=TREES_MAX)]
    youngest: Pane
    """``FOREVER``: it takes all again."""
    period_s: Annotated[float, Meta(ge=0.0, le=PERIOD_S_MAX)]
    """It is said again so soon."""


class PausesMessage(msgspec.Struct, frozen=True, tag=True):
    """From a relay to a child, with a heartbeat, while any pause lasts."""

    pauses: Annotated[tuple[TreePause, ...], Meta(max_length=PAUSES_MAX)]


class AckMessage(msgspec.Struct, frozen=True, tag=True):
    """From the root down the query's tree."""

    ack: Acknowledgement


class CommandMessage(msgspec.Struct, frozen=True, tag=True):
    """A command on its way through the federation, or the answer to ``AskInstall``."""

    command: Install | Remove
    count: Count | None = None
    """Its installer's newest, as far as the sender knows."""


class AlterMessage(msgspec.Struct, frozen=True, tag=True):
    """Settings for a query that runs, on their way through the federation, or behind an install
    that was asked for. A message of its own: who does not know it leaves it alone."""

    alter: Alter
    count: Count | None = None
    """Its installer's newest, as far as the sender knows."""


class CommandsKnown(msgspec.Struct, frozen=True, tag=True):
    """All that a peer knows about commands, in its shortest form: the installers' own words, and
    as hints what to ask for."""

    counts: tuple[Count, ...]
    live: tuple[str, ...]
    plans: dict[str, int] = {}
    """TreeSet versions of live queries that have been planned again."""


class AskInstall(msgspec.Struct, frozen=True, tag=True):
    """Wanted: the installs of these query ids."""

    ids: tuple[str, ...]


class StreamMarker(msgspec.Struct, frozen=True, tag=True):
    """Behind data of one query: whoever has read it has read what was handed over before it."""

    number: int
    query: str = ""
    """Whose data it joins, for whoever drives the sender's links."""


class Placed(msgspec.Struct, frozen=True, array_like=True):
    ordinal: int
    coordinate: Coordinate


class CoordinatesMessage(msgspec.Struct, frozen=True, tag=True):
    """Where sites are, as far as the sender has news of it."""

    placed: tuple[Placed, ...]


Message = (
    Heartbeat
    | StreamMarker
    | SummaryMessage
    | StatesMessage
    | AbsenceMessage
    | PausesMessage
    | AckMessage
    | CommandMessage
    | AlterMessage
    | CommandsKnown
    | AskInstall
    | CoordinatesMessage
)

AnyMessage = TypeVar("AnyMessage", bound=Message)

_AGEING: Mapping[type[msgspec.Struct], str] = {
    SummaryMessage: "summary",
    AbsenceMessage: "absence",
    AckMessage: "ack",
    CommandMessage: "command",
}
"""What has an age in a message; removals have none."""


def aged(message: AnyMessage, by_s: float) -> AnyMessage:
    """The same message, older. A driver calls it for what waited in its queue before writing."""
    field = _AGEING.get(type(message))
    content: Any = None if field is None else getattr(message, field)
    if by_s <= 0.0 or field is None or isinstance(content, Remove):
        return message
    older = msgspec.structs.replace(content, age_s=content.age_s + by_s)
    return msgspec.structs.replace(message, **{field: older})
