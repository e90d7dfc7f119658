"""Commands at a peer: given, flooded, received, reconciled; what they change is told outside.

A new command is laid down as ``CommandAccepted`` before it is flooded, and outputs are done in
order, so nobody learns from this peer what a crash could make it forget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from headwater.overlay.command_log import CommandLog, Verdict, number_of
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import AskInstall, CommandMessage, CommandsKnown
from headwater.overlay.neighbours import Neighbours
from headwater.overlay.outputs import CONTROL, CommandAccepted, VectorAdvanced
from headwater.overlay.reconciliation import Reconciliation
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.tray import Tray
from headwater.overlay.tree_place import TreePlace
from headwater.overlay.trust import problem_with_command, problem_with_known
from headwater.plan.command import Command, Install, Remove
from headwater.plan.query import QueryId


class Commands:
    __slots__ = (
        "_config", "_federation", "_neighbours", "_on_installed", "_on_removed", "_roster", "_site",
        "_tray", "_vector_told", "log", "reconciliation",
    )  # fmt: skip

    def __init__(
        self,
        site: str,
        *,
        roster: RosterIndex,
        config: OverlayConfig,
        federation: tuple[TreePlace | None, ...],
        neighbours: Neighbours,
        tray: Tray,
        on_installed: Callable[[Install], None],
        on_removed: Callable[[str], None],
    ) -> None:
        self.log = CommandLog()
        self.reconciliation = Reconciliation(self.log, every_s=config.reconcile_every_s)
        self._site = site
        self._roster = roster
        self._config = config
        self._federation = federation
        self._neighbours = neighbours
        self._tray = tray
        self._on_installed = on_installed
        self._on_removed = on_removed
        self._vector_told: dict[str, int] = {}

    def restore(self, installs: Iterable[Install], vector: Mapping[str, int]) -> None:
        """From disk, where these are durable already."""
        self.log.restore(installs, vector)
        self._vector_told = dict(vector)
        for install in self.log.live.values():
            self._on_installed(install)

    def give(self, command: Command, *, now_s: float) -> None:
        """A local operator gives a command of this site."""
        installer, counter = number_of(command)
        problem = problem_with_command(command, self._roster) or self._no_room_for(command)
        if installer != self._site:
            problem = f"command of {installer}: given at {self._site}"
        elif self.log.knows(installer, counter):
            problem = f"command {installer}#{counter}: the number has been used"
        if problem is not None:
            self._tray.note("refused", problem)
        elif self.log.take(command, is_own=True) is Verdict.ACCEPTED:
            self._accepted(command, sender=None, now_s=now_s)
        else:
            self._tray.note("refused", f"command {installer}#{counter}: its query is unknown here")

    def replan(self, install: Install, *, now_s: float) -> None:
        """The root of a live query gives it new trees. One peer alone does, so plans have an
        order without any number of the installer's. It is given now, by the root's own clock: what
        the first install said of that clock is as old as the query."""
        install = msgspec.structs.replace(install, age_s=0.0, root_clock_s=now_s)
        problem = problem_with_command(install, self._roster)
        if install.query.root != self._site:
            problem = f"plan of {install.query.id}: its root is {install.query.root}"
        if problem is not None:
            self._tray.note("refused", problem)
        elif self.log.take(install) is Verdict.REPLANNED:
            self._accepted(install, sender=None, now_s=now_s)
        else:
            self._tray.note("refused", f"plan of {install.query.id}: it is not newer")

    def receive(self, sender: str, command: Command, *, one_way_s: float, now_s: float) -> None:
        problem = problem_with_command(command, self._roster) or self._no_room_for(command)
        if problem is not None:
            self._tray.note("refused", f"{sender}: {problem}")
            return
        if isinstance(command, Install):
            command = msgspec.structs.replace(command, age_s=command.age_s + one_way_s)
        verdict = self.log.take(command)
        if verdict in (Verdict.ACCEPTED, Verdict.REPLANNED):
            self._accepted(command, sender=sender, now_s=now_s)
        if verdict is Verdict.BEHIND or not self.log.knows(*number_of(command)):
            self._tray.put(*self.reconciliation.tell(sender, now_s=now_s))

    def receive_known(self, sender: str, known: CommandsKnown, *, now_s: float) -> None:
        queries_max = self._config.queries_max
        problem = problem_with_known(known, self._roster, queries_max=queries_max)
        if problem is not None:
            self._tray.note("refused", f"{sender}: {problem}")
            return
        replies, removed = self.reconciliation.receive(sender, known, now_s=now_s)
        self._tray.put(*replies)
        self._settle(removed)

    def receive_ask(self, sender: str, ask: AskInstall, *, now_s: float) -> None:
        self._tray.put(*self.reconciliation.answer(sender, ask, now_s=now_s))

    def _no_room_for(self, command: Command) -> str | None:
        if isinstance(command, Install) and len(self.log.live) >= self._config.queries_max:
            return f"install of {command.query.id}: {self._config.queries_max} queries are live"
        return None

    def _accepted(self, command: Command, *, sender: str | None, now_s: float) -> None:
        """Durable first, then acted on, then told to the rest of the federation."""
        self._tell_accepted(command)
        removed: list[QueryId] = []
        if isinstance(command, Install):
            query_id = str(command.query.id)
            self._on_installed(command)
            removed = self.reconciliation.installed(query_id, now_s=now_s)
        else:
            self._forget(str(command.id))
        self._flood(command, sender=sender)
        self._settle(removed)

    def _flood(self, command: Command, *, sender: str | None) -> None:
        place = self._federation[0]
        if place is None:
            return
        nearby = place.children if place.parent is None else (place.parent, *place.children)
        for site in nearby:
            if site != sender and self._neighbours.is_up(site):
                self._tray.transmit(site, CommandMessage(command), CONTROL)

    def _settle(self, removed: list[QueryId]) -> None:
        """What joining another log has removed, names that are taken twice, and the vector."""
        for query_id in removed:
            self._tell_accepted(Remove(query_id, query_id.installer, query_id.counter))
            self._forget(str(query_id))
        for loser, winner in self.log.resolve_names():
            self._tell_accepted(Remove(loser, winner.installer, winner.counter))
            self._forget(str(loser))
            self._tray.note("name-lost", f"{loser} ends: {winner} has the same name and wins")
        if self.log.vector != self._vector_told:
            self._vector_told = dict(self.log.vector)
            self._tray.put(VectorAdvanced(dict(self.log.vector)))

    def _tell_accepted(self, command: Command) -> None:
        self._vector_told = dict(self.log.vector)
        self._tray.put(CommandAccepted(command, dict(self.log.vector)))

    def _forget(self, query_id: str) -> None:
        self.reconciliation.forget(query_id)
        self._on_removed(query_id)
