"""What a node wants done, in order: the one list that an agent or a simulator works off.

The order is a promise. An effect that writes to the disk is done, durably, before the next one is
begun, so nothing is said on the wire that a crash could take back.

``WORK`` says for each effect who does it and how. An agent, the simulator and tests have other
stores, and all of them go by this table. So a further effect is its class, its line here, and the
method of its store, real and simulated. What came of an effect goes to the node's method that the
table names; two effects take longer and are answered by a call of their own: ``LoadAndSend`` by
``loaded``, ``Answer`` by ``answered``. And ``Dial`` is answered by ``link_up`` or another ``Dial``,
``Hangup`` by ``link_down``.
"""

# mypy: implicit-reexport

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from headwater.edge.outputs import (
    Altered,
    Expire,
    Forget,
    MakeEarly,
    MakeUpdates,
    MarkAcked,
    MarkSent,
    MarkUnacked,
    Remember,
    RollUp,
    Withdrawn,
)
from headwater.edge.outputs import Send as LoadAndSend
from headwater.overlay.outputs import CommandAccepted as KeepCommand
from headwater.overlay.outputs import CountsLearned as KeepCounts
from headwater.overlay.outputs import Dial, Hangup, Transmit
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.root.outputs import (
    Answer,
    Ended,
    Keep,
    KeepAgreement,
    KeepAlarm,
    KeepShares,
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


CubeWrite = (
    MakeUpdates
    | MakeEarly
    | RollUp
    | Remember
    | MarkSent
    | MarkAcked
    | MarkUnacked
    | Expire
    | Forget
)
LedgerWrite = Keep | KeepState | KeepAgreement | Replace | KeepAlarm | KeepShares | Trim
CommandWrite = KeepCommand | KeepCounts
NetworkEffect = Transmit | Dial | Hangup
SiteEffect = LoadAndSend | Installed | Altered | Withdrawn | LiveAnew
AnswersEffect = Answer | Ended | AnswersBegun | AnswersEnded | AnswersSuspended | RiseAbove
Effect = (
    CubeWrite | LedgerWrite | CommandWrite | NetworkEffect | SiteEffect | AnswersEffect | Notice
)

Store = Literal["network", "cube", "site", "ledger", "answers", "commands", "people"]
"""``site``: what reads a site's sources and the rows of its cube. ``answers``: Spark, the results,
and the ledger where a query begins and ends."""
DURABLE = True


class Work(NamedTuple):
    """``method`` of ``store`` is called with the effect."""

    store: Store
    method: str
    is_durable: bool = False
    """It is a write. It is on the disk before the next effect is begun; neighbours that are the
    same store's may be one transaction."""
    told: str = ""
    """The method of ``Node`` that is given what came of it."""

    @property
    def place(self) -> tuple[Store, bool]:
        """What neighbours have in common that are done as one."""
        return self.store, self.is_durable


WORK: Mapping[type[Effect], Work] = {
    Transmit: Work("network", "transmit"),
    Dial: Work("network", "dial"),
    Hangup: Work("network", "hang_up"),
    MakeUpdates: Work("cube", "make_updates", DURABLE, told="updates_made"),
    MakeEarly: Work("cube", "make_early", DURABLE, told="updates_made"),
    RollUp: Work("cube", "roll_up", DURABLE, told="updates_made"),
    Remember: Work("cube", "remember", DURABLE),
    MarkSent: Work("cube", "mark_sent", DURABLE),
    MarkAcked: Work("cube", "mark_acked", DURABLE),
    MarkUnacked: Work("cube", "mark_unacked", DURABLE),
    Expire: Work("cube", "expire", DURABLE),
    Forget: Work("cube", "forget", DURABLE),
    LoadAndSend: Work("site", "load_rows"),
    Keep: Work("ledger", "keep", DURABLE),
    KeepState: Work("ledger", "keep_state", DURABLE),
    KeepAgreement: Work("ledger", "keep_agreement", DURABLE),
    Replace: Work("ledger", "replace", DURABLE),
    KeepAlarm: Work("ledger", "keep_alarm", DURABLE),
    KeepShares: Work("ledger", "keep_shares", DURABLE),
    Trim: Work("ledger", "trim", DURABLE),
    Answer: Work("answers", "answer"),
    Ended: Work("answers", "all_answered"),
    KeepCommand: Work("commands", "keep_command", DURABLE),
    KeepCounts: Work("commands", "keep_counts", DURABLE),
    Installed: Work("site", "install"),
    Altered: Work("site", "alter"),
    Withdrawn: Work("site", "withdraw"),
    AnswersBegun: Work("answers", "begin_answers", DURABLE),
    AnswersEnded: Work("answers", "end_answers", DURABLE),
    AnswersSuspended: Work("answers", "suspend_answers"),
    LiveAnew: Work("site", "live_anew", DURABLE, told="lives_anew"),
    RiseAbove: Work("answers", "rise_above", DURABLE, told="risen"),
    Notice: Work("people", "notice"),
}


def perform_all(store: object, effects: Sequence[Effect]) -> list[Any]:
    """In order, by the store's methods; what came of each."""
    return [getattr(store, WORK[type(effect)].method)(effect) for effect in effects]
