"""One question about the minute that is over, asked of the cubes of all sites.

No stream was asked for it. A stream's panes have it all the same, so no log is read again; the
check is as of any answer, one Spark over all records.
"""

from __future__ import annotations

import asyncio
import time

import msgspec
import pyarrow as pa

from headwater.agent.control import control_api as api
from headwater.agent.control.ask_api import AskRequest, EndAskRequest
from headwater.agent.control.operator_client import Ask, give_question, prepared_question
from headwater.net.identity.signing import OperatorSignature
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

SELECT = (
    "SELECT cache, count(*) AS requests, avg(latency_ms) AS mean_ms FROM access "
    "WHERE bytes >= 0 AND status >= 500 GROUP BY cache"
)
NAME = "ask_demo"
ANSWER_S_MAX = 60.0
LOOK_EVERY_S = 0.1


class AskedOnce(msgspec.Struct, frozen=True):
    """The question, with its answer; without one nobody answered in time."""

    query: Query
    took_s: float
    envelope: Envelope | None = None
    rows: pa.Table | None = None


async def asked_once(
    ask: Ask, signature: OperatorSignature, reader: ResultsReader, *, from_us: int, to_us: int
) -> AskedOnce:
    """``reader``: of the answers of the question, where it is answered."""
    began_s = time.monotonic()
    request = AskRequest(select=SELECT, name=NAME, from_us=from_us, to_us=to_us)
    question = await prepared_question(ask, request)
    await give_question(ask, question.query, question.roster_version, signature)
    try:
        while (took_s := time.monotonic() - began_s) < ANSWER_S_MAX:
            for seq, envelope in await asyncio.to_thread(lambda: list(reader.newest())):
                rows = await asyncio.to_thread(reader.answer, seq, envelope)
                return AskedOnce(question.query, took_s, envelope, rows)
            await asyncio.sleep(LOOK_EVERY_S)
        return AskedOnce(question.query, took_s)
    finally:
        end = EndAskRequest((str(question.query.id),))
        await ask(api.END_ASK, msgspec.to_builtins(end))
