"""What a query means, as frozen values that travel as data: no code, no pickles.

A statement is split once, by the agent that installs it. Sites and root run the two texts of its
*program* as they are, after checking them; nobody plans again, so all of them run the same
question. How both travel and lie on disk is ``flat_query``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.panes import WindowSpec
from headwater.plan.part import Part
from headwater.plan.program import Program

SITES_MAX = 100_000
"""Looked at by whoever decodes a query, before it makes anything of what it counts."""

LAST_N_MAX = 1_000_000
"""Records that a state may be made of: a site keeps them, or their partials, in its cube."""

Sites = Annotated[tuple[str, ...], Meta(max_length=SITES_MAX)]


class QueryId(msgspec.Struct, frozen=True, array_like=True, order=True):
    """(name, installing site, that site's durable command counter); never the name alone."""

    name: str
    installer: str
    counter: int

    def __str__(self) -> str:
        return f"{self.name}@{self.installer}#{self.counter}"

    @classmethod
    def parse(cls, text: str) -> QueryId:
        match = re.fullmatch(r"([A-Za-z_]\w*)@([\w.-]+)#(\d+)", text)
        if match is None:
            raise ValueError(f"query id: wanted name@site#counter, got {text[:80]!r}")
        return cls(match[1], match[2], int(match[3]))


class TimeKind(StrEnum):
    """What places a record in time."""

    EVENT = "event"
    """Its own timestamp."""
    AGE = "age"
    """Its age: its timestamp is taken for the site's clock, and the record is placed where that
    was on the root's clock. So clocks that are wrong do no harm (Mortar's syncless operation)."""


class Timing(msgspec.Struct, frozen=True):
    """When panes close, windows are answered, and answers end."""

    deadline_s: float = 10.0
    """A window is answered at the latest this long after its end, whoever is silent."""
    disorder_s: float = 2.0
    """How much later than its timestamp a record may appear in the log and still be on time."""
    lateness_s: float | None = None
    """After which a pane is sealed; None: the cube's retention."""
    revise_every_s: float = 1.0
    revise_for_s: float = 86_400.0


class Query(msgspec.Struct, frozen=True):
    """A continuous question, as far as the machines that read, carry and answer it go by it."""

    id: QueryId
    window: WindowSpec
    root: str
    """The site that answers."""
    program: Program
    """What Spark does for it; no machine looks into it."""
    sites: Sites = ()
    """The node set; empty: every site of the roster that has data."""
    begin_pane: int | None = None
    """The first pane; None: from the earliest record on."""
    ends: bool = False
    """The input is finite: sites close and seal when it is exhausted (``headwater try``)."""
    time: TimeKind = TimeKind.EVENT
    unit_last: int = 0
    """The number of the last statement of the file that this one came with. A file is installed as
    one unit: a site that begins with a source reads nothing before it has all of them."""
    timing: Timing = Timing()
    part: Part | None = None
    """Of a stream with several roots: which of its groups this query answers; None: all."""
    last_n: int | msgspec.UnsetType = msgspec.UNSET
    """Set: a *state query* (Mortar's tuple window). The summary of a pane is each site's state at
    its end, the aggregate over the last so many records of that site, and a site that was quiet
    still has its former state. Unset, and then not on the wire: the records of the pane."""

    def __post_init__(self) -> None:
        if isinstance(self.last_n, int):
            self._check_states(self.last_n)

    def _check_states(self, last_n: int) -> None:
        """A state holds for one pane at a time, from a begin on, and has no end."""
        where = f"query {self.id}: a state query"
        if not 0 < last_n <= LAST_N_MAX:
            raise ValueError(f"{where}: wanted last_n from 1 to {LAST_N_MAX}, got {last_n}")
        if self.window.panes_per_window != 1:
            raise ValueError(
                f"{where}: wanted a window of one pane (range = slide), since states of several "
                f"panes can't be added up, got range {self.window.range_us} us, slide "
                f"{self.window.slide_us} us"
            )
        if self.begin_pane is None or self.ends:
            raise ValueError(
                f"{where}: wanted a begin and an input that goes on, since a state holds until it "
                f"changes, got begin_pane {self.begin_pane}, ends {self.ends}"
            )

    @property
    def holds_states(self) -> bool:
        return self.last_n is not msgspec.UNSET

    @property
    def stream(self) -> str:
        """What people call it; the parts of one stream have this name in common."""
        return self.id.name if self.part is None else self.part.stream

    @property
    def unit(self) -> tuple[int, str]:
        """What was installed together, in the order in which names are taken: the later one wins,
        and all parts of a stream stand or fall with each other."""
        return max(self.unit_last, self.id.counter), self.id.installer

    @property
    def source_name(self) -> str:
        """A site reads a source once for all its queries, and knows it by its name."""
        return self.program.source.name

    def reads_as(self, other: Query) -> bool:
        """The same records."""
        return self.program.source.is_read_as(other.program.source)

    def future_tolerance_s(self, default_s: float) -> float:
        """How far ahead of the site's clock its records may be."""
        return self.program.source.future_tolerance_s(default_s)
