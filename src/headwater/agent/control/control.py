"""What operators ask, answered: one table, from the name of a request to what answers it.

The handler runs on the runtime's own event loop, so it may look at the node directly. Questions
about answers are the root's to answer; any other agent says where the root is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from headwater.agent.asking.preparing import prepared_ask
from headwater.agent.control import control_api as api
from headwater.agent.control.altering import prepared_alter
from headwater.agent.control.ask_api import AskRequest, EndAskReply, EndAskRequest
from headwater.agent.control.budgets import give_budget, prepared_budget
from headwater.agent.control.comparing import compared
from headwater.agent.control.explaining import explained
from headwater.agent.control.giving import given, prepared, prepared_removal
from headwater.agent.control.install import compile_here, statements_of
from headwater.agent.control.watching import plain, watch
from headwater.agent.control.why import why
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.alarm_lines import alarm_lines, roots_elsewhere
from headwater.agent.view.site_lines import site_lines
from headwater.agent.view.stream_lines import streams_reply
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.net.control.control import Caller
from headwater.plan.notice import Notice
from headwater.plan.query import Query

T = TypeVar("T")
NOTHING = dict[str, Any]
"""Asked for with a name alone."""


class ControlDesk:
    """Made before the network, opened once there is a runtime to ask."""

    def __init__(self) -> None:
        self._runtime: SiteRuntime | None = None

    def open(self, runtime: SiteRuntime) -> None:
        self._runtime = runtime

    def compiled(self, text: str) -> list[Query]:
        """The queries of a file, as they would be commanded here."""
        return compile_here(self._opened(), text)

    def live(self) -> list[Query]:
        return [one.query for one in self._opened().node.peer.live_queries().values()]

    def _opened(self) -> SiteRuntime:
        if self._runtime is None:
            raise HeadwaterError("this agent: it is starting; try again in a moment")
        return self._runtime

    def note(self, notice: Notice) -> None:
        """Shown with the runtime's own; before there is one, the log has it."""
        if self._runtime is not None:
            self._runtime.note(notice.part, notice.kind, notice.text)

    def suspend(self, query_id: str, why: str) -> None:
        if self._runtime is not None:
            self._runtime.suspend(query_id, why)

    def suspend_answers(self, query_id: str, why: str) -> None:
        if self._runtime is not None:
            self._runtime.suspend_answers(query_id, why)

    async def handle(self, name: str, payload: dict[str, Any], caller: Caller | None = None) -> Any:
        """The reply as plain data, or an asynchronous iterator of events."""
        runtime = self._opened()
        if name not in REQUESTS:
            known = ", ".join(REQUESTS)
            raise ConfigurationError(f"no request {name[:40]!r}; requests: {known}")
        kind, answer = REQUESTS[name]
        reply = answer(runtime, _asked(payload, kind))
        if isinstance(reply, AsyncIterator):
            return reply
        return plain(await reply if isinstance(reply, Awaitable) else reply)


def _asked(payload: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(payload, kind)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"request: {error}") from None


async def _streams(runtime: SiteRuntime, asked: api.StreamsRequest) -> api.StreamsReply:
    spent = runtime.network.stats().queries
    return await asyncio.to_thread(streams_reply, runtime, spent, former=asked.former)


async def _alarms(runtime: SiteRuntime, _: Any) -> api.AlarmsReply:
    kept = await asyncio.to_thread(runtime.stores.ledger.alarms)
    return api.AlarmsReply(runtime.site, alarm_lines(runtime, kept), roots_elsewhere(runtime))


def _end_ask(runtime: SiteRuntime, asked: EndAskRequest) -> EndAskReply:
    """Those of them that were taken here and live."""
    live = runtime.node.peer.live_queries()
    ended = tuple(
        one
        for one in asked.questions
        if one in live and live[one].query.asked and live[one].query.id.installer == runtime.site
    )
    runtime.question_ends.end(ended)
    return EndAskReply(ended)


class _Request(NamedTuple):
    asked: type[Any]
    """How its payload is read."""
    answer: Callable[[SiteRuntime, Any], Any]
    """Gives a reply, one to be awaited, or an iterator of events."""


REQUESTS: Mapping[str, _Request] = {
    api.PREPARE: _Request(api.PrepareRequest, lambda here, asked: prepared(here, asked.text)),
    api.PREPARE_REMOVAL: _Request(
        api.StreamRequest, lambda here, asked: prepared_removal(here, asked.stream)
    ),
    api.PREPARE_ALTER: _Request(api.AlterRequest, prepared_alter),
    api.PREPARE_BUDGET: _Request(NOTHING, lambda here, _: prepared_budget(here)),
    api.GIVE_BUDGET: _Request(api.GiveBudget, give_budget),
    api.GIVE: _Request(api.GiveRequest, given),
    api.EXPLAIN: _Request(api.ExplainRequest, lambda here, asked: explained(here, asked.text)),
    api.STREAMS: _Request(api.StreamsRequest, _streams),
    api.SITES: _Request(NOTHING, lambda here, _: api.SitesReply(here.site, site_lines(here))),
    api.WATCH: _Request(api.StreamRequest, watch),
    api.WHY: _Request(api.WhyRequest, why),
    api.STATEMENTS: _Request(
        api.StreamRequest,
        lambda here, asked: api.StatementsReply(statements_of(here, asked.stream)),
    ),
    api.ALARMS: _Request(NOTHING, _alarms),
    api.PREPARE_ASK: _Request(AskRequest, prepared_ask),
    api.END_ASK: _Request(EndAskRequest, lambda here, asked: _end_ask(here, asked)),
    api.COMPARE: _Request(api.PrepareRequest, lambda here, asked: compared(here, asked.text)),
}
