"""What a peer knows about commands: the live queries, and how far each installer has counted.

Installers number their commands, and each says in one signed word how far it has counted and which
of its queries are live (``Count``). A query at or below that number that is not named there has
been removed. So a removal leaves nothing behind that must be kept, and it can't be undone by a peer
that was away, however long. (Mortar, section 6.1, with its cache of removals replaced by counts.)

What a peer claims of another's commands is a hint to ask. Only three things change what is known
here, each by its signature: an install and settings for it (the operator's word), a count (the
installer's), and in a count the removal of somebody else's query (an operator's word again)::

    is live       its install is here; its installer's count is below it, or names it; nobody's
                  count has ended it
    is missing    its installer's count names it and its install is not here: it is asked for
    has settings  the highest number of which an operator's word is here; a count that names a
                  higher one says that they lack
    is removed    once installed, and no more

Logs converge in any order, whatever was exchanged before: of two counts of an installer the later
one holds, and everything else follows from the counts and the installs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from enum import Enum

import msgspec

from headwater.plan.altered.settings import SETTINGS_KEPT_MAX
from headwater.plan.command import Alter, Command, Count, Install, Remove
from headwater.plan.query import Query, QueryId


class Verdict(Enum):
    ACCEPTED = "accepted"
    KNOWN = "known"
    """Nothing new: installed already, or removed since."""
    REPLANNED = "replanned"
    """A query that is live, on new trees."""


class CommandLog:
    def __init__(self) -> None:
        self.live: dict[str, Install] = {}
        self.counts: dict[str, Count] = {}
        self._ended: set[str] = set()
        """Ids that some count has ended."""
        self._outnamed: dict[str, str] = {}
        """Ids whose name another query has won, as long as that is live and the installer of the
        loser has not said that it is over: it may not have heard of the winner yet."""
        self._digest: int | None = None

    def restore(self, installs: Iterable[Install], counts: Iterable[Count]) -> None:
        self.live = {str(install.query.id): install for install in installs}
        self.counts = {count.installer: count for count in counts}
        self._changed()

    @property
    def digest(self) -> int:
        """64 bits that are equal where live queries and counts are."""
        if self._digest is None:
            counts = sorted((name, count.order) for name, count in self.counts.items())
            known: tuple[object, ...] = (counts, sorted(self.live), sorted(self.plans()))
            altered = sorted(one.alters[-1].order for one in self.live.values() if one.alters)
            state = repr((*known, altered) if altered else known)
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

    def number_of(self, installer: str) -> int:
        """How far it has counted."""
        count = self.counts.get(installer)
        return 0 if count is None else count.number

    def is_counted(self, query_id: QueryId) -> bool:
        """Whether its installer says that it is live."""
        count = self.counts.get(query_id.installer)
        return count is not None and str(query_id) in count.live

    def is_removed(self, id_text: str) -> bool:
        """True of an id that was installed once and is no more."""
        if id_text in self.live:
            return False
        try:
            query_id = QueryId.parse(id_text)
        except ValueError:
            return False
        return self._is_over(query_id, id_text)

    def _is_over(self, query_id: QueryId, id_text: str) -> bool:
        if id_text in self._ended or self._outnamed.get(id_text) in self.live:
            return True
        count = self.counts.get(query_id.installer)
        return count is not None and query_id.counter <= count.number and id_text not in count.live

    # What changes it

    def take(self, install: Install) -> Verdict:
        """An install by itself, whose words have been looked at."""
        id_text = str(install.query.id)
        known = self.live.get(id_text)
        if known is not None:
            if known.plan_version >= install.plan_version or known.query != install.query:
                return Verdict.KNOWN  # another question under its name is no plan of it
            self.live[id_text] = msgspec.structs.replace(install, alters=known.alters)
            self._digest = None
            return Verdict.REPLANNED
        if self._is_over(install.query.id, id_text):
            return Verdict.KNOWN
        self.live[id_text] = install
        self._digest = None
        return Verdict.ACCEPTED

    def alter(self, install: Install, alters: tuple[Alter, ...]) -> bool:
        """These are the settings of a live query, by number; False: they were before."""
        kept = alters[-SETTINGS_KEPT_MAX:]
        if kept == install.alters:
            return False
        self.live[str(install.query.id)] = msgspec.structs.replace(install, alters=kept)
        self._digest = None
        return True

    def is_newer(self, count: Count) -> bool:
        known = self.counts.get(count.installer)
        return known is None or count.order > known.order

    def adopt(self, count: Count) -> list[QueryId]:
        """An installer's later word; what it has removed here."""
        self.counts[count.installer] = count
        self._changed()
        over = [
            install.query.id
            for id_text, install in self.live.items()
            if self._is_over(install.query.id, id_text)
        ]
        for query_id in over:
            del self.live[str(query_id)]
        return over

    def resolve_names(self) -> list[tuple[QueryId, QueryId]]:
        """Of two live queries with one name that of the higher unit wins: (loser, winner).

        Every peer that knows both decides the same. A part has two names, its own and its stream's,
        so that a stream that is installed anew with fewer roots leaves no part behind. Units are
        compared, not numbers: all parts of one win or lose, whichever a peer heard of.
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
            if winners:
                lost.append((query.id, winners[0]))
        for loser, winner in lost:
            del self.live[str(loser)]
            self._outnamed[str(loser)] = str(winner)
            self._digest = None
        return lost

    # An installer's own count

    def counted(self, command: Command) -> Count:
        """The count of its installer with this command, which is the next one."""
        installer, number = number_of(command)
        former = self.counts.get(installer) or Count(installer=installer, number=0, revision=0)
        live, ended, altered = set(former.live), former.ended, dict(former.altered)
        if isinstance(command, Install):
            live.add(str(command.query.id))
        elif isinstance(command, Alter):
            altered[str(command.id)] = command.number
        elif command.id.installer == installer:
            live.discard(str(command.id))
        else:
            ended = (*ended, command)
        return msgspec.structs.replace(
            former,
            number=number,
            revision=former.revision + 1,
            live=tuple(sorted(live)),
            ended=ended,
            altered=tuple(sorted(altered.items())),
            proof=None,
        )

    def recounted(self, installer: str) -> Count | None:
        """The count of this installer by what is known now; None: it says that already.

        What somebody else has ended, or what has lost its name, is no more in it; and what it has
        ended itself is left out when the other installer says it, too.
        """
        count = self.counts.get(installer)
        if count is None:
            return None
        live = tuple(
            one
            for one in count.live
            if one not in self._ended
            and self._outnamed.get(one) not in self.live
            and not self._is_replaced(one)
        )
        ended = tuple(one for one in count.ended if not self._is_said(one.id))
        altered = tuple(one for one in count.altered if not self.is_removed(one[0]))
        if (live, ended, altered) == (count.live, count.ended, count.altered):
            return None
        return msgspec.structs.replace(
            count, revision=count.revision + 1, live=live, ended=ended, altered=altered, proof=None
        )

    def without(self, installer: str, ended: Collection[str]) -> Count | None:
        """The count of this installer when these of its questions are over; None: it names none of
        them. A question ends by itself, so its installer's word is enough."""
        count = self.counts.get(installer)
        over = [one for one in ended if one in self.live and self.live[one].query.asked is not None]
        if count is None or not set(over) & set(count.live):
            return None
        live = tuple(one for one in count.live if one not in over)
        return msgspec.structs.replace(count, revision=count.revision + 1, live=live, proof=None)

    def _is_said(self, query_id: QueryId) -> bool:
        count = self.counts.get(query_id.installer)
        return (
            count is not None
            and query_id.counter <= count.number
            and str(query_id) not in count.live
        )

    # What two peers have to tell each other

    def missing_from(self, live: Iterable[str]) -> list[str]:
        """Of these ids, and of those that counts name, the ones whose installs, or whose newest
        settings, are not here."""
        named = [one for count in self.counts.values() for one in count.live]
        wanted = dict.fromkeys((*live, *named))
        missing = [
            one
            for one in wanted
            if one not in self.live
            and not self._is_over(QueryId.parse(one), one)
            and not self._is_replaced(one)
        ]
        return missing + self._unsettled()

    def _unsettled(self) -> list[str]:
        """Live queries of which some installer has said that it commanded later settings."""
        found = dict[str, None]()
        for count in self.counts.values():
            for id_text, number in count.altered:
                install = self.live.get(id_text)
                if install is not None and not _has_settings(install, number, count.installer):
                    found[id_text] = None
        return list(found)

    def outdated_by(self, plans: Mapping[str, int]) -> list[str]:
        """The live queries of which there is a newer plan than ours."""
        return [
            id_text
            for id_text, version in plans.items()
            if id_text in self.live and self.live[id_text].plan_version < version
        ]

    def is_ahead_of(
        self, counts: Iterable[Count], live: Iterable[str], plans: Mapping[str, int]
    ) -> bool:
        """True where the other log has something to learn from this one."""
        theirs = {count.installer: count.order for count in counts}
        known = set(live)
        return (
            any(version > plans.get(id_text, 0) for id_text, version in self.plans())
            or any(
                name not in theirs or count.order > theirs[name]
                for name, count in self.counts.items()
            )
            or any(id_text not in known for id_text in self.live)
        )

    def _changed(self) -> None:
        self._digest = None
        self._ended = {str(one.id) for count in self.counts.values() for one in count.ended}
        self._outnamed = {
            loser: winner
            for loser, winner in self._outnamed.items()
            if winner in self.live and not self._is_said(QueryId.parse(loser))
        }

    def _is_replaced(self, id_text: str) -> bool:
        """Whether its own installer has given its name to a later query, and it is gone here. A
        peer that is started anew knows no more by whom names were won."""
        if id_text in self.live:
            return False
        old = QueryId.parse(id_text)
        return any(
            old.installer == install.query.id.installer
            and old.counter < install.query.id.counter
            and old.name in _names(install.query)
            for install in self.live.values()
        )


def commanded(counts: Iterable[Count], installs: Mapping[str, Install]) -> dict[str, int]:
    """By installer: the number up to which all its commands are known, where these are here. What
    has lost its name to one of these is not awaited, whether or not its installer has said so."""
    found, winners = {}, None
    for count in counts:
        missing = [QueryId.parse(one) for one in count.live if one not in installs]
        if missing and winners is None:  # asked at every drive, and nearly never wanted
            winners = _by_name(installs)
        awaited = [one.counter - 1 for one in missing if not _has_lost(one, winners or {})]
        found[count.installer] = min([count.number, *awaited])
    return found


def _by_name(installs: Mapping[str, Install]) -> dict[str, list[QueryId]]:
    found: dict[str, list[QueryId]] = {}
    for install in installs.values():
        for name in _names(install.query):
            found.setdefault(name, []).append(install.query.id)
    return found


def _has_lost(query_id: QueryId, winners: Mapping[str, list[QueryId]]) -> bool:
    """Of two of one installer the later one has the name; of others it can't be told from here."""
    return any(
        other.installer != query_id.installer or other.counter > query_id.counter
        for other in winners.get(query_id.name, ())
    )


def number_of(command: Command) -> tuple[str, int]:
    """(installer, its number) of a command."""
    if isinstance(command, Remove | Alter):
        return command.installer, command.counter
    return command.query.id.installer, command.query.id.counter


def _has_settings(install: Install, number: int, installer: str) -> bool:
    """These, or such as hold in their place."""
    if not install.alters:
        return False
    newest = install.alters[-1]
    return (newest.number, newest.installer) >= (number, installer)


def _names(query: Query) -> tuple[str, ...]:
    level = query.stands_for
    if level is not None:  # it stands and falls with the stream that it is a level of
        return (query.id.name, level.stream)
    return (query.id.name,) if query.part is None else (query.id.name, query.stream)
