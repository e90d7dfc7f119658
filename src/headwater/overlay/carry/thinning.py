"""Thinning: what leaves out groups where the link into the root is too narrow for what waits.

Where a query leaves relays a part of its bounds, a merged piece leaves without the groups that are
below that part (``algebra/remainders/thin``), and tells what they came to. Only before the link
into the root: what has come there nobody thins again, and only the two ends of that link have to
know of it. The root has read the query, and so has who could merge.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.overlay.carry.summary_entry import SummaryEntry
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.tray import Tray
from headwater.overlay.ways.staged_policy import Hop

WaitsS = Callable[[str, LiveQuery, int], float]
"""How long what waits for the link to a site needs on it, and so many more bytes of a query's rows
with it; 0 where nothing is known of it."""


class Thinning:
    def __init__(self, waits_s: WaitsS, tray: Tray, *, worth_s: float) -> None:
        self._waits_s = waits_s
        self._worth_s = worth_s
        self._tray = tray

    def thin(self, entry: SummaryEntry, hop: Hop, *, now_s: float) -> None:
        """An entry of one piece is about to leave. Where its rows refuse to be looked at it leaves
        whole."""
        query = entry.query
        if query is None or query.thinned_by is None or hop.site != query.root:
            return
        found = query.thinned_by.at(entry.first)
        if found is None:
            return
        worth_s = max(found[1], self._worth_s)
        if self._waits_s(hop.site, query, entry.size_bytes) <= worth_s:
            return
        try:
            groups = entry.thin(found[0], query.thinned_by.keys)
        except Exception as error:  # rows come from the wire; whatever they break, we go on
            text = f"{entry}: {type(error).__name__}: {error}"
            self._tray.note("thin-failed", text, now_s=now_s)
            return
        if groups:
            self._tray.count("thinned")
            self._tray.count("thinned groups", groups)
