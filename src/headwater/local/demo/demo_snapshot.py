"""What the demo shows of itself: its federation, and what it does to it.

The demo fills a ``DemoSnapshot`` a few times a second and hands it to a function; a terminal view
draws it, a test looks at it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headwater.agent.view.federation_view import FederationView
from headwater.agent.view.watched_site import WatchedSite


class SiteCondition(StrEnum):
    """In the place of its link: the demo knows how each site is."""

    STARTING = "starting"
    UP = "up"
    CUT_OFF = "cut off"
    DEAD = "dead"
    ENDED = "ended"
    """Its input has been read to the end; it still carries and repairs."""


class EventKind(StrEnum):
    INFO = "info"
    TROUBLE = "trouble"
    HEALED = "healed"
    REPAIRED = "repaired"


class EventShown(msgspec.Struct, frozen=True):
    at_s: float
    """Since the demo began."""
    kind: EventKind
    text: str


class NarrowWindow(msgspec.Struct, frozen=True):
    """One window of the question that is asked twice over the narrow link."""

    start_us: int
    end_us: int
    whole_s: float | None
    """How long after the window's end there was an answer with the site in it, without an error;
    None: there is none yet."""
    bounded_s: float | None
    """The same with one."""
    asked: str = ""
    reached: float = 0.0
    """Of the error that was asked for, a share of the total."""
    withheld_keys: int = 0


class NarrowShown(msgspec.Struct, frozen=True):
    line: str = ""
    """Whose link it is, and how narrow."""
    whole: str = ""
    """The stream without an error."""
    bounded: str = ""
    windows: tuple[NarrowWindow, ...] = ()
    """The newest, in order."""

    @property
    def streams(self) -> tuple[str, str]:
        return self.whole, self.bounded


class NarrowVerdict(msgspec.Struct, frozen=True):
    """What the error has brought, over all windows; times are in the middle."""

    line: str
    window_count: int
    whole_s: float
    bounded_s: float
    whole_in_time: int
    """Windows whose first answer has the site in it."""
    bounded_in_time: int
    asked: str
    reached: float
    """In the worst window."""
    withheld_keys: int
    whole_bytes: int = 0
    """Sent for the stream without an error, by all sites."""
    bounded_bytes: int = 0


class LineShown(msgspec.Struct, frozen=True):
    """Of the site whose line is narrowed on the way, and its stream of pages."""

    site: str = ""
    now: WatchedSite | None = None
    """As its agent says; None: it does not run, or reads nothing yet."""
    stale_s: float | None = None
    """How long after its end the newest window was answered."""
    streams: tuple[str, ...] = ()
    """Its stream of pages, and that of kinds of pages."""

    @property
    def is_news(self) -> bool:
        """It is narrow, or something is given up or waits because it was."""
        return self.now is not None and self.now.has_news

    def text(self) -> str:
        """As ``headwater watch`` has it at that site, but for the level, which has a name here."""
        if self.now is None:
            return ""
        now = self.now
        told = (
            f"{self.site} sends {'kinds of pages' if now.is_degraded else 'pages'}",
            now.sending.removeprefix("all links "),
            now.carries and f"way {now.carries}",
            now.backlog,
            "" if self.stale_s is None else f"answered {self.stale_s:.1f} s after the end",
        )
        return "; ".join(filter(None, told))


class LevelVerdict(msgspec.Struct, frozen=True):
    """What became of the stream of pages while the line was narrow."""

    site: str
    limit: str
    went_after_s: float | None
    """From the narrowing to the level; None: it did not go there."""
    back_after_s: float | None
    """From the widening until it sent pages again."""
    by_kind: int
    """Windows that were answered by kinds of pages."""
    exact_by_page: int
    """Of those, windows that are exact by page in the end."""


class AskedVerdict(msgspec.Struct, frozen=True):
    """What came of the question about the past."""

    select: str
    row_count: int
    took_s: float
    is_equal: bool
    """To what one Spark computes of the same records."""
    reads_cubes: bool
    difference: str = ""


class DemoSnapshot(msgspec.Struct, frozen=True):
    elapsed_s: float
    duration_s: float
    """How long the input grows; the answers may take a little longer to become final."""
    phase: str
    """What is going on, in a few words."""
    view: FederationView = FederationView()
    events: tuple[EventShown, ...] = ()
    """All of them, oldest first: a view shows the newest and remembers what it has shown."""
    narrow: NarrowShown = NarrowShown()
    line: LineShown = LineShown()


class StreamVerdict(msgspec.Struct, frozen=True):
    """One stream's final answers against those of one Spark over all records."""

    name: str
    window_count: int
    final_count: int
    exact_count: int
    revision_count: int
    row_count: int
    is_equal: bool
    difference: str = ""
    """Where the first difference is, when there is one."""
    unparsed_count: int = 0
    """Lines that its answers say were no records."""
    bounded_count: int = 0
    """Windows of which sites kept something back, as they were asked to: they are not exact, and
    held to what they state."""

    is_level: bool = False
    """It has windows where a site was at a level, and none where none was."""

    @property
    def is_whole(self) -> bool:
        """Every window is final, and exact or held to its bound."""
        settled = self.exact_count + self.bounded_count
        is_any = self.window_count > 0 or self.is_level
        return is_any and self.window_count == self.final_count == settled


class DemoSummary(msgspec.Struct, frozen=True):
    streams: tuple[StreamVerdict, ...]
    raw_bytes: int
    raw_zstd_bytes: int
    """The same logs compressed, which is what shipping everything would cost at the least."""
    sent_bytes: int
    record_count: int
    elapsed_s: float
    summaries_bytes: int = 0
    """Of what was sent, what the records were reduced to. The rest keeps a federation together:
    heartbeats, acknowledgements, states; it grows with sites and time, and not with the logs."""
    incomplete_count: int = 0
    """Windows that were answered before all sites were in, and said so."""
    narrow: NarrowVerdict | None = None
    level: LevelVerdict | None = None
    asked: AskedVerdict | None = None

    @property
    def is_good(self) -> bool:
        """Every window of every stream is final, exact (nothing was lost, whatever was cut off or
        killed) and equal to what one Spark computes; or, where something was kept back, no further
        from that than it states. So is the answer to the question."""
        streams = self.streams
        is_asked_well = self.asked is None or self.asked.is_equal
        is_all_equal = all(stream.is_equal and stream.is_whole for stream in streams)
        return bool(streams) and is_all_equal and is_asked_well
