"""Before and after each request of an operator: whether they may, and what is written down.

It stands between the network, which knows who asks, and ``control``, which knows the answers. What
it does not know counts as a change of everything: a request that is added later is refused to those
who have few rights until it is named here.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any

import msgspec

from headwater.agent.control import control_api as api
from headwater.agent.control.audit import DONE, AuditLog, entry
from headwater.agent.control.rights import Asked, Right, Rights, signer_of, stream_of
from headwater.errors import ConfigurationError, HeadwaterError, NotAuthorised
from headwater.net.control.control import Caller
from headwater.net.values.words import alteration_in, query_in, removal_in
from headwater.plan.altered.site_budget import SiteBudget, budget_in
from headwater.plan.command import Alter, Remove
from headwater.plan.query import Query

OF_A_STREAM = (api.WATCH, api.WHY, api.STATEMENTS)
OF_NO_STREAM = (api.STREAMS, api.SITES, api.EXPLAIN, api.ALARMS)
"""What is said of streams is left out of the reply where they may not be read."""
READS = (*OF_A_STREAM, *OF_NO_STREAM)
PREPARES = (
    api.COMPARE,
    api.PREPARE,
    api.PREPARE_ASK,
    api.PREPARE_BUDGET,
    api.PREPARE_REMOVAL,
    api.PREPARE_ALTER,
)

ASKS = (api.PREPARE_ASK, api.GIVE, api.END_ASK)
"""What may be about questions alone."""
ALL_CHANGES = (Right.INSTALL, Right.REMOVE)
"""Of any stream."""
Answer = Callable[[str, dict[str, Any]], Awaitable[Any]]
Compile = Callable[[str], list[Query]]
Live = Callable[[], list[Query]]


class FrontDesk:
    def __init__(
        self,
        answer: Answer,
        rights: Rights,
        audit: AuditLog | None,
        *,
        compiled: Compile,
        live: Live,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """``compiled`` gives the queries of a file, ``live`` those that run."""
        self._answer = answer
        self._rights = rights
        self._audit = audit
        self._compiled = compiled
        self._live = live
        self._now_s = now_s
        self._narrowed = {
            api.STREAMS: self._readable,
            api.COMPARE: self._readable_texts,
            api.ALARMS: self._readable_alarms,
        }
        """What is left of a reply for who may not read all of it."""

    async def handle(self, name: str, payload: dict[str, Any], caller: Caller) -> Any:
        try:
            self._require(name, payload, caller)
            reply = await self._answer(name, payload)
        except HeadwaterError as error:
            self._note(name, payload, caller, f"refused: {error}")
            raise
        except Exception as error:
            self._note(name, payload, caller, f"failed: {error!r}")
            raise
        self._note(name, payload, caller, DONE)
        return self._narrowed[name](reply, caller) if name in self._narrowed else reply

    def _require(self, name: str, payload: dict[str, Any], caller: Caller) -> None:
        """By role and name first: what somebody may not change is not even compiled."""
        who = caller.identity
        changes, asks = name not in READS, name in ASKS
        _refuse_for(self._rights.objection_to(who, changes=changes, asks=asks))
        if name == api.GIVE:
            self._require_given(_given(payload), caller)
            return
        if name == api.GIVE_BUDGET:
            self._require_budget(payload, caller)
        for asked in self._asked_for(name, payload):
            _refuse_for(self._rights.objection(who, asked))

    def _asked_for(self, name: str, payload: dict[str, Any]) -> list[Asked]:
        if name in OF_NO_STREAM:
            return []
        if name == api.PREPARE_ASK:  # whose stream is asked is known when it is given
            return []
        if name == api.END_ASK:
            ids = [str(one) for one in payload.get("questions", ())]
            return [asked for one in ids for asked in self._of_live(Right.ASK, one)]
        stream = str(payload.get("stream", ""))
        if name in OF_A_STREAM:
            return self._of_live(Right.READ, stream)
        if name == api.PREPARE_REMOVAL:
            return self._of_live(Right.REMOVE, stream)
        if name == api.PREPARE_ALTER:
            return self._of_live(Right.REMOVE if payload.get("ends") else Right.INSTALL, stream)
        if name in (api.PREPARE, api.COMPARE):
            queries = self._compiled(str(payload.get("text", "")))
            return _of(Right.INSTALL, queries) or [Asked(Right.INSTALL)]
        return [Asked(right) for right in ALL_CHANGES]

    def _require_budget(self, payload: dict[str, Any], caller: Caller) -> None:
        """Whoever has signed it, if that is another: it holds for all streams."""
        operator = _budget_of(payload).operator
        signer = signer_of(caller.identity.federation, operator)
        for right in ALL_CHANGES:
            _refuse_for(self._rights.objection(signer, Asked(right)))

    def _require_given(self, given: Given, caller: Caller) -> None:
        """Of whoever brings a command, and of whoever has signed it, if that is another: whether
        the signature is true is looked at by the desk behind this one."""
        federation = caller.identity.federation
        for query, operator in given.installs:
            signer = signer_of(federation, operator)
            right = Right.INSTALL if query.asked is None else Right.ASK
            for asked, who in product(_of(right, [query]), (caller.identity, signer)):
                _refuse_for(self._rights.objection(who, asked))
        for removal in given.removals:
            signer = signer_of(federation, removal.operator)
            live = self._of_live(Right.REMOVE, str(removal.id))
            for asked, who in product(live, (caller.identity, signer)):
                _refuse_for(self._rights.objection(who, asked))
        for alter in given.alters:
            signer = signer_of(federation, alter.operator)
            right = Right.REMOVE if alter.settings.is_end else Right.INSTALL
            live = self._of_live(right, str(alter.id))
            for asked, who in product(live, (caller.identity, signer)):
                _refuse_for(self._rights.objection(who, asked))

    def _of_live(self, right: Right, stream: str) -> list[Asked]:
        """By its name, or by that of one of its parts. Of a stream that is not there the name
        counts, so that nobody learns by asking which there are."""
        found = [one for one in self._live() if stream in (one.stream, one.id.name, str(one.id))]
        return _of(right, found) or [Asked(right, stream)]

    def _readable(self, reply: Any, caller: Caller) -> Any:
        """Of a former query the source is not known any more: those are for whoever may read every
        source."""
        hidden = {
            str(query.id)
            for query in self._live()
            for asked in _of(Right.READ, [query])
            if self._rights.objection(caller.identity, asked) is not None
        }
        former = [
            one
            for one in reply.get("former", ())
            if self._may_read(caller, Asked(Right.READ, one["stream"]))
        ]
        shown = [one for one in reply["streams"] if one["id"] not in hidden]
        return {**reply, "streams": shown, "former": former}

    def _readable_texts(self, reply: Any, caller: Caller) -> Any:
        """Whoever may install a stream may not have the right to read what runs under its name."""
        shown = []
        for one in reply["streams"]:
            may = all(
                self._may_read(caller, asked) for asked in self._of_live(Right.READ, one["stream"])
            )
            shown.append(one if may else {**one, "former_text": "", "results": ()})
        return {**reply, "streams": shown}

    def _readable_alarms(self, reply: Any, caller: Caller) -> Any:
        """Of a stream that is removed the source is not known any more, so that its alarms are for
        those who may read every source. A lie is about none, and its words may name any: they are
        for those who may read all."""
        live = {str(query.id): query for query in self._live()}
        reads_all = self._may_read(caller, Asked(Right.READ))
        shown = []
        for one in reply["alarms"]:
            query = live.get(one["id"])
            asked = _of(Right.READ, [query]) if query else [Asked(Right.READ, one["stream"])]
            if not one["id"]:
                shown.append(one if reads_all else {**one, "text": ""})
            elif all(self._may_read(caller, each) for each in asked):
                shown.append(one)
        return {**reply, "alarms": shown}

    def _may_read(self, caller: Caller, asked: Asked) -> bool:
        return self._rights.objection(caller.identity, asked) is None

    def _note(self, name: str, payload: dict[str, Any], caller: Caller, outcome: str) -> None:
        """What is prepared changes nothing; what is given says in plain words what it was."""
        if self._audit is None:
            return
        is_change = outcome == DONE and name not in (*READS, *PREPARES)
        what = GIVEN_AS_TEXT[name](payload) if name in GIVEN_AS_TEXT else payload
        one = entry(caller, name, what, outcome=outcome, at_s=self._now_s())
        self._audit.add(one, is_change=is_change)


class Given(msgspec.Struct, frozen=True):
    """Signed commands, read."""

    installs: tuple[tuple[Query, str], ...]
    """Each with the operator who has signed it."""
    removals: tuple[Remove, ...]
    alters: tuple[Alter, ...]


def _given(payload: dict[str, Any]) -> Given:
    try:
        request = msgspec.convert(payload, api.GiveRequest)
        queries = [query_in(one.word) for one in request.installs]
        removals = [removal_in(one.word) for one in request.removals]
        alters = [alteration_in(one.word) for one in request.alters]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"give: wanted commands as they were prepared, {error}") from None
    installs = tuple((query, operator) for query, _, operator in queries)
    return Given(installs, tuple(removals), tuple(alters))


def _budget_of(payload: dict[str, Any]) -> SiteBudget:
    try:
        return budget_in(msgspec.convert(payload, api.GiveBudget).budget.word)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"budget: wanted one as it was prepared, {error}") from None


def _budget_as_text(payload: dict[str, Any]) -> dict[str, Any]:
    try:
        budget = _budget_of(payload)
    except HeadwaterError:
        return {}
    return msgspec.to_builtins(msgspec.structs.replace(budget, proof=None))  # type: ignore[no-any-return]


def _given_as_text(payload: dict[str, Any]) -> dict[str, Any]:
    try:
        given = _given(payload)
    except HeadwaterError:
        return {}
    return {
        "install": [
            {"id": str(query.id), "operator": operator, "text": query.program.text}
            for query, operator in given.installs
        ],
        "remove": [{"id": str(one.id), "operator": one.operator} for one in given.removals],
        "alter": [
            {
                "id": str(one.id),
                "operator": one.operator,
                "settings": one.number,
                "first_pane": one.first_pane,
                "text": one.settings.text(),
            }
            for one in given.alters
        ],
    }


GIVEN_AS_TEXT = {api.GIVE: _given_as_text, api.GIVE_BUDGET: _budget_as_text}
"""What is written down of what was signed."""


def _refuse_for(objection: str | None) -> None:
    if objection is not None:
        raise NotAuthorised(objection)


def _of(right: Right, queries: list[Query]) -> list[Asked]:
    return [Asked(right, stream_of(query), query.program.source.path) for query in queries]
