"""A line that an operator narrows while the demo runs: what its site gives up then, and gets back.

``headwater budget SITE RATE`` is what narrows it: the site may send less than its stream of pages
takes. After two windows that do not fit it sends kinds of pages, which have a stream of their own;
when the line is wide again, pages come back after ten seconds, and what was left out follows.
"""

from __future__ import annotations

from headwater.agent.control.operator_client import Ask, command_budget
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.watched_lines import of_own
from headwater.algebra.byte_rate import rate_text
from headwater.local.demo.demo_snapshot import LevelVerdict, LineShown
from headwater.net.identity.signing import OperatorSignature
from headwater.plan.altered.site_budget import ALL_LINKS
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope

SITE = "sydney"
BYTES_PER_S = 3_000.0
"""Pages take more, kinds of pages and all else much less."""
STREAM, COARSE = "pages", "pages_by_coarser_url"
"""The second one has the windows in which some site has sent kinds of pages."""
LIMIT = rate_text(BYTES_PER_S)
HOLDS_S = 6.0
"""So long the line stays narrow when its site has gone to its level: a window or two by kinds."""


class NarrowedLine:
    """Told of by the demo, whoever narrows it: the script, or somebody at the keyboard."""

    def __init__(self) -> None:
        self.is_narrow = False
        self.is_scripted = True
        """Nobody at the keyboard has taken it over."""
        self._is_coarse = False
        self._narrowed_s: float | None = None
        self._widened_s: float | None = None
        self._went_after_s: float | None = None
        self._back_after_s: float | None = None
        self._by_kind: set[int] = set()
        """Windows that were answered by kinds of pages."""
        self._newest: dict[int, Envelope] = {}
        """Of the stream of pages."""

    def is_due(self, *, at_s: float, from_s: float, until_s: float) -> bool:
        """Whether the script changes it now: narrows it when pages are answered, and widens it
        when that has been seen: a busy machine takes its time for both."""
        if not self.is_scripted or self._widened_s is not None:
            return False
        if not self.is_narrow:
            return bool(self._newest) and from_s <= at_s < until_s
        went_s, narrowed_s = self._went_after_s, self._narrowed_s
        seen_s = until_s
        if went_s is not None and narrowed_s is not None:
            seen_s = narrowed_s + went_s + HOLDS_S
        return at_s >= min(seen_s, until_s)

    async def set(
        self, ask: Ask, signature: OperatorSignature, *, is_narrow: bool, at_s: float
    ) -> str:
        """Commands it as an operator does; what is to be said of it."""
        rate = BYTES_PER_S if is_narrow else None
        await command_budget(ask, ALL_LINKS, rate, signature, by_file=not is_narrow)
        self.is_narrow = is_narrow
        if is_narrow:
            self._narrowed_s = at_s
            return f"{SITE}'s line is narrowed: headwater budget {SITE} '{LIMIT}'"
        self._widened_s = at_s
        return f"{SITE}'s line is wide again"

    def look(self, runtime: SiteRuntime | None, query: Query, *, at_s: float) -> str:
        """What is to be said of a level that has changed, if one has."""
        own = None if runtime is None else of_own(runtime, query, runtime.network.stats())
        if own is None or own.is_degraded == self._is_coarse:
            return ""
        self._is_coarse = own.is_degraded
        if self._is_coarse:
            if self._went_after_s is None and self._narrowed_s is not None:
                self._went_after_s = at_s - self._narrowed_s
            return f"{SITE} sends kinds of pages in the place of pages, which take too much"
        if self._widened_s is not None:
            self._back_after_s = at_s - self._widened_s
        return f"{SITE} sends pages again, and those that it left out"

    def shown(self, runtime: SiteRuntime | None, query: Query | None) -> LineShown:
        """How the site does."""
        own = None
        if runtime is not None and query is not None:
            own = of_own(runtime, query, runtime.network.stats())
        newest = self._newest[max(self._newest)] if self._newest else None
        stale_s = None if newest is None else newest.staleness_s
        return LineShown(SITE, own, stale_s, (STREAM, COARSE))

    def hear(self, stream: str, envelope: Envelope) -> None:
        if stream == COARSE:
            self._by_kind.add(envelope.window)
        elif stream == STREAM:
            self._newest[envelope.window] = envelope

    def verdict(self) -> LevelVerdict:
        """When the demo is over."""
        return LevelVerdict(
            SITE,
            LIMIT,
            went_after_s=self._went_after_s,
            back_after_s=self._back_after_s,
            by_kind=len(self._by_kind),
            exact_by_page=sum(
                self._newest[one].exact for one in self._by_kind if one in self._newest
            ),
        )
