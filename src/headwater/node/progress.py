"""How far a node has come, as one value for views."""

from __future__ import annotations

import msgspec

from headwater.edge.progress import EdgeProgress
from headwater.root.said.explain import RootProgress


class NodeProgress(msgspec.Struct, frozen=True):
    site: str
    queries: tuple[str, ...]
    """Ids of all live queries that this node knows."""
    edge: tuple[EdgeProgress, ...]
    """What this site reads and sends; empty for a relay."""
    roots: tuple[RootProgress, ...]
    """What is answered here."""
    neighbours: tuple[str, ...]
    """Sites that this node keeps links with."""
    loading_bytes: int
    """Rows that are being loaded to be sent."""
