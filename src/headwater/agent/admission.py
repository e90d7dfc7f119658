"""Whether an agent runs a query that came over the wire: its own word, whoever asks.

Site, relay and root parse the SQL themselves and admit only what one list allows, from the
installers of the agent's policy. Columns and directories are a matter of who reads: a site reads
only under directories that its own configuration opens. A site's refusal is a decline with a
reason, which the root puts into the envelope; a relay passes on unmerged what it refuses; a root
answers nothing, and says so.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path, PurePath

import msgspec

from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.rights import Asked, Right, Rights
from headwater.errors import ConfigurationError, HeadwaterError, QueryRefused
from headwater.frontend.admit import Policy, check_query
from headwater.net.identity import Identity, Role
from headwater.plan.duty import Admit, Duty
from headwater.plan.query import Query, Source

CHECKED_MAX = 256
"""Queries whose check is remembered."""


def admit_with(policy: PolicyConfig, sources: SourcesConfig) -> Admit:
    """A function that gives the reason to refuse a query, or None. What an operator may install is
    asked where its records are and where it is answered, whichever agent took the command."""
    rights = Rights(policy.operators)
    of_all = Policy(installers=policy.installers)
    of_readers = Policy(installers=policy.installers, denied_columns=policy.denied_columns)

    def admit(query: Query, duty: Duty, operator: str) -> str | None:
        is_read = duty is Duty.READ
        wanted = of_readers if is_read else of_all
        who = Identity("", Role.OPERATOR, operator)
        asked = Asked(Right.INSTALL, query.stream, query.source.path)
        return (
            (None if duty is Duty.CARRY else rights.objection(who, asked))
            or _problem_with(msgspec.msgpack.encode(query), wanted)
            or (_problem_with_path(query.source, sources) if is_read else None)
        )

    return admit


def _problem_with_path(source: Source, sources: SourcesConfig) -> str | None:
    try:
        source_directory(source, sources)
    except HeadwaterError as error:
        return str(error)
    return None


@lru_cache(maxsize=CHECKED_MAX)
def _problem_with(encoded: bytes, policy: Policy) -> str | None:
    """Why a query, as it travels, is refused. It is a matter of these bytes and of nothing else, so
    the sites of one process, which may be a thousand, parse a text once between them. Whatever is
    raised is a reason to refuse: what can't be checked was not written by the compiler."""
    try:
        check_query(msgspec.msgpack.decode(encoded, type=Query), policy)
    except HeadwaterError as error:
        return str(error)
    except Exception as error:
        return f"it can't be checked: {type(error).__name__}: {str(error)[:200]}"
    return None


def source_directory(source: Source, sources: SourcesConfig) -> tuple[Path, str]:
    """(directory, glob below it) for a source at this site. Raises if it leads outside.

    A relative path lies below the data directory; an absolute one below an open directory.
    """
    path = PurePath(source.path)
    if ".." in path.parts:
        raise QueryRefused(f"source {source.name}: path {source.path!r} may not contain '..'")
    if not path.is_absolute():
        return Path(sources.data), source.path
    for directory in sources.open:
        if path.is_relative_to(directory):
            return Path(directory), str(path.relative_to(directory))
    opened = ", ".join(sources.open) or "none"
    raise ConfigurationError(
        f"source {source.name}: path {source.path!r} is not under a directory that this site "
        f"opens (open: {opened}); use a relative path, or add it to sources.open"
    )
