"""A summary: the partial aggregates of one pane, with its age and coverage.

Rows are opaque here. In an agent they are an Arrow table with the schema of the query, in the
simulator a bag of numbered records; a ``Merger`` for the query knows how to combine them. So the
machines that move summaries about are the same in both, and a checker can look inside.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.route import START, Route

Rows = Any
"""What a ``Merger`` merges; never looked into by a machine."""


class Merger(Protocol):
    """How the rows of one query combine. Associative and commutative, with ``none`` neutral."""

    def none(self) -> Rows:
        """No rows at all."""

    def merge(self, parts: Sequence[Rows]) -> Rows:
        """The rows of disjoint summaries as those of one."""

    def size_bytes(self, rows: Rows) -> int:
        """About what these rows take in memory; for limits, not for accounting."""


class Lane(StrEnum):
    """In which order summaries travel, and whether they may be held and merged."""

    LIVE = "live"
    """Sent soon after its close: first on every link, merged by netDist's timing."""
    BACKLOG = "backlog"
    """A first send that is late: after live, merged with a short fixed hold."""
    SPARE = "spare"
    """A copy: one site, one pane; never merged, never held, parked at the root."""


class Summary(msgspec.Struct, frozen=True):
    """Rows of one pane and what they cover. ``rows`` is None when nobody in it has any."""

    query: str
    """The query id in its text form."""
    pane: int
    coverage: Coverage
    rows: Rows = None
    lane: Lane = Lane.LIVE
    age_s: float = 0.0
    """Since the first send of its oldest part; grows by holding and by travelling."""
    roster_version: int = 0
    plan_version: int = 0
    """The plan whose trees ``route`` speaks of."""
    route: Route = START


def merge_summaries(left: Summary, right: Summary, merger: Merger) -> Summary:
    """Both as one, with the larger age. Raises ``OverlapError`` where a site is in both."""
    assert (left.query, left.pane, left.plan_version) == (
        right.query,
        right.pane,
        right.plan_version,
    ), "only summaries of one query, pane and plan are merged"
    assert Lane.SPARE not in (left.lane, right.lane), "a spare is never merged on the way"
    coverage = left.coverage.merge(right.coverage)
    rows = [part.rows for part in (left, right) if part.rows is not None]
    return msgspec.structs.replace(
        left,
        coverage=coverage,
        rows=merger.merge(rows) if len(rows) > 1 else (rows[0] if rows else None),
        age_s=max(left.age_s, right.age_s),
        roster_version=max(left.roster_version, right.roster_version),
        route=left.route.merge(right.route),
    )
