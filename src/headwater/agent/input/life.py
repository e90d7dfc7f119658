"""One life of a source at a site, and all that there are: what is followed, and what is being left.

A source is followed from the first query that reads it until the last one is removed; a reading of
the past, which is a source of its own here, until nobody awaits it any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from headwater.agent.input.input_remarks import InputRemarks
from headwater.agent.input.poll_log import PollLog
from headwater.agent.input.repeated_hour import RepeatedHour
from headwater.agent.input.shed_plan import ShedPlan
from headwater.agent.input.source_inputs import SourceInput
from headwater.agent.patience import Patience
from headwater.algebra.far_times import DUE_NOW_S, NEVER_DUE_S
from headwater.algebra.words.malformed import Malformed
from headwater.algebra.words.site_state import Unread
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.store.follow.poll import Poll
from headwater.store.input.cuts import CutLog
from headwater.store.input.source_state import SourceState
from headwater.store.past.past_input import PastInput

BROKEN_NAMED_MAX = 20
"""Files of a source that are named as unreadable, the newest ones."""
PAST_DUE_S = 0.005
"""A poll for a moment begins so long after it, or a timer that fires early would ask for two."""


class Epoch(msgspec.Struct, frozen=True):
    """What a Spark stream commits under: it belongs to one life of a source."""

    number: int
    """As the stream knows it; never used again in this process."""
    in_cube: int
    """As the cube counts, which begins anew with every life of a source."""


@dataclass(eq=False)
class Followed:
    """One life of a source at this site."""

    source: Source
    first: Query
    """By which it was begun, and is opened."""
    place: tuple[Path, str]
    """(directory, glob below it)."""
    is_from_start: bool
    """What was in the files when they were first looked at is read, too."""
    poll_log: PollLog
    remarks: InputRemarks
    repeated_hour: RepeatedHour
    input: SourceInput | None = None
    """None: it could not be opened yet."""
    queries: Mapping[str, Query] = field(default_factory=dict)
    """By id; replaced whole, for Spark's threads read it."""
    unbegun: set[str] = field(default_factory=set)
    """Queries that have not been told from when they are read."""
    units: frozenset[tuple[str, int]] = frozenset()
    """(installer, last number) of the files that its queries came with."""
    epoch: Epoch | None = None
    patience: Patience = field(default_factory=Patience)
    poll: Poll | None = None
    due_s: float = NEVER_DUE_S
    """When it is to be read for somebody's sake, as told after the newest poll or commit."""
    new_queries: set[str] = field(default_factory=set)
    """Queries that no committed batch had."""
    found_bytes: int = 0
    """What polls of this process have registered."""
    broken: deque[str] = field(default_factory=lambda: deque(maxlen=BROKEN_NAMED_MAX))
    """Files of which Spark could not read a part, and why."""
    lost_chunks: int = 0
    told_chunks: int = 0
    """Chunks that were set aside, and of those how many a poll has told of: where no batch follows,
    nobody else says that the input has ended."""
    shows_values: bool = False
    """Whether people at this site may see values of its records: no column is protected."""
    malformed: tuple[Malformed, ...] = ()
    """Why lines of it are malformed, as far as was looked at; the most frequent reason first."""
    line_count: int = 0
    record_count: int = 0
    unparsed_count: int = 0
    fenced_count: int = 0
    refused_count: int = 0
    has_ended: bool = False
    awaiting_past: set[str] = field(default_factory=set)
    """Of a live reading: queries whose past has not begun to be read. No batch is for them yet."""
    shed_plan: ShedPlan = field(default_factory=ShedPlan)
    """Of a live reading: how fast it is read, and what is skipped of it."""
    is_settled: set[str] = field(default_factory=set)
    """Of a past: queries of which it is written that they await it."""

    def next_poll_s(self, every_s: float) -> float:
        """Not before the newest one has passed the moment at which it is to be read."""
        if self.poll is None or (isinstance(self.input, PastInput) and self.input.is_hungry):
            return DUE_NOW_S
        started_s = self.poll.started_s
        regular_s = started_s + every_s
        return min(regular_s, self.due_s + PAST_DUE_S) if started_s < self.due_s else regular_s

    @property
    def is_quiet(self) -> bool:
        """Whether a poll would find and tell nothing that the newest one did not."""
        is_polled = self.poll is not None and self.poll.is_clean and not self.untold_losses
        return is_polled and self.input is not None and self.input.is_quiet

    @property
    def untold_losses(self) -> int:
        return self.lost_chunks - self.told_chunks

    @property
    def unread(self) -> Unread:
        """What the newest poll left alone, by names below the directory of the path: where that is
        on the site's disk is nobody else's business."""
        if self.poll is None:
            return Unread()
        below = f"{self.place[0]}/"
        names = ((path.removeprefix(below), reason) for path, reason in self.poll.refused)
        return Unread.of(self.poll.refused_count, names)


@dataclass(eq=False)
class Leaving:
    """A source that nobody reads any more, until the store has forgotten it."""

    input: SourceInput | None
    patience: Patience = field(default_factory=Patience)


class Lives:
    """All of one site, by the source's name."""

    def __init__(self, cuts: CutLog) -> None:
        self._cuts = cuts
        self.followed: Mapping[str, Followed] = {}
        """Replaced whole, for Spark's threads read it."""
        self.leaving: dict[str, Leaving] = {}
        self.has_end = False
        """Nothing more will be written to any of them."""

    def add(self, followed: Followed) -> None:
        self.followed = {**self.followed, followed.source.name: followed}

    def leave(self, key: str, followed: Followed) -> None:
        """A life that was never opened because its predecessor is still to be forgotten has
        nothing of its own in the store."""
        self.followed = {name: one for name, one in self.followed.items() if name != key}
        if key not in self.leaving:
            self.leaving[key] = Leaving(followed.input)

    def is_current(self, followed: Followed) -> bool:
        return self.followed.get(followed.source.name) is followed

    def is_begun(self, followed: Followed) -> bool:
        state = self.state(followed)
        return followed.input is not None and state is not None and state.is_begun

    def state(self, followed: Followed) -> SourceState | None:
        """None: the store does not have this life of the source yet."""
        name = followed.source.name
        if name in self.leaving or name not in self._cuts.names():
            return None
        return self._cuts.state(name)
