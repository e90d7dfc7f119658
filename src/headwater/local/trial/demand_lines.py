"""What ``try`` says of what plays no part there: nobody is late, and no link is narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from headwater.algebra.byte_rate import rate_text
from headwater.local.trial.results import StreamResult
from headwater.local.trial.sent_bytes import SentBytes, sent_bytes
from headwater.plan.altered.link_share import CONTROL_SHARE, EVEN, LinkShare
from headwater.plan.degrading.degradation import LEVEL_KINDS, Operator
from headwater.plan.query import Query
from headwater.spark.jvm.session import RunningSpark


def demand_lines(query: Query) -> Iterator[str]:
    demand = query.demanded
    if demand is None:
        return
    if demand.is_random:
        panes = query.window.panes_per_window
        drawn = f"{demand.panes_drawn(panes)} of each {panes} panes"
        yield (
            f"{query.id.name}: all sites were read to their end, and nothing was left to chance; "
            f"over logs that grow {drawn} are drawn ({demand.text()}), and the others never sent"
        )
        return
    follows = "that answer is final" if demand.is_final else "the rest follows"
    yield (
        f"{query.id.name}: all sites were read to their end, so its fidelity played no part; over "
        f"sites that are late a window is answered at {demand.text()}, and {follows}"
    )


def wants_sizes(query: Query) -> bool:
    """Whether something is asked for of which can only be said what it would do where it is known
    what sites would send."""
    has_budget = share_of(query).bytes_per_s is not None
    return has_budget or any(True for _ in _level_operators(query))


def with_sizes(
    results: list[StreamResult], text: str, sites: Path, spark: RunningSpark
) -> list[StreamResult]:
    """With what sites would have sent; their files are read once more for it."""
    with TemporaryDirectory(prefix="headwater-sizes-") as scratch:
        found = {one.stream: one for one in sent_bytes(text, sites, Path(scratch), lambda: spark)}
    return [
        msgspec.structs.replace(one, sizes=found.get(one.query.id.name))
        if wants_sizes(one.query)
        else one
        for one in results
    ]


def link_lines(query: Query, sizes: SentBytes | None) -> Iterator[str]:
    """Of budget, weight and backlog, and of levels: what they would do on a link."""
    name, share, plan = query.id.name, share_of(query), query.degrades
    if share.bytes_per_s is not None:
        yield f"{name}: {_budget_text(share.bytes_per_s, sizes)}"
    if share.weight != 1.0:
        yield (
            f"{name}: nobody waits for a link in a trial; on one that is full it would get "
            f"{share.weight:g} times as much as a stream of weight 1, of what is left to both"
        )
    if plan is not None and plan.bounds_backlog:
        yield (
            f"{name}: nothing waits in a trial; after an outage {plan.backlog_text()}, and the "
            "oldest panes would leave a site as longer ones"
        )
    levels = () if sizes is None else sizes.levels
    for one in levels:
        left = one.sent / sizes.sent if sizes is not None and sizes.sent else 1.0
        yield f"{name}: at {one.operator} sites would send {left:.0%} of the bytes ({one.stream})"


def _budget_text(bytes_per_s: float, sizes: SentBytes | None) -> str:
    """How many panes would have taken longer to send than they last."""
    asked = f"a trial has no links, so its budget of {rate_text(bytes_per_s)} played no part"
    if sizes is None or not sizes.panes or not sizes.pane_s:
        return asked
    room = bytes_per_s * (1.0 - CONTROL_SHARE) * sizes.pane_s
    over = sum(size > room for _, size in sizes.panes)
    largest = max(size for _, size in sizes.panes) / sizes.pane_s
    few = f"each of {len(sizes.panes):,} panes of a site fits into it"
    if over:
        few = f"{over:,} of {len(sizes.panes):,} panes of sites would take longer than they last"
    return f"{asked}; {few}, and the largest takes {rate_text(largest)}"


def share_of(query: Query) -> LinkShare:
    return query.share if isinstance(query.share, LinkShare) else EVEN


def _level_operators(query: Query) -> Iterator[Operator]:
    operators = () if query.degrades is None else query.degrades.operators
    return (one for one in operators if one.kind in LEVEL_KINDS)
