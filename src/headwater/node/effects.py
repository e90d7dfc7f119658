"""What a node wants done, in order: the one list that an agent or a simulator works off.

The order is a promise. An effect that writes to the disk is done, durably, before the next one is
begun, so nothing is said on the wire that a crash could take back. Three effects take time and
are answered by a call instead: ``Cut`` by ``updates_cut``, ``LoadAndSend`` by ``loaded``,
``Answer`` by ``answered``.

========================  ========================================================================
``Transmit``, ``Dial``,   the network; ``Dial`` is answered by ``link_up`` or another ``Dial``,
``Hangup``                ``Hangup`` by ``link_down``
``Cut`` … ``Forget``      the cube
``LoadAndSend``           the cube: load the rows of these updates, then call ``loaded``
``Keep`` … ``Answer``     the root's ledger, Spark, the results
``KeepCommand``,          the durable commands
``KeepCounts``
``Installed``,            the Spark host: run this query's site part from now on, or no longer
``Withdrawn``
``LiveAnew``,             the cube or the ledger: take an incarnation above the given one, durably,
``RiseAbove``             then call ``lives_anew`` or ``risen``
========================  ========================================================================
"""

from __future__ import annotations

import msgspec

from headwater.edge.outputs import (
    Cut,
    CutDone,
    Expire,
    Forget,
    MarkAcked,
    MarkSent,
    MarkUnacked,
    Remember,
)
from headwater.edge.outputs import Send as LoadAndSend
from headwater.overlay.outputs import CommandAccepted as KeepCommand
from headwater.overlay.outputs import CountsLearned as KeepCounts
from headwater.overlay.outputs import Dial, Hangup, Transmit
from headwater.plan.query import Query
from headwater.root.outputs import (
    Answer,
    Ended,
    Keep,
    KeepAgreement,
    KeepAlarm,
    KeepState,
    Replace,
    Trim,
)


class Installed(msgspec.Struct, frozen=True):
    """This site answers for the query from now on: its site part belongs in the next batch.

    When that is so, call ``read_from``. It is done before the next effect is begun, so that
    nothing is said of the query before.
    """

    query: Query
    is_new: bool = True
    """False: it was here before a restart, and is read from where it was."""


class Withdrawn(msgspec.Struct, frozen=True):
    """This site no longer runs the query (removed, refused or suspended)."""

    query: str


class AnswersBegun(msgspec.Struct, frozen=True):
    """This site is the root of the query: its ledger and its results belong here."""

    query: Query


class AnswersEnded(msgspec.Struct, frozen=True):
    """The query was removed: its ledger may go; published results stay."""

    query: str


class AnswersSuspended(msgspec.Struct, frozen=True):
    """The query is answered here no more, also after a restart, until it is removed."""

    query: str
    why: str


class LiveAnew(msgspec.Struct, frozen=True):
    """The cube goes by an incarnation that a root holds for a former one: take one above."""

    above: int


class RiseAbove(msgspec.Struct, frozen=True):
    """The ledger goes by an incarnation that sites hold for a former one: take one above."""

    above: int


class Notice(msgspec.Struct, frozen=True):
    """Something that an operator or a test may want to see; nobody needs to act."""

    part: str
    """edge, overlay, root, node, or spark."""
    kind: str
    text: str


Effect = (
    Transmit
    | Dial
    | Hangup
    | Cut
    | Remember
    | MarkSent
    | MarkAcked
    | MarkUnacked
    | Expire
    | Forget
    | LoadAndSend
    | Keep
    | KeepState
    | KeepAgreement
    | Replace
    | KeepAlarm
    | Trim
    | Answer
    | Ended
    | KeepCommand
    | KeepCounts
    | Installed
    | Withdrawn
    | AnswersBegun
    | AnswersEnded
    | AnswersSuspended
    | LiveAnew
    | RiseAbove
    | Notice
)

__all__ = [
    "Answer",
    "AnswersBegun",
    "AnswersEnded",
    "AnswersSuspended",
    "Cut",
    "CutDone",
    "Dial",
    "Effect",
    "Ended",
    "Expire",
    "Forget",
    "Hangup",
    "Installed",
    "Keep",
    "KeepAgreement",
    "KeepAlarm",
    "KeepCommand",
    "KeepCounts",
    "KeepState",
    "LiveAnew",
    "LoadAndSend",
    "MarkAcked",
    "MarkSent",
    "MarkUnacked",
    "Notice",
    "Remember",
    "Replace",
    "RiseAbove",
    "Transmit",
    "Trim",
    "Withdrawn",
]
