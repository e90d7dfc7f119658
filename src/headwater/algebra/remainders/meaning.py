"""What a bound on a column means: each aggregate says it of itself, once (``Aggregate.error``).

How far a column is off where sites keep something back depends on how its aggregate takes what is
missing, and on nothing else. So a function that users bring says which of these meanings it has,
and by what a site can see how much of it a row is worth; all else follows from that. One that says
nothing can't be bounded, and a query that asks for it is refused.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Meaning(StrEnum):
    """How a column is off."""

    ADDED = "added"
    """It lacks what is missing, and errors of sites and panes add up: counts and sums. A share, of
    its total or of each value, wants values that are never negative."""
    LARGEST = "largest"
    """It lacks as much as the worst of them: a maximum of values that are never negative. A number
    alone, since a maximum has no total, and is off by all of it where its group was not sent."""
    RECORDS = "records"
    """It is computed of a group's records, and how far it is off depends on how many of them are
    missing: averages and percentiles. The bound is that share of a group's records, and no other
    form has a meaning."""
    MEMBERS = "members"
    """It lacks members of a set, and sites may lack different ones, so that they add up: distinct
    counts. A number alone: shares of sites' own counts can add up to as many times the bound as
    there are sites."""


class ErrorOf(msgspec.Struct, frozen=True):
    """What an aggregate says of bounds on its columns."""

    meaning: Meaning
    measure: str = ""
    """SQL over records, as in ``Split``, of the count or sum that a bound goes by; it is one of the
    partials, or sites compute it beside them. Empty: the first partial; of a growing state that has
    none each row is one."""
