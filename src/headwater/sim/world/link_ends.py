"""What the simulated network tells the sites at the ends of its links (``Ends``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import (
    AckMessage,
    Heartbeat,
    Message,
    StatesMessage,
    SummaryMessage,
    aged,
)
from headwater.sim.faults.liar import Liar
from headwater.sim.records.bag import BagMerger
from headwater.sim.records.counted_bag import CountedBagMerger
from headwater.sim.transcript import Transcript
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.site import SimulatedSite

MESSAGE_BYTES = 120
"""About what a message takes beside its rows."""


LIES_KEPT = 2_000
"""More than a link holds."""


class LinkEnds:
    def __init__(
        self,
        queue: EventQueue,
        sites: Mapping[str, SimulatedSite],
        transcript: Transcript,
        *,
        merger: BagMerger | CountedBagMerger,
    ) -> None:
        self._queue = queue
        self._sites = sites
        self._transcript = transcript
        self._merger = merger
        self.liars: dict[str, Liar] = {}
        """They hear what comes to their sites, and change what these hand on."""
        self.lies: deque[Message] = deque(maxlen=LIES_KEPT)
        """The newest lies: those that a link did not take are nothing that its site has said."""

    def life_of(self, site: str) -> int:
        return self._sites[site].life_count if self._sites[site].is_up else 0

    def linked(self, site: str, peer: str) -> None:
        self._transcript.note(self._queue.now_s, site, f"link up with {peer}", mark=1)
        life = self._sites[site].life
        if life is not None:
            life.linked(peer)

    def unlinked(self, site: str, peer: str, unsent: list[Message]) -> None:
        self._transcript.note(
            self._queue.now_s, site, f"link down with {peer}, {len(unsent)} unsent", mark=2
        )
        if any(isinstance(message, SummaryMessage) for message in unsent):
            self._transcript.count("a summary came back unsent")
        lies = set(map(id, self.lies))
        life = self._sites[site].life
        if life is not None:
            life.unlinked(peer, [one for one in unsent if id(one) not in lies])

    def arrived(self, site: str, sender: str, message: Message) -> None:
        if sender in self.liars:
            message = self._from_liar(self.liars[sender], message)
        if site in self.liars:
            self.liars[site].hear(message)
        liar = self.liars.get(sender)
        if liar is not None and self._queue.now_s < liar.until_s:
            message, bent = liar.clocks.bend(message, ordinal=self._sites[sender].truth.ordinal)
            for what in bent:
                self._transcript.count(f"a lie was told: {what}")
        life = self._sites[site].life
        if life is not None:
            life.receive(sender, message)

    def _from_liar(self, liar: Liar, message: Message) -> Message:
        told = liar.hands_on(message)
        if told is not message:
            self._transcript.count("leaves were changed on the way, or left out")
        return told

    def queued(self, site: str, peer: str, load: LinkLoad) -> None:
        life = self._sites[site].life
        if life is not None:
            life.load(peer, load)

    def is_beat(self, message: Message) -> bool:
        return isinstance(message, Heartbeat)

    def size_bytes(self, message: Message) -> int:
        if isinstance(message, SummaryMessage):
            rows = message.summary.rows
            return MESSAGE_BYTES + (0 if rows is None else self._merger.size_bytes(rows))
        if isinstance(message, AckMessage):
            return MESSAGE_BYTES + 20 * sum(len(leaf.panes) for leaf in message.ack.leaves)
        if isinstance(message, StatesMessage):
            return MESSAGE_BYTES * len(message.states)
        return MESSAGE_BYTES // 2

    def aged(self, message: Message, by_s: float) -> Message:
        """A lie that is older is one as well."""
        older = aged(message, by_s)
        if any(message is lie for lie in self.lies):
            self.lies.append(older)
        return older
