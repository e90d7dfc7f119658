"""Acknowledgements on their way down: delivered here, and handed on.

An acknowledgement goes down one tree, the next one down the next, so that what one tree can't
reach another can. It is handed to the children on that tree, and also to whoever has lately sent
us something of the query on that tree without being a child there: summaries find a way to the
root around whatever is down, and acknowledgements go the same way back.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.overlay.ack_cast import AckCast
from headwater.overlay.config import OverlayConfig
from headwater.overlay.lie_book import LieKind, Untrue
from headwater.overlay.live_query import LiveQuery
from headwater.overlay.messages import AckMessage
from headwater.overlay.neighbours import Neighbours
from headwater.overlay.outputs import CONTROL, AckDelivered
from headwater.overlay.reconciliation import Reconciliation
from headwater.overlay.router import Router
from headwater.overlay.signatures import Signatures
from headwater.overlay.tray import Tray
from headwater.overlay.trust import problem_with_ack
from headwater.overlay.wakefulness import Wakefulness

SCATTER = 2_654_435_761
"""Knuth's multiplier: the bits above the lowest sixteen of its multiples look like chance."""


def tree_of(number: int, count: int) -> int:
    """The tree that an acknowledgement goes down, the same at every peer. Scattered, not in turn:
    acknowledgements also speak of panes in turn, and a pane that were always spelled out on the
    same tree would never be told to whom that tree does not reach."""
    return (number * SCATTER >> 16) % count


class AckRelay:
    __slots__ = (
        "_cast", "_guest_after_s", "_neighbours", "_reconciliation", "_router", "_senders",
        "_signatures", "_tray", "_wake",
    )  # fmt: skip

    def __init__(
        self,
        *,
        config: OverlayConfig,
        wake: Wakefulness,
        router: Router,
        neighbours: Neighbours,
        reconciliation: Reconciliation,
        signatures: Signatures,
        tray: Tray,
    ) -> None:
        self._cast = AckCast()
        self._guest_after_s = config.guest_after_s
        self._wake = wake
        self._router = router
        self._neighbours = neighbours
        self._reconciliation = reconciliation
        self._signatures = signatures
        self._tray = tray
        self._senders: dict[str, dict[str, tuple[int, float]]] = {}
        """By query and sender: the tree on which it last sent us something, and when."""

    def came(self, query_id: str, tree: int, sender: str) -> None:
        """Something of this query came up from this sender, on this tree."""
        self._senders.setdefault(query_id, {})[sender] = (tree, self._tray.now_s)

    def give(self, ack: Acknowledgement, *, now_s: float) -> None:
        """From this agent's own root."""
        if self._router.is_root_of(ack.query):
            self._accept(self._signatures.sign_ack(ack), None, now_s=now_s)
        else:
            self._tray.note("refused", f"acknowledgement of {ack.query}: its root is not here")

    def receive(self, sender: str, ack: Acknowledgement, *, one_way_s: float, now_s: float) -> None:
        query = self._router.query(ack.query)
        if query is None:
            self._tray.put(*self._reconciliation.ask(sender, ack.query, now_s=now_s))
            return
        problem = problem_with_ack(ack, sender, query, self._router.carriers(ack.query))
        if problem is not None:
            self._tray.refuse(sender, problem)
            return
        if not self._cast.is_newer(ack):
            return
        if not self._signatures.is_ack_of(query.root, ack):
            text = f"acknowledgement of {ack.query}: it is not signed by {query.root}"
            self._tray.refuse(sender, Untrue.of(LieKind.UNSIGNED, text))
            return
        aged = msgspec.structs.replace(
            ack, age_s=ack.age_s + one_way_s, late_s=ack.late_s + self._wake.late_s(now_s)
        )
        self._accept(aged, sender, now_s=now_s)

    def way_opened(self, child: str, *, now_s: float) -> None:
        """The link to this neighbour can take messages (again)."""
        for query_id in self._cast.settle(child):
            self._send_newest(query_id, child, now_s=now_s)

    def link_down(self, child: str) -> None:
        """What was under way may be lost: the newest of every query is owed again."""
        for query in self._router.queries():
            if any(child in place.children for place in query.places if place is not None):
                self._cast.owe(query.id, child)
        for senders in self._senders.values():
            senders.pop(child, None)

    def discard_query(self, query_id: str) -> None:
        self._cast.discard_query(query_id)
        self._senders.pop(query_id, None)

    def _accept(self, ack: Acknowledgement, sender: str | None, *, now_s: float) -> None:
        self._cast.accept(ack, now_s=now_s)
        self._tray.put(AckDelivered(ack))
        query = self._router.query(ack.query)
        if query is not None:
            for child in self._below(query, tree_of(ack.number, len(query.places)), now_s=now_s):
                if child != sender:
                    self._send_newest(ack.query, child, now_s=now_s)

    def _below(self, query: LiveQuery, tree: int, *, now_s: float) -> list[str]:
        place = query.places[tree]
        children = () if place is None else place.children
        guests = [
            sender
            for sender, (on_tree, at_s) in self._senders.get(query.id, {}).items()
            if on_tree == tree and abs(now_s - at_s) <= self._guest_after_s
            and sender not in children and self._neighbours.is_open(sender)
        ]  # fmt: skip
        return [*children, *guests]

    def _send_newest(self, query_id: str, child: str, *, now_s: float) -> None:
        """A child that can't take it now is owed it."""
        ack = self._cast.newest(query_id, now_s=now_s)
        if ack is None:
            return
        if self._neighbours.is_open(child):
            self._tray.transmit(child, AckMessage(ack), CONTROL)
        else:
            self._cast.owe(query_id, child)
