"""The simulated WHERE: every query sees its own share of the records."""

from __future__ import annotations

from headwater.plan.query import Query


def admits(query: Query, number: int) -> bool:
    """The divisor stands where an agent would have the site part of the plan."""
    return number % 7 < int(query.site_sql)
