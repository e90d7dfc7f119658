"""A query that is installed here, with all that moving its summaries needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from headwater.algebra.pane_draw import PaneDraw
from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.tolerance import Threshold, Tolerance
from headwater.algebra.rows.places import PlaceColumn
from headwater.algebra.summary import Merger
from headwater.algebra.windows.sessions import Sessions
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.ways.tree_place import TreePlace, find_place
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.command import Install
from headwater.plan.query import Query
from headwater.plan.tree import Tree

FEDERATION = ""
"""In place of a query's id, where the federation's own trees are meant."""
GUEST_PATIENCE = 0.5
"""As ``TreePlace.patience``, where a summary came by a tree that this peer is no member of."""
TIME_SHARE_MIN = 0.25
"""Of the deadline, that summaries have at the least."""


class TreeSet(msgspec.Struct, frozen=True):
    """One tree set of a query, seen from this peer."""

    version: int
    trees: tuple[Tree, ...]
    places: tuple[TreePlace | None, ...]
    """This peer's place in each tree; None where it is no member."""


class ThinnedBy(msgspec.Struct, frozen=True):
    """By what a relay drops groups of the merged pieces of a query."""

    settings: SettingsBook
    keys: tuple[str, ...]
    """By which rows are groups of an answer."""
    pane_s: float

    def at(self, pane: int) -> tuple[Tolerance, float] | None:
        """What relays may drop of a piece of the pane, and how long what waits for the link must
        need at least before they do; None: nothing. A threshold is for a link that does not keep
        up; an error may be used up wherever it saves time."""
        tolerance = self.settings.at(pane).tolerance
        relays = None if tolerance is None else tolerance.at_relays()
        if tolerance is None or relays is None:
            return None
        is_by_link = isinstance(tolerance.threshold, Threshold)
        return relays, self.pane_s if is_by_link else 0.0

    def may_be(self, thinned: Remainders) -> bool:
        """Whether they can be what a relay has dropped, by any of the settings."""
        return any(one.is_thinned_by(thinned) for one in self.settings.tolerances)


class LiveQuery(msgspec.Struct, frozen=True):
    id: str
    root: str
    is_root: bool
    """It is answered here."""
    tree_sets: tuple[TreeSet, ...]
    """The newest first, and the one before it: what was sent by that is still carried by it."""
    node_set: int
    merger: Merger | None
    """None where the query's rows can't be merged here: they are then forwarded apart."""
    holds_states: bool = False
    """Its summaries may stand for several panes, and are split where they meet others."""
    time_s: float = float("inf")
    """What summaries have, from their first send on, to be in the first answer."""
    altered_times: tuple[tuple[int, float], ...] = ()
    """The same from a pane on, where settings were altered: the last one holds whose pane came."""
    place_columns: tuple[PlaceColumn, ...] = ()
    """Keys of its rows that name where they were made."""
    sessions: Sessions | None = None
    """Its rows are fragments of sessions, each of which lies in its pane."""
    sends_early: bool = False
    """Updates of its panes may leave their sites before the close."""
    thinned_by: ThinnedBy | None = None
    """None: all that was merged is sent."""
    draw: PaneDraw | None = None
    """Which panes a random demand takes; None: all are."""

    @property
    def tree_set(self) -> TreeSet:
        return self.tree_sets[0]

    @property
    def places(self) -> tuple[TreePlace | None, ...]:
        return self.tree_sets[0].places

    @property
    def is_member(self) -> bool:
        return any(self.tree_sets[0].places)  # a place is true, and a generator takes its time

    def parents(self) -> list[str]:
        """In the trees of the newest plan."""
        places = self.tree_sets[0].places
        return [place.parent for place in places if place is not None and place.parent is not None]

    def tree_set_of(self, version: int) -> TreeSet | None:
        newest = self.tree_sets[0]
        if newest.version == version:  # nearly always, and asked for at every arrival
            return newest
        return next((one for one in self.tree_sets if one.version == version), None)

    def place_on(self, version: int, tree: int) -> TreePlace | None:
        found = self.tree_set_of(version)
        return found.places[tree] if found is not None and tree < len(found.places) else None

    def hold_max_s(self, version: int, tree: int, pane: int) -> float:
        """How old a summary of a pane may grow here while it waits for others."""
        place, altered = self.place_on(version, tree), reversed(self.altered_times)
        time_s = next((time_s for first, time_s in altered if first <= pane), self.time_s)
        return time_s * (GUEST_PATIENCE if place is None else place.patience)

    def altered(self, install: Install) -> LiveQuery:
        """The same, with the settings that its install has by now."""
        return msgspec.structs.replace(
            self, altered_times=_altered_times(install), thinned_by=_thinned_by(install)
        )

    def all_places(self) -> list[TreePlace]:
        """In all trees of all plans."""
        return [place for one in self.tree_sets for place in one.places if place is not None]


def federation_query(
    trees: Sequence[Tree], *, home: str, ordinal: int, roster: RosterIndex
) -> LiveQuery:
    """The federation's own trees, as if they were those of a query that asks nothing: commands go
    by them, and whoever they do not lead home from looks for a host, as for any query."""
    places = tuple(find_place(tree, ordinal, roster=roster, node_set=0) for tree in trees)
    return LiveQuery(
        id=FEDERATION,
        root=home,
        is_root=roster.ordinal_of[home] == ordinal,
        tree_sets=(TreeSet(0, tuple(trees), places),),
        node_set=0,
        merger=None,
    )


def open_query(
    install: Install,
    *,
    former: LiveQuery | None = None,
    ordinal: int,
    roster: RosterIndex,
    merger_of: Callable[[Query], Merger],
) -> tuple[LiveQuery, str | None]:
    """The query, ready for use, and what went wrong with its merger, if anything.

    A query whose merger can't be made here still travels: its summaries pass unmerged. ``former``
    is the query under its plan up to now.
    """
    node_set = roster.node_set(install.query)
    places = tuple(
        find_place(tree, ordinal, roster=roster, node_set=node_set) for tree in install.trees
    )
    tree_sets: tuple[TreeSet, ...] = (TreeSet(install.plan_version, install.trees, places),)
    if former is not None:
        tree_sets += former.tree_sets[:1]
    merger: Merger | None = None
    problem: str | None = None
    try:
        merger = merger_of(install.query)
    except Exception as error:  # the query comes from the wire; whatever it breaks, we go on
        problem = f"{type(error).__name__}: {error}"
    root = install.query.root
    sessions = install.query.sessions
    live = LiveQuery(
        id=str(install.query.id),
        root=root,
        is_root=roster.ordinal_of.get(root) == ordinal,
        tree_sets=tree_sets,
        node_set=node_set,
        merger=merger,
        holds_states=install.query.holds_states,
        time_s=_time_s(install.settings.first, install.query),
        altered_times=_altered_times(install),
        place_columns=install.query.place_columns,
        sessions=sessions if isinstance(sessions, Sessions) else None,
        sends_early=install.settings.sends_early(install.query),
        thinned_by=_thinned_by(install),
        draw=install.query.draw,
    )
    return live, problem


def _thinned_by(install: Install) -> ThinnedBy | None:
    """An input that ends has no scarce link, and no deadline."""
    query, settings = install.query, install.settings
    if query.ends or not any(one.relay_share for one in settings.tolerances):
        return None
    pane_s = 0.0 if query.numbers is not None else query.window.pane_us / MICROS
    return ThinnedBy(settings, query.group_keys, pane_s)


def _altered_times(install: Install) -> tuple[tuple[int, float], ...]:
    changes = install.settings.changes
    return tuple((one.pane, _time_s(one.settings, install.query)) for one in changes)


def _time_s(settings: Settings, query: Query) -> float:
    """A site closes a window, and sends, ``disorder`` after its end; the root answers at the
    deadline. Where that leaves little, most summaries are late whatever a relay does."""
    deadline_s = settings.deadline_s
    return max(deadline_s - query.timing.disorder_s, TIME_SHARE_MIN * deadline_s)
