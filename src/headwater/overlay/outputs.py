"""What a peer wants done: the driver takes these and does them, in order, without deciding."""

from __future__ import annotations

import msgspec

from headwater.algebra.summary import Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.pause import PauseHeard
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.messages import Message
from headwater.plan.command import Command, Count
from headwater.plan.notice import Notice

CONTROL = 0
"""Heartbeats, acknowledgements, states, commands: small, and never behind data."""
LIVE = 1
"""First sends soon after their close."""
LATER = 2
"""Backlog and spares: after live, but with a reserved share of the link (``backlog_share``)."""


class Transmit(msgspec.Struct, frozen=True):
    """Put this message on the link, behind what has the same or a lower priority number."""

    to: str
    message: Message
    lane_priority: int


class Dial(msgspec.Struct, frozen=True):
    """A link to this site is missing and it is on us to open it; ``link_up`` tells of success."""

    site: str
    as_host: bool = False
    """It is sought as a last resort, whether or not it is a neighbour too."""


class Hangup(msgspec.Struct, frozen=True):
    """The link looks open but its other end is silent: close it and report ``link_down``."""

    site: str


class Delivered(msgspec.Struct, frozen=True):
    """A summary has arrived at the root of its query, which is here."""

    summary: Summary
    sender: str


class StatesDelivered(msgspec.Struct, frozen=True):
    """States have arrived at the root of their queries, which is here."""

    states: tuple[SiteState, ...]


class AbsenceDelivered(msgspec.Struct, frozen=True):
    """What a peer says of its links has arrived at the root that it is for, which is here."""

    absence: Absence


class AckDelivered(msgspec.Struct, frozen=True):
    """The root of this query has spoken; for this site's edge."""

    ack: Acknowledgement


class CommandAccepted(msgspec.Struct, frozen=True):
    """A command that is new here: make it durable together with the counts, then act on it.

    A removal that was learned from a count comes as a ``Remove`` whose own number is not known; it
    then carries the number of the removed query, and only ``id`` and ``counts`` count.
    """

    command: Command
    counts: tuple[Count, ...]
    """Those that have changed since they were last told."""


class CountsLearned(msgspec.Struct, frozen=True):
    """Installers have counted further, with nothing to act on here: make it durable."""

    counts: tuple[Count, ...]


Output = (
    Transmit
    | Dial
    | Hangup
    | Delivered
    | StatesDelivered
    | AbsenceDelivered
    | AckDelivered
    | PauseHeard
    | CommandAccepted
    | CountsLearned
    | Notice
)
