"""Which operators may do what here: install, remove, read; for which streams and sources.

A certificate's role is the widest that its holder may do anywhere: a viewer reads. A site's own
configuration narrows it by name. Where it names nobody, every operator may do everything, as suits
a federation of one; where it names anybody, whoever is not named may do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from headwater.net.identity.identity import PEOPLE, Identity, Role
from headwater.plan.query import Query, QueryId
from headwater.plan.questions.viewer import viewer_of


class Right(StrEnum):
    INSTALL = "install"
    REMOVE = "remove"
    READ = "read"
    ASK = "ask"
    """About the past, of a stream's panes or of logs: a question ends by itself."""


class OperatorRights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the operators and viewers of a name may do at this site. ``*`` in names, streams and
    sources stands for anything."""

    name: str
    """As in the certificate."""
    may: tuple[Right, ...] = tuple(Right)
    """``install``, ``remove``, ``read``, ``ask``."""
    streams: tuple[str, ...] = ("*",)
    """Names of streams."""
    sources: tuple[str, ...] = ("*",)
    """Paths of sources, as they stand in CREATE SOURCE: a name is whatever the operator likes."""
    viewers_ask: bool = False
    """Of what is granted here, whether viewers of the name may ask, too, and not only read."""

    @property
    def lets_viewers_ask(self) -> bool:
        return self.viewers_ask and Right.ASK in self.may

    def grants(self, asked: Asked, role: Role = Role.OPERATOR) -> bool:
        if role is Role.VIEWER and asked.right is Right.ASK and not self.viewers_ask:
            return False
        return (
            asked.right in self.may
            and _is_among(asked.stream, self.streams)
            and _is_among(asked.source, self.sources)
        )


class Asked(msgspec.Struct, frozen=True):
    """One thing that somebody wants to do. None: to whichever there are, so that only those may do
    it who may do it to all."""

    right: Right
    stream: str | None = None
    source: str | None = None


def stream_of(query: Query) -> str | None:
    """What it is called where streams are named: a question counts as the stream whose panes it
    reads. None: one that reads logs, which is of no stream."""
    if query.asked is None:
        return query.stream
    return QueryId.parse(query.asked.stream).name if query.asked.stream else None


def signer_of(federation: str, signer: str) -> Identity:
    """Whom a command names: an operator, or a viewer."""
    viewer = viewer_of(signer)
    if viewer is None:
        return Identity(federation, Role.OPERATOR, signer)
    return Identity(federation, Role.VIEWER, viewer)


class Rights:
    def __init__(self, granted: Sequence[OperatorRights] = (), *, site: str = "") -> None:
        """``site`` is whose policy it is: a refusal travels, and is read elsewhere."""
        self._granted = tuple(granted)
        self._policy = f"the [policy] of {site}" if site else "this site's [policy]"

    def objection(self, who: Identity, asked: Asked) -> str | None:
        """Why it may not be done, as a sentence; None: it may."""
        asks, changes = asked.right is Right.ASK, asked.right is not Right.READ
        objection = self.objection_to(who, changes=changes, asks=asks)
        if objection is not None:
            return objection
        if not self._granted or any(one.grants(asked, who.role) for one in self._granted_to(who)):
            return None
        return f"{self._policy} does not let {who.name} {_text(asked)}"

    def objection_to(self, who: Identity, *, changes: bool, asks: bool = False) -> str | None:
        """Whatever it is about: why this one may not change, or not even ask. ``asks``: what it
        changes may be no more than a question."""
        if who.role not in PEOPLE:
            return f"{who.uri}: a {who.role} asks for nothing here"
        may_ask = asks and any(one.lets_viewers_ask for one in self._granted_to(who))
        if who.role is Role.VIEWER and changes and not may_ask:
            if asks:
                return (
                    f"{who.name} is a viewer, who asks about the past where {self._policy} says "
                    "so: wanted viewers_ask = true there, or an operator's certificate, got neither"
                )
            return f"{who.name} is a viewer, who changes nothing; wanted an operator's certificate"
        if self._granted and not self._granted_to(who):
            return f"{self._policy} names operators, and {who.name} is not among them"
        return None

    def _granted_to(self, who: Identity) -> list[OperatorRights]:
        return [one for one in self._granted if fnmatchcase(who.name, one.name)]


def _is_among(name: str | None, globs: tuple[str, ...]) -> bool:
    if name is None:
        return "*" in globs
    return any(fnmatchcase(name, glob) for glob in globs)


def _text(asked: Asked) -> str:
    stream = "all streams" if asked.stream is None else f"stream {asked.stream[:80]!r}"
    source = f" of source path {asked.source[:80]!r}" if asked.source is not None else ""
    return f"{asked.right} {stream}{source}"
