"""What of a window is enough for an answer: what the author of a query demands of its C².

*Area* takes any (site, pane) that come: the earliest. *Panes and sites* fix the axes: as many panes
as were asked that have as many sites each, and as many sites that have as many panes each. Where
one of the two is 100 % that is what iMR calls spatial completeness (panes 40 %, each with every
site) or temporal (60 % of the sites, each with every pane). Which sites and panes these are is not
asked: the best choice of both together is a hard problem (a largest complete block), and nobody
needs it.

Shares are whole thousandths of a percent, so that root and reader count alike: a share of so many
panes or sites is rounded up.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.fidelity import Fidelity

ALL = 100_000
"""100 %, in thousandths of a percent."""
Share = Annotated[int, Meta(ge=0, le=ALL)]


class Demand(msgspec.Struct, frozen=True):
    """Either an area, or panes and sites; 0: it is not of that form."""

    area: Share = 0
    panes: Share = 0
    sites: Share = 0
    is_final: bool = False
    """``finally = 'enough'``: an answer that meets it is never revised."""
    is_silent: bool = False
    """``below = 'silent'``: an answer that does not meet it has no rows."""

    def fault(self, panes: int) -> str | None:
        """What is wrong with it, whoever has written it, for a window of so many panes."""
        forms = (bool(self.area), bool(self.panes), bool(self.sites))
        if forms not in ((True, False, False), (False, True, True)):
            return f"fidelity: wanted an area, or panes and sites, got {self}"
        if not all(0 <= share <= ALL for share in (self.area, self.panes, self.sites)):
            return f"fidelity: wanted shares up to 100 %, got {self}"
        if self.panes and self.panes * panes < ALL:
            return (
                f"{percent(self.panes)} of the panes is less than one pane: a window has "
                f"{panes if panes > 1 else 'only one'}"
            )
        return None

    def panes_asked(self, panes: int) -> int:
        """Of how many of so many panes; of all where it asks for an area."""
        return least(self.panes, panes) if self.panes else panes

    def is_met_by(self, found: Fidelity) -> bool:
        """``found`` was measured with ``panes_asked``."""
        if self.area:
            return found.pairs >= least(self.area, found.pairs_expected)
        sites = least(self.sites, found.sites)
        has_panes = found.panes_with(sites) >= least(self.panes, found.panes)
        return has_panes and found.regular >= sites

    def text(self) -> str:
        """As it is written.

        >>> Demand(panes=40_000, sites=ALL).text()
        'panes 40 %, sites 100 %'
        """
        if self.area:
            return f"area {percent(self.area)}"
        return f"panes {percent(self.panes)}, sites {percent(self.sites)}"


def least(share: int, of: int) -> int:
    """The smallest number that is this share of ``of``, or more.

    >>> least(80_000, 11)
    9
    """
    return -(-share * of // ALL)


def percent(share: int) -> str:
    """
    >>> percent(12_500)
    '12.5 %'
    """
    return f"{share / 1000:g} %"
