"""Two neighbours find out that they know different commands, and soon know the same.

Commands are flooded over the federation's tree, which is fast and loses some. Heartbeats carry a
digest of the command log; where two differ, each side sends what it knows (the installers' counts
and live ids), takes over the other's later counts, and asks for the installs that it lacks::

    A                                B
    │ ◄──────── heartbeat, digest ── │   the digests differ
    │ ── CommandsKnown ────────────► │
    │ ◄──────────── CommandsKnown ── │   B is ahead: it has q@B#4, as B's own count says
    │ ── AskInstall q@B#4 ─────────► │
    │ ◄─ CommandMessage(Install) ─── │   A knows what B knows

Nothing is retried here: as long as the digests differ the next heartbeat starts again, at most
every ``reconcile_every_s`` with each neighbour.
"""

from __future__ import annotations

import msgspec

from headwater.overlay.commands.command_log import CommandLog
from headwater.overlay.messages import AlterMessage, AskInstall, CommandMessage, CommandsKnown
from headwater.overlay.outputs import CONTROL, Transmit
from headwater.overlay.tray import Tray
from headwater.plan.command import Install

ASK_IDS_MAX = 64
"""Installs asked for at a time; the rest is asked for when the next comparison still lacks it."""
ASKED_MAX = 10_000
"""Remembered askings, so that a stream of summaries of an unknown query asks once in a while."""


class Reconciliation:
    def __init__(self, log: CommandLog, tray: Tray, *, every_s: float) -> None:
        self._log = log
        self._tray = tray
        self._every_s = every_s
        self._differed: set[str] = set()
        self._told_s: dict[str, float] = {}
        self._asked_s: dict[tuple[str, str], float] = {}
        self._accepted_s: dict[str, float] = {}
        self._digest = 0
        self._changed_s = float("-inf")

    def compare(self, site: str, digest: int, *, is_first: bool, now_s: float) -> None:
        """A heartbeat came with this digest.

        While commands are spreading, a command and a heartbeat may have crossed on the way; so
        after a change here a difference must be seen twice. Else it counts at once.
        """
        own = self._log.digest
        if own != self._digest:
            self._digest, self._changed_s = own, now_s
        has_stood = now_s - self._changed_s > self._every_s
        if digest == own:
            self._differed.discard(site)
        elif is_first or has_stood or site in self._differed:
            self.tell(site, now_s=now_s)
        else:
            self._differed.add(site)

    def tell(self, site: str, *, now_s: float) -> None:
        """Say what is known here, unless that was done a moment ago."""
        told_s = self._told_s.get(site)
        if told_s is not None and 0.0 <= now_s - told_s < self._every_s:
            return
        self._told_s[site] = now_s
        live = tuple(sorted(self._log.live))
        counts = tuple(self._log.counts.values())
        known = CommandsKnown(counts=counts, live=live, plans=dict(self._log.plans()))
        self._tray.put(Transmit(site, known, CONTROL))

    def receive(self, site: str, known: CommandsKnown, *, now_s: float) -> None:
        """Its later counts have been taken over."""
        wanted = self._log.missing_from(known.live) + self._log.outdated_by(known.plans)
        if wanted:
            self._tray.put(Transmit(site, AskInstall(ids=tuple(wanted[:ASK_IDS_MAX])), CONTROL))
        if self._log.is_ahead_of(known.counts, known.live, known.plans):
            self.tell(site, now_s=now_s)

    def installed(self, query_id: str, *, now_s: float) -> None:
        """An install was accepted: from now on it grows older."""
        self._accepted_s[query_id] = now_s

    def forget(self, query_id: str) -> None:
        self._accepted_s.pop(query_id, None)

    def link_down(self, site: str) -> None:
        """A half-finished comparison is begun anew on the next link."""
        self._differed.discard(site)
        self._told_s.pop(site, None)

    def ask(self, site: str, query_id: str, *, now_s: float) -> None:
        """A summary of a query that is unknown here came from this site."""
        asked_s = self._asked_s.get((site, query_id))
        if asked_s is not None and 0.0 <= now_s - asked_s < self._every_s:
            return
        if len(self._asked_s) >= ASKED_MAX:
            self._asked_s.clear()
        self._asked_s[site, query_id] = now_s
        self._tray.put(Transmit(site, AskInstall(ids=(query_id,)), CONTROL))

    def answer(self, site: str, ask: AskInstall, *, now_s: float) -> None:
        """The installs that are live here, with their installers' counts, by which the asker knows
        that it has all of a unit; of others it learns by comparing. Behind each its settings."""
        for query_id in ask.ids[:ASK_IDS_MAX]:
            install = self._log.live.get(query_id)
            if install is not None:
                command = self.with_age(install, now_s=now_s)
                count = self._log.counts.get(install.query.id.installer)
                self._tray.put(
                    Transmit(site, CommandMessage(command=command, count=count), CONTROL)
                )
                for alter in install.alters:
                    of_alter = self._log.counts.get(alter.installer)
                    self._tray.put(Transmit(site, AlterMessage(alter, of_alter), CONTROL))

    def with_age(self, install: Install, *, now_s: float) -> Install:
        """As old as it is now. How long a restored one lay on disk nobody knows, so what it says of
        the root's clock is left out: with too small an age it would be believed and be wrong."""
        install = msgspec.structs.replace(install, alters=())
        accepted_s = self._accepted_s.get(str(install.query.id))
        if accepted_s is None:
            return msgspec.structs.replace(install, root_clock_s=None)
        held_s = max(0.0, now_s - accepted_s)
        return msgspec.structs.replace(install, age_s=install.age_s + held_s)
