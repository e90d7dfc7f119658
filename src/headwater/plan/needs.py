"""What a plan needs of the agents that read, carry and answer it, by name.

A query names the merge rules, functions, types and kinds of grid that it uses and that agents of
0.3 did not know, as ``rule variance`` or ``function site``. An agent that does not know one of
them reads the rest all the same: its site declines (version), a relay forwards apart what it can't
merge, a root refuses, each with a sentence that says what to do. A word that nobody here knows is
never a fault of decoding, for then the whole message would be dropped in silence.
"""

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta

NEEDS_MAX = 1000
"""Looked at by whoever decodes a query."""
NEED_LENGTH_MAX = 200
SHOWN_MAX = 5
VERSION = "version: "
"""How a refusal begins that another version of this agent would not make."""

Needs = Annotated[
    tuple[Annotated[str, Meta(max_length=NEED_LENGTH_MAX)], ...], Meta(max_length=NEEDS_MAX)
]


def missing(needs: Collection[str], known: Collection[str], version: str) -> str | None:
    """The refusal of who does not know all of them.

    >>> missing(("rule sum", "rule braid"), {"rule sum"}, "0.4.0")
    'version: the query needs rule braid, which this agent (0.4.0) does not know; upgrade it'
    """
    unknown = [need for need in needs if need not in known]
    if not unknown:
        return None
    more = f" and {len(unknown) - SHOWN_MAX} more" if len(unknown) > SHOWN_MAX else ""
    return (
        f"{VERSION}the query needs {', '.join(unknown[:SHOWN_MAX])}{more}, which this agent "
        f"({version}) does not know; upgrade it"
    )
