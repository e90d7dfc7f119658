"""Which settings of a query hold for which pane.

Settings are told whole, so of those whose pane has come the one with the highest number holds, in
whichever order they were heard of.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.remainders.share_table import OwnShare, own_share
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX, Settings
from headwater.plan.query import Query


class Numbered(msgspec.Struct, frozen=True):
    """Settings, and from which pane on they hold."""

    number: int
    pane: int
    settings: Settings


class SettingsBook(msgspec.Struct, frozen=True):
    """All settings of one query that are known, for whoever asks by pane.

    Of those whose pane has come the highest number holds, so it does not matter in which order they
    were heard of.
    """

    first: Settings = Settings()
    """Those of the install, number 0."""
    changes: tuple[Numbered, ...] = ()
    """By number."""
    own: tuple[OwnShare, ...] = ()
    """At a site: its shares of absolute bounds, as far as it has heard."""

    def joined(self, later: SettingsBook) -> SettingsBook:
        """The later one, with those of this one that are commanded no more: panes may have been
        made by them."""
        known = {one.number: one for one in (*self.changes, *later.changes)}
        kept = [known[number] for number in sorted(known)]
        return msgspec.structs.replace(later, changes=tuple(kept[-SETTINGS_KEPT_MAX:]))

    def number_at(self, pane: int) -> int:
        """
        >>> book = SettingsBook(changes=(Numbered(1, 10, Settings()), Numbered(2, 8, Settings())))
        >>> [book.number_at(pane) for pane in (7, 8, 10)]
        [0, 2, 2]
        """
        return next((one.number for one in reversed(self.changes) if one.pane <= pane), 0)

    def at(self, pane: int) -> Settings:
        come = (one.settings for one in reversed(self.changes) if one.pane <= pane)
        return next(come, self.first)

    def part_at(self, pane: int) -> float | None:
        """The site's part of what all sites may keep back of a pane; None: an even one."""
        tolerance = self.at(pane).tolerance
        is_even = tolerance is None or tolerance.is_even(pane)
        return None if is_even else own_share(self.own, pane)

    def of(self, number: int) -> Settings | None:
        """None: they are not known here."""
        if not number:
            return self.first
        return next((one.settings for one in self.changes if one.number == number), None)

    @property
    def end_pane(self) -> int | None:
        """The first pane that is none of the query's any more, by command; None: it goes on."""
        return min((one.pane for one in self.changes if one.settings.is_end), default=None)

    @property
    def newest(self) -> Settings:
        """Those that hold last."""
        return self.changes[-1].settings if self.changes else self.first

    @property
    def newest_number(self) -> int:
        """Of the settings that hold last."""
        return self.changes[-1].number if self.changes else 0

    def sends_early(self, query: Query) -> bool:
        """Whether by any of them keys may leave before the close."""
        altered = (one.settings.on(query) for one in self.changes)
        return any(one.round_count > 1 for one in (query, *altered))

    @property
    def tolerances(self) -> list[Tolerance]:
        """By any of them, the newest first."""
        every = (*reversed(self.changes), Numbered(0, 0, self.first))
        return [one.settings.tolerance for one in every if one.settings.tolerance is not None]

    def pending(self, after: int) -> list[Numbered]:
        """Those that will hold for a pane behind this one, and do not yet."""
        now = self.number_at(after)
        return [one for one in self.changes if one.pane > after and one.number > now]
