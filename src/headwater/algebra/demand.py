"""What of a window is enough for an answer: what the author of a query demands of its C².

*Area* takes any (site, pane) that come: the earliest. *Panes and sites* fix the axes: as many panes
as were asked that have as many sites each, and as many sites that have as many panes each. Where
one of the two is 100 % that is what iMR calls spatial completeness (panes 40 %, each with every
site) or temporal (60 % of the sites, each with every pane). Which sites and panes these are is not
asked: the best choice of both together is a hard problem (a largest complete block), and nobody
needs it.

An area may be drawn by chance instead (``pane_draw``): not what comes first, but a sample of the
panes, which each site takes alone. What was not drawn is none of the query's; so all that is drawn
is enough.

Shares are whole thousandths of a percent, so that root and reader count alike: a share of so many
panes or sites is rounded up.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from headwater.algebra.bounds import Name
from headwater.algebra.fidelity import Fidelity
from headwater.algebra.rows.bounded import BOUNDED_MAX

ALL = 100_000
"""100 %, in thousandths of a percent."""
Share = Annotated[int, Meta(ge=0, le=ALL)]


class Chance(StrEnum):
    """How a random demand draws its panes."""

    ALIKE = "random"
    """The same at all sites."""
    APART = "random apart"
    """By each site for itself."""


class Demand(msgspec.Struct, frozen=True):
    """Either an area, or panes and sites; 0: it is not of that form."""

    area: Share = 0
    panes: Share = 0
    sites: Share = 0
    is_final: bool = False
    """``finally = 'enough'``: an answer that meets it is never revised."""
    is_silent: bool = False
    """``below = 'silent'``: an answer that does not meet it has no rows."""
    chance: Chance | UnsetType = UNSET
    """Set: so many panes are drawn, and only those are taken. Unset, and then not on the wire:
    whatever comes."""
    scaled: Annotated[tuple[Name, ...], Meta(max_length=BOUNDED_MAX)] | UnsetType = UNSET
    """Of a random demand: columns of the answer that are in proportion to the share of the records
    that is in it."""

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
        return self._fault_of_chance(panes)

    def _fault_of_chance(self, panes: int) -> str | None:
        if not self.is_random:
            return None
        if not self.area:
            return "a random choice is of an area: panes and sites say themselves which they are"
        if self.panes_drawn(panes) == panes:
            has = f"{panes} panes" if panes > 1 else "only one pane"
            return f"{percent(self.area)} drawn by chance is all of a window that has {has}"
        return None

    @property
    def is_random(self) -> bool:
        return self.chance is not UNSET

    @property
    def scaled_columns(self) -> tuple[str, ...]:
        return () if isinstance(self.scaled, UnsetType) else self.scaled

    def panes_drawn(self, panes: int) -> int:
        """How many of so many a random demand takes."""
        return least(self.area, panes)

    def panes_asked(self, panes: int) -> int:
        """Of how many of so many panes; of all where it asks for an area."""
        return least(self.panes, panes) if self.panes else panes

    def is_met_by(self, found: Fidelity) -> bool:
        """``found`` was measured with ``panes_asked``."""
        if self.area:
            return found.pairs >= min(least(self.area, found.pairs_expected), found.pairs_drawn)
        sites = least(self.sites, found.sites)
        has_panes = found.panes_with(sites) >= least(self.panes, found.panes)
        return has_panes and found.regular >= sites

    def text(self) -> str:
        """As it is written.

        >>> Demand(panes=40_000, sites=ALL).text()
        'panes 40 %, sites 100 %'
        """
        if self.area:
            chance = f", {self.chance}" if self.is_random else ""
            return f"area {percent(self.area)}{chance}"
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
