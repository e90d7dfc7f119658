"""Why a window is as it is, for whoever asks; and which window they mean."""

from __future__ import annotations

import asyncio

import msgspec

from headwater.agent.control import control_api as api
from headwater.agent.control.find_query import elsewhere, find_query
from headwater.agent.runtime import SiteRuntime
from headwater.agent.time_text import iso, last_time_us
from headwater.agent.view.stream_lines import deaths_of, results_of, trouble_text
from headwater.algebra.windows.sequence_grid import NUMBER_MAX
from headwater.errors import ConfigurationError
from headwater.plan.query import Query
from headwater.plan.sources.time_formats import CALENDAR_US
from headwater.plan.timestamps import timestamp_us
from headwater.root.said.awaited import newest_expected
from headwater.root.said.explain import OVER
from headwater.shown_text import shown_line, shown_within

DEATHS_SHOWN = 3
"""Of Spark."""
WINDOW_DIGITS_MAX = 20


async def why(runtime: SiteRuntime, request: api.WhyRequest) -> api.WhyReply | api.Elsewhere:
    query = find_query(runtime, request.stream)
    if query.root != runtime.site:
        return elsewhere(runtime, query)
    explanation = runtime.node.why(str(query.id), _window(runtime, query, request.window))
    if explanation.status == OVER:
        reader, window = results_of(runtime, query), explanation.window
        published = await asyncio.to_thread(reader.newest_of, str(query.id), window)
        explanation = explanation.with_published(published)
    value = msgspec.to_builtins(explanation)
    seen = msgspec.convert(shown_within(value), type(explanation))
    bounds = (explanation.start_us, explanation.end_us)
    shown = [str(at) if explanation.counted else iso(at) for at in bounds]
    times = dict(zip(("start", "end"), shown, strict=True))
    trouble = shown_line(trouble_text(runtime, query))
    deaths = [
        f"{iso(int(one.at_s * 1e6))} Spark died here with this query at work: "
        + shown_line(one.text)
        for one in deaths_of(runtime, query)[-DEATHS_SHOWN:]
    ]
    lines = [seen.text(), *([f"trouble at {runtime.site}: {trouble}"] if trouble else ())]
    value |= {**times, "trouble": trouble, "spark_deaths": deaths}
    return api.WhyReply("\n".join([*lines, *deaths]), value)


def _window(runtime: SiteRuntime, query: Query, text: str) -> int:
    now_us = int(runtime.wall_s() * 1e6)
    if text not in (api.NamedWindow.NEWEST, api.NamedWindow.LAST):
        return window_named(query, text, now_us=now_us)
    root = runtime.node.root(str(query.id))
    if root is not None and text == api.NamedWindow.NEWEST:
        found = newest_expected(root, now_s=runtime.now_s())
    else:
        found = root.progress().newest_answered if root is not None else None
        if found is None and root is not None:
            raise ConfigurationError(
                f"stream {query.id.name!r}: no window has an answer yet; what is awaited says: "
                f"headwater why {query.id.name}"
            )
    if found is None and query.numbers is not None:
        raise ConfigurationError(
            f"stream {query.id.name!r}: no site has told of records yet, and only records make "
            "windows of numbers; name a window by its number"
        )
    if found is None:
        return query.window.windows_of(query.window.pane_at(now_us))[0]
    return found


def window_named(query: Query, text: str, *, now_us: int = 0) -> int:
    """The window of this number, or the newest one that this time (UTC unless it says) lies in.
    A time without a day is the last one before ``now_us``. Windows of numbers have no times."""
    if query.numbers is not None:
        return _number_named(query, text)
    if text.removeprefix("-").isdecimal():
        if len(text) > WINDOW_DIGITS_MAX or not _is_of_calendar(query, int(text)):
            raise ConfigurationError(
                f"window {text[:40]}: that is not between the years 1 and 9999; wanted a number "
                "like those in answers, a time like 2026-05-04T12:00:00Z, or newest"
            )
        return int(text)
    time_us = last_time_us(text, now_us=now_us) or timestamp_us(text)
    if time_us is None:
        raise ConfigurationError(
            f"window: wanted a time like 09:10 or 2026-05-04T12:00:00Z (both UTC), a number, or "
            f"newest; got {text[:80]!r}"
        )
    return query.window.windows_of(query.window.pane_at(time_us))[-1]


def _number_named(query: Query, text: str) -> int:
    spec, is_number = query.window, text.removeprefix("-").isdecimal()
    is_number = is_number and len(text) <= WINDOW_DIGITS_MAX
    if not is_number or not abs(spec.window_start_us(int(text))) < NUMBER_MAX:
        raise ConfigurationError(
            f"window: wanted a number like those in answers, or newest; got {text[:80]!r}"
        )
    return int(text)


def _is_of_calendar(query: Query, window: int) -> bool:
    return all(
        CALENDAR_US[0] <= time_us < CALENDAR_US[1]
        for time_us in (query.window.window_start_us(window), query.window.window_end_us(window))
    )
