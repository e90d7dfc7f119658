"""The demo in a terminal: sites, windows as they arrive, what happened, raw against sent bytes.

On a terminal the picture is drawn anew in place. Elsewhere (a pipe, continuous integration) the
same snapshots become plain lines: every event once, and a line of totals every few seconds. Both
take time from the snapshot, so a view can be tested without waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import zip_longest

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headwater.agent.view.federation_view import SiteView, StreamView
from headwater.cli.show.amounts import amount, ratio
from headwater.cli.show.demo_summary import seconds
from headwater.local.demo.demo_snapshot import (
    DemoSnapshot,
    EventKind,
    EventShown,
    NarrowShown,
    NarrowWindow,
    SiteCondition,
)
from headwater.root.said.envelope import Envelope

PLAIN_EVERY_S = 5.0
WINDOWS_SHOWN = 5
WINDOWS_SHOWN_NARROW = 3
FEWER = {WINDOWS_SHOWN: 3, WINDOWS_SHOWN_NARROW: 2}
"""Where the narrow link is shown as well."""
REPAIRS_TOLD = 3
"""Of the answers that are repaired: so many are named."""
EVENTS_SHOWN = 5
EVENTS_SHOWN_NARROW = 2
BAR_CELLS = 12
WIDE_COLUMNS = 110
"""From this width on sites and windows stand side by side."""

_CONDITION_STYLE: dict[str, str] = {
    SiteCondition.STARTING: "dim",
    SiteCondition.UP: "green",
    SiteCondition.CUT_OFF: "yellow",
    SiteCondition.DEAD: "bold red",
    SiteCondition.ENDED: "cyan",
}
_EVENT_STYLE = {
    EventKind.INFO: "dim",
    EventKind.TROUBLE: "red",
    EventKind.HEALED: "green",
    EventKind.REPAIRED: "cyan",
}


class DemoView:
    """Shows snapshots one after the other; the ``with`` block it is used in restores the screen."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._events_told = 0
        self._repairs_told = 0
        self._line_due_s = 0.0

    def __enter__(self) -> DemoView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: DemoSnapshot) -> None:
        if self._live is not None:
            self._live.update(picture(snapshot, columns=self._console.width), refresh=True)
        else:
            self._tell(snapshot)

    def _tell(self, snapshot: DemoSnapshot) -> None:
        events = snapshot.events[self._events_told :]
        for line in event_lines(events, repairs=self._repairs_told):
            self._print(line)
        self._repairs_told += sum(one.kind is EventKind.REPAIRED for one in events)
        self._events_told = max(self._events_told, len(snapshot.events))
        if not snapshot.view.sites:
            self._print(f"{snapshot.phase} …")
        elif snapshot.elapsed_s >= self._line_due_s:
            self._line_due_s = snapshot.elapsed_s + PLAIN_EVERY_S
            self._print(progress_line(snapshot))

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False, highlight=False)


def picture(snapshot: DemoSnapshot, *, columns: int) -> RenderableType:
    """The whole screen for one snapshot: 24 lines, wide or narrow."""
    headline, view = _headline(snapshot), snapshot.view
    if columns < WIDE_COLUMNS:
        tables = _tables(snapshot, WINDOWS_SHOWN_NARROW)
        events = _events_panel(snapshot.events, EVENTS_SHOWN_NARROW)
        return Group(headline, _sites_grid(view.sites), *tables, _line_of(snapshot), events)
    body = Table.grid(padding=(0, 2))
    body.add_row(_sites_table(view.sites), Group(*_tables(snapshot, WINDOWS_SHOWN)))
    events = _events_panel(snapshot.events, EVENTS_SHOWN)
    return Group(headline, body, _line_of(snapshot), events)


def _line_of(snapshot: DemoSnapshot) -> Text:
    """How the site does whose line is narrowed."""
    line = snapshot.line
    style = "yellow" if line.now is not None and line.now.is_degraded else ""
    return Text(f" {line.text()}", style, no_wrap=True, overflow="ellipsis")


def _tables(snapshot: DemoSnapshot, window_count: int) -> Iterator[Table]:
    """One for each stream; those that ask the same over the narrow link share one, and the stream
    of the line that is narrowed has a line."""
    narrow, line = snapshot.narrow, snapshot.line
    count = FEWER[window_count] if narrow.windows else window_count
    for stream in snapshot.view.streams:
        if stream.line.stream not in (*narrow.streams, *line.streams):
            yield _stream_table(stream, count)
    if narrow.windows:
        yield _narrow_table(narrow, count)


def event_lines(events: tuple[EventShown, ...], *, repairs: int = 0) -> Iterator[str]:
    """One line for each, but of repairs only the first few of the run, of which ``repairs`` were
    told before: the totals count them."""
    for event in events:
        repairs += event.kind is EventKind.REPAIRED
        if event.kind is not EventKind.REPAIRED or repairs <= REPAIRS_TOLD:
            yield f"[{event.at_s:5.1f} s] {event.text}"


def progress_line(snapshot: DemoSnapshot) -> str:
    """One line for those who have no screen."""
    view = snapshot.view
    up = sum(one.line.link in (SiteCondition.UP, SiteCondition.ENDED) for one in view.sites)
    lines = [stream.line for stream in view.streams]
    answered = sum(line.answered for line in lines)
    exact = sum(line.exact for line in lines)
    news = f"; {snapshot.line.text()}" if snapshot.line.is_news else ""
    return (
        f"[{snapshot.elapsed_s:5.1f} s] {snapshot.phase}; {up}/{len(view.sites)} sites up; "
        f"raw {amount(view.raw_bytes)}, sent {amount(view.sent_bytes)}; {answered} windows "
        f"answered, {exact} of them exact{_narrow_text(snapshot.narrow)}{news}"
    )


def _narrow_text(narrow: NarrowShown) -> str:
    """Of the newest window that has both."""
    both = [one for one in narrow.windows if None not in (one.whole_s, one.bounded_s)]
    if not both:
        return ""
    newest = both[-1]
    return (
        f"; over {narrow.line}: {narrow.whole} after {seconds(newest.whole_s)}, {narrow.bounded} "
        f"after {seconds(newest.bounded_s)}, off by {newest.reached:.2%} (asked: {newest.asked}), "
        f"{newest.withheld_keys:,} rows kept back"
    )


INTRODUCTION = """\
Twelve sites on four continents write the access logs of a CDN, about 19,000
lines a second together. Questions run over all of them, and the logs stay
where they are:

  top_domains   the ten busiest domains of every five seconds
  quality       how each status and cache result behaves, over ten seconds
  misses        each page that lagos's cache lacked: how often, how many bytes
  misses_soon   the same, off by at most 0.2 % of all of it
  pages         how often each page was asked for in sydney and johannesburg

Lagos has a narrow line: what it has to say of ten seconds takes longer than an
answer waits, unless it may keep small pages back. Sydney's line is narrowed for
a while: it sends kinds of pages then (/img, /video), and pages later. The key n
narrows it, too, or widens it.

Each site reduces its own log with Spark, summaries are merged on the way, and
london answers. In the next minute Asia is cut off and the agent of dallas is
killed: answers come in time, say who is missing, and are revised until they are
exact. At the end the sites' cubes are asked a question that no stream was made
for, and one Spark over all the logs checks every answer.
"""
"""What there is to see, before there is anything to see."""


def _narrow_table(narrow: NarrowShown, window_count: int) -> Table:
    """When the site behind the narrow link was in each answer."""
    asked = next((one.asked for one in narrow.windows if one.asked), "")
    title = f"over {narrow.line}; {narrow.bounded}: {asked}"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    for name in ("window", narrow.whole, narrow.bounded, "off by", "kept back"):
        is_left = name == "window"
        table.add_column(name, no_wrap=True, justify="left" if is_left else "right")
    shown = narrow.windows[-window_count:]
    for window in shown:
        table.add_row(*_narrow_cells(window))
    for _ in range(window_count - len(shown)):
        table.add_row()
    return table


def _narrow_cells(window: NarrowWindow) -> tuple[RenderableType, ...]:
    return (
        f"{_clock(window.start_us)}–{_clock(window.end_us)}",
        f"after {seconds(window.whole_s)}",
        f"after {seconds(window.bounded_s)}",
        f"{window.reached:.2%}",
        f"{window.withheld_keys:,}",
    )


def _headline(snapshot: DemoSnapshot) -> Text:
    text, view = Text(no_wrap=True, overflow="ellipsis"), snapshot.view
    text.append(f" {min(snapshot.elapsed_s, 9999.0):5.1f} s ", "reverse")
    text.append(f" {snapshot.phase}  ", "bold")
    text.append(f"raw {amount(view.raw_bytes)}  sent {amount(view.sent_bytes)}")
    if view.sent_bytes:
        text.append(f"  {ratio(view.raw_bytes, view.sent_bytes)} less", "green")
    return text


def _sites_table(sites: tuple[SiteView, ...]) -> Table:
    table = Table(title="Sites", title_justify="left", box=None, padding=(0, 1))
    table.add_column("site", no_wrap=True)
    table.add_column("region", no_wrap=True, style="dim")
    table.add_column("state", no_wrap=True)
    for name in ("records", "raw", "sent"):
        table.add_column(name, justify="right", no_wrap=True)
    for site in sites:
        numbers = (f"{site.record_count:,}", amount(site.raw_bytes), amount(site.sent_bytes))
        table.add_row(site.line.site, site.line.region, _condition(site), *numbers)
    return table


def _sites_grid(sites: tuple[SiteView, ...]) -> Table:
    """The same on half the lines: two sites side by side, without what is nice to have."""
    grid = Table.grid(padding=(0, 2))
    half = (len(sites) + 1) // 2
    for left, right in zip_longest(sites[:half], sites[half:]):
        grid.add_row(*(cell for site in (left, right) if site for cell in _site_cells(site)))
    return grid


def _site_cells(site: SiteView) -> tuple[RenderableType, ...]:
    sizes = f"{amount(site.raw_bytes)} → {amount(site.sent_bytes)}"
    return site.line.site, _condition(site), sizes


def _condition(site: SiteView) -> Text:
    return Text(site.line.link, _CONDITION_STYLE[site.line.link], no_wrap=True)


def _stream_table(stream: StreamView, window_count: int) -> Table:
    line = stream.line
    title = (
        f"{line.stream}: {line.answered} answered, {line.revisions - line.answered} revisions, "
        f"{line.exact} exact, {line.final} final"
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    for name in ("window", "coverage", "rows", "revision", ""):
        table.add_column(name, no_wrap=True, justify="right" if name == "rows" else "left")
    for window in stream.windows[-window_count:]:
        table.add_row(*_window_cells(window))
    for _ in range(window_count - len(stream.windows)):
        table.add_row()
    return table


def _window_cells(window: Envelope) -> tuple[RenderableType, ...]:
    marks = Text()
    if window.exact:
        marks.append("exact ", "green")
    if window.final:
        marks.append("final", "cyan")
    if not marks and window.missing:
        missing = list(dict.fromkeys(one.site for one in window.missing))
        marks.append(f"without {', '.join(missing[:3])}"[:28], "yellow")
    return (
        f"{_clock(window.start_us)}–{_clock(window.end_us)}",
        coverage_bar(window.covered, window.expected),
        f"{window.rows or 0:,}",
        f"r{window.revision}",
        marks,
    )


def coverage_bar(covered: int, expected: int) -> Text:
    """Filled to the share of sites that are in; full only when all are."""
    share = covered / expected if expected else 0.0
    filled = int(share * BAR_CELLS)
    style = "green" if covered == expected else "yellow" if share >= 0.5 else "red"
    bar = Text("█" * filled, style)
    bar.append("░" * (BAR_CELLS - filled), "dim")
    bar.append(f" {covered}/{expected}", style)
    return bar


def _events_panel(events: tuple[EventShown, ...], event_count: int) -> Panel:
    shown = events[-event_count:]
    lines = [
        Text(f"{event.at_s:5.1f} s  {event.text}", _EVENT_STYLE[event.kind], no_wrap=True)
        for event in shown
    ]
    lines += [Text("")] * (event_count - len(lines))
    return Panel(Group(*lines), title="What happened", title_align="left")


def _clock(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1e6, tz=UTC).strftime("%H:%M:%S")
