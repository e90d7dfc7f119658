"""Whether an agent runs a query that came over the wire: its own word, whoever asks.

Site, relay and root parse the SQL themselves and admit only what one list allows, from the
installers of the agent's policy. Files and columns are a matter of who reads: a site reads declared
sources as it declares them, and else only under directories that its own configuration opens. A
site's refusal is a decline with a reason, which the root puts into the envelope; a relay passes on
unmerged what it refuses; a root answers nothing, and says so.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.control.rights import Asked, Right, Rights, signer_of, stream_of
from headwater.agent.input.site_sources import SiteSources
from headwater.errors import HeadwaterError
from headwater.plan.duty import Admit, Duty
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.admit.declared_source import DeclaredSource

CHECKED_MAX = 256
"""Queries whose check is remembered."""


def admit_with(policy: PolicyConfig, sources: SourcesConfig, *, site: str = "") -> Admit:
    """A function that gives the reason to refuse a query, or None. What an operator may install is
    asked where its records are and where it is answered, whichever agent took the command."""
    rights = Rights(policy.operators, site=site)
    site_sources = SiteSources(sources)

    def admit(query: Query, duty: Duty, operator: str) -> str | None:
        who = signer_of("", operator)
        right = Right.INSTALL if query.asked is None else Right.ASK
        asked = Asked(right, stream_of(query), query.program.source.path)
        objection = None if duty is Duty.CARRY else rights.objection(who, asked)
        if objection is not None:
            return objection
        declared: tuple[DeclaredSource, ...] = ()
        if duty is Duty.READ:
            try:
                declared = _declared(query.program.source, site_sources)
            except HeadwaterError as error:
                return str(error)
        wanted = Policy(installers=policy.installers, declared=declared)
        return _problem_with(msgspec.msgpack.encode(query), wanted)

    return admit


def _declared(source: Source, sources: SiteSources) -> tuple[DeclaredSource, ...]:
    """What the site declares of the source's files. Raises where it may not read there at all."""
    sources.place(source)
    declared = sources.declared(source)
    return () if declared is None else (declared,)


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
