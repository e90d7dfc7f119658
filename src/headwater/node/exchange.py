"""What the machines of a node say to each other, handed over; all else becomes an effect, in the
order in which it was said."""

from __future__ import annotations

from headwater.algebra.summary import Rows, Summary
from headwater.algebra.words.pause import PauseHeard
from headwater.edge import outputs as edge_out
from headwater.edge.edge import Edge
from headwater.node.duties import Duties
from headwater.node.effects import Effect, LiveAnew, LoadAndSend
from headwater.overlay import outputs as peer_out
from headwater.overlay.peer import Peer
from headwater.plan.command import Install, Remove
from headwater.root import outputs as root_out

ROUNDS_MAX = 1_000
"""How often machines may answer each other within one call; more is a mistake of ours."""


class Exchange:
    """Between a peer, an edge, and a root for each query that is answered here."""

    def __init__(
        self,
        peer: Peer,
        edge: Edge,
        duties: Duties,
        effects: list[Effect],
        *,
        roster_version: int,
        incarnation: int,
    ) -> None:
        self._peer = peer
        self._edge = edge
        self._duties = duties
        self._effects = effects
        self._roster_version = roster_version
        self.incarnation = incarnation
        """Also that which was asked for: a number that is above is asked for once."""
        self.loading_bytes = 0
        """Of rows that are being loaded to be sent."""
        self.passed_s = 0.0
        """When something was last passed on."""
        self._peer_is_told = False

    def pass_on(self, now_s: float) -> None:
        """Hand over what machines say to each other until none has more to say.

        The peer speaks first, so a further round is needed only where the others answered it.
        """
        self.passed_s = now_s
        for _ in range(ROUNDS_MAX):
            self._peer_is_told = False
            for one in self._peer.take():
                self._from_peer(one, now_s=now_s)
            for output in self._edge.take():
                self._from_edge(output, now_s=now_s)
            for root in list(self._duties.roots.values()):
                for word in root.take():
                    self._from_root(word, now_s=now_s)
            if not self._peer_is_told:
                return
        raise AssertionError(f"machines still talk after {ROUNDS_MAX} rounds")

    def _from_peer(self, output: peer_out.Output, *, now_s: float) -> None:
        match output:
            case peer_out.Transmit():  # nearly all there is, so it is asked for first
                self._effects.append(output)
            case peer_out.Delivered(summary, _):
                root = self._duties.roots.get(summary.query)
                if root is not None:
                    root.receive(summary, now_s=now_s)
            case peer_out.StatesDelivered(states):
                for state in states:
                    root = self._duties.roots.get(state.query)
                    if root is not None:
                        root.receive_states((state,), now_s=now_s)
            case peer_out.AbsenceDelivered(absence):
                for root in self._duties.roots.values():
                    root.receive_absence(absence, now_s=now_s)
            case peer_out.AckDelivered(ack):
                self._edge.receive_ack(ack, now_s=now_s)
            case PauseHeard():
                self._edge.hear_pause(output, now_s=now_s)
            case peer_out.CommandAccepted(command, _):
                self._effects.append(output)
                if isinstance(command, Install):
                    self._duties.install(command, now_s=now_s)
                elif isinstance(command, Remove):
                    self._duties.remove(str(command.id))
            case _:
                self._effects.append(output)

    def _from_edge(self, output: edge_out.Output, *, now_s: float) -> None:
        match output:
            case edge_out.Send():
                if output.updates:
                    self.loading_bytes += output.row_bytes
                    self._effects.append(output)
                else:
                    self.originate(output, None, now_s=now_s)
            case edge_out.Report(states):
                self._peer_is_told = True
                self._peer.report(states, now_s=now_s)
            case edge_out.Outlived(incarnation):
                if incarnation > self.incarnation:
                    self.incarnation = incarnation
                    self._effects.append(LiveAnew(incarnation))
            case _:
                self._effects.append(output)

    def _from_root(self, output: root_out.Output, *, now_s: float) -> None:
        match output:
            case root_out.Acknowledge(ack):
                self._peer_is_told = True
                self._peer.acknowledge(ack, now_s=now_s)
            case root_out.Outdated(incarnation):
                self._duties.outdated(incarnation)
            case root_out.Overdone(query_id, message):
                self._duties.suspend_answers(query_id, message)
            case _:
                self._effects.append(output)

    def originate(self, send: LoadAndSend, rows: Rows, *, now_s: float) -> None:
        install = self._peer.live_queries().get(send.query)
        if install is not None:
            summary = Summary(
                query=send.query,
                pane=send.pane,
                coverage=send.coverage,
                rows=rows,
                lane=send.lane,
                roster_version=self._roster_version,
                plan_version=install.plan_version,
                more=send.more,
            )
            self._peer_is_told = True
            self._peer.originate(summary, now_s=now_s)

    def room_bytes(self, query_id: str) -> int:
        """What is being loaded will need room too."""
        return self._peer.room_bytes(query_id) - self.loading_bytes
