"""What all parts of one peer share: who it is, how it is tuned, and where they lay things down."""

from __future__ import annotations

from typing import NamedTuple

from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.roster_index import RosterIndex, index_of
from headwater.overlay.signatures import UNSIGNED, Signatures
from headwater.overlay.tray import Tray
from headwater.overlay.wakefulness import Wakefulness
from headwater.plan.roster import Roster


class Here(NamedTuple):
    site: str
    ordinal: int
    roster: RosterIndex
    config: OverlayConfig
    signatures: Signatures
    wake: Wakefulness
    tray: Tray
    budgets: LinkBudgets
    shares: QueryShares
    """Of links, by query."""

    @classmethod
    def of(
        cls,
        site: str,
        roster: Roster,
        config: OverlayConfig,
        signatures: Signatures = UNSIGNED,
        budgets: LinkBudgets = NO_BUDGETS,
    ) -> Here:
        index = index_of(roster)
        return cls(
            site,
            index.ordinal_of[site],
            index,
            config,
            signatures,
            Wakefulness(config),
            Tray(notice_every_s=config.notice_every_s),
            budgets,
            QueryShares(),
        )
