"""Who has lately brought us something of a query, on which tree, and of which sites.

Acknowledgements go back the way that words came: to whoever brought some, child or not, and with
the leaves of those sites whose words it brought. A tree tells who is below a neighbour as long as
all is well; who turned to it as a last resort only their summaries and states tell. A false claim
costs the link of whoever makes it, and nothing else.
"""

from __future__ import annotations

from headwater.algebra.far_times import LONG_AGO_S


class _Bringer:
    """Sites are kept for one to three times ``keep_s``."""

    def __init__(self, now_s: float) -> None:
        self.tree = 0
        self.at_s = LONG_AGO_S
        """When it last brought something, on that tree; never, since its link was lost."""
        self._recent = 0
        self._former = 0
        self._since_s = now_s

    def sites(self, more: int = 0, *, keep_s: float, now_s: float) -> int:
        """Those that it brought lately, and ``more``, which it brings now."""
        held_s = abs(now_s - self._since_s)  # a clock that was set back makes nothing last
        if held_s > keep_s:
            self._former = self._recent if held_s <= 2 * keep_s else 0
            self._recent, self._since_s = 0, now_s
        self._recent |= more
        return self._recent | self._former


class Bringers:
    def __init__(self, *, keep_s: float) -> None:
        self._keep_s = keep_s
        self._found: dict[str, dict[str, _Bringer]] = {}
        """By query and sender."""

    def came(self, query_id: str, tree: int, sender: str, sites: int, *, now_s: float) -> None:
        """Something of these sites came up from this sender, on this tree."""
        found = self._found.setdefault(query_id, {})
        bringer = found.get(sender)
        if bringer is None:
            bringer = found[sender] = _Bringer(now_s)
        bringer.tree, bringer.at_s = tree, now_s
        bringer.sites(sites, keep_s=self._keep_s, now_s=now_s)

    def on_tree(self, query_id: str, tree: int, *, now_s: float) -> list[str]:
        """Who has last brought something on this tree, and lately."""
        return [
            sender
            for sender, bringer in self._found.get(query_id, {}).items()
            if bringer.tree == tree and abs(now_s - bringer.at_s) <= self._keep_s
        ]

    def sites_of(self, query_id: str, sender: str, *, now_s: float) -> int:
        """Of which sites it has lately brought something, as a bitset."""
        bringer = self._found.get(query_id, {}).get(sender)
        return 0 if bringer is None else bringer.sites(keep_s=self._keep_s, now_s=now_s)

    def link_down(self, sender: str) -> None:
        """It is no guest any more until it comes again. What it carried it will carry again."""
        for found in self._found.values():
            if sender in found:
                found[sender].at_s = LONG_AGO_S

    def discard_query(self, query_id: str) -> None:
        self._found.pop(query_id, None)
