"""What a peer knows about commands: the live queries, and how far it has heard each installer.

Installers number their commands. The log is a pair: ``vector``, "of installer X I know every
command up to n", and ``live``, the queries that are installed. A query at or below the vector and
not live has been removed. So a removal leaves nothing behind that must be kept, and it can't be
undone by a peer that was away, however long: when the two compare, the vector says which of them
is behind. (Mortar, section 6.1, with its cache of removals replaced by the vector.)

Two logs are joined without conflict, in any order and any number of times::

    stays live    live in both; or live in one and above the other's vector (news to the other)
    is removed    live in one, and the other knows its number but does not have it live
    vector        the larger number for each installer

The join of A with B needs the installs of what is news to A; until A has them it must not take
over B's vector, or it would declare them removed. ``missing_from`` says which those are, ``join``
does the rest at once.

A command that arrives by itself moves the vector only if it is the next one of its installer. An
install may be taken early all the same (it is then live above the vector, which the rules above
allow); a removal may not, because forgetting a query above the vector would be forgetting the
removal. An installer knows its own commands, so its own numbers may have gaps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import Enum

from headwater.plan.command import Command, Install, Remove
from headwater.plan.query import Query, QueryId


class Verdict(Enum):
    ACCEPTED = "accepted"
    KNOWN = "known"
    """Nothing new: installed already, or removed since."""
    REPLANNED = "replanned"
    """A query that is live, on new trees."""
    BEHIND = "behind"
    """It can't be taken before other commands are known: reconcile with the sender."""


class CommandLog:
    __slots__ = ("_digest", "live", "vector")

    def __init__(self) -> None:
        self.live: dict[str, Install] = {}
        self.vector: dict[str, int] = {}
        self._digest: int | None = None

    def restore(self, installs: Iterable[Install], vector: Mapping[str, int]) -> None:
        self.live = {str(install.query.id): install for install in installs}
        self.vector = dict(vector)
        self._digest = None

    @property
    def digest(self) -> int:
        """64 bits that are equal where live queries and vectors are."""
        if self._digest is None:
            state = repr((sorted(self.vector.items()), sorted(self.live), sorted(self.plans())))
            digest = hashlib.blake2b(state.encode(), digest_size=8).digest()
            self._digest = int.from_bytes(digest, "little")
        return self._digest

    def plans(self) -> list[tuple[str, int]]:
        """The plan versions of live queries, where they are not the first."""
        return [
            (id_text, install.plan_version)
            for id_text, install in self.live.items()
            if install.plan_version
        ]

    def knows(self, installer: str, counter: int) -> bool:
        return counter <= self.vector.get(installer, 0)

    def is_removed(self, id_text: str) -> bool:
        """True of an id that was installed once and is no more."""
        if id_text in self.live:
            return False
        try:
            query_id = QueryId.parse(id_text)
        except ValueError:
            return False
        return self.knows(query_id.installer, query_id.counter)

    def take(self, command: Command, *, is_own: bool = False) -> Verdict:
        """A command by itself: from the network, or (``is_own``) given at this peer."""
        installer, counter = number_of(command)
        if isinstance(command, Install) and self._is_newer_plan(command):
            self.live[str(command.query.id)] = command
            self._digest = None
            return Verdict.REPLANNED
        if self.knows(installer, counter):
            return Verdict.KNOWN
        is_next = is_own or counter == self.vector.get(installer, 0) + 1
        if isinstance(command, Install):
            return self._take_install(command, is_next=is_next)
        if not is_next or not self.knows(command.id.installer, command.id.counter):
            return Verdict.BEHIND
        self.live.pop(str(command.id), None)
        self._advance(installer, counter)
        return Verdict.ACCEPTED

    def _is_newer_plan(self, install: Install) -> bool:
        known = self.live.get(str(install.query.id))
        return known is not None and known.plan_version < install.plan_version

    def outdated_by(self, plans: Mapping[str, int]) -> list[str]:
        """The live queries of which there is a newer plan than ours."""
        return [
            id_text
            for id_text, version in plans.items()
            if id_text in self.live and self.live[id_text].plan_version < version
        ]

    def _take_install(self, install: Install, *, is_next: bool) -> Verdict:
        query_id = install.query.id
        if str(query_id) in self.live:
            return Verdict.KNOWN
        self.live[str(query_id)] = install
        if is_next:
            self._advance(query_id.installer, query_id.counter)
        self._digest = None
        return Verdict.ACCEPTED

    def missing_from(self, live: Iterable[str]) -> list[str]:
        """The ids whose installs are needed before a log with these live ids can be joined."""
        missing = []
        for id_text in live:
            query_id = QueryId.parse(id_text)
            if id_text not in self.live and not self.knows(query_id.installer, query_id.counter):
                missing.append(id_text)
        return missing

    def join(self, vector: Mapping[str, int], live: Iterable[str]) -> list[QueryId]:
        """Take over all that the other log knows; what is removed here by it comes back."""
        theirs = set(live)
        removed = [
            install.query.id
            for id_text, install in self.live.items()
            if id_text not in theirs
            and install.query.id.counter <= vector.get(install.query.id.installer, 0)
        ]
        for query_id in removed:
            del self.live[str(query_id)]
        for installer, counter in vector.items():
            if counter > self.vector.get(installer, 0):
                self._advance(installer, counter)
        self._digest = None
        return removed

    def is_ahead_of(
        self, vector: Mapping[str, int], live: Iterable[str], plans: Mapping[str, int]
    ) -> bool:
        """True where the other log has something to learn from this one."""
        theirs = set(live)
        return (
            any(version > plans.get(id_text, 0) for id_text, version in self.plans())
            or any(counter > vector.get(name, 0) for name, counter in self.vector.items())
            or any(self.is_removed(id_text) for id_text in theirs)
            or any(
                install.query.id.counter > vector.get(install.query.id.installer, 0)
                for id_text, install in self.live.items()
                if id_text not in theirs
            )
        )

    def resolve_names(self) -> list[tuple[QueryId, QueryId]]:
        """Of two live queries with one name that of the higher unit wins: (loser, winner).

        Every peer that knows both decides the same. A loser above the vector waits until the
        vector reaches it, for the reason that removals do. A part has two names, its own and its
        stream's, so that a stream that is installed anew with fewer roots leaves no part behind.
        Units are compared, not numbers: all parts of one win or lose, whichever a peer heard of.
        """
        best: dict[str, Query] = {}
        for install in self.live.values():
            for name in _names(install.query):
                known = best.get(name)
                if known is None or install.query.unit > known.unit:
                    best[name] = install.query
        lost = []
        for install in self.live.values():
            query = install.query
            winners = [best[name].id for name in _names(query) if best[name].unit != query.unit]
            if winners and self.knows(query.id.installer, query.id.counter):
                lost.append((query.id, winners[0]))
        for loser, _ in lost:
            del self.live[str(loser)]
            self._digest = None
        return lost

    def _advance(self, installer: str, counter: int) -> None:
        """Installs that were taken early and come next are covered too."""
        early = {
            install.query.id.counter
            for install in self.live.values()
            if install.query.id.installer == installer
        }
        while counter + 1 in early:
            counter += 1
        self.vector[installer] = counter
        self._digest = None


def number_of(command: Command) -> tuple[str, int]:
    """(installer, its number) of a command."""
    if isinstance(command, Remove):
        return command.installer, command.counter
    return command.query.id.installer, command.query.id.counter


def _names(query: Query) -> tuple[str, ...]:
    return (query.id.name,) if query.part is None else (query.id.name, query.stream)
