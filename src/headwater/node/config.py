"""The tuning of a node: that of its three machines, and what they must agree on."""

from __future__ import annotations

import msgspec

from headwater.edge.config import EdgeConfig
from headwater.errors import ConfigurationError
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.root.config import RootConfig


class NodeConfig(msgspec.Struct, frozen=True):
    overlay: OverlayConfig = OverlayConfig()
    edge: EdgeConfig = EdgeConfig()
    root: RootConfig = RootConfig()
    budgets: LinkBudgets = NO_BUDGETS
    """Of what is sent over links."""
    retention_s: float = 7 * 86_400.0
    """How long the cube keeps panes, counted from their last write."""

    def __post_init__(self) -> None:
        lives = {
            "overlay": self.overlay.summary_life_s,
            "edge": self.edge.summary_life_s,
            "root": self.root.summary_life_s,
        }
        if len(set(lives.values())) > 1:
            raise ConfigurationError(
                f"node: wanted one summary_life_s for all parts, got {lives}; a repair that is "
                "earlier than the end of its original spoils aggregates"
            )
        if self.retention_s <= 0:
            raise ConfigurationError(f"node: wanted retention_s > 0, got {self.retention_s}")
