"""How each site of a stream does now, in a line: for whoever watches its answers, and the demo.

An agent knows of itself what it may send, what its way carries and what waits; a root knows of all
sites what they have said and what of them is in. So at the root each site has its level, how far
behind it is and by how much what it kept back may be off, and that agent's own line has the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.capacity_shown import way_text
from headwater.agent.view.degraded_text import backlog_text
from headwater.agent.view.site_lines import sending_by_query, sending_text
from headwater.agent.view.watched_site import WatchedSite
from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.sets import bitset
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.degrade.degrading import step_text
from headwater.edge.progress import EdgeProgress
from headwater.net.network import NetworkStats
from headwater.plan.query import Query
from headwater.root.pane_board import PaneBoard
from headwater.root.root import Root
from headwater.root.site_table import SiteView

BOARDS_MAX = 1_000
"""Panes that are looked at for each answer that is shown."""
SITES_MAX = 50
"""That are told of with an answer, unless all are asked for; the others are counted."""


def watched_sites(
    runtime: SiteRuntime, query: Query, network: NetworkStats, *, all_sites: bool = False
) -> tuple[WatchedSite, ...]:
    """Those with something to say, or all that the agent knows something of."""
    root = runtime.node.root(str(query.id))
    found = {} if root is None else of_root(root, now_s=runtime.now_s())
    own = of_own(runtime, query, network)
    if own is not None:
        known = found.get(own.site, WatchedSite(own.site))
        found[own.site] = joined(known, own)
    lines = [one for one in found.values() if all_sites or one.has_news]
    return tuple(lines if all_sites else lines[:SITES_MAX])


def joined(of_root: WatchedSite, own: WatchedSite) -> WatchedSite:
    """What an agent says of itself is newer than what it has told its root."""
    return WatchedSite(
        own.site,
        level=own.level or of_root.level,
        is_degraded=own.is_degraded or (of_root.is_degraded and not own.level),
        sending=own.sending,
        carries=own.carries,
        backlog=own.backlog,
        stale_s=of_root.stale_s,
        is_behind=of_root.is_behind,
        error=of_root.error,
    )


def of_own(runtime: SiteRuntime, query: Query, network: NetworkStats) -> WatchedSite | None:
    """None: this agent reads nothing for it."""
    name = str(query.id)
    progress = runtime.node.edge.progress(now_s=runtime.now_s())
    own = next((one for one in progress if one.query == name), None)
    if own is None:
        return None
    spent = sending_by_query(network.queries.get(name))
    of_site = sending_text(network.budget)
    sending = "; ".join(filter(None, (spent, of_site and f"all links {of_site}")))
    return WatchedSite(
        runtime.site,
        level=_level_text(own),
        is_degraded=own.degrading is not None and own.degrading.step > 0,
        sending=sending,
        carries=way_text(runtime.node.peer.way_capacity(name)),
        backlog=backlog_text(own.backlog),
    )


def _level_text(own: EdgeProgress) -> str:
    found = own.degrading
    if found is None:
        return ""
    return f"{found.text}, {found.why}" if found.why else found.text


def of_root(root: Root, *, now_s: float) -> dict[str, WatchedSite]:
    """By name, in the roster's order."""
    behind = _stale_s(root, shown_s=now_s - root.windows.lag_s)
    errors = _errors(root)
    names, late_s = root.table.names, _late_s(root)
    found = {}
    for ordinal, name in sorted(names.items()):
        view = root.table.views.get(ordinal)
        level = "" if view is None else _said_level(root, view)
        stale_s = behind.get(ordinal)
        found[name] = WatchedSite(
            name,
            level=level,
            is_degraded=bool(level),
            stale_s=stale_s,
            is_behind=stale_s is not None and stale_s > late_s,
            error=errors.get(ordinal, ""),
        )
    return found


def _late_s(root: Root) -> float:
    """Who is further behind than a window and its deadline is missing from answers."""
    spec = root.windows.spec
    span_s = (spec.pane_us * spec.panes_per_window) / MICROS
    return span_s + root.query.timing.deadline_s


def _said_level(root: Root, view: SiteView) -> str:
    said = view.state.degraded
    plan = root.table.settings.newest.degradation
    if plan is None or not said or not said[-1].step:
        return ""
    return f"{step_text(plan, said[-1].step)}, {said[-1].why}"


def _stale_s(root: Root, *, shown_s: float) -> dict[int, float]:
    """How long ago the oldest pane ended that a site owes; windows of time alone."""
    if root.query.counted:
        return {}
    left, spec = root.table.expected, root.windows.spec
    found = dict.fromkeys(bitset.members(left), 0.0)
    for board in islice(root.scoreboard.rising_from(-FOREVER), BOARDS_MAX):
        owing = left & ~board.settled & ~board.undrawn
        end_s = (spec.pane_start_us(board.pane) + spec.pane_us) / MICROS
        if end_s >= shown_s:
            break
        found |= dict.fromkeys(bitset.members(owing), shown_s - end_s)
        left &= ~owing
    return found


def _errors(root: Root) -> dict[int, str]:
    """Of the newest pane of each site from which something is kept back; what was merged with that
    of others before it came says so of all of them."""
    found: dict[int, str] = {}
    settings = root.table.settings.newest
    for board in _newest(root):
        for rest, owed in board.kept_back(gives_back=settings.owes_rest, is_sealed=False):
            sites = owed or bitset.union(sites for sites, _ in rest.sites)
            for ordinal in bitset.members(sites):
                found.setdefault(ordinal, _error_text(rest.withheld))
    return {ordinal: text for ordinal, text in found.items() if text}


def _error_text(withheld: Iterable[Remainder]) -> str:
    """
    >>> _error_text([Remainder(largest=12.0, of=600.0, keys=3), Remainder()])
    'off by at most 2 % (3 groups kept back)'
    """
    kept = [one for one in withheld if one]
    shares = [one.share or (one.largest / one.of if one.of else 0.0) for one in kept]
    if not kept:
        return ""
    groups = max(one.keys for one in kept)
    many = "1 group" if groups == 1 else f"{groups:,} groups"
    return f"off by at most {100.0 * max(shares):.2g} % ({many} kept back)"


def _newest(root: Root) -> Iterator[PaneBoard]:
    boards = root.scoreboard.boards
    return (boards[pane] for pane in sorted(boards, reverse=True)[:BOARDS_MAX])
