"""By which settings a stream runs, and which ones are to come, for people."""

from __future__ import annotations

from headwater.agent.runtime import SiteRuntime
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.command import Install
from headwater.plan.query import Query
from headwater.plan.timestamps import timestamp_text
from headwater.sql.alter import text_with, written_options


def settings_text(runtime: SiteRuntime, install: Install) -> str:
    """In one cell; empty where nothing was altered."""
    return "; ".join(settings_lines(runtime, install))


def settings_lines(runtime: SiteRuntime, install: Install) -> list[str]:
    """A sentence for those that hold now, and one for each that is to come."""
    query, book = install.query, install.settings
    if not book.changes:
        return []
    clock = runtime.node.peer.root_clock(query.root)
    offset_s = runtime.node.ahead_s if clock is None else clock.offset_s
    pane = query.window.pane_at(round((runtime.now_s() + offset_s) * 1e6))
    number = book.number_at(pane)
    lines = [f"settings {number}: {_text(query, book, number)}"]
    for one in book.pending(pane):
        begins = timestamp_text(query.window.pane_start_us(one.pane))
        lines.append(f"from the window at {begins} on settings {one.number}: {one.settings.text()}")
    return lines


def _text(query: Query, book: SettingsBook, number: int) -> str:
    if not number:
        written = written_options(query.program.text)
        return ", ".join(f"{name} = {value}" for name, value in written) or "all by default"
    settings = book.of(number)
    return "" if settings is None else settings.text()


def statement_of(install: Install, book: SettingsBook) -> str:
    """The source and the stream as they were written, with the newest of its settings."""
    query, text = install.query, install.query.program.text
    if book.changes:
        text = text_with(text, book.newest.options)
    texts = (query.program.source.text, text)
    return "".join(f"{one.rstrip().rstrip(';')};\n" for one in texts)
