"""The answers of a stream as they are published, for whoever watches it; and what is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from headwater.agent.control import control_api as api
from headwater.agent.control.find_query import elsewhere, find_query
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.stream_lines import results_of, trouble_text
from headwater.agent.view.watched_lines import watched_sites
from headwater.agent.view.watched_site import WatchedSite
from headwater.algebra.rows.python_values import python_values
from headwater.plan.query import Query
from headwater.root.said.awaited import awaited_window
from headwater.root.said.envelope import Envelope
from headwater.root.said.withheld import in_short
from headwater.shown_text import shown_line
from headwater.store.results.results import ResultsReader

LOOK_S = 0.5
"""How often it is looked what a watcher waits for."""
QUEUE_MAX = 1_000
"""Publications that wait for a slow watcher; beyond, it is told to begin anew."""


def watch(runtime: SiteRuntime, request: api.StreamRequest) -> Any:
    query = find_query(runtime, request.stream)
    if query.root != runtime.site:
        return _only(plain(elsewhere(runtime, query)))
    return _watch(runtime, query, request)


async def _only(event: Any) -> AsyncIterator[Any]:
    """A stream of one event: whoever watches is sent elsewhere in the same way as it listens."""
    yield event


async def _watch(
    runtime: SiteRuntime, query: Query, request: api.StreamRequest
) -> AsyncIterator[Any]:
    """Every answer from now on, until the stream ends; with ``newest`` first the newest answer of
    each window, with ``waits`` also what is waited for, whenever that changes."""
    reader = results_of(runtime, query)
    news: asyncio.Queue[int] = asyncio.Queue(QUEUE_MAX)

    def published(of: Query, seq: int) -> None:
        if of.id == query.id and not news.full():
            news.put_nowait(seq)

    runtime.watchers.add(published)
    try:
        last = max(reader.publications(), default=0)
        if request.newest:
            newest = list(await asyncio.to_thread(reader.newest))
            for seq, envelope in newest:
                is_last = envelope is newest[-1][1]
                sites = _sites(runtime, query, request) if is_last else ()
                yield await asyncio.to_thread(_event, reader, seq, envelope, sites)
        told = ""
        while True:
            waits = _waits(runtime, query)
            if request.waits and waits.text != told:
                told = waits.text
                yield plain(waits)
            if waits.has_ended:
                return
            try:
                async with asyncio.timeout(LOOK_S):
                    seq = await news.get()
            except TimeoutError:
                continue
            if seq <= last:
                continue
            last = seq
            for envelope in await asyncio.to_thread(reader.envelopes, seq):
                sites = _sites(runtime, query, request)
                yield await asyncio.to_thread(_event, reader, seq, envelope, sites)
    finally:
        runtime.watchers.discard(published)


def _waits(runtime: SiteRuntime, query: Query) -> api.WaitEvent:
    """What a watcher of this query waits for."""
    live = runtime.node.peer.live_queries()
    if str(query.id) not in live:
        others = [one for one in live.values() if one.query.id.name == query.id.name]
        went = f"was replaced by {others[0].query.id}" if others else "was removed"
        return api.WaitEvent(f"{query.id} {went}: it has no more answers", has_ended=True)
    trouble = trouble_text(runtime, query)
    root = runtime.node.root(str(query.id))
    found = None if root is None else awaited_window(root, now_s=runtime.now_s())
    text = _nothing(query) if found is None else found.text()
    return api.WaitEvent(shown_line(f"{text}; trouble: {trouble}" if trouble else text))


def _nothing(query: Query) -> str:
    level = query.stands_for
    if level is None:
        return "waiting for records: only they make windows here"
    return f"waiting for a site that goes to this level of {level.of}: answered is where one does"


def _sites(
    runtime: SiteRuntime, query: Query, request: api.StreamRequest
) -> tuple[WatchedSite, ...]:
    return watched_sites(runtime, query, runtime.network.stats(), all_sites=request.sites)


def _event(
    reader: ResultsReader, seq: int, envelope: Envelope, sites: tuple[WatchedSite, ...] = ()
) -> Any:
    rows = reader.answer(seq, envelope)
    found = () if rows is None else tuple(_rows(rows))
    header = msgspec.to_builtins(envelope) | in_short(envelope.withheld)
    return plain(api.AnswerEvent(header, found, sites))


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [python_values(column, maps="lossy") for column in table.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(table.column_names, row, strict=True))


def plain(value: Any) -> Any:
    """As it travels."""
    return msgspec.to_builtins(value, enc_hook=str)
