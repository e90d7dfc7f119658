"""What an answer says of how much of its window is in it, and of what was demanded."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headwater.algebra.demand import Demand
from headwater.algebra.fidelity import Bins, Fidelity

BINS_SHOWN_MAX = 6


class Reached(msgspec.Struct, frozen=True):
    """C² of one answer (``algebra/fidelity``), with what readers would work out of it."""

    area: float = 0.0
    """The share of (site, pane) that are in wholly."""
    time: float = 0.0
    """The share of the panes that have any site."""
    space: float = 0.0
    """The share of the sites that are in any pane."""
    sites: int = 0
    bins: Bins = ()
    """(panes, sites): of so many panes in a row, from the window's start on, how many sites are in
    each. Empty: an older version made the answer, and said nothing of it."""
    seen: int = 0
    regular: int = 0
    """Sites that are in as many panes as is demanded; in all of them, where nothing is."""
    undrawn: int = 0
    """(site, pane) that a random demand has not drawn, of all."""
    area_drawn: float = 0.0
    """The share of those that were drawn that are in wholly; 0 where nothing is drawn by chance."""
    scale: float = 0.0
    """By what a value of the scaled columns is to be multiplied to estimate that of all records; 0:
    nothing is drawn by chance, or nothing is in wholly yet."""
    scaled: tuple[str, ...] = ()
    """Columns that are in proportion to what is in: counts and sums. Beside each, rows have it
    multiplied (``published_files.scaled_name``)."""
    demanded: str = ""
    """As it is written; empty: nothing."""
    is_met: bool = True
    is_silent: bool = False
    """The answer has no rows, because it does not meet its demand."""

    @classmethod
    def of(cls, found: Fidelity, demand: Demand | None, *, is_awaited: bool = True) -> Reached:
        """``is_awaited``: answers go by the demand."""
        is_met = demand is None or demand.is_met_by(found)
        is_drawn = demand is not None and demand.is_random and is_awaited
        scale = found.pairs_expected / found.pairs if is_drawn and found.pairs else 0.0
        return cls(
            area=found.area,
            time=found.time,
            space=found.space,
            sites=found.sites,
            bins=found.bins,
            seen=found.seen,
            regular=found.regular,
            undrawn=found.undrawn,
            area_drawn=found.area_drawn if found.undrawn else 0.0,
            scale=scale,
            scaled=demand.scaled_columns if demand is not None and is_drawn else (),
            demanded="" if demand is None else demand.text(),
            is_met=is_met,
            is_silent=demand is not None and is_awaited and demand.is_silent and not is_met,
        )

    @property
    def fidelity(self) -> Fidelity:
        return Fidelity(self.sites, self.bins, self.seen, self.regular, self.undrawn)

    @property
    def has_news(self) -> bool:
        """Whether it says more than a count of sites: something was demanded, or of several panes
        not all is in."""
        return bool(self.demanded) or (self.fidelity.panes > 1 and self.area < 1.0)

    def lines(self) -> Iterable[str]:
        """For people, a sentence each; none where they would say no more than a count of sites."""
        if not self.has_news:
            return
        yield (
            f"{share(self.area)} of (site, pane) is in: {share(self.time)} of the panes, "
            f"{share(self.space)} of the sites; {self.bins_text()}"
        )
        if self.undrawn:
            pairs = self.fidelity.pairs_expected
            yield (
                f"{self.fidelity.pairs_drawn} of {pairs} (site, pane) were drawn by chance: "
                f"{share(self.area_drawn)} of them is in; the others are never taken"
            )
        if self.scaled and self.scale:
            yield f"times {self.scale:.4g} {', '.join(self.scaled)} estimates that of all records"
        if self.demanded:
            verdict = "it is reached" if self.is_met else "it is NOT reached"
            silent = ", so there are no rows" if self.is_silent else ""
            yield f"demanded is {self.demanded}: {verdict}{silent}"

    def bins_text(self) -> str:
        """
        >>> Reached(bins=((2, 12), (1, 11)), sites=12).bins_text()
        'by pane 2 x 12, 11 of 12 sites'
        """
        shown = [
            f"{sites}" if panes == 1 else f"{panes} x {sites}"
            for panes, sites in self.bins[:BINS_SHOWN_MAX]
        ]
        more = ", …" if len(self.bins) > BINS_SHOWN_MAX else ""
        return f"by pane {', '.join(shown)}{more} of {self.sites} sites"


def share(part: float) -> str:
    """Rounded down: only all is 100 %.

    >>> share(0.99999), share(1.0), share(0.975)
    ('99.9 %', '100 %', '97.5 %')
    """
    return f"{int(part * 1000 + 1e-9) / 10:g} %"
