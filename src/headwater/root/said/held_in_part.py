"""What an acknowledgement says of a pane beyond a bit for each site.

A bit says that all is held that its site has closed, as far as the root knows. So more is to be
said only of sites of which something is held and not all: of a pane that is open, of a close of
which some updates are lacking. That is told by bitmaps, one for each run of updates that the same
sites have, as many as updates and not as sites. It is spelled out for a site that the root has not
heard of in this life, since a bitmap has no incarnation, and for one that has never sent a group
itself: an agent of before, that believes no bit but of its first update.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from headwater.algebra.coverage import OPEN, GroupKey
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.words.acknowledgement import ExtraHeld, RoundsHeld
from headwater.root.pane_board import PaneBoard
from headwater.root.site_table import SiteTable


class HeldUpdates(msgspec.Struct, frozen=True):
    """Of one pane."""

    extras: tuple[ExtraHeld, ...] = ()
    rounds: tuple[RoundsHeld, ...] = ()
    is_of_several: bool = False
    """Some site has closed it with several updates, so a bit speaks of more than the first."""

    @property
    def count(self) -> int:
        return len(self.extras) + len(self.rounds)


def held_in_part(board: PaneBoard, table: SiteTable) -> HeldUpdates:
    several = any(closed_at > 1 for (_, closed_at), _ in board.known_of_lives())
    extras = (*_of_non_readers(board, table), *_of_unheard_lives(board))
    return HeldUpdates(extras, tuple(_rounds(board, table.readers)), is_of_several=several)


def _of_non_readers(board: PaneBoard, table: SiteTable) -> Iterator[ExtraHeld]:
    for key, sites in board.groups.items():
        if _is_beyond_first(key):
            for ordinal in bitset.members(sites & ~table.readers):
                yield ExtraHeld(
                    pane=board.pane,
                    ordinal=ordinal,
                    incarnation=table.present(ordinal) or 0,
                    updates=key[0],
                )


def _of_unheard_lives(board: PaneBoard) -> Iterator[ExtraHeld]:
    """To a life that is over nothing is said."""
    for ordinal, holding in board.holdings.items():
        if _is_beyond_first(holding.key) and not board.former >> ordinal & 1:
            yield ExtraHeld(
                pane=board.pane,
                ordinal=ordinal,
                incarnation=holding.incarnation,
                updates=holding.updates,
            )


def _is_beyond_first(key: GroupKey) -> bool:
    """Whether more is held than an agent of before takes a bit for, or without a bit."""
    updates, _ = key
    return any(last > 1 for _, last in updates) or (bool(updates) and _is_partly(key))


def _rounds(board: PaneBoard, readers: int) -> Iterator[RoundsHeld]:
    """Between two neighbouring ends of ranges all updates are held of the same sites."""
    partly = [(key[0], sites & readers) for key, sites in board.groups.items() if _is_partly(key)]
    partly = [(updates, sites) for updates, sites in partly if updates and sites]
    ends = sorted({end for updates, _ in partly for a, b in updates for end in (a, b + 1)})
    for first, after in pairwise(ends):
        sites = bitset.union(of for updates, of in partly if ranges.contains(updates, first))
        if sites:
            yield RoundsHeld(pane=board.pane, first=first, last=after - 1, sites=sites)


def _is_partly(key: GroupKey) -> bool:
    """Whether a bit does not say all that is held."""
    updates, closed_at = key
    if closed_at == OPEN or not ranges.covers(updates, 1, closed_at):
        return True
    return bool(updates) and updates[-1][1] > closed_at
