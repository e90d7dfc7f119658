"""Two neighbours find out that they know different commands, and soon know the same.

Commands are flooded over the federation's tree, which is fast and loses some. Heartbeats carry a
digest of the command log; where two differ, each side sends what it knows (live ids and vector),
asks for the installs it lacks, and joins the other's log when it has them::

    A                                B
    │ ◄──────── heartbeat, digest ── │   the digests differ
    │ ── CommandsKnown ────────────► │
    │ ◄──────────── CommandsKnown ── │   B is ahead: it has q@B#4
    │ ── AskInstall q@B#4 ─────────► │
    │ ◄─ CommandMessage(Install) ─── │   A has all that B's log names, and joins

Nothing is retried here: as long as the digests differ the next heartbeat starts again, at most
every ``reconcile_every_s`` with each neighbour.
"""

from __future__ import annotations

import msgspec

from headwater.overlay.command_log import CommandLog
from headwater.overlay.messages import AskInstall, CommandMessage, CommandsKnown
from headwater.overlay.outputs import CONTROL, Transmit
from headwater.plan.command import Install
from headwater.plan.query import QueryId

ASK_IDS_MAX = 64
"""Installs asked for at a time; the rest is asked for when the next comparison still lacks it."""
ASKED_MAX = 10_000
"""Remembered askings, so that a stream of summaries of an unknown query asks once in a while."""


class _Offer:
    """What a neighbour knows, kept until the installs it names are here."""

    def __init__(self, known: CommandsKnown, missing: list[str]) -> None:
        self.known = known
        self.missing = set(missing)


class Reconciliation:
    __slots__ = (
        "_accepted_s", "_asked_s", "_changed_s", "_differed", "_digest", "_every_s", "_log",
        "_offers", "_told_s",
    )  # fmt: skip

    def __init__(self, log: CommandLog, *, every_s: float) -> None:
        self._log = log
        self._every_s = every_s
        self._differed: set[str] = set()
        self._offers: dict[str, _Offer] = {}
        self._told_s: dict[str, float] = {}
        self._asked_s: dict[tuple[str, str], float] = {}
        self._accepted_s: dict[str, float] = {}
        self._digest = 0
        self._changed_s = float("-inf")

    def compare(self, site: str, digest: int, *, is_first: bool, now_s: float) -> list[Transmit]:
        """A heartbeat came with this digest.

        While commands are spreading, a command and a heartbeat may have crossed on the way; so
        after a change here a difference must be seen twice. Else it counts at once.
        """
        own = self._log.digest
        if own != self._digest:
            self._digest, self._changed_s = own, now_s
        if digest == own:
            self._differed.discard(site)
            return []
        is_settled = now_s - self._changed_s > self._every_s
        if is_first or is_settled or site in self._differed:
            return self.tell(site, now_s=now_s)
        self._differed.add(site)
        return []

    def tell(self, site: str, *, now_s: float) -> list[Transmit]:
        """Say what is known here, unless that was done a moment ago."""
        told_s = self._told_s.get(site)
        if told_s is not None and 0.0 <= now_s - told_s < self._every_s:
            return []
        self._told_s[site] = now_s
        live = tuple(sorted(self._log.live))
        known = CommandsKnown(dict(self._log.vector), live, dict(self._log.plans()))
        return [Transmit(site, known, CONTROL)]

    def receive(
        self, site: str, known: CommandsKnown, *, now_s: float
    ) -> tuple[list[Transmit], list[QueryId]]:
        """(what to send, what was removed by joining)."""
        missing = self._log.missing_from(known.live)
        self._offers[site] = _Offer(known, missing)
        replies = []
        wanted = missing + self._log.outdated_by(known.plans)
        if wanted:
            replies.append(Transmit(site, AskInstall(tuple(wanted[:ASK_IDS_MAX])), CONTROL))
        removed = self._join_complete()
        if self._log.is_ahead_of(known.vector, known.live, known.plans):
            replies += self.tell(site, now_s=now_s)
        return replies, removed

    def installed(self, query_id: str, *, now_s: float) -> list[QueryId]:
        """An install was accepted; what is removed by the joins that waited for it."""
        self._accepted_s[query_id] = now_s
        return self._join_complete()

    def forget(self, query_id: str) -> None:
        self._accepted_s.pop(query_id, None)

    def link_down(self, site: str) -> None:
        """A half-finished comparison is begun anew on the next link."""
        self._differed.discard(site)
        self._offers.pop(site, None)
        self._told_s.pop(site, None)

    def ask(self, site: str, query_id: str, *, now_s: float) -> list[Transmit]:
        """A summary of a query that is unknown here came from this site."""
        asked_s = self._asked_s.get((site, query_id))
        if asked_s is not None and 0.0 <= now_s - asked_s < self._every_s:
            return []
        if len(self._asked_s) >= ASKED_MAX:
            self._asked_s.clear()
        self._asked_s[site, query_id] = now_s
        return [Transmit(site, AskInstall((query_id,)), CONTROL)]

    def answer(self, site: str, ask: AskInstall, *, now_s: float) -> list[Transmit]:
        """The installs that are live here; of others the asker learns by comparing."""
        live = self._log.live
        found = [live[query_id] for query_id in ask.ids[:ASK_IDS_MAX] if query_id in live]
        return [
            Transmit(site, CommandMessage(self.with_age(install, now_s=now_s)), CONTROL)
            for install in found
        ]

    def with_age(self, install: Install, *, now_s: float) -> Install:
        """As old as it is now. How long a restored one lay on disk nobody knows, so what it says of
        the root's clock is left out: with too small an age it would be believed and be wrong."""
        accepted_s = self._accepted_s.get(str(install.query.id))
        if accepted_s is None:
            return msgspec.structs.replace(install, root_clock_s=None)
        held_s = max(0.0, now_s - accepted_s)
        return msgspec.structs.replace(install, age_s=install.age_s + held_s)

    def _join_complete(self) -> list[QueryId]:
        """Join every offer whose installs are all here, or are known to be removed."""
        removed: list[QueryId] = []
        for site, offer in list(self._offers.items()):
            offer.missing = set(self._log.missing_from(offer.missing))
            if not offer.missing:
                del self._offers[site]
                removed += self._log.join(offer.known.vector, offer.known.live)
        return removed
