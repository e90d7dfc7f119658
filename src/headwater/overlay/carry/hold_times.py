"""Until when a summary is held, for others of its pane to meet it."""

from __future__ import annotations

from headwater.algebra.summary import Lane, Summary
from headwater.overlay.carry.net_dist import NetDist
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.config import OverlayConfig


class HoldTimes:
    def __init__(self, config: OverlayConfig) -> None:
        self._config = config
        self._net_dists: dict[str, dict[int, NetDist]] = {}
        """By query and tree: a peer is a leaf on one and high up on another."""

    def until_s(
        self,
        summary: Summary,
        query: LiveQuery | None,
        birth_s: float,
        now_s: float,
        *,
        trains: bool,
    ) -> float:
        if summary.lane is Lane.BACKLOG:
            return now_s + self._config.backlog_hold_s
        of_query, tree = self._net_dists.setdefault(summary.query, {}), summary.route.tree
        net_dist = of_query.get(tree)
        if net_dist is None:
            net_dist = of_query[tree] = NetDist(self._config)
        if trains:
            birth_s = net_dist.observe(summary.pane + summary.more, birth_s=birth_s, now_s=now_s)
        hold_s = self._config.hold_factor * net_dist.estimate_s
        if query is not None:
            hold_s = min(
                hold_s, query.hold_max_s(summary.plan_version, summary.route.tree, summary.pane)
            )
        return birth_s + hold_s

    def net_dist_s(self, query_id: str) -> float:
        """The largest over its trees."""
        known = (net_dist.estimate_s for net_dist in self._net_dists.get(query_id, {}).values())
        return max(known, default=self._config.net_dist_initial_s)

    def discard_query(self, query_id: str) -> None:
        self._net_dists.pop(query_id, None)
