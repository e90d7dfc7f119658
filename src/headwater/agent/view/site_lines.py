"""The sites as one agent sees them: links, round trips, places and clocks, a line for each."""

from __future__ import annotations

from headwater.agent.control.control_api import SiteLine
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.capacity_shown import link_text, links_told
from headwater.algebra.byte_rate import rate_text
from headwater.algebra.coordinate import Coordinate
from headwater.net.network import NO_BUDGET, BudgetStats, LinkStats, NetworkStats
from headwater.overlay.links.query_spending import QuerySpent
from headwater.plan.altered.site_budget import ALL_LINKS
from headwater.root.said.view import site_offsets_s, sites_ahead


def site_lines(runtime: SiteRuntime) -> tuple[SiteLine, ...]:
    network = runtime.network.stats()
    stats = network.links
    peer = runtime.node.peer
    places = peer.coordinates()
    clocks = _clocks_ms(runtime)
    fenced = _fenced(runtime)
    carry = links_told(runtime)
    lines = []
    for site in runtime.roster.sites:
        link = stats.get(site.name)
        state = "here" if site.name == runtime.site else ""
        if link is not None:
            state = "up" if link.is_up else "down"
        rtt_s = runtime.node.peer.rtt_s(site.name) if state == "up" else None
        role = "data" if site.has_data else "relay"
        lines.append(
            SiteLine(
                site=site.name,
                region=site.region,
                role=f"{role}, home" if site.name == runtime.roster.home else role,
                address=f"{site.host}:{site.port}",
                link=state,
                rtt_ms=None if rtt_s is None else round(rtt_s * 1e3, 1),
                parents=_parents(runtime, site.ordinal),
                place=_place_text(places.get(site.name)),
                clock_ms=clocks.get(site.name),
                fenced=fenced.get(site.name, 0),
                sending=_sending(runtime, site.name, network, link),
                carries=link_text(carry.get(site.name)),
            )
        )
    return tuple(lines)


def _sending(runtime: SiteRuntime, site: str, network: NetworkStats, link: LinkStats | None) -> str:
    """With what the file says, where a command counts before it."""
    is_here = site == runtime.site
    told = sending_text(network.budget if is_here else _budget_of(link))
    of_file = runtime.budgets.file_text(ALL_LINKS if is_here else site)
    if not of_file:
        return told
    if not told:
        rate = runtime.budgets.present.to.get(site)
        told = "no limit" if rate is None else _used_text(0.0, rate)
    return f"{told} ({of_file})"


def _budget_of(link: LinkStats | None) -> BudgetStats:
    return NO_BUDGET if link is None else link.budget


def sending_text(budget: BudgetStats) -> str:
    """As ``62 of 64 kbit/s``; nothing where there is no budget."""
    if budget.bytes_per_s is None:
        return ""
    return _used_text(budget.used_bytes_per_s or 0.0, budget.bytes_per_s)


def sending_by_query(spent: QuerySpent | None) -> str:
    """As ``62 of 80 kbit/s, weight 2``; nothing where all is as usual."""
    if spent is None:
        return ""
    share = spent.share
    weight = f"weight {share.weight:g}" if share.weight != 1.0 else ""
    rate = share.bytes_per_s
    used = "" if rate is None else _used_text(spent.used_bytes_per_s or 0.0, rate)
    return ", ".join(filter(None, (used, weight)))


def _used_text(used_bytes_per_s: float, bytes_per_s: float) -> str:
    used, allowed = rate_text(used_bytes_per_s), rate_text(bytes_per_s)
    number, unit = used.split()
    return f"{number} of {allowed}" if allowed.endswith(f" {unit}") else f"{used} of {allowed}"


def _parents(runtime: SiteRuntime, ordinal: int) -> str:
    """In the federation's trees, each once; of this site's own, those that do not lead on are
    marked."""
    names = {site.ordinal: site.name for site in runtime.roster.sites}
    found = dict.fromkeys(tree.parent.get(ordinal) for tree in runtime.trees)
    down = _parents_down(runtime) if names[ordinal] == runtime.site else set()
    parents = [names[parent] for parent in found if parent is not None]
    return " ".join(f"{name}(down)" if name in down else name for name in parents)


def _parents_down(runtime: SiteRuntime) -> set[str]:
    links = runtime.network.stats().links
    return {
        site.name
        for site in runtime.roster.sites
        if not (site.name in links and links[site.name].is_up)
    }


def _place_text(place: Coordinate | None) -> str:
    """Position and height in milliseconds, and how far it can be trusted.

    >>> _place_text(Coordinate(x=0.2, y=-0.2, z=-1.2, height=3.0, error=0.06))
    '0,0,-1+3 ±6%'
    """
    if place is None:
        return ""
    position = ",".join(f"{value:z.0f}" for value in (place.x, place.y, place.z))
    return f"{position}+{place.height:.0f} ±{place.error:.0%}"


def _clocks_ms(runtime: SiteRuntime) -> dict[str, float]:
    """How far clocks are off: of this site against the home's, and of sites against this one's,
    as they told the roots here."""
    told: dict[str, float] = {}
    for query_id in runtime.node.progress().queries:
        root = runtime.node.root(query_id)
        told |= site_offsets_s(root) if root is not None else {}
    clock = runtime.node.peer.root_clock(runtime.roster.home)
    if runtime.site == runtime.roster.home:
        told[runtime.site] = 0.0
    elif clock is not None:
        told[runtime.site] = clock.offset_s - runtime.node.ahead_s
    return {site: round(offset_s * 1e3, 1) for site, offset_s in told.items()}


def _fenced(runtime: SiteRuntime) -> dict[str, int]:
    """Records from the future by site: this one's own, and what others told the roots here."""
    found = {runtime.site: runtime.feeder.fenced_count}
    for query_id in runtime.node.progress().queries:
        root = runtime.node.root(query_id)
        for one in sites_ahead(root) if root is not None else ():
            found[one.site] = max(found.get(one.site, 0), one.fenced + one.refused)
    return found
