"""What an answer says about itself: one envelope for each window and revision.

Coverage is stated by what is expected and what is missing. ``expected`` sites times the panes of
the window are in, but for ``missing``: there each site is named with the panes it is missing from
and why. A site whose late update is known but not yet in stands in ``missing`` and counts in
``covered``: what was covered stays covered, so revisions never lower coverage.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headwater.algebra.ranges import Ranges
from headwater.algebra.site_state import PaneState, Tally
from headwater.plan.part import Part


class Trigger(StrEnum):
    """Why this revision was made."""

    COMPLETE = "complete"
    """The first answer, and nothing more was awaited."""
    DEADLINE = "deadline"
    """The first answer, at its latest time."""
    REVISION = "revision"
    """A later one: more arrived, or less can still come."""


class MissingSite(msgspec.Struct, frozen=True, array_like=True):
    """One site's absence from some panes of a window, for one reason."""

    site: str
    state: PaneState
    reason: str
    panes: Ranges


class Envelope(msgspec.Struct, frozen=True):
    stream: str
    query: str
    window: int
    start_us: int
    end_us: int
    revision: int
    """1 for the first answer; rises by one."""
    roster_version: int
    expected: int
    """Sites that the answer should cover."""
    covered: int
    """Sites of which every pane of the window is in."""
    missing: tuple[MissingSite, ...]
    """At most ``missing_listed_max``; ``missing_count`` is the truth."""
    missing_count: int
    """Sites that are missing from at least one pane."""
    exact: bool
    final: bool
    staleness_s: float
    """From the window's end to the decision to answer."""
    answered_at_s: float
    """The root's clock at that decision."""
    trigger: Trigger
    tally: Tally = Tally()
    """Over all sites, since the query began."""
    damaged: int = 0
    """Sites that lost input bytes of this window."""
    rows: int | None = None
    """How many rows the answer has; filled in by who publishes it."""
    part: Part | None = None
    """Of a stream with several roots: which groups these are; None: all."""
