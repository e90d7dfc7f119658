"""Other settings for a stream that runs: prepared to be signed, and looked at when they are given.

They hold from the first window on that begins so much later that every site can have heard of them,
as for an install. A site that hears later goes by them from its next pane on, and says so.
"""

from __future__ import annotations

import msgspec

from headwater.agent.control import control_api as api
from headwater.agent.control.install import check_travel, of_stream, root_now_us, travel_s_of
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.settings_lines import statement_of
from headwater.errors import ConfigurationError
from headwater.net.values.words import command_word
from headwater.plan.altered.settings import ENDED, SETTINGS_AHEAD_US_MAX, Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.command import Alter, Install
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.timestamps import timestamp_text
from headwater.sql.alter import (
    Written,
    check_alterable,
    difference_text,
    merged_options,
    present_options,
    settings_with,
)
from headwater.sql.alter_statement import read_settings
from headwater.sql.questions.subsume import never_asked
from headwater.sql.read.streams import INSTALL_SLACK_US


def prepared_alter(runtime: SiteRuntime, request: api.AlterRequest) -> api.PreparedAlter:
    """Of all parts of the stream. No words: it runs with these settings already."""
    if request.ends:
        alters = prepare_end(runtime, request.stream)
    else:
        alters = prepare_alter(runtime, request.stream, request.settings, is_whole=request.is_whole)
    first = of_stream(runtime, request.stream)[0]
    return api.PreparedAlter(
        words=tuple(command_word(alter) for alter in alters),
        altered=tuple(_line(runtime, alter) for alter in alters),
        installer=runtime.site,
        home=runtime.roster.home,
        sites=tuple(site.name for site in runtime.roster.sites),
        text=statement_of(first, first.settings),
    )


def prepare_alter(
    runtime: SiteRuntime,
    stream: str,
    settings: str,
    *,
    is_whole: bool = False,
    slack_us: int = INSTALL_SLACK_US,
) -> list[Alter]:
    """``is_whole``: what is not among the settings is as by default; otherwise it stays as it is.
    Raises ``QueryRefused`` and ``ConfigurationError``."""
    options = read_settings(settings) if settings.strip() else ()
    if not is_whole or options:
        check_alterable(options)
    found = []
    for install in of_stream(runtime, stream):
        query, book = install.query, install.settings
        _check_alterable(query, book)
        number = book.changes[-1].number if book.changes else 0
        present = () if is_whole else present_options(query, book.newest, number=number)
        wanted = merged_options(present, options) if options else present
        settings_wanted = settings_with(query, wanted, known_sites=runtime.roster.sites)
        is_other = settings_wanted.deadline_s != book.newest.deadline_s
        if is_other and any(option.name == "staleness" for option in options):
            check_travel(query, settings_wanted.deadline_s, travel_s_of(runtime, query))
        former = present_options(query, book.newest, number=number)
        if settings_with(query, former, known_sites=runtime.roster.sites).is_like(settings_wanted):
            continue
        found.append(
            Alter(
                id=query.id,
                installer=runtime.site,
                counter=runtime.next_counter(),
                number=number + 1,
                first_pane=_first_pane(runtime, query, slack_us=slack_us),
                settings=settings_wanted,
            )
        )
    return found


def prepare_end(
    runtime: SiteRuntime, stream: str, *, slack_us: int = INSTALL_SLACK_US
) -> list[Alter]:
    """The stream ends where a window begins, as soon as every site can have heard of it, and its
    panes stay. Nothing: it has ended already. Raises ``ConfigurationError`` where nobody could ask
    them."""
    found = []
    for install in of_stream(runtime, stream):
        query, book = install.query, install.settings
        why = never_asked(query)
        if why is not None:
            raise ConfigurationError(
                f"remove --keep-panes: {query.id.name} {why}, so nobody could ask its panes; "
                "remove it without --keep-panes"
            )
        if book.end_pane is not None:
            continue
        _check_alterable(query, book)
        first = _first_pane(runtime, query, slack_us=slack_us)
        if query.begin_pane is None or first - query.begin_pane < query.window.panes_per_window:
            raise ConfigurationError(
                f"remove --keep-panes: wanted a stream that has had a window, {stream!r} has had "
                "none yet; remove it without --keep-panes"
                if query.begin_pane is not None
                else f"remove --keep-panes: wanted a stream with a begin, {stream!r} begins with "
                "the earliest record; remove it without --keep-panes"
            )
        number = book.changes[-1].number if book.changes else 0
        found.append(
            Alter(
                id=query.id,
                installer=runtime.site,
                counter=runtime.next_counter(),
                number=number + 1,
                first_pane=first,
                settings=_ended(query, book),
            )
        )
    return found


def _ended(query: Query, book: SettingsBook) -> Settings:
    """Those that hold last, as they were written, and the end."""
    number = book.changes[-1].number if book.changes else 0
    options = present_options(query, book.newest, number=number)
    return msgspec.structs.replace(book.newest, is_end=True, options=options)


def _check_alterable(query: Query, book: SettingsBook) -> None:
    if book.end_pane is not None:
        ended = timestamp_text(query.window.pane_start_us(book.end_pane))
        raise ConfigurationError(
            f"stream {query.stream!r} has ended ({ended}), and its panes are kept for questions: "
            "there is nothing to change; headwater remove lets go of them"
        )
    if query.ends:
        raise ConfigurationError(
            f"stream {query.stream!r} reads files that end: nothing of it is yet to come; run it "
            "again as it is to be"
        )
    if query.numbers is not None:
        raise ConfigurationError(
            f"stream {query.stream!r} has windows of numbers, of which nobody knows when they "
            "begin; run the changed file with --replace"
        )


def _first_pane(runtime: SiteRuntime, query: Query, *, slack_us: int) -> int:
    window = query.window
    first = window.first_window_from(root_now_us(runtime, query) + slack_us)
    pane = window.panes_of(first).start
    if query.begin_pane is not None:
        pane = max(pane, query.begin_pane)
    if query.ends_at is not None and pane >= query.ends_at:
        raise ConfigurationError(
            f"stream {query.stream!r} has no further window that begins late enough for all sites "
            "to hear of other settings: its extent is over"
        )
    return pane


def check_first(runtime: SiteRuntime, alter: Alter) -> None:
    """Of settings that somebody brings, signed: they may have been prepared long ago, or elsewhere.
    Raises ``ConfigurationError``."""
    install = runtime.node.peer.live_queries().get(str(alter.id))
    if install is None:
        raise ConfigurationError(
            f"settings of {alter.id}: no such stream runs; `headwater streams` lists those that do"
        )
    now_us = root_now_us(runtime, install.query)
    ahead_us = install.query.window.pane_start_us(alter.first_pane) - now_us
    if not 0 < ahead_us <= SETTINGS_AHEAD_US_MAX:
        when = "has begun" if ahead_us <= 0 else "is too far ahead"
        raise ConfigurationError(
            f"settings {alter.number} of {alter.id}: their first pane ({alter.first_pane}) {when}; "
            "command them again"
        )
    if alter.settings.is_end and alter.settings != _ended(install.query, install.settings):
        raise ConfigurationError(
            f"settings {alter.number} of {alter.id}: wanted an end and nothing else, got other "
            "settings beside it; command them one after the other"
        )


def altered_lines(runtime: SiteRuntime, alters: list[Alter]) -> tuple[api.Altered, ...]:
    return tuple(_line(runtime, alter) for alter in alters)


def _line(runtime: SiteRuntime, alter: Alter) -> api.Altered:
    install = runtime.node.peer.live_queries()[str(alter.id)]
    query = install.query
    asked = [site for site in runtime.roster.sites if is_asked(query, site)]
    return api.Altered(
        stream=query.stream,
        id=str(query.id),
        settings=alter.number,
        changes=ENDED
        if alter.settings.is_end
        else difference_text(_former(install, alter), alter.settings.options),
        begins=timestamp_text(query.window.pane_start_us(alter.first_pane)),
        sites=len(asked),
    )


def _former(install: Install, alter: Alter) -> Written:
    before = tuple(one for one in install.settings.changes if one.number < alter.number)
    book = SettingsBook(install.settings.first, before)
    number = before[-1].number if before else 0
    return present_options(install.query, book.newest, number=number)
