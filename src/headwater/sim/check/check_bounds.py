"""*Bounded resources*: what a node holds stays below the limits that its configuration names."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.sim.outcome import Violation

BOUNDS_EVERY_S = 5.0
"""How often they are looked at; what grows without bound is found soon enough."""


def check_bounds(node: Node, config: NodeConfig, queries: Iterable[str]) -> None:
    """The one place that looks into a machine: a limit is a promise about what is inside."""
    held = node.peer._carrier.list
    _check(node, "entries of the time-space list", len(held), config.overlay.entries_max)
    _check(node, "bytes in the time-space list", held.size_bytes, config.overlay.bytes_max)
    for query in queries:
        root = node.root(query)
        if root is not None:
            _check(node, f"{query}: parked spares", len(root.parking), config.root.parked_max)
            boards = len(root.scoreboard.boards)
            _check(node, f"{query}: panes of the scoreboard", boards, config.root.panes_max)


def ask_as_a_person_would(node: Node, queries: Iterable[str]) -> None:
    """Views must hold in whatever state a node is; what they say is checked elsewhere."""
    node.progress()
    for query in queries:
        root = node.root(query)
        for window in () if root is None else list(root.windows.windows)[:1]:
            node.why(query, window)


def _check(node: Node, what: str, found: int, allowed: int) -> None:
    if found > allowed:
        raise Violation("bounded resources", f"{node.site}: {what}: {found}, allowed {allowed}")
