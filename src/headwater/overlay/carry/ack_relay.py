"""Acknowledgements on their way down: delivered here, and handed on.

An acknowledgement goes down one tree, the next one down the next, so that what one tree can't
reach another can. It is handed to the children on that tree, and also to whoever has lately sent
us something of the query on that tree without being a child there: summaries find a way to the
root around whatever is down, and acknowledgements go the same way back.

A child gets the head, and the leaves of those who are below it on any tree of the query or whose
words it has lately brought. A guest gets all leaves that are here. What was left out, here or above
us, may come by another way, and is then handed on by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    AckLeaf,
    Acknowledgement,
    leaves_over,
)
from headwater.overlay.carry.ack_cast import AckCast
from headwater.overlay.carry.bringers import Bringers
from headwater.overlay.commands.live_query import LiveQuery, TreeSet
from headwater.overlay.commands.reconciliation import Reconciliation
from headwater.overlay.here import Here
from headwater.overlay.lie_book import LieKind, Untrue
from headwater.overlay.links.link import Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_ack
from headwater.overlay.messages import AckMessage
from headwater.overlay.outputs import CONTROL, AckDelivered, Transmit
from headwater.overlay.ways.pathfinder import Pathfinder

SCATTER = 2_654_435_761
"""Knuth's multiplier: the bits above the lowest sixteen of its multiples look like chance."""


def tree_of(number: int, count: int) -> int:
    """The tree that an acknowledgement goes down, the same at every peer. Scattered, not in turn:
    acknowledgements also speak of panes in turn, and a pane that were always spelled out on the
    same tree would never be told to whom that tree does not reach."""
    return (number * SCATTER >> 16) % count


class AckRelay:
    def __init__(
        self,
        here: Here,
        *,
        paths: Pathfinder,
        neighbours: Neighbours,
        reconciliation: Reconciliation,
        bringers: Bringers,
        on_over: Callable[[str], None] = lambda query_id: None,
        on_pause: Callable[[str, float], None] = lambda query_id, now_s: None,
    ) -> None:
        """``on_over``: an acknowledgement has said of panes of a query that they are over;
        ``on_pause``: that sites are to wait."""
        self._on_pause = on_pause
        self._on_over = on_over
        self._own_leaf = here.ordinal // LEAF_SITES
        self._here = here
        self._cast = AckCast()
        self._bringers = bringers
        self._paths = paths
        self._router = paths.router
        self._neighbours = neighbours
        self._reconciliation = reconciliation
        self._signatures = here.signatures
        self._tray = here.tray
        self._below: dict[tuple[str, str], tuple[tuple[TreeSet, ...], int]] = {}
        """By query and child: the sites below it on any tree of these plans."""

    def give(self, ack: Acknowledgement, *, now_s: float) -> None:
        """From this agent's own root."""
        query = self._router.live.get(ack.query)
        if query is not None and query.is_root:
            self._accept(query, self._signatures.sign_ack(ack), None, now_s=now_s)
        else:
            text = f"acknowledgement of {ack.query}: its root is not here"
            self._tray.note("refused", text, now_s=now_s)

    def done_through(self, query_id: str) -> int:
        """Panes below are over, as the root last said; ``-FOREVER``: it has not."""
        return self._cast.done_through(query_id)

    def is_over(self, query_id: str, first: int, last: int) -> bool:
        """Of these panes nobody wants anything any more, as the root last said."""
        return self._cast.is_over(query_id, first, last)

    def receive(self, link: Link, message: AckMessage, *, now_s: float) -> None:
        sender, ack = link.site, message.ack
        query = self._router.live.get(ack.query)
        if query is None:
            self._reconciliation.ask(sender, ack.query, now_s=now_s)
            return
        problem = problem_with_ack(ack, sender, query, self._router.carriers(ack.query))
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
            return
        held = self._cast.held(ack)
        if held is not None:
            self._take_more(query, held, ack.leaves, sender, now_s=now_s)
            return
        if not self._cast.is_news(ack):
            return
        if not self._signatures.is_ack_of(query.root, ack):
            text = f"acknowledgement of {ack.query}: it is not signed by {query.root}"
            self._tray.refuse(sender, Untrue.of(LieKind.UNSIGNED, text), now_s=now_s)
            return
        leaves = self._sound(ack, ack.leaves, sender, now_s=now_s)
        sound = msgspec.structs.replace(ack, leaves=leaves)
        age_s_max = self._paths.heard(sound, root=query.root, now_s=now_s)
        aged = msgspec.structs.replace(
            sound,
            age_s=min(ack.age_s + link.one_way_s, age_s_max),
            late_s=ack.late_s + self._here.wake.late_s(now_s),
        )
        self._accept(query, aged, sender, now_s=now_s)

    def way_opened(self, child: str, *, now_s: float) -> None:
        """The link to this neighbour can take messages (again)."""
        for query_id in self._cast.take_owed(child):
            ack, query = self._cast.newest(query_id, now_s=now_s), self._router.live.get(query_id)
            if ack is not None and query is not None:
                self._send(self._trimmed(ack, ack.leaves, query, child, now_s=now_s), child)

    def link_down(self, child: str) -> None:
        """What was under way may be lost: the newest of every query is owed again."""
        for query in self._router.live.values():
            if any(child in place.children for place in query.places if place is not None):
                self._cast.owe(query.id, child)
        self._bringers.link_down(child)

    def discard_query(self, query_id: str) -> None:
        self._cast.discard_query(query_id)
        self._bringers.discard_query(query_id)
        self._below = {key: below for key, below in self._below.items() if key[0] != query_id}

    def _sound(
        self, head: Acknowledgement, leaves: Iterable[AckLeaf], sender: str, *, now_s: float
    ) -> tuple[AckLeaf, ...]:
        """Those that are the head's own; the head stays whatever came with it."""
        sound: dict[int, AckLeaf] = {}
        for leaf in leaves:
            if self._signatures.is_leaf_of(head, leaf):
                sound[leaf.number] = leaf
            else:
                text = f"acknowledgement of {head.query}: leaf {leaf.number} is not of this one"
                self._tray.refuse(sender, Untrue.of(LieKind.UNSIGNED, text), now_s=now_s)
        return tuple(sound[number] for number in sorted(sound))

    def _accept(
        self, query: LiveQuery, ack: Acknowledgement, sender: str | None, *, now_s: float
    ) -> None:
        self._cast.accept(ack, now_s=now_s)
        if ack.unwanted and not query.is_root:
            self._on_over(query.id)
        if ack.pause is not None:
            self._on_pause(query.id, now_s)
        self._tray.put(AckDelivered(ack))
        for child in self._receivers(query, ack, now_s=now_s):
            if child != sender:
                self._send(self._trimmed(ack, ack.leaves, query, child, now_s=now_s), child)

    def _take_more(
        self,
        query: LiveQuery,
        held: Acknowledgement,
        leaves: Iterable[AckLeaf],
        sender: str,
        *,
        now_s: float,
    ) -> None:
        """What came before is this head; it may have come with fewer leaves."""
        known = {leaf.number for leaf in held.leaves}
        unknown = (leaf for leaf in leaves if leaf.number not in known)
        fresh = self._sound(held, unknown, sender, now_s=now_s)
        if not fresh:
            return
        self._cast.add(query.id, fresh)
        ack = self._cast.newest(query.id, now_s=now_s)
        if ack is None:
            return
        if any(leaf.number == self._own_leaf for leaf in fresh):
            self._paths.heard(ack, root=query.root, now_s=now_s)
            self._tray.put(AckDelivered(ack))
        for child in self._receivers(query, held, now_s=now_s):
            further = self._trimmed(ack, fresh, query, child, now_s=now_s)
            if child != sender and further.leaves:
                self._send(further, child)

    def _receivers(self, query: LiveQuery, ack: Acknowledgement, *, now_s: float) -> list[str]:
        tree = tree_of(ack.number, len(query.places))
        place = query.places[tree]
        children = () if place is None else place.children
        guests = [
            sender
            for sender in self._bringers.on_tree(query.id, tree, now_s=now_s)
            if sender not in children and self._neighbours.is_open(sender)
        ]
        return [*children, *guests]

    def _send(self, ack: Acknowledgement, child: str) -> None:
        """A child that can't take it now is owed it. So is one to which it would wait behind other
        control: by then there is a newer one."""
        if self._neighbours.is_open(child) and not self._neighbours.has_control_ahead(child):
            self._tray.put(Transmit(child, AckMessage(ack=ack), CONTROL))
        else:
            self._cast.owe(ack.query, child)

    def _trimmed(
        self,
        ack: Acknowledgement,
        leaves: tuple[AckLeaf, ...],
        query: LiveQuery,
        child: str,
        *,
        now_s: float,
    ) -> Acknowledgement:
        """With those of these leaves that this neighbour needs."""
        if any(child in place.children for place in query.all_places()):
            sites = self._sites_below(query, child)
            sites |= self._bringers.sites_of(query.id, child, now_s=now_s)
            wanted = leaves_over(sites)
            leaves = tuple(leaf for leaf in leaves if wanted >> leaf.number & 1)
        if len(leaves) == len(ack.leaves):
            return ack
        return msgspec.structs.replace(ack, leaves=leaves)

    def _sites_below(self, query: LiveQuery, child: str) -> int:
        """The query's sites from this child on, in any tree."""
        tree_sets, below = self._below.get((query.id, child), ((), 0))
        if tree_sets is not query.tree_sets:
            ordinal, below = self._here.roster.ordinal_of[child], 0
            for tree_set in query.tree_sets:
                for tree in tree_set.trees:
                    below |= tree.subtree_of(ordinal)
            below &= query.node_set
            self._below[query.id, child] = (query.tree_sets, below)
        return below
