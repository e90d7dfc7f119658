"""Whether a site runs a query that came over the wire: its own word, whoever asks.

The site parses the SQL itself and admits only what its list allows, and reads only under
directories that its own configuration opens. A refusal is a decline with a reason, which the root
puts into the envelope.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePath

import msgspec

from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.errors import ConfigurationError, HeadwaterError, QueryRefused
from headwater.frontend.admit import Policy, check_query
from headwater.plan.query import Query, Source

CHECKED_MAX = 256
"""Queries whose check is remembered."""


def admit_with(policy: PolicyConfig, sources: SourcesConfig) -> Callable[[Query], str | None]:
    """A function that gives the reason to refuse a query, or None."""
    wanted = Policy(installers=policy.installers, denied_columns=policy.denied_columns)

    def admit(query: Query) -> str | None:
        problem = _problem_with(msgspec.msgpack.encode(query), wanted)
        if problem is not None:
            return problem
        try:
            source_directory(query.source, sources)
        except HeadwaterError as error:
            return str(error)
        return None

    return admit


@lru_cache(maxsize=CHECKED_MAX)
def _problem_with(encoded: bytes, policy: Policy) -> str | None:
    """Why a query, as it travels, is refused. It is a matter of these bytes and of nothing else, so
    the sites of one process, which may be a thousand, parse a text once between them."""
    try:
        check_query(msgspec.msgpack.decode(encoded, type=Query), policy)
    except HeadwaterError as error:
        return str(error)
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
