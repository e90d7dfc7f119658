"""What one site's runtime is tuned by, however it was come by: a file, a demo, a test."""

from __future__ import annotations

import msgspec

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.config import AgentConfig, SourcesConfig
from headwater.node.config import NodeConfig
from headwater.store.cube.retention import RetentionConfig
from headwater.store.cube.update_maker import SUMMARY_BYTES_MAX

TICK_S_MAX = 0.5
"""The longest pause between two ticks of a node, whatever it says."""


class RuntimeSettings(msgspec.Struct, frozen=True):
    sources: SourcesConfig = SourcesConfig()
    retention: RetentionConfig = RetentionConfig()
    node: NodeConfig = NodeConfig()
    summary_bytes_max: int = SUMMARY_BYTES_MAX
    branching: int = 8
    trees: int = 4
    replan_every_s: float = 600.0
    tick_s_max: float = TICK_S_MAX
    ask: AskConfig = AskConfig()

    @classmethod
    def of(cls, config: AgentConfig) -> RuntimeSettings:
        return cls(
            sources=config.sources,
            retention=RetentionConfig(config.cube.retention_s, config.cube.retention_bytes),
            node=NodeConfig(
                overlay=config.overlay,
                edge=config.edge,
                root=config.root,
                retention_s=config.cube.retention_s,
                budgets=config.links.budgets,
            ),
            summary_bytes_max=config.cube.summary_bytes_max,
            branching=config.branching,
            trees=config.trees,
            replan_every_s=config.replan_every_s,
            ask=config.ask,
        )
