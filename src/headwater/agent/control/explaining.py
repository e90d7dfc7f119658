"""What a query does, for people: its parts, its trees (who sends to whom, how deep, how far from
the root), and where it runs the ways up from here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

from headwater.agent.control.control_api import ExplainReply
from headwater.agent.control.install import compile_here, plan_here, usable_coordinates
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.settings_lines import settings_lines
from headwater.algebra.coordinate import Coordinate
from headwater.errors import QueryRefused
from headwater.placement.tree_latency import MOST, latency_to_root_s, most_within_s
from headwater.plan.command import Install
from headwater.plan.query import Query, QueryId
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.sql.read.refusal import choices
from headwater.sql.read.statements import NAME_PATTERN
from headwater.sql.write.explain import explain

PICTURED_MAX = 40
"""Trees with more members are told by their numbers alone."""


def explained(runtime: SiteRuntime, text: str) -> ExplainReply:
    named = _named(runtime, text.strip())
    if named:
        return ExplainReply(tuple(_explained_running(runtime, install) for install in named))
    return ExplainReply(tuple(_explained(runtime, one) for one in compile_here(runtime, text)))


def _explained_running(runtime: SiteRuntime, install: Install) -> str:
    """By the settings that it has last, whether or not they hold yet."""
    text = _explained(runtime, install.settings.newest.on(install.query))
    lines = settings_lines(runtime, install)
    return text + (f"\nsettings\n{indent(chr(10).join(lines), '  ')}\n" if lines else "")


def _named(runtime: SiteRuntime, text: str) -> list[Install]:
    """The installs of a stream, where the text is a name and no statement."""
    if re.fullmatch(NAME_PATTERN, text) is None:
        return []
    live = list(runtime.node.peer.live_queries().values())
    found = [one for one in live if text in (one.query.id.name, one.query.stream)]
    if not found:
        streams = sorted({one.query.stream for one in live})
        known = choices("streams", streams, near=text)
        raise QueryRefused(f"no stream `{text}` is installed{known}")
    return found


def _explained(runtime: SiteRuntime, query: Query) -> str:
    text = explain(query)
    trees = trees_text(runtime.roster, plan_here(runtime, query), usable_coordinates(runtime))
    text += f"\ntrees\n{indent(trees, '  ')}\n"
    peer = runtime.node.peer
    for query_id in [
        id_ for id_ in peer.live_queries() if QueryId.parse(id_).name == query.id.name
    ]:
        told = "\n".join(
            f"  {way.by}: {way.parent}, {'open' if way.leads_on else 'does not lead on'}"
            for way in peer.ways(query_id)
        )
        text += f"\nways of {query_id} from {runtime.site}\n{told or '  it is answered here'}\n"
    return text


def trees_text(
    roster: Roster, trees: Sequence[Tree], coordinates: Mapping[str, Coordinate] | None
) -> str:
    """One heading for each tree, and the primary drawn where it is small enough."""
    names = {site.ordinal: site.name for site in roster.sites}
    lines = []
    for number, tree in enumerate(trees):
        kind = "primary" if number == 0 else "sibling"
        depth = max(tree.levels.values())
        below = ", ".join(names[child] for child in tree.children.get(tree.root, ())[:8])
        far = _far_text(roster, tree, coordinates)
        lines.append(f"tree {number} ({kind}): depth {depth}{far}; below the root: {below}")
        if number == 0 and len(tree.levels) <= PICTURED_MAX:
            lines += [f"  {line}" for line in _pictured(tree, tree.root, names)]
    return "\n".join(lines)


def _far_text(roster: Roster, tree: Tree, coordinates: Mapping[str, Coordinate] | None) -> str:
    if not coordinates:
        return ", planned by regions"
    place = {site.ordinal: coordinates.get(site.name) for site in roster.sites}

    def distance(left: int, right: int) -> float:
        here, there = place.get(left), place.get(right)
        return 0.0 if here is None or there is None else here.distance_s(there) / 2

    far_s = most_within_s(list(latency_to_root_s(tree, distance).values()))
    return f", {MOST:.0%} of the sites within {far_s * 1e3:.0f} ms of the root"


def _pictured(tree: Tree, top: int, names: Mapping[int, str], before: str = "") -> Iterator[str]:
    if not before:
        yield names[top]
    children = tree.children.get(top, ())
    for place, child in enumerate(children):
        is_last = place == len(children) - 1
        yield f"{before}{'└─ ' if is_last else '├─ '}{names[child]}"
        yield from _pictured(tree, child, names, f"{before}{'   ' if is_last else '│  '}")
