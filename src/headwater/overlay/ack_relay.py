"""Acknowledgements down the query's tree: delivered here, and handed to every child."""

from __future__ import annotations

import msgspec

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.overlay.ack_cast import AckCast
from headwater.overlay.messages import AckMessage
from headwater.overlay.neighbours import Neighbours
from headwater.overlay.outputs import CONTROL, AckDelivered
from headwater.overlay.reconciliation import Reconciliation
from headwater.overlay.router import Router
from headwater.overlay.tray import Tray
from headwater.overlay.trust import problem_with_ack


class AckRelay:
    def __init__(
        self,
        *,
        router: Router,
        neighbours: Neighbours,
        reconciliation: Reconciliation,
        tray: Tray,
    ) -> None:
        self._cast = AckCast()
        self._router = router
        self._neighbours = neighbours
        self._reconciliation = reconciliation
        self._tray = tray

    def give(self, ack: Acknowledgement, *, now_s: float) -> None:
        """From this agent's own root."""
        if self._router.is_root_of(ack.query):
            self._accept(ack, now_s=now_s)
        else:
            self._tray.note("refused", f"acknowledgement of {ack.query}: its root is not here")

    def receive(self, sender: str, ack: Acknowledgement, *, one_way_s: float, now_s: float) -> None:
        query = self._router.query(ack.query)
        if query is None:
            self._tray.put(*self._reconciliation.ask(sender, ack.query, now_s=now_s))
            return
        problem = problem_with_ack(ack, sender, query)
        if problem is not None:
            self._tray.note("refused", f"{sender}: {problem}")
            return
        self._accept(msgspec.structs.replace(ack, age_s=ack.age_s + one_way_s), now_s=now_s)

    def way_opened(self, child: str, *, now_s: float) -> None:
        """The link to this neighbour can take messages (again)."""
        for query_id in self._cast.settle(child):
            self._send_newest(query_id, child, now_s=now_s)

    def link_down(self, child: str) -> None:
        """What was under way may be lost: the newest of every query is owed again."""
        for query in self._router.queries():
            if query.place is not None and child in query.place.below:
                self._cast.owe(query.id, child)

    def discard_query(self, query_id: str) -> None:
        self._cast.discard_query(query_id)

    def _accept(self, ack: Acknowledgement, *, now_s: float) -> None:
        if not self._cast.accept(ack, now_s=now_s):
            return
        self._tray.put(AckDelivered(ack))
        query = self._router.query(ack.query)
        if query is not None and query.place is not None:
            for child in query.place.children:
                self._send_newest(ack.query, child, now_s=now_s)

    def _send_newest(self, query_id: str, child: str, *, now_s: float) -> None:
        """A child that can't take it now is owed it."""
        ack = self._cast.newest(query_id, now_s=now_s)
        if ack is None:
            return
        if self._neighbours.is_open(child):
            self._tray.transmit(child, AckMessage(ack), CONTROL)
        else:
            self._cast.owe(query_id, child)
