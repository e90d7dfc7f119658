"""A summary: the partial aggregates of one pane, with its age and coverage.

Rows are opaque here. In an agent they are an Arrow table with the schema of the query, in the
simulator a bag of numbered records; a ``Merger`` for the query knows how to combine them. So the
machines that move summaries about are the same in both, and a checker can look inside.

Most queries summarise the records that fell into a pane. A *state query* summarises what each site
held at the pane's end, such as the aggregate over its last n records, and a state stays valid until
it changes. So a summary of states may stand for several panes in a row: ``more`` of them beyond
``pane``. It is shorthand, and nothing else: the same coverage and the same rows in each of these
panes, and whoever needs one of them alone takes it out (``at``, ``by_pane``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import reduce
from typing import Any, Protocol

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.route import START, Route
from headwater.algebra.words.update_proof import UpdateProof

Rows = Any
"""What a ``Merger`` merges; never looked into by a machine."""
STATE_PANES_MAX = 1_024
"""Panes that one summary of states may stand for. A root has a board and a kept summary for each
of them, so a message must not be able to name millions. All members must agree on it."""


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
    more: int = 0
    """Of a state query: in how many further panes the same holds."""
    proof: UpdateProof | None = None
    """That it is one site's own update; None: it was merged, or has not been signed yet."""

    @property
    def last(self) -> int:
        """The last pane that it stands for."""
        return self.pane + self.more

    def at(self, first: int, last: int) -> Summary:
        """The part of it in panes first … last; the rows are shared, not copied."""
        assert self.pane <= first <= last <= self.last, "a part lies within the whole"
        return msgspec.structs.replace(self, pane=first, more=last - first)

    def by_pane(self) -> Iterator[Summary]:
        """The same as summaries of one pane each."""
        if not self.more:
            yield self
            return
        for pane in range(self.pane, self.last + 1):
            yield self.at(pane, pane)


def merge_summaries(
    parts: Sequence[Summary], merger: Merger, *, coverage: Coverage | None = None
) -> Summary:
    """All as one; whoever hands it on says its age, its way and its panes. Raises ``OverlapError``
    where a site is in two of them, unless it is known what they cover together."""
    assert all(part.lane is not Lane.SPARE for part in parts), "a spare is never merged on the way"
    rows = [part.rows for part in parts if part.rows is not None]
    return msgspec.structs.replace(
        parts[0],
        coverage=coverage or reduce(Coverage.merge, (part.coverage for part in parts)),
        rows=merger.merge(rows) if len(rows) > 1 else (rows[0] if rows else None),
        roster_version=max(part.roster_version for part in parts),
        proof=None,
    )
